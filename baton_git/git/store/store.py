"""Read and update the refs and objects of one repository, without interpreting file contents."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeVar
from weakref import WeakValueDictionary

from baton_git.core.errors import BatonError, Busy, StoreError
from baton_git.core.names import Oid
from baton_git.core.progress import Progress, ignore_progress
from baton_git.git.files import durable_files
from baton_git.git.files.ref_locks import Ticket, hold_flock, local_name
from baton_git.git.objects.pack_reader import DAMAGE, Raw
from baton_git.git.objects.pack_writer import KeptPack, adopt_pack, encode_pack, write_kept
from baton_git.git.objects.reader import Header, Objects, read_headers
from baton_git.git.objects.values import BLOB, COMMIT, CommitInfo, decode_commit
from baton_git.git.refs import ref_files
from baton_git.git.refs.kept_refs import KeptRefs, OpenKeptRef
from baton_git.git.refs.ref_files import ReflogEntry
from baton_git.git.refs.refs import RefMove, Refs, Swap
from baton_git.git.store import boundary, history
from baton_git.git.store.draft import ObjectDraft, open_view
from baton_git.git.store.folder import Folder
from baton_git.git.store.group_commit import CommitGroup
from baton_git.git.store.housekeeping import Housekeeping, PackReport
from baton_git.git.store.repository import Repository, find_checkout

Value = TypeVar("Value")

_MAX_SEARCHED = 1000
"""Maximum number of commits that `_is_built_on` reads."""


class Publication(NamedTuple):
    """The arguments of one call of `Store.publish`."""

    draft: ObjectDraft
    ref: str
    expected: Oid | None
    new: Oid
    entry: ReflogEntry


class Store:
    """Refs and objects of `repository`. Use it as a context manager, or call `close`.

    Objects are immutable, so objects and values derived from them are cached in memory. Threads of one process can
    share a store, and servers should: the threads share the cache, and concurrent writes to one ref are committed as a
    group (see `commit_group`). Threads with separate stores are isolated from each other like processes.

    `locks.wait` is the longest wait for a held `<ref>.lock`, `locks.stale_after` the age at which a lock without a
    known owner is removed, both in seconds. `more_objects` are additional object folders to read from, such as the
    quarantine of a push, and `boundary_there` is the boundary of the history with these objects. `environment` has the
    variables with which git is started to list fetched objects; without a PATH, git is looked for in the usual places.
    `objects` reads objects, `ref_files` reads and moves refs, and `housekeeping` merges packs.
    """

    def __init__(
        self,
        repository: Repository,
        *,
        more_objects: Sequence[Path] = (),
        boundary_there: boundary.Boundary | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        form = repository.object_format
        self.repository = repository
        self.environment: Mapping[str, str] = {} if environment is None else environment
        self.housekeeping = Housekeeping(repository, form)
        self.objects = Objects(repository.common_dir / "objects", form, more_objects)
        self.ref_files = Refs(repository.common_dir, form.hex_length)
        self.kept_refs = KeptRefs(self.ref_files)
        self.locks = self.ref_files.locks
        self.memory = self.objects.memory
        """Cache of values derived from objects, such as decoded trees and commits. The last item of a key is the id."""
        self.tidied_by: Callable[[], bool] | None = None
        """Called when packs are due to be merged; returns True if it takes over the merge. Servers use this to merge
        outside of a request, because a merge takes 40 to 80 ms of CPU time."""
        self._lock = Lock()
        self._is_swept = False
        self._boundary_there = boundary_there
        self._boundary = boundary.Boundary()
        self._boundary_read: boundary.Signature | None = None
        self._groups: WeakValueDictionary[str, CommitGroup[Any]] = WeakValueDictionary()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all open files. The store stays usable and reopens them on demand."""
        self.objects.close()

    def tip(self, ref: str) -> Oid | None:
        """Return the commit that `ref` (a full ref name) points to, or None if the ref does not exist.

        Raises:
            Corrupt: the value is not an object id; the hint has the last good value and the command to restore it.
            StoreError: the ref cannot be read.
        """
        self._notice_boundary()
        return self.ref_files.tip(ref)

    def refs(self, prefix: str) -> dict[str, Oid]:
        """Return all refs whose full name begins with `prefix`, sorted by name.

        Raises:
            Corrupt: the value of one of the refs is not an object id.
        """
        return self.ref_files.below(prefix)

    def ref_folders(self, prefix: str) -> list[str]:
        """Return the names of the ref folders directly below `prefix`, which must end in a slash.

        Raises:
            StoreError: the folders cannot be listed.
        """
        return self.ref_files.folders(prefix)

    def commit(self, oid: Oid) -> CommitInfo:
        """Return a commit. At the boundary of an incomplete history a commit has no parents, as in git.

        Raises:
            Corrupt: the object is missing, damaged, or not a commit.
        """
        self.objects.limit.check()
        commit: CommitInfo | None = self.memory.get(("commit", oid))
        if commit is None:
            data = self.objects.read(oid, COMMIT)
            commit = decode_commit(oid, data)
            if self.boundary.has(oid):
                commit = commit._replace(parents=())
            self.memory.put(("commit", oid), commit, 2 * len(data))
        return commit

    def is_cut(self, oid: Oid) -> bool:
        """Return whether a commit only seems to be the first one, because the boundary of the history is at it.

        Raises:
            Corrupt: the object is missing, damaged, or not a commit.
        """
        return self.boundary.has(oid) and bool(decode_commit(oid, self.raw_commit(oid)).parents)

    def raw_commit(self, oid: Oid) -> bytes:
        """Return the bytes of a commit object, including its signature.

        Raises:
            Corrupt: the object is missing, damaged, or not a commit.
        """
        return self.objects.read(oid, COMMIT)

    def folder(self, tree: Oid | None) -> Folder:
        """Return a tree as a lazily read folder; None stands for the empty tree.

        In the tree of a namespace, folders of records read as in layout 1; `Folder.stored` has the stored entries.
        """
        return Folder(self.objects, tree, open_view=open_view)

    def read(self, oid: Oid) -> bytes:
        """Return the content of a blob, verified against its id.

        Raises:
            Corrupt: the object is missing, damaged, or not a blob.
        """
        return self.objects.read(oid, BLOB)

    def raw(self, oid: Oid) -> Raw:
        """Return the type number and content of an object of any type.

        Raises:
            Corrupt: the object is missing or damaged.
        """
        return self.objects.get(oid)

    def is_stored(self, oid: Oid) -> bool:
        """Return whether a pack index or a loose file has the object, without reading its content."""
        return self.objects.is_stored(oid)

    def limit_reads(self, end: float, what: str) -> AbstractContextManager[None]:
        """Limit the time for reads of this thread inside the `with` block.

        After `end` (monotonic clock), a read raises Rejected. `what` names the limited work in the error message.
        """
        return self.objects.limit.until(end, what)

    def limit_fetches(self, seconds: float) -> None:
        """Limit the time for fetching objects that a partial clone left out, if this store may fetch them at all."""
        if self.objects.supplier is not None:
            self.objects.supplier.limit(seconds)

    def has(self, oid: Oid) -> bool:
        """Return whether the object exists and is undamaged."""
        return self.objects.has(oid)

    def headers(self, folder: Path, seconds: float) -> list[Header]:
        """List type and size of all objects in an object folder, without decompressing the contents.

        Raises:
            Corrupt: a pack or a loose object there is damaged.
            StoreError: git cannot be started, or did not finish within `seconds`.
        """
        return read_headers(self.repository.common_dir, folder, self.environment, seconds)

    def draft(self) -> ObjectDraft:
        """Return an empty draft for new objects, which `publish` stores."""
        return ObjectDraft(self.objects)

    @contextmanager
    def expose(self, draft: ObjectDraft) -> Iterator[None]:
        """Make the objects of an unpublished draft readable through the store, inside the `with` block.

        This allows several commits to be built on each other and published together. If the draft is not published by
        the end of the block, values derived from its objects are removed from the cache.
        """
        try:
            with self.objects.expose(draft.objects):
                yield
        finally:
            if draft.objects and not draft.is_stored:
                lost = draft.objects.keys()
                self.memory.forget(lambda key: key[-1] in lost)

    def commit_group(self, ref: str) -> CommitGroup[Any]:
        """Return the group commit queue for `ref`, shared by all threads that use this store."""
        with self._lock:
            group = self._groups.get(ref)
            if group is None:
                group = self._groups[ref] = CommitGroup()
            return group

    def queue(self, ref: str, wait: float) -> AbstractContextManager[bool | None]:
        """Join the queue of the processes that write `ref`; wait at most `wait` seconds.

        The context value is True once it is this process's turn, False after the timeout, and None if file locks are
        not supported. The queue only provides fairness; `publish` compares the ref's value in any case. The lock of a
        process that dies is released immediately.
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
        keep: bool = False,
        tidy: bool = True,
    ) -> bool:
        """Store the draft durably and move `ref` from `expected` to the commit `new`.

        If `expected` is None, the ref must not exist. `entry` is written to the reflog under the same conditions as in
        git. `keep` also sets the kept ref, before anything is reported (see `kept_refs`). `tidy` allows merging packs
        afterwards if they are due; a caller that holds up others passes False and calls `tidy` later.

        Returns:
            True if the ref moved, False if it had a value other than `expected`. After False, nothing was stored,
            except for unreachable objects if another process interfered while the ref was being moved.

        Raises:
            Busy: a running process held the lock of the ref for longer than `locks.wait`.
            Corrupt: the current value of the ref cannot be read, or an object does not exist: `new`, or a blob that the
                draft refers to but does not contain.
            WriteFailed: writing to disk failed. The ref did not move, unless the message says that it moved, and only
                the sync of its folder or the kept ref failed.
        """
        [result] = self._publish([Publication(draft, ref, expected, new, entry)], keep=keep)
        if isinstance(result, Exception):
            raise result
        if result and tidy:
            self.tidy()
        return result

    def publish_together(self, publications: Sequence[Publication]) -> list[bool | BatonError]:
        """Publish drafts to different refs like `publish` with `keep`, and return the result or the error of each.

        They share one pack, its syncs, and the sync of the folder of the refs. Each ref moves on its own, so one that
        cannot be moved does not hold up the others; its objects are then unreachable. The caller calls `tidy` later.
        """
        return self._publish(publications, keep=True)

    def _publish(self, publications: Sequence[Publication], *, keep: bool) -> list[bool | BatonError]:
        results: dict[int, bool | BatonError] = {}
        with ExitStack() as stack:
            moves: dict[int, RefMove] = {}
            for number, one in enumerate(publications):
                prepared = _attempt(partial(self._prepare_move, stack, one, keep=keep))
                if isinstance(prepared, RefMove):
                    moves[number] = prepared
                else:
                    results[number] = prepared or False
            if moves:
                chosen = [publications[number] for number in moves]
                results |= zip(moves, self._store_and_move(chosen, [*moves.values()], keep=keep), strict=True)
        return [results[number] for number in range(len(publications))]

    def _prepare_move(self, stack: ExitStack, publication: Publication, *, keep: bool) -> RefMove | None:
        """Check a draft, and create the ticket of its ref; return None if the ref does not have the expected value."""
        draft, ref, expected, new, entry = publication
        if self.tip(ref) != expected:
            return None
        self._sweep()
        self._check_borrowed(draft, new)
        with self._writing(ref):
            line = entry.encode() if self._has_reflog(ref) else None
            ticket = stack.enter_context(self.ref_files.ticket(new))
            kept = stack.enter_context(self.kept_refs.open(ref, expected)) if keep else None
        if kept is not None:
            ticket.on_move = partial(self._note_move, kept, ref, new)
        return RefMove(ref, expected, new, line, ticket)

    def _store_and_move(
        self, publications: Sequence[Publication], moves: Sequence[RefMove], *, keep: bool
    ) -> list[bool | BatonError]:
        """Store the drafts as one pack, and move their refs."""
        draft = publications[0].draft if len(publications) == 1 else self.draft()
        for one in publications if len(publications) > 1 else ():
            draft.take_over(one.draft)
        pack = _attempt(partial(self._store, draft, moves))
        if isinstance(pack, Exception):
            return [pack] * len(moves)
        try:
            swaps = self.ref_files.swap_together(moves)
        except BaseException:
            if pack is not None and not any(self._points_to(move.ref, move.new) for move in moves):
                pack.discard()
            raise
        needed = [
            one
            for one, swap in zip(publications, swaps, strict=True)
            if (self._points_to(one.ref, one.new) if isinstance(swap, Exception) else swap is not Swap.ELSEWHERE)
        ]
        results = [_attempt(partial(self._judge, *pair, keep=keep)) for pair in zip(moves, swaps, strict=True)]
        failure = _attempt(partial(self._settle, pack, draft, [one.draft for one in needed]))
        return [failure] * len(moves) if failure is not None else results

    def _store(self, draft: ObjectDraft, moves: Sequence[RefMove]) -> KeptPack | None:
        with self._writing(moves[0].ref):
            return self.store_draft(draft, [move.ticket for move in moves])

    def _judge(self, move: RefMove, swap: Swap | Exception, *, keep: bool) -> bool:
        """Return whether the ref was moved, and set its kept ref and its note if another process moved it on.

        Raises:
            BatonError: moving it failed.
        """
        with self._writing(move.ref):
            if isinstance(swap, Exception):
                raise swap
            if swap is Swap.MOVED and not keep:
                self.ref_files.last_good.note(move.ref, move.new)
            if keep and swap is Swap.OVERTAKEN:  # the kept ref may have been set after that of the newer write
                self.kept_refs.follow(move.ref)
                self.ref_files.last_good.note(move.ref, self.tip(move.ref) or move.new)
            return swap is Swap.MOVED or (swap is Swap.OVERTAKEN and self._is_built_on(move.ref, move.new))

    def _writing(self, ref: str) -> AbstractContextManager[None]:
        return durable_files.writing(f"{ref} in {self.repository.common_dir}")

    @contextmanager
    def adopt_packs(self, packs: Iterable[Path]) -> Iterator[None]:
        """Move packs (each with an index) from elsewhere on this disk into the repository.

        Inside the `with` block the packs are durable and protected from git's gc, so that refs can be moved to their
        commits. Afterwards they are ordinary packs, and housekeeping may merge them.

        Raises:
            Corrupt: an index is damaged.
            WriteFailed: writing to disk failed.
        """
        kept: list[KeptPack] = []
        with durable_files.writing(f"the fetched objects in {self.repository.common_dir}"):
            try:
                kept.extend(adopt_pack(path, self.housekeeping.packs, self.objects.form) for path in packs)
                yield
            finally:  # also after a failure: a ref may already point into a pack, and an unused pack does no harm
                for pack in kept:
                    self.housekeeping.settle(pack)
        self.tidy()

    def _note_move(self, kept: OpenKeptRef, ref: str, new: Oid) -> None:
        """Set the kept ref, and the note that older versions write too, before it is checked whether `ref` moved on."""
        kept.write(new)
        self.ref_files.last_good.note(ref, new)

    def move(self, ref: str, new: Oid) -> None:
        """Move a private ref to `new`, whatever its current value is.

        Raises:
            Busy: a running process held the lock of the ref for longer than `locks.wait`.
            Corrupt: the current value cannot be read, or the commit `new` does not exist.
            WriteFailed: writing to disk failed.
        """
        self.objects.read_again(new, COMMIT)
        with self._writing(ref):
            while (old := self.tip(ref)) != new:
                with self.ref_files.ticket(new) as ticket:
                    if self.ref_files.swap(ref, old, new, None, ticket) is not Swap.ELSEWHERE:
                        return

    def log(self, tip: Oid, *more: Oid, first_parent: bool = False) -> Iterator[CommitInfo]:
        """Yield the commits reachable from `tip` or one of `more`, newest first, children before parents; read lazily.

        Raises:
            Corrupt: a commit is missing or damaged.
        """
        return history.first_parents(self.commit, tip) if first_parent else history.all_commits(self.commit, tip, *more)

    def merge_bases(self, a: Oid, b: Oid) -> list[Oid]:
        """Return all merge bases, sorted by id; empty for unrelated histories. Reads few commits older than them.

        Raises:
            Corrupt: a commit is missing or damaged.
        """
        # Several steps of a sync ask the same, and each walk over 30,000 commits takes half a second.
        return [*self.memory.get_or_make(("bases", a, b), lambda: tuple(history.merge_bases(self.commit, a, b)), 0)]

    def is_ancestor(self, old: Oid, new: Oid) -> bool:
        """Return whether `old` is `new` or one of its ancestors.

        Raises:
            Corrupt: a commit is missing or damaged.
        """
        bases = self.memory.get(("bases", old, new)) or self.memory.get(("bases", new, old))
        if bases is not None:
            return old in bases
        return self.memory.get_or_make(("ancestor", old, new), lambda: history.is_ancestor(self.commit, old, new), 0)

    def only_in(self, tip: Oid, *others: Oid) -> Iterator[CommitInfo]:
        """Yield the commits reachable from `tip` but from none of `others`, in the order of `log`.

        Raises:
            Corrupt: a commit is missing or damaged.
        """
        return history.only_in(self.commit, tip, others)

    def pack(self, *, everything: bool = False, progress: Progress = ignore_progress) -> PackReport:
        """Merge the packs written by baton that are due, or (`everything`) all of them, with recomputed deltas.

        Args:
            progress: receives the number of packed objects, and the total.

        Raises:
            Busy: another process is packing.
            Corrupt: a pack is damaged. Its files are kept, and later calls merge the other packs without it.
            WriteFailed: writing to disk failed; no pack of the failed step was removed.
        """
        with durable_files.writing(f"a pack in {self.repository.common_dir}"):
            report = self.housekeeping.pack(everything=everything, progress=progress)
            self.locks.sweep()
        if report is None:
            raise Busy("another process is packing", hint="try again when it is done")
        return report

    def find_checkout(self, ref: str) -> Path | None:
        """Return the top folder of a work tree (main or linked) that has this branch checked out, or None."""
        return find_checkout(self.repository, ref)

    def _check_borrowed(self, draft: ObjectDraft, new: Oid) -> None:
        """Raise Corrupt if an object that the draft refers to but does not contain is missing."""
        if new not in draft.objects:
            self.objects.read_again(new, COMMIT)
        for oid in draft.borrowed - draft.objects.keys():
            self.objects.read_again(oid, BLOB)

    def _has_reflog(self, ref: str) -> bool:
        bare = self.repository.work_tree is None
        return ref_files.is_logged(self.ref_files.log_file(ref), ref, self._log_setting, bare=bare)

    @property
    def boundary(self) -> boundary.Boundary:
        """The boundary of the history: that of a shallow clone, and baton's own.

        It is read again by `tip` if it has changed since.

        Raises:
            Corrupt: the `shallow` file is not text.
            StoreError: a file cannot be read.
        """
        if self._boundary_there is not None:
            return self._boundary_there
        if self._boundary_read is None:
            self._boundary_read = boundary.sign(self.repository.common_dir)
            self._boundary = boundary.read(self.repository.common_dir)
        return self._boundary

    def _notice_boundary(self) -> None:
        """Forget what was derived from the history if its boundary has changed."""
        if self._boundary_read is not None and self._boundary_read != boundary.sign(self.repository.common_dir):
            self._boundary_read = None
            self.memory.forget(lambda _: True)

    def change_boundary(
        self, ref: str, *, missing: Collection[Oid] = (), unread: Collection[Oid] = (), gone: Collection[Oid] = ()
    ) -> None:
        """Add commits to the boundary of a branch and remove others; see `boundary.change`.

        Raises:
            Busy, WriteFailed: under the same conditions as `boundary.change`.
        """
        boundary.change(self.repository.common_dir, ref, missing=missing, unread=unread, gone=gone)
        self._notice_boundary()

    @property
    def is_shallow(self) -> bool:
        """Whether the repository is a shallow clone of the user's. Baton's own boundary does not count."""
        return self.boundary.is_shallow

    @cached_property
    def _log_setting(self) -> str | None:
        return self.repository.config().get("core.logAllRefUpdates")

    def store_draft(self, draft: ObjectDraft, tickets: Sequence[Ticket] = ()) -> KeptPack | None:
        """Write the draft as a durable pack, and sync the tickets together with it, which is faster than separately.

        Returns:
            The pack, with its `.keep` file, or None if the draft is empty.

        Raises:
            OSError: writing to disk failed; the incomplete files were removed.
        """
        if not draft.objects:
            return None
        body, entries = encode_pack(draft.objects)
        fds = [ticket.fd for ticket in tickets]
        pack = write_kept(self.housekeeping.packs, [body], entries, self.objects.form, fds)
        for ticket in tickets:
            ticket.synced = True
        return pack

    def _points_to(self, ref: str, new: Oid) -> bool:
        """Return whether the ref points to `new`; True if the ref cannot be read, to keep the objects of `new`."""
        try:
            return self.ref_files.tip(ref) == new
        except StoreError:
            return True

    def _is_built_on(self, ref: str, commit: Oid) -> bool:
        """Return whether `commit` is among the newest commits of `ref`; False if they cannot be read."""
        with suppress(StoreError):
            tip = self.ref_files.tip(ref)
            return tip is not None and any(info.oid == commit for info in islice(self.log(tip), _MAX_SEARCHED))
        return False

    def _settle(self, pack: KeptPack | None, draft: ObjectDraft, needed: Sequence[ObjectDraft]) -> None:
        """Release the pack of `draft` to git after the refs moved, or delete it if no ref can have pointed into it.

        `needed` has the drafts, of those in the pack, whose objects a ref may have pointed to.
        """
        if pack is None:
            return
        if not needed:
            pack.discard()
            return
        with durable_files.writing(f"a pack in {self.repository.common_dir}"):
            if not pack.exists():  # deleted in spite of its .keep, before a ref could protect it
                pack = self.store_draft(draft) or pack
            self.housekeeping.settle(pack)
        for stored in needed:
            stored.is_stored = True
            for oid, raw in stored.objects.items():
                self.objects.add(oid, raw)

    def _sweep(self) -> None:
        """Remove the leftovers of killed writers before the first write. Merges of packs do this too, but are rare."""
        if not self._is_swept:
            self._is_swept = True
            self.housekeeping.clear_leftovers()
            self.housekeeping.hold_packs()
            self.locks.sweep()

    def tidy(self) -> None:
        """Merge packs if they are due. Call it after a write, when no other thread is waiting.

        Errors are ignored, because the write itself has already succeeded.
        """
        with suppress(StoreError, OSError, *DAMAGE):
            if self.housekeeping.is_due() and not (self.tidied_by is not None and self.tidied_by()):
                self.roll_up()

    def roll_up(self) -> None:
        """Merge the packs that are due, unless another process is doing so.

        Raises:
            Corrupt: a pack is damaged.
            OSError: writing to disk failed; no pack of the failed step was removed.
        """
        self.housekeeping.roll_up()
        self.locks.sweep()


def _attempt(work: Callable[[], Value]) -> Value | BatonError:
    """Return the result of `work`, or its error, which concerns one of several refs only."""
    try:
        return work()
    except BatonError as error:
        return error
