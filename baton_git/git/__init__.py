"""Git: objects, refs, the store of baton's branches, remotes, signatures and hooks."""
