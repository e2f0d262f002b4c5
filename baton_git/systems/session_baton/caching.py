"""session-baton's local cache: write-through, with pending uploads and conflicts.

A document is saved as pending before it is sent to the server, so a kill at any moment loses nothing. A document that
the server rejects stays pending. If the server has another document, that one is saved too, until the conflict is
resolved.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from baton_git.core.errors import AccessDenied, BatonError, Busy, InvalidArgument, NotFound, RemoteError, Unreachable
from baton_git.core.merge import ContestedValue
from baton_git.core.names import Namespace
from baton_git.core.records.base import alike
from baton_git.core.redaction import Redaction, redact
from baton_git.core.state import Key
from baton_git.systems.session_baton.cache_folder import (
    CacheEntry,
    CacheFolder,
    KeptFile,
    SyncState,
    make_kept_document,
)
from baton_git.systems.session_baton.comparison import Comparison, compare_documents, merge_documents
from baton_git.systems.session_baton.http_client import BatonServer, ServerAnswer, StaleWrite

Choice = Literal["ours", "theirs", "merge"]

_SHORT_WAIT = 0.5
"""Seconds to wait for the lock of a namespace that the command is not about."""


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
        answer: the server's document; None if there is none to report, for example because the server was not reached.
        sent: whether the server accepted a document, or had it already.
        is_replaced: whether the server's document replaced the cached one.
        offline: why the server or the lock was not available; otherwise empty.
        refused: the server's reason to reject a document, other than a stale write; or None.
        conflict: the conflict, or None.
        contested: after a merge, the conflicting values for which ours was chosen.
        kept: the replaced files, with the reasons.
    """

    entry: CacheEntry
    answer: ServerAnswer | None = None
    sent: bool = False
    is_replaced: bool = False
    offline: str = ""
    refused: RemoteError | None = None
    conflict: CacheConflict | None = None
    contested: tuple[tuple[Key, ContestedValue], ...] = ()
    kept: tuple[KeptFile, ...] = ()


def read_baton(cache: BatonCache, name: str) -> CacheOutcome:
    """Send the pending document, then read the server's baton into the cache.

    A session can always start: if the server or the lock is not available within the server's time limit, the cached
    baton is returned.

    Raises:
        AccessDenied, RemoteError: the server denies access or refuses the read, or its answer is not a baton. Any other
            rejection of a pending document is not an error.
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
    is_of_another_server = _belongs_to_another_server(cache, entry)
    is_sent, kept = False, entry.aside
    if entry.sync_state.local is not None and not entry.unclaimed and not is_of_another_server:
        try:
            outcome = _send(cache, entry, entry.sync_state.local)
        except AccessDenied:
            raise
        except RemoteError as error:
            return _read_after_refusal(cache, entry, error)
        if outcome.offline or outcome.conflict:
            return outcome
        entry, is_sent = outcome.entry, True
    try:
        answer = cache.server.read(namespace.text)
    except Unreachable as error:
        return CacheOutcome(entry, sent=is_sent, offline=str(error))
    is_pending_elsewhere = entry.sync_state.local is not None and is_of_another_server
    if is_pending_elsewhere and (answer.baton is None or _has_seen_document(entry, answer)):
        return CacheOutcome(entry)
    is_lost = answer.baton is None and entry.copy is not None  # a server that lost its baton must not empty the cache
    if is_pending_elsewhere or is_lost:
        return CacheOutcome(entry, answer)
    sync_state = SyncState(namespace.text, cache.url, answer)
    return CacheOutcome(cache.folder.save(entry, sync_state), answer, sent=is_sent, kept=kept)


def _read_after_refusal(cache: BatonCache, entry: CacheEntry, refused: RemoteError) -> CacheOutcome:
    """Read the server's baton after it rejected the pending document; if that fails, return the cached one."""
    try:
        answer = cache.server.read(entry.sync_state.namespace)
    except AccessDenied:
        raise
    except RemoteError:
        return CacheOutcome(entry, refused=refused)
    return CacheOutcome(entry, answer if answer.baton is not None else None, refused=refused)


def write_baton(
    cache: BatonCache,
    name: str,
    baton: dict[str, Any],
    report_redactions: Callable[[tuple[Redaction, ...]], None] = lambda redactions: None,
) -> CacheOutcome:
    """Write the document to the cache and the server; another pending document is sent first, and kept if that fails.

    Args:
        report_redactions: called with the redactions, before anything is stored or sent.

    Raises:
        AccessDenied, RemoteError: the server refuses; the document stays pending in the cache.
        InvalidArgument: another document is pending for another server.
        Busy: another process holds the lock for too long.
        WriteFailed, StoreError, LimitExceeded: the cache cannot be read or written.
    """
    namespace = Namespace(name)
    baton, redactions = redact(baton)
    report_redactions(redactions)
    with cache.folder.lock(namespace, cache.wait):
        entry = _read_entry(cache, namespace)
        entry, keep, error = _send_pending_first(cache, entry, baton)
        staged = cache.folder.save(entry, replace(entry.sync_state, url=cache.url, local=baton), keep)
        keep = (*entry.aside, *keep)
        if isinstance(error, Unreachable):
            return CacheOutcome(staged, offline=str(error), kept=keep)
        if error is not None:
            raise error
        outcome = _send(cache, staged, baton)
        return outcome._replace(kept=(*keep, *outcome.kept))


def _send_pending_first(
    cache: BatonCache, entry: CacheEntry, baton: dict[str, Any]
) -> tuple[CacheEntry, tuple[KeptFile, ...], RemoteError | None]:
    """Send the pending document, if there is one other than `baton`, before `baton` replaces it.

    Return the entry after that, the files to keep (such as a pending document that was not sent), and the error if
    `baton` cannot be sent now.
    """
    name, pending = entry.sync_state.namespace, entry.sync_state.local
    if pending is None or alike(pending, baton) or entry.unclaimed:
        return entry, (), None
    unsent = make_kept_document(name, pending, "a newer document replaced it before it was sent")
    try:
        result = _write_if_unchanged(cache.server, name, pending, entry.sync_state.seen)
    except (Unreachable, AccessDenied) as error:
        return entry, (unsent,), error
    except RemoteError:  # it rejected the pending document; `baton` may correct the fault
        return entry, (unsent,), None
    if isinstance(result, StaleWrite):
        return entry, (unsent,), None
    return cache.folder.save(entry, SyncState(name, cache.url, result)), entry.aside, None


def send_pending(cache: BatonCache, name: str) -> CacheOutcome:
    """Send the pending document, even if it was to be sent to another server.

    Raises:
        NotFound: the namespace is not in the cache.
        Busy, WriteFailed, StoreError, LimitExceeded: as `write_baton`.
    """
    namespace = Namespace(name)
    with cache.folder.lock(namespace, cache.wait):
        known = cache.folder.read_entry(namespace)
        if known.status == "nothing":
            raise NotFound("cached baton of namespace", name)
        if known.sync_state.local is None:
            return CacheOutcome(known)
        try:
            return _send(cache, _read_entry(cache, namespace, forced=True), known.sync_state.local)
        except RemoteError as error:
            return CacheOutcome(known, refused=error)


class SentDocument(NamedTuple):
    """What became of a document that waited in the cache: the outcome of sending it, or why that failed."""

    namespace: str
    outcome: CacheOutcome | None
    error: BatonError | None = None

    @property
    def is_sent(self) -> bool:
        return self.outcome is not None and self.outcome.sent

    @property
    def is_contested(self) -> bool:
        """Whether the server has a newer document, so that somebody must choose."""
        return self.outcome is not None and self.outcome.conflict is not None

    @property
    def problem(self) -> str:
        """Why the document still waits; empty if it was sent, also by another process, or if it is in conflict."""
        if self.outcome is None:
            return str(self.error)
        return str(self.outcome.refused) if self.outcome.refused is not None else self.outcome.offline

    def describe(self) -> str:
        """Describe what became of it on one line; empty if another process has sent it meanwhile."""
        if self.is_contested:
            command = f"baton cache send {self.namespace}"
            return f"{self.namespace}: the server has a newer document; yours waits in the cache ({command} shows both)"
        if self.problem:
            return f"{self.namespace}: the document still waits in the cache: {self.problem}"
        return f"{self.namespace}: the document that waited in the cache was sent" if self.is_sent else ""


def send_waiting(cache: BatonCache, namespaces: Iterable[str], seconds: float) -> list[SentDocument]:
    """Send documents that wait, one after the other, until the server does not answer or denies access.

    An error about one document does not keep the others back. One on which another process works is left to that.

    Args:
        seconds: the time limit for all of them together.
    """
    results: list[SentDocument] = []
    server = replace(cache.server, until=time.monotonic() + seconds)
    cache = replace(cache, server=server, wait=min(cache.wait, _SHORT_WAIT))
    for name in namespaces:
        try:
            outcome = send_pending(cache, name)
        except Busy:
            continue
        except BatonError as error:
            results.append(SentDocument(name, None, error))
            continue
        results.append(SentDocument(name, outcome))
        if outcome.offline or isinstance(outcome.refused, AccessDenied):
            break
    return results


def resolve_conflict(cache: BatonCache, name: str, choice: Choice) -> CacheOutcome:
    """Resolve a conflict: keep ours, take theirs, or merge both by record.

    Only a conflict that was shown is resolved: if there was none, or the server has changed since, the documents are
    compared again and nothing is replaced. A replaced document is kept in the folder `kept`.

    Raises:
        NotFound: the cache has no baton, or for `theirs` the server has none.
        InvalidDocument: for `merge`, one of the documents is not valid.
        Unreachable: the server is needed to resolve the conflict.
        BatonError: as `write_baton`.
    """
    namespace = Namespace(name)
    with cache.folder.lock(namespace, cache.wait):
        entry = _read_entry(cache, namespace, forced=True)
        ours = entry.sync_state.local if entry.sync_state.local is not None else entry.copy
        if ours is None:
            raise NotFound("cached baton of namespace", name)
        shown = entry.sync_state.theirs
        try:
            current = cache.server.read(name)
        except Unreachable:
            if shown is None or choice == "theirs":
                raise
            current = shown  # apply the decision now; the documents are compared again when ours is sent
        if _has_document(current, ours):
            return _save_synced(cache, entry, current)
        if current.baton is not None and not (shown is not None and _has_document(shown, current.baton)):
            return _save_conflict(cache, entry, ours, current)
        if choice == "theirs":
            return _take_theirs(cache, entry, ours, current)
        if choice == "ours" or current.baton is None:
            return _replace_theirs(cache, entry, ours, current)
        return _merge_both(cache, entry, ours, current.baton, current)


def _save_synced(cache: BatonCache, entry: CacheEntry, current: ServerAnswer) -> CacheOutcome:
    """Save the state of a namespace whose server has the same document."""
    return CacheOutcome(
        cache.folder.save(entry, SyncState(entry.sync_state.namespace, cache.url, current)), current, kept=entry.aside
    )


def _take_theirs(cache: BatonCache, entry: CacheEntry, ours: dict[str, Any], current: ServerAnswer) -> CacheOutcome:
    if current.baton is None:
        raise NotFound("baton on the server for namespace", entry.sync_state.namespace, hint="send yours with --ours")
    keep = make_kept_document(entry.sync_state.namespace, ours, "the server's document replaced it")
    saved = cache.folder.save(entry, SyncState(entry.sync_state.namespace, cache.url, current), [keep])
    return CacheOutcome(saved, current, is_replaced=True, kept=(*entry.aside, keep))


def _replace_theirs(
    cache: BatonCache, entry: CacheEntry, baton: dict[str, Any], shown: ServerAnswer, keep: tuple[KeptFile, ...] = ()
) -> CacheOutcome:
    """Replace the server's document that was shown, and keep a copy: the original server has no history.

    The replaced document counts as seen, so the decision holds even if the document can only be sent later.
    """
    name = entry.sync_state.namespace
    if shown.baton is not None:
        keep = (*keep, make_kept_document(name, shown.baton, "yours replaced it on the server"))
    staged = cache.folder.save(entry, SyncState(name, cache.url, shown, baton), keep)
    outcome = _send(cache, staged, baton)
    return outcome._replace(kept=(*entry.aside, *keep, *outcome.kept))


def _merge_both(
    cache: BatonCache, entry: CacheEntry, ours: dict[str, Any], theirs: dict[str, Any], shown: ServerAnswer
) -> CacheOutcome:
    """Merge both documents, and send the result."""
    base = entry.sync_state.seen
    merged, contested = merge_documents(base.baton if base is not None else None, ours, theirs)
    keep = make_kept_document(entry.sync_state.namespace, ours, "it was merged with the server's")
    return _replace_theirs(cache, entry, merged, shown, (keep,))._replace(contested=contested)


# --- requests to the server


def _read_entry(cache: BatonCache, namespace: Namespace, *, forced: bool = False) -> CacheEntry:
    """Read the cache entry, without the sync state of another server.

    Raises:
        InvalidArgument: a document is pending for another server, and `forced` is not set.
        RemoteError: this server refuses (with `forced`).
    """
    entry = cache.folder.read_entry(namespace)
    if not _belongs_to_another_server(cache, entry):
        return entry
    if entry.sync_state.local is not None and not forced:
        raise InvalidArgument(
            f"the baton of {namespace} in the cache waits to be sent to {entry.sync_state.url}, not to {cache.url}",
            hint=f"send it there, or compare and send it here: {make_send_command(cache, namespace.text)}",
        )
    return replace(
        entry, sync_state=replace(entry.sync_state, seen=_find_seen_here(cache, entry) if forced else None, theirs=None)
    )


def _find_seen_here(cache: BatonCache, entry: CacheEntry) -> ServerAnswer | None:
    """Return this server's baton if it equals the one that another server had, for example because the URL changed."""
    if entry.sync_state.local is None or entry.sync_state.seen is None:
        return None
    try:
        answer = cache.server.read(entry.sync_state.namespace)
    except Unreachable:
        return None
    return answer if _has_seen_document(entry, answer) else None


def _has_seen_document(entry: CacheEntry, answer: ServerAnswer) -> bool:
    """Return whether the server still has the document that was seen last."""
    return (
        entry.sync_state.seen is not None
        and entry.sync_state.seen.baton is not None
        and _has_document(answer, entry.sync_state.seen.baton)
    )


def make_send_command(cache: BatonCache, namespace: str) -> str:
    """Return the command that sends a document to this server although it is pending for another one."""
    return f"baton cache send {namespace} --url {cache.url}"


def _belongs_to_another_server(cache: BatonCache, entry: CacheEntry) -> bool:
    """Return whether the sync state belongs to another server."""
    return entry.sync_state.url not in ("", cache.url)


def _send(cache: BatonCache, entry: CacheEntry, baton: dict[str, Any]) -> CacheOutcome:
    """Send a pending document; it may replace only the server's document that was seen last."""
    name = entry.sync_state.namespace
    try:
        result = _write_if_unchanged(cache.server, name, baton, entry.sync_state.seen)
        theirs = result if isinstance(result, ServerAnswer) else result.current or cache.server.read(name)
    except Unreachable as error:
        return CacheOutcome(entry, offline=str(error))
    if isinstance(result, ServerAnswer):
        saved = cache.folder.save(entry, SyncState(name, cache.url, result))
        return CacheOutcome(saved, result, sent=True, kept=entry.aside)
    return _save_conflict(cache, entry, baton, theirs)


def _save_conflict(cache: BatonCache, entry: CacheEntry, baton: dict[str, Any], theirs: ServerAnswer) -> CacheOutcome:
    """Save the conflict with the server's document in the sync state, and return it."""
    name = entry.sync_state.namespace
    saved = cache.folder.save(entry, replace(entry.sync_state, url=cache.url, local=baton, theirs=theirs))
    base = entry.sync_state.seen
    differs = compare_documents(base.baton if base else None, baton, theirs.baton or {})
    return CacheOutcome(saved, theirs, conflict=CacheConflict(name, baton, theirs, base, differs), kept=entry.aside)


def _write_if_unchanged(
    server: BatonServer, namespace: str, baton: dict[str, Any], seen: ServerAnswer | None
) -> ServerAnswer | StaleWrite:
    """Write with compare-and-swap if the server has revisions; else compare the documents first.

    Return the server's baton after the write, or a `StaleWrite` if the server's baton has changed since `seen`.
    """
    if seen is not None and seen.revision is not None:
        current = seen
    else:
        current = server.read(namespace)
        if not _may_replace(current, seen) or _has_document(current, baton):
            return current if _has_document(current, baton) else StaleWrite(current)
    result = server.write(namespace, baton, current.revision)
    if isinstance(result, ServerAnswer):
        return result
    current = result.current or server.read(namespace)
    if not _may_replace(current, seen) or _has_document(current, baton):
        return current if _has_document(current, baton) else StaleWrite(current)
    return server.write(namespace, baton, current.revision or None)  # memory-hall does not accept 0 for a missing baton


def _has_document(answer: ServerAnswer, baton: dict[str, Any]) -> bool:
    """Return whether the server already has the document, for example because the answer to its write was lost."""
    return answer.baton is not None and alike(answer.baton, baton)


def _may_replace(current: ServerAnswer, seen: ServerAnswer | None) -> bool:
    """Return whether a writer that last saw `seen` may replace the server's document `current`."""
    if current.baton is None:
        return True
    if seen is None or seen.baton is None:
        return False
    if current.revision is not None and seen.revision is not None:
        return current.revision == seen.revision or alike(current.baton, seen.baton)
    has_seen_time = current.updated_at is not None and current.updated_at == seen.updated_at
    return has_seen_time or alike(current.baton, seen.baton)


# --- list the entries


class CacheListing(NamedTuple):
    """A namespace in the cache, or a file whose namespace is unknown; `why` explains why there is no entry."""

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


class WaitingDocument(NamedTuple):
    """A document that waits to be sent.

    Attributes:
        url: the server for which it waits; empty if unknown, because another client left it.
        is_contested: whether the server has a newer document, so that somebody must choose.
    """

    namespace: str
    url: str
    is_contested: bool


def list_waiting(folder: CacheFolder) -> list[WaitingDocument]:
    """List the documents that wait for any server."""
    states = ((each.namespace, each.entry.sync_state) for each in list_entries(folder) if each.entry is not None)
    return [
        WaitingDocument(name, sync_state.url, sync_state.theirs is not None)
        for name, sync_state in states
        if sync_state.local is not None
    ]


def list_pending(cache: BatonCache, *, contested: bool = True) -> list[str]:
    """List the namespaces with a document that waits for this server, or for an unknown one.

    Args:
        contested: whether those are listed, too, in whose conflict somebody must choose.
    """
    waiting = list_waiting(cache.folder)
    return [each.namespace for each in waiting if each.url in ("", cache.url) and (contested or not each.is_contested)]


def list_pending_elsewhere(cache: BatonCache) -> list[tuple[str, str]]:
    """List the namespaces with a document that waits for another server, each with that server's URL."""
    waiting = list_waiting(cache.folder)
    return [(each.namespace, each.url) for each in waiting if each.url not in ("", cache.url)]
