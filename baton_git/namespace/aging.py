"""Find out whether the source code that a record is about has changed since the record was written.

The anchors of a record name files or symbols with a digest of their content. The digest is compared with HEAD and with
the work tree. The commits that carry a decision out do not count as changes: the state after them is what it is about.
If HEAD does not contain the commit at which the record was written, the branches that do are looked at, too. Git is run
only for anchors that differ, and its answers are cached by the commit of HEAD.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Literal, NamedTuple

from baton_git.core.errors import BatonError
from baton_git.core.names import Oid
from baton_git.core.records.work_items import Anchor
from baton_git.core.symbols import NoSymbol, digest_symbol
from baton_git.git.files.private_json import PrivateJsonFile
from baton_git.git.local_git import GitUnavailable
from baton_git.git.rewritten import find_newest, load_rewritten
from baton_git.git.source_files import SourceFiles
from baton_git.git.store import CommitInfo

MAX_ANCHORS = 100
"""Maximum number of anchors that one `AnchorJudge` examines; the state of all others is `unknown`."""
SECONDS = 1.5
"""Time limit for all git calls of one `AnchorJudge`, in seconds."""
MAX_ANSWERS = 400
"""Maximum number of cached answers of git."""
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SHORT = 7
"""Number of digits of a commit id that are shown."""
MIN_WORDS = 6
"""Minimum length of a decision's id or text for which the messages of commits are searched."""
_MOST_TIPS = 5
"""Maximum number of branches with an anchor's commit that are compared."""
_MOST_SHOWN = 3
"""Maximum number of changed anchors that are shown for one record."""

AnchorStatus = Literal["same", "changed", "gone", "elsewhere", "unknown"]


class AnchorState(NamedTuple):
    """The current state of an anchor.

    Attributes:
        path: the current path of its file, or the last one if the file is gone.
        since: the first commit that changed or removed it; empty if the change is not committed; None if this is
            unknown or nothing changed.
        branch: the branch that has the file as the record is about it, if HEAD does not.
    """

    anchor: Anchor
    state: AnchorStatus
    path: str
    since: str | None = None
    branch: str = ""

    @property
    def name(self) -> str:
        """The path of the file, followed by `:` and the symbol if the anchor names one."""
        return f"{self.path}:{self.anchor.symbol}" if self.anchor.symbol else self.path

    def describe(self) -> str:
        """Return the state in a few words; empty if nothing changed."""
        if self.state == "same":
            return ""
        if self.state == "unknown":
            return "unknown whether it changed"
        if self.state == "elsewhere":
            return f"on branch {self.branch}"
        if self.since is None:
            return self.state
        return f"{self.state} since {self.since[:_SHORT]}" if self.since else f"{self.state}, not committed"

    def as_data(self) -> dict[str, object]:
        """Return the state as plain data."""
        optional = {
            "symbol": self.anchor.symbol, "since": self.since, "branch": self.branch,
            "by_default": self.anchor.by_default, "text": self.describe(),
        }  # fmt: skip
        return {"path": self.path, "state": self.state} | {name: value for name, value in optional.items() if value}


@dataclass(frozen=True)
class Implementation:
    """Tells which commits carry out a decision: those that name its id or have its text in their message, and those of
    the session that took it.

    Attributes:
        words: the id and the text; empty for a record that no commit carries out.
        list_commits: lists the commits of that session; an id may be abbreviated.
        has_changed: whether that session changed a file; its changes carry the decision out before they are committed.
    """

    words: tuple[str, ...] = ()
    list_commits: Callable[[], Sequence[str]] = tuple
    has_changed: Callable[[str], bool] = lambda _: False

    @cached_property
    def commits(self) -> tuple[str, ...]:
        """The commits of the session that took the decision."""
        return tuple(self.list_commits())

    def includes(self, commit: CommitInfo) -> bool:
        """Return whether a commit carries the decision out; one that reverts another never does."""
        message = " ".join(commit.message.casefold().split())
        if message.startswith("revert ") or "this reverts commit" in message:
            return False
        return any(map(commit.oid.startswith, self.commits)) or any(
            re.search(rf"(?<!\w){re.escape(word)}(?!\w)", message) for word in self._found_words
        )

    @cached_property
    def _found_words(self) -> tuple[str, ...]:
        folded = (" ".join(word.casefold().split()).rstrip(".") for word in self.words)
        return tuple(word for word in folded if len(word) >= MIN_WORDS)

    @cached_property
    def fingerprint(self) -> str:
        """What the answers about changes depend on besides the anchor."""
        return "\0".join((*self.words, *self.commits))


NOT_CARRIED_OUT = Implementation()


class AnchorJudge:
    """Compares anchors with the current source files, within `MAX_ANCHORS` anchors and `SECONDS` seconds."""

    def __init__(self, files: SourceFiles) -> None:
        self._files = files
        self._left = MAX_ANCHORS
        self._end = time.monotonic() + SECONDS
        self._answers = GitAnswers(files.store.repository.common_dir / "baton" / "anchors.json")

    def judge(self, anchor: Anchor, made: Implementation = NOT_CARRIED_OUT) -> AnchorState:
        """Return the current state of an anchor; `unknown` if it cannot be determined.

        Args:
            made: tells which commits carry the record out.
        """
        self._left -= 1
        if self._left < 0 or anchor.digest is None:
            return AnchorState(anchor, "unknown", anchor.path)
        try:
            return self._compare(anchor, made)
        except (BatonError, GitUnavailable, ValueError):  # ValueError: the path is not a possible file name
            return AnchorState(anchor, "unknown", anchor.path)

    def _compare(self, anchor: Anchor, made: Implementation) -> AnchorState:
        digests = [*self._digests_now(anchor, anchor.path, self._files.head)]
        if anchor.digest in digests:
            return self._compare_uncommitted(anchor, anchor.path, anchor.digest, made)
        begin = self._begin(anchor)
        if begin and not self._ask("contained", anchor, lambda: "yes" * self._files.is_in_history(Oid(begin))):
            landed = self._ask("landed", anchor, lambda: self._find_landing(anchor, Oid(begin)))
            elsewhere = None if landed else self._look_elsewhere(anchor, Oid(begin), made)
            if elsewhere is not None:
                return elsewhere
            begin = landed or begin
        if not digests:
            return self._follow(anchor, begin, made)
        return self._describe_difference(anchor, anchor.path, begin, digests, made)

    def _describe_difference(
        self, anchor: Anchor, path: str, begin: str, digests: Sequence[str | None], made: Implementation
    ) -> AnchorState:
        since, _, expected = (self._find_change(anchor, path, begin, made) or "").partition("\0")
        if expected and expected in digests:
            return self._compare_uncommitted(anchor, path, expected, made)
        if None in digests:
            return AnchorState(anchor, "unknown", path)
        return AnchorState(anchor, "changed", path, since if expected else None)

    def _compare_uncommitted(
        self, anchor: Anchor, path: str, expected: str | None, made: Implementation
    ) -> AnchorState:
        """Judge an anchor whose expected content is at HEAD or in the work tree, by what is not committed.

        Args:
            expected: the digest of that content.
        """
        blob = self._files.find_blob(path, self._files.head) if self._files.head is not None else None
        if blob is None or self._digest(anchor, path, blob) != expected or made.has_changed(path):
            return AnchorState(anchor, "same", path)
        self._check_time()
        is_removed, new = self._files.find_missing(path)
        if is_removed and new is None:
            return AnchorState(anchor, "gone", path, "")
        path = new or path
        if not self._files.is_edited(path, blob):
            return AnchorState(anchor, "same", path)
        digest = digest_content(self._files, path, anchor.symbol, self._files.read_file(path) or b"")
        if digest is None:
            return AnchorState(anchor, "unknown", path)
        return AnchorState(anchor, "same", path) if digest == expected else AnchorState(anchor, "changed", path, "")

    def _follow(self, anchor: Anchor, begin: str, made: Implementation) -> AnchorState:
        """Judge an anchor whose file is no longer at its path: look for renames, and for branches that have it."""
        if not begin:
            return AnchorState(anchor, "unknown", anchor.path)
        answer = self._ask("followed", anchor, lambda: self._find_path(anchor, Oid(begin)), begin)
        path, _, removed = answer.partition("\0")
        if removed:
            return self._judge_removal(anchor, path, removed, begin, made)
        digests = [*self._digests_now(anchor, path, self._files.head)]
        if anchor.digest in digests:
            return self._compare_uncommitted(anchor, path, anchor.digest, made)
        return self._describe_difference(anchor, path, begin, digests, made)

    def _judge_removal(
        self, anchor: Anchor, path: str, removed: str, begin: str, made: Implementation
    ) -> AnchorState:  # fmt: skip
        """Judge an anchor whose file HEAD does not have. A removal that carries the decision out changes nothing, and a
        file that another branch has is not gone."""
        if removed != begin and made.includes(self._files.store.commit(Oid(removed))):
            return AnchorState(anchor, "same", path)
        self._check_time()
        branches, are_all = self._files.list_branches(f"--no-merged={self._files.head}")
        paths = {anchor.path, path}
        having = next((name for name, tip in branches if any(self._files.find_blob(one, tip) for one in paths)), None)
        if having is not None:
            return AnchorState(anchor, "elsewhere", path, branch=having)
        state: AnchorStatus = "gone" if are_all else "unknown"
        return AnchorState(anchor, state, path, removed if are_all and removed != begin else None)

    def _find_landing(self, anchor: Anchor, begin: Oid) -> str:
        """Return the commit of HEAD's history that has the anchor's content, as after a squash merge; empty without
        one."""
        for commit in self._files.list_changes(anchor.path, begin):
            blob = self._files.find_blob(anchor.path, commit)
            if blob is not None and self._digest(anchor, anchor.path, blob) == anchor.digest:
                return commit
        return ""

    def _look_elsewhere(self, anchor: Anchor, begin: Oid, made: Implementation) -> AnchorState | None:
        """Judge an anchor by the branches that contain its commit, which HEAD does not; None if no branch does."""
        self._check_time()
        branches, _ = self._files.list_branches(f"--contains={begin}")
        states = []
        for name, tip in branches[:_MOST_TIPS]:
            self._check_time()
            states.append(self._judge_on_branch(anchor, begin, name, tip, made))
            if states[-1].state == "elsewhere":
                return states[-1]
        return next(iter(states), None)

    def _judge_on_branch(
        self, anchor: Anchor, begin: Oid, name: str, tip: Oid, made: Implementation
    ) -> AnchorState:  # fmt: skip
        blob = self._files.find_blob(anchor.path, tip)
        digest = self._digest(anchor, anchor.path, blob) if blob is not None else ""
        changes = self._files.list_changes(anchor.path, begin, tip)
        since, _, expected = self._walk_changes(anchor, anchor.path, [(anchor.path, changes)], made).partition("\0")
        if digest in (anchor.digest, expected):
            return AnchorState(anchor, "elsewhere", anchor.path, branch=name)
        if blob is None:
            return AnchorState(anchor, "gone", anchor.path, changes[-1] if changes else None)
        return AnchorState(anchor, "changed" if digest is not None else "unknown", anchor.path, since or None)

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

    def _find_change(self, anchor: Anchor, path: str, begin: str, made: Implementation) -> str | None:
        """Return what `_walk_changes` finds in the history of HEAD; None if this is unknown."""
        if not begin:
            return None
        try:
            return self._ask(
                "since", anchor, lambda: self._walk_history(anchor, path, Oid(begin), made), begin, made.fingerprint
            )
        except GitUnavailable:
            return None

    def _walk_history(self, anchor: Anchor, path: str, begin: Oid, made: Implementation) -> str:
        names = dict.fromkeys((anchor.path, path))
        return self._walk_changes(anchor, path, [(name, self._files.list_changes(name, begin)) for name in names], made)

    def _walk_changes(
        self, anchor: Anchor, path: str, changes: Sequence[tuple[str, Sequence[Oid]]], made: Implementation
    ) -> str:
        """Return the first commit in which the file or symbol differs from what the record is about, and after a null
        character the digest of that: the anchor's, or the one after the last commit that carried the record out.

        The commit is empty if no commit differs, or if one that carried the record out came later.

        Args:
            changes: the names that the file had, with the commits that changed it, oldest first.
        """
        since, expected = "", anchor.digest
        for name, commits in changes:
            for commit in commits:
                blob = self._files.find_blob(name, commit)
                if blob is None and name != path:
                    continue  # the file was moved
                digest = self._digest(anchor, name, blob) if blob is not None else ""
                if made.includes(self._files.store.commit(commit)):
                    since, expected = "", digest or expected
                elif not since and digest not in (anchor.digest, expected):
                    since = commit
        return f"{since}\0{expected}"

    def _begin(self, anchor: Anchor) -> str:
        """Return the anchor's commit, or the one that replaced it in a rebase; empty if it is not in the repository."""
        commit = find_newest(self._rewritten, anchor.commit or "")
        if not _COMMIT.fullmatch(commit) or not self._files.has_commit(commit):
            return ""
        return commit

    @cached_property
    def _rewritten(self) -> Mapping[str, str]:
        return load_rewritten(self._files.store.repository.common_dir)

    def _check_time(self) -> None:
        if time.monotonic() > self._end:
            raise GitUnavailable("the time limit for git calls is used up")

    def _ask(self, question: str, anchor: Anchor, ask: Callable[[], str], *more: str) -> str:
        """Return git's answer to a question about an anchor: from the cache, or else from `ask`.

        Args:
            more: what else the answer depends on.

        Raises:
            GitUnavailable: the answer is not cached, and the time limit is used up or git fails.
        """
        begin = self._begin(anchor)
        key_parts = (
            question, str(self._files.head), begin, anchor.path, anchor.symbol or "", anchor.digest or "", *more
        )  # fmt: skip
        key = sha256("\0".join(key_parts).encode("utf-8", "surrogatepass")).hexdigest()[:24]
        if key not in self._answers.known:
            self._check_time()
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
    lines = [f"{text}: {state.name}" for state in named if (text := state.describe())]
    more = [f"and {len(lines) - _MOST_SHOWN} more"] if len(lines) > _MOST_SHOWN else []
    return ", ".join(lines[:_MOST_SHOWN] + more)


def _describe_default(states: Sequence[AnchorState]) -> str:
    changed = [state for state in states if state.state in ("changed", "gone")]
    if 2 * len(changed) <= len(states):
        return ""
    since = next((f" since {state.since[:_SHORT]}" for state in changed if state.since), "")
    return f"{len(changed)} of the {len(states)} files of its session changed{since}"
