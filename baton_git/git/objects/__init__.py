"""Git's objects: their values, and the packs and loose files that hold them."""
