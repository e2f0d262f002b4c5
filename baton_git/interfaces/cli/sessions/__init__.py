"""Command-line additions to the verbs of sessions, and the command `loop-run`."""
