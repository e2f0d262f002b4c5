"""Find the reasons for which a server refuses a push to a namespace."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

from baton_git.core import layout
from baton_git.core.errors import BatonError
from baton_git.core.names import Namespace, Oid
from baton_git.git.store import Store
from baton_git.namespace.ingest.budget import PUSHED, Budget
from baton_git.namespace.ingest.trees import find_unsafe_files
from baton_git.namespace.ingest.unreadable import find_new_unreadable
from baton_git.namespace.provenance.claims import Trusted, find_unconfirmed_claims, is_vouched_for, load_state


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
    roots = [store.folder(store.commit(commit).tree if commit is not None else None) for commit in (old, new)]
    if layout.FORMAT_FILE not in roots[1].entries():
        yield Refusal(new, "", "", f"{namespace}: it has no {layout.FORMAT_FILE}, so it is not a branch of baton-git")
        return
    after = layout.state_of(roots[1])
    faults = list(find_unsafe_files(roots[0], roots[1], most=budget.changed))
    for path, why in faults:
        limit = "" if path else f" ({budget.refuse(why, 'changed', 2 * budget.changed).hint})"
        yield Refusal(new, path, "", f"{why}{limit}")
    if faults:
        return
    for unreadable in find_new_unreadable(load_state(store, old), after):
        yield Refusal(new, unreadable.path, "", unreadable.why)
    for claim in find_unconfirmed_claims(store, old, new, trusted):
        yield Refusal(new, claim.held.id, claim.held.field, claim.held.why)
    if trusted is not None:
        yield from _find_unsigned(store, old, new, trusted)


def _find_unsigned(store: Store, old: Oid | None, new: Oid, trusted: Trusted) -> Iterator[Refusal]:
    for info in store.only_in(new, *([old] if old is not None else [])):
        if not is_vouched_for(store, info, trusted):
            yield Refusal(info.oid, "", "", "is not signed by an allowed key")
