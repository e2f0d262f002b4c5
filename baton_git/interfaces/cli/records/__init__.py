"""What the command line adds to the verbs of records."""
