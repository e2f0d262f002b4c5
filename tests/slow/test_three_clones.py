"""Three clones of one remote: after any sequence of actions, all converge to the same commit, and nothing is lost."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from claims import History
from clones import (
    HANDS,
    PLAIN,
    REF,
    VERBS,
    Act,
    Clone,
    by_hand,
    changed_document,
    create_clone,
    create_remote,
    raced_sync,
    run_and_kill,
    run_git,
    sync,
    try_action,
)
from hypothesis import HealthCheck, Phase, event, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from baton_git.core.errors import BatonError, RemoteError
from baton_git.core.names import Oid
from baton_git.git.store import Repository, Store
from baton_git.namespace.revision import Revision
from baton_git.systems.session_baton import document_writing, documents

pytestmark = pytest.mark.slow

NAMES = ("one", "two", "three")
clones = st.sampled_from(NAMES)
verbs = st.sampled_from((*PLAIN, *VERBS))
numbers = st.integers(0, 40)
ids = st.sampled_from(("X-1", "X-2", "X-3", None))
names_of_sessions = st.sampled_from(("s1", "s2", None))
skews = st.sampled_from((0, 3, -5, 26, 24 * 400, -24 * 365 * 20))
flags = st.sampled_from((False, False, True))
ROUNDS = 4


class ThreeClones(RuleBasedStateMachine):
    """Every acknowledged write must be in the history of the last commit, and no commit since then may have lost one of
    its words."""

    def __init__(self, folder: Path, template: Path) -> None:
        super().__init__()
        self.folder = folder / f"run{next(_RUNS)}"
        shutil.copytree(template, self.folder, symlinks=True)
        self.bare, self.away = self.folder / "remote.git", self.folder / "away.git"
        self.clones = {name: Clone(self.folder / name) for name in NAMES}
        for clone in self.clones.values():
            run_git(clone.top, "remote", "set-url", "origin", str(self.bare))
        self.users = {name: clone.users() for name, clone in self.clones.items()}
        self.tips: dict[str, Oid | None] = dict.fromkeys(NAMES)
        self.claims: set[Oid] = set()
        self.confirmed: set[str] = set()
        self.history = {name: History(clone.store) for name, clone in self.clones.items()}
        self.numbers = count(1)
        self.passed = timedelta()
        self.is_rewound = False
        self._looked: set[Oid] = set()

    # --- actions

    @initialize(acts=st.lists(st.tuples(st.sampled_from(PLAIN), numbers, ids), max_size=6))
    def all_clones_begin_with_the_same_records(self, acts: list[tuple[str, int, str | None]]) -> None:
        for verb, which, id_ in acts:
            self._write("one", verb, which, id_, "s1")
        for name in NAMES if acts else ():
            self.it_syncs(name, receive_only=False, everything=False, dry_run=False)

    @rule(name=clones, verb=st.sampled_from(PLAIN), which=numbers, id_=ids, session=names_of_sessions)
    def somebody_adds(self, name: str, verb: str, which: int, id_: str | None, session: str | None) -> None:
        self._write(name, verb, which, id_, session)

    @rule(name=clones, verb=verbs, which=numbers, id_=ids, session=names_of_sessions)
    def somebody_writes(self, name: str, verb: str, which: int, id_: str | None, session: str | None) -> None:
        self._write(name, verb, which, id_, session)

    @rule(verb=verbs, other=verbs, which=numbers, id_=ids)
    def two_clones_do_the_same_and_all_sync(self, verb: str, other: str, which: int, id_: str | None) -> None:
        self._write("one", verb, which, id_, "s1")
        self._write("two", verb, which, id_, "s2")
        self._write("three", other, which, id_, "s3")
        for name in (*NAMES, *NAMES):
            self.it_is_up_to_date(name)

    def _write(self, name: str, verb: str, which: int, id_: str | None, session: str | None) -> None:
        clone, act = self.clones[name], self._act(verb, which, id_, session)
        before = clone.tip
        done = try_action(lambda: VERBS[verb](clone.workspace(session), clone.now(self.passed), act))
        event(f"{verb}: {type(done).__name__}")
        if isinstance(done, BatonError):
            assert clone.tip == before
        if isinstance(done, Revision):
            self._acknowledged(done)

    def _act(self, verb: str, which: int = 0, id_: str | None = None, session: str | None = "s1") -> Act:
        number = next(self.numbers)
        self.passed += timedelta(seconds=1)
        return Act(verb, which, id_ or f"Y-{number}", session, number)

    def _acknowledged(self, done: Revision) -> None:
        if done.commit is not None:
            self.claims.add(done.commit)

    @rule(name=clones)
    def an_agent_reads_the_document(self, name: str) -> None:
        found = try_action(lambda: documents.read_document(self.clones[name].workspace()).baton)
        if isinstance(found, dict):
            self.clones[name].documents.append(found)

    @rule(name=clones, which=numbers, id_=ids, session=names_of_sessions)
    def an_agent_writes_an_older_document(self, name: str, which: int, id_: str | None, session: str | None) -> None:
        clone, act = self.clones[name], self._act("write", which, id_, session)
        if clone.documents:
            data = changed_document(clone.documents[which % len(clone.documents)], act)
            done = try_action(
                lambda: document_writing.write_document(clone.workspace(session), clone.now(self.passed), data)
            )
            if not isinstance(done, BatonError):
                self._acknowledged(done.written.revision)

    @rule(name=clones, hand=st.sampled_from(sorted(HANDS)), which=numbers)
    def a_person_edits_by_hand(self, name: str, hand: str, which: int) -> None:
        clone = self.clones[name]
        new = by_hand(clone, clone.now(self.passed), self._act(hand, which))
        if new is not None:
            self.claims.add(new)

    @rule(name=clones)
    def it_is_up_to_date(self, name: str) -> None:
        self.it_syncs(name, receive_only=False, everything=False, dry_run=False)

    @rule(name=clones, receive_only=flags, everything=flags, dry_run=flags)
    def it_syncs(self, name: str, receive_only: bool, everything: bool, dry_run: bool) -> None:
        clone = self.clones[name]
        before = clone.tip
        how = {"receive_only": receive_only, "everything": everything, "dry_run": dry_run}
        done = try_action(lambda: sync(clone.workspace(), clone.now(self.passed), **how))
        assert not dry_run or clone.tip == before
        self._check_sync(done)

    def _check_sync(self, done: Any) -> None:
        """Check that a sync succeeded, or reported an error that a disturbance explains."""
        if isinstance(done, BatonError):
            assert isinstance(done, RemoteError), done
            assert self.away.exists() or self._has_hooks(), done
        elif done.offline:
            assert self.away.exists(), done.offline
        else:
            errors = [error for error in done.errors if not (self.is_rewound and "there" in str(error))]
            assert not errors or self._has_hooks(), errors
            assert not any(one.waiting for one in done.outcomes), done

    @rule(name=clones, other=clones, before_push=st.booleans(), verb=verbs, which=numbers, id_=ids)
    def it_loses_a_race(self, name: str, other: str, before_push: bool, verb: str, which: int, id_: str | None) -> None:
        """During a sync, another clone writes and syncs, or another process writes in this clone."""
        clone, rival = self.clones[name], self.clones[other]
        act = self._act(verb, which, id_)

        def meanwhile() -> None:
            done = try_action(lambda: VERBS[verb](rival.workspace("rival"), rival.now(self.passed), act))
            if isinstance(done, Revision):
                self._acknowledged(done)
            if rival is not clone:
                try_action(lambda: sync(rival.workspace(), rival.now(self.passed)))

        done = try_action(
            lambda: raced_sync(clone.workspace(), clone.now(self.passed), [meanwhile], before_push=before_push)
        )
        if isinstance(done, BatonError):
            assert self.away.exists() or self._has_hooks(), done
        elif done.error is not None:
            assert self._has_hooks() or self.is_rewound, done.error

    @rule(name=clones, verb=st.sampled_from(PLAIN), syncs=st.booleans(), milliseconds=st.integers(0, 250))
    def it_is_killed(self, name: str, verb: str, syncs: bool, milliseconds: int) -> None:
        clone, acts = self.clones[name], [self._act(verb, number) for number in range(12)]
        journal = self.folder / "journal"
        self.claims |= {*run_and_kill(clone, self.passed, acts, journal, syncs=syncs, milliseconds=milliseconds)}

    # --- disturbances

    @rule(what=st.sampled_from(("disappears", "comes back", "refuses", "dies", "is repaired", "is rewound")))
    def the_remote_changes(self, what: str) -> None:
        {
            "disappears": self._disappear, "comes back": self._come_back, "is repaired": self._repair,
            "is rewound": self._rewind,
            "refuses": lambda: self._hook("pre-receive", "exit 1"),
            "dies": lambda: self._hook("post-receive", "kill -9 $PPID"),
        }[what]()  # fmt: skip

    def _disappear(self) -> None:
        if self.bare.exists():
            self.bare.rename(self.away)

    def _come_back(self) -> None:
        if self.away.exists():
            self.away.rename(self.bare)

    def _hook(self, name: str, line: str) -> None:
        if self.bare.exists():
            (self.bare / "hooks" / name).write_text(f"#!/bin/sh\n{line}\n")
            (self.bare / "hooks" / name).chmod(0o755)

    def _repair(self) -> None:
        for where in (self.bare, self.away):
            for name in _HOOKS:
                (where / "hooks" / name).unlink(missing_ok=True)

    def _has_hooks(self) -> bool:
        return any((self.bare / "hooks" / name).exists() for name in _HOOKS)

    def _rewind(self) -> None:
        """Force an older commit on the remote, or delete the branch if it has few commits."""
        if self.bare.exists():
            with Store(Repository.open(self.bare)) as store:
                tip = store.tip(REF)
                line = [info.oid for info in store.log(tip, first_parent=True)] if tip else []
            if line:
                run_git(self.bare, "update-ref", *((REF, line[3]) if len(line) > 3 else ("-d", REF)))
                self.is_rewound = True

    @rule(name=clones)
    def a_person_merges_with_the_rewound_remote(self, name: str) -> None:
        clone = self.clones[name]
        try_action(lambda: sync(clone.workspace(), clone.now(self.passed), settle="merge"))

    @rule(name=st.sampled_from((*NAMES, "remote.git")))
    def git_cleans_up(self, name: str) -> None:
        if (self.folder / name).exists():
            words = ["git", "-C", str(self.folder / name), "gc", "-q", "--prune=now"]
            subprocess.run(words, capture_output=True, check=False)  # a killed process may have left a lock

    @rule(name=clones, hours=skews, days=st.integers(0, 9))
    def time_passes_and_a_clock_is_set(self, name: str, hours: int, days: int) -> None:
        self.passed += timedelta(days=days, minutes=hours % 60)
        self.clones[name].offset = timedelta(hours=hours)

    # --- invariants

    @invariant()
    def nothing_is_lost_and_nothing_goes_backwards(self) -> None:
        for name, clone in self.clones.items():
            tip = clone.tip
            if tip != self.tips[name]:
                before = self.tips[name]
                assert before is None or (tip is not None and clone.store.is_ancestor(before, tip))
                self.history[name].check(tip)
                self._note_confirmed(clone, tip)
                self.tips[name] = tip

    def _note_confirmed(self, clone: Clone, tip: Oid | None) -> None:
        for info in clone.store.log(tip) if tip else ():
            if info.oid in self._looked:
                continue
            self._looked.add(info.oid)
            if "Baton-Confirmed" in info.message and "pattern-graduate" in info.message:
                self.confirmed |= self.history[self._name(clone)].rules(info.oid)

    # --- the end

    def teardown(self) -> None:
        self.converge()
        for clone in self.clones.values():
            clone.store.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def converge(self) -> None:
        self._come_back()
        self._repair()
        rounds = 0
        while not self._has_converged():
            rounds += 1
            assert rounds <= ROUNDS, "the clones do not converge"
            for clone in self.clones.values():
                done = sync(clone.workspace(), clone.now(self.passed), settle="merge" if self.is_rewound else None)
                assert not done.errors
                assert not done.offline
                assert not any(one.waiting for one in done.outcomes)
        event(f"rounds: {rounds}")
        tip = self.clones["one"].tip
        if tip is None:
            assert not self.claims
            return
        self.nothing_is_lost_and_nothing_goes_backwards()
        self._assert_claims(tip)
        self._assert_nothing_left_to_sync(tip)

    def _has_converged(self) -> bool:
        with Store(Repository.open(self.bare)) as store:
            there = store.tip(REF)
        return {there} == {clone.tip for clone in self.clones.values()}

    def _assert_claims(self, tip: Oid) -> None:
        clone, history = self.clones["one"], self.history["one"]
        assert self.claims <= {info.oid for info in clone.store.log(tip)}
        event(f"counts: {history.check_counts(tip)}")
        assert history.rules(tip) <= self.confirmed
        for name in (*NAMES, "remote.git"):
            run_git(self.folder / name, "fsck", "--strict", "--no-dangling")
        for name, clone in self.clones.items():
            assert clone.users() == self.users[name]

    def _assert_nothing_left_to_sync(self, tip: Oid) -> None:
        for clone in self.clones.values():
            [done] = sync(clone.workspace(), clone.now(self.passed)).outcomes
            assert (done.received, done.sent, done.pending, done.error) == (0, 0, 0, None)
            assert clone.tip == tip
        assert self._has_converged()

    def _name(self, clone: Clone) -> str:
        return clone.top.name


_RUNS = count()
_HOOKS = ("pre-receive", "post-receive")


@pytest.fixture
def template(tmp_path: Path) -> Path:
    place = tmp_path / "template"
    place.mkdir()
    create_remote(place / "remote.git")
    for name in NAMES:
        create_clone(place / name, place / "remote.git")
    return place


def machine(folder: Path, template: Path) -> Callable[[], ThreeClones]:
    return lambda: ThreeClones(folder, template)


@pytest.mark.timeout(900)
def test_three_clones_converge_and_lose_nothing(tmp_path, template):
    """Failing examples are not shrunk: real processes and kills do not give the same result twice, and shrinking takes
    longer than any limit."""
    run_state_machine_as_test(
        machine(tmp_path, template),  # type: ignore[arg-type]  # a function that makes a machine is called like the class
        settings=settings(
            max_examples=8,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=(Phase.explicit, Phase.generate),
            database=None,
        ),
    )
