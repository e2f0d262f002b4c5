"""PAIF: checkpoints, identities and restores."""
