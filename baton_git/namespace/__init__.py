"""Namespaces: read and write their branches, check fetched commits, merge, sync and review them."""
