"""PAIF's records: checkpoint and identity."""
