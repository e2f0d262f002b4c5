"""Git's refs: reading them, moving them with a compare-and-swap, and their logs."""
