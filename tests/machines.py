"""Several machines with clones of one bare repository, each with a namespace `x`."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from baton_git.core.kinds import KINDS
from baton_git.core.layout import path_of, state_of
from baton_git.core.lifecycle import Confirmed
from baton_git.core.names import Namespace, Oid
from baton_git.core.records.base import parse
from baton_git.core.records.conflict import Conflict
from baton_git.core.state import Key, State
from baton_git.git.store import ReflogEntry, Repository, Store
from baton_git.namespace.branch import Branch
from baton_git.namespace.caller import Vouched
from baton_git.namespace.remote_settings import RemoteSettings
from baton_git.namespace.review.queue import ReviewChoice, ReviewQueue
from baton_git.namespace.sync.synchronise import SyncOptions, SyncOutcome
from baton_git.namespace.workspace import Actor, Workspace
from baton_git.verbs.sharing.open_conflicts import list_open_conflicts
from baton_git.verbs.sharing.review import decide, load_review
from baton_git.verbs.sharing.sync import Synced, sync
from baton_git.verbs.work_items.decisions import add_decision
from baton_git.verbs.work_items.followups import add_follow_up, defer_follow_up
from baton_git.verbs.work_items.loops import add_loop
from baton_git.verbs.work_items.patterns import graduate_pattern, record_pattern

NOW = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
REF = "refs/heads/baton/x"
INCOMING = "refs/baton-incoming/origin/x"
SEEN = "refs/baton-remotes/origin/x"


def loop(id_: str, action: str = "deployed", **more: str) -> bytes:
    """Return the file of an open loop as a person might type it."""
    text = f'id = "{id_}"\naction = "{action}"\nexpected_outcome = "it answers"\ncreated_at = "2026-11-01"\n'
    return (text + "".join(f'{name} = "{value}"\n' for name, value in more.items())).encode()


@dataclass
class Clock:
    """A clock that all machines share. Each call advances it by a minute."""

    now: datetime = NOW

    def __call__(self) -> datetime:
        self.now += timedelta(minutes=1)
        return self.now


@dataclass
class Machine:
    """One clone. It writes only through the verbs, except for `by_hand`."""

    name: str
    top: Path
    ws: Workspace
    clock: Clock = field(default_factory=Clock)

    @property
    def store(self) -> Store:
        return self.ws.branch.store

    @property
    def tip(self) -> Oid | None:
        return self.store.tip(REF)

    @property
    def state(self) -> State:
        return self.ws.branch.read().state

    def get(self, kind: str, id_: str, *, archived: bool = False) -> Any:
        return self.state.entry(Key(kind, id_, archived))

    def git(self, *args: str, code: int = 0) -> str:
        done = subprocess.run(["git", "-C", str(self.top), *args], capture_output=True, text=True, timeout=60)
        assert done.returncode == code, f"git {args}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout.strip()

    def files(self, commit: str | None = None) -> dict[str, bytes]:
        """Return every file of the newest revision, or of a commit, by path."""
        found = {}
        for line in self.git("ls-tree", "-r", "-z", commit or REF).split("\0"):
            if line:
                head, _, path = line.partition("\t")
                _, kind, oid = head.split()
                found[path] = self.store.read(Oid(oid)) if kind == "blob" else oid.encode()
        return found

    # --- verbs

    def loop(self, id_: str, action: str = "deployed", **more: Any) -> str:
        return add_loop(self.ws, self.clock(), action=action, expect="it answers", id=id_, **more).id

    def follow_up(self, id_: str) -> str:
        return add_follow_up(self.ws, self.clock(), item=f"item {id_}", id=id_).id

    def defer(self, id_: str) -> None:
        defer_follow_up(self.ws, self.clock(), id_)

    def decision(self, id_: str, vouched: Vouched | None = None, **more: Any) -> str:
        return add_decision(
            replace(self.ws, confirmed=vouched), self.clock(), what=f"use {id_}", why="because", id=id_, **more
        ).id

    def pattern(self, id_: str, rule: str = "look first", times: int = 3, **more: Any) -> str:
        """Add a rule candidate."""
        for _ in range(times):
            record_pattern(self.ws, self.clock(), what=f"assumed {id_}", rule=rule, id=id_, **more)
        return id_

    def graduate(self, id_: str, rule: str = "look first") -> None:
        confirmed = Confirmed("Ada", "terminal", id_, rule)
        graduate_pattern(replace(self.ws, confirmed=confirmed), self.clock(), id_)

    def change(self, kind: str, id_: str, vouched: Vouched | None = None, **fields: Any) -> None:
        """Change fields of a live record without applying any rules."""
        key = Key(kind, id_)

        def change(tip: Any) -> State:
            one = tip.state.entry(key)
            return tip.state.put(parse(KINDS[kind].model, {**one.as_data(), **fields}), key)

        replace(self.ws, confirmed=vouched).update("edit", self.clock(), change)

    # --- by hand

    def by_hand(self, files: Mapping[str, Any], message: str = "by hand", seconds: int | None = None,
                timezone: int = 0, onto: Oid | None = None) -> Oid:  # fmt: skip
        """Commit on top of the tip as a person would: without trailers."""
        tip = self.tip
        base = onto or tip
        draft = self.store.draft()
        tree = draft.tree(self.store.commit(base).tree if base else None, files)
        time = int(self.clock().timestamp()) if seconds is None else seconds
        who = f"{self.name} <{self.name}@example.org>"
        new = draft.commit(tree, [base] if base else [], author=who, time=time, timezone=timezone, message=message)
        assert self.store.publish(draft, REF, tip, new, ReflogEntry(who, max(0, time), 0, message))
        return new

    def edit(self, kind: str, id_: str, old: str, new: str) -> Oid:
        """Change the text of a record's file in an editor and commit it."""
        path = path_of(Key(kind, id_))
        text = self.files()[path].decode()
        assert old in text, text
        return self.by_hand({path: text.replace(old, new).encode()})

    def push(self, *more: str) -> None:
        """Push with git, as a person would."""
        self.git("push", "-q", *more, "origin", f"{REF}:{REF}")

    def pull(self) -> None:
        """Replace the local branch by the remote's branch, with git alone."""
        self.git("fetch", "-q", "origin", f"+{REF}:{REF}")

    # --- syncing

    def sync(self, **more: Any) -> SyncOutcome:
        """Sync the only namespace, which must succeed, and return its outcome."""
        outcome = self.try_sync(**more)
        assert outcome.error is None, outcome.error
        return outcome

    def try_sync(self, **more: Any) -> SyncOutcome:
        """Sync the only namespace, with a remote that can be reached; return its outcome, which may be an error."""
        done = self.run_sync(**more)
        assert done.offline is None, done.offline
        [outcome] = done.outcomes
        return outcome

    def run_sync(self, **more: Any) -> Synced:
        own = {name: more.pop(name) for name in ("remote", "settle", "named_only") if name in more}
        return sync(self.ws, self.clock(), options=SyncOptions(**more), **own)

    def set_policy(self, policy: str) -> None:
        self.set_remotes(policies={"origin": policy})

    def set_remotes(self, **fields: Any) -> None:
        self.ws = replace(self.ws, remote_settings=self.ws.remote_settings._replace(**fields))

    def list_waiting(self) -> list[str]:
        """Return the ids of the records that wait for a review."""
        queue = self.load_queue()
        return [item.id for item in queue.items] if queue else []

    def load_queue(self) -> ReviewQueue | None:
        return load_review(self.ws)[1]

    def decide(self, take: Any = (), refuse: Any = ()) -> Any:
        return decide(self.ws, self.clock(), "origin", ReviewChoice(take, refuse))

    def conflicts(self) -> list[Conflict]:
        return list(list_open_conflicts(self.ws))

    def list_conflicting_fields(self) -> list[tuple[str, str]]:
        """Return id and field of each open conflict."""
        return [(one.record_id, one.field) for one in self.conflicts()]


def machine(folder: Path, name: str, clock: Clock, **reach: Any) -> Machine:
    """Open or create a machine whose `origin` is the given folder."""
    top = folder / name
    if not top.exists():
        subprocess.run(["git", "init", "-q", "-b", "main", "--template=", str(top)], check=True)
        subprocess.run(["git", "-C", str(top), "remote", "add", "origin", "../origin.git"], check=True)
    store = Store(Repository.open(top))
    actor = Actor(f"{name} <{name}@example.org>", f"s-{name}", "claude", name)
    ws = Workspace(
        Branch(store, Namespace("x")), actor, environment=dict(os.environ), remote_settings=RemoteSettings(**reach)
    )
    return Machine(name, top, ws, clock)


def sync_until_equal(*machines: Machine, rounds: int = 3) -> Oid:
    """Sync the machines in turn until all of them and the remote are at one commit; return it."""
    for _ in range(rounds):
        for one in machines:
            one.sync()
            tips = {tip for each in machines for tip in (each.tip, each.store.tip(SEEN))}
            if len(tips) == 1 and None not in tips:
                return Oid(str(*tips))
    raise AssertionError(tips)


def tree_state(one: Machine, tree: Oid) -> State:
    return state_of(one.store.folder(tree))
