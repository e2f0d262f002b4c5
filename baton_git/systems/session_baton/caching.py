"""session-baton's local cache: written through, sent later when no server answers, and never over another's work.

Whatever is to be written stands in the cache as pending before a server is asked, so a kill at any moment loses
nothing. What a server turned away stays pending, beside what the server has, until somebody says what counts.
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
from baton_git.systems.session_baton.cache import CacheFolder, Entry, Note
from baton_git.systems.session_baton.cache.comparison import Compared, compared, merged
from baton_git.systems.session_baton.cache.folder import Kept, kept_document
from baton_git.systems.session_baton.client import Answer, Server, TurnedAway

Choice = Literal["ours", "theirs", "merge"]


@dataclass(frozen=True)
class Cache:
    """The cache folder, the server, and how long to wait for another process that works on the same."""

    folder: CacheFolder
    server: Server
    wait: float = 30.0

    @property
    def url(self) -> str:
        return str(self.server.address)


class Clash(NamedTuple):
    """A document that was not sent, as the server has another: both, what both grew from, and what differs."""

    namespace: str
    ours: dict[str, Any]
    theirs: Answer
    base: Answer | None
    compared: Compared


class Outcome(NamedTuple):
    """What came of an attempt to bring a namespace and its server together.

    Attributes:
        entry: the namespace as the cache has it now.
        answer: what the server has; None when it was not reached, or nothing had to be asked.
        sent: whether the server took a document, or had it already.
        taken: whether the server's document took the place of the one here.
        offline: why the server could not be asked.
        refused: what the server said instead of taking a document, other than that somebody wrote since.
        clash: the conflict, where there is one.
        contested: after a merge, the values of which ours stands.
        kept: what had to make room, with the reason.
    """

    entry: Entry
    answer: Answer | None = None
    sent: bool = False
    taken: bool = False
    offline: str = ""
    refused: RemoteError | None = None
    clash: Clash | None = None
    contested: tuple[tuple[Key, ContestedValue], ...] = ()
    kept: tuple[Kept, ...] = ()


def read(cache: Cache, name: str) -> Outcome:
    """The baton as the server has it, written through; what waits is sent first. Else as the cache has it.

    A session's start is never held up: where nobody answers, or another process is at work, the cache answers.

    Raises:
        AccessDenied, RemoteError: the server answers, but not with a baton. That it refuses what waits is no error.
        WriteFailed, StoreError, LimitExceeded: the cache cannot be read or written.
    """
    namespace = Namespace(name)
    try:
        with cache.folder.alone(namespace, min(cache.wait, cache.server.seconds)):
            return _read(cache, namespace)
    except Busy as error:
        return Outcome(cache.folder.look(namespace), offline=str(error))


def _read(cache: Cache, namespace: Namespace) -> Outcome:
    entry = cache.folder.look(namespace)
    is_elsewhere = _is_of_another(cache, entry)
    is_sent, kept = False, entry.aside
    if entry.note.local is not None and not entry.unclaimed and not is_elsewhere:
        try:
            outcome = _sent(cache, entry, entry.note.local)
        except AccessDenied:
            raise
        except RemoteError as error:
            return _beside(cache, entry, error)
        if outcome.offline or outcome.clash:
            return outcome
        entry, is_sent = outcome.entry, True
    try:
        answer = cache.server.read(namespace.text)
    except Unreachable as error:
        return Outcome(entry, sent=is_sent, offline=str(error))
    is_waiting = entry.note.local is not None and is_elsewhere
    if is_waiting and (answer.baton is None or _has_seen(entry, answer)):
        return Outcome(entry)
    is_lost = answer.baton is None and entry.copy is not None  # a server that lost it must not empty the cache
    if is_waiting or is_lost:
        return Outcome(entry, answer)
    note = Note(namespace.text, cache.url, answer)
    return Outcome(cache.folder.save(entry, note), answer, sent=is_sent, kept=kept)


def _beside(cache: Cache, entry: Entry, refused: RemoteError) -> Outcome:
    """What there is to read where the server refuses what waits: its own baton, else what the cache has."""
    try:
        answer = cache.server.read(entry.note.namespace)
    except AccessDenied:
        raise
    except RemoteError:
        return Outcome(entry, refused=refused)
    return Outcome(entry, answer if answer.baton is not None else None, refused=refused)


def write(
    cache: Cache,
    name: str,
    baton: dict[str, Any],
    tell: Callable[[tuple[Redaction, ...]], None] = lambda redactions: None,
) -> Outcome:
    """Writes the document to the server and to the cache; what waited is sent before, and kept where it is refused.

    Args:
        tell: hears of the secrets that were taken out, before anything is stored or sent.

    Raises:
        AccessDenied, RemoteError: the server answers and refuses; the document waits in the cache.
        Busy: another process works on the same for too long.
        WriteFailed, StoreError, LimitExceeded: the cache cannot be read or written; nothing was sent then.
    """
    namespace = Namespace(name)
    baton, redactions = redact(baton)
    tell(redactions)
    with cache.folder.alone(namespace, cache.wait):
        entry = _entry_for(cache, namespace)
        entry, keep, why = _first_sent(cache, entry, baton)
        staged = cache.folder.save(entry, replace(entry.note, url=cache.url, local=baton), keep)
        keep = (*entry.aside, *keep)
        if isinstance(why, Unreachable):
            return Outcome(staged, offline=str(why), kept=keep)
        if why is not None:
            raise why
        outcome = _sent(cache, staged, baton)
        return outcome._replace(kept=(*keep, *outcome.kept))


def _first_sent(
    cache: Cache, entry: Entry, baton: dict[str, Any]
) -> tuple[Entry, tuple[Kept, ...], RemoteError | None]:
    """What waited, sent before `baton`; what must be kept of it as it was not sent, and why nothing can be sent now."""
    name, waits = entry.note.namespace, entry.note.local
    if waits is None or alike(waits, baton) or entry.unclaimed:
        return entry, (), None
    lost = kept_document(name, waits, "a newer document took its place before it was sent")
    try:
        result = _written(cache.server, name, waits, entry.note.seen)
    except (Unreachable, AccessDenied) as error:
        return entry, (lost,), error
    except RemoteError:  # it refuses that document: `baton` may be what mends it
        return entry, (lost,), None
    if isinstance(result, TurnedAway):
        return entry, (lost,), None
    return cache.folder.save(entry, Note(name, cache.url, result)), entry.aside, None


def send(cache: Cache, name: str) -> Outcome:
    """Sends what waits, also what waited for another server: there nothing counts as seen that this one does not have.

    Raises:
        NotFound: nothing of the namespace is in the cache.
        Busy, WriteFailed, StoreError, LimitExceeded: as `write`.
    """
    namespace = Namespace(name)
    with cache.folder.alone(namespace, cache.wait):
        known = cache.folder.look(namespace)
        if known.status == "nothing":
            raise NotFound("baton in the cache of namespace", name)
        if known.note.local is None:
            return Outcome(known)
        try:
            return _sent(cache, _entry_for(cache, namespace, forced=True), known.note.local)
        except RemoteError as error:
            return Outcome(known, refused=error)


def settle(cache: Cache, name: str, choice: Choice) -> Outcome:
    """Ends a conflict: ours replaces the server's, or the server's ours, or both are merged by record.

    Only the conflict that was shown is ended: where none was, or the server has moved on since, both are compared
    (again), and nothing is replaced. What gives way is kept in the folder `kept`.

    Raises:
        NotFound: there is no baton here, or for `theirs` none on the server.
        InvalidDocument: for `merge`, a version that has no form of session-baton's.
        BatonError: as `write`; and Unreachable.
    """
    namespace = Namespace(name)
    with cache.folder.alone(namespace, cache.wait):
        entry = _entry_for(cache, namespace, forced=True)
        ours = entry.note.local if entry.note.local is not None else entry.copy
        if ours is None:
            raise NotFound("baton in the cache of namespace", name)
        shown = entry.note.theirs
        try:
            now = cache.server.read(name)
        except Unreachable:
            if shown is None or choice == "theirs":
                raise
            now = shown  # what is decided holds: it is compared once more when it is sent
        if _has(now, ours):
            return _settled(cache, entry, now)
        if now.baton is not None and not (shown is not None and _has(shown, now.baton)):
            return _clashed(cache, entry, ours, now)
        if choice == "theirs":
            return _taken(cache, entry, ours, now)
        if choice == "ours" or now.baton is None:
            return _replaced(cache, entry, ours, now)
        return _merged(cache, entry, ours, now.baton, now)


def _settled(cache: Cache, entry: Entry, now: Answer) -> Outcome:
    """Nothing to settle: the server has what is here."""
    return Outcome(cache.folder.save(entry, Note(entry.note.namespace, cache.url, now)), now, kept=entry.aside)


def _taken(cache: Cache, entry: Entry, ours: dict[str, Any], now: Answer) -> Outcome:
    if now.baton is None:
        raise NotFound("baton on the server of namespace", entry.note.namespace, hint="send yours with --ours")
    keep = kept_document(entry.note.namespace, ours, "the server's was taken")
    saved = cache.folder.save(entry, Note(entry.note.namespace, cache.url, now), [keep])
    return Outcome(saved, now, taken=True, kept=(*entry.aside, keep))


def _replaced(cache: Cache, entry: Entry, baton: dict[str, Any], shown: Answer, keep: tuple[Kept, ...] = ()) -> Outcome:
    """`baton` in the place of the version that was shown, which is kept: the original server has no history.

    From now on that version counts as seen, so that what was decided holds even if it can only be sent later.
    """
    name = entry.note.namespace
    if shown.baton is not None:
        keep = (*keep, kept_document(name, shown.baton, "yours took its place on the server"))
    staged = cache.folder.save(entry, Note(name, cache.url, shown, baton), keep)
    outcome = _sent(cache, staged, baton)
    return outcome._replace(kept=(*entry.aside, *keep, *outcome.kept))


def _merged(cache: Cache, entry: Entry, ours: dict[str, Any], theirs: dict[str, Any], shown: Answer) -> Outcome:
    """Both versions in one."""
    base = entry.note.seen
    made, contested = merged(base.baton if base is not None else None, ours, theirs)
    keep = kept_document(entry.note.namespace, ours, "it was merged with the server's")
    return _replaced(cache, entry, made, shown, (keep,))._replace(contested=contested)


# --- meeting the server


def _entry_for(cache: Cache, namespace: Namespace, *, forced: bool = False) -> Entry:
    """The namespace, without what is known of another server and this one does not have.

    Raises:
        InvalidArgument: something waits to be sent to another server than the one that is asked for.
        RemoteError: this server refuses (`forced`).
    """
    entry = cache.folder.look(namespace)
    if not _is_of_another(cache, entry):
        return entry
    if entry.note.local is not None and not forced:
        raise InvalidArgument(
            f"the baton of {namespace} in the cache waits to be sent to {entry.note.url}, not to {cache.url}",
            hint=f"send it there, or compare and send it here: {send_here(cache, namespace.text)}",
        )
    return replace(entry, note=replace(entry.note, seen=_seen_here(cache, entry) if forced else None, theirs=None))


def _seen_here(cache: Cache, entry: Entry) -> Answer | None:
    """What this server has, where it is what another one had when it was seen last: the same server, renamed."""
    if entry.note.local is None or entry.note.seen is None:
        return None
    try:
        answer = cache.server.read(entry.note.namespace)
    except Unreachable:
        return None
    return answer if _has_seen(entry, answer) else None


def _has_seen(entry: Entry, answer: Answer) -> bool:
    """Whether a server has just what was seen last."""
    return entry.note.seen is not None and entry.note.seen.baton is not None and _has(answer, entry.note.seen.baton)


def send_here(cache: Cache, namespace: str) -> str:
    """The command that sends what waits for another server to this one."""
    return f"baton cache send {namespace} --url {cache.url}"


def _is_of_another(cache: Cache, entry: Entry) -> bool:
    """Whether what is known is of another server."""
    return entry.note.url not in ("", cache.url)


def _sent(cache: Cache, entry: Entry, baton: dict[str, Any]) -> Outcome:
    """Sends a document that stands in the cache as pending; it may replace the version that was seen last."""
    name = entry.note.namespace
    try:
        result = _written(cache.server, name, baton, entry.note.seen)
        theirs = result if isinstance(result, Answer) else result.now or cache.server.read(name)
    except Unreachable as error:
        return Outcome(entry, offline=str(error))
    if isinstance(result, Answer):
        saved = cache.folder.save(entry, Note(name, cache.url, result))
        return Outcome(saved, result, sent=True, kept=entry.aside)
    return _clashed(cache, entry, baton, theirs)


def _clashed(cache: Cache, entry: Entry, baton: dict[str, Any], theirs: Answer) -> Outcome:
    """The conflict, which is remembered with what the server has."""
    name = entry.note.namespace
    saved = cache.folder.save(entry, replace(entry.note, url=cache.url, local=baton, theirs=theirs))
    base = entry.note.seen
    differs = compared(base.baton if base else None, baton, theirs.baton or {})
    return Outcome(saved, theirs, clash=Clash(name, baton, theirs, base, differs), kept=entry.aside)


def _written(server: Server, namespace: str, baton: dict[str, Any], seen: Answer | None) -> Answer | TurnedAway:
    """A compare-and-swap where the server counts revisions; else the comparison that session-baton's flow asks for."""
    if seen is not None and seen.revision is not None:
        now = seen
    else:
        now = server.read(namespace)
        if not _may_replace(now, seen) or _has(now, baton):
            return now if _has(now, baton) else TurnedAway(now)
    result = server.write(namespace, baton, now.revision)
    if isinstance(result, Answer):
        return result
    now = result.now or server.read(namespace)
    if not _may_replace(now, seen) or _has(now, baton):
        return now if _has(now, baton) else TurnedAway(now)
    return server.write(namespace, baton, now.revision or None)  # memory-hall takes no 0 for what is not there


def _has(now: Answer, baton: dict[str, Any]) -> bool:
    """Whether the server has the document: it came there before, and the answer was lost."""
    return now.baton is not None and alike(now.baton, baton)


def _may_replace(now: Answer, seen: Answer | None) -> bool:
    """Whether a server that has `now` has nothing that whoever saw `seen` does not know."""
    if now.baton is None:
        return True
    if seen is None or seen.baton is None:
        return False
    if now.revision is not None and seen.revision is not None:
        return now.revision == seen.revision or alike(now.baton, seen.baton)
    return (now.updated_at == seen.updated_at and now.updated_at is not None) or alike(now.baton, seen.baton)


# --- what there is


class Listed(NamedTuple):
    """One line of the overview."""

    namespace: str
    file: str
    entry: Entry | None = None
    why: str = ""


def overview(folder: CacheFolder) -> Iterator[Listed]:
    """Every namespace in the cache, then the files of which nobody can say whose they are. Asks no server."""
    known, doubtful = folder.namespaces()
    for namespace in known:
        try:
            yield Listed(namespace.text, folder.file(namespace).name, folder.look(namespace))
        except BatonError as error:
            yield Listed(namespace.text, "", why=str(error))
    for name in doubtful:
        yield Listed("", name, why="its namespace is not known: several would be called so")


def waiting(cache: Cache) -> list[str]:
    """The namespaces of which something waits to be sent to this server, or nobody knows to which."""
    return [
        one.namespace
        for one in overview(cache.folder)
        if one.entry is not None and one.entry.note.local is not None and not _is_of_another(cache, one.entry)
    ]


def waiting_elsewhere(cache: Cache) -> list[tuple[str, str]]:
    """The namespaces of which something waits to be sent to another server, and the url of that."""
    return [
        (one.namespace, one.entry.note.url)
        for one in overview(cache.folder)
        if one.entry is not None and one.entry.note.local is not None and _is_of_another(cache, one.entry)
    ]
