"""What a handoff says, for a template, and a rendered template as sections that fit a budget."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from baton_git.core.brief import Section, age, named
from baton_git.core.output import is_safe, one_line
from baton_git.systems.gobby.record import Facts, Handoff

_BRACKETS = str.maketrans("[]", "()")
WIDTH = 400
"""Characters of one line; a longer one goes on in the next."""

_WHEN = {
    "pre_compact": "before its context was compacted",
    "session_end": "at its end",
    "catch_up": "after it was gone without an end",
}


def names_of(handoff: Handoff) -> dict[str, Any]:
    """What a template can use: the facts by their names (files by their last change), `notes`, `session`, `agent`."""
    facts = handoff.facts
    plain = {name: _plain(getattr(facts, name)) for name in type(facts).model_fields}
    plain["files_modified"] = _by_last_change(facts, handoff.worktree)
    agent, _, session = handoff.id.partition("/")
    return {**plain, "notes": handoff.notes or "", "agent": agent, "session": session, "branch": handoff.branch}


def _by_last_change(facts: Facts, worktree: str | None) -> list[str]:
    """The files in the order of their last change; those of the work tree without its name."""
    paths, places = list(facts.files_modified), facts.sources.files_modified
    if len(places) == len(paths):
        pairs = zip(paths, places, strict=True)
        paths = [path for path, _ in sorted(pairs, key=lambda pair: (pair[1].offset, pair[1].line))]
    top = f"{worktree.rstrip('/')}/" if worktree else "//"
    return [path.removeprefix(top) for path in paths]


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if hasattr(type(value), "model_fields"):
        return {name: _plain(getattr(value, name)) for name in type(value).model_fields}
    return value


def origin_of(handoff: Handoff, now: datetime) -> str:
    """Whose facts they are, from when and from where."""
    agent, _, session = handoff.id.partition("/")
    parts = [f"{agent} session {named(session)}", age(handoff.extracted_at, now)]
    parts += [_WHEN[handoff.trigger]] if handoff.trigger in _WHEN else []
    parts += [f"on branch {one_line(handoff.branch, 60)}"] if handoff.branch else []
    parts += [f"on {one_line(handoff.machine, 40)}"] if handoff.machine else []
    return ", ".join(parts)


def sections_of(text: str, title: str, what: str, show: str) -> tuple[Section, ...]:
    """A rendered text as sections: what stands below each heading (`#` to `####`) is one.

    Args:
        title: stands before the first heading, or alone where there is none.
        what: what the lines are, for those that do not fit.
        show: the command that shows all of it.
    """
    found: list[tuple[str, list[str]]] = [("", [])]
    fenced = False
    for line in text.splitlines():
        fenced ^= line.startswith("```")
        heading = line.lstrip("#").strip()
        if not fenced and line.startswith("#") and line[: len(line) - len(line.lstrip("#")) + 1].endswith(" "):
            found.append((heading, []))
        elif line.strip():
            found[-1][1].extend(_wrapped(line))
    filled = [(heading, lines) for heading, lines in found if lines]
    return tuple(
        Section(
            _titled(title if number == 0 else "", heading),
            tuple(lines),
            f"{what}: {heading.lower() or 'lines'}",
            all=show,
        )
        for number, (heading, lines) in enumerate(filled)
    )


def foreign(sections: tuple[Section, ...]) -> tuple[Section, ...]:
    """Sections that a project's own template made: it comes from a remote, so no heading of it vouches for anything."""
    return tuple(
        one._replace(
            title=one_line("told by this project's template · " + one.title.translate(_BRACKETS), 300),
        )
        for one in sections
    )


def _titled(title: str, heading: str) -> str:
    return one_line(" · ".join(part for part in (title, heading) if part), 300)


def _wrapped(line: str) -> list[str]:
    """The line in pieces, each quoted: none can pose as a line that baton computed (`- ID [label] text`), as a title,
    or as the frame around all of it.
    """
    line = "".join(c if c == "\t" or is_safe(c) else "\ufffd" for c in line)
    line = line.removeprefix("| ")
    line = one_line(line, len(line)) if not line.startswith(" ") else line.rstrip()
    return [f"| {line[at : at + WIDTH]}" for at in range(0, len(line), WIDTH)]


def summary_of(names: Mapping[str, Any]) -> str:
    """The facts in a few lines of text: the `transcript_summary` of the documents' templates."""
    goal = str(names.get("initial_goal") or "")
    lines = [f"Goal: {one_line(goal, 1000)}"] if goal else []
    todos = names.get("todo_state") or []
    done = sum(1 for one in todos if one["status"] == "completed")
    lines += [f"Todos: {done} of {len(todos)} done"] if todos else []
    lines += [
        f"- still to do: {one_line(one['content'], 200)}"
        for one in todos
        if one["status"] in ("pending", "in_progress")
    ]
    lines += [f"- committed {one['hash']} {one_line(one['message'], 200)}" for one in names.get("git_commits") or []]
    files = names.get("files_modified") or []
    lines += [f"Files changed: {', '.join(one_line(one, 200) for one in files)}"] if files else []
    calls = names.get("recent_activity") or []
    lines += [f"Last calls: {'; '.join(one_line(one, 100) for one in calls)}"] if calls else []
    return "\n".join(lines)
