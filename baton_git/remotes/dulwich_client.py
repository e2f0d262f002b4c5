"""A remote through dulwich, for machines without git: no credential helpers, no hooks of the user, no paths."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from dulwich.client import HTTPUnauthorized, StrangeHostname
from dulwich.errors import ApplyDeltaError, ChecksumMismatch, GitProtocolError, NotGitRepository, SendPackError
from dulwich.object_store import ObjectStoreGraphWalker
from dulwich.objects import ObjectID, valid_hexsha
from dulwich.pack import pack_objects_to_data
from dulwich.refs import Ref, check_ref_format
from urllib3.exceptions import HTTPError

from baton_git.errors import AccessDenied, Corrupt, LimitExceeded, RemoteError
from baton_git.names import Oid
from baton_git.remotes import incoming, outgoing, patterns, verdict
from baton_git.remotes.complaints import as_error, is_progress, masked, printable, too_late
from baton_git.remotes.dulwich_transport import Channel, channel
from baton_git.remotes.git_files import GitFiles
from baton_git.remotes.remote import Accepted, Outcome, Overtaken, Progress, Push
from baton_git.remotes.watch import Watch
from baton_git.store import Repository, Store
from baton_git.store.pack_reading import Raw

_GONE_WRONG: Final = (
    GitProtocolError, NotGitRepository, HTTPUnauthorized, StrangeHostname, HTTPError, OSError, SendPackError,
    ApplyDeltaError, ChecksumMismatch, AssertionError, AttributeError, EOFError, IndexError, KeyError,
    NotImplementedError, TypeError, ValueError, struct.error, zlib.error,
)  # fmt: skip
"""What dulwich raises when a server is away, says no, or says nonsense; they have no base of their own."""

_LOGIN_HINT: Final = "without the git program no credential helper is asked: put the login into the URL, or install git"


def opened(
    repository: Repository, name: str, environment: Mapping[str, str], progress: Progress | None
) -> DulwichClient:
    """The remote of this name, or at this URL.

    Raises:
        NotFound: there is no such remote.
        RemoteError: the repository is of a kind that dulwich cannot speak for.
    """
    if repository.object_format.name != "sha1":
        raise RemoteError("a sha256 repository needs the git program to talk to others", hint="install git")
    files = GitFiles.of(repository, environment)
    files.address(name, push=False)
    return DulwichClient(repository, name, files, environment, progress)


class DulwichClient:
    """The remote that `files` call `name`, or at that URL."""

    def __init__(
        self,
        repository: Repository,
        name: str,
        files: GitFiles,
        environment: Mapping[str, str],
        progress: Progress | None,
    ) -> None:
        self._repository = repository
        self._address = name
        self._files = files
        self._environment = environment
        self._progress = progress

    @property
    def name(self) -> str:
        return masked(self._address)

    def fetch(self, wants: Mapping[str, str], *, seconds: float) -> dict[str, Oid]:
        """See `Remote.fetch`."""
        patterns.check(wants)
        if not wants:
            return {}
        pack = bytearray()
        with Store(self._repository) as store:
            with self._talk(seconds, push=False) as (client, path):
                refs = _received(client.fetch_pack(
                    path.encode(), lambda refs, depth=None: _unknown(store, wants, refs), _haves(store, wants),
                    _collector(pack), progress=_Printed(self._progress).heard,
                    ref_prefix=[prefix.encode() for prefix in patterns.prefixes(wants)],
                ).refs)  # fmt: skip
            matches = patterns.matches(wants, refs)
            tips = {there: refs[there] for there in matches}
            objects = self._looked_through(bytes(pack), store, tips.values())
            store.receive(objects, {here: tips[there] for there, here in matches.items()})
        return tips

    def _looked_through(self, pack: bytes, store: Store, tips: Iterable[Oid]) -> dict[Oid, Raw]:
        """The objects of the pack, with which everything behind the tips is here."""
        try:
            objects = incoming.unpacked(pack, store) if pack else {}
            incoming.Arrivals(objects, store).check_whole(tips)
        except (Corrupt, *_GONE_WRONG) as error:
            text = f"{self.name}: what it sent cannot be used: {error}"
            raise RemoteError(text, hint="run `git fsck` on the server, then fetch again", remote=self.name) from None
        return objects

    def push(self, moves: Sequence[Push], *, seconds: float) -> dict[str, Outcome]:
        """See `Remote.push`."""
        outcomes: dict[str, Outcome] = {}
        asked: dict[str, Push] = {}
        printed = _Printed(self._progress)

        def decide(refs: dict[Ref, ObjectID]) -> dict[Ref, ObjectID]:
            """The lease: only what stands where it is expected is asked for; the server compares once more."""
            for move in moves:
                there = refs.get(Ref(move.ref.encode()))
                decision = _decision(move, None if there is None else Oid(there.decode()))
                if decision is None:
                    asked[move.ref] = move
                else:
                    outcomes[move.ref] = decision
            return {Ref(ref.encode()): ObjectID(move.new.encode()) for ref, move in asked.items()}

        if not moves:
            return {}
        with Store(self._repository) as store, self._talk(seconds, push=True) as (client, path):
            try:
                result = client.send_pack(
                    path.encode(), decide,
                    lambda have, want, **_: pack_objects_to_data(outgoing.objects(store, asked.values())),
                    progress=printed.heard,
                )  # fmt: skip
            except SendPackError as error:
                return outcomes | {ref: verdict.by_server(f"unpacker {_words(error)}", printed.lines) for ref in asked}
        status = {ref.decode("utf-8", "replace"): why for ref, why in (result.ref_status or {}).items()}
        unsaid = [ref for ref in asked if ref not in status]
        if unsaid:
            raise RemoteError(f"{self.name}: the server did not say what became of {unsaid[0]}", hint="fetch to see")
        return outcomes | {ref: _outcome(status[ref], printed.lines) for ref in asked}

    @contextmanager
    def _talk(self, seconds: float, *, push: bool) -> Iterator[Channel]:
        """A connection for one conversation; whatever goes wrong in it becomes a RemoteError."""
        with Watch(seconds) as watch:
            try:
                address = self._files.address(self._address, push=push)
                yield channel(address, self._files, self._environment, watch)
            except _GONE_WRONG as error:
                if watch.passed or isinstance(error, TimeoutError) or "read timed out" in str(error).lower():
                    raise too_late(self.name, seconds) from None
                raise _as_remote_error(self.name, error) from None


class _Printed:
    """What the server prints, by whole lines: kept, and given to `progress`."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._text = b""

    def heard(self, chunk: bytes) -> None:
        """Takes the next piece. Only the end of a long speech is kept."""
        self._text = (self._text + chunk)[-(1 << 16) :]
        if self._progress is not None:
            for line in chunk.decode("utf-8", "replace").splitlines():
                if shown := printable(line):
                    self._progress(shown if is_progress(shown) else f"remote: {shown}")

    @property
    def lines(self) -> list[str]:
        return self._text.decode("utf-8", "replace").splitlines()


def _received(refs: Mapping[Any, Any]) -> dict[str, Oid]:
    """What the server listed, less what it peeled, what points nowhere yet, and names that no ref can have.

    Raises:
        ValueError: a value is no object id.
    """
    listed = {ref: tip for ref, tip in refs.items() if tip is not None and check_ref_format(ref)}
    if not all(map(valid_hexsha, listed.values())):
        raise ValueError("the server lists a ref without an object id")
    return {ref.decode("utf-8", "replace"): Oid(tip.decode()) for ref, tip in listed.items()}


def _unknown(store: Store, wants: Mapping[str, str], refs: Mapping[Any, Any]) -> list[ObjectID]:
    """The wanted tips that are not here."""
    listed = _received(refs)
    tips = {listed[ref] for ref in patterns.matches(wants, listed)}
    return [ObjectID(tip.encode()) for tip in sorted(tips) if not store.has(tip)]


def _haves(store: Store, wants: Mapping[str, str]) -> ObjectStoreGraphWalker:
    """What is likely in common: where those refs stood last time, and the branches here of the same name."""
    tips = set()
    for pattern in (*wants, *wants.values()):
        start, star, _ = pattern.partition("*")
        here = store.refs(start) if star else {pattern: store.tip(pattern)}
        tips |= {tip for ref, tip in here.items() if tip is not None and patterns.star_of(pattern, ref) is not None}

    def parents(oid: ObjectID) -> list[ObjectID]:
        return [ObjectID(parent.encode()) for parent in store.commit(Oid(oid.decode())).parents]

    return ObjectStoreGraphWalker([ObjectID(tip.encode()) for tip in tips if store.has(tip)], parents)


def _collector(pack: bytearray) -> Callable[[bytes], int]:
    def collect(chunk: bytes) -> int:
        pack.extend(chunk)
        if len(pack) > incoming.LARGEST:
            raise LimitExceeded("what the server sends", len(pack), incoming.LARGEST, "bytes")
        return len(chunk)

    return collect


def _decision(move: Push, there: Oid | None) -> Outcome | None:
    """What is clear before anything is asked for; None when the server is to decide."""
    if there == move.new:
        return Accepted()
    return None if there == move.expected else Overtaken("stale info")


def _outcome(why: str | None, printed: list[str]) -> Outcome:
    return Accepted() if why is None else verdict.by_server(why, printed)


def _as_remote_error(name: str, error: Exception) -> RemoteError:
    if isinstance(error, HTTPUnauthorized):
        return AccessDenied(f"{name}: authentication failed", hint=_LOGIN_HINT, remote=name)
    if isinstance(error, NotGitRepository):
        hint = "check the address, and that you may use that repository"
        return AccessDenied(f"{name}: repository not found", hint=hint, remote=name)
    return as_error(name, _words(error))


def _words(error: BaseException) -> str:
    """What an exception of dulwich or urllib3 wants to say, without the layers around it."""
    reason = getattr(error.__cause__, "reason", None)
    text = str(reason or error) or type(error).__name__
    lines = getattr(error, "stderr_lines", None) or []
    return "\n".join([*(line.decode("utf-8", "replace") for line in lines), text])
