"""Agent sessions that baton runs on its own: start, supervise, record and stop them, within limits."""
