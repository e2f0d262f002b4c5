"""Command-line additions to the verbs of records."""
