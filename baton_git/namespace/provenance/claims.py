"""Claims that a server refuses: those that need a person's confirmation, or that nobody may make."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from baton_git.core import immutable_fields, kinds, layout
from baton_git.core.lifecycle import HeldClaim, hold_claims
from baton_git.core.names import Oid
from baton_git.core.records.archive import Archived
from baton_git.core.records.base import Record, alike, parse
from baton_git.core.records.rule import Rule
from baton_git.core.records.work_items import ActiveDecision, Pattern
from baton_git.core.state import Entry, Key, State
from baton_git.git.store import CommitInfo, Store
from baton_git.namespace.commit_log import CONFIRMED, LogEntry, parse_entry
from baton_git.namespace.merge_commit import is_pure, is_root

Trusted = Callable[[CommitInfo], bool]
"""Whether a commit is signed by an allowed key; None where signing is not configured."""


class FieldClaim(NamedTuple):
    """A field of a record with a value that needs a confirmation."""

    key: Key
    held: HeldClaim


# --- claims


def find_claims(before: State, after: State) -> list[FieldClaim]:
    """Return the changes between two states that only a person, or nobody, may make."""

    def tier_of(id_: str) -> str | None:
        decision = _read_record(after, Key(ActiveDecision.kind, id_))
        return decision.source_tier if isinstance(decision, ActiveDecision) else None

    found_claims = []
    for key in sorted(key for key in before.differing(after) if key.kind in kinds.KINDS):
        found_claims += [FieldClaim(key, hold_) for hold_ in _of_fixed(key, before.entry(key), after.entry(key))]
        claim = _read_record(after, key)
        if isinstance(claim, Rule):
            found_claims += [FieldClaim(key, hold_) for hold_ in _of_rule(before.entry(key), claim)]
        elif claim is not None:
            _, holds = hold_claims(_find_record(before, key, claim.id), claim, tier_of, evidence=False)
            found_claims += [FieldClaim(key, hold_) for hold_ in holds]
    return found_claims


def _of_rule(before: Entry | None, rule: Rule) -> Iterator[HeldClaim]:
    """Yield the claim of a rule's text, which sessions get as confirmed by a person."""
    text = before.text if isinstance(before, Rule) else None
    if rule.text != text:
        yield HeldClaim(rule.id, "text", rule.text, text, "a rule is what a person confirmed")


def _of_fixed(key: Key, before: Entry | None, after: Entry | None) -> Iterator[HeldClaim]:
    for breach in immutable_fields.breaches(key, before, after):
        yield HeldClaim(key.id, breach.field, breach.claimed, breach.kept, f"{breach.field} {immutable_fields.WHY}")


def _find_record(before: State, key: Key, id_: str) -> Record | None:
    """Return the record, live or archived."""
    places = (key, Key(key.kind, id_), Key(key.kind, id_, archived=True))
    return next((record for place in places if (record := _read_record(before, place)) is not None), None)


def _read_record(state: State, key: Key) -> Record | None:
    """Return the record at a key, live or archived."""
    entry: Entry | None = state.entry(key)
    if isinstance(entry, Archived):
        model = kinds.KINDS[key.kind].model
        assert issubclass(model, Record)
        return parse(model, entry.record)
    return entry if isinstance(entry, Record) else None


def find_unconfirmed_claims(
    store: Store, base: Oid | None, tip: Oid, trusted: Trusted | None = None
) -> list[FieldClaim]:
    """The claims between two commits that stand in no commit which may make them.

    A graduation, and a tier raised to `human_confirmed`, take a commit in which a person confirmed it; where signing is
    configured, a signed one. What is set once may change where a merge chose of two that were set independently, or
    where a change is taken back. Everything else takes a verb of baton: what somebody
    edited by hand does not count.

    Raises:
        Corrupt: a commit or a tree cannot be read.
    """
    before = load_state(store, base)
    found_claims = find_claims(before, load_state(store, tip))
    if not found_claims:
        return []
    commits = list(store.only_in(tip, *([base] if base is not None else [])))
    return [claim for claim in found_claims if not any(_makes(store, info, claim, trusted) for info in commits)]


def _is_fixed(claim: FieldClaim) -> bool:
    return claim.held.field in immutable_fields.fixed_fields(kinds.KINDS[claim.key.kind].model)


def _settles(store: Store, info: CommitInfo, claim: FieldClaim) -> bool:
    """Whether a commit gives a field that is set once the claimed value, and may."""

    def value(commit: Oid) -> Any:
        record = _read_record(load_state(store, commit), claim.key)
        return None if record is None else record.as_data().get(claim.held.field)

    if not alike(value(info.oid), claim.held.claimed):
        return False
    sides = [value(parent) for parent in info.parents]
    return len(sides) == 2 and None not in sides and not alike(*sides) and is_pure(store, info)


def load_state(store: Store, commit: Oid | None) -> State:
    """Return the state at a commit; an empty one for None."""
    return State() if commit is None else layout.state_of(store.folder(store.commit(commit).tree))


def _makes(store: Store, info: CommitInfo, claim: FieldClaim, trusted: Trusted | None) -> bool:
    """Whether this commit makes the claim, and may.

    None of its parents has it; of a merge in which somebody chose, one may.
    """
    if _is_fixed(claim):
        return _settles(store, info, claim)
    entry = parse_entry(info)
    raises = _raises(claim)
    if raises and trusted is None and not entry.trailer_values(CONFIRMED):
        return False
    if not (raises or entry.op) or not _says(load_state(store, info.oid), claim):
        return False
    if raises and not _is_a_persons(info, entry, trusted):
        return False
    before = [_says(load_state(store, parent), claim) for parent in info.parents]
    return not all(before) if before and not raises and entry.op != "merge" else not any(before)


def _is_a_persons(info: CommitInfo, entry: LogEntry, trusted: Trusted | None) -> bool:
    return trusted(info) if trusted is not None else bool(entry.trailer_values(CONFIRMED))


def _raises(claim: FieldClaim) -> bool:
    """Whether it makes, or changes, a rule, or says that a person vouches for something."""
    held = claim.held
    makes_rule = held.field in ("graduated_to", "text") and held.claimed is not None
    return makes_rule or held.claimed in ("graduated", "human_confirmed")


def _says(state: State, claim: FieldClaim) -> bool:
    """A pattern says who vouches for it by being graduated: that is what a person confirms."""
    record = _find_record(state, claim.key, claim.held.id)
    if isinstance(record, Pattern) and _raises(claim) and record.status != "graduated":
        return False
    return record is not None and getattr(record, claim.held.field) == claim.held.claimed


def is_vouched_for(store: Store, info: CommitInfo, trusted: Trusted | None) -> bool:
    """Whether a commit is signed by an allowed key, or is one that every machine makes alike."""
    signed = trusted is not None and trusted(info)
    return signed or is_root(store, info) or is_pure(store, info)
