"""session-baton: the whole document, its clients' cache, and its storages."""
