"""Find the transcripts on this machine that belong to a repository: those of before baton was installed."""
