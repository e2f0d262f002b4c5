"""Command-line additions to the verbs of revisions: log, diff, rollback, undo and redo."""
