"""Every verb once: typed values and `now` in, typed values out. Nothing here prints or asks."""
