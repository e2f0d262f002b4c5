"""The pages without forms."""
