"""Compare two states: the changes as data, for the log, `diff`, reviews and commit subjects, and forbidden changes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Literal, NamedTuple

from baton_git.core.errors import NotAllowed
from baton_git.core.kinds import ALL_KINDS, KindInfo
from baton_git.core.output import one_line
from baton_git.core.records.base import Archived, Fixed, Part, Record, alike, merge_rule, value_at
from baton_git.core.state import HEAD, SHAPE, Entry, Key, State, Unreadable

Action = Literal["added", "changed", "removed", "archived", "restored"]


class FieldChange(NamedTuple):
    """The change of one field, dotted if nested (`last_check.result`). A side without the field is an empty tuple."""

    field: str
    before: tuple[Any, ...]
    after: tuple[Any, ...]

    def as_data(self) -> dict[str, Any]:
        data: dict[str, Any] = {"field": self.field}
        if self.before:
            data["before"] = self.before[0]
        if self.after:
            data["after"] = self.after[0]
        return data


class RecordChange(NamedTuple):
    """The change of one record and of its fields."""

    kind: str
    id: str
    action: Action
    title: str = ""
    reason: str = ""
    fields: tuple[FieldChange, ...] = ()

    def as_data(self) -> dict[str, Any]:
        data: dict[str, Any] = {"kind": self.kind, "id": self.id, "action": self.action, "title": self.title}
        if self.reason:
            data["reason"] = self.reason
        data["fields"] = [field.as_data() for field in self.fields]
        return data

    def after(self, field: str) -> Any:
        """Return the new value of a field, or None if it did not change or was removed."""
        return next((change.after[0] for change in self.fields if change.field == field and change.after), None)

    def rises(self, field: str) -> bool:
        """Whether a counter has increased; an absent counter is 0."""
        changes = (change for change in self.fields if change.field == field)
        return any((change.after or (0,))[0] > (change.before or (0,))[0] for change in changes)


def diff(before: State, after: State) -> list[RecordChange]:
    """Return the changes from one state to the other, ordered by kind and id; changes within the archive come last."""
    keys = before.differing(after)
    live = sorted({Key(key.kind, key.id) for key in keys if not key.archived})
    closed = {key for key in keys if key.archived}
    moves = _Moves(before, after, closed)
    changes = [change for key in live for change in _live_changes(key, before, after, moves)]
    changes += [change for key in sorted(closed) for change in _compare(key, before.entry(key), after.entry(key))]
    return changes


def _live_changes(key: Key, before: State, after: State, moves: _Moves) -> Iterator[RecordChange]:
    """Yield the change of a live record; a move to or from the archive is a single change."""
    ours, theirs = before.entry(key), after.entry(key)
    archived = None if (ours is None) == (theirs is None) else moves.take(key, has_closed=theirs is None)
    if archived is None:
        yield from _compare(key, ours, theirs)
    elif theirs is None:
        fields = _fields(_data(ours), archived.record)
        title = title_of(key.kind, archived.record)
        yield RecordChange(key.kind, key.id, "archived", title, archived.reason, fields)
    else:
        fields = _fields(archived.record, _data(theirs))
        yield RecordChange(key.kind, key.id, "restored", title_of(key.kind, _data(theirs)), fields=fields)


class _Moves:
    """Finds the archived copies of live records, each in one step: an import or a merge can have thousands."""

    def __init__(self, before: State, after: State, closed: set[Key]) -> None:
        self._states, self._closed = (before, after), closed
        self._found: dict[bool, dict[tuple[str, Any], Key]] = {}

    def take(self, key: Key, *, has_closed: bool) -> Archived | None:
        """Return the first archived copy of `key` that only one state has, and remove it from the archived keys.

        Args:
            has_closed: whether that is the state after the change; otherwise, it is the one before.

        Returns:
            None if there is none.
        """
        if has_closed not in self._found:
            self._found[has_closed] = self._list(*(self._states if has_closed else reversed(self._states)))
        candidate = self._found[has_closed].get((key.kind, key.id))
        if candidate is None:
            return None
        self._closed.discard(candidate)
        entry = self._states[has_closed].entry(candidate)
        return entry if isinstance(entry, Archived) else None

    def _list(self, without: State, having: State) -> dict[tuple[str, Any], Key]:
        """Return the archived copies that only `having` has, by the kind and the id of the record."""
        copies: dict[tuple[str, Any], Key] = {}
        for candidate in sorted(self._closed):
            entry = having.entry(candidate)
            if isinstance(entry, Archived) and without.entry(candidate) is None:
                id_ = entry.record.get("id")
                copies.setdefault((candidate.kind, id_ if isinstance(id_, str) else None), candidate)
        return copies


def _compare(key: Key, ours: Entry | None, theirs: Entry | None) -> Iterator[RecordChange]:
    old, new = _data(ours), _data(theirs)
    fields = _fields(old, new)
    if not fields and (ours is None) == (theirs is None):
        return
    action: Action = "added" if ours is None else "removed" if theirs is None else "changed"
    yield RecordChange(
        f"archived_{key.kind}" if key.archived else key.kind,
        key.id,
        action,
        title_of(key.kind, new or old),
        fields=fields,
    )


def _data(entry: Entry | None) -> dict[str, Any]:
    if isinstance(entry, Part):
        return entry.as_data()
    return {"unreadable": entry.why} if isinstance(entry, Unreadable) else {}


def _fields(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[FieldChange, ...]:
    return tuple(_walk(old, new, ""))


def _walk(old: Mapping[str, Any], new: Mapping[str, Any], prefix: str) -> Iterator[FieldChange]:
    for name in {**old, **new}:
        if name in old and name in new and alike(old[name], new[name]):
            continue
        before, after = ((side[name],) if name in side else () for side in (old, new))
        yield from _change(f"{prefix}{name}", before, after)


def _change(name: str, before: tuple[Any, ...], after: tuple[Any, ...]) -> Iterator[FieldChange]:
    """Yield the change of a field, or of its nested fields if the field is a table that is not empty on each side that
    has it, or if both sides are equally long lists of tables."""
    sides = [values[0] for values in (before, after) if values]
    if all(isinstance(side, Mapping) and side for side in sides):
        old_table, new_table = (values[0] if values else {} for values in (before, after))
        yield from _walk(old_table, new_table, f"{name}.")
    elif len(sides) == 2 and all(isinstance(side, list | tuple) for side in sides) and _are_tables(*sides):
        for number, (old_item, new_item) in enumerate(zip(*sides, strict=True)):
            yield from _walk(old_item, new_item, f"{name}[{number}].")
    else:
        yield FieldChange(name, before, after)


def _are_tables(old: Any, new: Any) -> bool:
    """Whether both lists are equally long and have tables only."""
    return len(old) == len(new) and all(isinstance(item, Mapping) for item in (*old, *new))


def title_of(kind: str, data: Mapping[str, Any]) -> str:
    """Return a summary of a record on one line, at most 72 characters."""
    info = ALL_KINDS.get(kind)
    return one_line(str(value_at(data, info.about) or ""), 72) if info is not None else ""


# --- as text

_CONTEXT_UPDATED = "context updated"
_UNMENTIONED = ("context", "context_at", "context_replaced", "wrote_document")
"""Fields of a session whose changes are not described as such."""


def commit_subject(changes: list[RecordChange], limit: int = 5) -> str:
    """Return the subject of a commit, such as `OL-7k3f9q verified; FU-003 deferred, now elevated`."""
    phrases = list(dict.fromkeys(phrase for change in changes for phrase in _list_phrases(change)))
    more = f"; and {len(phrases) - limit} more" if len(phrases) > limit else ""
    return "; ".join(phrases[:limit]) + more if phrases else "no change of a record"


def describe_change(change: RecordChange) -> str:
    """Return the change of one record in words; empty for a change that logs and commit subjects do not mention."""
    return "; ".join(_list_phrases(change))


def _list_phrases(change: RecordChange) -> list[str]:
    has_context = any(field.field in ("context", "context_at") for field in change.fields)
    phrases = [_CONTEXT_UPDATED] if has_context and change.kind in (HEAD.kind, "session") else []
    if change.kind in (HEAD.kind, SHAPE.kind):
        return phrases
    if change.kind == "session":
        others = [field for field in change.fields if field.field not in _UNMENTIONED]
        if change.action == "changed" and not others:
            return phrases
        if change.action == "added" and phrases and change.after("status") == "ended":
            return phrases  # the text of somebody who did not begin a session
        change = change._replace(fields=tuple(others))
    return [*phrases, *filter(None, [_describe_record(change)])]


def _describe_record(change: RecordChange) -> str:
    about = f": {one_line(change.title, 50)}" if change.title and change.kind != "session" else ""
    name = one_line(change.id, 60)
    if change.kind == "session":
        return f"session {name} {'started' if change.action == 'added' else _describe_action(change)}"
    if change.kind == "rule":
        return f"rule {name} {'written' if change.action == 'added' else change.action}"
    info = ALL_KINDS.get(change.kind)
    if info is not None and info.began:
        return _describe_named(change, info, name, about)
    if change.action == "added":
        return f"{name} added{about}"
    if change.action == "archived":
        return f"{name} archived ({one_line(change.reason, 60)})"
    return f"{name} {_describe_action(change)}"


def _describe_named(change: RecordChange, info: KindInfo, name: str, about: str) -> str:
    """Return the change of a record whose id does not show its kind, in words."""
    shown_id = name.partition("/")[0] if info.made_once else name
    if change.action == "added":
        return f"{change.kind} {shown_id} {info.began}{about}"
    if change.action == "archived":
        return "" if info.made_once else f"{change.kind} {shown_id} {one_line(change.reason, 60)}"
    if change.action == "changed" and info.replaced:
        return f"{change.kind} {shown_id} {info.began} anew"
    if change.after(info.about) and not (info.made_once or info.replaced or info.has_fixed_fields):
        return f"{change.kind} {shown_id} at {one_line(str(change.after(info.about)), 50)}"
    return f"{change.kind} {shown_id} {_describe_action(change)}"


def _describe_action(change: RecordChange) -> str:
    if change.action != "changed":
        return change.action
    names = {field.field for field in change.fields}
    if "unreadable" in names:
        return "cannot be read" if change.after("unreadable") else "can be read again"
    verbs = []
    if "defer_count" in names:
        verbs.append("deferred" if change.rises("defer_count") else f"deferred {change.after('defer_count') or 0}×")
    if "count" in names:
        verbs.append(f"seen {'again ' if change.rises('count') else ''}({change.after('count') or 0}×)")
    status = change.after("status")
    if status is not None:
        verbs.append(str(status).replace("_", " "))
    elif any(name.startswith("last_check") for name in names):
        verbs.append("checked")
    if change.kind == "active_decision" and change.after("replaces"):
        verbs.append(f"proposed to replace {one_line(str(change.after('replaces')), 60)}")
    if change.after("priority") in ("elevated", "escalated"):
        verbs.append(f"now {change.after('priority')}")
    return ", ".join(verbs) or _describe_fields(sorted({re.split(r"[.\[]", name, maxsplit=1)[0] for name in names}))


_NOUNS = {"ended": "end", "started": "start"}
"""Words for fields whose names would read as verbs: `session s1 end changed`."""


def _describe_fields(names: list[str]) -> str:
    shown = ", ".join(_NOUNS.get(name) or one_line(name, 40) or repr(name) for name in names[:3])
    return f"{shown}{'…' if len(names) > 3 else ''} changed"


# --- immutable fields: fields with the merge rule `Fixed` are set once and never change


WHY = "is set once and must not change"


class Breach(NamedTuple):
    """A change of an immutable field; `claimed` is None if the field or the record would be removed."""

    key: Key
    field: str
    kept: Any
    claimed: Any


@cache
def fixed_fields(model: type[Part]) -> tuple[str, ...]:
    return tuple(name for name in model.model_fields if isinstance(merge_rule(model, name), Fixed))


def find_breaches(key: Key, before: Entry | None, after: Entry | None) -> Iterator[Breach]:
    """Yield the immutable fields that `before` has and `after`, an entry of the same key, changes or removes."""
    if not isinstance(before, Record) or isinstance(after, Unreadable):
        return
    names = fixed_fields(type(before))
    if not names:  # true for most kinds
        return
    was, now = before.as_data(), after.as_data() if isinstance(after, Part) else {}
    for name in names:
        if was.get(name) is not None and not alike(was[name], now.get(name)):
            yield Breach(key, name, was[name], now.get(name))


def refuse_changes(before: State, after: State) -> None:
    """Raise NotAllowed if an edit of `after` changes an immutable field of a record of `before`."""
    for key in after.edits:
        for breach in find_breaches(key, before.entry(key), after.entry(key)):
            raise NotAllowed(f"{key.display_name}: {breach.field} {WHY}", hint="create a new record instead")


def restore_fixed(before: State, after: State) -> tuple[State, set[Key]]:
    """Return the later state with its immutable fields restored, and the keys of the restored records."""
    broken = {key for key in after.edits if any(find_breaches(key, before.entry(key), after.entry(key)))}
    edits: dict[Key, Entry | None] = {}
    for key in broken:
        was, now = before.entry(key), after.entry(key)
        kept = {breach.field: breach.kept for breach in find_breaches(key, was, now)}
        edits[key] = now.replace(**kept) if isinstance(was, Record) and isinstance(now, Record) else was
    return State(after.source, {**after.edits, **edits}), broken
