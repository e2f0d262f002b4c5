"""Find out what baton's hooks and the hooks of other tools take from each other: the place, or the input.

Git LFS installs its hooks only where there are none, and is silent if there are. A script of baton in such a place
runs the hook of Git LFS itself (`hooks/git/lfs.sh`). Git passes lines to some hooks, and a tool that runs baton's
script may not pass them on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal, NamedTuple

from baton_git.git.hooks.inspection import exists, is_program, read_hook
from baton_git.git.hooks.location import WITH_INPUT, HookLocation
from baton_git.git.hooks.script import BACKUP, PRE_COMMITS

LFS_EVENTS: Final = ("pre-push", "post-checkout", "post-commit", "post-merge")
"""The events for which Git LFS 3 installs hooks."""
_RUNS_LFS = re.compile(rb"^[^#\n]*(?:git[- ]lfs|lefthook)", re.MULTILINE)
"""A command that runs the hook of Git LFS; lefthook does that without naming it."""
_READS_INPUT = re.compile(r"^[^#]*\b(?:git[- ]lfs|lefthook|pre-commit|read|cat|xargs)\b")

_TOOLS: Final = {
    "pre-commit": PRE_COMMITS,
    "lefthook": re.compile(rb"lefthook", re.IGNORECASE),
    "Git LFS": re.compile(rb"git[- ]lfs"),
    "overcommit": re.compile(rb"overcommit", re.IGNORECASE),
    "husky": re.compile(rb"husky"),
}
"""The tools whose hooks are recognized, most specific first."""

Standing = Literal["stands in", "keeps out"]


class Neighbours(NamedTuple):
    """What baton's hook of one event does to another tool, and what another tool does to it.

    Attributes:
        lfs: `stands in` if baton's script runs the hook of Git LFS, whose place it takes; `keeps out` if it takes the
            place and does not run it; None if Git LFS is not used here, or another script runs it.
        input_problem: why the script does not get the lines that git writes for the hook; empty if it does.
    """

    lfs: Standing | None = None
    input_problem: str = ""


def find_neighbours(location: HookLocation, event: str, script: Path) -> Neighbours:
    """Return what baton's installed script for an event and other tools do to each other.

    Args:
        script: the file that runs as baton's script.

    Raises:
        StoreError: git cannot be run, or a hook cannot be read.
    """
    problem = next(_input_problems(location, event, script), "") if event in WITH_INPUT else ""
    return Neighbours(_find_lfs_standing(location, event, script), problem)


def name_tool(hook: bytes) -> str:
    """Return the name of the tool that wrote a hook, or `another tool`."""
    return next((name for name, pattern in _TOOLS.items() if pattern.search(hook)), "another tool")


# --- the place


def _find_lfs_standing(location: HookLocation, event: str, script: Path) -> Standing | None:
    if event not in LFS_EVENTS or location.mode == "configured" or not uses_lfs(location):
        return None
    if any(_RUNS_LFS.search(text) for text in _other_scripts(location, event, script)):
        return None
    return "stands in" if b"\nrun_lfs() {\n" in (read_hook(script) or b"") else "keeps out"


def uses_lfs(location: HookLocation) -> bool:
    """Return whether Git LFS is set up on this machine, and the repository has files of it."""
    settings = location.git.ask("config", "--get-regexp", r"^(filter\.lfs\.(process|clean)|lfs\.storage)$") or ""
    if "filter.lfs." not in settings:
        return False
    if (location.repository.common_dir / "lfs").is_dir():
        return True
    attributes = ("grep", "-q", "filter=lfs", "--", ".gitattributes", "*/.gitattributes")
    return "lfs.storage" in settings and location.git.ask(*attributes) is not None


def _other_scripts(location: HookLocation, event: str, script: Path) -> Iterator[bytes]:
    """Yield the other scripts that run for this event, as `hooks/git/lfs.sh` finds them."""
    if location.mode == "external":
        yield read_hook(location.file_for(event)) or b""
        return
    backup = location.folder / (event + BACKUP)
    if is_program(backup):
        yield read_hook(backup) or b""
    if script.name != event:
        yield read_hook(location.folder / event) or b""
        wanted = re.compile(rb"git[- ]lfs " + event.encode())
        configuration = read_hook(location.git.folder / ".pre-commit-config.yaml") or b""
        yield from (match[0] for match in wanted.finditer(configuration))


# --- the input


def _input_problems(location: HookLocation, event: str, script: Path) -> Iterator[str]:
    if location.mode == "external":
        yield from _line_problems(location, event)
    elif location.mode == "files" and script.name != event:
        text = read_hook(location.folder / event) or b""
        if event == "post-rewrite" and PRE_COMMITS.search(text):
            # pre-commit 4.7.0 reads the input of pre-push only: commands/hook_impl.py, _run_legacy
            yield "pre-commit runs it with empty input"
    if exists(location.repository.common_dir / "baton" / "hook-input" / event):
        yield "it had none when it ran last"


def _line_problems(location: HookLocation, event: str) -> Iterator[str]:
    """Yield the problems of the line that calls baton's script from another one."""
    file = location.file_for(event)
    lines = (read_hook(file) or b"").decode("utf-8", "replace").splitlines()
    number = next((number for number, line in enumerate(lines) if f"/baton/hooks/{event}" in line), None)
    if number is None:
        return
    if any(_READS_INPUT.search(line) for line in lines[:number] if not line.lstrip().startswith(". ")):
        yield f"commands before the line in {file} may read it; move the line up"
    if "exec <" not in lines[number] and any(line.strip() for line in lines[number + 1 :]):
        yield f"commands after the line in {file} need it; replace the line with: {location.line_for(event)}"
