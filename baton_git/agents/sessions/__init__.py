"""Start, supervise, record and stop sessions of agent CLIs, within limits."""
