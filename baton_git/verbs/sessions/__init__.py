"""The beginning and the end of a session, and which there were."""
