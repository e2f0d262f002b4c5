"""Start, end and list sessions."""
