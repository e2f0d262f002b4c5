"""The cache folder of session-baton's clients: read what they changed in it, and save so that a kill loses nothing."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from baton_git.core.codecs import json
from baton_git.core.errors import (
    BatonError,
    Busy,
    Corrupt,
    InvalidArgument,
    InvalidDocument,
    InvalidName,
    LimitExceeded,
    NotFound,
    WriteFailed,
)
from baton_git.core.names import Namespace
from baton_git.core.records.base import alike
from baton_git.git.files.atomic_files import (
    make_folder,
    resolve_target,
    show_path,
    spare_name,
    sync_folder,
    write_new,
    writing,
)
from baton_git.git.files.durable_files import remove
from baton_git.git.files.ref_locks import hold_flock, local_name
from baton_git.systems.imported import PENDING, ImportedBaton, parse_object, remove_mark
from baton_git.systems.session_baton.http_client import ServerAnswer
from baton_git.systems.session_baton.storage_files import (
    SUFFIX,
    cache_stem,
    check_stem,
    encode_cached,
    read_regular_file,
)

# --- the content of the sidecar file


@dataclass(frozen=True)
class SyncState:
    """The sync state of a cached namespace with its server.

    Attributes:
        url: the server to which the other fields refer; empty if no server was contacted yet.
        seen: the server's document when last seen: the merge base, and the expected state of the next write.
        local: the pending document, or None.
        theirs: the server's document when it rejected `local`; None if there is no conflict.
        owns: whether the cache file belongs to this namespace; several namespaces may share a file name.
        digests: the SHA-256 digests of the cache file after baton's last write and before it. After a kill during that
            write, the file may have either.
    """

    namespace: str
    url: str = ""
    seen: ServerAnswer | None = None
    local: dict[str, Any] | None = None
    theirs: ServerAnswer | None = None
    owns: bool = True
    digests: tuple[str, ...] = ()

    def encode(self) -> bytes:
        data = {
            "namespace": self.namespace, "url": self.url, "seen": _encode_answer(self.seen), "local": self.local,
            "theirs": _encode_answer(self.theirs), "owns": self.owns, "digests": list(self.digests),
        }  # fmt: skip
        return f"{json.dumps(data)}\n".encode()


def _encode_answer(answer: ServerAnswer | None) -> dict[str, Any] | None:
    if answer is None:
        return None
    return {"baton": answer.baton, "updated_at": answer.updated_at, "revision": answer.revision}


def parse_sync_state(text: bytes, namespace: str, where: str) -> SyncState:
    """Parse the sidecar file of `namespace`.

    Raises:
        Corrupt: it cannot be parsed, or belongs to another namespace.
    """
    try:
        data = json.loads(text, where=where)
        sync_state = SyncState(
            data["namespace"], data["url"], _parse_answer(data["seen"]), _parse_object(data["local"]),
            _parse_answer(data["theirs"]), data["owns"] is True, tuple(str(digest) for digest in data["digests"]),
        )  # fmt: skip
    except (InvalidDocument, LimitExceeded, KeyError, TypeError) as error:
        raise Corrupt(where, "is damaged: it is not a sidecar file of baton's cache") from error
    if sync_state.namespace != namespace or not isinstance(sync_state.url, str):
        raise Corrupt(where, "is the sidecar file of another namespace")
    return sync_state


def _parse_answer(data: Any) -> ServerAnswer | None:
    if data is None:
        return None
    updated_at, revision = data["updated_at"], data["revision"]
    if not isinstance(updated_at, str | None) or not isinstance(revision, int | None):
        raise TypeError("not an answer")
    return ServerAnswer(_parse_object(data["baton"]), updated_at, revision)


def _parse_object(data: Any) -> dict[str, Any] | None:
    if not isinstance(data, dict | None):
        raise TypeError("not an object")
    return data


# --- the folder


SIDECARS, KEPT = ".baton", "kept"
"""The folder of baton's own files in the cache, and the folder of replaced documents in it."""


class KeptFile(NamedTuple):
    """A file to keep in the folder `kept` before its content is replaced: its name, and the reason."""

    name: str
    content: bytes
    why: str


@dataclass(frozen=True)
class CacheEntry:
    """One namespace of the cache folder.

    Attributes:
        sync_state: the state of the namespace; its `local` can be a document that another client left pending in the
            cache file.
        copy: the document to read offline, or None.
        raw: the content of the cache file, if this namespace owns it; None if there is no file.
        rival: the other namespace that owns the cache file, or None.
        unclaimed: whether a cache file exists that may belong to another namespace with the same file name.
        aside: the files to keep in `kept` before the next save.
    """

    sync_state: SyncState
    copy: dict[str, Any] | None = None
    raw: bytes | None = None
    rival: str | None = None
    unclaimed: bool = False
    aside: tuple[KeptFile, ...] = ()

    @property
    def status(self) -> str:
        """`synced`, `pending_upload`, `conflict`, or `nothing`."""
        if self.sync_state.local is not None:
            return "conflict" if self.sync_state.theirs is not None else PENDING
        return "nothing" if self.copy is None else "synced"


@dataclass(frozen=True)
class CacheFolder:
    """The cache at a path."""

    path: Path

    # --- reading

    def file(self, namespace: Namespace) -> Path:
        """Return the path of the cache file. Raises InvalidName if the namespace cannot be a file name."""
        return self.path / f"{check_stem(namespace.text)}{SUFFIX}"

    def read_entry(self, namespace: Namespace) -> CacheEntry:
        """Read the entry of a namespace, including changes by other clients.

        Raises:
            InvalidName: the namespace cannot be a file name.
            InvalidArgument: the path of a file is not a regular file.
            StoreError, LimitExceeded: a file cannot be read, or is too large.
        """
        sync_state, aside = self._read_state(namespace)
        rival = self._find_rival(namespace)
        if rival is not None:
            return CacheEntry(
                sync_state or SyncState(namespace.text), _find_document(sync_state), rival=rival, aside=aside
            )
        file = self.file(namespace)
        raw = _read_content(file)
        if raw is None or (sync_state is not None and sha256(raw).hexdigest() in sync_state.digests):
            return CacheEntry(sync_state or SyncState(namespace.text), _find_document(sync_state), raw, aside=aside)
        try:
            baton, mark = remove_mark(parse_object(raw, where=show_path(file)), cached=True)
        except (InvalidDocument, LimitExceeded) as error:
            bad = KeptFile(f"{file.name}.{_shorten_digest(raw)}.bad", raw, f"cannot be read ({error})")
            return CacheEntry(
                sync_state or SyncState(namespace.text), _find_document(sync_state), raw, aside=(*aside, bad)
            )
        if sync_state is None:
            return _make_unknown_entry(namespace, baton, mark == PENDING, raw, aside)
        return _make_changed_entry(sync_state, baton, mark == PENDING, raw, aside)

    def _read_state(self, namespace: Namespace) -> tuple[SyncState | None, tuple[KeptFile, ...]]:
        path = self._make_state_path(namespace)
        raw = _read_content(path)
        if raw is None:
            return None, ()
        try:
            return parse_sync_state(raw, namespace.text, show_path(path)), ()
        except Corrupt as error:
            return None, (KeptFile(f"{path.name}.{_shorten_digest(raw)}.bad", raw, str(error)),)

    def _make_state_path(self, namespace: Namespace) -> Path:
        return self.path / SIDECARS / f"{namespace.component}{SUFFIX}"

    def _find_rival(self, namespace: Namespace) -> str | None:
        """Return the other namespace that owns the cache file, or None. If several claim it, the one that wrote it owns
        it."""
        claims = []
        for name in self._list_recorded_names():
            if _fold_name(name) == _fold_name(namespace):
                sync_state, damaged = self._read_state(name)
                if damaged or (sync_state is not None and sync_state.owns):
                    claims.append((name, sync_state))
        if not claims or [claimant for claimant, _ in claims] == [namespace]:
            return None
        raw = _read_content(self.file(namespace)) if len(claims) > 1 else None
        written = sha256(raw).hexdigest() if raw is not None else ""
        owner, _ = min(claims, key=lambda claim: (claim[1] is None, claim[1] and written not in claim[1].digests))
        return owner.text if owner != namespace else None

    def _list_recorded_names(self) -> list[Namespace]:
        names = []
        for path in sorted((self.path / SIDECARS).glob(f"*{SUFFIX}")):
            try:
                names.append(Namespace.from_component(path.name.removesuffix(SUFFIX)))
            except InvalidName:  # not the name of a sidecar that baton wrote
                continue
        return names

    def list_namespaces(self) -> tuple[list[Namespace], list[str]]:
        """List the namespaces with a sidecar or an unambiguous file name, and the names of the other files."""
        known = self._list_recorded_names()
        recorded = {_fold_name(namespace) for namespace in known}
        plain: list[Namespace] = []
        doubtful: list[str] = []
        for name in sorted(path.name for path in self.path.glob(f"*{SUFFIX}") if path.is_file()):
            try:
                namespace = Namespace(name.removesuffix(SUFFIX))
            except InvalidName:
                doubtful.append(name)
                continue
            if _fold_name(namespace) in recorded:
                continue
            if _is_shared(namespace):
                doubtful.append(name)
            else:
                plain.append(namespace)
        return [*known, *plain], doubtful

    def list_kept(self) -> list[Path]:
        """List the kept files, sorted by name."""
        return sorted(path for path in (self.path / SIDECARS / KEPT).glob("*") if path.is_file())

    # --- writing

    @contextmanager
    def lock(self, namespace: Namespace, wait: float) -> Iterator[None]:
        """Lock the cache file of the namespace, which other namespaces may share.

        Raises:
            Busy: another process held the lock for longer than `wait` seconds.
            WriteFailed: the folder cannot be created.
        """
        self._make_folders()
        with hold_flock(self.path / SIDECARS / f"{local_name(_fold_name(namespace))}.lock", wait) as held:
            if held is False:
                raise Busy(f"another process works on the cache of {namespace}", hint="try again in a moment")
            yield

    def _make_folders(self) -> None:
        make_folder(self.path.parent)
        for folder in (self.path, self.path / SIDECARS, self.path / SIDECARS / KEPT):
            with writing(folder):
                folder.mkdir(mode=0o700, exist_ok=True)

    def save(self, entry: CacheEntry, sync_state: SyncState, keep: Iterable[KeptFile] = ()) -> CacheEntry:
        """Keep the files that are replaced, then write the sidecar and, if the namespace owns it, the cache file.

        Raises:
            WriteFailed: a file cannot be written; the previous content is unchanged.
            LimitExceeded: the document is too large.
        """
        for kept in (*entry.aside, *keep):
            self._keep(kept)
        namespace = Namespace(sync_state.namespace)
        baton = _find_document(sync_state)
        sync_state = replace(sync_state, owns=entry.rival is None)
        if baton is None or entry.rival is not None:
            _write_files({self._make_state_path(namespace): sync_state.encode()})
            return CacheEntry(sync_state, _find_document(sync_state), entry.raw, entry.rival)
        content = encode_cached(ImportedBaton(sync_state.namespace, baton, None, pending=sync_state.local is not None))
        before = () if entry.raw is None else (sha256(entry.raw).hexdigest(),)
        sync_state = replace(sync_state, digests=(sha256(content).hexdigest(), *before))
        _write_files({self._make_state_path(namespace): sync_state.encode(), self.file(namespace): content})
        return CacheEntry(sync_state, _find_document(sync_state), content)

    def _keep(self, kept: KeptFile) -> None:
        path = self.path / SIDECARS / KEPT / kept.name
        if not path.exists():
            _write_files({path: kept.content})


def make_kept_document(namespace: str, baton: dict[str, Any], why: str) -> KeptFile:
    content = f"{json.dumps(baton)}\n".encode()
    return KeptFile(f"{Namespace(namespace).component}.{_shorten_digest(content)}{SUFFIX}", content, why)


def _shorten_digest(content: bytes) -> str:
    return sha256(content).hexdigest()[:12]


def _find_document(sync_state: SyncState | None) -> dict[str, Any] | None:
    """Return the pending document, else the server's document when last seen, else None."""
    if sync_state is None:
        return None
    if sync_state.local is not None:
        return sync_state.local
    return sync_state.seen.baton if sync_state.seen is not None else None


def _make_unknown_entry(
    namespace: Namespace, baton: dict[str, Any], is_pending: bool, raw: bytes, aside: tuple[KeptFile, ...]
) -> CacheEntry:
    """Make the entry of a file that another client created and that has no sidecar."""
    sync_state = SyncState(namespace.text, local=baton if is_pending else None)
    if not _is_shared(namespace):
        return CacheEntry(sync_state, baton, raw, aside=aside)
    why = f"it may belong to another namespace that is also called {cache_stem(namespace.text)} in the cache"
    return CacheEntry(
        sync_state, baton, raw, unclaimed=True, aside=(*aside, make_kept_document(namespace.text, baton, why))
    )


def _make_changed_entry(
    sync_state: SyncState, baton: dict[str, Any], is_pending: bool, raw: bytes, aside: tuple[KeptFile, ...]
) -> CacheEntry:
    """Make the entry of a known file that another client has changed or marked."""
    known = _find_document(sync_state)
    if known is not None and alike(known, baton):
        return CacheEntry(replace(sync_state, local=baton) if is_pending else sync_state, baton, raw, aside=aside)
    if sync_state.local is not None:
        lost = make_kept_document(
            sync_state.namespace, sync_state.local, "another client wrote over it before it was sent"
        )
        aside = (*aside, lost)
    return CacheEntry(replace(sync_state, local=baton, theirs=None), baton, raw, aside=aside)


def _read_content(path: Path) -> bytes | None:
    try:
        return read_regular_file(path)
    except NotFound:
        return None
    except InvalidArgument as error:
        raise InvalidArgument(f"{show_path(path)} {error}", hint=error.hint) from None


def _fold_name(namespace: Namespace) -> str:
    """Return a key that is equal for namespaces whose cache files may collide, also where case is ignored."""
    return unicodedata.normalize("NFC", cache_stem(namespace.text)).casefold()


def _is_shared(namespace: Namespace) -> bool:
    """Return whether several namespaces may have this cache file name."""
    return "_" in cache_stem(namespace.text)


def _write_files(contents: Mapping[Path, bytes]) -> None:
    """Write files with mode 0600, in this order, all or none: a sidecar must not announce a document that was not
    written.

    Raises:
        WriteFailed: a file cannot be written; the previous files are restored, or the hint says that they are not.
    """
    before = {path: _read_content(path) for path in contents}
    staged: dict[Path, Path] = {}
    done: list[Path] = []
    try:
        for path, content in contents.items():
            staged[path] = spare_name(resolve_target(path).parent)
            with writing(path):
                write_new(staged[path], content, mode=0o600)
        for path, spare in staged.items():
            with writing(path):
                spare.replace(resolve_target(path))
                done.append(path)
                sync_folder(resolve_target(path).parent)
    except BatonError:
        _restore_files({path: before[path] for path in reversed(done)})
        raise
    finally:
        for spare in staged.values():
            remove(spare)


def _restore_files(before: Mapping[Path, bytes | None]) -> None:
    """Restore previous contents. Raises WriteFailed when a file cannot be written."""
    for path, content in before.items():
        target = resolve_target(path)
        spare = spare_name(target.parent)
        try:
            if content is None:
                target.unlink(missing_ok=True)
                continue
            write_new(spare, content, mode=0o600)
            spare.replace(target)
        except OSError as error:
            hint = "the document may still be in the cache; when the disk is writable again, run: baton cache status"
            raise WriteFailed(
                f"cannot write {show_path(path)}: {error.strerror}", hint=hint, path=show_path(path)
            ) from error
        finally:
            remove(spare)
