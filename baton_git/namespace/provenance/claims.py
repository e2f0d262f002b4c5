"""Find the claims that a server refuses: changes that need a person's confirmation, or that are never allowed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from baton_git.core import diff, kinds, layout
from baton_git.core.lifecycle import HeldClaim, hold_claims
from baton_git.core.names import Oid
from baton_git.core.records.base import Archived, Record, alike, parse
from baton_git.core.records.work_items import ActiveDecision, Pattern, Rule
from baton_git.core.state import Entry, Key, State
from baton_git.git.store import CommitInfo, Store
from baton_git.namespace.commit_log import CONFIRMED, LogEntry, parse_entry

Trusted = Callable[[CommitInfo], bool]
"""Tells whether a commit is signed by an allowed key."""


class FieldClaim(NamedTuple):
    """A field of a record with a new value that needs a confirmation or is not allowed."""

    key: Key
    held: HeldClaim


# --- claims


def find_claims(before: State, after: State) -> list[FieldClaim]:
    """Return the changes between two states that only a person may make, or that are never allowed."""

    def tier_of(id_: str) -> str | None:
        decision = _read_record(after, Key(ActiveDecision.kind, id_))
        return decision.source_tier if isinstance(decision, ActiveDecision) else None

    claims = []
    for key in sorted(key for key in before.differing(after) if key.kind in kinds.KINDS):
        claims += [FieldClaim(key, held) for held in _find_immutable_claims(key, before.entry(key), after.entry(key))]
        record = _read_record(after, key)
        if isinstance(record, Rule):
            claims += [FieldClaim(key, held) for held in _find_rule_claims(before.entry(key), record)]
        elif record is not None:
            _, all_held = hold_claims(_find_record(before, key, record.id), record, tier_of, evidence=False)
            claims += [FieldClaim(key, held) for held in all_held]
    return claims


def _find_rule_claims(before: Entry | None, rule: Rule) -> Iterator[HeldClaim]:
    """Yield the claim of a changed rule text. Sessions treat the text of a rule as confirmed by a person."""
    text = before.text if isinstance(before, Rule) else None
    if rule.text != text:
        yield HeldClaim(rule.id, "text", rule.text, text, "the text of a rule needs a person's confirmation")


def _find_immutable_claims(key: Key, before: Entry | None, after: Entry | None) -> Iterator[HeldClaim]:
    for breach in diff.find_breaches(key, before, after):
        yield HeldClaim(key.id, breach.field, breach.claimed, breach.kept, f"{breach.field} {diff.WHY}")


def _find_record(before: State, key: Key, id_: str) -> Record | None:
    """Return the record with this key or id, live or archived; None if there is none."""
    keys = (key, Key(key.kind, id_), Key(key.kind, id_, archived=True))
    return next((record for each_key in keys if (record := _read_record(before, each_key)) is not None), None)


def _read_record(state: State, key: Key) -> Record | None:
    """Return the record at a key, which may be that of an archived record; None if there is none."""
    entry: Entry | None = state.entry(key)
    if isinstance(entry, Archived):
        model = kinds.KINDS[key.kind].model
        assert issubclass(model, Record)
        return parse(model, entry.record)
    return entry if isinstance(entry, Record) else None


def find_unconfirmed_claims(
    store: Store, base: Oid | None, tip: Oid, trusted: Trusted | None = None
) -> list[FieldClaim]:
    """Return the changes between two commits that need a confirmation but come from no commit that may make them.

    - A graduation, and a tier raised to `human_confirmed`, need a commit in which a person confirmed them; if signing
      is configured, a signed commit.
    - An immutable field may change in a merge commit that chooses between two values that were set independently.
    - All other claims need a commit made by a verb of baton; a commit made by hand is not enough.

    Args:
        base: the last accepted commit; None for a new branch.
        trusted: tells whether a commit is signed by an allowed key; None if signing is not configured.

    Raises:
        Corrupt: a commit or a tree cannot be read.
    """
    before = load_past_state(store, base)
    claims = find_claims(before, load_state(store, tip))
    if not claims:
        return []
    commits = list(store.only_in(tip, *([base] if base is not None else [])))
    return [claim for claim in claims if not any(_may_make(store, info, claim, trusted) for info in commits)]


def _is_immutable(claim: FieldClaim) -> bool:
    return claim.held.field in diff.fixed_fields(kinds.KINDS[claim.key.kind].model)


def _chooses_value(store: Store, info: CommitInfo, claim: FieldClaim) -> bool:
    """Return whether a commit is the automatic merge that chose the claimed value of an immutable field."""

    def value(commit: Oid) -> Any:
        record = _read_record(load_past_state(store, commit), claim.key)
        return None if record is None else record.as_data().get(claim.held.field)

    if not alike(value(info.oid), claim.held.claimed):
        return False
    sides = [value(parent) for parent in info.parents]
    if len(sides) != 2 or None in sides or alike(*sides):
        return False
    from baton_git.namespace.merge_commit import is_automatic_merge  # loads the merge, which few pushes need

    return is_automatic_merge(store, info)


def load_state(store: Store, commit: Oid | None) -> State:
    """Return the state at a commit; an empty state for None."""
    return State() if commit is None else layout.state_of(store.folder(store.commit(commit).tree))


def load_past_state(store: Store, commit: Oid | None) -> State:
    """Return the records at a commit of the history, whatever its `format.toml` says: a later commit may repair it."""
    return State() if commit is None else layout.records_of(store.folder(store.commit(commit).tree))


def _may_make(store: Store, info: CommitInfo, claim: FieldClaim, trusted: Trusted | None) -> bool:
    """Return whether a commit adds the claim, and has the confirmation, signature or verb that the claim needs.

    A commit adds a claim that it contains and its parents do not. If the claim needs no person and the commit is not an
    automatic merge, one parent without the claim is enough.
    """
    if _is_immutable(claim):
        return _chooses_value(store, info, claim)
    entry = parse_entry(info)
    needs_person = _needs_person(claim)
    if needs_person and trusted is None and not entry.trailer_values(CONFIRMED):
        return False
    if not (needs_person or entry.op) or not _contains(load_past_state(store, info.oid), claim):
        return False
    if needs_person and not _is_confirmed(info, entry, trusted):
        return False
    before = [_contains(load_past_state(store, parent), claim) for parent in info.parents]
    return not all(before) if before and not needs_person and entry.op != "merge" else not any(before)


def _is_confirmed(info: CommitInfo, entry: LogEntry, trusted: Trusted | None) -> bool:
    return trusted(info) if trusted is not None else bool(entry.trailer_values(CONFIRMED))


def _needs_person(claim: FieldClaim) -> bool:
    """Return whether the claim creates or changes a rule, or states that a person vouches for a record."""
    held = claim.held
    makes_rule = held.field in ("graduated_to", "text") and held.claimed is not None
    return makes_rule or held.claimed in ("graduated", "human_confirmed")


def _contains(state: State, claim: FieldClaim) -> bool:
    """Return whether a state contains the claimed value. If the claim needs a person, a pattern must be graduated."""
    record = _find_record(state, claim.key, claim.held.id)
    if isinstance(record, Pattern) and _needs_person(claim) and record.status != "graduated":
        return False
    return record is not None and getattr(record, claim.held.field) == claim.held.claimed


def is_vouched_for(store: Store, info: CommitInfo, trusted: Trusted | None) -> bool:
    """Return whether a commit is signed by an allowed key, or is a root commit or an automatic merge.

    Roots and automatic merges need no signature, because every machine creates the same ones.
    """
    if trusted is not None and trusted(info):
        return True
    from baton_git.namespace.merge_commit import is_automatic_merge, is_root  # as above

    return is_root(store, info) or is_automatic_merge(store, info)
