"""Ingest: check fetched or pushed commits before anything merges them or moves a ref to them."""
