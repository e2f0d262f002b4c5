"""Decide whether a caller may remove, replace or weaken records that a person confirmed.

The decision is made where a change is committed: `Branch.prepare` and `Branch.advance` call `refuse_losses` for every
change of every verb, with the caller from the commit stamp. Who confirmed a record is computed from its history, never
read from the record. An agent may add to what a person confirmed, settle work that a person asked for, and propose
another decision; only a person may take a confirmed record away or change what it says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from baton_git.core.errors import Protected
from baton_git.core.kinds import KINDS, LABELLED
from baton_git.core.lifecycle import HeldClaim
from baton_git.core.records.base import TIERS, Archived, Facet, Record, alike, covered_fields, covered_values, parse
from baton_git.core.records.work_items import ActiveDecision, FollowUp, OpenLoop, Pattern
from baton_git.core.state import Entry, Key, State
from baton_git.namespace.caller import ChangeCaller
from baton_git.namespace.history import BranchHistory
from baton_git.namespace.provenance.judgement import Judgement
from baton_git.namespace.provenance.labels import Labels
from baton_git.namespace.revision import Revision

Fields = dict[str, Any]

WORK_ITEMS = (OpenLoop.kind, FollowUp.kind)
"""The kinds of records that are settled by doing them."""
_ADDITIONS = {FollowUp.kind: "reason", Pattern.kind: "proposed_rule"}
"""By kind, the field of the text that anybody may fill if it is empty, since everyday verbs do: `followup defer`, and a
pattern that was recorded often enough. The statement stays protected."""
_TEXT: tuple[Facet, ...] = ("text", "statement")
_REMOVE = "remove it"

HOW = "a person can do it at a terminal of their own, or on the page of baton serve with its own token"


class Loss(NamedTuple):
    """What a change takes away from a record.

    Attributes:
        act: what happens to it; completes the sentence "only a person can".
        facets: the facets whose confirmation forbids it to anybody but a person.
    """

    key: Key
    act: str
    facets: tuple[Facet, ...]


def refuse_losses(
    history: BranchHistory, tip: Revision, after: State, caller: ChangeCaller, settled: frozenset[Key] = frozenset()
) -> None:
    """Refuse a change of `tip` that only a person may make, unless a person asks for it.

    Args:
        settled: the loops and follow-ups that the change archives because they are done.

    Raises:
        Protected: it removes, replaces or weakens a record that a person confirmed.
        Corrupt, StoreError: the history of such a record cannot be read.
    """
    if caller.person is not None:
        return
    losses = list(find_protected(tip.state, after, Labels(history, tip.commit, caller.vouching), settled))
    if losses:
        ids = list(dict.fromkeys(loss.key.id for loss in losses))
        more = f" (and so for {', '.join(ids[1:4])}{' …' if len(ids) > 4 else ''})" if len(ids) > 1 else ""
        raise Protected(f"a person confirmed {ids[0]}, so only a person can {losses[0].act}{more}", ids, hint=HOW)


def find_protected(before: State, after: State, labels: Labels, settled: frozenset[Key]) -> Iterator[Loss]:
    """Yield the losses of records that a person confirmed.

    The records are only compared if any can be confirmed here, and the labels only computed for records that lose
    something, so most writes need no history.
    """
    if not labels.can_be_confirmed:
        return
    # Without a confirmation here, keys or a trusted remote, no record can be confirmed, and no history has to be read.
    judge = Judgement(labels)
    for loss in find_losses(before, after, settled):
        is_confirmed = any(labels.of(loss.key, facet).kind == "confirmed" for facet in loss.facets)
        if is_confirmed and not (loss.act == _REMOVE and _is_superseded(before.entry(loss.key), judge)):
            yield loss


def _is_superseded(entry: Entry | None, judge: Judgement) -> bool:
    """Return whether the entry is a superseded decision, which the end of a session archives."""
    return isinstance(entry, ActiveDecision) and entry.status == "superseded" and judge.is_superseded(entry)


def find_losses(before: State, after: State, settled: frozenset[Key]) -> Iterator[Loss]:
    """Yield what a change takes away from the readable records of `before`, whoever vouches for them."""
    differing = sorted(key for key in before.differing(after) if key.kind in LABELLED)
    archived = {
        (key.kind, entry.record.get("id")): entry
        for key in differing
        if key.archived and isinstance(entry := after.entry(key), Archived)
    }
    for key in differing:
        entry = before.entry(key)
        data, now = _data_of(entry), _data_of(after.entry(key))
        if data is None:
            continue
        if now is None and key.archived:
            reopened = _data_of(after.entry(Key(key.kind, str(data.get("id")))))
            now = None if reopened is None else _keep_only_statement(key.kind, data, reopened)
        elif now is None and (_is_verified(entry) or (key in settled and key.kind in WORK_ITEMS)):
            now = _data_of(archived.get((key.kind, key.id)))
        yield from _find_changes(key, data, now) if now is not None else [Loss(key, _REMOVE, _TEXT)]


def _keep_only_statement(kind: str, archived: Fields, reopened: Fields) -> Fields:
    """Return the fields of an archived record with the statement of the reopened one.

    What a reopened pattern loses (its rule) was taken away when it was archived.
    """
    statement = covered_fields(KINDS[kind].model).get("statement", ())
    return {**archived, **{field.name: reopened.get(field.name) for field in statement}}


def _data_of(entry: Entry | None) -> Fields | None:
    """Return the fields of a live or archived record; None if there is none, or it cannot be read."""
    if isinstance(entry, Archived):
        return entry.record
    return entry.as_data() if isinstance(entry, Record) else None


def _is_verified(entry: Entry | None) -> bool:
    """Return whether the entry is a verified loop, which the end of a session archives."""
    return isinstance(entry, OpenLoop) and entry.status == "verified"


def _find_changes(key: Key, before: Fields, after: Fields) -> Iterator[Loss]:
    """Yield what a record loses that stays, live or archived."""
    model = KINDS[key.kind].model

    def changes(facet: Facet, then: Fields) -> bool:
        return not alike(covered_values(model, facet, then), covered_values(model, facet, after))

    if changes("statement", before):
        yield Loss(key, "change its text", ("statement",))
    if changes("text", _with_addition(key.kind, before, after)):
        yield Loss(key, "change its text", ("text",))
    if changes("closing", before):
        is_open = covered_values(model, "closing", before) is None
        yield Loss(key, "replace it", _TEXT if is_open else ("closing",))
    if after.get("status") == "dismissed" != before.get("status"):
        yield Loss(key, "dismiss it", _TEXT)
    if _rank(before) > _rank(after):
        yield Loss(key, "lower its tier", _TEXT)


def _with_addition(kind: str, before: Fields, after: Fields) -> Fields:
    """Return the fields before a change, with the field that it fills if anybody may fill it."""
    name = _ADDITIONS.get(kind)
    if name is None or before.get(name) is not None or after.get("status") == "graduated":
        return before
    return {**before, name: after.get(name)}


def _rank(data: Fields) -> int:
    """Return the rank of a declared tier; that of a tier that is left out is the highest, which some kinds imply."""
    tier = data.get("source_tier")
    return TIERS.index(tier) if tier in TIERS else len(TIERS)


def hold_losses(before: State, after: State, labels: Labels, settled: frozenset[Key]) -> tuple[State, list[HeldClaim]]:
    """Return a state without the losses of records that a person confirmed, and the list of these losses.

    A document says in one write what its client wants of all records. The rest of it is written.
    """
    held = []
    for key, losses in _group(find_protected(before, after, labels, settled)):
        entry, now = before.entry(key), after.entry(key)
        why = f"a person confirmed it, so only a person can {losses[0].act}"
        if losses[0].act == _REMOVE:
            after = _restore(before, after, key)
            held.append(HeldClaim(key.id, "status", "removed", "kept", why))
        elif isinstance(entry, Record) and isinstance(now, Record):
            changed = _list_changed(entry, now)
            after = after.put(_with_fields(now, entry, changed))
            old, new = entry.as_data(), now.as_data()
            held += [HeldClaim(key.id, name, new.get(name), old.get(name), why) for name in changed]
    return after, held


def _group(losses: Iterable[Loss]) -> list[tuple[Key, list[Loss]]]:
    by_key: dict[Key, list[Loss]] = {}
    for loss in losses:
        by_key.setdefault(loss.key, []).append(loss)
    return list(by_key.items())


def _restore(before: State, after: State, key: Key) -> State:
    """Return `after` with a removed record in its place again, and without its new copy in the archive."""
    copies = {
        other: None
        for other in before.differing(after)
        if (other.kind, other.archived, before.entry(other)) == (key.kind, True, None)
        and isinstance(entry := after.entry(other), Archived)
        and entry.record.get("id") == key.id
    }
    return State(after.source, {**after.edits, **copies, key: before.entry(key)})


def _list_changed(before: Record, after: Record) -> list[str]:
    """Return the names of the fields that changed and that a confirmation protects."""
    protected = {field.name for fields in covered_fields(type(before)).values() for field in fields}
    if before.kind not in WORK_ITEMS:
        protected |= {"status", "source_tier"}
    old, new = before.as_data(), after.as_data()
    return [name for name in sorted(protected) if not alike(old.get(name), new.get(name))]


def _with_fields(record: Record, source: Record, names: list[str]) -> Record:
    """Return a record with the fields of these names as in another record."""
    old = source.as_data()
    data = {name: value for name, value in record.as_data().items() if name not in names}
    return parse(type(record), data | {name: old[name] for name in names if name in old}, where=record.id)
