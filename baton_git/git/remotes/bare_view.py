"""Temporary git directories with few refs but all objects of a repository, used for fetch and push.

In every fetch and push, git iterates over all refs: to announce what it has, and to check that the received objects are
complete. With 100,000 namespaces that takes seconds, so the temporary directory contains the required refs only.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

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
