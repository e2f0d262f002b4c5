"""The pages on which one acts."""
