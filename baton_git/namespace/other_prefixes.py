"""Find namespaces whose branches are below another prefix than `baton.refPrefix`, as after a change of that setting."""

from __future__ import annotations

from contextlib import suppress

from baton_git.core import layout
from baton_git.core.errors import InvalidName, StoreError
from baton_git.core.names import Namespace, Oid
from baton_git.git.refs.kept_refs import KEPT
from baton_git.git.store import Store

PREFIXES = ("refs/heads/baton/", "refs/baton/")
"""The default prefix, and the one that the documentation recommends for hidden branches."""
MOVE = "baton namespace move"
"""The command that moves the branches."""


def find_other_prefix(store: Store, prefix: str, namespace: Namespace) -> str | None:
    """Return another prefix below which a namespace has its branch; None if there is none.

    Raises:
        StoreError: the refs cannot be listed.
    """
    for other in _list_prefixes(store, prefix):
        with suppress(StoreError):
            tip = store.tip(other + namespace.component)
            if tip is not None and _is_namespace(store, tip):
                return other
    return None


def list_misplaced(store: Store, prefix: str) -> list[tuple[str, Namespace]]:
    """Return the namespaces below other prefixes, each with its prefix, sorted.

    Raises:
        StoreError: the refs cannot be listed.
    """
    found = []
    for other in _list_prefixes(store, prefix):
        for ref, tip in store.refs(other).items():
            with suppress(InvalidName, StoreError):
                namespace = Namespace.from_component(ref.removeprefix(other))
                if _is_namespace(store, tip):
                    found.append((other, namespace))
    return sorted(found, key=lambda item: (item[0], str(item[1])))


def describe_other_prefix(prefix: str, other: str) -> str:
    """Return a hint that names where the branch is, and the command that moves it."""
    return (
        f"its branch is still under {other}, and baton.refPrefix is {prefix}; to move the branches there: {MOVE};"
        f" to go on under {other}: git config baton.refPrefix {other}"
    )


def _list_prefixes(store: Store, prefix: str) -> list[str]:
    """Return the prefixes where branches may be: the usual ones, and those that have or had a kept ref."""
    kept = {f"refs/{ref.removeprefix(KEPT).rpartition('/')[0]}/" for ref in store.ref_files.names(KEPT)}
    return sorted({*PREFIXES, *kept} - {prefix})


def _is_namespace(store: Store, tip: Oid) -> bool:
    return layout.FORMAT_FILE in store.folder(store.commit(tip).tree).entries()
