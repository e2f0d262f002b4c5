"""Sync, review and conflicts."""
