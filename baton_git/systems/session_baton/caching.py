"""session-baton's local cache: write-through, with pending uploads and conflicts.

A document is saved as pending before it is sent to the server, so a kill at any moment loses nothing. A document that
the server rejects stays pending, and the server's document is saved too, until the conflict is resolved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from baton_git.core.errors import AccessDenied, BatonError, Busy, InvalidArgument, NotFound, RemoteError, Unreachable
from baton_git.core.merge import ContestedValue
from baton_git.core.names import Namespace
from baton_git.core.records.base import alike
from baton_git.core.redaction import Redaction, redact
from baton_git.core.state import Key
from baton_git.systems.session_baton.cache import CacheEntry, CacheFolder, SyncState
from baton_git.systems.session_baton.cache.comparison import Comparison, compare_documents, merge_documents
from baton_git.systems.session_baton.cache.folder import KeptFile, make_kept_document
from baton_git.systems.session_baton.client import BatonServer, ServerAnswer, StaleWrite

Choice = Literal["ours", "theirs", "merge"]


@dataclass(frozen=True)
class BatonCache:
    """The cache folder, its server, and the seconds to wait for another process's lock."""

    folder: CacheFolder
    server: BatonServer
    wait: float = 30.0

    @property
    def url(self) -> str:
        return str(self.server.address)


class CacheConflict(NamedTuple):
    """A conflict with the server: both documents, their base, and the differences."""

    namespace: str
    ours: dict[str, Any]
    theirs: ServerAnswer
    base: ServerAnswer | None
    compared: Comparison


class CacheOutcome(NamedTuple):
    """The result of a synchronization of one namespace with its server.

    Attributes:
        entry: the current cache entry of the namespace.
        answer: the server's document; None if the server was not reached or no request was needed.
        sent: whether the server accepted a document, or had it already.
        is_replaced: whether the server's document replaced the cached one.
        offline: why the server could not be reached, or None.
        refused: the server's reason to reject a document, other than a stale write; or None.
        clash: the conflict, or None.
        contested: after a merge, the conflicting values for which ours was chosen.
        kept: the replaced files, with the reasons.
    """

    entry: CacheEntry
    answer: ServerAnswer | None = None
    sent: bool = False
    is_replaced: bool = False
    offline: str = ""
    refused: RemoteError | None = None
    clash: CacheConflict | None = None
    contested: tuple[tuple[Key, ContestedValue], ...] = ()
    kept: tuple[KeptFile, ...] = ()


def read_baton(cache: BatonCache, name: str) -> CacheOutcome:
    """Send the pending document, then read the server's baton into the cache; offline, return the cached one.

    This never delays the start of a session: if the server or the lock is not available, the cached baton is
    returned.

    Raises:
        AccessDenied, RemoteError: the server's answer is not a baton. The rejection of a pending document is not an
            error.
        WriteFailed, StoreError, LimitExceeded: the cache cannot be read or written.
    """
    namespace = Namespace(name)
    try:
        with cache.folder.lock(namespace, min(cache.wait, cache.server.seconds)):
            return _read_locked(cache, namespace)
    except Busy as error:
        return CacheOutcome(cache.folder.read_entry(namespace), offline=str(error))


def _read_locked(cache: BatonCache, namespace: Namespace) -> CacheOutcome:
    entry = cache.folder.read_entry(namespace)
    is_elsewhere = _is_of_another(cache, entry)
    is_sent, kept = False, entry.aside
    if entry.note.local is not None and not entry.unclaimed and not is_elsewhere:
        try:
            outcome = _send(cache, entry, entry.note.local)
        except AccessDenied:
            raise
        except RemoteError as error:
            return _read_refused(cache, entry, error)
        if outcome.offline or outcome.clash:
            return outcome
        entry, is_sent = outcome.entry, True
    try:
        answer = cache.server.read(namespace.text)
    except Unreachable as error:
        return CacheOutcome(entry, sent=is_sent, offline=str(error))
    is_waiting = entry.note.local is not None and is_elsewhere
    if is_waiting and (answer.baton is None or _has_seen(entry, answer)):
        return CacheOutcome(entry)
    is_lost = answer.baton is None and entry.copy is not None  # a server that lost it must not empty the cache
    if is_waiting or is_lost:
        return CacheOutcome(entry, answer)
    note = SyncState(namespace.text, cache.url, answer)
    return CacheOutcome(cache.folder.save(entry, note), answer, sent=is_sent, kept=kept)


def _read_refused(cache: BatonCache, entry: CacheEntry, refused: RemoteError) -> CacheOutcome:
    """Read the server's baton after it rejected the pending document; if that fails, return the cached one."""
    try:
        answer = cache.server.read(entry.note.namespace)
    except AccessDenied:
        raise
    except RemoteError:
        return CacheOutcome(entry, refused=refused)
    return CacheOutcome(entry, answer if answer.baton is not None else None, refused=refused)


def write_baton(
    cache: BatonCache,
    name: str,
    baton: dict[str, Any],
    tell: Callable[[tuple[Redaction, ...]], None] = lambda redactions: None,
) -> CacheOutcome:
    """Write the document to the cache and the server; a pending document is sent first, and kept if it is rejected.

    Args:
        tell: called with the redactions, before anything is stored or sent.

    Raises:
        AccessDenied, RemoteError: the server refuses; the document stays pending in the cache.
        Busy: another process holds the lock for too long.
        WriteFailed, StoreError, LimitExceeded: the cache cannot be read or written; nothing was sent then.
    """
    namespace = Namespace(name)
    baton, redactions = redact(baton)
    tell(redactions)
    with cache.folder.lock(namespace, cache.wait):
        entry = _read_entry(cache, namespace)
        entry, keep, why = _send_waiting_first(cache, entry, baton)
        staged = cache.folder.save(entry, replace(entry.note, url=cache.url, local=baton), keep)
        keep = (*entry.aside, *keep)
        if isinstance(why, Unreachable):
            return CacheOutcome(staged, offline=str(why), kept=keep)
        if why is not None:
            raise why
        outcome = _send(cache, staged, baton)
        return outcome._replace(kept=(*keep, *outcome.kept))


def _send_waiting_first(
    cache: BatonCache, entry: CacheEntry, baton: dict[str, Any]
) -> tuple[CacheEntry, tuple[KeptFile, ...], RemoteError | None]:
    """Send the pending document before `baton`; return what must be kept of it, and why nothing can be sent now."""
    name, waits = entry.note.namespace, entry.note.local
    if waits is None or alike(waits, baton) or entry.unclaimed:
        return entry, (), None
    lost = make_kept_document(name, waits, "a newer document replaced it before it was sent")
    try:
        result = _write_if_unchanged(cache.server, name, waits, entry.note.seen)
    except (Unreachable, AccessDenied) as error:
        return entry, (lost,), error
    except RemoteError:  # it rejected the pending document; `baton` may correct the fault
        return entry, (lost,), None
    if isinstance(result, StaleWrite):
        return entry, (lost,), None
    return cache.folder.save(entry, SyncState(name, cache.url, result)), entry.aside, None


def send_waiting(cache: BatonCache, name: str) -> CacheOutcome:
    """Send the pending document, even one that waited for another server.

    Raises:
        NotFound: the namespace is not in the cache.
        Busy, WriteFailed, StoreError, LimitExceeded: as `write`.
    """
    namespace = Namespace(name)
    with cache.folder.lock(namespace, cache.wait):
        known = cache.folder.read_entry(namespace)
        if known.status == "nothing":
            raise NotFound("baton in the cache of namespace", name)
        if known.note.local is None:
            return CacheOutcome(known)
        try:
            return _send(cache, _read_entry(cache, namespace, forced=True), known.note.local)
        except RemoteError as error:
            return CacheOutcome(known, refused=error)


def resolve_conflict(cache: BatonCache, name: str, choice: Choice) -> CacheOutcome:
    """Resolve a conflict: keep ours, take theirs, or merge both by record.

    Only a conflict that was shown is resolved: if there was none, or the server has changed since, the documents are
    compared again and nothing is replaced. A replaced document is kept in the folder `kept`.

    Raises:
        NotFound: the cache has no baton, or for `theirs` the server has none.
        InvalidDocument: for `merge`, one of the documents is not valid.
        BatonError: as `write`; and Unreachable.
    """
    namespace = Namespace(name)
    with cache.folder.lock(namespace, cache.wait):
        entry = _read_entry(cache, namespace, forced=True)
        ours = entry.note.local if entry.note.local is not None else entry.copy
        if ours is None:
            raise NotFound("baton in the cache of namespace", name)
        shown = entry.note.theirs
        try:
            now = cache.server.read(name)
        except Unreachable:
            if shown is None or choice == "theirs":
                raise
            now = shown  # apply the decision now; the documents are compared again when ours is sent
        if _has_document(now, ours):
            return _save_settled(cache, entry, now)
        if now.baton is not None and not (shown is not None and _has_document(shown, now.baton)):
            return _save_conflict(cache, entry, ours, now)
        if choice == "theirs":
            return _take_theirs(cache, entry, ours, now)
        if choice == "ours" or now.baton is None:
            return _replace_theirs(cache, entry, ours, now)
        return _merge_both(cache, entry, ours, now.baton, now)


def _save_settled(cache: BatonCache, entry: CacheEntry, now: ServerAnswer) -> CacheOutcome:
    """Save the state of a namespace whose server has the same document."""
    return CacheOutcome(
        cache.folder.save(entry, SyncState(entry.note.namespace, cache.url, now)), now, kept=entry.aside
    )


def _take_theirs(cache: BatonCache, entry: CacheEntry, ours: dict[str, Any], now: ServerAnswer) -> CacheOutcome:
    if now.baton is None:
        raise NotFound("baton on the server of namespace", entry.note.namespace, hint="send yours with --ours")
    keep = make_kept_document(entry.note.namespace, ours, "the server's document replaced it")
    saved = cache.folder.save(entry, SyncState(entry.note.namespace, cache.url, now), [keep])
    return CacheOutcome(saved, now, is_replaced=True, kept=(*entry.aside, keep))


def _replace_theirs(
    cache: BatonCache, entry: CacheEntry, baton: dict[str, Any], shown: ServerAnswer, keep: tuple[KeptFile, ...] = ()
) -> CacheOutcome:
    """Replace the server's document that was shown, and keep a copy: the original server has no history.

    The replaced document counts as seen, so the decision holds even if the document can only be sent later.
    """
    name = entry.note.namespace
    if shown.baton is not None:
        keep = (*keep, make_kept_document(name, shown.baton, "yours replaced it on the server"))
    staged = cache.folder.save(entry, SyncState(name, cache.url, shown, baton), keep)
    outcome = _send(cache, staged, baton)
    return outcome._replace(kept=(*entry.aside, *keep, *outcome.kept))


def _merge_both(
    cache: BatonCache, entry: CacheEntry, ours: dict[str, Any], theirs: dict[str, Any], shown: ServerAnswer
) -> CacheOutcome:
    """Merge both documents, and send the result."""
    base = entry.note.seen
    made, contested = merge_documents(base.baton if base is not None else None, ours, theirs)
    keep = make_kept_document(entry.note.namespace, ours, "it was merged with the server's")
    return _replace_theirs(cache, entry, made, shown, (keep,))._replace(contested=contested)


# --- requests to the server


def _read_entry(cache: BatonCache, namespace: Namespace, *, forced: bool = False) -> CacheEntry:
    """Read the cache entry, without the sync state of another server.

    Raises:
        InvalidArgument: a document waits for another server, and `forced` is not set.
        RemoteError: this server refuses (with `forced`).
    """
    entry = cache.folder.read_entry(namespace)
    if not _is_of_another(cache, entry):
        return entry
    if entry.note.local is not None and not forced:
        raise InvalidArgument(
            f"the baton of {namespace} in the cache waits to be sent to {entry.note.url}, not to {cache.url}",
            hint=f"send it there, or compare and send it here: {make_send_command(cache, namespace.text)}",
        )
    return replace(entry, note=replace(entry.note, seen=_find_seen_here(cache, entry) if forced else None, theirs=None))


def _find_seen_here(cache: BatonCache, entry: CacheEntry) -> ServerAnswer | None:
    """Return this server's baton if it equals the one last seen elsewhere: the same server at another URL."""
    if entry.note.local is None or entry.note.seen is None:
        return None
    try:
        answer = cache.server.read(entry.note.namespace)
    except Unreachable:
        return None
    return answer if _has_seen(entry, answer) else None


def _has_seen(entry: CacheEntry, answer: ServerAnswer) -> bool:
    """Return whether the server still has the document that was seen last."""
    return (
        entry.note.seen is not None
        and entry.note.seen.baton is not None
        and _has_document(answer, entry.note.seen.baton)
    )


def make_send_command(cache: BatonCache, namespace: str) -> str:
    """Return the command that sends a document waiting for another server to this one."""
    return f"baton cache send {namespace} --url {cache.url}"


def _is_of_another(cache: BatonCache, entry: CacheEntry) -> bool:
    """Return whether the sync state belongs to another server."""
    return entry.note.url not in ("", cache.url)


def _send(cache: BatonCache, entry: CacheEntry, baton: dict[str, Any]) -> CacheOutcome:
    """Send a pending document; it may replace only the server's document that was seen last."""
    name = entry.note.namespace
    try:
        result = _write_if_unchanged(cache.server, name, baton, entry.note.seen)
        theirs = result if isinstance(result, ServerAnswer) else result.now or cache.server.read(name)
    except Unreachable as error:
        return CacheOutcome(entry, offline=str(error))
    if isinstance(result, ServerAnswer):
        saved = cache.folder.save(entry, SyncState(name, cache.url, result))
        return CacheOutcome(saved, result, sent=True, kept=entry.aside)
    return _save_conflict(cache, entry, baton, theirs)


def _save_conflict(cache: BatonCache, entry: CacheEntry, baton: dict[str, Any], theirs: ServerAnswer) -> CacheOutcome:
    """Save the conflict with the server's document in the sync state, and return it."""
    name = entry.note.namespace
    saved = cache.folder.save(entry, replace(entry.note, url=cache.url, local=baton, theirs=theirs))
    base = entry.note.seen
    differs = compare_documents(base.baton if base else None, baton, theirs.baton or {})
    return CacheOutcome(saved, theirs, clash=CacheConflict(name, baton, theirs, base, differs), kept=entry.aside)


def _write_if_unchanged(
    server: BatonServer, namespace: str, baton: dict[str, Any], seen: ServerAnswer | None
) -> ServerAnswer | StaleWrite:
    """Write with compare-and-swap if the server counts revisions; else compare documents first."""
    if seen is not None and seen.revision is not None:
        now = seen
    else:
        now = server.read(namespace)
        if not _may_replace(now, seen) or _has_document(now, baton):
            return now if _has_document(now, baton) else StaleWrite(now)
    result = server.write(namespace, baton, now.revision)
    if isinstance(result, ServerAnswer):
        return result
    now = result.now or server.read(namespace)
    if not _may_replace(now, seen) or _has_document(now, baton):
        return now if _has_document(now, baton) else StaleWrite(now)
    return server.write(namespace, baton, now.revision or None)  # memory-hall does not accept 0 for a missing baton


def _has_document(now: ServerAnswer, baton: dict[str, Any]) -> bool:
    """Return whether the server already has the document, as after a lost answer."""
    return now.baton is not None and alike(now.baton, baton)


def _may_replace(now: ServerAnswer, seen: ServerAnswer | None) -> bool:
    """Return whether the server's document `now` may be replaced by a writer that last saw `seen`."""
    if now.baton is None:
        return True
    if seen is None or seen.baton is None:
        return False
    if now.revision is not None and seen.revision is not None:
        return now.revision == seen.revision or alike(now.baton, seen.baton)
    return (now.updated_at == seen.updated_at and now.updated_at is not None) or alike(now.baton, seen.baton)


# --- list the entries


class CacheListing(NamedTuple):
    """One line of the overview."""

    namespace: str
    file: str
    entry: CacheEntry | None = None
    why: str = ""


def list_entries(folder: CacheFolder) -> Iterator[CacheListing]:
    """List the namespaces in the cache, then the files of unknown namespaces. No server is contacted."""
    known, doubtful = folder.list_namespaces()
    for namespace in known:
        try:
            yield CacheListing(namespace.text, folder.file(namespace).name, folder.read_entry(namespace))
        except BatonError as error:
            yield CacheListing(namespace.text, "", why=str(error))
    for name in doubtful:
        yield CacheListing("", name, why="its namespace is unknown: several namespaces have this file name")


def list_waiting(cache: BatonCache) -> list[str]:
    """List the namespaces with a document pending for this server, or for an unknown one."""
    return [
        entry.namespace
        for entry in list_entries(cache.folder)
        if entry.entry is not None and entry.entry.note.local is not None and not _is_of_another(cache, entry.entry)
    ]


def list_waiting_elsewhere(cache: BatonCache) -> list[tuple[str, str]]:
    """List the namespaces with a document pending for another server, and its url."""
    return [
        (entry.namespace, entry.entry.note.url)
        for entry in list_entries(cache.folder)
        if entry.entry is not None and entry.entry.note.local is not None and _is_of_another(cache, entry.entry)
    ]
