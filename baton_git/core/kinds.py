"""The kinds of records: for each a row with its folder, its model and its codec.

What else there is about a kind stands at the fields of its model.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from baton_git.core.codecs import json, toml
from baton_git.core.errors import Fault, InvalidDocument, InvalidName, LimitExceeded
from baton_git.core.names import RecordId
from baton_git.core.records.base import Part
from baton_git.core.records.conflict import Conflict
from baton_git.core.records.lineage import Session
from baton_git.core.records.rule import Rule
from baton_git.core.records.work_items import ActiveDecision, FollowUp, Head, OpenLoop, Pattern, Shape
from baton_git.core.state import HEAD, SHAPE

ARCHIVE = "archive"
"""The folder of closed records."""

Model = Callable[[], type[Part]]
"""Gives the model of a kind; called when there is a record of it, so that nobody else pays for its import."""


@dataclass(frozen=True)
class Row:
    """A kind of record and the folder (or, for a singleton, the file) that it lives in.

    Attributes:
        parts: of how many parts, with `/` between them, an id is made; all but the last are folders.
    """

    kind: str
    place: str
    load: Model
    suffix: str = ".toml"
    encode: Callable[[Part], bytes] = lambda record: toml.dumps(record.given())
    decode: Callable[[str, bytes], Mapping[str, Any]] = lambda _, text: toml.loads(text)
    parts: int = 1

    @property
    def model(self) -> type[Part]:
        return self.load()

    def path(self, id_: str) -> str:
        """The path of the record, below the place of its kind."""
        parts = id_.split("/", self.parts - 1)
        return "/".join(RecordId(part).component for part in parts) + self.suffix

    def id_of(self, path: str) -> str | None:
        """The id whose file is at `path`, below the place of its kind; None when that is no file of this kind."""
        parts = path.removesuffix(self.suffix).split("/")
        if not path.endswith(self.suffix) or len(parts) != self.parts:
            return None
        try:
            names = [RecordId.from_component(part).text for part in parts]
        except InvalidName:
            return None
        return None if any("/" in name for name in names[:-1]) else "/".join(names)


_NESTING = re.compile(rb"[\[{.]")


def _of_document(above: int) -> Callable[[str, bytes], Mapping[str, Any]]:
    """Return the decoder of a record that is `above` levels below the top of a document (at most `json.MAX_DEPTH`).

    What is nested deeper counts as unreadable: it must not keep the rest from being read as a document.
    """

    def decode(_: str, text: bytes) -> Mapping[str, Any]:
        data = toml.loads(text)
        if len(_NESTING.findall(text)) >= json.MAX_DEPTH - above:
            try:
                json.check(data if not above else [[data]])
            except LimitExceeded:
                why = f"is nested deeper than {json.MAX_DEPTH - above} levels, so no document could hold it"
                raise InvalidDocument([Fault("", why)]) from None
        return data

    return decode


def _markdown(record: Part) -> bytes:
    assert isinstance(record, Rule)
    return record.text.encode()


def _nameless(record: Part) -> bytes:
    """The record without its id, which its path says."""
    return toml.dumps({name: value for name, value in record.given().items() if name != "id"})


def _named(id_: str, text: bytes) -> Mapping[str, Any]:
    return {**toml.loads(text), "id": id_}


def _of_system(module: str, name: str) -> Any:
    """Return a model or codec that a seed system defines: loaded with the first record of that kind, so that a
    namespace without one does not pay for it."""
    return getattr(importlib.import_module(f"baton_git.systems.{module}"), name)


def _encode_handover(record: Part) -> bytes:
    return cast("bytes", _of_system("kairos.codec", "dumps")(record.given()))


def _decode_handover(_: str, text: bytes) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", _of_system("kairos.codec", "loads")(text))


FOLDERS = {
    row.kind: row
    for row in (
        Row("open_loop", "open_loops", lambda: OpenLoop, decode=_of_document(2)),
        Row("follow_up", "follow_ups", lambda: FollowUp, decode=_of_document(2)),
        Row("pattern", "patterns", lambda: Pattern, decode=_of_document(2)),
        Row("active_decision", "active_decisions", lambda: ActiveDecision, decode=_of_document(2)),
        Row("rule", "rules", lambda: Rule, ".md", _markdown, lambda id_, text: {"id": id_, "text": text.decode()}),
        Row("session", "sessions", lambda: Session),
        Row(
            "checkpoint",
            "checkpoints",
            lambda: _of_system("paif.records.checkpoint", "Checkpoint"),
            encode=_nameless,
            decode=_named,
            parts=2,
        ),
        Row(
            "identity",
            "identity",
            lambda: _of_system("paif.records.identity", "Identity"),
            encode=_nameless,
            decode=_named,
        ),
        Row(
            "handover",
            "handover",
            lambda: _of_system("kairos.record", "Handover"),
            ".txt",
            _encode_handover,
            _decode_handover,
        ),
        Row(
            "snapshot",
            "snapshots",
            lambda: _of_system("ecc.record", "Snapshot"),
            encode=_nameless,
            decode=_named,
            parts=2,
        ),
        Row(
            "handoff",
            "handoffs",
            lambda: _of_system("gobby.record", "Handoff"),
            encode=_nameless,
            decode=_named,
            parts=2,
        ),
        Row("conflict", "conflicts", lambda: Conflict),
    )
}
"""The kinds that have a folder, in the order in which people read them."""

SINGLES = {
    row.kind: row
    for row in (
        Row(HEAD.kind, "baton.toml", lambda: Head, decode=_of_document(0)),
        Row(SHAPE.kind, "document.toml", lambda: Shape),
    )
}

CLOSED = {kind: replace(row, place=f"{ARCHIVE}/{row.place}", suffix=".toml", parts=1) for kind, row in FOLDERS.items()}
"""Where the closed records of each kind are; whatever the kind, they are TOML, and an id is one name."""

KINDS = tuple(FOLDERS)
KIND_OF_PLACE = {row.place: row.kind for row in FOLDERS.values()}
