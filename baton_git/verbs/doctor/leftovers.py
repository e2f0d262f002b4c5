"""The check for leftovers of killed processes: locks, unfinished packs, temporary files."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from baton_git.core.output import count_noun
from baton_git.git.files import durable_files
from baton_git.git.files.ref_locks import identity_of, is_ownerless
from baton_git.git.objects.pack_writer import KEEP_MARK, TEMPORARY_INDEX, TEMPORARY_PACK
from baton_git.git.refs.kept_refs import KEPT
from baton_git.git.store.housekeeping import is_running
from baton_git.namespace.branch import Branch
from baton_git.namespace.caller import ChangeCaller, Vouching
from baton_git.namespace.history import ROOT_AUTHOR
from baton_git.namespace.last_tip import BACKUP
from baton_git.namespace.machine_state import PendingRename, PendingRenames
from baton_git.namespace.moving import describe_rename, rename_branch
from baton_git.namespace.revision import CommitStamp
from baton_git.namespace.sync.tracking_refs import INCOMING, REMOTES
from baton_git.verbs.doctor.examination import Diagnostic, Examination, Repair

LOCK_SECONDS = 60.0
"""Age at which a lock that no living process holds counts as left over."""
FILE_SECONDS = 3600.0
"""Age at which a temporary file counts as left over."""
VIEW_SECONDS = 86_400.0
"""Age at which the temporary git directory of a fetch or push counts as left over."""
GITS_LOCKS = ("HEAD.lock", "config.lock", "index.lock", "packed-refs.lock", "shallow.lock")
NAMED = 5


def check_leftovers(examination: Examination) -> Iterator[Diagnostic]:
    """Find leftovers of killed processes.

    Baton's own files can be removed, and a rename of a namespace can be finished; git's locks are only reported.
    """
    yield from _find_pending_renames(examination)
    leftovers = sorted(_list_leftovers(examination))
    if leftovers:
        shown = ", ".join(_name(examination, path) for path in leftovers[:NAMED])
        more = f", and {len(leftovers) - NAMED} more" if len(leftovers) > NAMED else ""
        yield Diagnostic(
            "warning", f"{count_noun(len(leftovers), 'file')} left over: {shown}{more}",
            "a process was killed, or the machine went down", "baton doctor --fix", _remove(leftovers),
        )  # fmt: skip
    for name in GITS_LOCKS:
        path = examination.common_dir / name
        if path.exists() and examination.age(path) > LOCK_SECONDS * 10:
            yield Diagnostic(
                "warning", f"{path} is {examination.age(path) / 60:,.0f} minutes old",
                "a git process was killed, or still runs", f"if no git is running here: rm {path}",
            )  # fmt: skip


def _find_pending_renames(examination: Examination) -> Iterator[Diagnostic]:
    """Find renames of namespaces that were interrupted between their steps."""
    pending = PendingRenames(examination.common_dir)
    if not pending.all():
        return
    with pending.hold(0) as is_alone:
        if is_alone is False:  # it runs now
            return
    for rename in pending.all():
        yield Diagnostic(
            "warning", f"the rename of {rename.old} to {rename.new} was not finished",
            f"the command was killed; to take it back: {describe_rename(rename, back=True)}", describe_rename(rename),
            _finish_rename(examination, rename) if rename.remote is None else None,
        )  # fmt: skip


def _finish_rename(examination: Examination, rename: PendingRename) -> Repair:
    def run() -> None:
        branch = Branch(examination.required_store, rename.old, examination.prefix, may_begin=False)
        stamp = CommitStamp("doctor", examination.now, ROOT_AUTHOR, ChangeCaller(None, Vouching()))
        rename_branch(branch, rename.new, stamp, examination.local.environment)

    return Repair(f"Finish the rename of {rename.old} to {rename.new}", run)


def _name(examination: Examination, path: Path) -> str:
    return path.relative_to(examination.common_dir).as_posix()


def _list_leftovers(examination: Examination) -> Iterator[Path]:
    yield from _find_dead_locks(examination)
    yield from _find_dead_packs(examination)
    yield from _find_old_files(examination)


def _find_dead_locks(examination: Examination) -> Iterator[Path]:
    """Yield locks and tickets of baton's refs that no living process holds."""
    common_dir, tickets = examination.common_dir, examination.required_store.locks.folder
    held = {identity_of(path) for path in tickets.glob("ticket-*") if is_ownerless(path) is False}
    prefixes = (examination.prefix, KEPT, INCOMING, REMOTES, BACKUP)
    locks = [path for prefix in prefixes for path in _list_files(common_dir / prefix)]
    for path in (*(path for path in locks if path.suffix == ".lock"), *tickets.glob("ticket-*")):
        if examination.age(path) > LOCK_SECONDS and identity_of(path) not in held:
            yield path


def _find_dead_packs(examination: Examination) -> Iterator[Path]:
    """Yield unfinished packs, and `.keep` marks of processes that are gone."""
    packs = examination.required_store.housekeeping.packs
    for prefix in (TEMPORARY_PACK, TEMPORARY_INDEX):
        yield from (path for path in packs.glob(f"{prefix}*") if examination.age(path) > FILE_SECONDS)
    for keep in packs.glob("pack-*.keep"):
        with suppress(OSError):
            text = keep.read_bytes()
            is_ours = text.startswith(KEEP_MARK) and examination.age(keep) > LOCK_SECONDS
            if is_ours and not is_running(text[len(KEEP_MARK) :].strip()):
                yield keep


def _find_old_files(examination: Examination) -> Iterator[Path]:
    """Yield temporary files below `baton/`, and in the git directories of killed fetches and pushes."""
    folder = examination.common_dir / "baton"
    for path in _list_files(folder):
        if path.suffix == ".tmp" and examination.age(path) > FILE_SECONDS:
            yield path
    for view in folder.glob("view-*"):
        if examination.age(view) > VIEW_SECONDS:
            yield from _list_files(view)


def _list_files(folder: Path) -> Iterable[Path]:
    return (path for path in folder.rglob("*") if path.is_file() or path.is_symlink())


def _remove(paths: list[Path]) -> Repair:
    """Return the repair that removes files. A file that changed meanwhile belongs to a running process and stays."""
    seen = {path: _read_stamp(path) for path in paths}

    def run() -> None:
        with durable_files.writing("the folder of leftover files"):
            for path in paths:
                if _read_stamp(path) == seen[path]:
                    path.unlink(missing_ok=True)
        for view in {parent for path in paths for parent in path.parents if parent.name.startswith("view-")}:
            shutil.rmtree(view, ignore_errors=True)

    return Repair(f"Remove {count_noun(len(paths), 'file')} that killed processes left", run)


def _read_stamp(path: Path) -> tuple[int, int] | None:
    """Return a value that changes when a file is written or replaced."""
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns
