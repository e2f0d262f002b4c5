"""baton-git as an implementation that `formats/conformance/runner.py` checks; the page beside it describes the requests.

Run by hand: `python formats/conformance/runner.py -- python tests/formats/conformance_adapter.py`.
"""

from __future__ import annotations

import json
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))

from memory_folder import MemoryFolder

from baton_git.core import kinds, layout, names, stored_form, times
from baton_git.core.codecs import toml
from baton_git.core.errors import InvalidDocument, InvalidName
from baton_git.core.merge import apply, decide, merge_fields
from baton_git.core.merge.decisions import canonical_json, ordered_json
from baton_git.core.names import AgentId, Namespace, RecordId, SessionId
from baton_git.core.records.base import Archived
from baton_git.core.records.base import parse
from baton_git.core.state import HEAD, SHAPE, Key, State
from baton_git.git.store import ReflogEntry, Repository, Store
from baton_git.namespace.merge_commit import AUTHOR, create_merge_commit

Answer = dict[str, Any]


def as_bytes(content: Any) -> bytes:
    return content.encode() if isinstance(content, str) else b64decode(content["base64"])


def as_json(content: bytes) -> Any:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return {"base64": b64encode(content).decode()}


def key_of(kind: str, path: str) -> Key:
    """Return the key of the record whose file is at `path` within the folder of its kind."""
    if kind in kinds.SINGLETONS:
        return Key(kind)
    folder = kinds.ARCHIVE if kind == "archived" else kinds.KINDS[kind].folder
    key = layout.key_at(f"{folder}/{path}")
    if key is None:
        raise ValueError(f"{path} is not the path of a {kind}")
    return key


def read(kind: str, content: Any, path: str = "") -> Answer:
    key, text = key_of(kind, path), as_bytes(content)
    model, codec = kinds.ALL_KINDS[key.kind].model, kinds.ALL_KINDS[key.kind].codec
    try:
        if key.archived:
            archived = parse(Archived, toml.loads(text))
            parse(model, archived.record, at="record")
            return {"value": archived.as_data()}
        record = parse(model, codec.decode(key.id, text))
    except InvalidDocument as error:
        return {"faults": [fault.path for fault in error.faults]}
    except UnicodeDecodeError:
        return {"faults": [""]}
    is_misnamed = key.kind not in kinds.SINGLETONS and getattr(record, "id", key.id) != key.id
    return {"faults": ["id"]} if is_misnamed else {"value": record.as_data()}


def write(kind: str, value: Any, path: str = "") -> Answer:
    key = key_of(kind, path)
    model = Archived if key.archived else kinds.ALL_KINDS[key.kind].model
    [content] = layout.encode({key: parse(model, value)}).values()
    assert content is not None
    return {"content": content.decode()}


MAKERS: dict[str, Callable[[str], Any]] = {
    "namespace": Namespace, "id": RecordId, "session": SessionId, "agent": AgentId,
}  # fmt: skip


def encode_name(what: str, text: str) -> Answer:
    try:
        name = MAKERS[what](text)
        return {"component": getattr(name, "component", None) or names.encode(text)}
    except InvalidName:
        return {"refused": True}


def decode_name(what: str, component: str) -> Answer:
    try:
        return {"text": str(MAKERS[what].from_component(component))}  # type: ignore[attr-defined]  # all have it
    except InvalidName:
        return {"refused": True}


def canonical(value: Any) -> Answer:
    return {"text": canonical_json(value), "ordered": ordered_json(value)}


def write_toml(value: Any) -> Answer:
    return {"toml": toml.dumps(value).decode()}


def parse_time(text: str) -> Answer:
    try:
        return {"time": f"{times.parse_time(text).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"}
    except ValueError:
        return {"time": None}


def merge_records(kind: str, base: Any, ours: Any, theirs: Any) -> Answer:
    result, contested = merge_fields(kinds.ALL_KINDS[kind].model, base, ours, theirs)
    return {"result": result, "contested": [value.field for value in contested]}


def state_of(tree: dict[str, Any]) -> State:
    return layout.state_of(MemoryFolder({path: as_bytes(content) for path, content in tree.items()}))


def merge_trees(base: Answer, ours: Answer, theirs: Answer, prefer: Any = None) -> Answer:
    states = [state_of(tree) for tree in (base, ours, theirs)]
    decisions = decide(*states, prefer=prefer)
    merged = apply(states[1], decisions)
    places = [Key(kind, id_, old) for kind in kinds.KINDS for old in (False, True) for id_ in merged.ids(kind, archived=old)]
    entries = {key: entry for key in (HEAD, SHAPE, *places) if (entry := merged.entry(key)) is not None}
    files = {path: as_json(content) for path, content in layout.encode(entries).items() if content is not None}
    return {"decisions": [decision.as_data() for decision in decisions], "result": files}


def merge_commits(repository: str, first: str, second: str) -> Answer:
    with Store(Repository.open(Path(repository))) as store:
        merged = create_merge_commit(store, names.Oid(first), names.Oid(second))
        store.publish(merged.draft, "refs/merged", None, merged.commit, ReflogEntry(AUTHOR, 0, 0, "merge"))
        return {"commit": merged.commit}


def stored_path(path: str) -> Answer:
    place = stored_form.find_place(path)
    assert place is not None
    stored = stored_form.find_fanned_path(place.kind, place.path)
    return {"stored": path if stored is None else f"{path.split('/')[0]}/{stored}"}


def split_bundle(digits: str, content: Any) -> Answer:
    text = as_bytes(content)
    bundle = stored_form.split_bundle(text, digits)
    if bundle.faults:
        return {"refused": True}
    return {"files": {name: as_json(text[part.start : part.end]) for name, part in bundle.sections.items()}}


REQUESTS: dict[str, Callable[..., Answer]] = {
    "read": read, "write": write, "encode_name": encode_name, "decode_name": decode_name,
    "canonical": canonical, "write_toml": write_toml, "parse_time": parse_time,
    "merge_records": merge_records, "merge_trees": merge_trees, "merge_commits": merge_commits,
    "stored_path": stored_path, "split_bundle": split_bundle,
}  # fmt: skip


def answer(request: str, **fields: Any) -> Answer:
    if request == "hello":
        return {"implementation": "baton-git", "offers": list(REQUESTS)}
    return REQUESTS[request](**fields)


def main() -> None:
    sys.stdin.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    for line in sys.stdin:
        data = json.loads(line)
        number = data.pop("number")
        print(json.dumps({"number": number, **answer(**data)}), flush=True)


if __name__ == "__main__":
    main()
