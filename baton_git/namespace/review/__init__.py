"""What came from a remote and waits for a person."""
