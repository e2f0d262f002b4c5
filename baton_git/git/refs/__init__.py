"""Read refs, move them with compare-and-swap, and write their reflogs."""
