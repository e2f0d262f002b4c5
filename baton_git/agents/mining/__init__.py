"""Find the transcripts on this machine that belong to a repository, such as those from before baton was installed."""
