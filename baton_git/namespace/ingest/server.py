"""Check a push to baton's branches on a server, before anything is accepted. The checks write nothing."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from baton_git.core.errors import BatonError, InvalidArgument, InvalidName, Rejected
from baton_git.core.kinds import KINDS, place_at
from baton_git.core.names import FORMAT_FILE, LANES, Namespace, Oid, is_lane_name, parse_oid
from baton_git.core.plain_records import is_harmless
from baton_git.core.stored_form import check_format, read_version
from baton_git.git.store import Folder, Store
from baton_git.namespace.ingest.budget import PUSHED, Budget, IngestDeadline
from baton_git.namespace.ingest.checking import Before, find_rejections
from baton_git.namespace.ingest.trees import find_unsafe_files, list_changed_files

if TYPE_CHECKING:
    from baton_git.namespace.provenance.claims import Trusted

_FIXED = tuple(info.folder for info in KINDS.values() if info.has_fixed_fields)
"""The folders of records with immutable fields, which no push may remove."""


class Refusal(NamedTuple):
    """The reason for refusing a commit.

    Attributes:
        record: the id of a record or the path of a file; empty if the reason concerns no single one.
        field: a field of the record; empty if the reason concerns no single field.
    """

    commit: Oid
    record: str
    field: str
    why: str


def find_refusals(
    store: Store,
    namespace: Namespace,
    old: Oid | None,
    new: Oid,
    *,
    trusted: Trusted | None = None,
    budget: Budget = PUSHED,
) -> list[Refusal]:
    """Return the reasons for which a server refuses to update a branch from `old` to `new`; empty if it accepts.

    Args:
        old: the current tip of the branch; None for a new branch.
        trusted: returns whether a commit is signed by an allowed key; None if commits need no signature.
    """
    end = time.monotonic() + budget.seconds
    try:
        with store.limit_reads(end, "checking the push"):
            return list(_iterate_refusals(store, namespace, old, new, trusted, budget))
    except BatonError as error:
        why = f"checking it takes more than {budget.seconds:.3g} s"
        known = budget.refuse(why, "seconds", 2 * budget.seconds) if time.monotonic() > end else error
        return [Refusal(new, "", "", f"{known}{f' ({known.hint})' if known.hint else ''}")]


def _iterate_refusals(
    store: Store, namespace: Namespace, old: Oid | None, new: Oid, trusted: Trusted | None, budget: Budget
) -> Iterator[Refusal]:
    before, after = (store.folder(store.commit(one).tree if one is not None else None) for one in (old, new))
    if FORMAT_FILE not in after.entries():
        yield Refusal(new, "", "", f"{namespace}: it has no {FORMAT_FILE}, so it is not a branch of baton-git")
        return
    check_format(after.read(FORMAT_FILE))
    faults = list(find_unsafe_files(before, after, most=budget.changed))
    for path, why in faults:
        limit = "" if path else f" ({budget.refuse(why, 'changed', 2 * budget.changed).hint})"
        yield Refusal(new, path, "", f"{why}{limit}")
    if faults:
        return
    if not _is_harmless(before, after):
        yield from _find_refused_records(store, old, new, trusted)
    if trusted is not None:
        yield from _find_unsigned(store, old, new, trusted)


def _is_harmless(before: Folder, after: Folder) -> bool:
    """Return whether all changed records are surely valid, and surely no change needs a person; see `plain_records`.

    Most pushes are such. This takes a third of the time that the import of the models takes.
    """
    versions = [read_version(root.read(FORMAT_FILE) or b"") for root in (before, after) if root.oid is not None]
    if any(type(version) is not int or version != 1 for version in versions):
        return False
    if any(before.entries().get(folder) != after.entries().get(folder) for folder in _FIXED):
        return False
    places = filter(None, map(place_at, list_changed_files(before, after)))
    return all(is_harmless(place, partial(_read, after), partial(_read, before)) for place in places)


def _read(root: Folder, path: str) -> bytes | None:
    *folders, name = path.split("/")
    for folder in folders:
        root = root.folder(folder)
    return root.read(name)


def _find_refused_records(store: Store, old: Oid | None, new: Oid, trusted: Trusted | None) -> Iterator[Refusal]:
    from baton_git.core.state import find_new_unreadable  # loads the models, as the next one
    from baton_git.namespace.provenance.claims import find_unconfirmed_claims, load_past_state, load_state

    for unreadable in find_new_unreadable(load_past_state(store, old), load_state(store, new)):
        yield Refusal(new, unreadable.path, "", unreadable.why)
    for claim in find_unconfirmed_claims(store, old, new, trusted):
        yield Refusal(new, claim.held.id, claim.held.field, claim.held.why)


def _find_unsigned(store: Store, old: Oid | None, new: Oid, trusted: Trusted) -> Iterator[Refusal]:
    from baton_git.namespace.provenance.claims import is_vouched_for  # loads the models, too

    for info in store.only_in(new, *([old] if old is not None else [])):
        if not is_vouched_for(store, info, trusted):
            yield Refusal(info.oid, "", "", "is not signed by an allowed key")


NOTHING = Oid("")


class RefUpdate(NamedTuple):
    """One input line of a pre-receive hook: the old and the new commit of a ref, None if the ref does not exist."""

    old: Oid | None
    new: Oid | None
    ref: str


def parse_ref_updates(lines: str) -> list[RefUpdate]:
    """Parse the lines `old new ref` that git passes to a pre-receive hook.

    Raises:
        InvalidArgument: a line has another form.
    """
    return [_parse_update(line) for line in lines.splitlines()]


def _parse_update(line: str) -> RefUpdate:
    parts = line.split(" ", 2)
    try:
        old, new, ref = parts
        return RefUpdate(_oid(old), _oid(new), ref)
    except (ValueError, InvalidName):
        raise InvalidArgument(f"{line[:80]!r} is not of the form: old new ref") from None


def _oid(text: str) -> Oid | None:
    return parse_oid(text) if text.strip("0") else None


def check_ref_updates(
    store: Store,
    prefix: str,
    pushed: Iterable[RefUpdate],
    *,
    trusted: Trusted | None = None,
    may_rewrite: bool = False,
    quarantine: Path | None = None,
    budget: Budget = PUSHED,
) -> Iterator[Refusal]:
    """Yield the refusals of updates to branches below `prefix` and to lanes (see `lanes`); other refs are ignored.

    A branch that cannot be checked is refused.

    Args:
        store: a store that also reads the objects of the push.
        trusted: returns whether a commit is signed by an allowed key; None if commits need no signature.
        may_rewrite: whether a push may delete a branch or remove commits from it.
        quarantine: the object directory with the objects of the push; None if they were checked already.
    """
    ours = [update for update in pushed if update.ref.startswith((prefix, LANES))]
    rejected = _reject_by_budget(store, ours, quarantine, budget)
    for update in ours:
        if update.ref in rejected:
            error = rejected[update.ref]
            limit = f" ({error.hint})" if error.data.get("can_be_raised") else ""
            yield Refusal(update.new or NOTHING, "", "", f"{error}{limit}")
        else:
            try:
                yield from _check_update(store, prefix, update, trusted, may_rewrite, budget)
            except BatonError as error:
                hint = f" ({error.hint})" if error.hint else ""
                yield Refusal(update.new or NOTHING, "", "", f"{update.ref} cannot be checked: {error}{hint}")


def _reject_by_budget(
    store: Store, updates: Sequence[RefUpdate], quarantine: Path | None, budget: Budget
) -> dict[str, Rejected]:
    """Return, by ref, the rejections of new tips that exceed the budget or are malformed."""
    tips = {update.ref: update.new for update in updates if update.new is not None}
    if quarantine is None or not tips:
        return {}
    before = Before({update.ref: [update.old] for update in updates if update.old is not None})
    return find_rejections(store, quarantine, tips, budget, IngestDeadline.after(budget.seconds), before)


def _check_update(
    store: Store, prefix: str, update: RefUpdate, trusted: Trusted | None, may_rewrite: bool, budget: Budget
) -> Iterator[Refusal]:
    old, new, ref = update
    if ref.startswith(LANES) and not prefix.startswith(LANES):
        yield from _check_lane(store, prefix, update, trusted, may_rewrite, budget)
        return
    try:
        namespace = Namespace.from_component(ref.removeprefix(prefix))
    except InvalidName:
        yield Refusal(new or NOTHING, "", "", f"{ref} is not the encoded name of a namespace")
        return
    if new is None:
        if not may_rewrite:
            why = f"a push may not delete {ref}, which may be the only copy of archived records"
            yield Refusal(NOTHING, "", "", why)
        return
    if old is not None and not may_rewrite and not store.is_ancestor(old, new):
        yield Refusal(new, "", "", f"the push would remove commits from {ref}: fetch and merge them (baton sync)")
        return
    yield from find_refusals(store, namespace, old, new, trusted=trusted, budget=budget)


def _check_lane(
    store: Store, prefix: str, update: RefUpdate, trusted: Trusted | None, may_rewrite: bool, budget: Budget
) -> Iterator[Refusal]:
    """Check a lane like the push to its branch that it stands for."""
    old, new, ref = update
    component, _, lane = ref.removeprefix(LANES).partition("/")
    try:
        namespace = Namespace.from_component(component)
    except InvalidName:
        namespace = None
    if namespace is None or (new is not None and not is_lane_name(lane)):
        yield Refusal(new or NOTHING, "", "", f"{ref} is not the name of a lane of a namespace")
        return
    branch = store.tip(prefix + component)
    kept = [commit for commit in (branch, new) if commit is not None]
    if old is not None and not may_rewrite and not any(store.is_ancestor(old, commit) for commit in kept):
        yield Refusal(new or NOTHING, "", "", f"the push would remove commits of {ref} that {prefix}{component} lacks")
    elif new is not None:
        base = next(iter(store.merge_bases(branch, new)), None) if branch is not None else None
        yield from find_refusals(store, namespace, base, new, trusted=trusted, budget=budget)


def format_refusal(refusal: Refusal) -> str:
    """Format a refusal as `refused OL-7k3f9q, field status: why (commit 1234abcd)`, without parts that are empty."""
    location = ", field ".join(part for part in (refusal.record, refusal.field) if part)
    commit = f" (commit {refusal.commit[:8]})" if refusal.commit else ""
    return f"refused {location}: {refusal.why}{commit}" if location else f"refused: {refusal.why}{commit}"
