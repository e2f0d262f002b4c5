"""Commits of the user's own code: HEAD, a commit on a branch, and the files that the newest commits changed."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from baton_git.core.errors import BatonError, Corrupt, NotFound
from baton_git.core.names import Oid
from baton_git.git.derived_rewrites import derive_rewritten, find_replacement
from baton_git.git.files import durable_files
from baton_git.git.local_git import GitUnavailable, SessionRepository
from baton_git.git.objects.values import CommitInfo
from baton_git.git.rewritten import find_newest, load_rewritten
from baton_git.git.store import Repository, Store

MAX_SEARCHED = 20_000
"""Maximum number of commits of a branch that are searched, newest first."""

_SYMBOLIC = re.compile(r"ref: (refs/\S+)")
_RELATIVE = re.compile(r"\S*(?:[~^]\d*|@\{[^}]*\})+")
_ABBREVIATED = re.compile(r"[0-9a-f]{7,64}")


def head_branch(store: Store) -> str | None:
    """Return the branch that is checked out in this work tree; None if HEAD is detached."""
    symbolic = _SYMBOLIC.fullmatch(_read_head(store))
    return symbolic[1].removeprefix("refs/heads/") if symbolic else None


def head_commit(store: Store) -> Oid | None:
    """Return the commit at HEAD of this work tree; None if there is none, as before the first commit."""
    text = _read_head(store)
    symbolic = _SYMBOLIC.fullmatch(text)
    if symbolic:
        return store.tip(symbolic[1])
    return Oid(text) if re.fullmatch(r"[0-9a-f]{40}(?:[0-9a-f]{24})?", text) else None


def _read_head(store: Store) -> str:
    """Return the content of HEAD; empty if it cannot be read."""
    try:
        return (store.repository.git_dir / "HEAD").read_text().strip()
    except (OSError, UnicodeDecodeError):
        return ""


def find_commit(store: Store, text: str, branch: str | None = None) -> str | None:
    """Return the full id of a commit if it is on a branch, else None.

    A commit that was rebased or amended is found under its new id.

    Args:
        text: an id of at least 7 digits, a ref, or the exact subject of the commit.
        branch: the branch to search; None means HEAD.

    Raises:
        NotFound: the branch does not exist.
        BatonError: the commit may be older than the newest `MAX_SEARCHED` commits, or than those of a shallow clone; or
            `text` is an expression (`HEAD~1`) or the name of an annotated tag.
    """
    start = head_commit(store) if branch in (None, "HEAD") else named_ref(store, str(branch))
    if start is None:
        raise NotFound("branch", branch or "HEAD")
    if _RELATIVE.fullmatch(text):
        raise BatonError("revision expressions are not supported", hint="name the commit by its id or its subject")
    named = head_commit(store) if text == "HEAD" else named_ref(store, text)
    if named is not None:
        store.commit(named)  # raises for a tag object, which is never on a branch
    wanted = {named or text} if named or _ABBREVIATED.fullmatch(text) else set()
    rewritten = load_rewritten(store.repository.common_dir)
    wanted |= {find_newest(rewritten, commit) for commit in wanted}
    searched: list[CommitInfo] = []
    for info in islice(store.log(start), MAX_SEARCHED):
        searched.append(info)
        if info.oid.startswith(tuple(wanted)) or info.message.partition("\n")[0].strip() == text.strip():
            return info.oid
    found = _find_rewritten(store, searched, wanted, rewritten)
    if found is not None:
        return found
    if len(searched) == MAX_SEARCHED:
        raise BatonError(f"the commit is not among the newest {MAX_SEARCHED:,} commits of the branch")
    if store.is_shallow:
        raise BatonError("the clone is shallow; older commits are not here", hint="run `git fetch --unshallow`")
    return None


def _find_rewritten(
    store: Store, searched: Sequence[CommitInfo], wanted: Collection[str], rewritten: Mapping[str, str]
) -> str | None:
    """Return what replaced a wanted commit, if the hook did not record it: from the reflog, or by its patch."""
    if not wanted:
        return None
    derived = {**derive_rewritten(store), **rewritten}
    ids = tuple({find_newest(derived, commit) for commit in wanted} - set(wanted))
    found = next((info.oid for info in searched if info.oid.startswith(ids)), None)
    for commit in () if found else wanted:
        with suppress(Corrupt, ValueError):  # an abbreviated id, or a commit that is gone
            found = found or find_replacement(store, store.commit(Oid(commit)), searched)
    return found


def named_ref(store: Store, name: str) -> Oid | None:
    """Return the object id of a branch, remote branch, tag or full ref name, or None if it does not exist."""
    if not re.fullmatch(r"[^\s~^:?*\[\\]+", name) or ".." in name or name.startswith(("/", "-")):
        return None
    full = [name] if name.startswith("refs/") else []
    for ref in (*full, *(f"refs/{kind}/{name}" for kind in ("heads", "remotes", "tags"))):
        tip = store.tip(ref)
        if tip:
            return tip
    return None


# --- the files that the newest commits before HEAD changed, as one bounded `git log` lists them
#
# The list is saved in the git directory of the work tree (`baton/recent-changes.json`), with its version, HEAD and the
# state of a shallow clone, so that only the first reader after a commit waits for git. The file may be deleted; a
# damaged one, or one of another version, counts as missing.

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
        body = json.dumps(changes, separators=(",", ":")).encode()
        durable_files.save_derived(_saved_file(repository), _make_head(key, body) + body, mode=0o600)
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
        with _saved_file(repository).open("rb") as file:
            head, body = file.readline(400), file.read(2 * MAX_OUTPUT)
        if head != _make_head(key, body):
            return None
        return [ChangedFiles(time, tuple(files)) for time, files in json.loads(body)]
    except (OSError, ValueError, TypeError, RecursionError):
        return None


def _saved_file(repository: Repository) -> Path:
    return repository.git_dir / "baton" / "recent-changes.json"


def _make_head(key: str, body: bytes) -> bytes:
    return f"{key} {sha256(body).hexdigest()}\n".encode()
