"""The one list of adapters: a new source is a module with the names of `Adapter`, named here, or an agent's CLI.

Others come from installed distributions, as entry points of the group `baton_git.adapters` whose names are the ids.
Each is loaded when it is asked for; what is wrong with one is said of that one, and harms no other.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib import metadata
from typing import Any, NamedTuple

from baton_git.agents.registry import AGENTS
from baton_git.core.errors import BatonError, Fault, InvalidArgument, InvalidDocument, NotFound, shorten
from baton_git.core.times import parse_time_or_none
from baton_git.systems.ecc.adapters import baton, claude_history, dmux_tmux
from baton_git.systems.ecc.adapters.adapter import Adapter, Listed, Surroundings, Target
from baton_git.systems.ecc.adapters.canonical import parse_snapshot
from baton_git.systems.ecc.adapters.paths import refusal
from baton_git.systems.ecc.adapters.transcripts import Transcripts
from baton_git.systems.ecc.record import CanonicalSession

GROUP = "baton_git.adapters"
"""The entry point group of adapters that others write."""

ADAPTERS: Mapping[str, Adapter] = {
    "claude-history": claude_history,
    "dmux-tmux": dmux_tmux,
    **{cli.source.adapter: Transcripts(cli) for cli in AGENTS.values()},
    "baton": baton,
}
"""By id, our own; asked in this order whose target it is."""

FAILURES = (Exception, SystemExit)
"""What somebody else's code may end with; that the user interrupts is not among it."""

_NAMES = {"ID": str, "DESCRIPTION": str, "TARGET_TYPES": tuple}
_CALLED = ("can_open", "open_session", "sessions")


class NoAdapter(NotFound):
    """No adapter knows the target."""

    def __init__(self, target: str) -> None:
        BatonError.__init__(
            self,
            f"No session adapter matched target: {shorten(target)}",
            hint="baton session list shows what can be opened; --adapter ID says who must know it",
            what="session", name=target,
        )  # fmt: skip


class Broken(NamedTuple):
    """An adapter that cannot be used, and why; with `partly` it can, but had to leave something out."""

    id: str
    why: str
    partly: bool = False


class Opened(NamedTuple):
    """A snapshot as its adapter gave it, the same as a checked record, and what went wrong on the way to it."""

    data: dict[str, Any]
    snapshot: CanonicalSession
    told: tuple[Broken, ...] = ()


# --- which there are


def everyone() -> list[Adapter | Broken]:
    """All adapters, our own first, then those of others by name; of those that cannot be used, why."""
    return list(_each())


def _each() -> Iterator[Adapter | Broken]:
    """As `everyone`, but what others wrote is loaded only when none of ours was wanted."""
    yield from ADAPTERS.values()
    yield from (_loaded_or_broken(name) for name in sorted(_entry_points()))


def named(id_: str) -> Adapter:
    """The adapter of this id.

    Raises:
        InvalidArgument: there is none, or it cannot be used.
    """
    if id_ in ADAPTERS:
        return ADAPTERS[id_]
    found = _loaded_or_broken(id_) if id_ in _entry_points() else None
    if isinstance(found, Broken):
        raise InvalidArgument(f"the session adapter {shorten(id_)} cannot be used: {found.why}", adapter=id_)
    if found is None:
        known = ", ".join([*ADAPTERS, *sorted(_entry_points())])
        raise InvalidArgument(f"Unknown session adapter: {shorten(id_)}", hint=f"there are {known}", adapter=id_)
    return found


def _entry_points() -> dict[str, metadata.EntryPoint]:
    """By name, the adapters of others; none of them takes the place of one of ours."""
    return {point.name: point for point in metadata.entry_points(group=GROUP) if point.name not in ADAPTERS}


def _loaded_or_broken(name: str) -> Adapter | Broken:
    try:
        found = _entry_points()[name].load()
        fault = _fault(name, found)
    except FAILURES as error:  # somebody else's module: whatever it raises is said of it
        return Broken(name, _said(error))
    return found if fault is None else Broken(name, fault)


def _fault(name: str, found: object) -> str | None:
    """What keeps somebody's object from being an adapter."""
    for attribute, kind in _NAMES.items():
        if not isinstance(getattr(found, attribute, None), kind):
            return f"{attribute} is missing, or no {kind.__name__}"
    for attribute in _CALLED:
        if not callable(getattr(found, attribute, None)):
            return f"{attribute} is missing, or no function"
    own = getattr(found, "ID", "")
    return None if own == name else f"its ID is {own!r}, but its entry point is called {name!r}"


def _said(error: BaseException) -> str:
    return str(error) if isinstance(error, BatonError) else f"{type(error).__name__}: {error}"


# --- opening


def opened(target: Target, around: Surroundings, adapter: str | None = None) -> Opened:
    """The session that a target names, as a canonical snapshot that was checked.

    Args:
        adapter: the id of the one that must open it; None asks each in turn.

    Raises:
        InvalidArgument: the target is empty or a folder, or there is no such adapter or type of target.
        NotFound: no adapter knows the target, or the one that does finds nothing.
        InvalidDocument: what is there cannot be read, or the adapter gave something that is no snapshot.
        StoreError: the system does not let us read it.
    """
    if not target.value.strip():
        raise InvalidArgument("the target is empty", hint="Structured session targets require a non-empty string value")
    told: list[Broken] = []
    chosen = named(adapter) if adapter is not None else _knowing(target, around, told)
    if target.type and target.type not in chosen.TARGET_TYPES:
        raise _no_type(target.type, [chosen])
    found = checked(chosen.ID, _asked(chosen, target, replace(around, warn=_noting(chosen.ID, told))))
    return found._replace(told=tuple(told))


def _knowing(target: Target, around: Surroundings, told: list[Broken]) -> Adapter:
    """The first adapter that knows the target; of one with a type, the first that has such targets."""
    usable = []
    for one in _each():
        if isinstance(one, Broken):
            told.append(one)
            continue
        usable.append(one)
        if target.type in ("", *one.TARGET_TYPES) and _can_open(one, target, around, told):
            return one
    raise _unmatched(target, around, usable, told)


def _unmatched(target: Target, around: Surroundings, usable: Sequence[Adapter], told: Sequence[Broken]) -> BatonError:
    """Why nobody opens the target, with the adapters that could not be asked."""
    if target.type and not any(target.type in one.TARGET_TYPES for one in usable):
        error: BatonError = _no_type(target.type, usable)
    else:
        error = refusal(target.value, around) or NoAdapter(target.value)
    failed = [f"the session adapter {one.id} could not be asked: {one.why}" for one in told]
    error.hint = "; ".join(text for text in (*failed, error.hint) if text)
    return error


def _no_type(type_: str, among: Sequence[Adapter]) -> InvalidArgument:
    known = ", ".join(dict.fromkeys(name for one in among for name in one.TARGET_TYPES))
    return InvalidArgument(f"Unknown type of target: {shorten(type_)}", hint=f"there are {known}", type=type_)


def _noting(id_: str, told: list[Broken]) -> Callable[[str], None]:
    """What an adapter may call to say that it left something out."""
    return lambda why: told.append(Broken(id_, str(why), partly=True))


def _can_open(adapter: Adapter, target: Target, around: Surroundings, told: list[Broken]) -> bool:
    try:
        return bool(adapter.can_open(target, around))
    except FAILURES as error:
        if adapter.ID in ADAPTERS:
            raise
        told.append(Broken(adapter.ID, _said(error)))
        return False


def _asked(adapter: Adapter, target: Target, around: Surroundings) -> object:
    try:
        return adapter.open_session(target, around)
    except BatonError:
        raise
    except FAILURES as error:
        if adapter.ID in ADAPTERS:
            raise
        raise InvalidDocument([Fault("", _said(error))], where=f"the adapter {adapter.ID} failed") from error


def checked(adapter: str, data: object) -> Opened:
    """What an adapter gave, as a snapshot. That it is none is the adapter's fault, and told as that.

    Raises:
        InvalidDocument: it is no plain JSON, or breaks a rule of the contract.
    """
    where = f"the adapter {adapter} gave no canonical session snapshot"
    found = parse_snapshot(data, where=where)
    assert isinstance(data, dict)
    if found.adapterId != adapter:
        raise InvalidDocument([Fault("adapterId", f"is {found.adapterId!r}")], where=where)
    return Opened(data, found)


# --- listing


class Offered(NamedTuple):
    """A session that can be opened, and by whom."""

    adapter: str
    listed: Listed


def listed(around: Surroundings, adapter: str | None = None) -> tuple[Iterator[Offered], list[Broken]]:
    """What can be opened, newest first, looked up as far as it is asked for; and whose sessions could not be listed,
    one line for each source: of a folder that is known once the first was asked for, else once all were.

    Args:
        adapter: the id of the only one to ask; None asks all.

    Raises:
        InvalidArgument: there is no such adapter.
    """
    broken: list[Broken] = []
    chosen = [named(adapter)] if adapter is not None else everyone()
    broken += [one for one in chosen if isinstance(one, Broken)]
    each = [_offered(one, around, broken) for one in chosen if not isinstance(one, Broken)]
    return heapq.merge(*each, key=_time, reverse=True), broken


def _time(one: Offered) -> datetime:
    return parse_time_or_none(one.listed.updated_at) or datetime.min.replace(tzinfo=UTC)


def _offered(adapter: Adapter, around: Surroundings, broken: list[Broken]) -> Iterator[Offered]:
    noting = _noting(adapter.ID, broken)

    def warn(why: str) -> None:
        if not any(one.id == adapter.ID for one in broken):
            noting(why)

    try:
        for one in _plain(adapter.sessions(replace(around, warn=warn))):
            yield Offered(adapter.ID, one)
    except FAILURES as error:
        if adapter.ID in ADAPTERS and not isinstance(error, BatonError):
            raise
        broken.append(Broken(adapter.ID, _said(error)))


def _plain(found: Iterable[Listed]) -> Iterator[Listed]:
    """The sessions, with texts where texts belong: somebody else may give anything."""
    for one in found:
        yield Listed(*(str(part) for part in one))
