"""The transcripts on this machine: which belong to the project, still grow or go soon, and which were mined."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from stat import S_ISREG
from typing import Any, Literal, NamedTuple

import psutil

from baton_git import __version__
from baton_git.agents.extraction.repository import find_subjects
from baton_git.agents.hook_events.hook_session import HookSessionStore, is_running
from baton_git.agents.json_lines import read_object
from baton_git.agents.mining.evidence import MAX_SUBJECT, Evidence, list_remotes, normalise_address
from baton_git.agents.mining.weighing import COMMON_BRANCHES
from baton_git.agents.registry import AGENTS, session_variables
from baton_git.agents.transcripts import Transcript, Warn, ignore_warning
from baton_git.core.errors import BatonError
from baton_git.git.files.atomic_files import read_bytes, write_all
from baton_git.git.local_git import GitUnavailable, SessionRepository
from baton_git.git.store import Repository
from baton_git.git.store.repository import list_work_trees

FileKey = tuple[str, int, int, int, int]


class Candidate(NamedTuple):
    """A transcript as it was when it was listed.

    Attributes:
        cwd: the folder in which its session started; None if unknown.
        cwd_digest: the SHA-256 of that folder's path, if only this is known.
    """

    agent: str
    path: Path
    session: str
    cwd: str | None
    cwd_digest: str | None
    device: int
    inode: int
    size: int
    mtime_ns: int

    @property
    def key(self) -> FileKey:
        """A key that changes when the file changes."""
        return (str(self.path), self.device, self.inode, self.size, self.mtime_ns)


def list_candidates(
    agents: Sequence[str], home: Path, environment: Mapping[str, str], warn: Warn = ignore_warning
) -> Iterator[Candidate]:
    """Yield the transcripts of sessions, those of each agent newest first.

    Transcripts of subagents are left out, because they are read together with the transcript of their session. So are
    symbolic links to files outside of the agent's folder. Folders may be links: users put `projects` on another disk.
    """
    for name in agents:
        root = os.path.realpath(AGENTS[name].hooks.find_user_folder(home, environment))
        for transcript in AGENTS[name].find_sessions(home, environment, warn):
            if not transcript.path.is_symlink() or _is_below(os.path.realpath(transcript.path), root):
                yield from _make_candidates(name, transcript)


def _make_candidates(agent: str, transcript: Transcript) -> Iterator[Candidate]:
    try:
        stat = transcript.path.stat()
    except OSError:  # removed meanwhile
        return
    if S_ISREG(stat.st_mode) and transcript.session:
        yield Candidate(
            agent, transcript.path, transcript.session, transcript.cwd, transcript.cwd_digest,
            stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns,
        )  # fmt: skip


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")


SOON_DAYS = 7
"""A transcript is reported if it will be deleted within this many days."""
_DAY = 86400


class Expiry(NamedTuple):
    """The number of transcripts that a CLI deletes within `SOON_DAYS`, because it keeps each for `kept_days`."""

    agent: str
    number: int
    kept_days: float
    settings: Path


def find_expiring(
    candidates: Iterable[Candidate], now: datetime, home: Path, environment: Mapping[str, str]
) -> list[Expiry]:
    """Return an entry for each CLI that will delete some of these transcripts soon."""
    ages: dict[str, list[float]] = {}
    for candidate in candidates:
        ages.setdefault(candidate.agent, []).append((now.timestamp() - candidate.mtime_ns / 1e9) / _DAY)
    expiring = []
    for agent, days in ages.items():
        retention = AGENTS[agent].retention
        if retention is None:
            continue
        file = AGENTS[agent].hooks.find_user_folder(home, environment) / retention.file
        kept = _read_days(file, retention.key, retention.days)
        number = sum(age >= kept - SOON_DAYS for age in days)
        if number:
            expiring.append(Expiry(agent, number, kept, file))
    return expiring


def _read_days(file: Path, key: str, default: int) -> float:
    """Return the number of days from the settings file; `default` if the file is unreadable or does not set it."""
    try:
        value = (read_object(file) or {}).get(key)
    except BatonError:
        return default
    return value if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else default


FORMAT = 1
Note = dict[str, Any]


class MiningProgress:
    """The notes about transcripts, stored in `file`, so that the next mining run reads only changed transcripts.

    The file is in the repository's common directory. It has one JSON line for each transcript, with the path, device,
    inode, size and modification time. Lines are written during the run, so that the next run continues after a killed
    one. If the file is deleted, the next run reads all transcripts again.

    Args:
        file: the file; it may be missing or damaged, since unreadable lines are ignored.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self._notes: dict[str, tuple[list[Any], Note]] = {}
        for line in _read_lines(file):
            self._notes[line.path] = (line.key, line.note)

    def note(self, candidate: Candidate) -> Note:
        """Return the note about a transcript; empty if there is none, or the transcript has changed since."""
        key, note = self._notes.get(str(candidate.path), ([], {}))
        return dict(note) if key == list(candidate.key) else {}

    def add(self, candidate: Candidate, **facts: Any) -> None:
        """Add facts to a transcript's note, and store it. If that fails, the next run reads the transcript again."""
        note = {**self.note(candidate), **facts}
        self._notes[str(candidate.path)] = (list(candidate.key), note)
        try:
            self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(self.file, "ab", opener=_open_private) as file:
                file.write(b"\n" + _encode(list(candidate.key), note))  # the line before may be incomplete
        except OSError:
            return

    def settle(self) -> None:
        """Delete what is no longer needed: notes about missing transcripts, and the sessions of stored ones.

        Raises:
            WriteFailed: the file cannot be written.
        """
        kept = {path: entry for path, entry in self._notes.items() if os.path.lexists(path)}
        for _, note in kept.values():
            if note.get("stored"):
                note.pop("session", None)
        self._notes = kept
        content = b"".join(_encode(key, note) for key, note in kept.values())
        try:
            is_same = read_bytes(self.file) == content
        except BatonError:
            is_same = not content
        if not is_same:
            write_all({self.file: content}, mode=0o600)


class _Line(NamedTuple):
    path: str
    key: list[Any]
    note: Note


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _encode(key: list[Any], note: Note) -> bytes:
    return json.dumps({"format": FORMAT, "program": __version__, "file": key, "note": note}).encode() + b"\n"


def _read_lines(file: Path) -> Iterable[_Line]:
    """Yield the lines that this version of the program wrote; another version may read transcripts differently."""
    try:
        content = read_bytes(file)
    except BatonError:
        return
    for text in content.split(b"\n"):
        try:
            data = json.loads(text)
            if (data["format"], data["program"]) == (FORMAT, __version__):
                yield _Line(str(data["file"][0]), list(data["file"]), dict(data["note"]))
        except (ValueError, KeyError, TypeError, IndexError, RecursionError):
            continue


# --- transcripts that are still being written: the hooks of their sessions save them


def make_running_check(common_dir: str, environment: Mapping[str, str]) -> Callable[[Candidate], bool]:
    """Return a function that returns whether the session of a transcript is running.

    A session is running if this program runs in it, or if the process that its hooks recorded is alive and they
    recorded no end of the session. If its hooks recorded no process, it is running if a process of its CLI in its
    folder is older than the transcript's last change.
    """
    memory = HookSessionStore(common_dir)
    own_sessions = {
        (cli, environment[variable]) for variable, cli in session_variables().items() if variable in environment
    }
    list_running = cache(_list_running)

    def is_being_written(candidate: Candidate) -> bool:
        if (candidate.agent, candidate.session) in own_sessions:
            return True
        seen = memory.get(candidate.agent, candidate.session)
        if seen is not None and seen.pid > 1:
            return not seen.ended and is_running(seen)
        since = list_running().get((candidate.agent, os.path.realpath(candidate.cwd or "/")))
        return since is not None and candidate.mtime_ns / 1e9 >= since

    return is_being_written


def _list_running() -> dict[tuple[str, str], float]:
    """Return the start time of the oldest process of each CLI in each folder, in seconds since 1970."""
    running: dict[tuple[str, str], float] = {}
    for process in psutil.process_iter():
        try:
            with process.oneshot():
                agent = _detect_agent(process.name(), process.cmdline())
                if agent is None:
                    continue
                key = (agent, os.path.realpath(process.cwd()))
                running[key] = min(process.create_time(), running.get(key, process.create_time()))
        except (psutil.Error, OSError):
            continue
    return running


def _detect_agent(name: str, argv: list[str]) -> str | None:
    return next((agent for agent, cli in AGENTS.items() if cli.markers.is_program(name, argv)), None)


# --- whether a session worked in the repository, by the folder in which it started
# A folder that exists belongs to the repository if it is in one of its work trees, or in a clone that has a remote in
# common with it. (A namespace can also be for a folder outside of any repository; then that folder and everything in
# it belong to it.)
# A folder that no longer exists belongs to the repository in these cases: it is a former work tree (for example, one
# that git still lists); it is inside a former work tree, and a commit has files in it; or the transcripts of its
# sessions name commits, a remote or a branch of the repository (see `find_proven`). In all other cases it is unknown
# whether a missing folder belongs to the repository, and its sessions are not imported.
# Where a folder belongs to the repository, the transcript may still contradict that: see `weighing`.

Verdict = Literal["ours", "elsewhere", "unclear"]


class Belonging(NamedTuple):
    """Whether a folder belongs to a repository.

    Attributes:
        work_tree: the top of its work tree, if it belongs to the repository.
        clone: the repository that contains the folder, if it is another clone of the project.
    """

    verdict: Verdict
    work_tree: str | None = None
    clone: Repository | None = None


ELSEWHERE = Belonging("elsewhere")
UNCLEAR = Belonging("unclear")


class ProjectFolders:
    """The folders of one repository: its current and former work trees.

    Args:
        top: the folder that the namespace is for, if it is not in a repository.
        former: folders that are known to have been the tops of its work trees.
    """

    def __init__(
        self, repository: Repository, top: Path | None, environment: Mapping[str, str], former: Iterable[str] = ()
    ) -> None:
        self._repository = repository
        self._own_top = os.path.realpath(top) if top is not None else None
        self._environment = dict(environment)
        self._tops = [os.path.realpath(path) for path in list_work_trees(repository)]
        self._former = {path.rstrip("/") for path in former if path.startswith("/")} | set(self._tops)
        self._judged: dict[str, Belonging] = {}

    def judge(self, cwd: str | None) -> Belonging:
        """Return whether a session that started in this folder belongs to the repository."""
        if cwd is None or not cwd.startswith("/") or "\0" in cwd:
            return UNCLEAR
        cwd = os.path.normpath(cwd)
        if cwd not in self._judged:
            self._judged[cwd] = self._judge_existing(cwd) if is_folder(cwd) else self._judge_missing(cwd)
        return self._judged[cwd]

    def resolve_digest(self, digest: str | None) -> str | None:
        """Return the folder of the repository whose path has this SHA-256; None if there is none."""
        tops = {*self._former, *([self._own_top] if self._own_top else [])}
        return next((top for top in tops if digest == sha256(os.fsencode(top)).hexdigest()), None)

    def add_former(self, folder: str) -> None:
        """Add a folder that no longer exists to the former tops of work trees."""
        self._former.add(folder.rstrip("/"))
        self._judged.clear()

    # --- folders that exist

    def _judge_existing(self, cwd: str) -> Belonging:
        try:
            enclosing = Repository.discover(Path(cwd))
        except (BatonError, OSError):
            return UNCLEAR
        if enclosing is None:
            is_inside = self._own_top not in (None, *self._tops) and _is_within(
                os.path.realpath(cwd), self._own_top or ""
            )
            return Belonging("ours", self._own_top) if is_inside else ELSEWHERE
        top = str(enclosing.work_tree) if enclosing.work_tree is not None else None
        if os.path.realpath(enclosing.common_dir) == os.path.realpath(self._repository.common_dir):
            return Belonging("ours", top)
        return Belonging("ours", top, enclosing) if self._shares_remote(enclosing) else ELSEWHERE

    def _shares_remote(self, other: Repository) -> bool:
        """Whether another repository is a clone of the same project: whether the two have a remote in common."""
        try:
            return bool(list_remotes(other) & list_remotes(self._repository))
        except (BatonError, OSError):
            return False

    # --- folders that no longer exist

    def _judge_missing(self, cwd: str) -> Belonging:
        top = max((top for top in self._former if _is_within(cwd, top)), key=len, default=None)
        if top is None:
            return UNCLEAR
        inner = os.path.relpath(cwd, top)
        return Belonging("ours", top) if inner == "." or self._had_folder(inner) else UNCLEAR

    def _had_folder(self, inner: str) -> bool:
        """Whether any commit changed a file in the folder with this path, relative to the top."""
        try:
            where = f":(top,literal){inner}"
            return bool(self._git().run_git("log", "--max-count=1", "--format=%H", "--all", "--", where))
        except GitUnavailable:
            return False

    def _git(self) -> SessionRepository:
        return SessionRepository(self._repository.common_dir, self._environment)

    def find_proven(self, evidence: Sequence[tuple[str | None, Evidence]]) -> list[bool]:
        """Return for each transcript whether its evidence proves that it belongs to this repository.

        Evidence is proof if it names a remote of the repository, or if the repository has at least half of the commits
        that it names. Without commits, a branch of the repository is enough if the session started inside a former
        work tree.

        Args:
            evidence: for each transcript, the folder in which its session started, and its evidence.
        """
        own_remotes, branches = list_remotes(self._repository), self._list_branches()
        subjects = self._find_subjects({commit.hash for _, piece in evidence for commit in piece.commits})
        return [
            bool(_list_addresses(piece) & own_remotes)
            or _are_most_known(piece, subjects)
            or (not piece.commits and self._is_inside(cwd) and not branches.isdisjoint(piece.branches))
            for cwd, piece in evidence
        ]

    def _is_inside(self, cwd: str | None) -> bool:
        return cwd is not None and any(_is_within(os.path.normpath(cwd), top) for top in self._former)

    def _list_branches(self) -> set[str]:
        """Return the branches, except baton's own and those with names that many repositories use."""
        try:
            names = self._git().run_git("for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads").splitlines()
        except GitUnavailable:
            return set()
        return {name for name in names if not name.startswith("baton/")} - COMMON_BRANCHES

    def _find_subjects(self, hashes: set[str]) -> dict[str, str]:
        try:
            return find_subjects(self._git(), sorted(hashes))
        except GitUnavailable:
            return {}


def is_moved(folder: str, work_tree: Path | None) -> bool:
    """Whether a missing folder is probably the former location of the work tree, because it has the same name."""
    return work_tree is not None and Path(folder).name == work_tree.name and not is_folder(folder)


def is_folder(path: str) -> bool:
    """Whether a path from a transcript is an existing folder; False for a path that the file system does not accept."""
    return os.path.isdir(path)


def _are_most_known(piece: Evidence, subjects: Mapping[str, str]) -> bool:
    known = sum(_is_known(commit.hash, commit.subject, subjects) for commit in piece.commits)
    return known > 0 and 2 * known >= len(piece.commits)


def _is_known(hash_: str, subject: str, subjects: Mapping[str, str]) -> bool:
    """Whether a commit is in the repository; a short id counts only together with its subject."""
    if hash_ not in subjects:
        return False
    text = subjects[hash_].encode()[:MAX_SUBJECT].decode("utf-8", "ignore")
    return text.startswith(subject) if subject else len(hash_) >= 40


def _list_addresses(piece: Evidence) -> set[str]:
    return {normalise_address(address) for address in piece.remotes}


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
