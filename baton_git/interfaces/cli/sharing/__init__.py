"""Command-line additions to the verbs of sync, reviews, remotes, conflicts and namespaces."""
