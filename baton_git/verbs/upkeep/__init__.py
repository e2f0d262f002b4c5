"""Verbs for whole namespaces: status, lists, renames, schemas, validation, packing."""
