"""Namespaces as a whole: status, lists, schemas, validation, packing."""
