"""The state of one namespace: an immutable set of records, decoded on demand.

A state consists of a *source* (the content of a commit, read lazily) and *edits* on top of it. Methods that change
records return a new state, or the same object if nothing differs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, overload

from baton_git.core.errors import Ambiguous, Corrupt, FieldHint, NotAllowed, NotFound, find_near_names
from baton_git.core.kinds import ALL_KINDS, KINDS, name_kind, name_typed_plural
from baton_git.core.names import derive_id
from baton_git.core.outlines import make_outline
from baton_git.core.records.base import Archived, Part, Record, same
from baton_git.core.records.work_items import Head, Shape

Model = TypeVar("Model", bound=Record)


class Key(NamedTuple):
    """The kind and id of a record, live or archived. Singletons have the empty id."""

    kind: str
    id: str = ""
    archived: bool = False

    def __str__(self) -> str:
        """Return `open loop OL-1`. Trailers of commits contain this text, so it must not change."""
        return f"{'archived ' if self.archived else ''}{self.kind.replace('_', ' ')} {self.id}".rstrip()

    @property
    def display_name(self) -> str:
        """The key as messages show it: `follow-up FU-1`, `archived open loop OL-1`."""
        return f"{'archived ' if self.archived else ''}{name_kind(self.kind)} {self.id}".rstrip()


HEAD = Key("head")
SHAPE = Key("shape")


class Unreadable(NamedTuple):
    """A stored file that is not a valid record: preserved byte for byte, reported, and never treated as absent."""

    path: str
    why: str
    raw: bytes | None = None

    def content(self) -> bytes:
        """Return the content of the file.

        Raises:
            Corrupt: the repository could not read the file.
        """
        if self.raw is None:
            raise Corrupt(
                self.path,
                self.why,
                hint="baton sync fetches it again from the remote; git fsck shows what is lost",
            )
        return self.raw


Entry = Part | Unreadable


class StateSource(Protocol):
    """The records stored in a commit."""

    def ids(self, kind: str, *, archived: bool = False) -> Collection[str]:
        """Return the ids of a kind, unordered."""

    def load(self, key: Key) -> Entry | None:
        """Return the entry at `key`, or None."""

    def outlines(self, kind: str) -> Mapping[str, Any]:
        """Return outlines of live records of a kind, by id; for a record without one, its file must be read."""

    def differing(self, other: StateSource) -> Iterable[Key]:
        """Yield the keys whose stored content differs in `other`."""

    def list_moved(self, key: Key, before: StateSource) -> Iterable[Key]:
        """Yield the keys that `before` lacks and at which a record may be stored that had `key` there; also others."""

    def identify_file(self, key: Key) -> object:
        """Return a value that is equal in two sources if they store the same content at `key`; None for no content."""

    def unreadable(self) -> Iterable[Unreadable]:
        """Yield files in record folders whose paths are not those of records; `load` never returns them."""


class EmptySource:
    """The source of a namespace that does not exist yet."""

    def ids(self, kind: str, *, archived: bool = False) -> Collection[str]:
        return ()

    def load(self, key: Key) -> Entry | None:
        return None

    def outlines(self, kind: str) -> Mapping[str, Any]:
        return {}

    def differing(self, other: StateSource) -> Iterable[Key]:
        return () if isinstance(other, EmptySource) else other.differing(self)

    def list_moved(self, key: Key, before: StateSource) -> Iterable[Key]:
        return ()

    def identify_file(self, key: Key) -> object:
        return None

    def unreadable(self) -> Iterable[Unreadable]:
        return ()


@dataclass(frozen=True)
class State:
    """The records of one namespace at one moment."""

    source: StateSource = field(default_factory=EmptySource)
    edits: Mapping[Key, Entry | None] = field(default_factory=dict)

    # --- reading

    def entry(self, key: Key) -> Entry | None:
        """Return the entry stored at `key`: a record, an unreadable file, or None."""
        return self.edits[key] if key in self.edits else self.source.load(key)

    def ids(self, kind: str, *, archived: bool = False) -> set[str]:
        """Return all ids of a kind, including those of unreadable files."""
        ids = set(self.source.ids(kind, archived=archived))
        for key, record in self.edits.items():
            if key.kind == kind and key.archived == archived:
                (ids.discard if record is None else ids.add)(key.id)
        return ids

    def records(self, model: type[Model]) -> list[Model]:
        """Return the live readable records of a kind, ordered by date, then id."""
        entries = (self.entry(Key(model.kind, id_)) for id_ in self.ids(model.kind))
        readable = [entry for entry in entries if isinstance(entry, model)]
        return sorted(readable, key=lambda record: (str(getattr(record, model.dated, "")), record.id))

    def select(
        self, model: type[Model], accepts: Callable[[Any], bool], rank: Callable[[Any], Any] | None = None
    ) -> Selection[Model]:
        """Return the live readable records of a kind whose outline is accepted.

        Only the records that are taken from the selection are decoded.

        Args:
            accepts: tells by the outline of a record whether it is selected.
            rank: a sort key made of an outline; records of the same rank are ordered by date, then id.
        """
        chosen = [outline for outline in self.outlines(model) if accepts(outline)]
        chosen.sort(key=lambda outline: (outline.date, outline.id))
        if rank is not None:
            chosen.sort(key=rank)
        return Selection(self, model, chosen)

    def outlines(self, model: type[Model]) -> Iterator[Any]:
        """Yield the outlines of the live readable records of a kind, unordered."""
        known, ids = self.source.outlines(model.kind), self.source.ids(model.kind)
        edited = {key.id: entry for key, entry in self.edits.items() if key.kind == model.kind and not key.archived}
        if len(known) == len(ids):  # without a key for each of 10,000 ids
            yield from known.values() if not edited else (known[id_] for id_ in known if id_ not in edited)
        else:
            for id_ in ids:
                outline = known.get(id_)
                if id_ in edited:
                    continue
                if outline is not None:
                    yield outline
                elif isinstance(entry := self.source.load(Key(model.kind, id_)), model):
                    yield make_outline(entry)
        yield from (make_outline(entry) for entry in edited.values() if isinstance(entry, model))

    def get(self, model: type[Model], id_: str) -> Model:
        """Return the live record with exactly this id.

        Raises:
            NotFound: no live record has this id.
            Corrupt: the record's file cannot be read.
        """
        entry = self.entry(Key(model.kind, id_))
        if isinstance(entry, model):
            return entry
        if isinstance(entry, Unreadable):
            raise _corrupt_error(entry)
        raise _not_found(model.kind, id_)

    def find(self, model: type[Model], text: str) -> Model:
        """Return the live record whose id is `text`, or the only record whose id starts with `text`, ignoring case.

        Raises:
            NotFound: no live record has such an id.
            Ambiguous: several ids start with `text`.
            Corrupt: the record's file cannot be read.
        """
        if text and self.entry(Key(model.kind, text)) is not None:
            return self.get(model, text)  # without a list of all ids, which takes 100 ms for 10,000
        ids, kind = self.ids(model.kind), name_kind(model.kind)
        if text and self.entry(Key(model.kind, text, archived=True)) is not None:
            raise NotFound(f"live {kind}", text, hint=f"it is in the archive: baton show {text}")
        near = complete_id(ids, text, kind)
        if near is None:
            raise _not_found(model.kind, text, find_near_names(text, ids))
        return self.get(model, near)

    @property
    def head(self) -> Head:
        """The record `head`, or an empty one if the state has none. Raises Corrupt if its file cannot be read."""
        return self._single(HEAD, Head)

    @property
    def shape(self) -> Shape:
        """The layout of the last whole document, or an empty one. Raises Corrupt if its file cannot be read."""
        return self._single(SHAPE, Shape)

    @property
    def readable_head(self) -> Head:
        """The record `head`, or an empty one if none can be read. Use it to show a state, never to write one."""
        entry = self.entry(HEAD)
        return entry if isinstance(entry, Head) else Head()

    @property
    def readable_shape(self) -> Shape:
        """The layout of the last whole document, or an empty one if none can be read."""
        entry = self.entry(SHAPE)
        return entry if isinstance(entry, Shape) else Shape()

    def _single(self, key: Key, model: type[Single]) -> Single:
        entry = self.entry(key)
        if isinstance(entry, Unreadable):
            raise _corrupt_error(entry)
        return entry if isinstance(entry, model) else model()

    def unreadable(self, kinds: Iterable[str]) -> Iterator[Unreadable]:
        """Yield the unreadable live records of `kinds`, and stray files in record folders."""
        for kind in kinds:
            readable = self.source.outlines(kind)
            for id_ in sorted(id_ for id_ in self.ids(kind) if id_ not in readable or Key(kind, id_) in self.edits):
                entry = self.entry(Key(kind, id_))
                if isinstance(entry, Unreadable):
                    yield entry
        yield from self.source.unreadable()

    def differing(self, other: State) -> set[Key]:
        """Return the keys whose entries may differ in `other`; entries at all other keys are equal."""
        stored = () if self.source is other.source else self.source.differing(other.source)
        return {*stored, *self.edits, *other.edits}

    def differing_live(self, other: State) -> set[Key]:
        """Return the keys of `differing` outside the archive. The archive is not read if this state is empty."""
        if isinstance(self.source, EmptySource) and not self.edits:
            return {Key(kind, id_) for kind in ALL_KINDS for id_ in other.ids(kind)}
        return {key for key in self.differing(other) if not key.archived}

    def may_differ(self, other: State, key: Key) -> bool:
        """Return whether `key` is one of the keys that `differing` returns; takes the same time for a state of any
        size."""
        if key in self.edits or key in other.edits:
            return True
        return self.source is not other.source and self.source.identify_file(key) != other.source.identify_file(key)

    def list_moved(self, key: Key, before: State) -> set[Key]:
        """Return the keys of `differing` at which a record may be that had `key` in `before`; also a few others."""
        stored = () if self.source is before.source else self.source.list_moved(key, before.source)
        return {*stored, *(other for other in (*self.edits, *before.edits) if other.kind == key.kind)}

    # --- changing

    def put(self, record: Part, key: Key | None = None) -> State:
        """Return the state with `record` at `key`, by default the record's own key.

        Raises:
            Corrupt: the existing file is unreadable; overwriting it would lose its content.
        """
        key = key or key_of(record)
        now = self.entry(key)
        if isinstance(now, Unreadable):
            raise _corrupt_error(now)
        return self if now is record or same_fields(now, record) else State(self.source, {**self.edits, key: record})

    def remove(self, key: Key) -> State:
        """Return the state without the entry at `key`, or the same state if there is no entry.

        Raises:
            Corrupt: the existing file is unreadable; removing it would lose its content.
        """
        now = self.entry(key)
        if isinstance(now, Unreadable):
            raise _corrupt_error(now)
        return self if now is None else State(self.source, {**self.edits, key: None})

    def add(self, record: Record) -> State:
        """Return the state with a new record.

        Raises:
            NotAllowed: a live or archived record already has this id.
        """
        for archived in (False, True):
            key = Key(record.kind, record.id, archived)
            if self.entry(key) is not None:
                hint = FieldHint("leave out {id} to get a new one")
                raise NotAllowed(f"{key.display_name} exists already", hint=hint)
        return self.put(record)

    def archive(self, record: Record, *, at: str, reason: str, session: str | None) -> State:
        """Return the state with a live record moved to the archive, next to older archived records of the same id."""
        closed = Archived(at=at, reason=reason, record=record.as_data(), **({"session": session} if session else {}))
        key = self._free_in_archive(record)
        if key.id != record.id:
            closed = closed.replace(was=record.id)
        return self.remove(Key(record.kind, record.id)).put(closed, key)

    def _free_in_archive(self, record: Record) -> Key:
        """Return an unused archive key: `<id>`, or `<id>.2`, `<id>.3`, …

        Found by binary search, because the same id may have been archived many times.
        """

        def at(number: int) -> Key:
            id_ = record.id if number == 1 else derive_id(record.id, str(number))
            return Key(record.kind, id_, archived=True)

        taken, free = 0, 1
        while self.entry(at(free)) is not None:
            taken, free = free, free * 2
        while free - taken > 1:
            middle = (taken + free) // 2
            taken, free = (middle, free) if self.entry(at(middle)) is not None else (taken, middle)
        return at(free)


class Selection(Sequence[Model], Generic[Model]):
    """Live records of a state, each decoded when it is first needed. Equal to a list of the same records.

    `outlines` are the outlines of the records, in the same order.
    """

    def __init__(self, state: State, model: type[Model], outlines: Sequence[Any]) -> None:
        self._state, self.model, self.outlines = state, model, outlines

    def __len__(self) -> int:
        return len(self.outlines)

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, list | Selection) else NotImplemented

    @overload
    def __getitem__(self, at: int) -> Model: ...
    @overload
    def __getitem__(self, at: slice) -> Selection[Model]: ...
    def __getitem__(self, at: int | slice) -> Model | Selection[Model]:
        """Return a record, or a part of the selection.

        Raises:
            Corrupt: the file of the record can no longer be read.
        """
        if isinstance(at, slice):
            return Selection(self._state, self.model, self.outlines[at])
        return self._state.get(self.model, self.outlines[at].id)


Single = TypeVar("Single", Head, Shape)


def complete_id(ids: Iterable[str], text: str, what: str) -> str | None:
    """Return the only id that starts with `text`, ignoring case, or None if there is none.

    Raises:
        Ambiguous: several ids start with `text`, as they do with the prefix of a kind (`FU-`).
    """
    near = list_beginning(ids, text)
    if len(near) > 1:
        raise Ambiguous(what, text, near)
    return near[0] if near else None


def list_beginning(ids: Iterable[str], text: str) -> list[str]:
    """Return the ids that start with `text`, ignoring case, sorted.

    The prefix that all ids of a kind share, such as `FU-`, never names the only one of them, but it names several.
    """
    starting = sorted(id_ for id_ in ids if text and id_.lower().startswith(text.lower()))
    prefix, dash, _ = starting[0].partition("-") if len(starting) == 1 else ("", "", "")
    shared = len(prefix) + 1 if dash and prefix.isalpha() and prefix.isupper() else 0
    return starting if len(text) > shared else []


def key_of(record: Part) -> Key:
    """Return the key of a live record or singleton. Raises TypeError for a part without an id, such as an anchor."""
    if isinstance(record, Head):
        return HEAD
    if isinstance(record, Shape):
        return SHAPE
    if isinstance(record, Record):
        return Key(record.kind, record.id)
    raise TypeError(f"{type(record).__name__} has no key of its own")


def same_fields(left: Entry | None, right: Entry | None) -> bool:
    """Whether two entries are equal and set the same fields: an explicit default differs from an absent field."""
    if left is right:
        return True
    if isinstance(left, Part) and isinstance(right, Part):
        return same(left, right)
    return left == right


def _not_found(kind: str, text: str, near: Sequence[str] = ()) -> NotFound:
    meant = f"did you mean {near[0]}? " if near else ""
    what = name_kind(kind) if text else f"{name_kind(kind)} with an empty id"
    listing = f"to list the records of this kind: baton list {name_typed_plural(kind)}" if kind in KINDS else ""
    return NotFound(what, text, hint=f"{meant}{listing}".strip())


def _corrupt_error(entry: Unreadable) -> Corrupt:
    return Corrupt(
        entry.path, entry.why, hint="the file is kept as it is; restore an earlier version with `baton rollback`"
    )


def find_new_unreadable(before: State, after: State, *, archived: bool = True) -> list[Unreadable]:
    """Return the new or changed records of `after` that cannot be read, sorted by key.

    Args:
        archived: whether to read the archive, too.
    """
    keys = sorted(before.differing(after) if archived else before.differing_live(after))
    entries = ((before.entry(key), after.entry(key)) for key in keys)
    return [new for old, new in entries if isinstance(new, Unreadable) and new != old]
