"""Branches of one repository, in bytes: read a tip and its tree, put a commit on it, or learn that it moved."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cached_property
from itertools import islice
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Self
from weakref import WeakValueDictionary

from baton_git.core.errors import Busy, Corrupt, StoreError
from baton_git.core.names import Oid
from baton_git.core.progress import Progress, ignore_progress
from baton_git.git.files import durable_files
from baton_git.git.files.ref_locks import Ticket, hold_flock, local_name
from baton_git.git.objects.headers import Header, headers
from baton_git.git.objects.pack_adoption import adopt_pack
from baton_git.git.objects.pack_reader import DAMAGE, Raw
from baton_git.git.objects.pack_writer import KeptPack, encode_pack, write_kept
from baton_git.git.objects.reader import Objects
from baton_git.git.objects.values import BLOB, COMMIT, CommitInfo, decode_commit
from baton_git.git.refs import reflog
from baton_git.git.refs.reflog import ReflogEntry
from baton_git.git.refs.refs import Refs, Swap
from baton_git.git.store import ancestry, history
from baton_git.git.store.checkouts import checked_out_at
from baton_git.git.store.draft import ObjectDraft
from baton_git.git.store.folder import Folder
from baton_git.git.store.group_commit import CommitGroup
from baton_git.git.store.housekeeping import Housekeeping, PackReport
from baton_git.git.store.repository import Repository

_LATELY = 1000
"""How many commits back a commit is looked for that was built on at the moment it was made."""


class Store:
    """The branches of `repository`. Close it, or use it in a `with`.

    What an object id names never changes, so objects that were read are kept in memory, and so is what was worked out
    from them. The threads of a process may share one store, and a server should: then what one of them read is there
    for all, and those that write one ref at the same time are written together (see `line`). Processes each have their
    own; so may threads, which then are to each other like processes.
    `locks.wait` and `locks.stale_after` are the seconds given to a held and to a forgotten `<ref>.lock`.
    `more_objects` are object folders that are read as well: those of a push that waits for its acceptance.
    `objects` reads them all, `ref_files` reads and moves the refs, and `housekeeping` keeps the packs few.
    """

    def __init__(self, repository: Repository, *, more_objects: Sequence[Path] = ()) -> None:
        form = repository.object_format
        self.repository = repository
        self.housekeeping = Housekeeping(repository.common_dir, form, may_remove=not repository.keeps_all_objects)
        self.objects = Objects(repository.common_dir / "objects", form, more_objects)
        self.ref_files = Refs(repository.common_dir, form.hex_length)
        self.locks = self.ref_files.locks
        self.memory = self.objects.memory
        """What was worked out from objects: trees, commits, what callers make of them. A key ends in the id."""
        self.tidied_by: Callable[[], bool] | None = None
        """Asked when packs are due to be merged: whether somebody else sees to that. It takes 40 to 80 ms of a CPU, in
        which a server could do other things."""
        self._lock = Lock()
        self._is_swept = False
        self._lines: WeakValueDictionary[str, CommitGroup[Any]] = WeakValueDictionary()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of all files; the store can still be used and opens them again."""
        self.objects.close()

    def tip(self, ref: str) -> Oid | None:
        """Where `ref` (its full name) stands; None when there is no such ref.

        Raises:
            Corrupt: its value is no object id; the hint has the last good one and the command that puts it back.
            StoreError: it cannot be read.
        """
        return self.ref_files.tip(ref)

    def refs(self, prefix: str) -> dict[str, Oid]:
        """All refs whose full name begins with `prefix`, sorted.

        Raises:
            Corrupt: one of them has no readable value.
        """
        return self.ref_files.below(prefix)

    def ref_folders(self, prefix: str) -> list[str]:
        """The names of the folders of refs right below `prefix` (which ends in a slash), however many refs they hold.

        Raises:
            StoreError: they cannot be listed.
        """
        return self.ref_files.folders(prefix)

    def commit(self, oid: Oid) -> CommitInfo:
        """The commit with this id. Where a shallow clone ends it has no parents, as for git.

        Raises:
            Corrupt: it is missing, damaged, or no commit.
        """
        self.objects.limit.check()
        commit: CommitInfo | None = self.memory.get(("commit", oid))
        if commit is None:
            data = self.objects.read(oid, COMMIT)
            commit = decode_commit(oid, data)
            commit = commit._replace(parents=()) if oid in self._shallow else commit
            self.memory.put(("commit", oid), commit, 2 * len(data))
        return commit

    def raw_commit(self, oid: Oid) -> bytes:
        """The bytes of a commit as git stores it, signature included.

        Raises:
            Corrupt: it is missing, damaged, or no commit.
        """
        return self.objects.read(oid, COMMIT)

    def folder(self, tree: Oid | None) -> Folder:
        """A tree, read when it is looked into; None gives an empty one."""
        return Folder(self.objects, tree)

    def read(self, oid: Oid) -> bytes:
        """The content of a blob, checked against its id.

        Raises:
            Corrupt: it is missing, damaged, or no blob.
        """
        return self.objects.read(oid, BLOB)

    def raw(self, oid: Oid) -> Raw:
        """Type number and content of an object of any kind.

        Raises:
            Corrupt: it is missing or damaged.
        """
        return self.objects.get(oid)

    def is_stored(self, oid: Oid) -> bool:
        """Whether the object is on the disk, by the index of a pack or the name of a file; nothing is read."""
        return self.objects.is_stored(oid)

    def within(self, end: float, what: str) -> AbstractContextManager[None]:
        """Inside, whatever this thread reads raises Rejected once the monotonic clock is past `end`.

        `what` is being done, for the message.
        """
        return self.objects.limit.until(end, what)

    def has(self, oid: Oid) -> bool:
        """Whether the object is here and whole."""
        return self.objects.has(oid)

    def headers(self, folder: Path) -> Iterator[Header]:
        """Kind and size of all objects in one object folder, in which nothing is expanded.

        Raises:
            Corrupt: a pack or a file there is damaged.
        """
        return headers(folder, self.objects.form)

    def draft(self) -> ObjectDraft:
        """A place to make new objects, stored by `publish`."""
        return ObjectDraft(self.objects)

    @contextmanager
    def foreseen(self, draft: ObjectDraft) -> Iterator[None]:
        """Inside, the objects of the draft can be read from the store as if they were there already.

        So one commit can be put on another before both are published at once. Unless they are published by the end,
        nothing that was made of them stays in memory.
        """
        try:
            with self.objects.foreseen(draft.objects):
                yield
        finally:
            if draft.objects and not draft.is_stored:
                lost = draft.objects.keys()
                self.memory.forget(lambda key: key[-1] in lost)

    def line(self, ref: str) -> CommitGroup[Any]:
        """Where the threads that share this store wait for each other before they write `ref`."""
        with self._lock:
            line = self._lines.get(ref)
            if line is None:
                line = self._lines[ref] = CommitGroup()
            return line

    def queue(self, ref: str, wait: float) -> AbstractContextManager[bool | None]:
        """Stands in line before the writers of `ref` for at most `wait` seconds; whether it is our turn.

        None where there can be no line. Nothing depends on it but fairness: `publish` compares in any case. A dead
        process leaves the line at once.
        """
        return hold_flock(f"{self.locks.folder}{os.sep}queue-{local_name(ref)}", wait)

    def publish(
        self,
        draft: ObjectDraft,
        ref: str,
        expected: Oid | None,
        new: Oid,
        entry: ReflogEntry,
        *,
        tidy: bool = True,
    ) -> bool:
        """Stores the draft durably and moves `ref` from `expected` to the commit `new`.

        `expected` None: the ref must not exist. `entry` is for the reflog, which is written where git would write one.
        `tidy`: whether packs are merged then, when it is time; who holds others up does that later.

        Returns:
            True when it moved. False when the ref stands elsewhere; nothing was left behind then, except for objects
            that harm nobody if another process broke into the move itself.

        Raises:
            Busy: the lock of the ref was held by somebody living for longer than `locks.wait`.
            Corrupt: the present value of the ref cannot be read, or `new` or a borrowed blob does not exist.
            WriteFailed: the disk said no; the ref did not move.
        """
        if self.tip(ref) != expected:
            return False
        self._sweep()
        self._check_borrowed(draft, new)
        with durable_files.writing(f"{ref} in {self.repository.common_dir}"):
            line = entry.encode() if self._has_reflog(ref) else None
            with self.ref_files.ticket(new) as ticket:
                pack = self.store_draft(draft, ticket)
                try:
                    swap = self.ref_files.swap(ref, expected, new, line, ticket)
                except BaseException:
                    if pack is not None and not self._stands_at(ref, new):
                        pack.discard()
                    raise
            self._settle(pack, draft, needed=swap is not Swap.ELSEWHERE)
        moved = swap is Swap.MOVED or (swap is Swap.OVERTAKEN and self._is_built_on(ref, new))
        if swap is Swap.MOVED:
            self.ref_files.last_good.note(ref, new)
        if moved and tidy:
            self.tidy()
        return moved

    @contextmanager
    def keeping(self, packs: Iterable[Path]) -> Iterator[None]:
        """Adopts packs (each with an index) that are elsewhere on this disk; inside, refs are moved to what they hold.

        They are durable and kept from git's gc before the `with` begins, and ordinary packs of ours after it.

        Raises:
            Corrupt: an index is damaged.
            WriteFailed: the disk said no.
        """
        kept: list[KeptPack] = []
        with durable_files.writing(f"what was fetched in {self.repository.common_dir}"):
            try:
                kept.extend(adopt_pack(path, self.housekeeping.packs, self.objects.form) for path in packs)
                yield
            finally:  # also after a failure: a ref may lead to it, and nobody is harmed by what nothing needs
                for pack in kept:
                    self.housekeeping.settle(pack)
        self.tidy()

    def move(self, ref: str, new: Oid) -> None:
        """Moves a private ref to `new`, wherever it stood.

        Raises:
            Busy: the lock of the ref was held by somebody living for longer than `locks.wait`.
            Corrupt: its present value cannot be read, or there is no commit `new`.
            WriteFailed: the disk said no.
        """
        self.objects.read_again(new, COMMIT)
        with durable_files.writing(f"{ref} in {self.repository.common_dir}"):
            self._move(ref, new)

    def _move(self, ref: str, new: Oid) -> None:
        while (old := self.tip(ref)) != new:
            with self.ref_files.ticket(new) as ticket:
                if self.ref_files.swap(ref, old, new, None, ticket) is not Swap.ELSEWHERE:
                    return

    def log(self, tip: Oid, *, first_parent: bool = False) -> Iterator[CommitInfo]:
        """The commits behind `tip`, newest first and children before parents; read as they are asked for.

        Raises:
            Corrupt: a commit is missing or damaged.
        """
        return history.first_parents(self.commit, tip) if first_parent else history.all_commits(self.commit, tip)

    def merge_bases(self, a: Oid, b: Oid) -> list[Oid]:
        """All best common ancestors, sorted by id; empty for unrelated histories. Reads little behind them.

        Raises:
            Corrupt: a commit is missing or damaged.
        """
        return ancestry.merge_bases(self.commit, a, b)

    def is_ancestor(self, old: Oid, new: Oid) -> bool:
        """Whether `new` is `old` or was built on it.

        Raises:
            Corrupt: a commit is missing or damaged.
        """
        return ancestry.is_ancestor(self.commit, old, new)

    def only_in(self, tip: Oid, *others: Oid) -> Iterator[CommitInfo]:
        """The commits behind `tip` (itself included) and behind none of the others, in the order of `log`.

        Raises:
            Corrupt: a commit is missing or damaged.
        """
        return ancestry.only_in(self.commit, tip, others)

    def pack(self, *, everything: bool = False, progress: Progress = ignore_progress) -> PackReport:
        """Merges the packs of ours that are due, or (`everything`) all of them with the best deltas.

        Args:
            progress: is told how many objects are packed.

        Raises:
            Busy: another process is packing.
            Corrupt: a pack is damaged; nothing was changed.
            WriteFailed: the disk said no; nothing was changed.
        """
        with durable_files.writing(f"a pack in {self.repository.common_dir}"):
            report = self.housekeeping.pack(everything=everything, progress=progress)
            self.locks.sweep()
        if report is None:
            raise Busy("another process is packing", hint="try again when it is done")
        return report

    def checked_out_at(self, ref: str) -> Path | None:
        """The top of a work tree (main or linked) that has this branch checked out; None when there is none."""
        return checked_out_at(self.repository, ref)

    def _check_borrowed(self, draft: ObjectDraft, new: Oid) -> None:
        """What the draft only points to must exist before a ref leads to it."""
        if new not in draft.objects:
            self.objects.read_again(new, COMMIT)
        for oid in draft.borrowed - draft.objects.keys():
            self.objects.read_again(oid, BLOB)

    def _has_reflog(self, ref: str) -> bool:
        bare = self.repository.work_tree is None
        return reflog.is_kept(self.ref_files.log_file(ref), ref, self._log_setting, bare=bare)

    @cached_property
    def _shallow(self) -> frozenset[str]:
        """The commits whose parents a shallow clone did not fetch; looked up once.

        Raises:
            Corrupt: the file is not text.
            StoreError: it cannot be read.
        """
        file = self.repository.common_dir / "shallow"
        try:
            return frozenset(file.read_text(encoding="ascii").split())
        except FileNotFoundError:
            return frozenset()
        except OSError as error:
            raise StoreError(f"cannot read {file}: {error.strerror}", hint="check that file") from error
        except ValueError as error:
            raise Corrupt(str(file), "is no list of commits", hint="run `git fsck`") from error

    @property
    def is_shallow(self) -> bool:
        """Whether this is a shallow clone, which ends before the first commit does."""
        return bool(self._shallow)

    @cached_property
    def _log_setting(self) -> str | None:
        return self.repository.config().get("core.logAllRefUpdates")

    def store_draft(self, draft: ObjectDraft, ticket: Ticket | None = None) -> KeptPack | None:
        """The draft as a durable pack. The ticket is synced with it: the disk is waited for once."""
        if not draft.objects:
            return None
        body, entries = encode_pack(draft.objects)
        beside = () if ticket is None else (ticket.fd,)
        pack = write_kept(self.housekeeping.packs, [body], entries, self.objects.form, beside)
        if ticket is not None:
            ticket.synced = True
        return pack

    def _stands_at(self, ref: str, new: Oid) -> bool:
        """Whether the ref leads to `new`, or that cannot be told: then its objects must stay."""
        try:
            return self.ref_files.tip(ref) == new
        except StoreError:
            return True

    def _is_built_on(self, ref: str, commit: Oid) -> bool:
        """Whether `ref` came by `commit` lately; False when that cannot be told."""
        with suppress(StoreError):
            tip = self.ref_files.tip(ref)
            return tip is not None and any(info.oid == commit for info in islice(self.log(tip), _LATELY))
        return False

    def _settle(self, pack: KeptPack | None, draft: ObjectDraft, *, needed: bool) -> None:
        """After the swap: gives the pack to git, or takes it back when no ref can ever have led to it."""
        if pack is None:
            return
        if not needed:
            pack.discard()
            return
        if not pack.is_there():  # removed against its .keep, before the ref could protect it
            pack = self.store_draft(draft) or pack
        self.housekeeping.settle(pack)
        draft.is_stored = True
        for oid, raw in draft.objects.items():
            self.objects.add(oid, raw)

    def _sweep(self) -> None:
        """Removes what killed writers left, once for each store that writes: no merge may ever come to do it."""
        if not self._is_swept:
            self._is_swept = True
            self.housekeeping.clear_leftovers()
            self.locks.sweep()

    def tidy(self) -> None:
        """Merges packs when it is time: after a write, and when nobody waits for us any more.

        The write succeeded already, so nothing that goes wrong here may undo that.
        """
        with suppress(StoreError, OSError, *DAMAGE):
            if self.housekeeping.is_due() and not (self.tidied_by is not None and self.tidied_by()):
                self.roll_up()

    def roll_up(self) -> None:
        """Merges the packs that are due, unless somebody else is at it.

        Raises:
            Corrupt: a pack is damaged.
            OSError: the disk said no; nothing was changed.
        """
        self.housekeeping.roll_up()
        self.locks.sweep()
