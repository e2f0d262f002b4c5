"""session-baton's three storage formats: its SQLite table, its cache folder, and a baton in one JSON file.

Readers return an `ImportedBaton` for each baton, and an `UnusableEntry` for each entry that cannot be read.
Writers write the same bytes as session-baton itself, and write either all batons or none.
The formats are those of session-baton 0.1.0, `storage.py`, `cache.py` and `models.py`.
"""

from baton_git.systems.imported import PENDING, ImportedBaton, UnusableEntry, parse_object, remove_mark
from baton_git.systems.session_baton.importers.cache import (
    SUFFIX,
    cache_stem,
    check_stem,
    encode_cached,
    read_cache,
    read_regular_file,
    write_cache,
)
from baton_git.systems.session_baton.importers.database import read_database, write_database
from baton_git.systems.session_baton.importers.document import parse_text, read_any, read_file, write_file

__all__ = [
    "PENDING",
    "SUFFIX",
    "ImportedBaton",
    "UnusableEntry",
    "cache_stem",
    "check_stem",
    "encode_cached",
    "parse_object",
    "parse_text",
    "read_any",
    "read_cache",
    "read_database",
    "read_file",
    "read_regular_file",
    "remove_mark",
    "write_cache",
    "write_database",
    "write_file",
]
