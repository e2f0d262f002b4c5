"""Checks of the basics: the repository, the settings, versions, and the index of recall."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path

from baton_git.core import layout
from baton_git.core.errors import BatonError, BranchMoved, BrokenFormat, BrokenSettings, Corrupt, NewerLayout, NotFound
from baton_git.core.kinds import ARCHIVE, KIND_OF_FOLDER
from baton_git.core.stored_form import NEWEST_FORMAT, read_version
from baton_git.git import child_process
from baton_git.git.hooks.script import VERSION, read_marker
from baton_git.namespace.commit_log import VERSION as VERSION_TRAILER
from baton_git.namespace.last_tip import describe_return, find_moved
from baton_git.namespace.workspace import Workspace
from baton_git.recall import index
from baton_git.verbs.doctor.examination import Diagnostic, Examination, Repair, ok
from baton_git.verbs.doctor.journal import list_files

GIT_SINCE = (2, 30)
"""The oldest git that is tested."""
PROGRAM_SECONDS = 10.0
LOOKED_BACK = 2000
"""Number of newest revisions that are searched for the versions of baton on other machines."""
_VERSION = re.compile(r"\d+\.\d+[\w.]*")


_DAMAGE_ADVICE = "to see what is damaged, and what to do: baton doctor refs objects"


def advise(error: BatonError) -> str:
    """Return what to do about an error for which a check could not be made: that of a damaged ref or object is to see
    the checks of these, which say more."""
    is_damage = isinstance(error, Corrupt) and not isinstance(error, BrokenFormat | BrokenSettings | NewerLayout)
    return _DAMAGE_ADVICE if is_damage else error.hint


def check_repository(examination: Examination) -> Iterator[Diagnostic]:
    """Check that the repository and the namespace can be opened."""
    opened = examination.opened
    if isinstance(opened, BatonError):
        yield Diagnostic("error", str(opened), advice=opened.hint)
    elif opened is None:
        yield ok("there is no repository here, so only the machine is checked")
    elif opened.branch.exists and not namespace_exists(opened):
        yield Diagnostic(
            "error", f"{opened.branch.namespace} cannot be opened: another program moved or deleted its branch",
            advice=f"baton doctor refs shows what happened; {_describe_way_back(opened)}",
        )  # fmt: skip
    elif not namespace_exists(opened):
        yield _describe_missing(opened)
    else:
        yield _open_namespace(opened)


def _describe_missing(ws: Workspace) -> Diagnostic:
    try:
        ws.branch.check_exists()
    except NotFound as error:
        return Diagnostic("warning", f"there is no namespace {ws.branch.namespace} here", advice=error.hint)
    return _open_namespace(ws)  # another process has just created it


def _describe_way_back(ws: Workspace) -> str:
    branch = ws.branch
    moved = find_moved(branch.store, branch.prefix, branch.namespace)
    if moved is None or branch.store.is_stored(moved.known):
        return "baton doctor --fix brings it back"
    return describe_return(moved.namespace)


def _open_namespace(ws: Workspace) -> Diagnostic:
    try:
        ws.branch.read()
    except BatonError as error:
        return Diagnostic("error", f"{ws.branch.namespace} cannot be opened: {error}", advice=advise(error))
    return ok(f"{ws.branch.namespace} in {ws.branch.store.repository.common_dir}")


def namespace_exists(ws: Workspace) -> bool:
    """Return whether the namespace exists; True if its ref cannot be read, False if another program moved its branch,
    which the check of the refs reports."""
    try:
        return ws.branch.tip() is not None
    except BranchMoved:
        return False
    except BatonError:
        return True


def check_settings(examination: Examination) -> Iterator[Diagnostic]:
    """Find invalid settings and variables, which baton replaces or ignores, and unknown keys."""
    for problem in examination.ws.problems:
        yield Diagnostic("warning", problem)
    if examination.machine is not None:
        for key, close in examination.machine.unknown_settings.items():
            meant = f"; did you mean {close}?" if close else ""
            advice = f"git config --unset-all {key}; baton help configuration lists the settings"
            yield Diagnostic("warning", f"git config {key} is not a setting of baton{meant}", advice=advice)


# --- versions


def check_versions(examination: Examination) -> Iterator[Diagnostic]:
    """Find a git that is too old, another baton on the PATH, and data that another version of baton has written."""
    yield from _check_git(examination)
    yield from _check_program(examination)
    if examination.store is not None:
        yield from _check_hook_scripts(examination)
    if isinstance(examination.opened, Workspace) and namespace_exists(examination.opened):
        yield from _check_branch(examination, examination.opened)
    yield ok(f"baton {examination.local.version}")


def _check_git(examination: Examination) -> Iterator[Diagnostic]:
    if shutil.which("git", path=examination.local.environment.get("PATH")) is None:
        yield Diagnostic("error", "there is no git program on the PATH", "remotes and hooks need it", "install git")
    elif examination.store is not None and examination.git.version < GIT_SINCE:
        found, wanted = (".".join(map(str, version)) for version in (examination.git.version, GIT_SINCE))
        yield Diagnostic(
            "warning", f"git {found} is older than {wanted}, the oldest that is tested", advice="update git"
        )


def _check_program(examination: Examination) -> Iterator[Diagnostic]:
    """Check the `baton` on the PATH, which people and the hooks of projects start, if it is not the running one."""
    machine = examination.local
    program = shutil.which("baton", path=machine.environment.get("PATH"))
    own = Path(machine.own_command[0]).parent / "baton"
    if program is None or os.path.realpath(program) == os.path.realpath(own):
        return
    done = child_process.run([program, "--version"], machine.environment, Path(), PROGRAM_SECONDS)
    version = _VERSION.search(done.out) if done is not None and done.code == 0 else None
    if version is None:
        yield Diagnostic(
            "warning", f"{program} does not work", "hooks of projects start it", "install baton-git there again"
        )
    elif version[0] != machine.version:
        yield Diagnostic(
            "warning", f"{program} is baton {version[0]}, and {machine.version} runs now",
            "there are two installations", "update the older one, or take it off the PATH",
        )  # fmt: skip


def _check_hook_scripts(examination: Examination) -> Iterator[Diagnostic]:
    common_dir = examination.common_dir
    for path in list_files(common_dir / "baton" / "hooks", common_dir / "hooks"):
        mark = read_marker(path.read_bytes())
        if mark is not None and mark.version > VERSION:
            yield Diagnostic("warning", f"{path} was installed by a newer baton", advice="update this baton")


def _check_branch(examination: Examination, ws: Workspace) -> Iterator[Diagnostic]:
    """Find data that a newer baton on another machine wrote: a newer layout, or unknown kinds of records."""
    tip = ws.branch.tip()
    if tip is None:
        return
    root = ws.branch.store.folder(ws.branch.store.commit(tip).tree)
    written = read_version(root.read(layout.FORMAT_FILE) or b"")
    machine = ws.branch.load_entry(tip).machine
    by = f"the last to write was {machine}" if machine else ""
    if isinstance(written, int) and written > NEWEST_FORMAT:
        yield Diagnostic(
            "error", f"{ws.branch.namespace} has layout {written}, and this baton knows {NEWEST_FORMAT}", by,
            "update baton on this machine",
        )  # fmt: skip
    yield from _compare_machines(ws, examination)
    unknown = [name for name, item in root.entries().items() if item.is_folder and not _is_known(name)]
    if unknown:
        yield Diagnostic(
            "warning",
            f"{ws.branch.namespace} has folders of unknown kinds: {', '.join(sorted(unknown))}",
            f"a newer baton, or another program, wrote them; {by}".rstrip("; "), "update baton on this machine",
        )  # fmt: skip


def _compare_machines(ws: Workspace, examination: Examination) -> Iterator[Diagnostic]:
    """Find machines whose newest session was started by another version of baton."""
    newest: dict[str, str] = {}
    for entry in islice(ws.branch.history(), LOOKED_BACK):
        for version in entry.trailer_values(VERSION_TRAILER):
            machine = ws.actor.machine if ws.is_own_machine(entry.machine) else entry.machine
            newest.setdefault(machine or "a machine without a name", version)
    own = examination.local.version
    for machine, version in newest.items():
        if _sort_key(version) != _sort_key(own):
            is_newer = _sort_key(version) > _sort_key(own)
            yield Diagnostic(
                "warning", f"{machine} writes with baton {version}, and this is {own}",
                "a newer baton may write what an older one does not know",
                "update baton on this machine" if is_newer else f"update baton on {machine}",
            )  # fmt: skip


def _sort_key(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)[:4]))


def _is_known(folder: str) -> bool:
    return folder in KIND_OF_FOLDER or folder == ARCHIVE


# --- the index of recall


def check_index(examination: Examination) -> Iterator[Diagnostic]:
    """Find an index of recall that is damaged or has a newer format, and a sqlite library without full-text search."""
    folder = examination.common_dir / "baton" / "recall"
    path = folder / index.FILE
    with closing(sqlite3.connect(":memory:")) as memory:
        try:
            memory.execute("CREATE VIRTUAL TABLE words USING fts5(terms)")
        except sqlite3.OperationalError:
            yield Diagnostic(
                "error", "this Python's sqlite cannot search texts, so recall finds nothing", "it lacks FTS5",
                "use a Python whose sqlite3 module was built with FTS5",
            )  # fmt: skip
            return
    if not path.exists():
        yield ok("there is none yet; the first baton recall builds it")
        return
    problem = _find_index_problem(path)
    if problem is None:
        yield ok(f"{path.stat().st_size / 1e6:,.1f} MB")
        return
    yield Diagnostic(
        "warning", f"the index of recall {problem}", "a crash, or another version of baton",
        "baton doctor --fix; the next baton recall rebuilds it", _remove_index(folder),
    )  # fmt: skip


def _find_index_problem(path: Path) -> str | None:
    """Return the problem of the index; None if it is intact or locked. The index is opened for reading only."""
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=1.0)) as database:
            version = int(database.execute("PRAGMA user_version").fetchone()[0])
            outcome = str(database.execute("PRAGMA quick_check(1)").fetchone()[0])
    except sqlite3.OperationalError as error:
        return None if "locked" in str(error) or "busy" in str(error) else f"cannot be read: {error}"
    except sqlite3.DatabaseError as error:
        return f"is damaged: {error}"
    if outcome != "ok":
        return f"is damaged: {outcome}"
    if version > index.FORMAT:
        return f"has format {version}, and this baton reads only formats up to {index.FORMAT}"
    return None


def _remove_index(folder: Path) -> Repair:
    paths = [folder / f"{index.FILE}{suffix}" for suffix in ("", "-wal", "-shm")]

    def run() -> None:
        for path in paths:
            path.unlink(missing_ok=True)

    return Repair("Remove the index of recall, which the next baton recall rebuilds", run)
