"""Verbs about records of any kind."""
