"""List the namespaces of a store, and make the error for a missing one."""

from __future__ import annotations

import shlex
from contextlib import suppress
from itertools import islice

from baton_git.core import layout
from baton_git.core.errors import Corrupt, InvalidName, NotFound, StoreError, find_near_names
from baton_git.core.names import FORMAT_FILE, Namespace, Oid
from baton_git.core.output import one_line
from baton_git.git.refs.kept_refs import KEPT
from baton_git.git.store import Store
from baton_git.namespace.commit_log import load_entry
from baton_git.namespace.last_tip import find_moved, list_remembered
from baton_git.namespace.machine_state import GoneNamespaces

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


_MOST_LISTED = 6
_NEWEST = 20
"""Number of commits of a branch, of which the trees are not here, that show whether it is a namespace."""


def list_namespaces(store: Store, prefix: str) -> list[Namespace]:
    """Return the namespaces of a store, sorted by name. Other refs below the prefix are left out.

    A namespace whose branch another program deleted is one of them; reading it reports that.
    """
    refs = store.refs(prefix)
    names = []
    for ref in {*list_remembered(store, prefix), *refs}:
        try:
            namespace = Namespace.from_component(ref.removeprefix(prefix))
        except InvalidName:
            continue
        if ref in refs or find_moved(store, prefix, namespace) is not None:
            names.append(namespace)
    return sorted(names, key=str)


def find_fetched(store: Store, prefix: str, namespace: Namespace) -> str | None:
    """Return the short name of a fetched branch of the namespace, such as `origin/baton/x`; None if there is none."""
    ends = {"refs/remotes/": f"/{prefix.removeprefix('refs/heads/')}{namespace.component}",
            "refs/baton-incoming/": f"/{namespace.component}"}  # fmt: skip
    refs = (ref.removeprefix(start) for start, end in ends.items() for ref in store.refs(start) if ref.endswith(end))
    return next(refs, None)


def make_missing_error(
    store: Store, prefix: str, namespace: Namespace, *, is_named: bool, may_begin: bool, was_asked: bool = False,
    unanswered: str = "",
) -> NotFound:  # fmt: skip
    """Return the error for a namespace that does not exist here, with a hint that helps.

    Args:
        is_named: whether the user named the namespace; if not, it is the default for the current folder.
        may_begin: whether the first write creates it.
        was_asked: whether the remote has just answered that it lacks the namespace.
        unanswered: why the remotes did not answer when they were asked last.
    """
    gone = GoneNamespaces(store.repository.common_dir).find(namespace)
    if gone is not None and gone.renamed_to is not None:
        return NotFound("namespace", str(namespace), hint=f"it was renamed to {_show(gone.renamed_to)}")
    command = f"baton init --namespace {shlex.quote(_show(namespace))}" if is_named else "baton init"
    create = f"to create it: {command}"
    fetched = find_fetched(store, prefix, namespace)
    if gone is not None:
        kept = f"refs/baton-backup/{namespace.component}/"
        where = f"{kept} has its last revision; " if store.refs(kept) else ""
        hint = f"it was deleted on this machine; {where}to create it again: {command}"
    elif fetched is not None:
        hint = f"{fetched} has it; to create it from there: baton boot"
    elif (other := find_other_prefix(store, prefix, namespace)) is not None:
        hint = describe_other_prefix(prefix, other)
    elif may_begin:
        hint = "nothing was written to it yet; to begin: baton boot"
    else:
        others = _describe_others(store, prefix, namespace, is_named=is_named)
        asks = "" if others or was_asked else _describe_unasked_remotes(store, namespace, is_named=is_named)
        hint = f"{f'{unanswered}; ' if asks and unanswered else ''}{others}{asks}{create}"
    return NotFound("namespace", str(namespace), hint=hint)


def _describe_unasked_remotes(store: Store, namespace: Namespace, *, is_named: bool) -> str:
    """Say how to look for a namespace on the remotes, none of which is known to have any; empty without remotes.

    What git has fetched does not tell: the clone may be older than the namespace, or have only some branches.
    """
    keys = store.repository.config().keys("remote")
    names = sorted({key.removesuffix(".url") for key in keys if key.endswith(".url")})
    if not names:
        return ""
    remotes = ", ".join(one_line(name, 100) for name in names[:3]) + (", …" if len(names) > 3 else "")
    named = f" --namespace {shlex.quote(_show(namespace))}" if is_named else ""
    what = "it" if is_named else "one"
    has = "has" if len(names) == 1 else "have"
    return f"whether {remotes} {has} {what} is not known here (baton sync{named} asks); to begin: baton boot{named}; "


def _describe_others(store: Store, prefix: str, namespace: Namespace, *, is_named: bool) -> str:
    """Suggest a namespace with a similar name, or else list the existing ones; empty if there are none."""
    local_names = [_show(name) for name in list_namespaces(store, prefix)]
    close = find_near_names(namespace.text, local_names)
    if close:
        return f"did you mean {close[0]}? Otherwise, "
    names = dict.fromkeys([*local_names, *_list_fetched(store, prefix)])
    if not names:
        return ""
    more = ", …" if len(names) > 5 else ""
    choose = "" if is_named else " (choose with --namespace)"
    return f"existing: {', '.join(list(names)[:5])}{more}{choose}; "


def _list_fetched(store: Store, prefix: str) -> list[str]:
    """Return up to `_MOST_LISTED` namespaces of the remote branches that `git fetch` has fetched.

    A branch of code may have a name below the prefix, too; what cannot be read is none to propose.
    """
    middle = "/" + prefix.removeprefix("refs/heads/")
    tips = {ref.partition(middle)[2]: tip for ref, tip in store.refs("refs/remotes/").items() if middle in ref}
    names: list[str] = []
    for tail, tip in sorted(tips.items()):
        with suppress(InvalidName, Corrupt):
            if is_namespace_tip(store, tip):
                names.append(_show(Namespace.from_component(tail)))
        if len(names) == _MOST_LISTED:
            break
    return names


def is_namespace_tip(store: Store, tip: Oid) -> bool:
    """Return whether a commit is that of a namespace.

    A clone with `--filter=tree:0` has no trees at first, and whoever only asks for a name does not fetch. Its commits
    tell it, too: one of the newest has a revision number, unless somebody made all of them by hand.

    Raises:
        Corrupt: the commit or its tree cannot be read.
    """
    try:
        return FORMAT_FILE in store.folder(store.commit(tip).tree).entries()
    except Corrupt:
        if not store.repository.promisors:
            raise
        newest = islice(store.log(tip), _NEWEST)
        return any(load_entry(store, info).revision is not None for info in newest)


def _show(namespace: Namespace) -> str:
    return one_line(namespace.text, 200)
