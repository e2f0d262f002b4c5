"""The log, going back, and recall."""
