"""A remote, accessed with the git program, which uses the user's credential helpers, ssh and proxies."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple, cast

from baton_git.core.errors import InvalidArgument, Rejected, StoreError
from baton_git.core.names import Oid, parse_oid
from baton_git.git.child_process import ChildResult
from baton_git.git.remotes import error_messages
from baton_git.git.remotes.error_messages import (
    Push,
    PushAccepted,
    PushOutcome,
    mask_logins,
    remote_error,
    timeout_error,
)
from baton_git.git.remotes.git_command import Progress, RemoteGit, SshSettings
from baton_git.git.remotes.quarantine import SETTINGS, FetchLimits, Quarantine, SizeWatch, quarantine, view, with_drafts
from baton_git.git.store import Repository, Store


def check(wants: Mapping[str, str]) -> None:
    """Raise InvalidArgument unless both sides are full ref names, each with one `*` or both without."""
    for remote_ref, local_ref in wants.items():
        stars = remote_ref.count("*"), local_ref.count("*")
        if not (remote_ref.startswith("refs/") and local_ref.startswith("refs/")) or stars not in {(0, 0), (1, 1)}:
            raise InvalidArgument(
                f"cannot fetch {remote_ref!r} to {local_ref!r}: both must be full ref names, or both patterns"
            )


def match_star(pattern: str, ref: str) -> str | None:
    """Return the part of `ref` that the `*` of the pattern matches ("" without a `*`), or None if it does not match."""
    start, star, end = pattern.partition("*")
    if not star:
        return "" if ref == pattern else None
    fits = len(ref) > len(start) + len(end) and ref.startswith(start) and ref.endswith(end)
    return ref[len(start) : len(ref) - len(end)] if fits else None


def fill_pattern(pattern: str, star: str) -> str:
    return pattern.replace("*", star)


def matches(wants: Mapping[str, str], refs: Iterable[str]) -> dict[str, str]:
    """Return a mapping of the matching remote refs in `refs` to their local refs."""
    matched = ((ref, local_ref, match_star(remote_ref, ref)) for ref in refs for remote_ref, local_ref in wants.items())
    return {ref: fill_pattern(local_ref, star) for ref, local_ref, star in matched if star is not None}


_FETCH: Final = (
    "fetch", "--verbose", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-maintenance",
    "--no-show-forced-updates", "--no-prune", "--no-prune-tags", "--no-write-commit-graph",
    "--no-filter",  # baton needs the blobs even in a partial clone
    "--refmap=",  # else git would also update refs/remotes/<name>/…
)  # fmt: skip
_PUSH: Final = (
    "push", "--porcelain", "--no-verify", "--no-signed", "--no-follow-tags", "--no-recurse-submodules",
    "--no-force-if-includes",
)  # fmt: skip
_MISSING = re.compile(r"^fatal: couldn't find remote ref (\S+)$", re.MULTILINE)
_TOO_LARGE = re.compile(r"attempting to allocate (\d+) over limit (\d+)")
_NO_DEPTH = re.compile(r"shallow|--deepen|--depth")
_OTHER_HOST = re.compile(r"(?!file://)[^/]*:")
"""The beginning of an address that is no path: `https://host/…`, `host:path`."""
_MOVED = re.compile(r"^ [ =*+t-] .* -> (\S+)", re.MULTILINE)
_PUSHED = re.compile(r"^([ *=+!-])\t[^\t:]*:([^\t]+)\t(.*)$", re.MULTILINE)
_REASON = re.compile(r"\[(?P<who>[a-z ]+)\](?: \((?P<why>.*)\))?$")


class Depth(NamedTuple):
    """A number of generations of commits: from the tip, or (`is_relative`) beyond the present boundary."""

    generations: int
    is_relative: bool = False

    @property
    def option(self) -> str:
        return f"--{'deepen' if self.is_relative else 'depth'}={self.generations}"


class Remote:
    """Another repository, accessed over the network or by a path. `name` is for messages and has no password.

    `address` is a URL, a path or (`named`) a name in the repository's configuration.
    """

    def __init__(
        self, git: RemoteGit, address: str, ssh: SshSettings, progress: Progress | None, *, named: bool
    ) -> None:
        self._git = git
        self._address = address
        self._named = named
        # Single refs cannot be pushed to a mirror, and newer versions of git would create refs/remotes/<name>/HEAD.
        settings = {"mirror": "false", "followRemoteHEAD": "never"} if named and "=" not in address else {}
        self._settings = {f"remote.{address}.{key}": value for key, value in settings.items()}
        self._ssh = ssh
        self._progress = progress

    @property
    def name(self) -> str:
        return mask_logins(self._address)

    @contextmanager
    def fetch(
        self,
        wants: Mapping[str, str],
        *,
        seconds: float,
        limits: FetchLimits,
        everything: bool = False,
        depth: Depth | None = None,
    ) -> Iterator[Quarantine]:
        """Fetch branches into a quarantine, which is deleted at the end of the `with` block. No local ref changes.

        Args:
            wants: private local ref by full name of the remote ref; both may have one `*`. Refs that do not exist on
                the remote are ignored.
            everything: also fetch objects that exist locally, because they may be damaged.
            depth: how much of the history to fetch; None for all of it. A server that cannot limit it sends all.

        Raises:
            Unreachable: the remote did not respond, the connection broke, or more than `seconds` passed.
            AccessDenied: authentication failed, or the repository does not exist or must not be read.
            Rejected: the fetched objects exceed the limits.
            RemoteError: the remote reported another error.
            StoreError: the fetched objects cannot be stored.
        """
        check(wants)
        deadline = time.monotonic() + seconds
        fetches_all = everything or self._git.repository.is_partial
        with Store(self._git.repository) as store:
            environment = limits.environment(store.objects.largest_index())
            known = {} if fetches_all else {**self._tracked_tips(store, wants), **_known_tips(store, wants)}
            same = self._find_unchanged(store, wants, seconds) if fetches_all and not everything else {}
        if same:
            wants = {remote: local for remote, local in wants.items() if remote not in same}
            seconds = max(0.0, deadline - time.monotonic())
        with quarantine(self._git, known, environment, hide_objects=fetches_all) as git:
            objects = cast(Path, git.view) / "objects"
            before = _read_shallow(objects)
            watch = SizeWatch(objects, limits.total_bytes)
            fetched = self._fetch_refs(git, wants, seconds, watch, depth) if wants else {}
            with Store(Repository(objects.parent, objects.parent, None)) as temporary:
                tips = {remote: tip for remote, local in fetched.items() if (tip := temporary.tip(local)) is not None}
            refs = {remote: fetched[remote] for remote in tips} | {remote: local for remote, (local, _) in same.items()}
            tips |= {remote: tip for remote, (_, tip) in same.items()}
            announced = frozenset((*known.values(), *(tip for _, tip in same.values())))
            after = _read_shallow(objects)
            yield Quarantine(tips, refs, objects, announced, git, fetches_all, after - before, after)

    @contextmanager
    def fetch_objects(self, oids: Sequence[Oid], *, seconds: float, limits: FetchLimits) -> Iterator[Path]:
        """Fetch single objects, with all that trees and commits among them refer to.

        Returns:
            The object directory with them, which is deleted at the end of the `with` block.

        Raises:
            Unreachable, AccessDenied, Rejected, RemoteError: like `fetch`; also if the remote lacks one of them.
        """
        deadline = time.monotonic() + seconds
        with Store(self._git.repository) as store:
            environment = limits.environment(store.objects.largest_index())
        with quarantine(self._git, {}, environment, hide_objects=True) as git:
            objects = cast(Path, git.view) / "objects"
            watch = SizeWatch(objects, limits.total_bytes)
            stdin = "".join(f"{oid}\n" for oid in oids).encode()
            done = self._run(
                git, (*_FETCH, *self._server, "--no-progress", "--stdin"), (), seconds, deadline, watch, stdin
            )
            if done.code != 0:
                _check_size(self.name, done.err)
                raise remote_error(self.name, done.err)
            yield objects

    def _tracked_tips(self, store: Store, wants: Mapping[str, str]) -> dict[str, Oid]:
        """Return the tips that git itself fetched from this remote: they are here and protected, and need no copy."""
        tips: dict[str, Oid] = {}
        for ref in wants if self._named else ():
            if ref.startswith("refs/heads/"):
                start, star, _ = f"refs/remotes/{self._address}/{ref.removeprefix('refs/heads/')}".partition("*")
                with suppress(StoreError):
                    tip = None if star else store.tip(start)
                    tips |= store.refs(start) if star else {start: tip} if tip is not None else {}
        return tips

    def _find_unchanged(self, store: Store, wants: Mapping[str, str], seconds: float) -> dict[str, tuple[str, Oid]]:
        """Return the remote refs that need no fetch, because their private refs have the same tip.

        Only used for partial clones, because there a fetch transfers all objects of a ref, even known ones.

        Returns:
            The private ref and the tip, by remote ref.
        """
        tips = self.tips(wants, seconds=seconds)
        pairs = matches(wants, tips).items()
        return {remote: (local, tips[remote]) for remote, local in pairs if store.tip(local) == tips[remote]}

    def tips(self, wants: Mapping[str, str], *, seconds: float) -> dict[str, Oid]:
        """Return the values of the wanted refs that exist on the remote, without fetching them.

        Raises:
            Unreachable, AccessDenied, RemoteError: like `fetch`.
        """
        check(wants)
        deadline = time.monotonic() + seconds
        done = self._run(self._git, ("ls-remote", "--refs"), wants, seconds, deadline)
        if done.code != 0:
            raise remote_error(self.name, done.err)
        lines = (line.partition("\t") for line in done.out.splitlines())
        tips = {ref: parse_oid(name) for name, _, ref in lines}
        return {remote: tips[remote] for remote in matches(wants, tips)}

    def _fetch_refs(
        self, git: RemoteGit, wants: Mapping[str, str], seconds: float, watch: SizeWatch, depth: Depth | None
    ) -> dict[str, str]:
        """Fetch the refs that exist on the remote; return a mapping of remote ref to local ref."""
        deadline = time.monotonic() + seconds
        remaining = dict(wants)
        while remaining:
            options = (*_FETCH, *self._server, *self._verbosity(), *([depth.option] if depth is not None else []))
            pairs = [f"+{remote}:{local}" for remote, local in remaining.items()]
            done = self._run(git, options, pairs, seconds, deadline, watch)
            if done.code != 0 and depth is not None and _NO_DEPTH.search(done.err):
                depth = None  # the server or the transport (dumb HTTP) has no shallow fetch
                continue
            missing = _MISSING.search(done.err)
            if done.code == 0:
                return _fetched_refs(remaining, done.err)
            _check_size(self.name, done.err)
            if missing is None:
                raise remote_error(self.name, done.err)
            remaining = self._drop_missing(missing[1], remaining, deadline, first=remaining == wants)
        return {}

    def push(self, moves: Sequence[Push], *, seconds: float) -> dict[str, PushOutcome]:
        """Move refs with compare-and-swap on the server, independently of each other; return the outcome for each.

        The only local refs that may change are git's refs/remotes/… of accepted branches. git does not need the
        local refs for this, so it runs in a view without refs if possible. It reads the objects of unpublished commits
        from a temporary directory.

        The caller must make sure that `new` is a descendant of `expected`.

        Raises:
            Unreachable: like `fetch`. The refs may have moved or not; fetch to find out.
            AccessDenied: authentication failed, or the repository must not be written.
            RemoteError: the remote reported another error, or no outcome for a ref.
        """
        if not moves:
            return {}
        leases = (f"--force-with-lease={move.ref}:{move.expected or ''}" for move in moves)
        refspecs = [f"{move.new or ''}:{move.ref}" for move in moves]
        deadline = time.monotonic() + seconds
        drafts = [move.draft for move in moves if move.draft is not None]
        with view(self._git, {}) as bare, with_drafts(bare, drafts) as git:
            done = self._run(git, (*_PUSH, *self._verbosity(), *leases), refspecs, seconds, deadline)
        outcomes = _parse_outcomes(done)
        unreported = [move.ref for move in moves if move.ref not in outcomes]
        if unreported:
            raise remote_error(self.name, done.err or f"fatal: the server reported no result for {unreported[0]}")
        return outcomes

    @cached_property
    def _server(self) -> tuple[str, ...]:
        """The option that starts the server of a path without the limit of memory, which is only for what is received.

        The tables for its own packs may be larger.
        """
        config = self._git.repository.config()
        section = f"remote.{self._address}" if self._named else ""
        address = config.get(f"{section}.url") or "" if section else self._address
        if _OTHER_HOST.match(address) or not address or (section and config.get(f"{section}.uploadpack")):
            return ()
        return ("--upload-pack=env -u GIT_ALLOC_LIMIT git-upload-pack",)

    def _verbosity(self) -> tuple[str, ...]:
        return ("--progress",) if self._progress is not None else ("--no-progress",)

    def _run(
        self, git: RemoteGit, words: Iterable[str], rest: Iterable[str], seconds: float, deadline: float,
        watch: SizeWatch | None = None, stdin: bytes = b"",
    ) -> ChildResult:  # fmt: skip
        seconds_left = max(0.0, deadline - time.monotonic())
        settings = {**self._settings, **(SETTINGS if git.is_quarantine else {})}
        done = git.run_remote(
            (*words, "--", self._address, *rest), settings, self._ssh, seconds_left, self._progress, watch, stdin
        )
        if watch is not None:
            watch.check(self.name)
        if done is None:
            raise timeout_error(self.name, seconds)
        return done

    def _drop_missing(self, missing: str, wants: Mapping[str, str], deadline: float, *, first: bool) -> dict[str, str]:
        """Return `wants` without refs that are missing on the remote.

        git reports only one missing ref per fetch. After the second report, the server is asked for its refs instead.
        """
        if first or len(wants) == 1:
            return {remote: local for remote, local in wants.items() if remote != missing}
        seconds_left = max(0.0, deadline - time.monotonic())
        present = self.tips(
            {remote: local for remote, local in wants.items() if "*" not in remote}, seconds=seconds_left
        )
        return {remote: local for remote, local in wants.items() if "*" in remote or remote in present}


def _check_size(name: str, printed: str) -> None:
    """Raise Rejected if git refused an object because of its size."""
    match = _TOO_LARGE.search(printed)
    if match:
        raise Rejected(
            f"{name}: an object of {int(match[1]):,} bytes, the limit is {int(match[2]):,}",
            hint="nothing was fetched; ask the person who pushed it to remove that file",
        )


def _read_shallow(objects: Path) -> frozenset[Oid]:
    """Return the boundary commits in the temporary git directory with this object folder."""
    try:
        return frozenset(map(parse_oid, (objects.parent / "shallow").read_text(encoding="ascii").split()))
    except FileNotFoundError:
        return frozenset()


def _known_tips(store: Store, wants: Mapping[str, str]) -> dict[str, Oid]:
    """Return the tips to announce to the server: the refs fetched before, and the local branches of the same names."""
    tips: dict[str, Oid] = {}
    for ref in {part for pair in wants.items() for part in pair}:
        with suppress(StoreError):  # an unreadable ref is reported elsewhere; here it only causes a larger transfer
            start, star, _ = ref.partition("*")
            tip = None if star else store.tip(ref)
            tips |= store.refs(start) if star else {ref: tip} if tip is not None else {}
    return tips


def _fetched_refs(wants: Mapping[str, str], report: str) -> dict[str, str]:
    """Return local ref by remote ref of what was fetched: all full names, and for patterns the refs in git's report."""
    arrived = {remote: local for remote, local in wants.items() if "*" not in remote}
    globs = {local: remote for remote, local in wants.items() if "*" in remote}
    shown = [full for name in _MOVED.findall(report) for full in _full_names(name)] if globs else []
    return arrived | {remote: local for local, remote in matches(globs, shown).items()}


def _full_names(shown: str) -> tuple[str, ...]:
    """Return the possible full names for a name in git's output, where `refs/heads/` etc. are omitted."""
    return (shown,) if shown.startswith("refs/") else tuple(f"refs/{kind}/{shown}" for kind in _KINDS)


_KINDS: Final = ("heads", "tags", "remotes")


def _parse_outcomes(done: ChildResult) -> dict[str, PushOutcome]:
    """Parse the outcomes by ref from the porcelain output; refs without a response of the server are omitted."""
    printed = [line.removeprefix("remote:") for line in done.err.splitlines() if line.startswith("remote:")]
    outcomes = {}
    for flag, ref, summary in _PUSHED.findall(done.out):
        outcome = PushAccepted() if flag != "!" else _classify_rejection(summary, printed)
        if outcome is not None:
            outcomes[ref] = outcome
    return outcomes


def _classify_rejection(summary: str, printed: list[str]) -> PushOutcome | None:
    reason = _REASON.search(summary)
    if reason is None or reason["who"] == "remote failure":
        return None
    why = reason["why"] or reason["who"]
    if reason["who"] == "remote rejected":
        return error_messages.classify_server_rejection(why, printed)
    return error_messages.classify_client_rejection(why)
