"""The registry of record kinds: everything that other modules know about a kind, in one table.

It imports no model, since pydantic and the models take longer to import than all else that checks a push.

A new kind is a module with its model, one `KindInfo` in `KINDS` here, and its folder in `formats/`.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from baton_git.core.codecs import json, toml
from baton_git.core.errors import Fault, InvalidDocument, InvalidName, LimitExceeded, find_near_names
from baton_git.core.names import RecordId, is_plain_id

if TYPE_CHECKING:
    from baton_git.core.records.base import Part
    from baton_git.core.records.work_items import Rule

ARCHIVE = "archive"
"""The folder of closed records."""

BY_FOLDER = "/"
LIVE = "live"
"""`BY_FOLDER` and `LIVE` are values of `KindInfo.counted`."""


class Codec(NamedTuple):
    """Encode and decode the files of a kind. `decode` takes the id from the path and the content of the file."""

    encode: Callable[[Part], bytes]
    decode: Callable[[str, bytes], Mapping[str, Any]]


TOML = Codec(lambda record: toml.dumps(record.as_data()), lambda _, text: toml.loads(text))


class KindInfo(NamedTuple):
    """A kind of record: its model, its folder, and how it is shown, counted and merged.

    Attributes:
        load: returns the model. Called for the first record of the kind, so that the import is paid only if needed.
        folder: the folder of its records; for a singleton, the path of its file.
        title: the display name of one record.
        plural: the display name of several records; by default the title with an `s`.
        codec: how its files are encoded and decoded.
        suffix: the suffix of its files.
        parts: the number of parts of an id, separated by `/`; all parts but the last are folders.
        about: the field (dotted if nested) that summarises a record in a few words.
        dated: the field (dotted) with the date of a record, to order records by age.
        prefix: the prefix of its ids, such as `OL`; baton mints such ids, and clients number them.
        began: the participle that the log uses for a new record (`handover X begun`), for kinds whose ids do not show
            the kind.
        counted: how `status` counts the live records: the name of a field to count by, `BY_FOLDER` to count by the
            first part of the id, `LIVE` for one total, or None to leave them out.
        in_brief: whether the brief lists the live records under the plural. False for kinds that have a section of
            their own (in `core.brief_sections`, or registered by a system).
        in_document: whether a session-baton document has a list of these records.
        labelled: whether its records have a provenance, that is, fields that a confirmation covers.
        left_behind: whether sessions leave its records for later sessions; the page lists all such kinds together.
        made_once: whether its records never change; different content makes a new record. Only the first part of an
            id is shown to people.
        replaced: whether a change rewrites the whole record.
        has_fixed_fields: whether its model has immutable fields.
        copied_as: the file name that users of its system give to a copy of a record; the copy contains its id.
        is_derived: whether baton derives its records from other records, so that their files may be larger.
        is_verbatim: whether its records are documents of another system or values of several machines, so that paths
            in them are stored as they are; what baton itself writes into them is shortened before.
        comment: the `$comment` of its JSON Schema: facts about its file beyond the fields.
    """

    kind: str
    load: Callable[[], type[Part]]
    folder: str
    title: str
    plural: str = ""
    codec: Codec = TOML
    suffix: str = ".toml"
    parts: int = 1
    about: str = ""
    dated: str = ""
    prefix: str = ""
    began: str = ""
    counted: str | None = LIVE
    in_brief: bool = False
    in_document: bool = False
    labelled: bool = False
    left_behind: bool = False
    made_once: bool = False
    replaced: bool = False
    has_fixed_fields: bool = False
    copied_as: str = ""
    is_derived: bool = False
    is_verbatim: bool = False
    comment: str = ""

    @property
    def model(self) -> type[Part]:
        return self.load()

    def name(self, count: int = 1) -> str:
        """Return the display name for `count` records of the kind."""
        return self.title if count == 1 else self.plural or f"{self.title}s"

    def path(self, id_: str) -> str:
        """Return the path of the record, relative to the folder of its kind."""
        if self.parts == 1 and is_plain_id(id_):  # most ids; the general way takes ten times as long
            return id_ + self.suffix
        parts = id_.split("/", self.parts - 1)
        return "/".join(RecordId(part).component for part in parts) + self.suffix

    def id_of(self, path: str) -> str | None:
        """Return the id of the record at `path`, relative to the folder of its kind, or None."""
        if self.parts == 1 and path.endswith(self.suffix) and is_plain_id(path.removesuffix(self.suffix)):
            return path.removesuffix(self.suffix)
        parts = path.removesuffix(self.suffix).split("/")
        if not path.endswith(self.suffix) or len(parts) != self.parts:
            return None
        try:
            names = [RecordId.from_component(part).text for part in parts]
        except InvalidName:
            return None
        return None if any("/" in name for name in names[:-1]) else "/".join(names)


_NESTING = re.compile(rb"[\[{.]")


def _of_document(depth: int) -> Codec:
    """Return the codec of a record that is `depth` levels below the top of a document.

    A record that would nest the document deeper than `json.MAX_DEPTH` counts as unreadable, so that the rest of the
    namespace can still be read as a document.
    """

    def decode(_: str, text: bytes) -> Mapping[str, Any]:
        data = toml.loads(text)
        if len(_NESTING.findall(text)) >= json.MAX_DEPTH - depth:
            try:
                json.check(data if not depth else [[data]])
            except LimitExceeded:
                why = f"is nested deeper than {json.MAX_DEPTH - depth} levels, so no document could hold it"
                raise InvalidDocument([Fault("", why)]) from None
        return data

    return TOML._replace(decode=decode)


def _encode_markdown(record: Part) -> bytes:
    return cast("Rule", record).text.encode()


_MARKDOWN = Codec(_encode_markdown, lambda id_, text: {"id": id_, "text": text.decode()})


def _encode_without_id(record: Part) -> bytes:
    return toml.dumps({name: value for name, value in record.as_data().items() if name != "id"})


WITHOUT_ID = Codec(_encode_without_id, lambda id_, text: {**toml.loads(text), "id": id_})
"""TOML without the id, which is taken from the path."""


def load_from(module: str, name: str) -> Callable[[], Any]:
    """Return a function that imports and returns `name` from the module `baton_git.<module>`."""
    return cache(lambda: getattr(importlib.import_module(f"baton_git.{module}"), name))


def _model(module: str, name: str) -> Callable[[], Any]:
    return load_from(f"core.records.{module}", name)


def _kairos_codec() -> Codec:
    dumps, loads = (load_from("systems.kairos.codec", name) for name in ("dumps", "loads"))
    return Codec(lambda record: cast("bytes", dumps()(record.as_data())), lambda _, text: loads()(text))


_DOCUMENT_RECORD = _of_document(2)

KINDS = {
    info.kind: info
    for info in (
        KindInfo(
            "open_loop", _model("work_items", "OpenLoop"), "open_loops", "open loop",
            codec=_DOCUMENT_RECORD, about="action", prefix="OL", counted="status", in_document=True, labelled=True,
        ),
        KindInfo(
            "follow_up", _model("work_items", "FollowUp"), "follow_ups", "follow-up",
            codec=_DOCUMENT_RECORD, about="item", prefix="FU", counted="priority", in_document=True, labelled=True,
        ),
        KindInfo(
            "pattern", _model("work_items", "Pattern"), "patterns", "pattern",
            codec=_DOCUMENT_RECORD, about="what", prefix="PAT", counted="status", in_document=True, labelled=True,
        ),
        KindInfo(
            "active_decision", _model("work_items", "ActiveDecision"), "active_decisions", "decision",
            codec=_DOCUMENT_RECORD, about="what", prefix="DEC", counted="status", in_document=True, labelled=True,
        ),
        KindInfo(
            "rule", _model("work_items", "Rule"), "rules", "rule",
            codec=_MARKDOWN, suffix=".md", counted=None, labelled=True,
            comment="The stored file is the text alone, as Markdown; the id is the name of the file.",
        ),
        KindInfo("session", _model("lineage", "Session"), "sessions", "session", counted=None),
        KindInfo(
            "checkpoint", load_from("systems.paif.record", "Checkpoint"), "checkpoints", "checkpoint",
            codec=WITHOUT_ID, parts=2, about="context.conversation_summary", dated="metadata.ended_at", began="made",
            counted=BY_FOLDER, left_behind=True, made_once=True, is_verbatim=True,
        ),
        KindInfo(
            "identity", load_from("systems.paif.record", "Identity"), "identity", "identity", "identities",
            codec=WITHOUT_ID, about="immutable.purpose.statement", began="made", counted=None, left_behind=True,
            has_fixed_fields=True, is_verbatim=True,
        ),
        KindInfo(
            "handover", load_from("systems.kairos.record", "Handover"), "handover", "handover",
            codec=_kairos_codec(), suffix=".txt", about="step.current_challenge", dated="updated_at", began="begun",
            left_behind=True, copied_as="kairos-session-handover.txt", is_verbatim=True,
        ),
        KindInfo(
            "snapshot", load_from("systems.ecc.record", "Snapshot"), "snapshots", "snapshot",
            codec=WITHOUT_ID, parts=2, about="snapshot.session.state", dated="recorded_at", began="recorded",
            counted=BY_FOLDER, left_behind=True, replaced=True, is_verbatim=True,
            comment="The stored file has no id. The id consists of the decoded names of its folder and of its file, "
            "with `/` between them; both names are also in the snapshot.",
        ),
        KindInfo(
            "handoff", load_from("core.records.handoff", "Handoff"), "handoffs", "handoff",
            codec=WITHOUT_ID, parts=2, about="facts.initial_goal", dated="extracted_at", began="extracted",
            counted=BY_FOLDER, left_behind=True, replaced=True,
            comment="The stored file has no id. The id consists of the decoded names of its folder and of its file, "
            "with `/` between them.",
        ),
        KindInfo(
            "turns", load_from("core.records.handoff", "SharedTurns"), "turns", "record of turns",
            "records of turns", codec=WITHOUT_ID, parts=2, about="topic", dated="recorded_at", began="recorded",
            counted=BY_FOLDER, left_behind=True, replaced=True,
            comment="The stored file has no id. The id consists of the decoded names of its folder and of its file, "
            "with `/` between them.",
        ),
        KindInfo(
            "conflict", _model("conflict", "Conflict"), "conflicts", "conflict",
            counted="record_kind", is_derived=True, is_verbatim=True,
        ),
    )
}  # fmt: skip
"""The kinds that have a folder, in display order."""

SINGLETONS = {
    info.kind: info
    for info in (
        KindInfo("head", _model("work_items", "Head"), "baton.toml", "context", "context", codec=_of_document(0)),
        KindInfo(
            "shape", _model("work_items", "Shape"), "document.toml", "document layout", "document layout",
            is_derived=True,
        ),
    )
}  # fmt: skip

ALL_KINDS = {**KINDS, **SINGLETONS}

CLOSED = {
    kind: info._replace(folder=f"{ARCHIVE}/{info.folder}", suffix=".toml", parts=1) for kind, info in KINDS.items()
}
"""The kinds with their folders in the archive. All archived records are TOML files, and each id is one file name."""

KIND_OF_FOLDER = {info.folder: info.kind for info in KINDS.values()}

NUMBERED = tuple(kind for kind, info in KINDS.items() if info.prefix)
"""The kinds whose ids have a prefix. Clients put a number after it, such as `OL-001`."""


def name_kind(kind: str) -> str:
    """Return the display name of a kind, such as `open loop`; of an unknown kind, its name with spaces."""
    info = ALL_KINDS.get(kind)
    return info.title if info is not None else kind.replace("_", " ")


def name_typed_plural(kind: str) -> str:
    """Return the plural of a kind as people type it, such as `open-loops` or `turns`."""
    return kind if kind.endswith("s") else KINDS[kind].name(2).replace(" ", "-")


@cache
def _kinds_by_name() -> dict[str, str]:
    names = {kind: (kind, info.folder, info.title, info.plural, info.title.split()[-1]) for kind, info in KINDS.items()}
    return {
        _fold_name(name + end): kind for kind, forms in names.items() for name in forms if name for end in ("", "s")
    }


def _fold_name(name: str) -> str:
    return re.sub(r"[-_\s]", "", name).casefold()


def find_kind(name: str) -> str | None:
    """Return the kind with this name (`loop`, `loops`, `open_loop`, `Open loops`), or None if there is none."""
    return _kinds_by_name().get(_fold_name(name))


def suggest_kind(name: str) -> str | None:
    """Return the kind whose name is closest to a mistyped one, or None if none is close."""
    near = find_near_names(_fold_name(name), _kinds_by_name())
    return _kinds_by_name()[near[0]] if near else None


LABELLED = tuple(kind for kind, info in KINDS.items() if info.labelled)
"""The kinds whose records have a provenance."""


# --- the paths of records, without their models. The folders are described in `layout`

MAX_FOLDERS = 64
"""Maximum depth of nested folders in a tree."""
NAMES_KNOWN = 8_192
"""Maximum number of entries in each cache that maps paths to ids or ids to paths."""


class Place(NamedTuple):
    """Where a record is: the fields of its `Key`. Singletons have the empty id."""

    kind: str
    id: str = ""
    archived: bool = False


def path_to(kind: str, id_: str, *, archived: bool = False) -> str:
    """Return the path of the record of this kind and id."""
    if kind in SINGLETONS:
        return SINGLETONS[kind].folder
    row = (CLOSED if archived else KINDS)[kind]
    path = row.path(id_)
    return f"{row.folder}/{shard(id_)}/{path}" if archived else f"{row.folder}/{path}"


@lru_cache(maxsize=NAMES_KNOWN)
def place_at(path: str) -> Place | None:
    """Return the place of the record at `path`; None for a file that is not a record."""
    for single in SINGLETONS.values():
        if path == single.folder:
            return Place(single.kind)
    folder, _, rest = path.removeprefix(f"{ARCHIVE}/").partition("/")
    archived = path.startswith(f"{ARCHIVE}/")
    kind = KIND_OF_FOLDER.get(folder)
    if kind is None:
        return None
    if not archived:
        id_ = KINDS[kind].id_of(rest)
        return None if id_ is None else Place(kind, id_)
    shard_name, _, name = rest.partition("/")
    id_ = CLOSED[kind].id_of(name)
    return None if id_ is None or shard_name != shard(id_) else Place(kind, id_, archived=True)


def shard(id_: str) -> str:
    """Return the name of the archive's subfolder for an id: the first two hex digits of its SHA-256."""
    return sha256(id_.encode()).hexdigest()[:2]
