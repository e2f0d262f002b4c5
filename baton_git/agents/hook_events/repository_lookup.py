"""Find the project of a session and its repository, and whether it may have a namespace, by looking only at files.

If the repository certainly has no namespace, the hook exits before the rest of the program is imported.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import NamedTuple

from baton_git.agents.hook_events.hook_session import HookSessionStore
from baton_git.agents.hook_events.payloads import START, Payload
from baton_git.agents.registry import AGENTS
from baton_git.core.codecs.limits import check_nesting

PARENT = "BATON_HOOK_PARENT"
"""The environment variable in which an installed hook line passes the process id of the agent CLI (the parent of the
line's shell)."""
_FIRST_LINE = 1 << 20
"""Maximum number of bytes read; Codex's first record contains all of its instructions."""


def find_start_folder(payload: Payload, environment: Mapping[str, str]) -> str:
    """Return the folder in which the session started or was resumed if the agent CLI reports it; else its current one.

    The `cwd` of an event is the session's current folder, which may be elsewhere (after `cd`, in another work tree or
    in a submodule). If it were used, the session's facts could be saved in another project, and its context taken from
    there.
    """
    cli = AGENTS[payload.agent]
    for name in cli.folder_variables:
        if environment.get(name):
            return environment[name]
    if not cli.folder_in_transcript:
        return payload.cwd
    return _find_resumed(payload) or _read_codex_cwd(payload.transcript) or payload.cwd


def _find_resumed(payload: Payload) -> str:
    """Return the folder in which the session was resumed, as far as hooks know it; else empty.

    Codex (0.171) goes on in the same transcript, whose first record names the folder of the first start. Only the
    event of the resume tells the other one; hooks remember its work tree for the later events.
    """
    if payload.kind == START:
        return payload.cwd if payload.detail == "resume" and os.path.isdir(payload.cwd) else ""
    repository = find_repository(payload.cwd) if payload.cwd else None
    session = HookSessionStore(repository.common_dir).get(payload.agent, payload.session) if repository else None
    top = session.work_tree if session is not None else ""
    # Not by the path: a linked work tree may be in a folder of the main one.
    return payload.cwd if top and find_repository(top) == repository else top


def _read_codex_cwd(transcript: str) -> str:
    """Return the folder named in the first record of a Codex transcript; empty when there is none."""
    try:
        with open(transcript, "rb") as file:
            line = file.readline(_FIRST_LINE).decode()
        check_nesting(line)
        first = json.loads(line)
    except (OSError, ValueError):
        return ""
    payload = first.get("payload") if isinstance(first, dict) else None
    cwd = payload.get("cwd") if isinstance(payload, dict) else None
    return cwd if isinstance(cwd, str) else ""


MAX_DEPTH, MAX_LOOKED, MAX_BELOW = 2, 500, 10
"""How deep, in how many folders, and for how many repositories a session's folder is searched."""


class RepositoryPaths(NamedTuple):
    """The directories of a repository.

    Attributes:
        git_dir: the git directory of this work tree.
        common_dir: the directory shared by all work trees.
    """

    git_dir: str
    common_dir: str


def find_repository(folder: str) -> RepositoryPaths | None:
    """Return the repository that contains `folder`; None outside of one."""
    here = os.path.abspath(folder)
    while True:
        paths = _find_at(here)
        if paths is not None:
            return paths
        above = os.path.dirname(here)
        if above == here:
            return None
        here = above


def read_branch(git_dir: str) -> str:
    """Return the branch that is checked out in a work tree; empty if HEAD is detached or cannot be read."""
    line = _read_first_line(os.path.join(git_dir, "HEAD"))
    return line.removeprefix("ref: refs/heads/") if line.startswith("ref: refs/heads/") else ""


def find_repositories_below(folder: str) -> list[str]:
    """Return the tops of the repositories in the folders of a folder that is in none, if they may have a namespace."""
    tops: list[str] = []
    looked = 0
    folders = [(folder, 1)]
    while folders and looked < MAX_LOOKED:
        here, depth = folders.pop(0)
        for name in _list_folders(here):
            looked += 1
            path = os.path.join(here, name)
            paths = _find_at(path)
            if paths is not None and may_hold_state(paths):
                tops.append(path)
            elif paths is None and depth < MAX_DEPTH:
                folders.append((path, depth + 1))
    return tops[:MAX_BELOW]


def _list_folders(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(
                entry.name
                for entry in entries
                if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False)
            )
    except OSError:
        return []


def is_in_repository(folder: str, common_dir: str) -> bool:
    """Whether a folder exists and is in a work tree of the repository with this common directory."""
    paths = find_repository(folder) if os.path.isdir(folder) else None
    return paths is not None and os.path.realpath(paths.common_dir) == os.path.realpath(common_dir)


def find_remaining_folder(folder: str, common_dir: str) -> str:
    """Return the folder in which a session's hook can run, if its work tree may have been removed.

    It is the nearest existing folder around `folder` if that is still in the repository; otherwise the top of the main
    work tree, or the git directory if that is not inside its work tree.
    """
    here = os.path.abspath(folder)
    while not os.path.isdir(here):
        here = os.path.dirname(here)
    if is_in_repository(here, common_dir):
        return here
    return os.path.dirname(common_dir) if os.path.basename(common_dir) == ".git" else common_dir


def _find_at(folder: str) -> RepositoryPaths | None:
    dot_git = os.path.join(folder, ".git")
    if os.path.isdir(dot_git):
        return RepositoryPaths(dot_git, dot_git)
    if os.path.isfile(dot_git):  # a linked work tree, or a submodule
        line = _read_first_line(dot_git)
        if line.startswith("gitdir:"):
            git_dir = os.path.join(folder, line[len("gitdir:") :].strip())
            common = _read_first_line(os.path.join(git_dir, "commondir"))
            return RepositoryPaths(git_dir, os.path.normpath(os.path.join(git_dir, common)) if common else git_dir)
    if os.path.isfile(os.path.join(folder, "HEAD")) and os.path.isdir(os.path.join(folder, "objects")):
        return RepositoryPaths(folder, folder)
    return None


def may_hold_state(repository: RepositoryPaths) -> bool:
    """Whether the repository may have a namespace; False only when it certainly has none."""
    common = repository.common_dir
    folders = ("baton", os.path.join("refs", "heads", "baton"), os.path.join("refs", "baton-kept"))
    if any(os.path.isdir(os.path.join(common, folder)) for folder in folders):
        return True
    try:
        return _has_packed_ref(os.path.join(common, "packed-refs")) or _has_remote_ref(
            os.path.join(common, "refs", "remotes")
        )
    except OSError:
        return True


def has_moved_branch(repository: RepositoryPaths) -> bool:
    """Whether a branch of baton may not be where baton left it; False only when all of them are."""
    common = repository.common_dir
    try:
        packed = _read_packed(os.path.join(common, "packed-refs"))
        names = {match[1].decode("utf-8", "surrogateescape") for match in _PACKED_KEPT.finditer(packed)}
        folder = os.path.join(common, "refs", "baton-kept")
        for top, _, files in os.walk(folder):
            names.update(os.path.relpath(os.path.join(top, file), folder) for file in files)
        return any(_is_moved(common, packed, name) for name in names)
    except OSError:
        return True


_PACKED_KEPT = re.compile(rb" refs/baton-kept/(.+)$", re.MULTILINE)


def _is_moved(common: str, packed: bytes, name: str) -> bool:
    """Whether a branch (its ref without `refs/`) differs from its kept ref, and baton did not delete or rename it."""
    branch = _read_ref(common, packed, f"refs/{name}")
    if not branch and os.path.exists(os.path.join(common, "baton", "gone", os.path.basename(name))):
        return False
    return branch != _read_ref(common, packed, f"refs/baton-kept/{name}")


def _read_ref(common: str, packed: bytes, ref: str) -> str:
    value = _read_first_line(os.path.join(common, ref))
    if value:
        return value
    match = re.search(rb"^([0-9a-f]+) " + re.escape(os.fsencode(ref)) + rb"$", packed, re.MULTILINE)
    return match[1].decode() if match else ""


def _read_packed(file: str) -> bytes:
    if not os.path.exists(file):
        return b""
    with open(file, "rb") as packed:
        return packed.read()


def _has_packed_ref(file: str) -> bool:
    return b"/baton/" in _read_packed(file)


def _has_remote_ref(folder: str) -> bool:
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return any(os.path.isdir(os.path.join(folder, name, "baton")) for name in names)


def _read_first_line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.readline().strip()
    except OSError:
        return ""
