"""Where the commits and the records of a namespace come from, and who vouches for them."""
