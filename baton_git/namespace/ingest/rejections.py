"""Find the reasons for which a server refuses a push to a namespace."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from baton_git.core.errors import BatonError
from baton_git.core.kinds import KINDS, place_at
from baton_git.core.names import FORMAT_FILE, Namespace, Oid
from baton_git.core.plain_records import is_harmless
from baton_git.core.stored_form import check_format, read_version
from baton_git.git.store import Folder, Store
from baton_git.namespace.ingest.budget import PUSHED, Budget
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
    from baton_git.namespace.ingest.unreadable import find_new_unreadable  # loads the models, as the next one
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
