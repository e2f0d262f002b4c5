"""Find the transcripts on this machine that belong to a repository, from before baton was installed."""
