"""Turn findings into the facts of `core.records.handoff`: plain data with a source for each fact."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from baton_git.agents.extraction import Extract, Options
from baton_git.agents.extraction.conversation import describe_conversation
from baton_git.agents.extraction.findings import MAX_FAILURES, MAX_USES, Findings, Mark, Table, is_closed, rank_uses
from baton_git.agents.extraction.shell import GitWork, is_elsewhere
from baton_git.agents.turn_store import Turn
from baton_git.core.errors import BatonError

if TYPE_CHECKING:
    from baton_git.agents.launcher import Launcher

MAX_SUBAGENTS = 50
MAX_BYTES = 32 * 1024 * 1024
"""Maximum number of subagent transcripts (the newest) and of bytes that are read in one call."""
_KEPT = 60
"""Maximum number of files, and of commits, remembered per subagent."""


def choose_transcripts(
    paths: Iterable[Path], known: Mapping[str, Table], left: Iterable[str] = ()
) -> list[tuple[Path, int]]:
    """Return the transcripts, with their sizes, that are new or changed in size, within the limits above.

    Args:
        left: the ids of subagents whose turns are no longer on the path of the conversation.
    """
    left_names = {f"agent-{id_}" for id_ in left}
    paths = (path for path in paths if path.stem not in left_names)
    chosen, room = [], MAX_BYTES
    for path in list(paths)[:MAX_SUBAGENTS]:
        try:
            size = path.stat().st_size
        except OSError:
            continue  # deleted since; its earlier findings stay
        if known.get(path.name, {}).get("size") != size and size <= room:
            room -= size
            chosen.append((path, size))
    return chosen


def summarize_subagent(findings: Findings, size: int, parent: Findings) -> Table:
    """Return those findings of a subagent that are remembered, as plain data."""
    uses = {path: {**use, "at": parent.touches, "found": "subagent"} for path, use in rank_uses(findings)[:_KEPT]}
    files = dict(list(findings.files.items())[-_KEPT:])
    return {"size": size, "turn": parent.turn, "uses": uses, "files": files, "commits": findings.commits[-_KEPT:]}


def list_files(known: Findings) -> dict[str, Mark]:
    """Return the files that the session or a subagent changed, each with its mark."""
    files = dict(known.files)
    for name, subagent in known.subagents.items():
        for path, mark in subagent["files"].items():
            files.setdefault(path, _mark_in(name, subagent, mark))
    return files


def add_commits(known: Findings, commits: list[Table]) -> list[Table]:
    """Return the commits of the session and its subagents without duplicates, oldest first."""
    commits = list(commits)
    for name, subagent in known.subagents.items():
        for commit in subagent["commits"]:
            if not any(commit["hash"] and _is_same(commit["hash"], other["hash"]) for other in commits):
                commits.append({**commit, "mark": _mark_in(name, subagent, commit["mark"]), "found": "subagent"})
    if known.subagents:
        commits.sort(key=lambda commit: str(commit["mark"][3] or ""))
    return commits


def list_uses(known: Findings) -> dict[str, Table]:
    """Return the uses of files by the session and its subagents."""
    uses = dict(known.uses)
    for subagent in known.subagents.values():
        for path, use in subagent["uses"].items():
            uses[path] = _add_use(uses[path], use) if path in uses else use
    return uses


def _add_use(own: Table, other: Table) -> Table:
    counts = {name: own[name] + other[name] for name in ("score", "changes", "reads")}
    found = own["found"] if own["changes"] or not other["changes"] else other["found"]
    counts["gone"] = bool(own.get("gone") and other.get("gone"))
    return {**own, **counts, "found": found, "names": list(dict.fromkeys([*own["names"], *other["names"]]))}


def _mark_in(name: str, subagent: Table, mark: Mark) -> Mark:
    """Return the mark with the name of the subagent's transcript, and the session's turn in which that was read."""
    return [subagent["turn"], *mark[1:4], name]


def _is_same(left: str, right: str) -> bool:
    return bool(right) and (left.startswith(right) or right.startswith(left))


def find_transcripts(launcher: Launcher, path: Path, session: str | None) -> list[Path]:
    """Return the transcripts of a session's subagents, newest first; empty when they cannot be listed."""
    if session is None:
        return []
    try:
        return list(launcher.subagents(path, session))
    except (BatonError, OSError):
        return []


MAX_DECISIONS = 10

Facts = dict[str, Any]
_ACTIVE_GOALS = (None, "active", "in_progress", "paused", "budget_limited")


def make_facts(
    known: Findings, turns: Sequence[Turn], options: Options, folder: str | None = None
) -> tuple[Facts, tuple[Table, ...]]:
    """Return the facts that `options` selects, and for each commit fact the findings about that commit.

    Args:
        turns: the turns of the session, as `list_turns` returns them.
        folder: the session's working directory, in case the transcript does not name one.
    """
    wanted, sources = options.extract, dict[str, Any]()
    last = options.max_turns_to_analyze
    # Turns are numbered from 1; facts come only from the last `last` turns.
    window = _Window(known, 0 if last is None else known.turn - last, folder or known.cwd)
    facts: Facts = {}
    unknown: dict[str, str] = {}
    commits: tuple[Table, ...] = ()
    if wanted.initial_goal and (goal := _choose_goal(known)):
        facts["initial_goal"], sources["initial_goal"] = goal["text"], make_source(goal["mark"])
    if task := window.find_active_task(with_gobby=wanted.gobby_tasks, with_todos=wanted.todowrite):
        facts["active_task"] = task
    if wanted.todowrite:
        facts["todo_state"] = window.list_todos()
    if wanted.files_modified:
        files = window.list_changed_files()
        facts["files_modified"] = list(files)
        sources["files_modified"] = [make_source(mark) for mark in files.values()]
        if relative := [path for path in files if not is_absolute(path)]:
            unknown["files_modified"] = f"folder unknown for {len(relative)} relative path(s)"
    if wanted.git_commits:
        commits = tuple(window.list_commits(options.git.max_commits))
        facts["git_commits"] = [make_commit_fact(commit) for commit in commits]
    if wanted.recent_activity:
        calls = window.list_activity(options.include_recent_activity)
        facts["recent_activity"] = [call["text"] for call in calls]
        sources["recent_activity"] = [make_source(call["mark"]) for call in calls]
    if wanted.key_decisions:
        facts["key_decisions"] = window.list_decisions()
    facts |= _make_digest_facts(known, turns, wanted)
    return {**facts, "sources": sources, "unknown": unknown}, commits


def _make_digest_facts(known: Findings, turns: Sequence[Turn], wanted: Extract) -> Facts:
    """Return the facts that Gobby's document does not have: the conversation, the files used, and the failures."""
    facts: Facts = describe_conversation(turns, known.answer_marks) if wanted.conversation else {}
    uses = list_uses(known) if wanted.files_used else {}
    if not wanted.files_modified:
        uses = {path: use for path, use in uses.items() if not use["changes"]}
    if uses:
        facts["files_used"] = [_make_file_use(path, use) for path, use in rank_uses(known, uses)[:MAX_USES]]
    if wanted.errors and known.failures:
        facts["errors"] = [_make_error(failure) for failure in list(known.failures.values())[-MAX_FAILURES:]]
    return facts


def _make_file_use(path: str, use: Table) -> Table:
    counts = {name: use[name] for name in ("changes", "reads") if use[name]}
    names = {"names": use["names"]} if use["names"] else {}
    counts |= {"gone": True} if use.get("gone") else {}
    return {"path": path, **counts, **({"found": use["found"]} if use["found"] != "transcript" else {}), **names}


def _make_error(failure: Table) -> Table:
    return {"command": failure["command"], "text": failure["text"], "source": make_source(failure["mark"])}


def is_absolute(path: str) -> bool:
    """Whether a path is absolute, on POSIX or Windows."""
    return path.startswith("/") or path[1:3] in (":\\", ":/")


def make_source(mark: Mark) -> dict[str, Any]:
    _, line, offset, time, *file = mark
    return {"line": line, "offset": offset} | ({"time": time} if time else {}) | ({"file": file[0]} if file else {})


def make_commit_fact(commit: Table) -> dict[str, Any]:
    found = {"found": commit["found"]} if "found" in commit else {}
    fact = {"hash": commit["hash"], "message": commit["message"], "verified": None}
    return {**fact, "source": make_source(commit["mark"]), **found}


def _choose_goal(known: Findings) -> Table | None:
    """Return the first prompt; else the first command without arguments; else the goal that the agent itself stores."""
    return known.goal or known.bare_goal or (known.kept_goal if (known.kept_goal or {}).get("text") else None)


class _Window:
    """The findings in the turns after turn number `before`, as facts."""

    def __init__(self, known: Findings, before: int, folder: str | None) -> None:
        self._known, self._before, self._folder = known, before, folder

    def _has(self, mark: Mark) -> bool:
        return bool(mark) and mark[0] > self._before

    def find_active_task(self, *, with_gobby: bool, with_todos: bool) -> Table | None:
        task = self._find_gobby_task() if with_gobby else None
        task = task or self._find_goal_task()
        return task or (self._find_current_todo() if with_todos else None)

    def _find_gobby_task(self) -> Table | None:
        live = [
            (name, task) for name, task in self._known.tasks.items() if self._has(task["mark"]) and not is_closed(task)
        ]
        at_work = [pair for pair in live if pair[1].get("status") == "in_progress"]
        if not live:
            return None
        number, task = (at_work or live)[-1]
        details = {name: task[name] for name in ("status", "description") if task.get(name)}
        title = task.get("title") or f"Task {number}"
        return {"title": title, "id": number, **details, "origin": "gobby-tasks", "source": make_source(task["mark"])}

    def _find_goal_task(self) -> Table | None:
        goal = self._known.kept_goal
        if not goal or not goal["text"] or goal["status"] not in _ACTIVE_GOALS or not self._has(goal["mark"]):
            return None
        title = goal["text"].strip().split("\n")[0]
        more = {"description": goal["text"]} if goal["text"].strip() != title else {}
        status = {"status": goal["status"]} if goal["status"] else {}
        return {"title": title, **status, **more, "origin": "goal", "source": make_source(goal["mark"])}

    def _find_current_todo(self) -> Table | None:
        todo = next((item for item in self.list_todos() if item["status"] == "in_progress"), None)
        if todo is None:
            return None
        return {"title": todo["content"], "status": todo["status"], "origin": "todo", "source": todo["source"]}

    def list_todos(self) -> list[Table]:
        """Return the current todo list, even if the call that set it has no result yet."""
        known = self._known
        items, at = [(todo["content"], todo["status"], todo["mark"]) for todo in known.todos], known.todos_at
        for waiting in known.open.values():
            if "todos" in waiting and not waiting["side"] and (not at or waiting["mark"][0] > at[0]):
                at = waiting["mark"]
                items = [(content, status, at) for content, status, _ in waiting["todos"]]
        if not self._has(at):
            return []
        return [
            {"content": content, "status": status, "origin": "agent", "source": make_source(mark)}
            for content, status, mark in items
            if content
        ]

    def list_changed_files(self) -> dict[str, Mark]:
        """Return the mark of each file's last change, by path, which is absolute if the session's folder is known."""
        files = {}
        for path, mark in list_files(self._known).items():
            if self._has(mark):
                is_known = is_absolute(path) or not is_absolute(self._folder or "")
                files[path if is_known else posixpath.normpath(posixpath.join(self._folder or "", path))] = mark
        return files

    def list_commits(self, most: int) -> list[Table]:
        """Return the newest `most` commits, including those of commands without a result yet."""
        made = sorted(self._known.commits + self._list_pending_commits(), key=lambda commit: commit["mark"][:2])
        commits = [commit for commit in add_commits(self._known, made) if self._has(commit["mark"])]
        return commits[-most:] if most else []

    def _list_pending_commits(self) -> list[Table]:
        return [
            commit for name, waiting in self._known.open.items() for commit in self._list_commits_of_call(name, waiting)
        ]

    def _list_commits_of_call(self, call: str, waiting: Table) -> list[Table]:
        """Return the commits that a call without a result may have made."""
        known = self._known
        work = GitWork.from_data(waiting)
        more = {"hash": "", "mark": waiting["mark"], "until": None, "call": call, "pending": True}
        return [
            {**more, "message": commit_command.subject or "", "folder": commit_command.folder}
            for commit_command in work.commit_commands
            if not is_elsewhere(work, commit_command, known.home, known.tries)
        ]

    def list_activity(self, most: int) -> list[Table]:
        calls = [call for call in self._known.activity if self._has(call["mark"])]
        return calls[-most:] if most else []

    def list_decisions(self) -> list[Table]:
        """Return at most `MAX_DECISIONS` decisions in order; those found only by wording are left out first."""
        decisions = [decision for decision in self._known.decisions if self._has(decision["mark"])]
        ranked = sorted(range(len(decisions)), key=lambda number: (decisions[number]["kind"] != "wording", number))
        chosen = [decisions[number] for number in sorted(ranked[-MAX_DECISIONS:])]
        return [
            {
                "text": decision["text"], "kind": decision["kind"], "heuristic": True,
                "source": make_source(decision["mark"]),
            }
            for decision in chosen
        ]  # fmt: skip
