"""What the command line adds to the verbs of sessions, and the command `loop-run`."""
