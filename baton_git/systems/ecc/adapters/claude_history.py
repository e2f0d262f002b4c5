"""The `claude-history` adapter: the files `<date>-<short id>-session.tmp` that ECC's hooks write for Claude Code.

A target has ECC's form: `claude:`, `claude-history:` or `history:`, followed by `latest`, an alias, an id or the
beginning of an id; or the path of a `.tmp` file. The adapter differs from ECC's own reader in three ways: it ignores
placeholders of the template, a blank line does not end a section, and it reads the notes of the Stop hook (tasks,
files, tools).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from baton_git.agents.transcripts import find_files, sort_newest_first
from baton_git.core.codecs.limits import check_nesting
from baton_git.core.errors import BatonError, Fault, InvalidDocument, NotFound, StoreError
from baton_git.git.files.atomic_files import show_path
from baton_git.systems.ecc.adapters.adapter import (
    Listed,
    Surroundings,
    Target,
    choose_text,
    drop_empty,
    find_modified_time,
    is_file,
    outputs,
    read_text,
    runtime,
    session,
    snapshot,
)
from baton_git.systems.ecc.adapters.markdown import (
    is_placeholder,
    join_prose,
    parse_bullets,
    parse_fenced,
    parse_sections,
    parse_tasks,
)

ID = "claude-history"
DESCRIPTION = "Claude Code's local session history, written by ECC's hooks"
TARGET_TYPES: tuple[str, ...] = ("claude-history", "claude-alias", "session-file")

_PREFIX = re.compile(r"(?:claude-history|claude|history):(.*)", re.DOTALL)
_NAME = re.compile(r"(\d{4}-\d{2}-\d{2})(?:-([a-zA-Z0-9_][a-zA-Z0-9_-]*))?-session\.tmp")
_ALIAS = re.compile(r"[A-Za-z0-9_-]{1,128}")
_RESERVED = {"list", "help", "remove", "delete", "create", "set"}
_FOLDERS = ("session-data", "sessions")
"""Folders in Claude Code's folder: ECC's own, then the older one, whose files Claude Code itself deletes."""


class SessionFile(NamedTuple):
    """A file of the history. `short` is None for older file names, which have no id."""

    path: Path
    short: str | None

    @property
    def id(self) -> str:
        return self.short or self.path.name.removesuffix(".tmp")


def can_open(target: Target, around: Surroundings) -> bool:
    if target.type in ("claude-history", "claude-alias") or _PREFIX.fullmatch(target.value.strip()):
        return True
    return _is_file(target, around)


def open_session(target: Target, around: Surroundings) -> dict[str, Any]:
    file, source = _find_file(target, around)
    return _make_snapshot(file, source)


def sessions(around: Surroundings) -> Iterator[Listed]:
    for file in _list_files(around):
        try:
            content = _parse_content(_read_session_text(file.path))
        except StoreError as error:  # the other files are still listed
            around.warn(str(error))
            continue
        except BatonError:  # deleted meanwhile, empty or not text
            continue
        title = choose_text((_find_objective(content), content.title), file.path.name)
        yield Listed(f"claude:{file.id}", file.id, title, find_modified_time(file.path))


# --- finding


def _is_file(target: Target, around: Surroundings) -> bool:
    path = around.cwd / target.value.strip()
    return path.name.endswith(".tmp") and is_file(path)


def _find_file(target: Target, around: Surroundings) -> tuple[SessionFile, tuple[str, str]]:
    """Return the file of a target, with the target's type and value.

    Raises:
        NotFound: no file matches.
        InvalidDocument: the name of the file is not that of a session file.
    """
    value = target.value.strip()
    prefixed = _PREFIX.fullmatch(value)
    wanted = prefixed[1].strip() if prefixed else value
    if not prefixed and target.type not in ("claude-history", "claude-alias") and _is_file(target, around):
        path = (around.cwd / value).resolve()
        return _make_session_file(path), ("session-file", str(path))
    return _find_named_file(wanted, value, around)


def _find_named_file(wanted: str, value: str, around: Surroundings) -> tuple[SessionFile, tuple[str, str]]:
    if not wanted:
        raise NotFound("Claude session target", value, hint="name the session after the colon: claude:latest")
    files = _list_files(around)
    if wanted == "latest":
        return _find_latest(files, around), ("claude-history", "latest")
    aliases = _find_root(around) / "session-aliases.json"
    try:
        aliased = _resolve_alias(wanted, aliases, around)
    except _NoAliases as error:
        aliased, hint = None, str(error)
        around.warn(hint)
    else:
        hint = "baton session list --adapter claude-history"
    if aliased is not None:
        return _make_session_file(aliased), ("claude-alias", wanted)
    matching = [file for file in files if _matches(file, wanted)]
    exact = [file for file in matching if wanted in (file.short, file.id, file.path.name)]
    chosen = next(iter(exact or matching), None)
    if chosen is None:
        raise NotFound("Claude session", wanted, hint=hint)
    return chosen, ("claude-history", wanted)


def _find_latest(files: list[SessionFile], around: Surroundings) -> SessionFile:
    """Return the newest readable file, and warn about newer ones that cannot be read.

    Raises:
        BatonError: no file can be read; the error is that of the newest file.
        NotFound: there are no files.
    """
    first_error: BatonError | None = None
    for file in files:
        try:
            _read_session_text(file.path)
        except BatonError as error:
            around.warn(f"skipped {error}")
            first_error = first_error or error
        else:
            return file
    raise first_error or NotFound("Claude session history in", str(_find_root(around)))


def _matches(file: SessionFile, wanted: str) -> bool:
    """Return whether `wanted` means the file, by ECC's rule: it is the name, with or without its ending, or the
    beginning of the short id."""
    name = file.path.name
    by_date = file.short is None and name == f"{wanted}-session.tmp"
    return (file.short or "").startswith(wanted) or name in (wanted, f"{wanted}.tmp") or by_date


def _find_root(around: Surroundings) -> Path:
    named = around.environment.get("CLAUDE_CONFIG_DIR")
    return around.cwd / named if named else around.home / ".claude"


def _list_files(around: Surroundings) -> list[SessionFile]:
    """Return the files of the history, newest first. If both folders have a file of the same name, the one in ECC's own
    folder is used."""
    by_name: dict[str, SessionFile] = {}
    for folder in _FOLDERS:
        for path in find_files(_find_root(around), folder, "*-session.tmp", warn=around.warn):
            named = _parse_name(path.name)
            if named is not None and is_file(path):
                by_name.setdefault(path.name, SessionFile(path, named[1]))
    order = sort_newest_first((file.path for file in by_name.values()), around.warn)
    return [by_name[path.name] for path in order]


def _parse_name(name: str) -> tuple[str, str | None] | None:
    """Return the date and the short id in a file name; None if it is not the name of a session file."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    try:
        date.fromisoformat(match[1])
    except ValueError:
        return None
    return match[1], match[2]


def _make_session_file(path: Path) -> SessionFile:
    """Return the session file at a path. Raises InvalidDocument if the name is not that of a session file."""
    named = _parse_name(path.name)
    if named is None:
        why = "is not the name of a session file, such as 2026-02-01-a1b2c3d4-session.tmp"
        raise InvalidDocument([Fault("", why)], where=show_path(path))
    return SessionFile(path, named[1])


class _NoAliases(Exception):
    """The file of aliases cannot be used; the message says why."""


def _resolve_alias(name: str, file: Path, around: Surroundings) -> Path | None:
    """Return the path of the file that an alias names; None if there is no such alias.

    Raises:
        NotFound: the alias names a session file that does not exist.
        _NoAliases: the file of aliases cannot be used.
    """
    if not _ALIAS.fullmatch(name) or name.lower() in _RESERVED or not os.path.lexists(file):
        return None
    try:
        text = read_text(file)
        check_nesting(text)
        alias = json.loads(text)["aliases"].get(name)
    except BatonError as error:
        raise _NoAliases(str(error)) from error
    except (ValueError, LookupError, AttributeError, TypeError) as error:
        raise _NoAliases(f"the aliases in {show_path(file)} cannot be read") from error
    named = alias.get("sessionPath") if isinstance(alias, dict) else None
    if not isinstance(named, str) or not named:
        return None
    candidates = [around.cwd / named, *(_find_root(around) / folder / named for folder in _FOLDERS)]
    existing = next((path for path in candidates if is_file(path)), None)
    if existing is None and _parse_name(Path(named).name):
        raise NotFound(f"session file of the alias {name}:", named, hint=f"no file at {show_path(Path(named))}")
    return existing or Path(named)


# --- reading


class HistoryContent(NamedTuple):
    """The content of a session file, without its placeholders. `context` is as written, with blank lines and
    indentation."""

    title: str
    facts: dict[str, str]
    completed: list[str]
    in_progress: list[str]
    notes: str
    context: list[str]
    tasks: list[str]
    files: list[str]
    tools: list[str]


_FACT = re.compile(r"\*\*([A-Za-z ]+):\*\*[ \t]*(.*)")


def _parse_content(text: str) -> HistoryContent:
    parts = parse_sections(text)
    title = next((line[2:].strip() for line in text.split("\n") if line.startswith("# ")), "")
    facts = {match[1].strip().lower(): match[2].strip() for line in text.split("\n") if (match := _FACT.match(line))}
    tools = [tool.strip() for line in parts.get("tools used", []) for tool in line.lstrip("-* ").split(",")]
    return HistoryContent(
        title=title,
        facts={name: value for name, value in facts.items() if not is_placeholder(value)},
        completed=parse_tasks(parts.get("completed", []), done=True),
        in_progress=parse_tasks(parts.get("in progress", []), done=False),
        notes=join_prose(parts.get("notes for next session", [])),
        context=parse_fenced(parts.get("context to load", [])),
        tasks=parse_bullets(parts.get("tasks", [])),
        files=parse_bullets(parts.get("files modified", [])),
        tools=[tool for tool in tools if not is_placeholder(tool)],
    )


def _read_session_text(path: Path) -> str:
    """Return the text of a session file.

    Raises:
        InvalidDocument: the file is empty or not text.
        NotFound, InvalidArgument, StoreError, LimitExceeded: the file cannot be read.
    """
    text = read_text(path)
    if not text.strip():
        raise InvalidDocument([Fault("", "is empty")], where=show_path(path))
    if "\0" in text or text.count("\ufffd") > len(text) // 10:
        raise InvalidDocument([Fault("", "is not text")], where=show_path(path))
    return text


def _find_objective(content: HistoryContent) -> str:
    """Return the first item in progress, else the first task noted by the Stop hook; empty if there is neither."""
    return choose_text((*content.in_progress, *content.tasks), "")


def _make_snapshot(file: SessionFile, source: tuple[str, str]) -> dict[str, Any]:
    content = _parse_content(_read_session_text(file.path))
    branch, worktree = content.facts.get("branch"), content.facts.get("worktree")
    worker = {
        "id": file.id,
        "label": choose_text((content.title,), file.path.name),
        "state": "recorded",
        "health": "healthy",
        "branch": branch,
        "worktree": worktree,
        "runtime": runtime("claude-session", "claude", dead=True),
        "intent": {
            "objective": choose_text((_find_objective(content), content.title), f"Session {file.id}"),
            "seedPaths": [line.strip() for line in content.context if not is_placeholder(line)],
        },
        "outputs": outputs(content.completed or content.tasks, risks=[content.notes] if content.notes else []),
        "artifacts": {
            "sessionFile": str(file.path),
            "context": "\n".join(content.context).strip() or None,
            **drop_empty({"tasks": content.tasks, "filesModified": content.files, "toolsUsed": content.tools}),
        },
    }
    return snapshot(ID, session(file.id, "history", "recorded", worktree, source), [worker])
