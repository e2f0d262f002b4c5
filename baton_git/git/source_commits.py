"""Look up commits of the user's own code: HEAD, and commits on a branch. Nothing is written."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from itertools import islice

from baton_git.core.errors import BatonError, Corrupt, NotFound
from baton_git.core.names import Oid
from baton_git.git.derived_rewrites import derive_rewritten, find_replacement
from baton_git.git.objects.values import CommitInfo
from baton_git.git.rewritten import find_newest, load_rewritten
from baton_git.git.store import Store

MAX_SEARCHED = 20_000
"""Maximum number of commits of a branch that are searched, newest first."""

_SYMBOLIC = re.compile(r"ref: (refs/\S+)")
_RELATIVE = re.compile(r"\S*(?:[~^]\d*|@\{[^}]*\})+")
_ABBREVIATED = re.compile(r"[0-9a-f]{7,64}")


def head_branch(store: Store) -> str | None:
    """Return the branch that is checked out in this work tree; None if HEAD is detached."""
    try:
        text = (store.repository.git_dir / "HEAD").read_text().strip()
    except (OSError, UnicodeDecodeError):
        return None
    symbolic = _SYMBOLIC.fullmatch(text)
    return symbolic[1].removeprefix("refs/heads/") if symbolic else None


def head_commit(store: Store) -> Oid | None:
    """Return the commit at HEAD of this work tree; None if there is none, as before the first commit."""
    try:
        text = (store.repository.git_dir / "HEAD").read_text().strip()
    except (OSError, UnicodeDecodeError):
        return None
    symbolic = _SYMBOLIC.fullmatch(text)
    if symbolic:
        return store.tip(symbolic[1])
    return Oid(text) if re.fullmatch(r"[0-9a-f]{40}(?:[0-9a-f]{24})?", text) else None


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
    start = _start(store, branch)
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


def _start(store: Store, branch: str | None) -> Oid | None:
    return head_commit(store) if branch in (None, "HEAD") else named_ref(store, str(branch))


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
