"""Read and write git's objects, in packs and loose files."""
