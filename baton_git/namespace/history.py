"""The history of a namespace: its newest revision, those of the past, and the names of revisions."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import NoReturn

from baton_git.core import layout
from baton_git.core.errors import (
    Ambiguous,
    BatonError,
    BranchMoved,
    BrokenFormat,
    Corrupt,
    InvalidArgument,
    NewerLayout,
    NotAllowed,
    NotFound,
)
from baton_git.core.names import Namespace, Oid
from baton_git.core.output import one_line
from baton_git.core.state import State
from baton_git.core.times import parse_local_time
from baton_git.git.store import ObjectDraft, Store
from baton_git.namespace.commit_log import (
    LogEntry,
    describe_merge,
    find_numbered,
    hide_shared_numbers,
    load_entry,
    read_revision_number,
)
from baton_git.namespace.last_tip import find_moved, read_tip
from baton_git.namespace.machine_state import GoneNamespaces, OutlineFiles
from baton_git.namespace.namespaces import find_fetched, find_other_prefix, make_missing_error
from baton_git.namespace.provenance.bootstrap import open_ledger
from baton_git.namespace.provenance.ledger import Ledger
from baton_git.namespace.revision import Revision

PREFIX = "refs/heads/baton/"
ROOT_AUTHOR = "baton-git <baton-git@localhost>"
ROOT_MESSAGE = "A namespace of baton-git begins\n\nBaton-Op: root\nBaton-Revision: 0\n"
REVISION_WEIGHT = 100_000
"""Weight of a revision in the store's cache, in bytes: roughly the size of its decoded records."""


def draft_root(draft: ObjectDraft) -> Oid:
    """Add the root commit to a draft, and return its id: every namespace begins with this commit."""
    tree = draft.tree(None, layout.ROOT_FILES)
    return draft.commit(tree, (), author=ROOT_AUTHOR, time=0, timezone=0, message=ROOT_MESSAGE)


def is_root(store: Store, commit: Oid) -> bool:
    """Return whether a commit is the one with which every namespace begins."""
    return commit == draft_root(store.draft())


@dataclass(frozen=True)
class BranchHistory:
    """The revisions that the branch of a namespace has."""

    store: Store
    namespace: Namespace
    prefix: str = PREFIX
    may_begin: bool = True
    """Whether the first write creates the namespace. If not, it must be created with `create` or fetched."""
    is_named: bool = True
    """Whether the user named the namespace; if not, it is the default for the current folder."""
    describe_unanswered: Callable[[], str] = str
    """Tells why the remotes did not say whether they have the namespace, when a hook asked them; empty if they did."""

    @property
    def ref(self) -> str:
        return self.prefix + self.namespace.component

    @property
    def ledger(self) -> Ledger:
        """The ledger of this machine, which records the origin of commits.

        Raises:
            Corrupt, WriteFailed: the ledger does not exist yet and cannot be created.
        """
        return open_ledger(self.store, self.prefix)

    def tip(self) -> Oid | None:
        """Return the tip of the branch; None if the namespace does not exist.

        Raises:
            BranchMoved: another program deleted the branch, moved it back or replaced it.
            Corrupt: the ref cannot be read.
        """
        return read_tip(self.store, self.prefix, self.namespace)

    @property
    def exists(self) -> bool:
        """Whether the namespace exists, even if it cannot be read or another program deleted its branch."""
        try:
            return self.tip() is not None
        except (BranchMoved, Corrupt):
            return True

    @property
    def has_begun(self) -> bool:
        """Whether the namespace exists here, or was fetched from a remote and neither deleted nor renamed here.

        Also True if its branch is below another prefix; then `check_exists` and every write raise NotFound.
        """
        if self.exists:
            return True
        if self._is_gone:
            return False
        return self.is_misplaced or find_fetched(self.store, self.prefix, self.namespace) is not None

    @property
    def is_new(self) -> bool:
        """Whether nothing was written to the namespace here yet: it does not exist, or is as `create` made it."""
        with suppress(BranchMoved, Corrupt):
            tip = self.tip()
            return tip is None or is_root(self.store, tip)
        return False

    @property
    def may_be_fetched(self) -> bool:
        """Whether the namespace does not exist here, and was neither deleted nor renamed here, nor is it below another
        prefix."""
        return not self.exists and not self._is_gone and not self.is_misplaced

    @property
    def _is_gone(self) -> bool:
        return GoneNamespaces(self.store.repository.common_dir).find(self.namespace) is not None

    @property
    def begins(self) -> bool:
        """Whether a write creates the namespace if it does not exist."""
        return not self.is_misplaced and (self.has_begun or (self.may_begin and not self._is_gone))

    def check_prefix(self) -> None:
        """Raise NotFound if the branch is below another prefix, from before a change of the setting."""
        if self.store.tip(self.ref) is None and self.is_misplaced:
            raise self.make_missing_error()

    @property
    def is_misplaced(self) -> bool:
        """Whether the branch is below another prefix, from before a change of the setting `baton.refPrefix`."""
        return find_other_prefix(self.store, self.prefix, self.namespace) is not None

    def make_missing_error(self, *, was_asked: bool = False) -> NotFound:
        return make_missing_error(
            self.store, self.prefix, self.namespace,
            is_named=self.is_named, may_begin=self.may_begin, was_asked=was_asked,
            unanswered="" if was_asked else self.describe_unanswered(),
        )  # fmt: skip

    def read(self, at: str | None = None) -> Revision:
        """Return the newest revision, or the one that `at` names (see `resolve`).

        Raises:
            BranchMoved: another program deleted the branch, moved it back or replaced it.
            NotFound, Ambiguous, InvalidArgument: `at` does not name one revision (see `resolve`).
            Corrupt: the ref, the commit or one of its trees cannot be read.
            NotAllowed: the branch is not a namespace of baton.
        """
        tip = self.tip()
        if tip is None and at is None:
            return Revision(self.namespace, State())
        if tip is None:
            raise self.make_missing_error()
        commit = self.resolve(at, tip) if at is not None else tip
        return self.revision_at(tip) if commit == tip else self.past_revision_at(commit)

    def revision_at(self, commit: Oid) -> Revision:
        """Return the revision at a commit. It is cached in the store's memory, with the records decoded so far.

        Raises:
            Corrupt, NotAllowed: under the same conditions as `read`.
        """
        revision = self.past_revision_at(commit)
        if isinstance(revision.fault, BrokenFormat):
            what, why = revision.fault.data["what"], revision.fault.data["why"]
            raise BrokenFormat(what, why, hint=self._describe_way_back(commit))
        if revision.fault is not None:
            raise NotAllowed(
                f"{self.ref} has no {layout.FORMAT_FILE}: it is not a branch of baton-git",
                hint="choose another namespace (--namespace), or another prefix (git config baton.refPrefix)",
            )
        return revision

    def past_revision_at(self, commit: Oid) -> Revision:
        """Return the revision at a commit of the history, also if its `format.toml` is missing or cannot be read.

        A later commit has repaired the file, or else the branch could not be read. What the bad commit did to records
        can be read, shown, compared and undone like anything else.

        Raises:
            Corrupt: the commit or its tree cannot be read, or has a newer layout.
        """
        return self.store.memory.get_or_make(
            ("revision", self.namespace, commit), lambda: self.load_revision(commit), REVISION_WEIGHT
        )

    def load_revision(self, commit: Oid) -> Revision:
        info = self.store.commit(commit)
        entry = load_entry(self.store, info)
        root = self.store.folder(info.tree)
        return Revision(
            self.namespace,
            layout.records_of(root, self.store.memory, OutlineFiles(self.store.repository.common_dir, self.namespace)),
            commit,
            info.tree,
            read_revision_number(self.store, info),
            entry.time,
            entry.op,
            self._find_fault(root, commit),
        )

    def _find_fault(self, root: layout.TreeFolder, commit: Oid) -> BatonError | None:
        if layout.FORMAT_FILE not in root.entries():
            return NotAllowed(f"the commit has no {layout.FORMAT_FILE}")
        try:
            layout.check_layout(root)
        except BrokenFormat as error:
            return error
        except NewerLayout as error:
            if self.store.tip(self.ref) == commit:
                raise
            where = f"that is in commit {commit[:10]}: name another revision, or {error.hint}"
            raise NewerLayout(error.data["what"], error.data["why"], hint=where) from None
        return None

    def _describe_way_back(self, commit: Oid) -> str:
        """Return what to do about a revision whose `format.toml` cannot be read."""
        if self.store.tip(self.ref) != commit:
            ref = shlex.quote(self.ref)
            return (
                f"that is in commit {commit[:10]}: name another revision, or, if a remote's branch ends there, put it "
                f"back to yours with git push --force REMOTE {ref}"
            )
        name = shlex.quote(one_line(self.namespace.text, 200))
        if find_moved(self.store, self.prefix, self.namespace) is None:
            return "no earlier revision can be read; with git, commit one whose only line is: version = 1"
        return f"to bring the last readable revision back: baton namespace restore {name}"

    def log(self, tip: Oid | None = None) -> Iterator[LogEntry]:
        """Yield the history for display: merges are described, and shared revision numbers are None."""
        return (describe_merge(self.store, entry) for entry in hide_shared_numbers(self.store, self.history(tip)))

    def history(self, tip: Oid | None = None, *, first_parent: bool = False) -> Iterator[LogEntry]:
        """Yield the commit log lazily, newest first."""
        start = tip or self.tip()
        if start is None:
            return
        yield from (load_entry(self.store, info) for info in self.store.log(start, first_parent=first_parent))

    def load_entry(self, commit: Oid) -> LogEntry:
        """Return one commit of the commit log."""
        return load_entry(self.store, self.store.commit(commit))

    def resolve(self, text: str, tip: Oid | None = None) -> Oid:
        """Return the commit that `text` names.

        `text` is a revision number (`7` or `r7`), `~N` (N revisions before the newest), a commit id of at least seven
        digits, or an ISO date or time, which names the newest revision that is not later.

        Raises:
            NotFound: the branch has no such commit.
            Ambiguous: several commits have this number.
            InvalidArgument: `text` has none of these forms.
        """
        tip = tip or self.tip()
        if tip is None:
            raise self.make_missing_error()
        if match := _REVISION.fullmatch(text):
            matches = find_numbered(self.store, tip, int(match[1]))
            if len(matches) > 1:
                raise Ambiguous(
                    "revision", text, [_describe_entry(entry) for entry in matches], hint="name the commit by its id"
                )
            return matches[0].commit if matches else self._refuse_missing(text)
        test = self._test_of(text)
        # `~2` and a time count along our own side; what a merge brought has ids only.
        for number, entry in enumerate(self.history(tip, first_parent=not _COMMIT.fullmatch(text))):
            if test(number, entry):
                return entry.commit
        return self._refuse_missing(text)

    def _refuse_missing(self, text: str) -> NoReturn:
        remedy = self.find_completion()
        rest = f"; older ones are not here: {remedy}" if remedy else ""
        raise NotFound("revision", text, hint=f"to list the revisions: baton log{rest}")

    def find_completion(self) -> str:
        """Return what fetches the older revisions; an empty text if all are here."""
        if self.store.boundary.of(self.ref):
            return "baton sync fetches them"
        tip = self.tip() if self.store.is_shallow else None
        is_cut = tip is not None and any(self.store.is_cut(info.oid) for info in self.store.log(tip))
        return "git fetch --unshallow fetches them" if is_cut else ""

    def _test_of(self, text: str) -> Callable[[int, LogEntry], bool]:
        if match := _BACK.fullmatch(text):
            back = int(match[1] or 1)
            return lambda number, _: number == back
        if _COMMIT.fullmatch(text):
            return lambda _, entry: entry.commit.startswith(text)
        latest = _parse_time(text)
        return lambda _, entry: entry.time <= latest

    def load_shown_entry(self, commit: Oid) -> LogEntry:
        """Return the log entry of a commit for display, as in `log`."""
        entry = describe_merge(self.store, load_entry(self.store, self.store.commit(commit)))
        return entry if self._has_unique_number(commit) else entry._replace(revision=None)

    def name_commit(self, commit: Oid) -> str:
        """Return a readable name of a commit: `revision 7`, or its id if another commit has the same number."""
        number = read_revision_number(self.store, self.store.commit(commit))
        return f"revision {number}" if self._has_unique_number(commit) else f"commit {commit[:10]}"

    def _has_unique_number(self, commit: Oid) -> bool:
        """Return whether a commit's revision number is unique on the branch."""
        number, tip = read_revision_number(self.store, self.store.commit(commit)), self.tip()
        return tip is None or len(find_numbered(self.store, tip, number)) <= 1

    def is_namespace(self, commit: Oid) -> bool:
        """Return whether a commit has baton's layout; the name of its branch does not show that."""
        return layout.FORMAT_FILE in self.store.folder(self.store.commit(commit).tree).entries()


_BACK = re.compile(r"~(\d{0,9})")
_REVISION = re.compile(r"r?(\d{1,9})")
_COMMIT = re.compile(r"[0-9a-f]{7,64}")


def _describe_entry(entry: LogEntry) -> str:
    return f"{entry.commit[:10]} ({one_line(entry.subject, 60)})"


def _parse_time(text: str) -> datetime:
    try:
        return parse_local_time(text, end_of_day=True)
    except ValueError:
        raise InvalidArgument(
            f"{text[:60]!r} does not name a revision",
            hint="give a number, ~N, a commit id of 7 or more digits, or a date or time; for the history of a record: "
            "baton log --record ID",
        ) from None
