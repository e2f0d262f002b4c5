"""Find and remove what baton stored in a repository: refs, settings, holds on packs, and its folders of local data.

Everything is removed by git or is a plain file, so an interrupted removal is finished by the next one. The folders of
local data go last: they tell what else there is.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from baton_git.core.errors import BatonError, NotAllowed, StoreError
from baton_git.core.names import Oid
from baton_git.git.files.durable_files import make_folder, sync_folder, writing
from baton_git.git.local_git import LocalGit
from baton_git.git.objects.pack_writer import KEEP_MARK, TEMPORARY_INDEX, TEMPORARY_PACK
from baton_git.git.refs.kept_refs import KEPT, kept_name
from baton_git.git.remotes import open_remote
from baton_git.git.store import Repository
from baton_git.git.store.housekeeping import HELD_MARK
from baton_git.namespace.branch import Branch
from baton_git.namespace.sync.remote_names import SECONDS, NamedRemote, check_remote, delete_on_remote

PREFIXES = ("refs/heads/baton/", "refs/baton/")
"""Where branches of baton are, besides the configured prefix; `refs/baton-…/` has the private refs."""
_PRIVATE = "refs/baton-"
_FETCHED = "refs/remotes/"
_GIT_SECONDS = 600
"""Maximum time in seconds for a git command that reads or writes all objects."""


class Staying(NamedTuple):
    """Something that a removal leaves, and why."""

    what: str
    why: str


class ConfigKey(NamedTuple):
    """A key in a configuration file of the repository."""

    file: Path
    key: str


class RemoteBranch(NamedTuple):
    """A namespace that a remote has now, with its tip there."""

    remote: str
    ref: str
    tip: Oid


class Removal(NamedTuple):
    """What baton stored in a repository.

    Attributes:
        refs: the refs to delete, with their values.
        config: the keys to remove from the repository's own configuration files.
        holds: the `.keep` files by which baton keeps its packs from git, and files of interrupted writes.
        folders: the folders of local data, in the git directory and in those of linked work trees.
        stays: what is not removed.
    """

    refs: Mapping[str, Oid]
    config: tuple[ConfigKey, ...]
    holds: tuple[Path, ...]
    folders: tuple[Path, ...]
    stays: tuple[Staying, ...]


def plan_removal(branch: Branch, git: LocalGit) -> Removal:
    """Find what baton stored in the repository of a branch.

    Raises:
        NotAllowed: a branch of baton is checked out in a work tree.
        StoreError: git fails.
    """
    repository = branch.store.repository
    refs, foreign = _find_refs(branch, git)
    _check_not_checked_out(git, refs)
    others = {kept.what for kept in foreign}
    config = tuple(_find_config(repository, git, (branch.prefix, *PREFIXES), others))
    folders = tuple(folder for folder in _list_git_folders(repository) if (folder / "baton").exists())
    stays = (*foreign, *_find_outer_settings(git, {found.key for found in config}))
    return Removal(refs, config, tuple(find_holds(repository)), tuple(folder / "baton" for folder in folders), stays)


def find_on_remotes(branch: Branch, names: Iterable[str], refs: Mapping[str, Oid],
                    environment: Mapping[str, str]) -> tuple[list[RemoteBranch], list[Staying]]:  # fmt: skip
    """Ask the remotes for the namespaces among `refs`; also return the remotes that did not answer."""
    wanted = {ref: ref for ref in refs if ref.startswith(branch.prefix)}
    found, silent = [], []
    for name in names if wanted else ():
        try:
            remote = open_remote(branch.store.repository, name, environment)
            found += [RemoteBranch(name, ref, tip) for ref, tip in remote.tips(wanted, seconds=SECONDS).items()]
        except BatonError as error:
            silent.append(Staying(f"the namespaces on {name}, if it has any", f"it could not be asked: {error}"))
    return found, silent


def count_unique(branch: Branch, git: LocalGit, refs: Mapping[str, Oid], elsewhere: Iterable[RemoteBranch]) -> int:
    """Return the number of commits that the refs reach, and that no remote has now.

    Raises:
        StoreError: git cannot count them, because objects are missing.
    """
    known = {found.tip for found in elsewhere if branch.store.has(found.tip)}
    revisions = "\n".join([*refs.values(), *(f"^{tip}" for tip in known)])
    with _reading_all(git, refs):
        counted = git.read("rev-list", "--count", "--stdin", given=revisions.encode(), seconds=_GIT_SECONDS)
    return int(counted.strip() or 0) if refs else 0


@contextmanager
def _reading_all(git: LocalGit, refs: Iterable[str]) -> Iterator[None]:
    """Add what to do to the error of a git command inside the `with` block that reads all commits of the refs."""
    try:
        yield
    except StoreError as error:
        if error.hint:  # git could not be started, or took too long
            raise
        folder = shlex.quote(str(git.folder))
        deletions = " && ".join(f"git -C {folder} update-ref -d {shlex.quote(ref)}" for ref in sorted(refs))
        raise StoreError(
            f"the commits of baton cannot be read, so nothing was removed: {error}",
            hint="to see what is missing, and to get it back: baton doctor refs objects; to uninstall without these "
            f"commits: {deletions}",
        ) from error


def write_bundle(git: LocalGit, refs: Mapping[str, Oid], folder: Path, name: str) -> Path:
    """Write all commits of the refs to a bundle, verify it, and return its path. The same refs give the same path.

    Raises:
        StoreError: git cannot write or verify it.
        WriteFailed: the folder cannot be created.
    """
    digest = sha256("".join(f"{ref} {tip}\n" for ref, tip in sorted(refs.items())).encode()).hexdigest()[:12]
    path = folder / f"{name}-{digest}.bundle"
    with writing(str(folder)):
        make_folder(folder)
    given = "\n".join(refs).encode()
    with _reading_all(git, refs):
        git.read("bundle", "create", "--quiet", str(path), "--stdin", given=given, seconds=_GIT_SECONDS)
        git.read("bundle", "verify", "--quiet", str(path), seconds=_GIT_SECONDS)
    with writing(str(path)):
        path.chmod(0o600)
        fd = os.open(path, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
        sync_folder(folder)
    return path


def list_restoring_refspecs(refs: Iterable[str], prefix: str) -> list[str]:
    """Return the refspecs with which `git fetch` brings the branches back from a bundle of these refs.

    A branch that another program deleted is brought back from its kept ref.
    """
    present = set(refs)
    lost = {ref: f"refs/{ref.removeprefix(KEPT)}" for ref in sorted(present) if ref.startswith(KEPT)}
    own = [f"{prefix}*:{prefix}*"] if any(ref.startswith(prefix) for ref in present) else []
    return [*own, *(f"{kept}:{ref}" for kept, ref in lost.items() if ref not in present)]


def check_remote_branches(branch: Branch, found: Iterable[RemoteBranch], environment: Mapping[str, str]) -> None:
    """Check that the remotes have no commits that are not here, before anything is deleted.

    Raises:
        Unsettled, Unreachable, AccessDenied, RemoteError: as `check_remote`.
    """
    for each in found:
        sibling = branch.find_sibling(each.ref)
        if sibling is not None:
            remote = open_remote(branch.store.repository, each.remote, environment)
            check_remote(remote, sibling, branch.store.tip(each.ref))


def delete_remote_branches(branch: Branch, found: Iterable[RemoteBranch], environment: Mapping[str, str]) -> None:
    """Delete namespaces on their remotes.

    Raises:
        NotAllowed, Unsettled, Unreachable, AccessDenied, RemoteError: as `delete_on_remote`.
    """
    for each in found:
        sibling = branch.find_sibling(each.ref)
        if sibling is not None:
            remote = open_remote(branch.store.repository, each.remote, environment)
            delete_on_remote(NamedRemote(remote, each.remote, environment), sibling, branch.store.tip(each.ref))


def delete_refs(repository: Repository, git: LocalGit, refs: Mapping[str, Oid]) -> None:
    """Delete refs in one transaction, and the empty folders that they leave.

    Raises:
        StoreError: one of them has changed since, or git fails; then none is deleted.
    """
    present = _list_refs(git)
    lines = "".join(f"delete {ref} {tip}\n" for ref, tip in refs.items() if ref in present)
    try:
        git.read("update-ref", "--no-deref", "--stdin", given=lines.encode(), seconds=_GIT_SECONDS)
    except StoreError as error:
        hint = "somebody may have written meanwhile; run the command again"
        raise StoreError(f"the refs were not deleted: {error}", hint=hint) from error
    common = repository.common_dir
    for folder in (common / "refs", common / "logs" / "refs"):
        for own in (*folder.glob("baton-*"), *(folder / _tail(prefix) for prefix in PREFIXES)):
            _remove_empty(own)


def remove_config(git: LocalGit, keys: Iterable[ConfigKey]) -> None:
    """Remove keys from configuration files.

    Raises:
        StoreError: git cannot change a file.
    """
    for file, key in keys:
        if git.ask("config", "--file", str(file), "--get-all", key) is not None:
            git.do("config", "--file", str(file), "--unset-all", key)


def remove_files(paths: Iterable[Path]) -> None:
    """Remove files and folders; a background process may write into a folder for a moment longer.

    Raises:
        WriteFailed: something cannot be removed.
    """
    for path in paths:
        with writing(str(path)):
            if not path.is_dir():
                path.unlink(missing_ok=True)
                continue
            for _ in range(3):
                with suppress(OSError):
                    shutil.rmtree(path)
            if path.exists():
                shutil.rmtree(path)


# --- what is there


def _find_refs(branch: Branch, git: LocalGit) -> tuple[dict[str, Oid], list[Staying]]:
    """Return the refs of baton with their values, and the refs below baton's folders that are not baton's."""
    prefixes = tuple(dict.fromkeys((branch.prefix, *PREFIXES)))
    ours: dict[str, Oid] = {}
    foreign: list[Staying] = []
    listed = _list_refs(git)
    for ref, tip in listed.items():
        if ref.startswith(_PRIVATE) or listed.get(kept_name(ref)) == tip:  # baton moved it there
            ours[ref] = tip
        elif ref.startswith(prefixes) or _is_fetched(ref, prefixes):
            try:
                is_ours = branch.is_namespace(tip)
            except BatonError as error:
                foreign.append(Staying(ref, f"it cannot be read, so it may be yours: {error}"))
                continue
            if is_ours:
                ours[ref] = tip
            else:
                foreign.append(Staying(ref, "it is not a namespace of baton"))
    return ours, foreign


def _list_refs(git: LocalGit) -> dict[str, Oid]:
    listed = git.read("for-each-ref", "--format=%(objectname) %(refname)")
    return {ref: Oid(tip) for tip, _, ref in (line.partition(" ") for line in listed.splitlines())}


def _is_fetched(ref: str, prefixes: tuple[str, ...]) -> bool:
    """Return whether a ref is the copy of a remote's namespace that `git fetch` made."""
    tails = ["/" + prefix.removeprefix("refs/heads/") for prefix in prefixes if prefix.startswith("refs/heads/")]
    return ref.startswith(_FETCHED) and any(tail in ref for tail in tails)


def _check_not_checked_out(git: LocalGit, refs: Mapping[str, Oid]) -> None:
    folder = ""
    for line in (git.ask("worktree", "list", "--porcelain") or "").splitlines():
        word, _, value = line.partition(" ")
        folder = value if word == "worktree" else folder
        if word == "branch" and value in refs:
            raise NotAllowed(
                f"{value.removeprefix('refs/heads/')} is checked out in {folder}, so nothing was removed",
                hint=f"switch to another branch there, or: git worktree remove {folder}",
            )


def _list_git_folders(repository: Repository) -> list[Path]:
    """Return the common git directory, and the git directories of linked work trees."""
    common = repository.common_dir
    return [common, *sorted(path for path in (common / "worktrees").glob("*") if path.is_dir())]


def _find_config(
    repository: Repository, git: LocalGit, prefixes: Iterable[str], others: Collection[str]
) -> Iterator[ConfigKey]:
    """Yield the keys of baton, and those of branches below baton's prefixes, except for the branches of `others`."""
    files = [repository.common_dir / "config", *(f / "config.worktree" for f in _list_git_folders(repository))]
    for file in files:
        listed = git.ask("config", "--file", str(file), "--name-only", "--list") if file.is_file() else None
        for key in dict.fromkeys((listed or "").splitlines()):
            branch = "refs/heads/" + key.removeprefix("branch.").rpartition(".")[0]
            is_of_branch = key.startswith("branch.") and branch.startswith(tuple(prefixes)) and branch not in others
            if _is_own_key(key) or is_of_branch:
                yield ConfigKey(file, key)


def _is_own_key(key: str) -> bool:
    of_remote = key.startswith("remote.") and key.endswith((".batonpolicy", ".batonlanes"))
    return key.startswith(("baton.", "merge.baton.", "hook.baton-")) or of_remote


def _find_outer_settings(git: LocalGit, own: set[str]) -> Iterator[Staying]:
    """Yield the settings of baton that git reads from files outside of the repository."""
    shown = git.ask("config", "--show-origin", "--name-only", "--list") or ""
    for line in dict.fromkeys(shown.splitlines()):
        origin, _, key = line.partition("\t")
        if _is_own_key(key) and key not in own:
            yield Staying(f"the setting {key}", f"it is in {origin.removeprefix('file:')}, for other repositories too")


def find_holds(repository: Repository) -> Iterator[Path]:
    """Yield the `.keep` files by which baton keeps packs from git, and the files of interrupted writes."""
    packs = repository.common_dir / "objects" / "pack"
    for keep in sorted(packs.glob("pack-*.keep")):
        with suppress(OSError):
            content = keep.read_bytes()
            if content.startswith(KEEP_MARK) or content == HELD_MARK:
                yield keep
    yield from (path for prefix in (TEMPORARY_PACK, TEMPORARY_INDEX) for path in sorted(packs.glob(f"{prefix}*")))


def _tail(prefix: str) -> str:
    return prefix.removeprefix("refs/").rstrip("/")


def _remove_empty(folder: Path) -> None:
    """Remove a folder of refs if no file is left below it."""
    for path in sorted((*folder.rglob("*"), folder), reverse=True):
        with suppress(OSError):  # it is a file, or not empty
            path.rmdir()
