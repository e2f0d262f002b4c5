"""Export → import preserves the content of any document in any namespace."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from baton_git.core.errors import InvalidName
from baton_git.core.names import Namespace
from baton_git.systems.imported import ImportedBaton, UnusableEntry
from baton_git.systems.session_baton.storage_database import read_database, write_database
from baton_git.systems.session_baton.storage_files import cache_stem, read_cache, read_file, write_cache, write_file

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
keys = texts | st.sampled_from(["baton", "namespace", "updated_at", "sync_status", "open_loops", "a/b", ""])
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**200), 2**200)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
    | st.sampled_from(["synced", "pending_upload"])
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3), max_leaves=8
)
documents = st.dictionaries(keys.filter(lambda key: key != "_sync_status"), values, max_size=5)


def _is_name(text: str) -> bool:
    try:
        Namespace(text)
    except InvalidName:
        return False
    return True


namespaces = (texts | st.sampled_from(["project:x", "a/b", "a_b", "..", "x.lock", "名前", " "])).filter(_is_name)
imported_batons = st.builds(ImportedBaton, namespaces, documents, texts.filter(bool), st.booleans())
few = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def content(entries: Sequence[ImportedBaton | UnusableEntry], *, cached: bool = False) -> list[tuple[Any, ...]]:
    assert all(isinstance(one, ImportedBaton) for one in entries), entries
    found = sorted((one for one in entries if isinstance(one, ImportedBaton)), key=lambda one: one.namespace)
    return [(one.namespace, json.dumps(one.baton), one.pending if cached else one.updated_at) for one in found]


@few
@given(st.lists(imported_batons, max_size=4, unique_by=lambda one: one.namespace))
def test_a_database_round_trips(batons: list[ImportedBaton]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "b.sqlite3"
        assert write_database(path, batons) == len(batons)
        assert content(read_database(path)) == content(batons)


@few
@given(st.lists(imported_batons, max_size=4, unique_by=lambda one: cache_stem(one.namespace)))
def test_a_cache_folder_round_trips(batons: list[ImportedBaton]) -> None:
    assume(not any("\0" in one.namespace for one in batons))
    names = {cache_stem(one.namespace): one.namespace for one in batons}
    with tempfile.TemporaryDirectory() as folder:
        assert len(write_cache(Path(folder), batons)) == len(batons)
        assert content(read_cache(Path(folder), names=names), cached=True) == content(batons, cached=True)


@few
@given(imported_batons)
def test_a_json_file_round_trips(found: ImportedBaton) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "b.json"
        write_file(path, found)
        read = read_file(path, found.namespace)
        assert json.dumps(read.baton) == json.dumps(found.baton)
