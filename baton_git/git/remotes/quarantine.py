"""Keep fetched objects in a separate directory until they are accepted into the repository.

The quarantine is the object directory of a temporary git directory. The repository's objects are its alternate, so the
server sends new objects only. Limits apply during the fetch: the size of the directory is watched, and git refuses to
allocate memory for an object that is too large (`GIT_ALLOC_LIMIT`), including the result of a delta.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, NamedTuple

from baton_git.core.errors import Rejected, Unreachable
from baton_git.core.names import Oid
from baton_git.git.files import durable_files
from baton_git.git.objects.pack_writer import write_temporary
from baton_git.git.remotes.git_command import RemoteGit
from baton_git.git.store import ObjectDraft, Repository

_PREFIX: Final = "view-"
_ABANDONED: Final = 86_400.0  # age in seconds at which a directory is a leftover of a killed process


@contextmanager
def view(git: RemoteGit, refs: Mapping[str, Oid]) -> Iterator[RemoteGit]:
    """Yield a `RemoteGit` for a temporary git directory that has only these refs and uses the repository's objects.

    For a shallow or partial clone, yield `git` itself, because git needs the original directory.

    Raises:
        WriteFailed: writing to disk failed.
    """
    repository = git.repository
    if (repository.common_dir / "shallow").exists() or repository.is_partial:
        yield git
        return
    with _folder(git) as folder:
        with durable_files.writing(str(folder)):
            _make(folder, repository, refs)
        yield replace(git, view=folder)


@contextmanager
def with_drafts(git: RemoteGit, drafts: Sequence[ObjectDraft]) -> Iterator[RemoteGit]:
    """Yield a `RemoteGit` that can also read the objects of unpublished drafts, from a temporary object directory.

    Raises:
        WriteFailed: writing to disk failed.
    """
    objects = {oid: raw for draft in drafts for oid, raw in draft.objects.items()}
    if not objects:
        yield git
        return
    with _folder(git) as folder:
        with durable_files.writing(str(folder)):
            write_temporary(folder / "objects", objects, drafts[0].form)
        yield replace(git, extra={**git.extra, **_alternate(folder / "objects")})


@contextmanager
def quarantine(
    git: RemoteGit, refs: Mapping[str, Oid], extra: Mapping[str, str], *, hide_objects: bool
) -> Iterator[RemoteGit]:
    """Yield a `RemoteGit` for a temporary git directory that has only these refs and also receives new objects.

    Args:
        extra: additional environment variables for git.
        hide_objects: do not use the repository's objects, so that a fetch transfers all objects.

    Raises:
        WriteFailed: writing to disk failed.
    """
    common = git.repository.common_dir
    with _folder(git) as folder:
        with durable_files.writing(str(folder)):
            _make(folder, git.repository, refs)
            (folder / "objects" / "pack").mkdir(parents=True)
            with suppress(FileNotFoundError):
                shutil.copyfile(common / "shallow", folder / "shallow")
        # A variable and not `info/alternates`, so that the new objects can be listed without those of the repository.
        shared = {} if hide_objects else _alternate(common / "objects")
        yield replace(git, view=folder, is_quarantine=True, extra={**extra, **shared})


def _alternate(objects: Path) -> dict[str, str]:
    """Return the variable with which git also reads `objects`; quoted, because git splits it at colons."""
    path = str(objects).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return {"GIT_ALTERNATE_OBJECT_DIRECTORIES": f'"{path}"'}


@contextmanager
def _folder(git: RemoteGit) -> Iterator[Path]:
    folder = git.repository.common_dir / "baton" / f"{_PREFIX}{durable_files.random_name()}"
    try:
        with durable_files.writing(str(folder)):
            _sweep(folder.parent)
            durable_files.make_folder(folder.parent)
            folder.mkdir()
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _make(folder: Path, repository: Repository, refs: Mapping[str, Oid]) -> None:
    (folder / "refs").mkdir()
    (folder / "HEAD").write_bytes(b"ref: refs/heads/none\n")
    (folder / "config").write_text(_config(repository), encoding="utf-8", errors="surrogateescape")
    lines = sorted((ref.encode("utf-8", "surrogateescape"), oid.encode()) for ref, oid in refs.items())
    packed = b"".join(b"%b %b\n" % (oid, ref) for ref, oid in lines)
    (folder / "packed-refs").write_bytes(b"# pack-refs with: peeled fully-peeled sorted \n" + packed)


def _config(repository: Repository) -> str:
    form = repository.object_format.name
    version = "0\n" if form == "sha1" else f"1\n[extensions]\n\tobjectFormat = {form}\n"
    path = str(repository.common_dir / "config").replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'[core]\n\trepositoryFormatVersion = {version}[include]\n\tpath = "{path}"\n'


def _sweep(folder: Path) -> None:
    for old in folder.glob(f"{_PREFIX}*"):
        with suppress(FileNotFoundError):
            if durable_files.now_of(folder) - old.stat().st_mtime > _ABANDONED:
                shutil.rmtree(old, ignore_errors=True)


SETTINGS: Final = {
    "fetch.unpackLimit": "1",  # one pack, never loose objects
    "transfer.unpackLimit": "1",
    "core.bigFileThreshold": "1048576g",  # git streams no object, so that the allocation limit applies to all
    "core.alternateRefsCommand": "true",  # announce only the refs of the temporary git directory
    "pack.threads": "1",
    "core.fsync": "none",  # accepted packs are synced when they are moved to the repository
    "core.fsyncObjectFiles": "false",
}
_MEMORY: Final = 64 << 20
"""Minimum of `GIT_ALLOC_LIMIT` in bytes, because git needs memory for the tables of a large fetched pack."""


class FetchLimits(NamedTuple):
    """Limits of a fetch: total size on disk, and size of a single object, in bytes."""

    total_bytes: int
    object_bytes: int

    def environment(self, largest_index: int) -> dict[str, str]:
        """Return the environment for git.

        Args:
            largest_index: the size of the largest pack index here. git allocates 16 of the 28 bytes for each object of
                a pack to find where it ends: 113 MB in a repository with 7 million objects.
        """
        return {"GIT_ALLOC_LIMIT": str(max(self.object_bytes, _MEMORY, largest_index))}


@dataclass
class SizeWatch:
    """Watches the size of a folder. Once it exceeds `limit` bytes, `tripped` stays True."""

    folder: Path
    limit: int
    tripped: bool = False

    def __call__(self) -> bool:
        self.tripped = self.tripped or folder_bytes(self.folder) > self.limit
        return self.tripped

    def check(self, what: str) -> None:
        """Raise Rejected if the folder exceeds the limit, or did so before."""
        if self():
            raise Rejected(
                f"{what}: the branches have more than {self.limit:,} bytes, the limit for one fetch",
                hint="nothing was fetched; ask the person who pushed them, or list the branches with git ls-remote",
                is_over_bytes=True,
            )


def folder_bytes(folder: Path) -> int:
    """Return the total size of all files below a folder; files that are deleted meanwhile are ignored."""
    total = 0
    for top, _, names in os.walk(folder):
        for name in names:
            try:
                total += Path(top, name).stat().st_size
            except FileNotFoundError:
                continue
    return total


@dataclass(frozen=True)
class Quarantine:
    """Fetched branches of a remote that no local ref points to yet.

    Attributes:
        tips: the fetched commit by remote ref.
        refs: the private local ref to move later, by remote ref.
        objects: the object directory with the new objects.
        known: local commits that were announced to the server, which did not send their histories.
        boundary: the fetched commits whose parents were left out, because of a depth.
        shallow: all commits whose parents are neither here nor in the repository.
        has_everything: whether the server sent all objects, also those that are in the repository.
    """

    tips: Mapping[str, Oid]
    refs: Mapping[str, str]
    objects: Path
    known: frozenset[Oid]
    git: RemoteGit = field(repr=False)
    has_everything: bool = False
    boundary: frozenset[Oid] = frozenset()
    shallow: frozenset[Oid] = frozenset()

    @property
    def fetched_packs(self) -> list[Path]:
        return sorted((self.objects / "pack").glob("pack-*.pack"))

    def packs(self, tips: Iterable[Oid], seconds: float) -> list[Path]:
        """Return packs (each with an index) with all objects reachable from `tips` but not from `known`.

        If `tips` covers all fetched branches and there are no loose objects, these are the fetched packs. Otherwise git
        creates a new pack.

        Raises:
            Unreachable: git did not finish within `seconds`, or an object is missing.
        """
        wanted = set(tips) - self.known
        if not wanted:
            return []
        fetched = self.fetched_packs
        loose = any(len(folder.name) == 2 for folder in self.objects.iterdir())
        if fetched and not loose and wanted >= set(self.tips.values()) - self.known:
            return fetched
        return self._pack_objects(wanted, seconds)

    def _pack_objects(self, wanted: Iterable[Oid], seconds: float) -> list[Path]:
        revisions = "".join([*(f"{tip}\n" for tip in wanted), *(f"^{tip}\n" for tip in self.known)])
        base = self.objects / "pack" / "accepted"
        words = ("pack-objects", "--quiet", "--revs", "--non-empty", "--delta-base-offset", str(base))
        done = self.git.run_local(words, revisions.encode(), seconds)
        if done is None or done.code != 0:
            printed = done.err.strip().splitlines() if done else []
            why = printed[-1] if printed else f"not finished within {seconds:.3g} s"
            raise Unreachable(f"cannot pack the fetched objects: {why}", hint="run git fsck, then baton sync again")
        return [base.with_name(f"accepted-{name}.pack") for name in done.out.split()]
