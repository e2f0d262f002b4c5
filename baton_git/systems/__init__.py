"""The registry of the seed systems: one folder each, with its records, codecs, rules, importers and verbs.

Verbs and systems meet only here. A system is a folder with a `SYSTEM`, and has its name in `SYSTEMS`.
"""

from __future__ import annotations

import importlib

from baton_git.systems.seed_system import BriefRequest, ForeignDocument, SeedSystem

__all__ = ["SYSTEMS", "BriefRequest", "ForeignDocument", "SeedSystem", "find_document", "list_documents"]

_NAMES = ("session_baton", "kairos", "paif", "ecc", "gobby")

SYSTEMS: tuple[SeedSystem, ...] = tuple(importlib.import_module(f"baton_git.systems.{name}").SYSTEM for name in _NAMES)
"""The names of the systems, in the order of their sections in the brief."""


def list_documents() -> list[ForeignDocument]:
    """Return the document formats of all systems."""
    return [document for system in SYSTEMS for document in system.documents]


def find_document(name: str | None) -> ForeignDocument | None:
    """Return the document format with this name; None if no system has it."""
    return next((document for document in list_documents() if document.name == name), None)
