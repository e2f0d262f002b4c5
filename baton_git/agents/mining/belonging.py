"""Decide whether the session of a transcript worked in a repository, by the folder in which it started.

A folder that exists belongs to the repository if it is in one of its work trees, or in a clone that has a remote in
common with it. (A namespace can also be for a folder outside of any repository; then that folder and everything in it
belong to it.)

A folder that no longer exists belongs to the repository in these cases: it is a former work tree (for example, one that
git still lists); it is inside a former work tree, and a commit has files in it; or the transcripts of its sessions name
commits, a remote or a branch of the repository (see `find_proven`). In all other cases it is unknown whether a missing
folder belongs to the repository, and its sessions are not imported.

Where a folder belongs to the repository, the transcript may still contradict that: see `weighing`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Literal, NamedTuple

from baton_git.agents.extraction.repository import find_subjects
from baton_git.agents.mining.evidence import MAX_SUBJECT, Evidence, list_remotes, normalise_address
from baton_git.agents.mining.weighing import COMMON_BRANCHES
from baton_git.core.errors import BatonError
from baton_git.git.session_repository import GitUnavailable, SessionRepository
from baton_git.git.store import Repository
from baton_git.git.store.checkouts import list_work_trees

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
