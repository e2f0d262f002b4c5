"""Read and write git repositories: objects, refs, the store of baton's branches, remotes, signatures and hooks."""
