"""The branch of a namespace: read a revision, commit the next one, walk the history.

`Branch.update` commits a change (see `write_queue`): it reads the tip, computes the next state, stores the objects
durably and moves the ref with a compare-and-swap. If another writer moved the ref first, it starts over.
`Branch.advance` moves the branch to commits that already exist, such as fetched ones and merge commits.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, NoReturn

from baton_git.core import diff, immutable_fields, layout
from baton_git.core.errors import (
    Ambiguous,
    BatonError,
    BranchMoved,
    BrokenFormat,
    Corrupt,
    InvalidArgument,
    InvalidName,
    NewerLayout,
    NotAllowed,
    NotFound,
    Stale,
)
from baton_git.core.lifecycle import waits_for_code
from baton_git.core.names import Namespace, Oid
from baton_git.core.output import is_safe, one_line
from baton_git.core.records.work_items import OpenLoop
from baton_git.core.redaction.changes import is_secret_name, redact_edits, refuse_secret
from baton_git.core.state import State, StateSource
from baton_git.core.times import parse_local_time
from baton_git.git.store import Edit, ObjectDraft, Store
from baton_git.git.store.stored_moves import fan_out_grown
from baton_git.namespace import guard, write_queue
from baton_git.namespace.commit_log import (
    CLIENT,
    VOUCHES,
    LogEntry,
    describe_merge,
    find_numbered,
    hide_shared_numbers,
    load_entry,
    read_revision_number,
)
from baton_git.namespace.last_tip import find_moved, is_revision, read_tip
from baton_git.namespace.local_places import LocalPlaces
from baton_git.namespace.machine_state import GoneNamespaces, HookMarkers
from baton_git.namespace.namespaces import find_fetched, make_missing_error
from baton_git.namespace.other_prefixes import find_other_prefix
from baton_git.namespace.outline_files import OutlineFiles
from baton_git.namespace.provenance.bootstrap import open_ledger
from baton_git.namespace.provenance.ledger import Ledger, RemoteSource
from baton_git.namespace.provenance.origins import record_draft
from baton_git.namespace.revision import (
    Change,
    CommitStamp,
    ProposedState,
    Revision,
    UpdateRequest,
    WriteResult,
)
from baton_git.namespace.write_queue import Prepared

Decider = Literal["caller", "sync"]
"""Who decides about the content of commits to which a branch advances."""

PREFIX = "refs/heads/baton/"
ROOT_AUTHOR = "baton-git <baton-git@localhost>"
ROOT_MESSAGE = "A namespace of baton-git begins\n\nBaton-Op: root\nBaton-Revision: 0\n"
PATIENCE = 10.0
"""Seconds that a write waits for other writers before it raises `Busy`."""


def draft_root(draft: ObjectDraft) -> Oid:
    """Add the root commit to a draft, and return its id: every namespace begins with this commit."""
    tree = draft.tree(None, layout.ROOT_FILES)
    return draft.commit(tree, (), author=ROOT_AUTHOR, time=0, timezone=0, message=ROOT_MESSAGE)


def is_root(store: Store, commit: Oid) -> bool:
    """Return whether a commit is the one with which every namespace begins."""
    return commit == draft_root(store.draft())


@dataclass(frozen=True)
class Branch:
    """The branch of one namespace in one store."""

    store: Store
    namespace: Namespace
    prefix: str = PREFIX
    sign: Callable[[bytes], bytes] | None = None
    """Signs the commits made here. A sync's merge commits stay unsigned: every machine must create the same ones."""
    may_begin: bool = True
    """Whether the first write creates the namespace. If not, it must be created with `create` or fetched."""
    is_named: bool = True
    """Whether the user named the namespace; if not, it is the default for the current folder."""
    fault: BatonError | None = None
    """The error of an invalid setting; every update raises it. None if all settings are valid."""
    places: LocalPlaces | None = None
    """The places of this machine, which updates store in a short form; None stores all paths as they are."""
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

    # --- reading

    def check_name(self) -> None:
        """Check that the name of a new namespace contains no secret: ref names and output would show it.

        Raises:
            InvalidDocument: the namespace does not exist yet, and its name contains a secret.
        """
        name = self.namespace.text
        if is_secret_name(name) and self.store.tip(self.ref) is None:
            refuse_secret("name of the namespace", name)

    def check_chosen_name(self) -> None:
        """Check the name that somebody chose for a new namespace: it is printable, and contains no secret.

        Names that a client of session-baton's interface sends are not checked so strictly: its server accepts any text.

        Raises:
            InvalidName: the namespace does not exist yet, and its name has a line end, a control character or an
                invisible character.
            InvalidDocument: the namespace does not exist yet, and its name contains a secret.
        """
        self.check_name()
        if not is_safe(self.namespace.text) and self.store.tip(self.ref) is None:
            why = "has a line end, a control character or an invisible character"
            raise InvalidName("namespace", self.namespace.text, why, hint="choose a name of printable characters")

    def check_exists(self, *, to_write: bool = False, was_asked: bool = False) -> None:
        """Raise NotFound if the namespace does not exist, unless `to_write` is set and a write would create it.

        Args:
            was_asked: whether the remote has just answered that it lacks the namespace.

        Raises:
            BranchMoved: another program deleted the branch, moved it back or replaced it.
            BatonError: `to_write` is set, and a setting is invalid.
        """
        if to_write:
            self.check_settings()
        with suppress(Corrupt):  # reading it reports the damage
            if self.tip() is None and not (to_write and self._begins):
                raise self._make_missing_error(was_asked=was_asked)

    def check_settings(self) -> None:
        """Raise the error of an invalid setting, if there is one."""
        if self.fault is not None:
            raise self.fault

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
        return self._is_misplaced or find_fetched(self.store, self.prefix, self.namespace) is not None

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
        return not self.exists and not self._is_gone and not self._is_misplaced

    @property
    def _is_gone(self) -> bool:
        return GoneNamespaces(self.store.repository.common_dir).find(self.namespace) is not None

    @property
    def _begins(self) -> bool:
        """Whether a write creates the namespace if it does not exist."""
        return not self._is_misplaced and (self.has_begun or (self.may_begin and not self._is_gone))

    def check_prefix(self) -> None:
        """Raise NotFound if the branch is below another prefix, from before a change of the setting."""
        if self.store.tip(self.ref) is None and self._is_misplaced:
            raise self._make_missing_error()

    @property
    def _is_misplaced(self) -> bool:
        """Whether the branch is below another prefix, from before a change of the setting `baton.refPrefix`."""
        return find_other_prefix(self.store, self.prefix, self.namespace) is not None

    def _make_missing_error(self, *, was_asked: bool = False) -> NotFound:
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
            raise self._make_missing_error()
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
            ("revision", self.namespace, commit), lambda: self._load_revision(commit), write_queue.REVISION_WEIGHT
        )

    def _load_revision(self, commit: Oid) -> Revision:
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
            raise self._make_missing_error()
        if match := _REVISION.fullmatch(text):
            matches = find_numbered(self.store, tip, int(match[1]))
            if len(matches) > 1:
                raise Ambiguous(
                    "revision", text, [_describe_entry(entry) for entry in matches], hint="name the commit by its id"
                )
            return matches[0].commit if matches else self._refuse_missing(text)
        test = self._test_of(text)
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

    def find_sibling(self, ref: str) -> Branch | None:
        """Return the branch of the same store at `ref`; None if `ref` does not name a namespace."""
        try:
            return replace(self, namespace=Namespace.from_component(ref.removeprefix(self.prefix)))
        except InvalidName:
            return None

    # --- writing

    def update(
        self,
        change: Change,
        stamp: CommitStamp,
        *,
        expected_revision: int | None = None,
        patience: float = PATIENCE,
    ) -> WriteResult:
        """Apply `change` to the newest revision and commit the result durably.

        If another writer moved the branch first, `change` is called again with the new tip. If it returns an equal
        state, nothing is written.

        Raises:
            Stale: the newest revision is not `expected_revision`.
            NotFound: the namespace does not exist, and a write may not create it.
            Busy: other writers moved the branch, or held its lock, for `patience` seconds.
            InvalidDocument: an id, or the name of the session, agent or machine, contains a secret. Names cannot be
                redacted.
            NotAllowed: an immutable field would change.
            Protected: only a person may make the change (see `guard`), and the caller of the stamp is none.
            WriteFailed: writing to disk failed; nothing was changed.
            BatonError: a setting is invalid, or `change` raised the error.
        """
        self.check_settings()
        return write_queue.write_update(self, UpdateRequest(change, stamp, expected_revision), patience)

    def preview(self, change: Change) -> WriteResult:
        """Return the result that `update` would have now, without writing. Its `revision` is the current one.

        Raises:
            InvalidDocument, NotAllowed: under the same conditions as `update`.
        """
        return self._evaluate(self.read(), change)[1]

    def claim(self, tip: Oid | None) -> None:
        """Check that a write may start from `tip`. The branch of an HTTP request with If-Match overrides this.

        Raises:
            Stale: the branch may only be written from another tip.
        """

    def advance(
        self,
        draft: ObjectDraft,
        expected: Oid | None,
        new: Oid,
        stamp: CommitStamp,
        *,
        by: Decider,
        source: RemoteSource | None = None,
    ) -> bool:
        """Move the branch to a stored commit or one in `draft`; return False if the tip is not `expected`.

        Args:
            by: who decides about the content: the caller of the stamp, or the policy of a sync that accepted it.
            source: the remote from which the content of the draft's commits came; None if baton created it here.

        Raises:
            Protected: the caller decides, and only a person may make the change (see `guard`).
            Busy, Corrupt, WriteFailed: under the same conditions as `Store.publish`.
        """
        if by == "caller" and expected is not None:
            with self.store.expose(draft):
                guard.refuse_losses(self, self._replaced(expected), self.revision_at(new).state, stamp.caller)
        record_draft(self.ledger, draft, source)
        moved = self.store.publish(draft, self.ref, expected, new, stamp.reflog_entry(), keep=True)
        if moved and expected is None:
            GoneNamespaces(self.store.repository.common_dir).clear(self.namespace)
        if moved:
            before = self._replaced(expected).state if expected is not None else State()
            self.update_markers(before, self.revision_at(new).state)
        return moved

    def _replaced(self, commit: Oid) -> Revision:
        """Return the revision at the tip that another one replaces; an empty one if another program put a commit
        there that is no revision of baton."""
        return self.revision_at(commit) if is_revision(self.store, commit) else Revision(self.namespace, State())

    def update_markers(self, before: State, after: State) -> None:
        """Update the marker files that let hooks skip unchanged namespaces."""
        marks = HookMarkers(self.store.repository.common_dir)
        if marks.synced.has(self.namespace.component):
            marks.unsent.set(self.namespace.component)
        loops = (after.entry(key) for key in before.differing_live(after) if key.kind == OpenLoop.kind)
        if any(isinstance(loop, OpenLoop) and waits_for_code(loop) for loop in loops):
            marks.due.set(self.namespace.component)

    def create(self, stamp: CommitStamp) -> Revision:
        """Create the namespace unless it exists, and return its newest revision.

        The first commit of a namespace is the root commit, which all namespaces share.

        Raises:
            BranchMoved: another program deleted the branch, moved it back or replaced it.
            BatonError: a setting is invalid.
            Busy, Corrupt, WriteFailed: under the same conditions as `Store.publish`.
        """
        self.check_settings()
        if self.tip() is not None:
            return self.read()
        GoneNamespaces(self.store.repository.common_dir).clear(self.namespace)
        draft = self.store.draft()
        root = draft_root(draft)
        self.store.publish(draft, self.ref, None, root, stamp.reflog_entry("init"), keep=True)
        return self.read()

    def predict_revision(self, work: Prepared) -> Revision:
        """Return the revision that reading the branch will give once `work` is published.

        Records decoded from the previous revision are reused.
        """
        source = work.outcome.before.state.source
        return self._predict(work.outcome.revision, source if work.plain else None)

    def predict_side(self, side: Revision) -> Revision:
        """Return the revision that reading `side`, whose state has edits of the revision before, will give."""
        return self._predict(side, side.state.source)

    def _predict(self, prepared: Revision, source: StateSource | None) -> Revision:
        """Return the revision of a prepared commit; `source` is that of the revision before, if only its records were
        edited."""
        assert prepared.commit is not None
        revision = self._load_revision(prepared.commit)
        if not isinstance(source, layout.TreeSource):
            return revision
        root = self.store.folder(revision.tree)
        return revision._replace(state=State(source.make_next(root, prepared.state.edits)))

    def prepare(self, tip: Revision, change: Change, stamp: CommitStamp, expected: int | None) -> Prepared:
        """Compute the commit of a change on top of `tip`, in memory.

        Raises:
            NotFound, Stale, InvalidDocument, NotAllowed, Protected: under the same conditions as `update`.
        """
        if tip.commit is None and not self._begins:
            raise self._make_missing_error()
        if expected is not None and expected != tip.number:
            raise Stale(str(self.namespace), expected, tip.number)
        proposal, outcome = self._evaluate(tip, change)
        files = {**layout.encode(proposal.state.edits), **proposal.files}
        vouches = any(name == VOUCHES for name, _ in proposal.trailers)  # it says something even if it changes no file
        if not outcome.changes and not files and not vouches and proposal.reform is None:
            return Prepared(WriteResult(tip, tip))
        draft = self.store.draft()
        side = self._draft_side(draft, tip, proposal, stamp)
        parents = tuple(one for one in (tip.commit or draft_root(draft), side and side.commit) if one)
        base_revision = max(tip.number, side.number if side is not None else 0)
        base_tree = tip.tree or draft.tree(None, layout.ROOT_FILES)
        tree = fan_out_grown(draft, draft.tree(base_tree, files), files)
        if proposal.reform is not None:
            tree = proposal.reform(draft, tree)
        if tree == tip.tree and proposal.side is None and not vouches:
            return Prepared(WriteResult(tip, tip))
        # files are written byte by byte, so what they do to records is read from the tree
        after = State(layout.TreeSource(draft.folder(tree))) if proposal.files else proposal.state
        guard.refuse_losses(self, tip, after, stamp.caller, proposal.settled)
        summary = diff.commit_subject(list(outcome.changes))
        if proposal.reform is not None and not outcome.changes:
            summary = ""
        subject = ": ".join(filter(None, (proposal.note, summary)))
        commit = self.draft_commit(draft, tree, parents, base_revision + 1, subject, stamp, proposal.trailers)
        record_draft(self.ledger, draft)
        revision = Revision(self.namespace, proposal.state, commit, tree, base_revision + 1, stamp.now, stamp.op)
        return Prepared(
            outcome._replace(revision=revision), draft, plain=not proposal.files and proposal.reform is None, side=side
        )

    def _evaluate(self, tip: Revision, change: Change) -> tuple[ProposedState, WriteResult]:
        """Return the proposal of a change as it is stored, and the result of applying it.

        It has no secrets, and no paths of this machine unless it keeps them. The result's `revision` is still the tip.
        """
        result = change(tip)
        proposal = result if isinstance(result, ProposedState) else ProposedState(result)
        keeps_paths = proposal.keeps_paths or bool(proposal.files)
        load_names = None if self.places is None or keeps_paths else self.places.load_names
        edits, redactions = redact_edits(tip.state, proposal.state, load_names)
        after = State(proposal.state.source, edits)
        immutable_fields.refuse_changes(tip.state, after)
        changes = tuple(diff.diff(tip.state, after))
        files = self._list_changed_files(tip, after, proposal.files)
        return proposal._replace(state=after), WriteResult(
            tip, tip, changes, (*proposal.redactions, *redactions), files=files
        )

    def _list_changed_files(self, tip: Revision, after: State, files: Mapping[str, Edit]) -> tuple[str, ...]:
        """Return the paths of the files without a record that edits change in the tree of `tip`, sorted.

        An edit may change nothing: going back to layout 1 leaves `.gitattributes` as layout 2 needs it.
        """
        edits = {path: edit for path, edit in files.items() if layout.key_at(path) is None}
        if not edits or tip.tree is None:
            return tuple(sorted(edits))
        draft = self.store.draft()
        removed = {layout.path_of(key): None for key, entry in after.edits.items() if entry is None}
        changed = draft.folder(draft.tree(tip.tree, {**removed, **edits}))  # a file can take the place of their folder
        differing = layout.differing_paths(self.store.folder(tip.tree), changed)
        return tuple(sorted(path for path in differing if layout.key_at(path) is None))

    def _draft_side(
        self, draft: ObjectDraft, tip: Revision, proposal: ProposedState, stamp: CommitStamp
    ) -> Revision | None:
        """Add the commit of the proposal's side to the draft, and return its revision; None if it has no side."""
        if proposal.side is None:
            return None
        base, state = proposal.side
        edits, _ = redact_edits(base.state, state)
        tree = draft.tree(base.tree, layout.encode(edits))
        after, number = State(state.source, edits), base.number + 1
        subject = diff.commit_subject(diff.diff(base.state, after))
        onto = (base.commit or tip.commit or draft_root(draft),)
        own = self.draft_commit(draft, tree, onto, number, subject, stamp, proposal.trailers)
        return Revision(self.namespace, after, own, tree, number, stamp.now, stamp.op)

    def draft_commit(
        self,
        draft: ObjectDraft,
        tree: Oid,
        parents: tuple[Oid, ...],
        revision: int,
        subject: str,
        stamp: CommitStamp,
        more_trailers: tuple[tuple[str, str], ...],
    ) -> Oid:
        """Add a commit to the draft, and return its id. Its trailers are those of the stamp and `more_trailers`."""
        trailers = (
            ("Baton-Op", stamp.op if len(parents) == 1 else f"{stamp.op}-merge"),
            ("Baton-Session", stamp.session),
            ("Baton-Agent", stamp.agent),
            ("Baton-Machine", stamp.machine),
            (CLIENT, stamp.client),
            *more_trailers,
            ("Baton-Revision", str(revision)),
        )
        lines = "".join(f"{name}: {one_line(value, 200)}\n" for name, value in trailers if value)
        return draft.commit(
            tree, parents,
            author=stamp.author, time=stamp.seconds, timezone=stamp.timezone, message=f"{subject}\n\n{lines}",
            sign=self.sign,
        )  # fmt: skip


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
