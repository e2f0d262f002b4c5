"""What the command line adds to the verbs of sessions, and running them."""
