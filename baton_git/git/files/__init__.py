"""Write files atomically and durably, and lock refs."""
