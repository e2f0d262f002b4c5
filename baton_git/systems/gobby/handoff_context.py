"""Collect the names that a template can use for a handoff, and split a rendered template into sections of the brief."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from baton_git.agents.sessions.handoff_index import read_handoff, session_of
from baton_git.agents.turn_store import keep_ends
from baton_git.core.brief import Rank, Section, short_session
from baton_git.core.output import is_safe, one_line, remove_terminal_codes
from baton_git.core.records.handoff import Facts, FileUse, Handoff, SessionPrompt, UnansweredPrompt
from baton_git.core.state import State
from baton_git.core.times import describe_age, parse_time_or_none, to_local
from baton_git.namespace.workspace import Workspace

_BRACKETS = str.maketrans("[]", "()")
WIDTH, MAX_WORD = 400, 100
"""Maximum length of a line in characters, and of a word at its end that is not split with a longer line."""
MAX_ASKED, MAX_ANSWERED, MAX_EARLIER, MAX_GOAL = 1200, 3200, 300, 8000
"""Maximum size in bytes of the last prompt, the last answer, each earlier prompt, and the first prompt. The brief
shows as much of the first prompt as its budget has room for."""
EARLIER_PROMPTS = 4
MAX_ABOUT, MAX_CLAUSE, MAX_LISTED = 80, 200, 4
"""Maximum size in bytes of the goal that names a session, and of each clause about a session that is told in short, and
maximum number of files, commits or items in such a clause."""
MAX_FILE = 800
"""Maximum length of the line of a file with its names, in characters."""
MAX_TITLE = 500
"""Maximum length of a title in characters."""

_LAST_STANDING_LEVEL = 2
"""The lowest level of headings (`##`) whose sections describe the current state."""

_WHEN = {
    "pre_compact": "before its context was compacted",
    "session_end": "at its end",
    "catch_up": "after it had ended without a hook event",
    "mine": "as mined from its transcript",
}


def collect_template_names(handoff: Handoff) -> dict[str, Any]:
    """Return the names that a template can use, with their values.

    They are the facts by name, `notes`, `session`, `agent`, `branch`, and lines of text that summarize facts: `asked`
    (the latest prompts, newest first; the first says so if it has no answer), `answered` (the last answer) and
    `answered_prompt` (its prompt, if that is not the last one), `first_goal` (unless it is whole in `asked`),
    `files_told` (the changed or read files, the most used first), `files_changed` (those of `files_told` that were
    changed), `files_named` (the other files) and `files_together` (empty here; `render_handoff` lists them, and adds
    modules to `files_named`).
    `files_modified` has the files in the order of their last change.
    """
    facts = handoff.facts.told
    plain = {name: _to_plain(getattr(facts, name)) for name in type(facts).model_fields}
    plain["files_modified"] = _order_by_last_change(facts, handoff.worktree)
    agent, _, session = handoff.id.partition("/")
    if handoff.worktree:
        top = f"{handoff.worktree.rstrip('/')}/"
        plain["recent_activity"] = [call.replace(top, "") for call in plain["recent_activity"]]
    return {
        **plain, **_describe_conversation(facts), **_describe_files(facts, handoff.worktree, plain["files_modified"]),
        "files_together": [], "notes": remove_terminal_codes(handoff.notes or ""), "agent": agent, "session": session,
        "branch": handoff.branch,
    }  # fmt: skip


def _describe_conversation(facts: Facts) -> dict[str, Any]:
    prompts = [_label_origin(prompt) for prompt in reversed(facts.latest_prompts)]
    asked = (prompts or [facts.initial_goal])[: 1 + EARLIER_PROMPTS]
    limits = (MAX_ASKED, *[MAX_EARLIER] * EARLIER_PROMPTS)
    marks = [_mark_prompt(prompt) for prompt in reversed(facts.latest_prompts)] or [""]
    marks[0] = "" if facts.unanswered is not None else marks[0]
    told = zip(asked, limits, marks, strict=False)
    lines = [f"{_flatten(text, limit)}{mark}" for text, limit, mark in told if text.strip()]
    if lines and facts.unanswered is not None:  # in the line itself, as a project's template may pair it with an answer
        ending = _describe_ending(facts.unanswered)
        lines[0] = f"{lines[0]} ({f'no answer: {ending}' if ending else 'no answer is known'})"
    answer = facts.last_answer
    return {
        "asked": lines,
        "answered": _flatten(answer.text, MAX_ANSWERED) if answer is not None else "",
        "answered_prompt": _flatten(answer.prompt, MAX_EARLIER) if answer is not None and answer.prompt else "",
        "first_goal": keep_ends(facts.initial_goal, MAX_GOAL) if prompts or _is_cut(facts.initial_goal) else "",
    }


def _is_cut(goal: str) -> bool:
    return len(goal.encode()) > MAX_ASKED or "\n" in goal.strip()


def _label_origin(prompt: SessionPrompt) -> str:
    return f"(of unknown origin) {prompt.text}" if prompt.origin else prompt.text


def _mark_prompt(prompt: SessionPrompt) -> str:
    """Return the mark of a prompt that has no answer: ` (interrupted)`."""
    marks = {"interrupted": " (interrupted)", "failed": " (failed)", "ended": " (not answered)"}
    return marks.get(prompt.status or "", "")


def _describe_ending(turn: UnansweredPrompt) -> str:
    """Return why a turn has no answer, and what the agent said last in it; an empty text if that is unknown."""
    if turn.status == "unknown":
        return ""
    words = {
        "interrupted": "somebody interrupted it", "failed": "it failed", "ended": "the session ended before it",
    }.get(turn.status, "the agent was still at work")  # fmt: skip
    reason = f": {_flatten(turn.reason, MAX_EARLIER)}" if turn.reason else ""
    said = f"; it had said: {_flatten(turn.said, MAX_EARLIER)}" if turn.said else ""
    return f"{words}{reason}{said}"


def _flatten(text: str, limit: int) -> str:
    """Return a text on one line, in at most `limit` bytes; a longer text is cut in the middle."""
    return keep_ends(one_line(remove_terminal_codes(text), len(text) + 1), limit)


def _describe_files(facts: Facts, worktree: str | None, modified: Sequence[str]) -> dict[str, Any]:
    uses = [(relative_to(worktree, use.path), use) for use in facts.files_used]
    lines = [_describe_use(path, use) for path, use in uses if use.changes or use.reads or use.found == "git"]
    known = {path for path, _ in uses}
    lines += [path for path in reversed(modified) if path not in known]  # older records have no `files_used`
    named = [path for path, use in uses if not (use.changes or use.reads or use.found == "git")]
    used = [path for path, use in uses if use.changes or use.reads]
    return {
        "files_told": [one_line(line, MAX_FILE) for line in lines],
        "files_named": ", ".join(name for name in named if name not in used and not _is_end(name, named + used)),
        "files_changed": [path for path, use in uses if use.changes] or list(reversed(modified)),
    }


def _is_end(name: str, paths: Sequence[str]) -> bool:
    """Whether a name is the end of one of the paths, which probably mean the same file."""
    return any(path.endswith(f"/{name}") for path in paths)


_FOUND = {"subagent": "by a subagent", "git": "seen by git only", "left": "in a turn that was taken back"}


def _describe_use(path: str, use: FileUse) -> str:
    counts = [f"changed {use.changes}×"] if use.changes > 1 else ["changed"] if use.changes else []
    counts += ["read"] if use.reads and not use.changes else []
    counts += [_FOUND[use.found]] if use.found in _FOUND else []
    counts += ["then removed"] if use.gone else []
    return f"{path} ({', '.join(counts)}){': ' if use.names else ''}{', '.join(use.names)}"


def relative_to(worktree: str | None, path: str) -> str:
    """Return the path relative to the top of the work tree, or the path itself if it is outside."""
    return path.removeprefix(f"{worktree.rstrip('/')}/") if worktree else path


def _order_by_last_change(facts: Facts, worktree: str | None) -> list[str]:
    """Return the files in the order of their last change, relative to the work tree if they are in it."""
    paths, positions = list(facts.files_modified), facts.sources.files_modified
    if len(positions) == len(paths):
        pairs = sorted(zip(paths, positions, strict=True), key=lambda pair: (pair[1].offset, pair[1].line))
        paths = [path for path, _ in pairs]
    return [relative_to(worktree, path) for path in paths]


def _to_plain(value: Any) -> Any:
    if isinstance(value, str):
        return remove_terminal_codes(value)
    if isinstance(value, tuple):
        return [_to_plain(item) for item in value]
    if hasattr(type(value), "model_fields"):
        return {name: _to_plain(getattr(value, name)) for name in type(value).model_fields}
    return value


def describe_origin(ws: Workspace, handoff: Handoff, now: datetime) -> str:
    """Return one line about the origin of a handoff: agent, session, goal, person, age, event, branch,
    machine and folder.

    The machine and work tree of the reader are not repeated.
    """
    agent, _, session = handoff.id.partition("/")
    about = describe_goal(handoff.facts)
    whose = f" of {one_line(handoff.person, 40).translate(_BRACKETS)}" if handoff.person else ""
    parts = [f"{agent} session {short_session(session)}{about and f' {about}'}{whose}", _describe_day(handoff, now)]
    parts += [_WHEN[handoff.trigger]] if handoff.trigger in _WHEN else []
    parts += [f"on branch {one_line(handoff.branch, 60)}"] if handoff.branch else []
    is_here = ws.is_own_machine(handoff.machine)
    parts += [f"on {one_line(handoff.machine, 40)}"] if handoff.machine and not is_here else []
    is_elsewhere = ws.folder is not None and not ws.is_in_work_tree(handoff.machine, handoff.worktree)
    if is_here and is_elsewhere and handoff.worktree:
        place = ws.show_work_tree(handoff.worktree)
        is_removed = place.startswith("/") and not os.path.isdir(place)
        parts.append(f"in {one_line(place, 100)}{' (removed)' if is_removed else ''}")
    return ", ".join(parts)


def describe_name(handoff: Handoff, now: datetime) -> str:
    """Return what a session is called in a list: agent, short id, goal, person and age."""
    whose = f" of {one_line(handoff.person, 40).translate(_BRACKETS)}" if handoff.person else ""
    parts = (name_session(handoff), describe_goal(handoff.facts))
    return f"{' '.join(filter(None, parts))}{whose} ({describe_age(handoff.extracted_at, now)})"


def describe_goal(facts: Facts) -> str:
    """Return in quotation marks what a session was asked first; empty if that is unknown. Brackets in it become round,
    so that it cannot imitate a label."""
    goal = _flatten(facts.initial_goal or "", MAX_ABOUT).translate(_BRACKETS)
    return f"“{goal}”" if goal.strip() else ""


def list_goals(state: State, sessions: Collection[str | None]) -> dict[str, str]:
    """Return what each of these sessions was asked first, in quotation marks, by the id of the session."""
    ids = [id_ for id_ in sorted(state.ids(Handoff.kind)) if id_.partition("/")[2] in sessions]
    handoffs = filter(None, (read_handoff(state, id_) for id_ in ids))
    return {session_of(handoff): goal for handoff in handoffs if (goal := describe_goal(handoff.facts))}


def _describe_day(handoff: Handoff, now: datetime) -> str:
    """Return how long ago the facts were extracted, after the date unless it is today's."""
    age, point = describe_age(handoff.extracted_at, now), parse_time_or_none(handoff.extracted_at)
    if point is None or to_local(point).date() == to_local(now).date():
        return age
    return f"{to_local(point).date().isoformat()} ({age})"


def describe_work(handoff: Handoff, *, with_open: bool) -> str:
    """Return in a few clauses what a session did: what it was asked and answered last, its notes, and its files.

    Args:
        with_open: whether to add the items of its to-do list that are not done.
    """
    facts = handoff.facts.told
    names = _describe_conversation(facts)
    files = _describe_files(facts, handoff.worktree, _order_by_last_change(facts, handoff.worktree))["files_changed"]
    todos = [todo.content for todo in facts.todo_state if todo.status in ("pending", "in_progress")]
    answered = f"had answered before, to {names['answered_prompt']}" if names["answered_prompt"] else "answered"
    clauses = {
        "asked last": next(iter(names["asked"]), "") if facts.latest_prompts else "",
        answered: names["answered"],
        "did last": "" if names["asked"] else "; ".join(facts.recent_activity),
        "at work on": facts.active_task.title if facts.active_task is not None and with_open else "",
        "noted": handoff.notes or "",
        "changed": _join_some([relative_to(handoff.worktree, path) for path in files]),
        "committed": _join_some([f"{commit.hash} {commit.message}".strip() for commit in reversed(facts.git_commits)]),
        "still to do": _join_some(todos) if with_open else "",
    }
    return "; ".join(f"{name}: {_flatten(text, MAX_CLAUSE)}" for name, text in clauses.items() if text.strip())


def _join_some(texts: Sequence[str]) -> str:
    more = f", and {len(texts) - MAX_LISTED} more" if len(texts) > MAX_LISTED else ""
    return ", ".join(texts[:MAX_LISTED]) + more


def name_session(handoff: Handoff) -> str:
    """Return the agent and the short id of the session, which precede the titles of its sections of details."""
    agent, _, session = handoff.id.partition("/")
    return f"{agent} {short_session(session)}"


def split_into_sections(
    text: str, title: str, name: str, kind: str, show: str, told_at: str | None = None
) -> tuple[Section, ...]:
    """Return a rendered text as sections, one for each heading that is followed by text.

    A heading of one or two `#` begins a section about the current state. A heading of three or more `#` begins a
    section with details, which goes to the end of the brief.

    Args:
        title: precedes the first heading; without headings, the title of the only section.
        name: precedes each heading of details, except the first heading.
        kind: the words before the heading in the note about omitted lines, such as `of the handoff`.
        show: the command that shows the whole text.
        told_at: when the text was true: ISO 8601.
    """
    parts: list[tuple[int, str, list[str]]] = [(0, "", [])]
    is_fenced = False
    for line in text.splitlines():
        is_fenced ^= line.startswith("```")
        level = len(line) - len(line.lstrip("#"))
        if not is_fenced and level and line[: level + 1].endswith(" "):
            parts.append((level, line.lstrip("#").strip(), []))
        elif line.strip():
            parts[-1][2].extend(_quote_line(line))
    filled = [(level, heading, lines) for level, heading, lines in parts if lines]
    sections = []
    for number, (level, heading, lines) in enumerate(filled):
        rank = Rank.DETAILS if level > _LAST_STANDING_LEVEL else Rank.STANDING
        first = title if not number else name if rank == Rank.DETAILS else ""
        noun = f"{kind}: {heading.lower() or 'lines'}"
        full_title = one_line(" · ".join(filter(None, (first, heading))), MAX_TITLE)
        sections.append(Section(full_title, tuple(lines), noun, all=show, rank=rank, told_at=told_at))
    return tuple(sections)


def mark_project_sections(sections: tuple[Section, ...]) -> tuple[Section, ...]:
    """Return the sections, with a note in each title that the text comes from the project's template. A project can
    come from a remote, so its template is not trusted."""
    return tuple(
        section._replace(title=one_line(f"from this project's template · {section.title.translate(_BRACKETS)}", 300))
        for section in sections
    )


def _quote_line(line: str) -> list[str]:
    """Return the line in quoted pieces of at most `WIDTH` characters. The quote mark prevents a piece from looking
    like a line that baton computed (`- ID [label] text`), like a title, or like the frame of the brief."""
    line = remove_terminal_codes(line)
    line = "".join(c if c == "\t" or is_safe(c) else "\ufffd" for c in line)
    line = line.removeprefix("| ")
    line = one_line(line, len(line)) if not line.startswith(" ") else line.rstrip()
    pieces = []
    while line:
        space = line.rfind(" ", WIDTH - MAX_WORD, WIDTH) if len(line) > WIDTH else -1
        end = space + 1 or WIDTH
        pieces.append(f"| {line[:end]}")
        line = line[end:]
    return pieces


def summarize_facts(names: Mapping[str, Any]) -> str:
    """Return the facts in a few lines: `transcript_summary` in the templates of Gobby's document."""
    goal, todos, files = (names.get(name) for name in ("initial_goal", "todo_state", "files_modified"))
    lines = [f"Goal: {one_line(str(goal), 1000)}"] if goal else []
    if todos:
        done = sum(todo["status"] == "completed" for todo in todos)
        lines.append(f"Todos: {done} of {len(todos)} done")
        open_items = (todo["content"] for todo in todos if todo["status"] in ("pending", "in_progress"))
        lines += [f"- still to do: {one_line(content, 200)}" for content in open_items]
    commits, calls = names.get("git_commits") or [], names.get("recent_activity")
    lines += [f"- committed {commit['hash']} {one_line(commit['message'], 200)}" for commit in commits]
    lines += [f"Files changed: {', '.join(one_line(path, 200) for path in files)}"] if files else []
    lines += [f"Last calls: {'; '.join(one_line(call, 100) for call in calls)}"] if calls else []
    return "\n".join(lines)
