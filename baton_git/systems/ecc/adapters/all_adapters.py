"""Find adapters, and open and list sessions with them.

The adapters are the modules named here, one adapter for each agent CLI, and the entry points of the group
`baton_git.adapters`. An entry point has the adapter's id as its name and is loaded when it is needed. A broken adapter
does not affect the others.
"""

from __future__ import annotations

import errno
import heapq
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from baton_git.agents.extraction.extracting import detect_agent
from baton_git.agents.json_lines import parse_object
from baton_git.agents.registry import AGENTS
from baton_git.core.errors import BatonError, Fault, InvalidArgument, InvalidDocument, NotFound, StoreError, shorten
from baton_git.core.times import parse_time_or_none
from baton_git.git.files.atomic_files import show_path
from baton_git.systems.ecc.adapters import baton, claude_history, dmux_tmux
from baton_git.systems.ecc.adapters.adapter import Adapter, Listed, Surroundings, Target, read_text
from baton_git.systems.ecc.adapters.transcripts import Transcripts
from baton_git.systems.ecc.record import CanonicalSession, parse_snapshot

_SUFFIXES = (".json", ".jsonl", ".tmp")
_OTHER_COMMANDS = {
    "ecc.session.v1": ("a snapshot", "to record it: baton session record --file FILE"),
    "ecc.session.recording.v1": ("a recording of ECC", "to import it: baton import ecc FILE"),
}
"""By `schemaVersion`, files that another command opens: the kind of file, and a hint with that command."""


def explain_refusal(value: str, around: Surroundings) -> BatonError | None:
    """Return the error that explains why no adapter opens a target that is a path; None if the target is a name."""
    path = around.cwd / value
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        is_path = "/" in value or path.suffix in _SUFFIXES
        return NotFound("file", show_path(Path(value)), hint=f"no file at {show_path(path)}") if is_path else None
    except OSError as error:
        is_name = error.errno == errno.ENAMETOOLONG
        return None if is_name else StoreError(f"cannot read {show_path(path)}: {error.strerror}", path=show_path(path))
    except ValueError:  # a path cannot contain a zero byte
        return None
    if stat.S_ISREG(mode):
        return _explain_file(path)
    kind = "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"
    return InvalidArgument(f"{show_path(path)} is {kind}, not a file", path=show_path(path))


def _explain_file(path: Path) -> BatonError:
    try:
        version = (parse_object(read_text(path)) or {}).get("schemaVersion")
        if isinstance(version, str) and version in _OTHER_COMMANDS:
            kind, hint = _OTHER_COMMANDS[version]
            return InvalidArgument(f"{show_path(path)} is {kind} ({version})", hint=hint, path=show_path(path))
        agent = detect_agent(path)
    except BatonError as error:
        return error
    why = f"is a transcript of {agent}, but its name does not end in .json or .jsonl"
    return InvalidDocument([Fault("", why)], where=show_path(path))


_WITH_AGENT_IDS = frozenset({claude_history.ID, baton.ID, *(cli.source.adapter for cli in AGENTS.values())})
"""The ids of adapters whose session ids are assigned by the agent CLIs, not chosen by people."""
GROUP = "baton_git.adapters"
"""The entry point group of third-party adapters."""

ADAPTERS: Mapping[str, Adapter] = {
    "claude-history": claude_history,
    "dmux-tmux": dmux_tmux,
    **{cli.source.adapter: Transcripts(cli) for cli in AGENTS.values()},
    "baton": baton,
}
"""The built-in adapters by id, in the order in which they are tried."""

FAILURES = (Exception, SystemExit)
"""Exceptions that are caught from third-party code; KeyboardInterrupt is not."""

_NAMES = {"ID": str, "DESCRIPTION": str, "TARGET_TYPES": tuple}
_CALLED = ("can_open", "open_session", "sessions")


class NoAdapter(NotFound):
    """No adapter can open the target."""

    def __init__(self, target: str) -> None:
        BatonError.__init__(
            self,
            f"No session adapter matched target: {shorten(target)}",
            hint="baton session list shows what can be opened; --adapter ID chooses the adapter",
            what="session", name=target,
        )  # fmt: skip


class BrokenAdapter(NamedTuple):
    """An adapter that failed, and the reason. With `partly`, the adapter worked, but left something out."""

    id: str
    why: str
    partly: bool = False


class OpenedSession(NamedTuple):
    """A snapshot as plain data and as a validated record, with the problems found while opening it."""

    data: dict[str, Any]
    snapshot: CanonicalSession
    problems: tuple[BrokenAdapter, ...] = ()


# --- finding adapters


def list_adapters() -> list[Adapter | BrokenAdapter]:
    """Return all adapters: built-in ones first, then the others by name; broken ones with the reason."""
    return list(_iterate_adapters())


def _iterate_adapters() -> Iterator[Adapter | BrokenAdapter]:
    """Yield all adapters lazily; third-party ones are loaded only after the built-in ones."""
    yield from ADAPTERS.values()
    yield from (_load_adapter(name) for name in sorted(_list_entry_points()))


def find_adapter(id_: str) -> Adapter:
    """Return the adapter with this id.

    Raises:
        InvalidArgument: there is no such adapter, or it cannot be used.
    """
    if id_ in ADAPTERS:
        return ADAPTERS[id_]
    adapter = _load_adapter(id_) if id_ in _list_entry_points() else None
    if isinstance(adapter, BrokenAdapter):
        raise InvalidArgument(f"the session adapter {shorten(id_)} cannot be used: {adapter.why}", adapter=id_)
    if adapter is None:
        known = ", ".join([*ADAPTERS, *sorted(_list_entry_points())])
        raise InvalidArgument(f"Unknown session adapter: {shorten(id_)}", hint=f"the adapters are {known}", adapter=id_)
    return adapter


def _list_entry_points() -> dict[str, metadata.EntryPoint]:
    """Return the entry points of third-party adapters by name; none can replace a built-in adapter."""
    return {point.name: point for point in metadata.entry_points(group=GROUP) if point.name not in ADAPTERS}


def _load_adapter(name: str) -> Adapter | BrokenAdapter:
    try:
        adapter = _list_entry_points()[name].load()
        fault = _find_fault(name, adapter)
    except FAILURES as error:  # third-party code: any exception becomes the reason
        return BrokenAdapter(name, _describe_error(error))
    return adapter if fault is None else BrokenAdapter(name, fault)


def _find_fault(name: str, candidate: object) -> str | None:
    """Return why an object is not an adapter; None if it is one."""
    for attribute, kind in _NAMES.items():
        if not isinstance(getattr(candidate, attribute, None), kind):
            return f"{attribute} is missing, or is not a {kind.__name__}"
    for attribute in _CALLED:
        if not callable(getattr(candidate, attribute, None)):
            return f"{attribute} is missing, or is not a function"
    own = getattr(candidate, "ID", "")
    return None if own == name else f"its ID is {own!r}, but its entry point is called {name!r}"


def _describe_error(error: BaseException) -> str:
    return str(error) if isinstance(error, BatonError) else f"{type(error).__name__}: {error}"


# --- opening


def open_target(target: Target, around: Surroundings, adapter: str | None = None) -> OpenedSession:
    """Open the session of a target and return its snapshot, validated.

    Args:
        adapter: the id of the adapter to use; None tries each in turn.

    Raises:
        InvalidArgument: the target is empty or a folder, the adapter is unknown or unusable, or the type is unknown.
        NotFound: no adapter can open the target, or the one that can finds no session.
        InvalidDocument: the session cannot be parsed, or the adapter returned an invalid snapshot.
        StoreError: the session cannot be read.
    """
    if not target.value.strip():
        raise InvalidArgument("the target is empty", hint="to list the targets: baton session list")
    broken: list[BrokenAdapter] = []
    chosen = find_adapter(adapter) if adapter is not None else _choose_adapter(target, around, broken)
    if target.type and target.type not in chosen.TARGET_TYPES:
        raise _make_type_error(target.type, [chosen])
    opened = check_snapshot(
        chosen.ID, _open_session(chosen, target, replace(around, warn=_make_warner(chosen.ID, broken)))
    )
    return opened._replace(problems=tuple(broken))


def _choose_adapter(target: Target, around: Surroundings, broken: list[BrokenAdapter]) -> Adapter:
    """Return the first adapter that can open the target, among those that support its type."""
    usable = []
    for adapter in _iterate_adapters():
        if isinstance(adapter, BrokenAdapter):
            broken.append(adapter)
            continue
        usable.append(adapter)
        if target.type in ("", *adapter.TARGET_TYPES) and _can_open(adapter, target, around, broken):
            return adapter
    raise _make_unmatched_error(target, around, usable, broken)


def _make_unmatched_error(
    target: Target, around: Surroundings, usable: Sequence[Adapter], broken: Sequence[BrokenAdapter]
) -> BatonError:
    """Return the error for a target that no adapter opens, naming the adapters that failed."""
    if target.type and not any(target.type in adapter.TARGET_TYPES for adapter in usable):
        error: BatonError = _make_type_error(target.type, usable)
    else:
        error = explain_refusal(target.value, around) or NoAdapter(target.value)
    failed = [f"the session adapter {entry.id} failed: {entry.why}" for entry in broken]
    error.hint = "; ".join(text for text in (*failed, error.hint) if text)
    return error


def _make_type_error(type_: str, among: Sequence[Adapter]) -> InvalidArgument:
    known = ", ".join(dict.fromkeys(name for adapter in among for name in adapter.TARGET_TYPES))
    return InvalidArgument(f"Unknown type of target: {shorten(type_)}", hint=f"the types are {known}", type=type_)


def _make_warner(id_: str, broken: list[BrokenAdapter]) -> Callable[[str], None]:
    """Return the function that an adapter calls when it leaves something out."""
    return lambda why: broken.append(BrokenAdapter(id_, str(why), partly=True))


def _can_open(adapter: Adapter, target: Target, around: Surroundings, broken: list[BrokenAdapter]) -> bool:
    try:
        return bool(adapter.can_open(target, around))
    except FAILURES as error:
        if adapter.ID in ADAPTERS:
            raise
        broken.append(BrokenAdapter(adapter.ID, _describe_error(error)))
        return False


def _open_session(adapter: Adapter, target: Target, around: Surroundings) -> object:
    try:
        return adapter.open_session(target, around)
    except BatonError:
        raise
    except FAILURES as error:
        if adapter.ID in ADAPTERS:
            raise
        raise InvalidDocument([Fault("", _describe_error(error))], where=f"the adapter {adapter.ID} failed") from error


def check_snapshot(adapter: str, data: object) -> OpenedSession:
    """Validate a snapshot that an adapter returned, and return it. An error names the adapter.

    Raises:
        InvalidDocument: it is not plain JSON, or violates a rule of the contract.
    """
    where = f"the adapter {adapter} returned no canonical session snapshot"
    snapshot = parse_snapshot(data, where=where)
    assert isinstance(data, dict)
    if snapshot.adapterId != adapter:
        raise InvalidDocument([Fault("adapterId", f"is {snapshot.adapterId!r}")], where=where)
    return OpenedSession(data, snapshot)


# --- listing


class OfferedSession(NamedTuple):
    """A session that can be opened, and its adapter."""

    adapter: str
    listed: Listed


def list_sessions(
    around: Surroundings, adapter: str | None = None
) -> tuple[Iterator[OfferedSession], list[BrokenAdapter]]:
    """Return the sessions that can be opened, newest first and lazily, and the adapters that failed.

    A session that several adapters offer under the id that its agent CLI assigned is listed once, with its latest
    update. The list of failures grows while the sessions are read, with at most one warning for each adapter.

    Args:
        adapter: the id of the only adapter to use; None uses all.

    Raises:
        InvalidArgument: there is no such adapter, or it cannot be used.
    """
    broken: list[BrokenAdapter] = []
    chosen = [find_adapter(adapter)] if adapter is not None else list_adapters()
    broken += [entry for entry in chosen if isinstance(entry, BrokenAdapter)]
    each = [_offer_in_order(entry, around, broken) for entry in chosen if not isinstance(entry, BrokenAdapter)]
    return _leave_out_repeated(heapq.merge(*each, key=_parse_update_time, reverse=True)), broken


def _leave_out_repeated(offered: Iterable[OfferedSession]) -> Iterator[OfferedSession]:
    """Yield the sessions without repetitions: among the adapters of `_WITH_AGENT_IDS`, the first session with an id.

    Sessions of other adapters are never left out, because their ids are chosen by people and can be equal by chance.
    """
    seen: set[str] = set()
    for session in offered:
        is_known = session.adapter in _WITH_AGENT_IDS and session.listed.id in seen
        if not is_known:
            yield session
        if session.adapter in _WITH_AGENT_IDS:
            seen.add(session.listed.id)


def _parse_update_time(offered: OfferedSession) -> datetime:
    return parse_time_or_none(offered.listed.updated_at) or datetime.min.replace(tzinfo=UTC)


def _offer_in_order(adapter: Adapter, around: Surroundings, broken: list[BrokenAdapter]) -> Iterable[OfferedSession]:
    """Yield the sessions of an adapter newest first; a third-party adapter may return them in any order."""
    offered = _offer_sessions(adapter, around, broken)
    return offered if adapter.ID in ADAPTERS else sorted(offered, key=_parse_update_time, reverse=True)


def _offer_sessions(adapter: Adapter, around: Surroundings, broken: list[BrokenAdapter]) -> Iterator[OfferedSession]:
    add_problem = _make_warner(adapter.ID, broken)

    def warn(why: str) -> None:
        if not any(entry.id == adapter.ID for entry in broken):
            add_problem(why)

    try:
        for listed in _convert_to_texts(adapter.sessions(replace(around, warn=warn))):
            yield OfferedSession(adapter.ID, listed)
    except FAILURES as error:
        if adapter.ID in ADAPTERS and not isinstance(error, BatonError):
            raise
        broken.append(BrokenAdapter(adapter.ID, _describe_error(error)))


def _convert_to_texts(listed_sessions: Iterable[Listed]) -> Iterator[Listed]:
    """Convert all fields to text; a third-party adapter may return any type."""
    for listed in listed_sessions:
        yield Listed(*(str(part) for part in listed))
