"""Find out what baton's hooks and the hooks of other tools take from each other: the place, or the input.

Git LFS and git-annex install their hooks only where there are none, and Git LFS may be silent about that. A script of
baton in such a place runs their hooks itself (`hooks/git/kept-out.sh`). Git passes lines to some hooks, and a tool that
runs baton's script may not pass them on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from baton_git.git.hooks.location import WITH_INPUT, HookLocation, exists, is_program, read_hook
from baton_git.git.hooks.script import BACKUP, PRE_COMMITS


class _KeptOut(NamedTuple):
    """A tool that installs its hooks only where there are none, with the commands of its hooks by event."""

    name: str
    commands: Mapping[str, str]
    pattern: re.Pattern[bytes]


_LFS: Final = _KeptOut(
    "git-lfs",
    {event: f"git lfs {event}" for event in ("pre-push", "post-checkout", "post-commit", "post-merge")},
    re.compile(rb"^[^#\n]*(?:git[- ]lfs|lefthook)", re.MULTILINE),  # lefthook runs them without naming them
)
_ANNEX: Final = _KeptOut(
    "git-annex",
    {
        "post-checkout": "git annex smudge --update", "post-merge": "git annex smudge --update",
        "post-receive": "git annex post-receive",
    },
    re.compile(rb"^[^#\n]*git[- ]annex", re.MULTILINE),
)  # fmt: skip
"""Seen with Git LFS 3.3.0 and git-annex 10.20230126."""
_READS_INPUT = re.compile(r"^[^#]*\b(?:git[- ]lfs|lefthook|pre-commit|read|cat|xargs)\b")

_TOOLS: Final = {
    "pre-commit": PRE_COMMITS,
    "lefthook": re.compile(rb"lefthook", re.IGNORECASE),
    "Git LFS": re.compile(rb"git[- ]lfs"),
    "git-annex": re.compile(rb"git[- ]annex"),
    "overcommit": re.compile(rb"overcommit", re.IGNORECASE),
    "husky": re.compile(rb"husky"),
}
"""The tools whose hooks are recognized, most specific first."""


class Neighbours(NamedTuple):
    """What baton's hook of one event does to another tool, and what another tool does to it.

    Attributes:
        stands_in: by the name of a tool, the command of its hook that baton's script runs, because it has its place.
        keeps_out: the same for a script that has the place and does not run it.
        input_problem: why the script does not get the lines that git writes for the hook; empty if it does.
    """

    stands_in: Mapping[str, str] = MappingProxyType({})
    keeps_out: Mapping[str, str] = MappingProxyType({})
    input_problem: str = ""


def find_neighbours(location: HookLocation, event: str, script: Path) -> Neighbours:
    """Return what baton's installed script for an event and other tools do to each other.

    Args:
        script: the file that runs as baton's script.

    Raises:
        StoreError: git cannot be run, or a hook cannot be read.
    """
    problem = next(_input_problems(location, event, script), "") if event in WITH_INPUT else ""
    left_out = {tool.name: tool.commands[event] for tool in _find_left_out(location, event, script)}
    if b"\nrun_kept_out() {\n" in (read_hook(script) or b""):
        return Neighbours(stands_in=left_out, input_problem=problem)
    return Neighbours(keeps_out=left_out if location.mode != "configured" else {}, input_problem=problem)


def name_tool(hook: bytes) -> str:
    """Return the name of the tool that wrote a hook, or `another tool`."""
    return next((name for name, pattern in _TOOLS.items() if pattern.search(hook)), "another tool")


# --- the place


def _find_left_out(location: HookLocation, event: str, script: Path) -> Iterator[_KeptOut]:
    """Yield the tools that are used here and whose hook for this event no other script runs."""
    for tool, is_used in ((_LFS, _uses_lfs), (_ANNEX, _uses_annex)):
        if event in tool.commands and is_used(location):
            texts = _other_scripts(location, event, script, tool)
            if not any(tool.pattern.search(text) for text in texts):
                yield tool


def _uses_lfs(location: HookLocation) -> bool:
    """Return whether Git LFS is set up on this machine, and the repository has files of it."""
    settings = location.git.ask("config", "--get-regexp", r"^(filter\.lfs\.(process|clean)|lfs\.storage)$") or ""
    if "filter.lfs." not in settings:
        return False
    if (location.repository.common_dir / "lfs").is_dir():
        return True
    attributes = ("grep", "-q", "filter=lfs", "--", ".gitattributes", "*/.gitattributes")
    return "lfs.storage" in settings and location.git.ask(*attributes) is not None


def _uses_annex(location: HookLocation) -> bool:
    return location.git.ask("config", "--get", "annex.uuid") is not None


def _other_scripts(location: HookLocation, event: str, script: Path, tool: _KeptOut) -> Iterator[bytes]:
    """Yield the other scripts that run for this event, as `hooks/git/kept-out.sh` finds them."""
    folder = location.folder_for(event)
    if location.mode == "external":
        yield read_hook(location.file_for(event)) or b""
    elif location.mode == "configured":
        yield read_hook(folder / event) or b""
        yield (location.git.ask("config", "--get-regexp", r"^hook\..*\.command$") or "").encode()
    else:
        backup = folder / (event + BACKUP)
        if is_program(backup):
            yield read_hook(backup) or b""
        if script.name != event:
            yield read_hook(folder / event) or b""
            wanted = re.compile(re.escape(f"{tool.name} {event}".encode()).replace(rb"\-", b"[- ]", 1))
            configuration = read_hook(location.git.folder / ".pre-commit-config.yaml") or b""
            yield from (match[0] for match in wanted.finditer(configuration))


# --- the input


def _input_problems(location: HookLocation, event: str, script: Path) -> Iterator[str]:
    if location.mode == "external":
        yield from _line_problems(location, event)
    elif location.mode == "files" and script.name != event:
        text = read_hook(location.folder_for(event) / event) or b""
        if event == "post-rewrite" and b"File generated by pre-commit" in text:
            # pre-commit 4.7.0 passes on only that of pre-push (commands/hook_impl.py, _run_legacy), prek 0.5.11 each
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
