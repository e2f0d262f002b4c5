"""ECC: one canonical snapshot format for the sessions of any agent."""
