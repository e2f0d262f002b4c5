"""The boundary of an incomplete history: commits that are read as if they had no parents.

git's own boundary is the file `shallow` in the common directory: the parents of these commits are not here. Baton's
boundary is `baton/boundary`, which has the version and then one line for each commit with the branch whose history ends
there for now. It lists commits whose parents baton is still to fetch, which are in git's file, too, and commits whose
parents git fetched, but baton did not process yet. The latter are complete for git.

Both files change under git's lock, and each is replaced as a whole. A commit is listed before a ref leads to it, and it
is removed once its parents are stored; so a process that is killed in between leaves a history that can be read. If
`baton/boundary` is lost, the history stays as it is; `git fetch --unshallow` completes it.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from baton_git.core.errors import Busy, Corrupt, StoreError
from baton_git.core.names import Oid
from baton_git.git.files import durable_files
from baton_git.git.files.atomic_files import advise_access
from baton_git.git.files.ref_locks import wait_until

_OWN: Final = "baton/boundary"
_VERSION: Final = "baton boundary 1"
_WAIT: Final = 5.0
_ABANDONED: Final = 60.0
"""Age in seconds at which a lock is the leftover of a killed process; it is never held for long."""
_MODE: Final = 0o644
Signature = tuple[tuple[int, int, int] | None, ...]


class Boundary(NamedTuple):
    """Attributes:
    shallow: git's boundary.
    own: the branch by commit of baton's boundary.
    """

    shallow: frozenset[str] = frozenset()
    own: Mapping[Oid, str] = MappingProxyType({})

    def within(self, shallow: frozenset[str]) -> Boundary:
        """Return the boundary in a quarantine with this `shallow` file, into which older commits were fetched."""
        own = {oid: ref for oid, ref in self.own.items() if oid in shallow or oid not in self.shallow}
        return Boundary(shallow, own)

    def without(self, commits: Collection[Oid]) -> Boundary:
        """Return the boundary without some commits of baton's."""
        return self._replace(own={oid: ref for oid, ref in self.own.items() if oid not in commits})

    def has(self, commit: Oid) -> bool:
        return commit in self.shallow or commit in self.own

    def of(self, ref: str) -> list[Oid]:
        """Return the commits at which the history of a branch ends for now."""
        return sorted(commit for commit, branch in self.own.items() if branch == ref)

    @property
    def digest(self) -> str:
        """A text that identifies baton's boundary; empty if there is none."""
        return sha256("".join(sorted(self.own)).encode()).hexdigest()[:16] if self.own else ""

    @property
    def is_shallow(self) -> bool:
        """Whether the user made a shallow clone."""
        return not self.shallow <= self.own.keys()


def sign(common_dir: Path) -> Signature:
    """Return a value that changes with the boundary."""
    return _sign_file(f"{common_dir}/shallow"), _sign_file(f"{common_dir}/{_OWN}")  # texts: every read comes here


def _sign_file(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def read(common_dir: Path) -> Boundary:
    """Return the boundary of a repository.

    Raises:
        Corrupt: git's file is not text.
        StoreError: a file cannot be read.
    """
    lines = _read_lines(_own_file(common_dir))
    rows = (line.split(" ", 1) for line in lines[1:]) if lines[:1] == [_VERSION] else iter(())
    return Boundary(
        frozenset(_read_lines(common_dir / "shallow")), {Oid(row[0]): row[1] for row in rows if len(row) == 2}
    )


def _own_file(common_dir: Path) -> Path:
    return common_dir / _OWN


def _read_lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="ascii").split("\n")[:-1]
    except (FileNotFoundError, NotADirectoryError):  # whoever writes below `baton` says what is in the way
        return []
    except OSError as error:
        raise StoreError(f"cannot read {file}: {error.strerror}", hint=advise_access(file, error)) from error
    except ValueError as error:
        raise Corrupt(str(file), "is not a list of commits", hint="run `git fsck`") from error


def change(
    common_dir: Path,
    ref: str,
    *,
    missing: Collection[Oid] = (),
    unread: Collection[Oid] = (),
    gone: Collection[Oid] = (),
) -> None:
    """Add commits to the boundary of a branch, and remove others.

    Args:
        missing: new boundary commits whose parents are not here.
        unread: new boundary commits whose parents are here.
        gone: commits that no longer are a boundary; those that are not baton's stay.

    Raises:
        Busy: another process holds git's lock.
        WriteFailed: writing to disk failed.
    """
    with durable_files.writing(f"the boundary of the history in {common_dir}"), _lock(common_dir):
        before = read(common_dir)
        own = {**before.own, **dict.fromkeys((*missing, *unread), ref)}
        removed = {commit for commit in gone if commit in before.own and commit not in missing}
        _write_own(common_dir, own)
        shallow = (before.shallow | set(missing)) - removed
        if shallow != before.shallow:
            _write_shallow(common_dir, shallow)
        _write_own(common_dir, {commit: branch for commit, branch in own.items() if commit not in removed})


def _write_shallow(common_dir: Path, commits: Collection[str]) -> None:
    """Replace git's file; for an empty list, remove it."""
    if commits:
        data = "".join(f"{commit}\n" for commit in sorted(commits)).encode()
        durable_files.replace_file(common_dir / "shallow", data, mode=_MODE)
    else:
        durable_files.remove(common_dir / "shallow")
        durable_files.sync_folder(common_dir)


def _write_own(common_dir: Path, own: Mapping[Oid, str]) -> None:
    path = _own_file(common_dir)
    if not own:
        durable_files.remove(path)
        return
    durable_files.make_folder(path.parent)
    lines = [_VERSION, *(f"{commit} {ref}" for commit, ref in sorted(own.items()))]
    durable_files.replace_file(path, "".join(f"{line}\n" for line in lines).encode(), mode=_MODE)


@contextmanager
def _lock(common_dir: Path) -> Iterator[None]:
    path = common_dir / "shallow.lock"

    def acquire() -> bool:
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _MODE))
        except FileExistsError:
            with suppress(FileNotFoundError):
                if durable_files.now_of(common_dir) - path.stat().st_mtime > _ABANDONED:
                    path.unlink()
            return False
        return True

    if not wait_until(acquire, _WAIT):
        raise Busy(f"another process holds {path}", hint="if no git command is running, remove that file")
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
