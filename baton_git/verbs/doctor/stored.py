"""Checks of the store: refs, the objects behind them, and packs."""

from __future__ import annotations

import shlex
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from baton_git.core.errors import BatonError, Corrupt, InvalidName, StoreError
from baton_git.core.names import Namespace, Oid
from baton_git.core.output import count_noun, one_line
from baton_git.git.files import durable_files
from baton_git.git.refs.kept_refs import KEPT
from baton_git.git.refs.ref_files import packed_below
from baton_git.git.store import Folder, Store
from baton_git.namespace.branch import Branch
from baton_git.namespace.caller import ChangeCaller, Vouching
from baton_git.namespace.history import ROOT_AUTHOR
from baton_git.namespace.ingest.budget import SYNC
from baton_git.namespace.ingest.fetch import fetch_and_check
from baton_git.namespace.last_tip import BACKUP, MovedBranch, describe_move, describe_return, find_moved, list_moved
from baton_git.namespace.moving import restore_branch
from baton_git.namespace.namespaces import MOVE, list_misplaced
from baton_git.namespace.revision import CommitStamp
from baton_git.namespace.sync.tracking_refs import INCOMING, REMOTES, list_known_remotes, tracking_refs_of
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.doctor.examination import Diagnostic, Examination, Repair, ok

NAMED = 5
"""Maximum number of objects or commits that are named; the others are only counted."""
MANY_PACKS = 200
REFETCH_SECONDS = 120.0


# --- refs


def check_refs(examination: Examination) -> Iterator[Diagnostic]:
    """Find refs whose value cannot be read, baton's branches that another program moved or deleted, and those that a
    work tree has checked out."""
    store = examination.required_store
    names = _list_refs(examination)
    broken = [finding for ref in names if (finding := _check_ref(store, ref)) is not None]
    yield from broken
    moved = list_moved(store, examination.prefix)
    if examination.machine is None:
        moved = [branch for branch in moved if branch.namespace == examination.ws.branch.namespace]
    yield from (_describe_moved(examination, branch) for branch in moved)
    heads = [ref for ref in names if ref.startswith(examination.prefix)]
    for ref in heads:
        work_tree = store.find_checkout(ref)
        if work_tree is not None:
            yield Diagnostic(
                "warning", f"{ref} is checked out in {work_tree}",
                "git shows new revisions as reverted there, and a commit made there would revert them",
                "switch that work tree to another branch",
            )  # fmt: skip
    yield from _describe_misplaced(examination)
    if not broken and not moved:
        yield ok(f"{count_noun(len(heads), 'namespace')}, {count_noun(len(names) - len(heads), 'private ref')}")


def _describe_misplaced(examination: Examination) -> Iterator[Diagnostic]:
    """Report branches below another prefix than that of the settings, which no command reads."""
    by_prefix: dict[str, list[str]] = {}
    for other, namespace in list_misplaced(examination.required_store, examination.prefix):
        by_prefix.setdefault(other, []).append(str(namespace))
    for other, names in by_prefix.items():
        if examination.machine is None:  # other namespaces are not shown
            names = [name for name in names if name == str(examination.ws.branch.namespace)]
        if names:
            shown = one_line(", ".join(names[:NAMED]), 300)
            yield Diagnostic(
                "warning", f"{count_noun(len(names), 'branch', 'branches')} under {other}: {shown}",
                f"baton.refPrefix is {examination.prefix}, so no command reads them", MOVE,
            )  # fmt: skip


def _list_refs(examination: Examination) -> list[str]:
    """Return all refs of baton, readable or not; only those of the namespace if the machine is not examined."""
    common_dir = examination.common_dir
    names: set[str] = set()
    for prefix in (examination.prefix, KEPT, INCOMING, REMOTES, BACKUP):
        names.update(ref for ref, _ in packed_below(examination.required_store.ref_files.packed, prefix))
        files = (path for path in (common_dir / prefix).rglob("*") if path.is_file() and path.suffix != ".lock")
        names.update(path.relative_to(common_dir).as_posix() for path in files)
    if examination.machine is None:
        names = {ref for ref in names if examination.ws.branch.namespace.component in ref.split("/")}
    return sorted(names)


def _check_ref(store: Store, ref: str) -> Diagnostic | None:
    """Return the problem of a ref, or None. Whether its objects exist is checked elsewhere (`check_objects`)."""
    try:
        tip = store.tip(ref)
        if tip is None or not store.is_stored(tip) or store.raw_commit(tip):
            return None
    except StoreError as error:
        return Diagnostic(
            "error", str(error), "a crash or a full disk truncated the file, or another program wrote to it",
            error.hint, _make_ref_repair(store, ref),
        )  # fmt: skip
    return None


def _describe_moved(examination: Examination, moved: MovedBranch) -> Diagnostic:
    store, prefix = examination.required_store, examination.prefix
    branch = Branch(store, moved.namespace, prefix)
    stamp = _make_stamp(examination)
    repair = Repair(
        f"Put the branch of {moved.namespace} back to {moved.known[:10]}, its last known revision",
        partial(_restore_moved, branch, stamp),
    )
    return Diagnostic(
        "error", describe_move(store, moved), "git branch -D, git reset, a refspec or a clean-up script can do that",
        "" if store.is_stored(moved.known) else _describe_loss(moved),
        repair if store.is_stored(moved.known) else None,
    )  # fmt: skip


def _describe_loss(moved: MovedBranch) -> str:
    name = shlex.quote(one_line(moved.namespace.text, 200))
    return f"{describe_return(moved.namespace)}; if no clone has them: baton namespace delete {name}"


def _make_stamp(examination: Examination) -> CommitStamp:
    if isinstance(examination.opened, Workspace):
        return examination.opened.stamp("doctor", examination.now)
    return CommitStamp("doctor", examination.now, ROOT_AUTHOR, ChangeCaller(None, Vouching()))


def _restore_moved(branch: Branch, stamp: CommitStamp) -> str | None:
    moved = find_moved(branch.store, branch.prefix, branch.namespace)
    backup = restore_branch(branch, moved, stamp) if moved is not None else None  # None: it was repaired meanwhile
    return f"the branch as it was: {backup}" if backup is not None else None


def _make_ref_repair(store: Store, ref: str) -> Repair | None:
    """Return the repair that resets the ref to its last good value; None if that is unknown, or its commit is gone."""
    known = store.ref_files.last_known(ref)
    if ref.startswith(KEPT):  # it had the tip of its branch, or an older one
        known = _read_tip(store, f"refs/{ref.removeprefix(KEPT)}") or known
    if known is None or not store.has(known):
        return None
    path = store.repository.common_dir / ref

    def run() -> None:
        refs = store.ref_files
        with durable_files.writing(str(path)), refs.ticket(known) as ticket, refs.locks.hold(str(path), ticket) as lock:
            if _check_ref(store, ref) is not None:  # nobody has repaired it meanwhile
                lock.commit()

    return Repair(f"Put {ref} back to {known[:10]}, its last good value", run)


# --- objects


class Missing(NamedTuple):
    """A missing or damaged object.

    Attributes:
        where: the path of the file or folder, or for a commit `commit` and its short id.
    """

    oid: Oid
    where: str


def check_objects(examination: Examination) -> Iterator[Diagnostic]:
    """Find missing or damaged objects of the namespaces.

    The files of the newest revision are read. For older revisions, git checks that all objects exist, which takes a
    tenth of the time of baton's own reader. Baton's reader runs only if objects are missing or git fails, to find out
    which objects are missing.
    """
    store = examination.required_store
    end = time.monotonic() + examination.seconds
    for ref in _list_refs(examination):
        tip = _read_tip(store, ref) if ref.startswith(examination.prefix) else None
        if tip is None:
            continue
        walk = _Walk(store, tip, end)
        missing = walk.check_tip()
        number = None if missing else _count_objects(examination, tip)
        missing = missing if number is not None else walk.check_history()
        if missing:
            yield _describe_missing(examination, ref, missing)
        elif number is not None:
            yield ok(f"{ref}: {count_noun(number, 'object')}, none missing")
        else:
            newest = "the newest " if walk.is_cut else ""
            yield ok(f"{ref}: {newest}{count_noun(walk.commits, 'revision')}, all complete")


def _read_tip(store: Store, ref: str) -> Oid | None:
    try:
        return store.tip(ref)
    except StoreError:  # the check of the refs reports it
        return None


def _count_objects(examination: Examination, tip: Oid) -> int | None:
    """Return the number of objects reachable from a commit; None if git misses one or fails."""
    words = ("--no-replace-objects", "rev-list", "--objects", "--no-object-names", "--missing=print", tip)
    try:
        printed = examination.git.ask(*words)
    except StoreError:
        return None
    return None if printed is None or "?" in printed else printed.count("\n") + 1


class _Walk:
    """A walk over everything reachable from a commit, newest first, with a time limit."""

    def __init__(self, store: Store, tip: Oid, end: float) -> None:
        self._store, self._tip, self._end = store, tip, end
        self._seen: set[Oid] = set()
        self.commits = 0
        self.is_cut = False

    def check_tip(self) -> list[Missing]:
        """Read the files of the newest revision; return the objects that cannot be read."""
        try:
            tree = self._store.commit(self._tip).tree
        except Corrupt:
            return [Missing(self._tip, f"commit {self._tip[:10]}")]
        return list(self._below(self._store.folder(tree).stored(), "", tree, is_intact=self._store.has))

    def check_history(self) -> list[Missing]:
        """Check that all older objects exist, as far as the time allows; return everything that is missing."""
        self._seen.clear()
        missing = self.check_tip()
        waiting, seen = deque([self._tip]), {self._tip}
        while waiting and not self.is_cut:
            oid = waiting.popleft()
            self.is_cut = time.monotonic() > self._end
            try:
                info = self._store.commit(oid)
            except Corrupt:
                missing += [Missing(oid, f"commit {oid[:10]}")] if oid != self._tip else []
                continue
            root = self._store.folder(info.tree).stored()
            missing += self._below(root, "", info.tree, is_intact=self._store.is_stored)
            waiting += [parent for parent in info.parents if parent not in seen]
            seen.update(info.parents)
            self.commits += 1
        return missing

    def _below(self, folder: Folder, path: str, tree: Oid, *, is_intact: Callable[[Oid], bool]) -> Iterator[Missing]:
        """Yield the files below a folder for which `is_intact` returns False, and the unreadable folders.

        Objects that were visited before are skipped.
        """
        if tree in self._seen:
            return
        self._seen.add(tree)
        try:
            entries = folder.entries()
        except Corrupt:
            yield Missing(tree, path or "the top folder")
            return
        for name, entry in entries.items():
            if entry.is_folder:
                yield from self._below(folder.folder(name), f"{path}{name}/", entry.oid, is_intact=is_intact)
            elif entry.oid not in self._seen:
                self._seen.add(entry.oid)
                if not is_intact(entry.oid):
                    yield Missing(entry.oid, f"{path}{name}")


def _describe_missing(examination: Examination, ref: str, missing: list[Missing]) -> Diagnostic:
    store = examination.required_store
    shown = ", ".join(f"{item.where} ({item.oid[:10]})" for item in missing[:NAMED])
    more = f", and {len(missing) - NAMED} more" if len(missing) > NAMED else ""
    branch = branch_of(store, ref, examination.prefix)
    remotes = _list_sources(examination, branch) if branch is not None else []
    advice = (
        f"fetch them again from {remotes[0]}" if remotes else "copy .git/objects of a clone or a backup into this one"
    )
    repair = None
    if branch is not None and remotes and examination.machine:
        repair = _make_fetch_repair(examination, branch, remotes)
    cause = "git prune removed them while no ref led to them, or the disk is damaged"
    if store.repository.is_partial:
        cause = "this is a partial clone, and only a promisor remote has them"
    return Diagnostic(
        "error", f"{ref}: {count_noun(len(missing), 'object')} missing or damaged: {shown}{more}", cause, advice, repair
    )  # fmt: skip


def branch_of(store: Store, ref: str, prefix: str) -> Branch | None:
    """Return the branch of a ref; None if its last part is not the name of a namespace."""
    try:
        return Branch(store, Namespace.from_component(ref.removeprefix(prefix)), prefix)
    except InvalidName:
        return None


def _list_sources(examination: Examination, branch: Branch) -> list[str]:
    """Return the remotes that may have the objects of a branch: those it was synced with, else all."""
    known = list_known_remotes(branch)
    if known or examination.machine is None:
        return known
    from baton_git.git.remotes import remote_names  # slow to load, and rarely needed

    return list(remote_names(branch.store.repository, examination.machine.environment))


def _make_fetch_repair(examination: Examination, branch: Branch, remotes: list[str]) -> Repair:
    return Repair(
        f"Fetch the objects of {branch.namespace} again from {' and '.join(remotes)}",
        partial(_fetch_again, examination, branch, remotes),
    )


def _fetch_again(examination: Examination, branch: Branch, remotes: list[str]) -> None:
    """Fetch the objects of a branch again from each remote, until none is missing.

    Raises:
        StoreError: objects are still missing.
    """
    store, problems = branch.store, list[str]()
    promised = [partial(_fetch_promised, examination, branch)] if store.repository.promisors else []
    for fetch in (*promised, *(partial(_fetch_branch, examination, branch, name) for name in remotes)):
        try:
            fetch()
        except BatonError as error:
            problems.append(str(error))
        store.memory.forget(lambda _: True)  # cached values may come from damaged objects
        left = _list_missing(examination, branch)
        if not left:
            return
    which = f"{left[0].where} ({left[0].oid[:10]})" + (f" and {len(left) - 1} more" if len(left) > 1 else "")
    raise StoreError("; ".join(dict.fromkeys([f"no remote gave {which}", *problems])))


def _fetch_promised(examination: Examination, branch: Branch) -> None:
    from baton_git.namespace.ingest.promised import PromisedObjects  # slow to load; few clones are partial

    budget = replace(SYNC, seconds=REFETCH_SECONDS)
    environment = examination.local.environment
    PromisedObjects(branch.store, environment, partial(branch.store.tip, branch.ref), budget).complete()


def _fetch_branch(examination: Examination, branch: Branch, name: str) -> None:
    from baton_git.git.remotes import open_remote  # slow to load, and rarely needed

    remote = open_remote(branch.store.repository, name, examination.local.environment)
    wants = {branch.ref: tracking_refs_of(branch, name).incoming}
    fetch_and_check(branch.store, remote, wants, seconds=REFETCH_SECONDS, everything=True)


def _list_missing(examination: Examination, branch: Branch) -> list[Missing]:
    tip = branch.store.tip(branch.ref)
    if tip is None:
        return []
    walk = _Walk(branch.store, tip, time.monotonic() + examination.seconds)
    return walk.check_tip() or ([] if _count_objects(examination, tip) is not None else walk.check_history())


# --- packs


def check_packs(examination: Examination) -> Iterator[Diagnostic]:
    """Report how many packs baton has, and how large they are."""
    housekeeping = examination.required_store.housekeeping
    files = [housekeeping.packs / f"pack-{noted.name}.pack" for noted in housekeeping.list_noted()]
    sizes = [_size(path) for path in files if path.exists()]
    text = f"{count_noun(len(sizes), 'pack')}, {sum(sizes) / 1e6:,.1f} MB"
    if len(sizes) > MANY_PACKS:
        yield Diagnostic("warning", text, "nothing has merged them: is the repository read-only for you?", "baton gc")
    else:
        yield ok(text)
    if _is_left_without_maintenance(examination):
        yield Diagnostic(
            "warning", "git never cleans up here: maintenance.auto is false, and no maintenance is registered",
            "git maintenance unregister leaves that setting; baton's own packs are merged all the same",
            "git maintenance start, or git config --unset maintenance.auto",
        )  # fmt: skip


def _is_left_without_maintenance(examination: Examination) -> bool:
    """Return whether `git maintenance unregister` was run here: `register` has set `maintenance.auto` to false, so that
    git starts no maintenance by itself, and `unregister` does not take that back (git 2.39.5, builtin/gc.c)."""
    if examination.git.ask("config", "--local", "--type=bool", "--get", "maintenance.auto") != "false":
        return False
    registered = (examination.git.ask("config", "--get-all", "maintenance.repo") or "").splitlines()
    repository = examination.required_store.repository
    own = {folder.resolve() for folder in (repository.work_tree, repository.git_dir, repository.common_dir) if folder}
    return not own & {Path(folder).resolve() for folder in registered}


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
