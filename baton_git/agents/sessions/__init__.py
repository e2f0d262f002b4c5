"""Sessions of agent CLIs that baton starts: start, supervise, record and stop them, within limits."""
