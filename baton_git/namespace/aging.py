"""Whether the code that a record is about changed since the record was written.

A record keeps anchors: files or symbols with a digest of what they held. HEAD is compared with that, then the work
tree; git is asked only for what changed, and its answers are kept by the commit of HEAD.
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
"""How many anchors one judge looks at; of the others it says that it does not know."""
SECONDS = 1.5
"""For all that one judge asks git."""
MAX_ANSWERS = 400
"""How many answers of git are kept."""
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SHORT = 7
"""Digits of a commit's id that are shown."""
_TOLD = 3
"""How many anchors of one record are told."""

State = Literal["same", "changed", "gone", "unknown"]


class AnchorState(NamedTuple):
    """How an anchor is now.

    Attributes:
        path: where its file is now; where it was, if it is gone.
        since: the first commit that changed it; empty where none has the change yet, None where nobody knows.
    """

    anchor: Anchor
    state: State
    path: str
    since: str | None = None

    @property
    def name(self) -> str:
        """The file, with the symbol in it."""
        return f"{self.path}:{self.anchor.symbol}" if self.anchor.symbol else self.path

    def as_data(self) -> dict[str, object]:
        """Return it as plain data, beside its record."""
        optional = {"symbol": self.anchor.symbol, "since": self.since, "by_default": self.anchor.by_default}
        return {"path": self.path, "state": self.state} | {name: value for name, value in optional.items() if value}


class AnchorJudge:
    """Compares anchors with the code around a store."""

    def __init__(self, files: SourceFiles) -> None:
        self._files = files
        self._left = MAX_ANCHORS
        self._end = time.monotonic() + SECONDS
        self._answers = GitAnswers(files.store.repository.common_dir / "baton" / "anchors.json")

    def judge(self, anchor: Anchor) -> AnchorState:
        """Return how an anchor is now; unknown where it cannot be told."""
        self._left -= 1
        if self._left < 0 or anchor.digest is None:
            return AnchorState(anchor, "unknown", anchor.path)
        try:
            return self._compare(anchor)
        except (BatonError, GitUnavailable, ValueError):  # the last for a path that no file can have
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
        """Look for the file under another name."""
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
        path, removed = self._files.follow(anchor.path, begin)
        return f"{path}\0{removed or ''}"

    def _digests_now(self, anchor: Anchor, path: str, head: Oid | None) -> Iterator[str | None]:
        """Give the digests at HEAD and in the work tree, where there are such files; None for one that is unknown."""
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
        """Return the first commit since the anchor's whose version of the file differs from it.

        Returns:
            An empty text where no commit does; None where git cannot tell.
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
        """Return the commit that HEAD was at, or the one that took its place; empty where it is not here."""
        commit = find_newest(self._rewritten, anchor.commit or "")
        if not _COMMIT.fullmatch(commit) or not self._files.has_commit(commit):
            return ""
        return commit

    @cached_property
    def _rewritten(self) -> Mapping[str, str]:
        return load_rewritten(self._files.store.repository.common_dir)

    def _ask(self, question: str, anchor: Anchor, ask: Callable[[], str]) -> str:
        begin = self._begin(anchor)
        words = (question, str(self._files.head), begin, anchor.path, anchor.symbol or "", anchor.digest or "")
        key = sha256("\0".join(words).encode("utf-8", "surrogatepass")).hexdigest()[:24]
        if key not in self._answers.known:
            if time.monotonic() > self._end:
                raise GitUnavailable("there was no time left to ask git")
            self._answers.add(key, ask())
        return self._answers.known[key]


class GitAnswers:
    """What git answered about anchors, in a file of this machine; deleting it loses nothing."""

    def __init__(self, path: Path) -> None:
        self._file = PrivateJsonFile(path, "delete it")

    @cached_property
    def known(self) -> dict[str, str]:
        """The answers, the newest last; none where the file cannot be read."""
        try:
            loaded = self._file.load({})
        except BatonError:
            return {}
        return {key: value for key, value in loaded.items() if isinstance(value, str)}

    def add(self, key: str, answer: str) -> None:
        """Keep an answer, and forget the oldest beyond `MAX_ANSWERS`."""
        self.known[key] = answer
        for old in list(self.known)[:-MAX_ANSWERS]:
            del self.known[old]
        try:
            self._file.save(self.known)
        except BatonError:
            return  # it is asked again next time


def digest_content(files: SourceFiles, path: str, symbol: str | None, content: bytes) -> str | None:
    """Return the digest of a file's content, or of a symbol in it.

    Returns:
        None where nobody can tell; an empty text for a symbol that the file does not have.
    """
    if symbol is None:
        return files.name_blob(content)
    digest = digest_symbol(path, content.decode("utf-8", "replace"), symbol)
    if isinstance(digest, str):
        return digest
    return "" if digest is NoSymbol.ABSENT else None


def describe_aging(states: Sequence[AnchorState]) -> str:
    """Return in a few words what changed since a record was written; empty where nothing did.

    Files that were named count one by one. Those that the session had changed anyway count together, and only where
    nobody named any and more than half of them changed.
    """
    named = [state for state in states if not state.anchor.by_default]
    if not named:
        return _describe_default(states)
    told = [f"{_describe_state(state)}: {state.name}" for state in named if state.state != "same"]
    return ", ".join(told[:_TOLD] + ([f"and {len(told) - _TOLD} more"] if len(told) > _TOLD else []))


def _describe_state(state: AnchorState) -> str:
    if state.state == "unknown":
        return "not known whether changed"
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
