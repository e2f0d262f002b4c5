"""What the command line adds to the verbs of sync, review and conflicts."""
