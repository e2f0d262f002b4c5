"""Find, check and create git repositories, and find their work trees."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Final

from dulwich.object_format import OBJECT_FORMATS, ObjectFormat

from baton_git.core.errors import NotARepository, StoreError
from baton_git.git.files import durable_files
from baton_git.git.files.atomic_files import advise_access
from baton_git.git.store.config import Config, is_true

_HARMLESS: Final = {
    "noop", "objectformat", "partialclone", "preciousobjects", "refstorage",
    "relativeworktrees", "submodulepathconfig", "worktreeconfig",
}  # fmt: skip
_HEAD = re.compile(rb"ref: refs/|[0-9a-f]{40}")
_BARE_CONFIG = """\
[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = true
\tlogAllRefUpdates = true
[gc]
\tauto = 0
"""


@dataclass(frozen=True)
class Repository:
    """A git repository, as seen from one work tree.

    Attributes:
        common_dir: the directory with the objects and refs, which all work trees share.
        git_dir: the git directory of this work tree; the same as `common_dir`, except in a linked work tree.
        work_tree: the top folder of the work tree; None for a bare repository.
    """

    common_dir: Path
    git_dir: Path
    work_tree: Path | None

    @classmethod
    def discover(cls, start: Path) -> Repository | None:
        """Return the repository that contains `start`, searching upwards like git, or None.

        Raises:
            NotARepository: the repository is damaged or unreadable, or its format or an extension is not supported.
        """
        start = Path(os.path.realpath(start))
        for folder in (start, *start.parents):
            repository = _at(folder)
            if repository is not None:
                return _check_supported(repository)
        return None

    @classmethod
    def open(cls, path: Path) -> Repository:
        """Open the repository at `path`: a git directory, a work tree, or a folder inside one.

        Raises:
            NotARepository: `path` is not in a repository, or the repository is damaged, unreadable or not supported.
        """
        if not _is(S_ISDIR, path):
            raise NotARepository(f"{path} is not a folder", hint="give the path of a git repository")
        repository = cls.discover(path)
        if repository is None:
            raise NotARepository(f"{path} is not in a git repository", hint="make one there with `git init`")
        return repository

    @classmethod
    def create_bare(cls, path: Path) -> Repository:
        """Open the bare repository at `path`; create it first if the folder is missing or empty.

        Raises:
            NotARepository: `path` is neither a git repository nor an empty folder.
            WriteFailed: writing to disk failed.
        """
        if _is_git_dir(path):
            return cls.open(path)
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise NotARepository(f"{path} is not empty and not a git repository", hint="give an empty or a new folder")
        with durable_files.writing(str(path)):
            _make_bare(path)
        return cls.open(path)

    def config(self) -> Config:
        """Return the configuration of the repository, and of the work tree if `extensions.worktreeConfig` is set."""
        common = Config((self.common_dir / "config",))
        if is_true(common.get("extensions.worktreeConfig")):
            return Config((*common.paths, self.git_dir / "config.worktree"))
        return common

    @cached_property
    def object_format(self) -> ObjectFormat:
        """The hash function for object ids: sha1 or sha256."""
        return OBJECT_FORMATS[(self.config().get("extensions.objectFormat") or "sha1").lower()]

    @cached_property
    def keeps_all_objects(self) -> bool:
        """Whether objects must never be removed, not even duplicates (`extensions.preciousObjects`)."""
        return is_true(self.config().get("extensions.preciousObjects"))

    @property
    def promisors(self) -> tuple[str, ...]:
        """The remotes that promised to keep the objects which a partial clone left out, as in git's configuration.

        Raises:
            Corrupt, StoreError: the configuration cannot be read.
        """
        config = self.config()
        named = (key.removesuffix(".promisor") for key in config.keys("remote") if key.endswith(".promisor"))
        names = [name for name in named if is_true(config.get(f"remote.{name}.promisor"))]
        first = config.get("extensions.partialClone")  # the only setting of git before 2.23
        return tuple(dict.fromkeys([*([first] if first else []), *names]))

    @property
    def is_partial(self) -> bool:
        """Whether objects may be missing because only a promisor remote has them (a partial clone)."""
        return bool(self.promisors) or any((self.common_dir / "objects" / "pack").glob("pack-*.promisor"))

    @property
    def foreign_owner(self) -> int | None:
        """The user id of the owner; None if the current user owns the repository (compare git's `safe.directory`)."""
        if not hasattr(os, "geteuid"):
            return None
        owners = (folder.stat().st_uid for folder in (self.git_dir, self.common_dir))
        return next((owner for owner in owners if owner != os.geteuid()), None)


def _check_supported(repository: Repository) -> Repository:
    """Return `repository` if its format is supported.

    Raises:
        NotARepository: the format version, an extension, the ref storage or the hash function is not supported.
    """
    config = repository.config()
    version = config.get("core.repositoryFormatVersion") or "0"
    if version not in {"0", "1"}:
        raise _unusable(repository, f"has repository format version {version}; baton supports 0 and 1")
    unknown = sorted(set(config.keys("extensions")) - _HARMLESS)
    if unknown:
        raise _unusable(repository, f"uses the extension {unknown[0]}, which baton does not support")
    if (config.get("extensions.refStorage") or "files").lower() != "files":
        raise _unusable(repository, "stores its refs in a reftable", hint="git refs migrate --ref-format=files")
    name = config.get("extensions.objectFormat") or "sha1"
    if name.lower() not in OBJECT_FORMATS:
        raise _unusable(repository, f"has the object format {name}; baton supports sha1 and sha256")
    return repository


def _unusable(repository: Repository, why: str, *, hint: str = "") -> NotARepository:
    return NotARepository(
        f"{repository.git_dir} {why}", hint=hint or "use another repository, or run baton outside of any repository"
    )


def _at(folder: Path) -> Repository | None:
    """Return the repository whose top folder or git directory is exactly `folder`, or None."""
    dot = folder / ".git"
    if _is(S_ISREG, dot):
        return _repository(_read_git_file(dot), folder)
    if _is_git_dir(dot):
        return _repository(dot, folder)
    if _is_git_dir(folder):
        return _repository(folder, None)
    if _is(S_ISDIR, dot / "objects") and _is(S_ISDIR, dot / "refs"):
        # git gives up here, too; continuing upwards would store the state in an enclosing repository.
        raise NotARepository(f"{dot} is damaged: its HEAD cannot be read", hint="see `git status`, and repair HEAD")
    if _is(S_ISDIR, dot) and _is_forbidden(dot / "HEAD"):
        hint = f"see its owner and mode: ls -ld {shlex.quote(str(dot))}"
        raise NotARepository(f"{dot} cannot be read: permission denied", hint=hint)
    return None


def _repository(git_dir: Path, top: Path | None) -> Repository:
    """Return the repository of a git directory, found through `top/.git` or (`top` is None) from inside it."""
    git_dir = Path(os.path.realpath(git_dir))
    common_dir = _find_common_dir(git_dir)
    bare = Repository(common_dir, git_dir, None)
    if git_dir != common_dir:  # a linked work tree, whose git directory has a file with the work tree's location
        return Repository(common_dir, git_dir, top or linked_top(git_dir))
    config = bare.config()
    if is_true(config.get("core.bare")):
        return bare
    named = config.get("core.worktree")
    if named:
        return Repository(common_dir, git_dir, Path(os.path.realpath(git_dir / named)))
    return Repository(common_dir, git_dir, top or (git_dir.parent if git_dir.name == ".git" else None))


def _read_git_file(dot: Path) -> Path:
    """Return the git directory that a `.git` file points to."""
    try:
        text = dot.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise NotARepository(f"cannot read {dot}: {error.strerror}", hint=advise_access(dot, error)) from error
    target = dot.parent / text.removeprefix("gitdir:").strip()
    if not text.startswith("gitdir:") or not _is_git_dir(target):
        raise NotARepository(
            f"{dot} does not point to a git directory",
            hint="if the work tree or the repository was moved, run `git worktree repair`",
        )
    return target


def _find_common_dir(git_dir: Path) -> Path:
    try:
        named = (git_dir / "commondir").read_text(encoding="utf-8", errors="surrogateescape").strip()
    except FileNotFoundError:
        return git_dir
    return Path(os.path.realpath(git_dir / named))


def linked_top(git_dir: Path) -> Path | None:
    """Return the top folder of the linked work tree with this git directory; None for any other git directory.

    Raises:
        NotARepository: the file `gitdir` cannot be read.
    """
    try:
        dot = (git_dir / "gitdir").read_text(encoding="utf-8", errors="surrogateescape").strip()
    except FileNotFoundError:
        return None
    except OSError as error:
        file = git_dir / "gitdir"
        raise NotARepository(f"cannot read {file}: {error.strerror}", hint=advise_access(file, error)) from error
    return Path(os.path.realpath(git_dir / dot)).parent


def _is_git_dir(folder: Path) -> bool:
    """Return whether git would accept the folder: a plausible HEAD, and objects and refs in the common directory."""
    try:
        head = (folder / "HEAD").read_bytes()
        common = _find_common_dir(folder)
    except OSError:
        return False
    return bool(_HEAD.match(head)) and _is(S_ISDIR, common / "objects") and _is(S_ISDIR, common / "refs")


def _is(kind: Callable[[int], bool], path: Path) -> bool:
    """Return whether `path` exists and is of this kind; False if it cannot be examined, as in git."""
    try:
        return kind(path.stat().st_mode)
    except OSError:
        return False


def _is_forbidden(path: Path) -> bool:
    """Return whether the permissions of a parent folder prevent access to `path`."""
    try:
        path.stat()
    except PermissionError:
        return True
    except OSError:
        return False
    return False


def _make_bare(path: Path) -> None:
    """Create the repository under a temporary name, and rename it to `path`.

    If two processes do this at the same time, both use the repository that was renamed first. An existing empty folder
    is not replaced, because it may be the current directory of a process. In that case the files are created in a
    subfolder and moved up, `HEAD` last.
    """
    durable_files.make_folder(path.parent)
    fresh = (path if path.is_dir() else path.parent) / f".{path.name}-{durable_files.random_name()}"
    _write_bare(fresh)
    try:
        if path.is_dir():
            for name in (*(entry.name for entry in fresh.iterdir() if entry.name != "HEAD"), "HEAD"):
                (fresh / name).replace(path / name)
            durable_files.sync_folder(path)
            fresh.rmdir()
        else:
            fresh.rename(path)
    except OSError:
        shutil.rmtree(fresh, ignore_errors=True)
        if not _is_git_dir(path):
            raise
    durable_files.sync_folder(path.parent)


def _write_bare(fresh: Path) -> None:
    for folder in ("objects/info", "objects/pack", "refs/heads", "refs/tags", "info", "hooks"):
        (fresh / folder).mkdir(parents=True)
    durable_files.write_new(fresh / "config", _BARE_CONFIG.encode(), mode=0o644, sync=True)
    durable_files.write_new(fresh / "HEAD", b"ref: refs/heads/main\n", mode=0o644, sync=True)
    for folder, _, _ in os.walk(fresh, topdown=False):
        durable_files.sync_folder(Path(folder))


# --- work trees that have a branch checked out
#
# A write moves the branch, but does not change these work trees, so `git status` there shows the write as reverted.


def find_checkout(repository: Repository, ref: str) -> Path | None:
    """Return the top folder of a work tree whose HEAD is `ref`, or None. Unreadable work trees are skipped."""
    wanted = f"ref: {ref}".encode("utf-8", "surrogateescape")
    for head, top in _heads(repository):
        with suppress(StoreError, OSError, ValueError):  # ValueError: a path with a NUL in it
            if durable_files.content(head).strip() == wanted:
                work_tree = top()
                if work_tree is not None:
                    return work_tree
    return None


def _heads(repository: Repository) -> Iterator[tuple[str, Callable[[], Path | None]]]:
    """Yield each HEAD file, and a function that returns the top folder of its work tree."""
    common = repository.common_dir
    yield f"{common}{os.sep}HEAD", lambda: _main_top(repository)
    linked = f"{common}{os.sep}worktrees{os.sep}"
    for name in _names(linked):
        yield f"{linked}{name}{os.sep}HEAD", partial(linked_top, Path(linked, name))


def list_work_trees(repository: Repository) -> list[Path]:
    """Return the top folders of the work trees, including deleted linked ones that git has not pruned yet.

    Unreadable work trees are skipped.
    """
    tops = []
    linked = f"{repository.common_dir}{os.sep}worktrees{os.sep}"
    for top in (partial(_main_top, repository), *(partial(linked_top, Path(linked, name)) for name in _names(linked))):
        with suppress(StoreError, OSError, ValueError):
            tops.append(top())
    return [top for top in tops if top is not None]


def _names(worktrees: str) -> list[str]:
    try:
        return sorted(os.listdir(worktrees))
    except OSError:
        return []


def _main_top(repository: Repository) -> Path | None:
    if repository.git_dir == repository.common_dir:
        return repository.work_tree
    return Repository.open(repository.common_dir).work_tree
