"""session-baton's three storages: its SQLite table, its cache folder, and a baton in one JSON file.

Readers give each baton as it is, `Found`, and what could not be read as `Unusable`; nothing is dropped in silence.
Writers write what session-baton itself would write, all of it or nothing.
The formats are those of session-baton 0.1.0, `storage.py`, `cache.py` and `models.py`.
"""

from baton_git.systems.imported import PENDING, Found, Unusable, parse_object, unmarked
from baton_git.systems.session_baton.importers.cache import (
    SUFFIX,
    cache_stem,
    cached_text,
    plain_content,
    read_cache,
    usable_stem,
    write_cache,
)
from baton_git.systems.session_baton.importers.database import read_database, write_database
from baton_git.systems.session_baton.importers.document import parse_text, read_any, read_file, write_file

__all__ = [
    "PENDING",
    "SUFFIX",
    "Found",
    "Unusable",
    "cache_stem",
    "cached_text",
    "parse_object",
    "parse_text",
    "plain_content",
    "read_any",
    "read_cache",
    "read_database",
    "read_file",
    "unmarked",
    "usable_stem",
    "write_cache",
    "write_database",
    "write_file",
]
