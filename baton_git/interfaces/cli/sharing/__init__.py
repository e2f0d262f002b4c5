"""What the command line adds to the verbs of sync, reviews, remotes, conflicts and namespaces."""
