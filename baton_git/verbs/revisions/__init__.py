"""The log, rollbacks, and recall."""
