"""The registry of the systems that baton supports: session-baton, KAIROS, PAIF, ECC and Gobby.

Each system has a folder with what belongs to it, such as records, codecs, importers and verbs. The folder's `__init__`
defines `SYSTEM`.
The modules in `verbs/` import only this registry and `session_hooks`, never a single system.
"""

from __future__ import annotations

import importlib

from baton_git.systems.seed_system import BriefRequest, ForeignDocument, SeedSystem

__all__ = ["SYSTEMS", "BriefRequest", "ForeignDocument", "SeedSystem", "find_document", "list_documents"]

_NAMES = ("session_baton", "kairos", "paif", "ecc", "gobby")

SYSTEMS: tuple[SeedSystem, ...] = tuple(importlib.import_module(f"baton_git.systems.{name}").SYSTEM for name in _NAMES)
"""The systems, in the order in which they add sections to the brief."""


def list_documents() -> list[ForeignDocument]:
    """Return the document formats of all systems."""
    return [document for system in SYSTEMS for document in system.documents]


def find_document(name: str | None) -> ForeignDocument | None:
    """Return the document format with this name; None if no system has it."""
    return next((document for document in list_documents() if document.name == name), None)
