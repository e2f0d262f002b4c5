"""session-baton: its document, the cache of its clients, and its storage formats."""
