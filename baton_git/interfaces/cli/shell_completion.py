"""What a shell offers for an argument or option of a command: ids, namespaces, sessions, kinds, revisions, agents.

Loaded when a shell asks; `offer_for` gives click the function that does so. It reads, and never creates anything; where
nothing can be read it offers nothing.
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
"""How many words are offered."""
REVISIONS = 20
"""How many of the newest revisions are offered."""
KINDS_OF: Mapping[str, tuple[str, ...]] = {
    "loop": ("open_loop",), "verify": ("open_loop",), "trust": ("open_loop",), "followup": ("follow_up",),
    "pattern": ("pattern",), "decision": ("active_decision",), "resolve": ("conflict",), "handoff": ("handoff",),
    "handover": ("handover",), "session": ("snapshot",), "list": tuple(KINDS),
}  # fmt: skip
"""By the first word of a command, the kinds of the records that it takes."""

Words = Iterator[tuple[str, str]]
"""Words, each with what it stands for."""


def complete(source: str, word: str, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """Return what can stand in a place of a command.

    Args:
        source: a key of `_SOURCES`.
        word: the first word of the command.
    """
    try:
        return [
            CompletionItem(text, help=one_line(about, 60).replace(",", "") or None)  # fish splits at commas
            for text, about in islice(_offer(source, word, ctx), MOST * 100)
            if text.startswith(incomplete)
        ][:MOST]
    except BatonError:  # a shell that completes has no place for a message; the command itself will say it
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
    """Give the ids of records: of the kinds that the command is about, or of all; from the archive for `reopen`."""
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
