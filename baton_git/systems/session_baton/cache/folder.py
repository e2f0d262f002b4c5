"""The folder: looked at with what others changed in it, saved so that a kill at any moment loses nothing."""

from __future__ import annotations

import os
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
from baton_git.git.files.atomic_files import make_folder, resolve_target, show_path, spare_name, sync_folder, writing
from baton_git.git.files.durable_files import remove
from baton_git.git.files.ref_locks import hold_flock, local_name
from baton_git.systems.session_baton.cache.sync_state import Note, parse_note
from baton_git.systems.session_baton.importers import (
    PENDING,
    SUFFIX,
    Found,
    cache_stem,
    cached_text,
    parse_object,
    plain_content,
    unmarked,
    usable_stem,
)

BESIDE, KEPT = ".baton", "kept"


class Kept(NamedTuple):
    """Something that must make room, and stays in the folder `kept`: a name for it, and why."""

    name: str
    content: bytes
    why: str


@dataclass(frozen=True)
class Entry:
    """A namespace as the folder has it.

    Attributes:
        note: what is known, with `local` as it is now: what another client left to be sent counts.
        copy: the document that can be read without a server; None when there is none.
        raw: what the cache file holds, where it is this namespace's; None where there is none.
        rival: the namespace that the cache file belongs to, where that is another one.
        unclaimed: whether a file lies there that may be of another namespace with the same file name.
        aside: what the next save keeps first.
    """

    note: Note
    copy: dict[str, Any] | None = None
    raw: bytes | None = None
    rival: str | None = None
    unclaimed: bool = False
    aside: tuple[Kept, ...] = ()

    @property
    def status(self) -> str:
        """`synced`, `pending_upload`, `conflict`, or `nothing`."""
        if self.note.local is not None:
            return "conflict" if self.note.theirs is not None else PENDING
        return "nothing" if self.copy is None else "synced"


@dataclass(frozen=True)
class CacheFolder:
    """The cache at a path."""

    path: Path

    # --- looking

    def file(self, namespace: Namespace) -> Path:
        """Raises InvalidName when the namespace can be no file's name."""
        return self.path / f"{usable_stem(namespace.text)}{SUFFIX}"

    def look(self, namespace: Namespace) -> Entry:
        """What is there, and what others did to it.

        Raises:
            InvalidName: the namespace can be no file's name.
            InvalidArgument: something else than a file is in the place of one.
            StoreError, LimitExceeded: a file cannot be read, or is too large.
        """
        note, aside = self._noted(namespace)
        rival = self._rival(namespace)
        if rival is not None:
            return Entry(note or Note(namespace.text), _known(note), rival=rival, aside=aside)
        file = self.file(namespace)
        raw = _content(file)
        if raw is None or (note is not None and sha256(raw).hexdigest() in note.digests):
            return Entry(note or Note(namespace.text), _known(note), raw, aside=aside)
        try:
            baton, mark = unmarked(parse_object(raw, where=show_path(file)), cached=True)
        except (InvalidDocument, LimitExceeded) as error:
            bad = Kept(f"{file.name}.{_digest(raw)}.bad", raw, f"cannot be read ({error})")
            return Entry(note or Note(namespace.text), _known(note), raw, aside=(*aside, bad))
        if note is None:
            return _found(namespace, baton, mark == PENDING, raw, aside)
        return _changed(note, baton, mark == PENDING, raw, aside)

    def _noted(self, namespace: Namespace) -> tuple[Note | None, tuple[Kept, ...]]:
        path = self._note_of(namespace)
        raw = _content(path)
        if raw is None:
            return None, ()
        try:
            return parse_note(raw, namespace.text, show_path(path)), ()
        except Corrupt as error:
            return None, (Kept(f"{path.name}.{_digest(raw)}.bad", raw, str(error)),)

    def _note_of(self, namespace: Namespace) -> Path:
        return self.path / BESIDE / f"{namespace.component}{SUFFIX}"

    def _rival(self, namespace: Namespace) -> str | None:
        """The other namespace to which the cache file belongs: of several that claim it the one that wrote it."""
        claims = []
        for one in self._noted_names():
            if _twin(one) == _twin(namespace):
                note, damaged = self._noted(one)
                if damaged or (note is not None and note.owns):
                    claims.append((one, note))
        if not claims or [one for one, _ in claims] == [namespace]:
            return None
        raw = _content(self.file(namespace)) if len(claims) > 1 else None
        written = sha256(raw).hexdigest() if raw is not None else ""
        owner, _ = min(claims, key=lambda claim: (claim[1] is None, claim[1] and written not in claim[1].digests))
        return owner.text if owner != namespace else None

    def _noted_names(self) -> list[Namespace]:
        found = []
        for path in sorted((self.path / BESIDE).glob(f"*{SUFFIX}")):
            try:
                found.append(Namespace.from_component(path.name.removesuffix(SUFFIX)))
            except InvalidName:  # nothing of ours is called so
                continue
        return found

    def namespaces(self) -> tuple[list[Namespace], list[str]]:
        """The namespaces that are known or that a file names beyond doubt; and the other files, by their names."""
        known = self._noted_names()
        noted = {_twin(one) for one in known}
        plain: list[Namespace] = []
        doubtful: list[str] = []
        for name in sorted(path.name for path in self.path.glob(f"*{SUFFIX}") if path.is_file()):
            try:
                namespace = Namespace(name.removesuffix(SUFFIX))
            except InvalidName:
                doubtful.append(name)
                continue
            if _twin(namespace) in noted:
                continue
            if _is_shared(namespace):
                doubtful.append(name)
            else:
                plain.append(namespace)
        return [*known, *plain], doubtful

    def kept(self) -> list[Path]:
        """What had to make room, by name."""
        return sorted(path for path in (self.path / BESIDE / KEPT).glob("*") if path.is_file())

    # --- changing

    @contextmanager
    def alone(self, namespace: Namespace, wait: float) -> Iterator[None]:
        """Nobody else works on the namespace's file meanwhile, nor on that of one that would share it.

        Raises:
            Busy: another process did so for longer than `wait` seconds.
            WriteFailed: the folder cannot be made.
        """
        self._make_folders()
        with hold_flock(self.path / BESIDE / f"{local_name(_twin(namespace))}.lock", wait) as held:
            if held is False:
                raise Busy(f"another process works on the cache of {namespace}", hint="try again in a moment")
            yield

    def _make_folders(self) -> None:
        make_folder(self.path.parent)
        for folder in (self.path, self.path / BESIDE, self.path / BESIDE / KEPT):
            with writing(folder):
                folder.mkdir(mode=0o700, exist_ok=True)

    def save(self, entry: Entry, note: Note, keep: Iterable[Kept] = ()) -> Entry:
        """Writes the note, then the cache file where that is the namespace's own; what must make room is kept first.

        Raises:
            WriteFailed: the disk said no; what was there before still stands.
            LimitExceeded: the document is too large.
        """
        for one in (*entry.aside, *keep):
            self._keep(one)
        namespace = Namespace(note.namespace)
        baton = note.local if note.local is not None else note.seen.baton if note.seen is not None else None
        note = replace(note, owns=entry.rival is None)
        if baton is None or entry.rival is not None:
            _write({self._note_of(namespace): note.text()})
            return Entry(note, _known(note), entry.raw, entry.rival)
        content = cached_text(Found(note.namespace, baton, None, pending=note.local is not None))
        before = () if entry.raw is None else (sha256(entry.raw).hexdigest(),)
        note = replace(note, digests=(sha256(content).hexdigest(), *before))
        _write({self._note_of(namespace): note.text(), self.file(namespace): content})
        return Entry(note, _known(note), content)

    def _keep(self, one: Kept) -> None:
        path = self.path / BESIDE / KEPT / one.name
        if not path.exists():
            _write({path: one.content})


def kept_document(namespace: str, baton: dict[str, Any], why: str) -> Kept:
    content = f"{json.dumps(baton)}\n".encode()
    return Kept(f"{Namespace(namespace).component}.{_digest(content)}{SUFFIX}", content, why)


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()[:12]


def _known(note: Note | None) -> dict[str, Any] | None:
    if note is None:
        return None
    return note.local if note.local is not None else note.seen.baton if note.seen is not None else None


def _found(namespace: Namespace, baton: dict[str, Any], pending: bool, raw: bytes, aside: tuple[Kept, ...]) -> Entry:
    """A file that another client made, and we know nothing about."""
    note = Note(namespace.text, local=baton if pending else None)
    if not _is_shared(namespace):
        return Entry(note, baton, raw, aside=aside)
    why = f"it may be of another namespace that is called {cache_stem(namespace.text)} in the cache"
    return Entry(note, baton, raw, unclaimed=True, aside=(*aside, kept_document(namespace.text, baton, why)))


def _changed(note: Note, baton: dict[str, Any], pending: bool, raw: bytes, aside: tuple[Kept, ...]) -> Entry:
    """A file of ours that another client wrote or marked meanwhile."""
    known = _known(note)
    if known is not None and alike(known, baton):
        return Entry(replace(note, local=baton) if pending else note, baton, raw, aside=aside)
    if note.local is not None:
        lost = kept_document(note.namespace, note.local, "another client wrote over it before it was sent")
        aside = (*aside, lost)
    return Entry(replace(note, local=baton, theirs=None), baton, raw, aside=aside)


def _content(path: Path) -> bytes | None:
    try:
        return plain_content(path)
    except NotFound:
        return None
    except InvalidArgument as error:
        raise InvalidArgument(f"{show_path(path)} {error}", hint=error.hint) from None


def _twin(namespace: Namespace) -> str:
    """Equal for namespaces whose cache files may be one, on a file system that ignores case or Unicode forms too."""
    return unicodedata.normalize("NFC", cache_stem(namespace.text)).casefold()


def _is_shared(namespace: Namespace) -> bool:
    """Whether a file of this name may be of several namespaces."""
    return "_" in cache_stem(namespace.text)


def _write(contents: Mapping[Path, bytes]) -> None:
    """Writes files for the user alone, in this order, all of them or none: a note that says that a document waits must
    not outlive the failure to write that document.

    Raises:
        WriteFailed: the disk said no; what was there stands again, or the hint says that it does not.
    """
    before = {path: _content(path) for path in contents}
    staged: dict[Path, Path] = {}
    done: list[Path] = []
    try:
        for path, content in contents.items():
            staged[path] = spare_name(resolve_target(path).parent)
            with writing(path):
                _write_new(staged[path], content)
        for path, spare in staged.items():
            with writing(path):
                spare.replace(resolve_target(path))
                done.append(path)
                sync_folder(resolve_target(path).parent)
    except BatonError:
        _put_back({path: before[path] for path in reversed(done)})
        raise
    finally:
        for spare in staged.values():
            remove(spare)


def _put_back(before: Mapping[Path, bytes | None]) -> None:
    """What was there before. Raises WriteFailed when the disk refuses that too."""
    for path, content in before.items():
        target = resolve_target(path)
        spare = spare_name(target.parent)
        try:
            if content is None:
                target.unlink(missing_ok=True)
                continue
            _write_new(spare, content)
            spare.replace(target)
        except OSError as error:
            hint = "the document may stand in the cache all the same: baton cache status, once the disk can be written"
            raise WriteFailed(
                f"cannot write {show_path(path)}: {error.strerror}", hint=hint, path=show_path(path)
            ) from error
        finally:
            remove(spare)


def _write_new(path: Path, content: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(fd)
