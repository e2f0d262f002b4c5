"""The facts of a session as sections for a context, by the template of the project or the one that ships."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from baton_git.agents.hook_events.hook_session import HookSessionStore
from baton_git.agents.hook_events.live_sessions import at_work
from baton_git.core.brief import LINE, Section, named
from baton_git.core.errors import BatonError, NotFound
from baton_git.core.output import one_line
from baton_git.core.state import Key, State, Unreadable
from baton_git.git.hooks.shipped import shipped
from baton_git.namespace.workspace import Workspace
from baton_git.systems.gobby import rendering
from baton_git.systems.gobby.handoff_context import foreign, names_of, origin_of, sections_of
from baton_git.systems.gobby.previous_sessions import Unfinished, has_substance, of_worktree, unfinished
from baton_git.systems.gobby.project_files import read_project_file
from baton_git.systems.gobby.record import Handoff

FORMATS = {"structured": "handoff.md.j2", "narrative": "handoff-narrative.md.j2"}
"""By the document's `injection_format`, the template."""
TEMPLATES = ".baton/templates"
"""Where a project has its own, below the top of the work tree."""
MAX_TEMPLATE = 64 * 1024
MAX_TEXT = 64 * 1024
"""Bytes of a template, and of what it may become."""


def last_handoff(ws: Workspace, now: datetime, state: State, problems: list[str]) -> tuple[Section, ...]:
    """What the last session left that worked in this work tree, the acting one apart; nothing when there is none."""
    memory = HookSessionStore(str(ws.branch.store.repository.common_dir))
    return left_for(ws, now, state, None, problems, working=at_work(memory))


def left_for(
    ws: Workspace,
    now: datetime,
    state: State,
    parent: Handoff | None,
    problems: list[str],
    injection_format: str = "structured",
    working: Collection[str] = (),
) -> tuple[Section, ...]:
    """What earlier sessions left for the acting one: the facts of the last, and where that one did nothing, of the last
    that did; then what still others left undone.

    Args:
        parent: the one that it goes on from, where that is known.
        working: sessions beside this one, which have left nothing yet.
    """
    every = _ended(ws, state, working)
    newest = parent or next(iter(every), None)
    damaged = _damaged(state)
    told = [newest] if newest is not None else []
    if not any(has_substance(one) for one in told):
        told += [one for one in every if one not in told and has_substance(one)][:1]
    sections = [handoff_sections(ws, now, one, problems, injection_format) for one in told]
    if not any(
        has_substance(one) for one in told
    ):  # better than nothing, and whoever was killed may live a moment longer
        beside = [one for one in _ended(ws, state, ()) if one not in told and has_substance(one)][:1]
        sections += [
            handoff_sections(ws, now, one, problems, injection_format, "At work beside you:") for one in beside
        ]
    return (*damaged, *(one for many in sections for one in many), *left_undone(ws, state, told, working))


def _ended(ws: Workspace, state: State, working: Collection[str]) -> list[Handoff]:
    """The handoffs of this work tree, the newest first, without those of the acting session and of others at work."""
    every = of_worktree(state, worktree=worktree_of(ws), machine=ws.actor.machine, other_than=ws.actor.session)
    return [one for one in every if one.id.partition("/")[2] not in working]


def _damaged(state: State) -> tuple[Section, ...]:
    entries = (state.entry(Key(Handoff.kind, id_)) for id_ in sorted(state.ids(Handoff.kind)))
    lines = tuple(f"- {one_line(f'{one.path}: {one.why}', LINE)}" for one in entries if isinstance(one, Unreadable))
    return (Section("Handoffs that cannot be read", lines, "damaged handoffs", all="baton validate"),) if lines else ()


def left_undone(
    ws: Workspace, state: State, told: Sequence[Handoff] = (), working: Collection[str] = ()
) -> tuple[Section, ...]:
    """What earlier sessions of this work tree left undone, those that are told whole apart."""
    every = _ended(ws, state, working)
    found = unfinished(state, every, told=[one.id for one in told], acting=ws.actor.session)
    lines = tuple(_undone_line(one) for one in found)
    title = "Left undone by earlier sessions [llm_derived] (baton todo done TEXT, or cancel TEXT)"
    return (Section(title, lines, "items left undone", all="baton handoff show"),) if lines else ()


def _undone_line(one: Unfinished) -> str:
    mark = ">" if one.todo.status == "in_progress" else " "
    return f"- [{mark}] {one_line(one.todo.content, LINE)} (session {named(one.session)})"


def worktree_of(ws: Workspace) -> str | None:
    return str(ws.folder) if ws.folder is not None else None


def handoff_sections(
    ws: Workspace,
    now: datetime,
    handoff: Handoff,
    problems: list[str],
    injection_format: str = "structured",
    how: str = "Handed off by",
) -> tuple[Section, ...]:
    """The facts of one session; the title says `how` they came.

    Args:
        problems: is told when the project's own template cannot be used; the one that ships is used then.
    """
    file, names = FORMATS.get(injection_format, FORMATS["structured"]), names_of(handoff)
    own = _by_the_project(ws, file, names, problems)
    text = own if own is not None else _shipped(file, names)
    title = f"{how} {origin_of(handoff, now)}"
    sections = sections_of(text, title, "of the handoff", f"baton handoff show {handoff.id}")
    return sections if own is None else foreign(sections)


def _shipped(file: str, names: Mapping[str, Any]) -> str:
    return rendering.render(shipped(f"templates/{file}").read_text(encoding="utf-8"), names, MAX_TEXT)


def _by_the_project(ws: Workspace, file: str, names: Mapping[str, Any], problems: list[str]) -> str | None:
    """What the project's own template says; None where there is none, or it cannot be used."""
    if ws.folder is not None:
        try:
            own = read_project_file(ws.folder, f"{TEMPLATES}/{file}", MAX_TEMPLATE)
            return rendering.render(own.decode("utf-8", "replace"), names, MAX_TEXT)
        except NotFound:
            pass  # most projects have none
        except BatonError as error:
            problems.append(f"{TEMPLATES}/{file} is passed over: {one_line(str(error), 300)}")
    return None
