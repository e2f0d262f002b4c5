"""Provenance: where the commits and records of a namespace come from, and who vouches for them."""
