"""What the command line adds to the verbs of revisions: log, diff, rollback, undo and redo."""
