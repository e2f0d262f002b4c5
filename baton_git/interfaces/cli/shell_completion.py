"""Shell completion of arguments and options: ids, namespaces, sessions, kinds, revisions, agents.

This module is imported only for a completion, by the function that `offer_for` returns. It only reads, and after an
error it returns no completions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice

import click
from click.shell_completion import CompletionItem

from baton_git.agents.registry import AGENTS
from baton_git.core.errors import BatonError
from baton_git.core.kinds import KINDS, value_at
from baton_git.core.output import one_line
from baton_git.core.state import Key, State
from baton_git.git.store import Store
from baton_git.interfaces.context.invocation import Call
from baton_git.interfaces.context.settings import CommonOptions, Settings
from baton_git.namespace.namespaces import list_namespaces
from baton_git.namespace.workspace import Workspace

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
    try:
        return [
            CompletionItem(text, help=one_line(about, 60).replace(",", "") or None)  # fish splits at commas
            for text, about in islice(_offer(source, word, ctx), MOST * 100)
            if text.startswith(incomplete)
        ][:MOST]
    except BatonError:  # a completion cannot show a message; the command itself reports the error
        return []


def _offer(source: str, word: str, ctx: click.Context) -> Words:
    if source == "kinds":
        yield from ((info.name(2).replace(" ", "-"), info.kind) for info in KINDS.values())
        return
    if source == "agents":
        yield from ((name, "") for name in AGENTS)
        return
    call = Call(Settings(CommonOptions(ctx.params.get("repo"), ctx.params.get("namespace"))))
    if call.settings.found_repository is None:
        return
    if source == "namespaces":
        with Store(call.settings.found_repository) as store:
            yield from ((str(name), "") for name in list_namespaces(store, call.settings.prefix))
        return
    with call.workspace() as ws:
        yield from _SOURCES[source](ws, word)


def _offer_ids(ws: Workspace, word: str) -> Words:
    """Yield the ids of the records that the command takes; those of archived records for `reopen`."""
    state = ws.branch.read().state
    for kind in KINDS_OF.get(word, tuple(KINDS)):
        for id_ in sorted(state.ids(kind, archived=word == "reopen")):
            yield id_, _title(state, Key(kind, id_, word == "reopen"))


def _title(state: State, key: Key) -> str:
    about = value_at(state.entry(key), KINDS[key.kind].about) if KINDS[key.kind].about else None
    return str(about or KINDS[key.kind].title)


def _offer_sessions(ws: Workspace, word: str) -> Words:
    from baton_git.core.records.lineage import Session

    for session in reversed(list(ws.branch.read().state.records(Session))):
        yield session.id, session.summary or session.started


def _offer_revisions(ws: Workspace, word: str) -> Words:
    tip = ws.branch.read().commit
    if tip is not None:
        for entry in islice(ws.branch.history(tip), REVISIONS):
            yield (str(entry.revision) if entry.revision is not None else entry.commit[:10]), entry.subject
    if word == "show":
        yield from _offer_ids(ws, word)


_SOURCES: Mapping[str, Callable[[Workspace, str], Words]] = {
    "ids": _offer_ids, "sessions": _offer_sessions, "revisions": _offer_revisions,
}  # fmt: skip
