"""The golden files of `formats/`: valid files are read with the expected meaning, invalid files are refused with the
expected faults."""

from __future__ import annotations

import json as plain
import re
from pathlib import Path
from typing import Any

import pytest
from looped_cases import for_each
from hypothesis import given
from hypothesis import strategies as st
from json_schema import faults as schema_faults
from regenerate import FORMATS
from strategies import laws
from strategies import names as some_names

from baton_git.core import kinds, layout, names
from baton_git.core.codecs import json
from baton_git.systems.session_baton.document import parse_document, to_document, apply_document
from baton_git.core.errors import BatonError, Fault, InvalidDocument, InvalidName
from baton_git.core.names import AgentId, Namespace, RecordId, SessionId
from baton_git.core.records.base import Archived
from baton_git.core.records.base import Part, alike, parse
from baton_git.verbs.upkeep.schemas import RECORDS, make_schema
from baton_git.core.state import Key, State, Unreadable

STORED = tuple(kind for kind in RECORDS if kind not in ("baton", "ecc_session"))
SUFFIXES = (".toml", ".md", ".txt")
LEAST = {
    "open_loop": (20, 30), "follow_up": (5, 6), "pattern": (5, 6), "active_decision": (4, 5), "session": (3, 4),
    "conflict": (3, 3), "head": (4, 5), "shape": (4, 3), "archived": (4, 4), "rule": (4, 2), "baton": (8, 30),
    "handover": (10, 18),
}  # fmt: skip
"""The minimum numbers of valid and invalid files by kind, so that the tests fail if the files are not found."""

BEYOND = {"other-session", "wrong-count", "two-workers-of-one-id", "no-agent"}
"""Invalid files whose fault no schema can express."""


def stored(kind: str, group: str) -> list[Path]:
    """Return the stored files of a kind, without the files of expectations."""
    return sorted(path for path in (FORMATS / kind / group).rglob("*") if path.suffix in SUFFIXES)


def cases(group: str) -> list[Any]:
    return [
        pytest.param(kind, path, id=f"{kind}-{path.stem}") for kind in STORED for path in stored(kind, group)
    ]  # fmt: skip


def key_of(kind: str, group: str, path: Path) -> Key:
    """Return the key of the record in a golden file, from the file's path."""
    inside = path.relative_to(FORMATS / kind / group).as_posix()
    if kind in kinds.SINGLETONS:
        return Key(kind)
    place = kinds.ARCHIVE if kind == "archived" else kinds.KINDS[kind].folder
    key = layout.key_at(f"{place}/{inside}")
    assert key is not None, f"{path} is in no place of a record"
    return key


def expected(path: Path, suffix: str) -> Any:
    return plain.loads(path.with_suffix(suffix).read_bytes())


def found_faults(key: Key, text: bytes) -> list[Fault]:
    """Return the faults of a stored file."""
    row = kinds.ALL_KINDS[key.kind]
    try:
        if key.archived:
            parse(row.model, parse(Archived, layout.toml.loads(text)).record, at="record")
            return []
        record = parse(row.model, row.codec.decode(key.id, text))
    except InvalidDocument as error:
        return list(error.faults)
    except UnicodeDecodeError as error:
        return [Fault("", f"not UTF-8 text: {error.reason} at byte {error.start}")]
    named = getattr(record, "id", key.id)
    return [Fault("id", f"is {named!r}, but the file is that of {key.id!r}")] if named != key.id else []


def assert_faults(found: list[Fault], wanted: list[dict[str, str]]) -> None:
    assert sorted(one.path for one in found) == sorted(one["path"] for one in wanted), found
    for one in wanted:
        assert any(fault.path == one["path"] and fault.message.startswith(one["message"]) for fault in found), found


@for_each("kind", RECORDS)
def test_there_are_golden_files_of_every_kind(kind: str) -> None:
    least_valid, least_invalid = LEAST.get(kind, (2, 2))
    if kind not in STORED:
        valid, invalid = list((FORMATS / kind / "valid").iterdir()), documents(kind)
    else:
        valid, invalid = stored(kind, "valid"), stored(kind, "invalid")
    assert len(valid) >= least_valid
    assert len(invalid) >= least_invalid
    assert (FORMATS / kind / "README.md").stat().st_size > 200


@for_each("kind", STORED)
def test_every_expectation_has_its_file(kind: str) -> None:
    for path in (FORMATS / kind).rglob("*.json"):
        if path.name != "schema.json" and path.parent.name != "merge":
            stem = path.name.removesuffix(".json").removesuffix(".error")
            assert any((path.parent / f"{stem}{suffix}").exists() for suffix in SUFFIXES), path


@for_each(("kind", "path"), cases("valid"))
def test_a_valid_file_parses_to_the_data_beside_it(kind: str, path: Path) -> None:
    key = key_of(kind, "valid", path)
    record = layout.decode(key, layout.path_of(key), path.read_bytes())
    assert isinstance(record, Part), record
    assert alike(record.as_data(), expected(path, ".json"))


@for_each(("kind", "path"), cases("valid"))
def test_a_valid_file_that_is_written_again_still_means_the_same(kind: str, path: Path) -> None:
    key = key_of(kind, "valid", path)
    record = layout.decode(key, "", path.read_bytes())
    assert isinstance(record, Part)
    [(name, text)] = layout.encode({key: record}).items()
    assert text is not None
    assert layout.key_at(name) == key
    again = layout.decode(key, "", text)
    assert isinstance(again, Part)
    assert alike(again.as_data(), expected(path, ".json"))


@for_each(("kind", "path"), cases("valid"))
def test_the_data_of_a_valid_file_fits_its_schema(kind: str, path: Path) -> None:
    assert not list(schema_faults(expected(path, ".json"), make_schema(kind), make_schema(kind)))


@for_each(("kind", "path"), cases("invalid"))
def test_an_invalid_file_has_exactly_the_expected_faults(kind: str, path: Path) -> None:
    found = found_faults(key_of(kind, "invalid", path), path.read_bytes())
    assert_faults(found, expected(path, ".error.json")["faults"])


@for_each(("kind", "path"), cases("invalid"))
def test_an_invalid_file_is_reported_with_its_path(kind: str, path: Path) -> None:
    key = key_of(kind, "invalid", path)
    entry = layout.decode(key, layout.path_of(key), path.read_bytes())
    assert isinstance(entry, Unreadable)
    assert entry.path == layout.path_of(key)
    for fault in expected(path, ".error.json")["faults"][:5]:
        assert fault["message"] in entry.why


@for_each(("kind", "path"), cases("invalid"))
def test_the_schema_refuses_what_it_can_express(kind: str, path: Path) -> None:
    key = key_of(kind, "invalid", path)
    row = kinds.ALL_KINDS[key.kind]
    try:
        data = layout.toml.loads(path.read_bytes()) if key.archived else row.codec.decode(key.id, path.read_bytes())
    except (InvalidDocument, UnicodeDecodeError):
        return  # no data at all: nothing that a schema could judge
    wrong = list(schema_faults(data, make_schema(kind), make_schema(kind)))
    if key.archived and isinstance(data.get("record"), dict):
        wrong += schema_faults(data["record"], make_schema(key.kind), make_schema(key.kind))
    messages = [one["message"] for one in expected(path, ".error.json")["faults"]]
    beyond = any("but the file is that of" in message for message in messages) or path.stem in BEYOND
    assert bool(wrong) != beyond


@for_each("kind", STORED)
def test_each_field_and_each_choice_occurs_in_a_valid_file(kind: str) -> None:
    shown = [expected(path, ".json") for path in stored(kind, "valid")]
    for name, field in make_schema(kind)["properties"].items():
        values = [one[name] for one in shown if name in one]
        assert values, f"no valid {kind} has {name}"
        missing = [choice for choice in field.get("enum", ()) if choice not in values and kind != "conflict"]
        assert not missing, f"no valid {kind} has {name} = {missing}"


# --- whole documents


def documents(kind: str) -> list[Path]:
    """Return the invalid documents of a kind that is not stored as a file."""
    found = (FORMATS / kind / "invalid").glob("*.json")
    return sorted(path for path in found if not path.name.endswith(".error.json"))


def read(path: Path) -> Any:
    return json.loads(path.read_bytes())


def document_cases() -> list[Any]:
    folders = sorted((FORMATS / "baton" / "valid").iterdir())
    return [pytest.param(path, id=path.name) for path in folders]


@for_each("folder", document_cases())
def test_a_document_written_to_a_new_namespace_makes_the_golden_files(folder: Path) -> None:
    state = apply_document(State(), parse_document(read(folder / "document.json")), at="2026-06-17T12:00:00Z")
    made = layout.encode(state.edits)
    files = {path for path in (folder / "files").rglob("*") if path.is_file()}
    assert {path.relative_to(folder / "files").as_posix() for path in files} == set(made)
    for path in files:
        name = path.relative_to(folder / "files").as_posix()
        assert path.read_bytes() == made[name], name


@for_each("folder", document_cases())
def test_the_files_of_a_document_give_it_back(folder: Path) -> None:
    state = State()
    for path in (folder / "files").rglob("*.toml"):
        key = layout.key_at(path.relative_to(folder / "files").as_posix())
        assert key is not None
        entry = layout.decode(key, path.name, path.read_bytes())
        assert isinstance(entry, Part), entry
        state = state.put(entry, key)
    assert alike(to_document(state), read(folder / "document.json"))


@for_each("folder", document_cases())
def test_a_valid_document_fits_its_schema(folder: Path) -> None:
    assert not list(schema_faults(read(folder / "document.json"), make_schema("baton"), make_schema("baton")))


@for_each("path", [pytest.param(path, id=path.stem) for path in documents("baton")])
def test_an_invalid_document_is_refused_with_the_expected_faults(path: Path) -> None:
    wanted = expected(path, ".error.json")
    with pytest.raises(BatonError) as caught:
        parse_document(read(path))
    assert caught.value.code == wanted["code"]
    if isinstance(caught.value, InvalidDocument):
        assert_faults(list(caught.value.faults), wanted["faults"])
    else:
        assert str(caught.value).startswith(wanted["faults"][0]["message"])


@for_each("path", [pytest.param(path, id=path.stem) for path in documents("baton")])
def test_the_schema_of_a_document_refuses_what_it_can_express(path: Path) -> None:
    try:
        data = read(path)
    except BatonError:
        return  # no JSON: nothing that a schema could judge
    beyond = {"id-twice", "id-too-long", "session-of-two-lines"}
    wrong = list(schema_faults(data, make_schema("baton"), make_schema("baton")))
    assert bool(wrong) or path.stem in beyond


# --- names


def golden_names(file: str, group: str) -> list[Any]:
    found = plain.loads((FORMATS / "names" / file).read_bytes())[group]
    assert len(found) >= 3
    return [pytest.param(one, id=f"{group}-{number}") for number, one in enumerate(found)]


@for_each("case", golden_names("valid.json", "namespaces"))
def test_a_namespace_has_the_golden_ref_component(case: dict[str, str]) -> None:
    namespace = Namespace(case["text"])
    assert namespace.component == case["component"]
    assert case["ref"] == f"refs/heads/baton/{case['component']}"
    assert Namespace.from_component(case["component"]) == namespace


@for_each("case", golden_names("valid.json", "ids"))
def test_an_id_has_the_golden_file_name(case: dict[str, str]) -> None:
    assert kinds.KINDS["open_loop"].path(case["text"]) == case["file"] == f"{case['component']}.toml"
    assert kinds.KINDS["open_loop"].id_of(case["file"]) == case["text"]


MAKERS = {"namespaces": Namespace, "ids": RecordId, "sessions": SessionId, "agents": AgentId}


REFUSED = [
    pytest.param(group, *one.values, id=one.id) for group in MAKERS for one in golden_names("invalid.json", group)
]


@for_each(("group", "case"), REFUSED)
def test_an_invalid_name_is_refused_with_its_reason(group: str, case: dict[str, str]) -> None:
    with pytest.raises(InvalidName) as caught:
        MAKERS[group](case["text"])
    assert str(caught.value.data["why"]).startswith(case["why"])


@for_each("component", golden_names("invalid.json", "namespace_components"))
def test_a_component_that_no_namespace_has_is_refused(component: str) -> None:
    with pytest.raises(InvalidName):
        Namespace.from_component(component)


@for_each("component", golden_names("invalid.json", "id_components"))
def test_a_component_that_no_id_has_is_refused(component: str) -> None:
    with pytest.raises(InvalidName):
        RecordId.from_component(component)


def by_the_book(text: str) -> str:
    """Encode a name by the steps of `formats/README.md`, as a second implementation would."""
    plain_bytes = b"abcdefghijklmnopqrstuvwxyz0123456789-_."
    made = "".join(chr(byte) if byte in plain_bytes else f"%{byte:02x}" for byte in text.encode())
    made = re.sub(r"\.+", lambda run: dots(run[0]), made)
    if made[0] in ".-":
        made = {".": "%2e", "-": "%2d"}[made[0]] + made[1:]
    if made.endswith(".lock"):
        made = made.removesuffix(".lock") + "%2elock"
    if made.endswith("."):
        made = made.removesuffix(".") + "%2e"
    if re.fullmatch("con|prn|aux|nul|com[0-9]|lpt[0-9]", made.partition(".")[0]):
        made = f"%{ord(made[0]):02x}{made[1:]}"
    return made


def dots(run: str) -> str:
    return "".join("%2e" if number % 2 else "." for number in range(len(run)))


@laws
@given(some_names | st.text(st.sampled_from("aA.-lockn1"), min_size=1, max_size=9))
def test_the_page_describes_the_encoding_correctly(text: str) -> None:
    assert names.encode(text) == by_the_book(text)
