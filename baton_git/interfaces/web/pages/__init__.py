"""The pages that one reads."""
