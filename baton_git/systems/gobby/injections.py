"""Render the facts of sessions as sections of the context, with the project's template or the shipped one."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import accumulate, chain, islice
from typing import Any

from baton_git.agents.hook_events.hook_session import HookSessionStore, list_running
from baton_git.agents.sessions.handoff_index import (
    UnfinishedItem,
    extraction_time,
    follow_rewritten,
    group_handoffs,
    has_substance,
    list_concurrent,
    list_recent,
    list_unfinished,
    session_of,
)
from baton_git.core.brief import LINE, Rank, Section, short_session
from baton_git.core.errors import BatonError, InvalidArgument, NotFound
from baton_git.core.isolation import Failure, isolate, show_each
from baton_git.core.layout import path_of
from baton_git.core.output import one_line
from baton_git.core.records.handoff import Handoff
from baton_git.core.records.lineage import Session
from baton_git.core.state import Key, State, Unreadable, key_of
from baton_git.git.hooks.shipped import find_shipped
from baton_git.namespace.workspace import Workspace
from baton_git.systems import BriefRequest
from baton_git.systems.gobby.companions import list_related
from baton_git.systems.gobby.handoff_context import (
    MAX_TITLE,
    collect_template_names,
    describe_name,
    describe_origin,
    describe_work,
    mark_project_sections,
    name_session,
    split_into_sections,
)
from baton_git.systems.gobby.project_files import read_project_file
from baton_git.systems.gobby.rendering import render

FORMATS = {"structured": "handoff.md.j2", "narrative": "handoff-narrative.md.j2"}
"""The shipped template for each `injection_format`."""
TEMPLATES = ".baton/templates"
"""The folder of a project's own templates, relative to the top level of the work tree."""
ACTIVE_NOW = "Other sessions that are active now [raw_source]"
IN_SHORT = "Earlier and other sessions in short; what they say may be outdated [raw_source]"
NAMED = "Other sessions that ended on the day before that [raw_source]"
MAX_NAMES = 700
"""Maximum size in bytes of the line that names these sessions."""
MAX_TEMPLATE = 64 * 1024
MAX_TEXT = 64 * 1024
"""Maximum size of a template, and of its rendered text, in bytes."""


def make_sections(request: BriefRequest) -> tuple[Section, ...]:
    """Return the sections about earlier sessions of the repository, for a session without a known parent."""
    if not request.handoff:
        return ()
    ws, problems = request.ws, request.problems
    memory = HookSessionStore(str(ws.branch.store.repository.common_dir))
    live = list_running(memory, os.getppid())  # as in a hook: the process that starts a session works in no other one
    return make_previous_session_sections(ws, request.now, request.state, None, problems, live=live)


def make_previous_session_sections(
    ws: Workspace, now: datetime, state: State, parent: Handoff | None, problems: list[str],
    injection_format: str = "structured", live: Collection[str] = (),
) -> tuple[Section, ...]:  # fmt: skip
    """Return the sections about earlier sessions that the acting session should know.

    These are: the last session; if it did nothing, also the last session that did something; all sessions that
    worked at the same time or are still active; and the open to-do items of earlier sessions.

    Args:
        parent: the handoff of the session that the acting one continues, if known.
        live: ids of sessions that are active now.
    """
    groups = group_handoffs(ws, state, ws.actor.session, live)
    nearest = next(groups, [])
    ended = chain(nearest, chain.from_iterable(groups))  # the groups that are not needed are not determined
    newest = parent or next(ended, None)
    shown = [newest] if newest is not None else []
    if not any(map(has_substance, shown)):
        shown += islice((handoff for handoff in ended if handoff not in shown and has_substance(handoff)), 1)
    concurrent = list_concurrent(state, newest, live=live, other_than=ws.actor.session)
    concurrent = [handoff for handoff in concurrent if handoff not in shown and has_substance(handoff)]
    sections = make_handoff_sections(ws, now, [*shown, *concurrent], problems, injection_format, live)
    named = [*shown, *concurrent]
    recent = list_recent(state, newest, other_than=ws.actor.session)
    others = [handoff for handoff in recent if handoff not in named and session_of(handoff) not in live]
    ended_then = (handoff for handoff in concurrent if session_of(handoff) not in live)
    return (
        *_make_damaged_section(state),
        *sections,
        *make_unfinished_section(ws, state, [*nearest, *ended_then], shown, live),
        *_make_names_section(others, now),
    )


def _make_names_section(handoffs: Sequence[Handoff], now: datetime) -> tuple[Section, ...]:
    """Return a section with one line that names sessions which ended shortly before the last one."""
    if not handoffs:
        return ()
    names = [describe_name(handoff, now) for handoff in handoffs]
    sizes = accumulate(len(name.encode()) + 2 for name in names)
    told = [name for name, size in zip(names, sizes, strict=True) if size <= MAX_NAMES]
    more = f", and {len(names) - len(told)} more" if len(names) > len(told) else ""
    line = f"- {', '.join(told)}{more}"
    return (Section(NAMED, (line,), "lines of names", all="baton handoff list", rank=Rank.DETAILS),)


def make_handoff_sections(
    ws: Workspace, now: datetime, handoffs: Sequence[Handoff], problems: list[str],
    injection_format: str = "structured", live: Collection[str] = (),
) -> tuple[Section, ...]:  # fmt: skip
    """Return sections about sessions: all facts of the first one, and a line for each other one.

    If the first session did nothing, all facts of the first one that did something follow, under titles that say that
    they are earlier. Two sessions under the same titles would contradict each other about the state of the work.
    """
    sections: list[Section] = []
    unshown: list[str] = []
    newest = next(iter(handoffs), None)
    detailed = next(filter(has_substance, handoffs), newest)
    whole = [handoff for handoff in handoffs if handoff is newest or handoff is detailed]
    for handoff in whole:
        how = "Active at the same time:" if session_of(handoff) in live else "Handed off by"
        how = how if handoff is newest else "Before that, handed off by"
        rendered = isolate(partial(render_handoff, ws, now, handoff, problems, injection_format, how))
        if isinstance(rendered, Failure):
            unshown.append(f"- {one_line(f'{path_of(key_of(handoff))}: {rendered.describe()}', LINE)}")
            continue
        sections += rendered if handoff is newest else _mark_earlier(rendered, handoff)
    rest = [handoff for handoff in handoffs if handoff not in whole]
    for title, are_live in ((ACTIVE_NOW, True), (IN_SHORT, False)):
        chosen = [handoff for handoff in rest if (session_of(handoff) in live) == are_live]
        lines, failed = show_each(chosen, lambda handoff: _describe_in_short(ws, handoff, now, newest, live))
        unshown += [f"- {one_line(str(record), LINE)}" for record in failed]
        if lines:
            sections.append(Section(title, lines, "sessions", all="baton handoff list", rank=Rank.STANDING))
    title = "Handoffs that cannot be shown"
    problem = Section(title, tuple(unshown), "handoffs", all="baton handoff list", rank=Rank.ATTENTION)
    return (*sections, *((problem,) if unshown else ()))


def _mark_earlier(sections: Sequence[Section], handoff: Handoff) -> list[Section]:
    """Return the sections of an earlier session, with a note in each title but the first, which says it already."""
    mark = f"Earlier, {name_session(handoff)}"
    return [
        section if not number or section.rank == Rank.DETAILS
        else section._replace(title=one_line(f"{mark} · {section.title}", MAX_TITLE))
        for number, section in enumerate(sections)
    ]  # fmt: skip


def _describe_in_short(
    ws: Workspace, handoff: Handoff, now: datetime, newest: Handoff | None, live: Collection[str]
) -> str:
    """Return one line about a session: its origin and what it was about; for an active one, also what it has open."""
    origin = _describe_origin(ws, handoff, now)
    if newest is not None and _is_same_conversation(handoff, newest):
        return f"- {origin}: it continued the same conversation"
    about = describe_work(handoff, with_open=session_of(handoff) in live)
    return f"- {origin}{': ' if about else ''}{about}"


def _is_same_conversation(handoff: Handoff, other: Handoff) -> bool:
    """Return whether two sessions have one conversation: a CLI that moves a session to the background, or that resumes
    it under a new id, copies the transcript. A fork in which something else was asked since then is another one."""
    if (handoff.started, handoff.facts.initial_goal) != (other.started, other.facts.initial_goal) or not other.started:
        return False
    asked, known = ({prompt.text for prompt in one.facts.latest_prompts} for one in (handoff, other))
    return asked <= known or known <= asked


def _describe_origin(ws: Workspace, handoff: Handoff, now: datetime) -> str:
    """Return one line about the origin of a handoff. For a handoff from another machine, a label says who vouches for
    it."""
    origin = describe_origin(ws, handoff, now)
    if handoff.machine is None or ws.is_own_machine(handoff.machine):
        return origin
    return f"{origin} [{ws.shown_judgement().word(key_of(handoff))}]"


def _make_damaged_section(state: State) -> tuple[Section, ...]:
    """Return a section that lists the handoffs that cannot be read; empty if all can be read."""
    entries = (state.entry(Key(Handoff.kind, id_)) for id_ in sorted(state.ids(Handoff.kind)))
    damaged = (entry for entry in entries if isinstance(entry, Unreadable))
    lines = tuple(f"- {one_line(f'{entry.path}: {entry.why}', LINE)}" for entry in damaged)
    section = Section("Handoffs that cannot be read", lines, "damaged handoffs", 0, "baton validate", Rank.ATTENTION)
    return (section,) if lines else ()


def make_unfinished_section(
    ws: Workspace, state: State, ended: Sequence[Handoff], shown: Sequence[Handoff], live: Collection[str] = ()
) -> tuple[Section, ...]:
    """Return a section with the to-do items that the sessions in `ended` and those without a handoff left open, except
    those in the lists of the handoffs in `shown`.

    Args:
        live: ids of sessions that are active now.
    """
    newest_first = sorted({one.id: one for one in ended}.values(), key=extraction_time, reverse=True)
    unfinished = list_unfinished(ws, state, newest_first, shown=shown, live=live)
    lines = tuple(_describe_unfinished(ws, item) for item in unfinished)
    title = "Left undone by earlier sessions [llm_derived] (baton todo done TEXT, or cancel TEXT)"
    return (Section(title, lines, "items left undone", all="baton handoff show", rank=Rank.STANDING),) if lines else ()


def _describe_unfinished(ws: Workspace, item: UnfinishedItem) -> str:
    mark = ">" if item.todo.status == "in_progress" else " "
    session = f"session {short_session(item.session)}{_describe_standing(ws, item.without_handoff)}"
    return f"- [{mark}] {one_line(item.todo.content, LINE)} ({session})"


def _describe_standing(ws: Workspace, session: Session | None) -> str:
    """Return what else must be said of a session without a handoff: nobody saw its end, or it was elsewhere."""
    if session is None:
        return ""
    end = ", which has no recorded end" if session.status == "active" else ""
    is_own = session.machine is None or ws.is_own_machine(session.machine)
    return end if is_own else f"{end} [{ws.shown_judgement().word(key_of(session))}]"


def render_handoff(
    ws: Workspace, now: datetime, handoff: Handoff, problems: list[str], injection_format: str = "structured",
    how: str = "Handed off by",
) -> tuple[Section, ...]:  # fmt: skip
    """Return the facts of one session as sections.

    Args:
        how: the words before the session in the title of the first section.
        problems: receives the reason if the project's template cannot be used and the shipped one replaces it.
    """
    file = FORMATS.get(injection_format, FORMATS["structured"])
    names = collect_template_names(follow_rewritten(handoff, ws.branch.store.repository.common_dir))
    related = list_related(ws, now, handoff)
    names["files_together"] = related.together
    names["files_named"] = ", ".join(filter(None, [names["files_named"], *related.modules]))
    own = _render_by_project(ws, file, names, problems)
    text = own
    if text is None:
        text = render(find_shipped(f"templates/{file}").read_text(encoding="utf-8"), names, MAX_TEXT)
    title, show = (
        f"{how} {_describe_origin(ws, handoff, now)}",
        f"baton handoff show {short_session(session_of(handoff))}",
    )
    sections = split_into_sections(text, title, name_session(handoff), "of the handoff", show, handoff.extracted_at)
    return sections if own is None else mark_project_sections(sections)


def _render_by_project(ws: Workspace, file: str, names: Mapping[str, Any], problems: list[str]) -> str | None:
    """Render the project's own template; return None if there is none, or if it cannot be used."""
    if ws.folder is None:
        return None
    try:
        template = read_project_file(ws.folder, f"{TEMPLATES}/{file}", MAX_TEMPLATE + 1)
        if len(template) > MAX_TEMPLATE:
            raise InvalidArgument(f"it has more than {MAX_TEMPLATE:,} bytes")
        return render(template.decode("utf-8", "replace"), names, MAX_TEXT)
    except NotFound:
        return None  # most projects have none
    except BatonError as error:
        problems.append(f"{TEMPLATES}/{file} is ignored: {one_line(str(error), 300)}")
        return None
