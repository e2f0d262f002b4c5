"""Ask the remotes which namespaces they have, before a session begins one of its own.

A call that names no namespace acts in the one with the folder's name. If that does not exist here, it may be on a
remote, or the remote may have exactly one under another name. What git has fetched does not show that: the clone may
be older than the namespace, or fetch only some branches.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from baton_git.core.errors import BatonError, Corrupt, InvalidName, Unreachable
from baton_git.core.names import Namespace, Oid
from baton_git.core.output import is_safe, one_line
from baton_git.namespace.branch import Branch
from baton_git.namespace.namespaces import find_fetched
from baton_git.namespace.remote_selection import list_remote_names, read_remotes, select_remote
from baton_git.namespace.workspace import Workspace


class Meeting(NamedTuple):
    """What the remotes answered.

    Attributes:
        ws: the workspace, in the only namespace of the remote if that has another name.
        seconds: the rest of the time.
        news: lines for a person; if there are any, there is nothing to fetch any more.
        remote: the remote that has the namespace; None if none is known to have it.
        found: the namespaces of the remote, if none of them is the one that is meant.
        unanswered: which remote did not answer, and why; empty if all that were asked answered.
        note: a line about a namespace that was chosen because the remote has no other.
    """

    ws: Workspace
    seconds: float
    news: Sequence[str] = ()
    remote: str | None = None
    found: Sequence[Namespace] = ()
    unanswered: str = ""
    note: str = ""


def meet_remotes(ws: Workspace, seconds: float, remote: str | None = None) -> Meeting:
    """Ask the remotes for their namespaces, if the call names none and its default does not exist here.

    Args:
        seconds: the time for asking and for the sync that follows; 0 does not ask.
        remote: the name or address of the remote to ask, also if automatic sync is off; then nothing is said about one
            that does not answer. None: those that may be meant.
    """
    branch, start = ws.branch, time.monotonic()
    is_open = not branch.is_named and branch.may_be_fetched and seconds > 0
    if not is_open or find_fetched(branch.store, branch.prefix, branch.namespace) is not None:
        return Meeting(ws, seconds)
    if remote is None and not ws.remote_settings.automatic:
        return Meeting(ws, seconds, _describe_silence(ws))
    names = [remote] if remote is not None else _list_candidates(ws)
    answers: dict[str, list[Namespace]] = {}
    for name in names:
        try:
            answers[name] = _ask(ws, name, seconds - (time.monotonic() - start))
        except BatonError as error:
            if remote is not None:
                return Meeting(ws, seconds)
            why = one_line(str(error), 200)
            again = f"whether {name} has this namespace is unknown ({why}); the next baton boot asks again"
            return Meeting(ws, 0.0, [again], unanswered=f"{name} did not answer: {why}")
        if answers[name]:
            break
    return _choose(ws, answers, seconds - (time.monotonic() - start))


def _choose(ws: Workspace, answers: Mapping[str, Sequence[Namespace]], seconds: float) -> Meeting:
    """Return the namespace to use: the one with the folder's name, or else the only one of the first remote with any.

    Args:
        answers: by remote, its namespaces; only the last one has any.
    """
    name = next((name for name, found in answers.items() if found), None)
    if name is None:
        return Meeting(ws, max(0.0, seconds), _describe_absence(ws, list(answers)))
    from baton_git.git.remotes import mask_logins  # slow to load, and rarely needed

    found, shown = answers[name], mask_logins(name)
    if ws.branch.namespace in found:
        return Meeting(ws, max(0.0, seconds), remote=name)
    if len(found) > 1:
        return Meeting(ws, max(0.0, seconds), [describe_others(shown, found, ws.branch.namespace)], found=found)
    branch = replace(ws.branch, namespace=found[0], may_begin=True, is_named=True)
    note = f"{found[0]} is used here, the only namespace of {shown} (baton init --namespace NAME begins another)"
    moved = ws.on(branch)
    return Meeting(moved, max(0.0, seconds), remote=name, note=note)


def describe_others(remote: str, found: Sequence[Namespace] | Sequence[str], missing: Namespace) -> str:
    """Return a line about the namespaces of a remote that lacks the one that is meant."""
    names = ", ".join(one_line(str(name), 100) for name in found[:5]) + (", …" if len(found) > 5 else "")
    return f"{remote} has {names}, but not {missing}: choose with --namespace"


def _describe_absence(ws: Workspace, asked: Sequence[str]) -> list[str]:
    """Return a line about remotes without any namespace, or about why none was asked."""
    names = list_remote_names(ws)
    if not asked:
        return describe_choice(names)
    others = [name for name in names if name not in asked]
    answer = f"{', '.join(asked)} {'does' if len(asked) == 1 else 'do'} not have {ws.branch.namespace}"
    return [f"{answer}; not asked: {describe_unasked(others)}" if others else answer]


def describe_unasked(names: Sequence[str]) -> str:
    """Return the names of remotes that were not asked, and the command that chooses one of them."""
    return (
        f"{', '.join(names[:5])} (git config baton.remote {shlex.quote(names[0])} chooses it for the next baton boot)"
    )


def describe_choice(names: Sequence[str]) -> list[str]:
    """Return a line if there are several remotes, and none of them is chosen; else nothing."""
    if len(names) < 2:
        return []
    shown, first = ", ".join(names[:5]), shlex.quote(names[0])
    why = f"no remote was asked for this namespace, because it is not clear which: {shown}"
    return [f"{why} (git config baton.remote {first} chooses one for the next baton boot)"]


def _describe_silence(ws: Workspace) -> list[str]:
    """Return a line about remotes that are not asked, because automatic sync is off."""
    name = select_remote(ws)
    return [] if name is None else [f"{name} was not asked, because automatic sync is off (baton sync asks it)"]


def _list_candidates(ws: Workspace) -> list[str]:
    """Return the remote that syncs would use, and a single other one of which git does not know all branches."""
    chosen = select_remote(ws)
    if ws.remote_settings.remote:
        return [ws.remote_settings.remote]
    unknown = [name for name in list_remote_names(ws) if _is_unknown(ws, name)]
    others = unknown if len(unknown) == 1 and unknown[0] != chosen else []
    return [*([chosen] if chosen is not None else []), *others]


def _is_unknown(ws: Workspace, remote: str) -> bool:
    """Return whether git has fetched nothing from a remote, or fetches only some of its branches."""
    store, prefix = ws.branch.store, ws.branch.prefix
    refspec = store.repository.config().get(f"remote.{remote}.fetch")
    is_narrow = prefix.startswith("refs/heads/") and refspec is not None and "refs/heads/*" not in refspec
    return is_narrow or not store.refs(f"refs/remotes/{remote}/")


def _ask(ws: Workspace, remote: str, seconds: float) -> list[Namespace]:
    """Return the namespaces that a remote has, sorted by name, except for those whose names cannot be shown.

    Raises:
        Unreachable, AccessDenied, RemoteError: under the same conditions as `Remote.tips`.
    """
    from baton_git.git.remotes import open_remote  # slow to load, and rarely needed

    if seconds <= 0:
        raise Unreachable("the time is over")
    prefix = ws.branch.prefix
    opened = open_remote(ws.branch.store.repository, remote, ws.environment, known=read_remotes(ws))
    found = []
    for ref, tip in opened.tips({f"{prefix}*": f"{prefix}*"}, seconds=seconds).items():
        with suppress(InvalidName):
            namespace = Namespace.from_component(ref.removeprefix(prefix))
            is_shown = is_safe(namespace.text)  # no other name could be chosen for a new namespace
            found += [namespace] if is_shown and may_be_namespace(replace(ws.branch, namespace=namespace), tip) else []
    return sorted(found, key=str)


def may_be_namespace(branch: Branch, tip: Oid) -> bool:
    """Return whether a remote's branch below the prefix may be a namespace; False if its commit here says otherwise.

    Branches of source code are below the prefix, too, if somebody calls them `baton/feature`.
    """
    try:
        return not branch.store.has(tip) or branch.is_namespace(tip)
    except Corrupt:  # a partial clone may lack the tree
        return True
