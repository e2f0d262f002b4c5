"""The files that the newest commits before HEAD changed, as one bounded `git log` lists them.

The list is saved in the git directory of the work tree (`baton/recent-changes.json`), with its version, HEAD and the
state of a shallow clone, so that only the first reader after a commit waits for git. The file may be deleted; a damaged
one, or one of another version, counts as missing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import NamedTuple

from baton_git.git.files import durable_files
from baton_git.git.session_repository import GitUnavailable, SessionRepository
from baton_git.git.source_commits import head_commit
from baton_git.git.store import Repository, Store

VERSION = 1
MAX_COMMITS, MAX_SECONDS, MAX_OUTPUT = 500, 0.5, 4 << 20
"""Maximum number of commits that are listed, of seconds that a session's start waits for git, and of bytes of git's
output that are read. What git printed within these limits counts."""
MAX_FILES = 30
"""Maximum number of files of a commit that counts. A larger one, such as a move of a folder or a reformatting, says
nothing about any two of its files."""
ENOUGH = 100
"""If time ran out, a list of so many commits is saved nevertheless, so that no later start waits again."""
_BEGIN = "//"
"""What precedes the time of a commit in git's output. No path in git begins with it."""
_LOG = (
    "log", "-z", "--name-only", "--no-merges", f"--max-count={MAX_COMMITS}", f"--format={_BEGIN}%ct",
    # against settings of the user that run a program, read a file that may be missing, or change the names
    "--no-show-signature", "--no-ext-diff", "--no-textconv", "-O/dev/null", "--no-renames", "--no-relative",
)  # fmt: skip


class ChangedFiles(NamedTuple):
    """The files that one commit changed; `time` is its committer's, in seconds since 1970."""

    time: int
    files: tuple[str, ...]


def list_recent_changes(store: Store, environment: Mapping[str, str]) -> list[ChangedFiles]:
    """Return the changes of the newest `MAX_COMMITS` commits of HEAD in this work tree, newest first.

    Merge commits and those of more than `MAX_FILES` files are left out, and so are paths that are not UTF-8. The list
    is shorter, or empty, if git is too slow or lacks objects; git fetches none.
    """
    repository, head = store.repository, head_commit(store)
    if head is None or repository.work_tree is None:
        return []
    key = f"{VERSION} {head} {_describe_boundary(repository)}"
    saved = _load(repository, key)
    if saved is not None:
        return saved
    git = SessionRepository(repository.work_tree, environment, MAX_SECONDS)
    try:
        output, is_whole = git.run_git(*_LOG, head, "--"), True
    except GitUnavailable as error:  # the time is over, or a partial clone lacks a tree
        output, is_whole = error.output, False
    changes = _parse(output[:MAX_OUTPUT], is_cut=not is_whole or len(output) > MAX_OUTPUT)
    if is_whole or len(changes) >= ENOUGH:
        _save(repository, key, changes)
    return changes


def _describe_boundary(repository: Repository) -> str:
    """Return a text that changes when a shallow clone gets more commits."""
    try:
        return str((repository.common_dir / "shallow").stat().st_mtime_ns)
    except OSError:
        return "-"


def _parse(output: str, *, is_cut: bool) -> list[ChangedFiles]:
    """Return the commits in git's output, without the last one if it may be incomplete."""
    changes = []
    parts = f"\0{output}".split(f"\0{_BEGIN}")[1:]
    for part in parts[: len(parts) - is_cut]:
        time, _, names = part.partition("\0")
        files = tuple(name for name in names.removeprefix("\n").split("\0") if name and "\ufffd" not in name)
        if time.isdecimal() and 0 < len(files) <= MAX_FILES:
            changes.append(ChangedFiles(int(time), files))
    return changes


def _load(repository: Repository, key: str) -> list[ChangedFiles] | None:
    try:
        with (repository.git_dir / "baton" / "recent-changes.json").open("rb") as file:
            head, body = file.readline(400), file.read(2 * MAX_OUTPUT)
        if head != _make_head(key, body):
            return None
        return [ChangedFiles(time, tuple(files)) for time, files in json.loads(body)]
    except (OSError, ValueError, TypeError, RecursionError):
        return None


def _save(repository: Repository, key: str, changes: list[ChangedFiles]) -> None:
    """Save the list in place of the earlier one. Errors of the disk are ignored."""
    body = json.dumps(changes, separators=(",", ":")).encode()
    path = repository.git_dir / "baton" / "recent-changes.json"
    durable_files.save_derived(path, _make_head(key, body) + body, mode=0o600)


def _make_head(key: str, body: bytes) -> bytes:
    return f"{key} {sha256(body).hexdigest()}\n".encode()
