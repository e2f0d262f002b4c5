"""Shell completion of arguments and options: ids, namespaces, sessions, kinds, revisions, agents.

This module is imported only for a completion, by the function that `find_completer` returns. It only reads, and after
an error it returns no completions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

import click
from click.shell_completion import CompletionItem

from baton_git.agents.registry import AGENTS
from baton_git.core.errors import BatonError
from baton_git.core.kinds import KINDS, find_kind, name_typed_plural
from baton_git.core.output import one_line
from baton_git.core.records.base import value_at
from baton_git.core.records.lineage import Session
from baton_git.core.state import Key, State
from baton_git.git.store import Store
from baton_git.interfaces.context.invocation import Call
from baton_git.interfaces.context.settings import CommonOptions, Settings
from baton_git.namespace.namespaces import list_namespaces
from baton_git.namespace.remote_selection import list_remote_names
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.records.listing import list_statuses
from baton_git.verbs.records.stored import WITH_STATUS
from baton_git.verbs.sharing.review import load_review

MOST = 100
"""Maximum number of completions."""
REVISIONS = 20
"""Number of newest revisions that are offered."""
KINDS_OF: Mapping[str, tuple[str, ...]] = {
    "loop": ("open_loop",), "verify": ("open_loop",), "trust": ("open_loop",), "followup": ("follow_up",),
    "pattern": ("pattern",), "decision": ("active_decision",), "resolve": ("conflict",), "handoff": ("handoff",),
    "handover": ("handover",), "session": ("snapshot",), "list": tuple(KINDS),
}  # fmt: skip
"""The kinds of records that a command takes, by its first word."""

Words = Iterator[tuple[str, str]]
"""Completions, each with its description."""


def complete(source: str, word: str, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """Return the completions that begin with `incomplete`.

    Args:
        source: a key of `SOURCES` in `common_command`.
        word: the first word of the command.
    """
    if source == "files":
        return [CompletionItem(incomplete, type="file")]
    try:
        return [
            CompletionItem(text, help=one_line(about, 60).replace(",", "") or None)  # fish splits at commas
            for text, about in islice(_offer(source, word, ctx), MOST * 100)
            if text.startswith(incomplete)
        ][:MOST]
    except BatonError:  # a completion cannot show a message; the command itself reports the error
        return []


def _offer(source: str, word: str, ctx: click.Context) -> Words:
    if source in _FIXED:
        yield from _FIXED[source]()
        return
    call = Call(Settings(CommonOptions(ctx.params.get("repo"), ctx.params.get("namespace"))))
    if call.settings.found_repository is None:
        return
    if source == "namespaces":
        with Store(call.settings.found_repository) as store:
            yield from ((str(name), "") for name in list_namespaces(store, call.settings.prefix))
        return
    with call.workspace() as ws:
        yield from _SOURCES[source](ws, word, ctx)


def _offer_kinds() -> Words:
    yield from ((name_typed_plural(kind), kind) for kind in KINDS)


def _offer_agents() -> Words:
    yield from ((name, "") for name in AGENTS)


def _offer_times() -> Words:
    yield from (("today", ""), ("yesterday", ""), ("1h", "an hour ago"), ("1d", "a day ago"), ("1w", "a week ago"))


def _offer_ids(ws: Workspace, word: str, ctx: click.Context) -> Words:
    """Yield the ids of the records that the command takes; those of archived records for `reopen`."""
    yield from _list_ids(ws, KINDS_OF.get(word, tuple(KINDS)), archived=word == "reopen")


def _list_ids(ws: Workspace, kinds: Sequence[str], *, archived: bool = False) -> Words:
    state = ws.branch.read().state
    for kind in kinds:
        for id_ in sorted(state.ids(kind, archived=archived)):
            yield id_, _title(state, Key(kind, id_, archived))


def _title(state: State, key: Key) -> str:
    about = value_at(state.entry(key), KINDS[key.kind].about) if KINDS[key.kind].about else None
    return str(about or KINDS[key.kind].title)


def _offer_statuses(ws: Workspace, word: str, ctx: click.Context) -> Words:
    """Yield the statuses of the kind or record on the command line, else of the kinds that the command takes."""
    kind = find_kind(ctx.params.get("kind") or "")
    id_ = ctx.params.get("id")
    if id_:
        state = ws.branch.read().state
        kinds = [kind for kind in WITH_STATUS if id_ in state.ids(kind)]
    else:
        kinds = [kind] if kind is not None else list(KINDS_OF.get(word, WITH_STATUS))
    yield from ((status, "") for status in dict.fromkeys(name for kind in kinds for name in list_statuses(kind)))


def _offer_remotes(ws: Workspace, word: str, ctx: click.Context) -> Words:
    yield from ((name, "") for name in list_remote_names(ws))


def _offer_waiting(ws: Workspace, word: str, ctx: click.Context) -> Words:
    _, queue = load_review(ws, ctx.params.get("remote"))
    yield from ((item.id, item.changes[0].title if item.changes else "") for item in (queue.items if queue else ()))


def _offer_sessions(ws: Workspace, word: str, ctx: click.Context) -> Words:
    for session in reversed(list(ws.branch.read().state.records(Session))):
        yield session.id, session.summary or session.started


def _offer_revisions(ws: Workspace, word: str, ctx: click.Context) -> Words:
    tip = ws.branch.read().commit
    if tip is not None:
        for entry in islice(ws.branch.history(tip), REVISIONS):
            yield (str(entry.revision) if entry.revision is not None else entry.commit[:10]), entry.subject
    if word == "show":
        yield from _offer_ids(ws, word, ctx)


_FIXED: Mapping[str, Callable[[], Words]] = {"kinds": _offer_kinds, "agents": _offer_agents, "times": _offer_times}
_SOURCES: Mapping[str, Callable[[Workspace, str, click.Context], Words]] = {
    "ids": _offer_ids, "sessions": _offer_sessions, "revisions": _offer_revisions, "statuses": _offer_statuses,
    "remotes": _offer_remotes, "waiting": _offer_waiting,
    "decisions": lambda ws, word, ctx: _list_ids(ws, ("active_decision",)),
    "patterns": lambda ws, word, ctx: _list_ids(ws, ("pattern",)),
}  # fmt: skip
