"""The `dmux-tmux` adapter: workers that ECC's orchestrator started, each in a tmux pane with a folder of Markdown
files.

    <.claude/orchestration or .orchestration>/<session>/<worker>/{status,task,handoff}.md

A target has ECC's form: the path of a plan (`.json`), or the name of a session. The adapter differs from ECC's own
reader in five ways: it searches both folders; it finds panes in all windows of a session; a session whose name only
begins with the given name does not match; it reads the headings of the orchestrator's own template; and it shows
workers without an objective.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from baton_git.agents.json_lines import parse_object
from baton_git.agents.transcripts import Warn, find_files, ignore_warning
from baton_git.core.codecs import json as strict_json
from baton_git.core.errors import BatonError, Fault, InvalidDocument, NotFound
from baton_git.git import child_process
from baton_git.git.files.atomic_files import show_path
from baton_git.systems.ecc.adapters.adapter import (
    COMPLETED,
    FAILED,
    Listed,
    Surroundings,
    Target,
    choose_text,
    find_modified_time,
    is_file,
    is_folder,
    judge_health,
    outputs,
    read_text,
    runtime,
    session,
    snapshot,
)
from baton_git.systems.ecc.adapters.markdown import is_placeholder, join_prose, parse_bullets, parse_sections

ID = "dmux-tmux"
DESCRIPTION = "Workers of ECC's orchestrator in tmux panes and work trees"
TARGET_TYPES: tuple[str, ...] = ("plan", "session")

_FOLDERS = (".claude/orchestration", ".orchestration")
_FILES = ("status.md", "task.md", "handoff.md")
_STATUS = re.compile(r"[-*][ \t]+([A-Za-z ]+):[ \t]*(.*)")
TIME_LIMIT = 5.0
"""Timeout for a call to tmux, in seconds."""
_PANE = "\t".join(
    f"#{{{name}}}" for name in ("pane_title", "pane_current_command", "pane_active", "pane_dead", "pane_pid")
)


class OrchestratedSession(NamedTuple):
    """A session of the orchestrator.

    Attributes:
        folders: where its workers may be; the first folder with a worker is used.
        root: the root of its repository or work tree.
        source: the type and the value of the target.
    """

    name: str
    folders: tuple[Path, ...]
    root: Path
    source: tuple[str, str]


class TmuxPane(NamedTuple):
    """One pane of tmux."""

    title: str
    command: str | None = None
    active: bool = False
    dead: bool = False
    pid: int | None = None


def can_open(target: Target, around: Surroundings) -> bool:
    if target.type in TARGET_TYPES:
        return True
    path = around.cwd / target.value
    if path.suffix == ".json" and is_file(path):
        return _may_be_plan(path)
    return _is_name(target.value) and any(is_folder(around.cwd / folder / target.value) for folder in _FOLDERS)


def open_session(target: Target, around: Surroundings) -> dict[str, Any]:
    orchestrated = _find_session(target, around)
    folders = next((paths for folder in orchestrated.folders if (paths := _list_workers(folder))), [])
    panes = list_panes(orchestrated.name, around.environment)
    by_title = {pane.title: pane for pane in reversed(panes)}
    workers = [_make_worker(folder, by_title.get(folder.name), around) for folder in folders]
    states = [worker["state"] for worker in workers]
    state = judge_session_state(states, panes)
    return snapshot(
        ID, session(orchestrated.name, "orchestrated", state, str(orchestrated.root), orchestrated.source), workers
    )


def sessions(around: Surroundings) -> Iterator[Listed]:
    listed = {}
    for base in _FOLDERS:
        for folder in _list_subfolders(around.cwd / base, around.warn):
            if folder.name not in listed and (workers := _list_workers(folder)):
                changed = max(find_modified_time(worker / name) for worker in workers for name in _FILES)
                title = ", ".join(worker.name for worker in workers)
                listed[folder.name] = Listed(folder.name, folder.name, title, changed)
    yield from sorted(listed.values(), key=lambda entry: entry.updated_at, reverse=True)


# --- finding


def _is_name(text: str) -> bool:
    """Return whether a text can be the name of a session's folder."""
    return bool(text.strip()) and "/" not in text and "\0" not in text and text not in (".", "..")


def _may_be_plan(path: Path) -> bool:
    """Return whether a `.json` file may be a plan.

    A file that is not a JSON object counts as a plan, so that its fault is reported. An object with a `schemaVersion`
    is a snapshot or a recording, and not a plan.
    """
    try:
        plan = parse_object(read_text(path))
    except BatonError:
        return False
    return plan is None or ("schemaVersion" not in plan and ("sessionName" in plan or "workers" in plan))


def _find_session(target: Target, around: Surroundings) -> OrchestratedSession:
    path = around.cwd / target.value
    if target.type != "session" and path.suffix == ".json" and is_file(path):
        return _parse_plan(path.resolve(), around)
    if target.type == "plan":
        raise NotFound("plan", target.value)
    if not _is_name(target.value):
        raise NotFound("orchestrated session", target.value, hint="give the path of a plan, or a session's name")
    folders = tuple(around.cwd / folder / target.value for folder in _FOLDERS)
    if target.type != "session" and is_file(path) and not any(map(is_folder, folders)):
        fault = Fault("", "is not a plan: the name of a plan ends in .json")
        raise InvalidDocument([fault], where=show_path(path))
    return OrchestratedSession(target.value, folders, around.cwd, ("session", target.value))


def _parse_plan(path: Path, around: Surroundings) -> OrchestratedSession:
    """Parse a plan: `{sessionName, repoRoot?, coordinationRoot?}`.

    Raises:
        InvalidDocument: the file is not a plan.
    """
    text = read_text(path)
    plan = parse_object(text)
    if plan is None:
        strict_json.loads(text, where=show_path(path))  # reports where the JSON is invalid
        raise InvalidDocument([Fault("", "is not a JSON object")], where=show_path(path))
    name = plan.get("sessionName")
    if not isinstance(name, str) or not _is_name(name):
        raise InvalidDocument([Fault("sessionName", "is not the name of a session")], where=show_path(path))
    root = _parse_path(plan, "repoRoot", around.cwd, around.cwd, path)
    named = _parse_path(plan, "coordinationRoot", around.cwd, None, path)
    bases = [named] if named is not None else [root / folder for folder in reversed(_FOLDERS)]
    names = dict.fromkeys((name, _make_slug(name)))  # the orchestrator names the folder after the slug
    folders = tuple(base / name for base in bases for name in names if name)
    return OrchestratedSession(name, folders, root, ("plan", str(path)))


def _parse_path(plan: Mapping[str, Any], key: str, base: Path, default: Any, where: Path) -> Any:
    value = plan.get(key)
    if value is None:
        return default
    if not isinstance(value, str) or "\0" in value:
        raise InvalidDocument([Fault(key, "is not a path")], where=show_path(where))
    return (base / value).resolve()


def _make_slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _list_subfolders(folder: Path, warn: Warn = ignore_warning) -> list[Path]:
    return [path for path in find_files(folder, "*", warn=warn) if is_folder(path)]


def _list_workers(folder: Path) -> list[Path]:
    """Return the folders of a session's workers: those that contain at least one of the three files."""
    return [path for path in _list_subfolders(folder) if any(is_file(path / name) for name in _FILES)]


# --- tmux


def list_panes(name: str, environment: Mapping[str, str]) -> list[TmuxPane]:
    """Return the panes of a session in all its windows; none if tmux does not answer or has no such session."""
    target = f"={re.sub('[.:]', '_', name)}:"  # tmux replaces these characters; `=` requires an exact match
    argv = ["tmux", "-u", "list-panes", "-s", "-t", target, "-F", _PANE]
    try:
        done = child_process.run(argv, environment, None, TIME_LIMIT)
    except (OSError, ValueError):
        return []
    lines = done.out.splitlines() if done is not None and done.code == 0 else []
    return [pane for line in lines if (pane := parse_pane(line)) is not None]


def parse_pane(line: str) -> TmuxPane | None:
    """Parse a line of `tmux list-panes`; None if it cannot be parsed."""
    parts = line.split("\t")
    if len(parts) < 5:
        return None
    title, (command, active, dead, pid) = "\t".join(parts[:-4]), parts[-4:]
    return TmuxPane(title, command or None, active == "1", dead == "1", int(pid) if pid.isdecimal() else None)


# --- reading


def judge_session_state(states: list[str], panes: Sequence[TmuxPane]) -> str:
    """Return the state of a session by ECC's rule: active while it has panes, else derived from its workers.

    Args:
        states: the states of its workers.
    """
    if panes:
        return "active"
    if not states:
        return "missing"
    if any(state in FAILED for state in states):
        return "failed"
    return "completed" if all(state in COMPLETED for state in states) else "idle"


def _make_worker(folder: Path, pane: TmuxPane | None, around: Surroundings) -> dict[str, Any]:
    notes: list[str] = []
    status = _parse_status(_read_worker_file(folder / "status.md", notes))
    task = parse_sections(_read_worker_file(folder / "task.md", notes))
    handoff = parse_sections(_read_worker_file(folder / "handoff.md", notes), bold=True)
    state = choose_text((status.get("state"),), "unknown")
    pane = pane or TmuxPane("")
    return {
        "id": folder.name,
        "label": folder.name,
        "state": state,
        "health": judge_health(state, status.get("updated"), around.now, dead=pane.dead),
        "branch": status.get("branch"),
        "worktree": status.get("worktree"),
        "runtime": runtime("tmux-pane", pane.command, pid=pane.pid, active=pane.active, dead=pane.dead),
        "intent": {
            "objective": choose_text((join_prose(task.get("objective", [])),), folder.name),
            "seedPaths": [_strip_back_ticks(bullet) for bullet in parse_bullets(task.get("seeded local overlays", []))],
        },
        "outputs": outputs(
            _list_bullets(handoff, "summary"),
            _list_bullets(handoff, "validation", "tests / verification"),
            [*_list_bullets(handoff, "remaining risks", "follow-ups"), *notes],
        ),
        "artifacts": dict(
            zip(("statusFile", "taskFile", "handoffFile"), (str(folder / name) for name in _FILES), strict=True)
        ),
    }


def _read_worker_file(path: Path, notes: list[str]) -> str:
    """Return the text of a worker's file, empty if it does not exist. If it cannot be read, a note says why.

    A symbolic link that points outside the session's folder is not followed, so that a worker cannot expose other files
    of the user.
    """
    if not is_file(path):
        return ""
    if not path.resolve().is_relative_to(path.parents[1].resolve()):
        notes.append(f"{path.name} was not read: it resolves to a path outside the session's folder")
        return ""
    try:
        return read_text(path)
    except BatonError as error:
        notes.append(f"{path.name} was not read: {error}")
        return ""


def _parse_status(text: str) -> dict[str, str]:
    """Parse lines of the form `- Key: value`, and return the values by key in lower case, without placeholders."""
    matches = (_STATUS.fullmatch(line.strip()) for line in text.split("\n"))
    values = {match[1].strip().lower(): _strip_back_ticks(match[2]) for match in matches if match}
    return {key: value for key, value in values.items() if not is_placeholder(value)}


def _strip_back_ticks(text: str) -> str:
    """Remove the backticks around a text."""
    text = text.strip()
    return text[1:-1].strip() if len(text) > 1 and text[0] == text[-1] == "`" else text


def _list_bullets(parts: dict[str, list[str]], *headings: str) -> list[str]:
    return [item for heading in headings for item in parse_bullets(parts.get(heading, []))]
