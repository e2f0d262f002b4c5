"""Find out whether the source code that a record is about has changed since the record was written.

The anchors of a record name files or symbols with a digest of their content. The digest is compared with HEAD and with
the work tree. Git is run only for anchors that differ, and its answers are cached by the commit of HEAD.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Literal, NamedTuple

from baton_git.core.errors import BatonError
from baton_git.core.names import Oid
from baton_git.core.records.anchor import Anchor
from baton_git.core.symbols import NoSymbol, digest_symbol
from baton_git.git.files.private_json import PrivateJsonFile
from baton_git.git.rewritten import find_newest, load_rewritten
from baton_git.git.session_repository import GitUnavailable
from baton_git.git.source_files import SourceFiles

MAX_ANCHORS = 100
"""Maximum number of anchors that one `AnchorJudge` examines; the state of all others is `unknown`."""
SECONDS = 1.5
"""Time limit for all git calls of one `AnchorJudge`, in seconds."""
MAX_ANSWERS = 400
"""Maximum number of cached answers of git."""
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SHORT = 7
"""Number of digits of a commit id that are shown."""
_MOST_SHOWN = 3
"""Maximum number of changed anchors that are shown for one record."""

AnchorStatus = Literal["same", "changed", "gone", "unknown"]


class AnchorState(NamedTuple):
    """The current state of an anchor.

    Attributes:
        path: the current path of its file, or the last one if the file is gone.
        since: the first commit that changed or removed it; empty if the change is not committed; None if this is
            unknown or nothing changed.
    """

    anchor: Anchor
    state: AnchorStatus
    path: str
    since: str | None = None

    @property
    def name(self) -> str:
        """The path of the file, followed by `:` and the symbol if the anchor names one."""
        return f"{self.path}:{self.anchor.symbol}" if self.anchor.symbol else self.path

    def as_data(self) -> dict[str, object]:
        """Return the state as plain data."""
        optional = {"symbol": self.anchor.symbol, "since": self.since, "by_default": self.anchor.by_default}
        return {"path": self.path, "state": self.state} | {name: value for name, value in optional.items() if value}


class AnchorJudge:
    """Compares anchors with the current source files, within `MAX_ANCHORS` anchors and `SECONDS` seconds."""

    def __init__(self, files: SourceFiles) -> None:
        self._files = files
        self._left = MAX_ANCHORS
        self._end = time.monotonic() + SECONDS
        self._answers = GitAnswers(files.store.repository.common_dir / "baton" / "anchors.json")

    def judge(self, anchor: Anchor) -> AnchorState:
        """Return the current state of an anchor; `unknown` if it cannot be determined."""
        self._left -= 1
        if self._left < 0 or anchor.digest is None:
            return AnchorState(anchor, "unknown", anchor.path)
        try:
            return self._compare(anchor)
        except (BatonError, GitUnavailable, ValueError):  # ValueError: the path is not a possible file name
            return AnchorState(anchor, "unknown", anchor.path)

    def _compare(self, anchor: Anchor) -> AnchorState:
        head = self._files.head
        digests = [*self._digests_now(anchor, anchor.path, head)]
        if anchor.digest in digests:
            return AnchorState(anchor, "same", anchor.path)
        if not digests:
            return self._follow(anchor)
        if None in digests:
            return AnchorState(anchor, "unknown", anchor.path)
        return AnchorState(anchor, "changed", anchor.path, self._find_change(anchor, anchor.path))

    def _follow(self, anchor: Anchor) -> AnchorState:
        """Judge an anchor whose file is no longer at its path: look for renames."""
        begin = self._begin(anchor)
        if not begin:
            return AnchorState(anchor, "unknown", anchor.path)
        path, _, removed = self._ask("followed", anchor, lambda: self._find_path(anchor, Oid(begin))).partition("\0")
        if removed:
            return AnchorState(anchor, "gone", path, removed)
        digests = [*self._digests_now(anchor, path, self._files.head)]
        if anchor.digest in digests:
            return AnchorState(anchor, "same", path)
        if None in digests:
            return AnchorState(anchor, "unknown", path)
        return AnchorState(anchor, "changed", path, self._find_change(anchor, path))

    def _find_path(self, anchor: Anchor, begin: Oid) -> str:
        """Return the file's path after renames and, after a null character, the commit that removed it (if any)."""
        path, removed = self._files.follow_renames(anchor.path, begin)
        return f"{path}\0{removed or ''}"

    def _digests_now(self, anchor: Anchor, path: str, head: Oid | None) -> Iterator[str | None]:
        """Yield the digests at HEAD and in the work tree, where the file exists; None for an unknown digest."""
        blob = self._files.find_blob(path, head) if head is not None else None
        if blob is not None:
            yield self._digest(anchor, path, blob)
        content = self._files.read_file(path)
        if content is not None:
            yield digest_content(self._files, path, anchor.symbol, content)

    def _digest(self, anchor: Anchor, path: str, blob: Oid) -> str | None:
        if anchor.symbol is None:
            return blob
        return digest_content(self._files, path, anchor.symbol, self._files.read_blob(blob))

    def _find_change(self, anchor: Anchor, path: str) -> str | None:
        """Return the first commit after the anchor's commit in which the file or symbol differs from the anchor.

        Returns:
            An empty string if no commit differs; None if this is unknown.
        """
        begin = self._begin(anchor)
        if not begin:
            return None
        try:
            return self._ask("since", anchor, lambda: self._first_difference(anchor, path, Oid(begin)))
        except GitUnavailable:
            return None

    def _first_difference(self, anchor: Anchor, path: str, begin: Oid) -> str:
        for name in dict.fromkeys((anchor.path, path)):
            for commit in self._files.list_changes(name, begin):
                blob = self._files.find_blob(name, commit)
                is_moved = blob is None and name != path
                if not is_moved and (blob is None or self._digest(anchor, name, blob) != anchor.digest):
                    return commit
        return ""

    def _begin(self, anchor: Anchor) -> str:
        """Return the anchor's commit, or the one that replaced it in a rebase; empty if it is not in the repository."""
        commit = find_newest(self._rewritten, anchor.commit or "")
        if not _COMMIT.fullmatch(commit) or not self._files.has_commit(commit):
            return ""
        return commit

    @cached_property
    def _rewritten(self) -> Mapping[str, str]:
        return load_rewritten(self._files.store.repository.common_dir)

    def _ask(self, question: str, anchor: Anchor, ask: Callable[[], str]) -> str:
        """Return git's answer to a question about an anchor: from the cache, or else from `ask`.

        Raises:
            GitUnavailable: the answer is not cached, and the time limit is used up or git fails.
        """
        begin = self._begin(anchor)
        key_parts = (question, str(self._files.head), begin, anchor.path, anchor.symbol or "", anchor.digest or "")
        key = sha256("\0".join(key_parts).encode("utf-8", "surrogatepass")).hexdigest()[:24]
        if key not in self._answers.known:
            if time.monotonic() > self._end:
                raise GitUnavailable("the time limit for git calls is used up")
            self._answers.add(key, ask())
        return self._answers.known[key]


class GitAnswers:
    """Cache of git's answers about anchors, in a file of this machine that may be deleted at any time."""

    def __init__(self, path: Path) -> None:
        self._file = PrivateJsonFile(path, "delete it")

    @cached_property
    def known(self) -> dict[str, str]:
        """The cached answers, oldest first; empty if the file cannot be read."""
        try:
            loaded = self._file.load({})
        except BatonError:
            return {}
        return {key: value for key, value in loaded.items() if isinstance(value, str)}

    def add(self, key: str, answer: str) -> None:
        """Add an answer, and remove the oldest beyond `MAX_ANSWERS`."""
        self.known[key] = answer
        for old in list(self.known)[:-MAX_ANSWERS]:
            del self.known[old]
        try:
            self._file.save(self.known)
        except BatonError:
            return  # git will be asked again next time


def digest_content(files: SourceFiles, path: str, symbol: str | None, content: bytes) -> str | None:
    """Return the digest of a file's content, or of a symbol in it.

    Returns:
        None if the digest cannot be computed; an empty string if the file does not have the symbol.
    """
    if symbol is None:
        return files.hash_blob(content)
    digest = digest_symbol(path, content.decode("utf-8", "replace"), symbol)
    if isinstance(digest, str):
        return digest
    return "" if digest is NoSymbol.ABSENT else None


def describe_aging(states: Sequence[AnchorState]) -> str:
    """Describe in a few words what changed, or may have changed, since a record was written; empty if nothing did.

    If the author named anchors, only these are described, one by one. Otherwise all anchors are default ones (the files
    that the session had changed), which are described together, and only if more than half of them changed.
    """
    named = [state for state in states if not state.anchor.by_default]
    if not named:
        return _describe_default(states)
    lines = [f"{_describe_state(state)}: {state.name}" for state in named if state.state != "same"]
    more = [f"and {len(lines) - _MOST_SHOWN} more"] if len(lines) > _MOST_SHOWN else []
    return ", ".join(lines[:_MOST_SHOWN] + more)


def _describe_state(state: AnchorState) -> str:
    if state.state == "unknown":
        return "unknown whether it changed"
    word = "gone" if state.state == "gone" else "changed"
    if state.since is None:
        return word
    return f"{word} since {state.since[:_SHORT]}" if state.since else f"{word}, not committed"


def _describe_default(states: Sequence[AnchorState]) -> str:
    changed = [state for state in states if state.state in ("changed", "gone")]
    if 2 * len(changed) <= len(states):
        return ""
    since = next((f" since {state.since[:_SHORT]}" for state in changed if state.since), "")
    return f"{len(changed)} of the {len(states)} files of its session changed{since}"
