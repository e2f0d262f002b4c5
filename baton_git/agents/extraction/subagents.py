"""Findings of a session's subagents: their files and commits count as the session's, but their prompts do not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from baton_git.agents.extraction.file_uses import rank_uses
from baton_git.agents.extraction.findings import Findings, Mark, Table
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
