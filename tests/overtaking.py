"""Syncs of machines whose pushes others overtake."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from machines import REF, Machine

from baton_git.git.remotes import PushOvertaken, open_remote
from baton_git.namespace.sync.actions import Terms
from baton_git.namespace.sync.synchronise import SyncOptions, SyncOutcome, synchronise

Turn = Callable[[], object]


class Watched:
    """A remote that calls the next of `before` before each push, and the next of `after` after it."""

    def __init__(self, one: Machine, before: list[Turn] = [], after: list[Turn] = []) -> None:  # noqa: B006
        self.remote = open_remote(one.store.repository, "origin", one.ws.environment)
        self.before, self.after, self.name = list(before), list(after), "origin"

    def fetch(self, wants: Any, **more: Any) -> Any:
        return self.remote.fetch(wants, **more)

    def push(self, moves: Any, *, seconds: float) -> Any:
        if self.before:
            self.before.pop(0)()
        answers = self.remote.push(moves, seconds=seconds)
        if self.after:
            self.after.pop(0)()
        return answers


class AlwaysFaster(Watched):
    def push(self, moves: Any, *, seconds: float) -> Any:
        return {move.ref: PushOvertaken("somebody was faster") for move in moves}


def run(one: Machine, remote: Any, terms: Terms = Terms(), **more: Any) -> SyncOutcome:  # noqa: B008
    stamp = one.ws.stamp("sync", one.clock())
    [done] = synchronise([one.ws.branch], remote, "origin", terms, stamp, SyncOptions(**{"seconds": 30, **more}))
    return done


def merges(one: Machine, *commits: str) -> list[str]:
    return one.git("rev-list", "--merges", *(commits or (REF,))).splitlines()


def remote_tip(one: Machine) -> str:
    return one.git("ls-remote", "origin", REF).split()[0]


def faster(other: Machine, number: int, change: Callable[[Machine], object] | None = None) -> Turn:
    """Return a function by which another machine writes something and pushes it."""

    def turn() -> None:
        other.sync()
        (change or (lambda one: one.loop(f"OL-{one.name}-{number}")))(other)
        other.sync()

    return turn
