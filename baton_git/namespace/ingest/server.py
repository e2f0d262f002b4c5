"""Check a push to baton's branches on a server, before anything is accepted. The checks write nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from baton_git.core.errors import BatonError, InvalidArgument, InvalidName, Rejected
from baton_git.core.names import LANES, Namespace, Oid, is_lane_name, parse_oid
from baton_git.git.store import Store
from baton_git.namespace.ingest.budget import PUSHED, Budget
from baton_git.namespace.ingest.checking import Before, find_rejections
from baton_git.namespace.ingest.deadline import IngestDeadline
from baton_git.namespace.ingest.rejections import Refusal, find_refusals

if TYPE_CHECKING:
    from baton_git.namespace.provenance.claims import Trusted

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
