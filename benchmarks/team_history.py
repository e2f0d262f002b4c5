"""Generate what the sessions of a team leave on the branch of a namespace, day by day, with `git fast-import`.

What one session leaves was counted in a real session that ran by hooks. It makes these commits, with the operations,
trailers and files that the hooks and the verbs make:

- `boot`: the record of the session; two of the live sessions beyond the newest 50 that it sees are archived;
- `handoff-extract`, twice (two turns with something new): its handoff of about 2.2 kB, written and then replaced; two
  of the handoffs beyond the newest 50 are archived;
- `followup-add` in one session of five, `loop-add` in one of five, `decision-add` in one of a hundred,
  `pattern-record` in one of fifty (up to 100 patterns, then one of them is seen again);
- `followup-done` and `loop-close` of what an earlier session opened, two working days later on average (exponentially
  distributed). One item of 200 is never closed. With more than 200 decisions, the oldest is archived (`forget`);
- `wrap`: the session has ended.

Assumptions: an agent works in a clone of its own. It receives the shared branch when a session starts, and sends when
it ends. A working day has eight hours, and an agent's sessions take place in equal parts of it, at a random time of the
part. A session takes 10 to 50 minutes, at random. So at 250 agents and four sessions about 60 are open at a time, and
nearly every one of them ends with a merge. A merge commit is the one that baton makes: `check_merges` makes a sample of
them again with baton's own merge and compares the ids, and `check_records` reads a sample of files with baton's own
codecs. No two sessions close the same item, and none edits what another edits; they do archive the same old sessions
and handoffs at the same time, as real ones do.
"""

from __future__ import annotations

import heapq
import os
import random
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import IO, NamedTuple

from baton_git.core.layout import decode, encode, key_at
from baton_git.core.lifecycle import choose_surplus
from baton_git.core.merge import NEWEST_RULES
from baton_git.core.state import State, Unreadable
from baton_git.core.times import iso
from baton_git.git.store import Store
from baton_git.namespace.branch import Branch
from baton_git.namespace.commit_log import MERGE_SUBJECT
from baton_git.namespace.merge_commit import AUTHOR, is_automatic_merge

KEPT = 50
"""How many sessions and handoffs stay live."""
HOURS = 8
NEVER = 1 / 200
LIFETIME = 1.0
"""Mean time from the working day after the opening of an item to its end, in working days."""
MOST_DECISIONS, MOST_PATTERNS = 200, 100
KEEP_MEMORY = {"MALLOC_TRIM_THRESHOLD_": "1000000000", "MALLOC_MMAP_THRESHOLD_": "1000000000"}
"""Settings of glibc: without them, git returns memory to the system and asks for it again 40 % of its time."""
FOLDERS = {
    "session": "sessions",
    "handoff": "handoffs",
    "follow_up": "follow_ups",
    "open_loop": "open_loops",
    "active_decision": "active_decisions",
    "pattern": "patterns",
}
WORDS = """
retry invoice export cache token schema index queue worker parser report total rounding currency deploy health timeout
config secret login session cookie header client server replica backup restore migrate column table row test fixture
mock flaky runner pipeline branch merge commit review release version changelog docs page button form error warning
trace metric alert dashboard limit budget quota batch stream event hook plugin module import type the of to and in is
that with for from when after before because only both still again must should may one each adds removes renames checks
keeps moves splits joins writes reads sends receives opens closes fails passes waits
""".split()  # noqa: SIM905  a list would take 100 lines

Name = tuple[str, str]
"""The kind and the id of a record."""
Closing = tuple[str, str, str]
"""The time, the session and the reason of an archived record."""


class Item(NamedTuple):
    """A record: its text as a live file, the time that orders it, and how it was closed, if it is archived."""

    text: str
    time: str
    closing: Closing | None = None


class Old(NamedTuple):
    """A record that need not stay live."""

    id: str


class Step(NamedTuple):
    """A commit of a session, before it is known where on the branch it lands."""

    op: str
    subject: str
    second: int
    items: Mapping[Name, Item]


@dataclass
class Running:
    """A session at work: the commit that it began from, and the steps that it commits when it ends."""

    id: str
    agent: int
    base: int
    base_revision: int
    base_length: int
    steps: list[Step]
    before: dict[Name, Item | None]
    """The items that it changes, as they were when it began."""


@dataclass
class Team:
    """The shared branch of a team, and what its generator must remember."""

    agents: int
    sessions_a_day: int = 4
    seed: int = 28
    live: dict[Name, Item] = field(default_factory=dict)
    closed_today: dict[Name, Item] = field(default_factory=dict)
    closings: list[tuple[float, Name]] = field(default_factory=list)
    """A heap of the items that will be closed, by the working day on which they are due."""
    sessions: int = 0
    commits: int = 0
    merges: int = 0

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)

    def words(self, number: int) -> str:
        return " ".join(self.random.choices(WORDS, k=number))

    def new_id(self, prefix: str) -> str:
        return prefix + "".join(self.random.choices("0123456789abcdefghjkmnpqrstvwxyz", k=8))

    def new_session(self) -> str:
        digits = f"{self.random.getrandbits(128):032x}"
        return "-".join((digits[:8], digits[8:12], f"4{digits[13:16]}", f"a{digits[17:20]}", digits[20:]))

    def names(self, kind: str) -> set[str]:
        """Return the ids of the live records of a kind."""
        return {id_ for one, id_ in self.live if one == kind}

    # --- one session

    def plan(self, agent: int, number: int, start: datetime, minutes: float, day: int) -> list[Step]:
        """Return the steps of a session that begins now. Items that it closes are no longer due for others."""
        id_, machine = self.new_session(), f"machine-{agent:06d}"
        steps: list[Step] = []

        def add(part: float, op: str, subject: str, items: Mapping[Name, Item]) -> None:
            steps.append(Step(op, subject, int((start + timedelta(minutes=part * minutes)).timestamp()), items))

        began = iso(start)
        session = f'id = "{id_}"\nagent = "claude"\nmachine = "{machine}"\nstarted = "{began}"\n'
        own, handoff = ("session", id_), ("handoff", f"claude/{id_}")
        old = self._archive_oldest("session", own, (began, id_, "older than the newest sessions"))
        add(0, "boot", f"session {id_} started", {own: Item(f'{session}status = "active"\n', began), **old})
        goal = f"{self.words(20).capitalize()} ({number})"
        for part in (0.4, 0.9):
            time = iso(start + timedelta(minutes=part * minutes))
            text = self._handoff(machine, began, time, goal)
            is_first = part < 0.5
            old = (
                self._archive_oldest("handoff", handoff, (time, id_, "older than the newest handoffs"))
                if is_first
                else {}
            )
            subject = f"handoff {handoff[1]} extracted" + ("" if is_first else " anew")
            add(part, "handoff-extract", subject, {handoff: Item(text, time), **old})
            if is_first:
                for op, shown, items in self._records(id_, start + timedelta(minutes=0.6 * minutes), day):
                    add(0.6, op, shown, items)
        end = iso(start + timedelta(minutes=minutes))
        ended = f'{session}ended = "{end}"\nstatus = "ended"\n'
        add(1, "wrap", f"session {id_} ended", {own: Item(ended, began)})
        return steps

    def _archive_oldest(self, kind: str, newest: Name, closing: Closing) -> dict[Name, Item]:
        """Return the live records that a session archives when it is about to add `newest`."""
        ages = sorted((item.time, name[1]) for name, item in self.live.items() if name[0] == kind)
        surplus = [Old(id_) for _, id_ in ages[: max(0, len(ages) + 1 - KEPT)]]
        names = [(kind, old.id) for old in choose_surplus(surplus, newest[1])]  # type: ignore[type-var]
        return {name: self.live[name]._replace(closing=closing) for name in names}

    def _records(self, session: str, when: datetime, day: int) -> Iterator[tuple[str, str, dict[Name, Item]]]:
        """Yield the commits of records that a session opens and closes."""
        time, chance = iso(when), self.random.random
        while self.closings and self.closings[0][0] <= day:
            _, name = heapq.heappop(self.closings)
            if name in self.live:
                op = "followup-done" if name[0] == "follow_up" else "loop-close"
                reason = "done" if name[0] == "follow_up" else self.words(4)
                closed = self.live[name]._replace(closing=(time, session, reason))
                yield op, f"{name[1]} archived ({reason})", {name: closed}
            if chance() < 0.5:
                break  # the rest is left to the next session
        if chance() < 0.2:
            yield self._open(
                "follow_up", "FU-", day, time,
                lambda id_: f'id = "{id_}"\nitem = "{self.words(12)}"\nfirst_seen = "{time}"\n'
                f'reason = "{self.words(6)}"\nsource_tier = "llm_derived"\n',
            )  # fmt: skip
        if chance() < 0.2:
            yield self._open(
                "open_loop", "OL-", day, time,
                lambda id_: f'id = "{id_}"\naction = "{self.words(10)}"\nexpected_outcome = "{self.words(8)}"\n'
                f'created_at = "{time}"\nttl_days = 7\nstatus = "open"\nsource_tier = "llm_derived"\n',
            )  # fmt: skip
        if chance() < 0.01:
            yield from self._decide(session, time)
        if chance() < 0.02:
            yield self._see_pattern(session, time)

    def _open(
        self, kind: str, prefix: str, day: int, time: str, text: Callable[[str], str]
    ) -> tuple[str, str, dict[Name, Item]]:
        id_ = self.new_id(prefix)
        if self.random.random() >= NEVER:
            heapq.heappush(self.closings, (day + 1 + self.random.expovariate(1 / LIFETIME), (kind, id_)))
        op = {"follow_up": "followup-add", "open_loop": "loop-add"}[kind]
        return op, f"{id_} added", {(kind, id_): Item(text(id_), time)}

    def _decide(self, session: str, time: str) -> Iterator[tuple[str, str, dict[Name, Item]]]:
        id_ = self.new_id("DEC-")
        text = (
            f'id = "{id_}"\nwhat = "{self.words(10)}"\nwhy = "{self.words(15)}"\ncreated_at = "{time}"\n'
            'status = "active"\nsource_tier = "llm_derived"\n'
        )
        yield "decision-add", f"{id_} added", {("active_decision", id_): Item(text, time)}
        ages = sorted((item.time, name) for name, item in self.live.items() if name[0] == "active_decision")
        free = [name for _, name in ages if name not in self.taken]
        if len(ages) > MOST_DECISIONS and free:
            self.taken.add(free[0])
            closed = self.live[free[0]]._replace(closing=(time, session, "no longer needed"))
            yield "forget", f"{free[0][1]} archived (no longer needed)", {free[0]: closed}

    def _see_pattern(self, session: str, time: str) -> tuple[str, str, dict[Name, Item]]:
        names = sorted(name for name in self.live if name[0] == "pattern" and name not in self.taken)
        if len(names) < MOST_PATTERNS / 2 or len(self.names("pattern")) < MOST_PATTERNS:
            id_, count, first, what = self.new_id("PAT-"), 1, time, self.words(8)
        else:
            name = self.random.choice(names)
            lines = dict(line.partition(" = ")[::2] for line in self.live[name].text.split("\n"))
            id_, count, first, what = name[1], int(lines["count"]) + 1, lines["first_seen"][1:-1], lines["what"][1:-1]
        status = "observing" if count < 3 else "rule_candidate"
        proposed = f'proposed_rule = "Rule this out before acting: {what}"\n' if count >= 3 else ""
        text = (
            f'id = "{id_}"\nwhat = "{what}"\nfirst_seen = "{first}"\nlast_seen = "{time}"\ncount = {count}\n'
            f'recent_occurrences = [\n  {{ session = "{session}", context = "{self.words(3)}" }},\n]\n'
            f'threshold = 3\nstatus = "{status}"\n{proposed}source_tier = "llm_derived"\n'
        )
        self.taken.add(("pattern", id_))
        subject = f"{id_} added" if count == 1 else f"{id_} seen again ({count}×)"
        return "pattern-record", subject, {("pattern", id_): Item(text, first)}

    taken: set[Name] = field(default_factory=set)
    """Items that a session at work changes; no other one touches them."""

    def _handoff(self, machine: str, began: str, time: str, goal: str) -> str:
        files = [f"{'/'.join(self.random.choices(WORDS, k=2))}.py" for _ in range(6)]
        changed = "".join(f'  "{file}",\n' for file in files[:4])
        activity = "".join(f'  "Edit: {file}",\n' for file in files)
        used = "".join(f'  {{ path = "{file}", changes = {self.random.randint(1, 9)} }},\n' for file in files)
        line = self.random.randint(50, 900)
        source = f'line = {line}\noffset = {line * 310}\ntime = "{time}"\n'
        return (
            f'extracted_at = "{time}"\nstarted = "{began}"\ntrigger = "stop"\nmachine = "{machine}"\n\n[facts]\n'
            f'initial_goal = "{goal}"\ntodo_state = []\nfiles_modified = [\n{changed}]\ngit_commits = []\n'
            f'git_status = ""\nrecent_activity = [\n{activity}]\nkey_decisions = []\nfiles_used = [\n{used}]\n\n'
            f'[[facts.latest_prompts]]\ntext = "{self.words(25)}"\n\n[facts.latest_prompts.source]\n{source}\n'
            f'[facts.last_answer]\ntext = "{self.words(80)}"\n\n[facts.last_answer.source]\n{source}\n'
            f"[facts.sources.initial_goal]\nline = 1\noffset = 0\n" + f'time = "{began}"\n\n[facts.unknown]\n'
        )

    # --- one day

    def work_a_day(self, bare: Path, ref: str, day: int, morning: datetime) -> None:
        """Add the commits of all sessions of one working day to the branch."""
        slot = HOURS * 60 / self.sessions_a_day
        starts = []
        for agent in range(self.agents):
            for number in range(self.sessions_a_day):
                length = min(self.random.uniform(10, 50), slot / 2)
                starts.append((number * slot + self.random.uniform(0, slot - length), length, agent))
        self.closed_today.clear()
        with importing(bare) as stream:
            tip = stream.read_tip(ref)
            day_work = _Day(self, stream, ref, tip)
            ends: list[tuple[float, int, Running]] = []
            for number, (minute, length, agent) in enumerate(sorted(starts)):
                while ends and ends[0][0] <= minute:
                    day_work.end(heapq.heappop(ends)[2])
                steps = self.plan(agent, self.sessions, morning + timedelta(minutes=minute), length, day)
                self.sessions += 1
                heapq.heappush(ends, (minute + length, number, day_work.begin(agent, steps)))
            while ends:
                day_work.end(heapq.heappop(ends)[2])
        self.taken.clear()

    def find(self, name: Name) -> Item | None:
        return self.live.get(name) or self.closed_today.get(name)

    def put(self, name: Name, item: Item) -> None:
        if item.closing is None:
            self.live[name] = item
        else:
            self.live.pop(name, None)
            self.closed_today[name] = item


class Tip(NamedTuple):
    """A commit: how the stream names it, its revision number and its time in seconds."""

    name: str
    revision: int
    second: int


class _Day:
    """The commits of one day: the tip of the shared branch, and what has changed on it since the morning."""

    def __init__(self, team: Team, stream: Stream, ref: str, tip: Tip) -> None:
        self.team, self.stream, self.ref, self.tip = team, stream, ref, tip
        self.changes: list[tuple[Name, Item]] = []
        self.tips: list[Tip] = [tip]

    def begin(self, agent: int, steps: list[Step]) -> Running:
        names = {name for step in steps for name in step.items}
        before = {name: self.team.find(name) for name in names}
        self.team.taken.update(names)
        return Running(
            steps[0].subject.split()[1], agent, len(self.tips) - 1, self.tip.revision, len(self.changes), steps, before
        )

    def end(self, session: Running) -> None:
        """Commit the steps of a session on the commit that it began from, and merge the result into the branch."""
        base = self.tips[session.base]
        own, final = base, dict[Name, Item]()
        for step in session.steps:
            final.update(step.items)
            trailers = (
                f"Baton-Op: {step.op}\nBaton-Session: {session.id}\nBaton-Agent: claude\n"
                f"Baton-Machine: machine-{session.agent:06d}\n"
            )
            author = f"Ada {session.agent} <ada{session.agent}@example.org>"
            own = self.stream.commit("refs/team/session", own, step, trailers, author)
            self.team.commits += 1
        if base is self.tip:
            merged, new = final, own
            self.stream.move(self.ref, own)
        else:
            merged = {name: self._merge(session.before[name], item, name) for name, item in final.items()}
            new = self._commit_merge(own, merged, session)
        for name, item in merged.items():
            self.team.put(name, item)
            self.team.taken.discard(name)
        self.changes.extend(merged.items())
        self.tip = new
        self.tips.append(new)

    def _merge(self, before: Item | None, ours: Item, name: Name) -> Item:
        """Return the merged item, by the rules of baton: the changed text, and the earlier closing."""
        theirs = self.team.find(name)
        if theirs is None or theirs == before:
            return ours
        was = (before.text, before.closing) if before is not None else ("", None)
        text = ours if ours.text != was[0] else theirs
        closings = [one for one in (ours.closing, theirs.closing) if one is not None and one != was[1]]
        return text._replace(closing=min(closings) if closings else None)

    def _commit_merge(self, own: Tip, merged: dict[Name, Item], session: Running) -> Tip:
        first, second = sorted((own, self.tip), key=lambda tip: (-tip.revision, self._oid_if_tied(tip, own)))
        items = merged if first is self.tip else {**dict(self.changes[session.base_length :]), **merged}
        step = Step("merge", MERGE_SUBJECT, max(own.second, self.tip.second), items)
        self.team.commits += 1
        self.team.merges += 1
        trailers = f"Baton-Op: merge\nBaton-Merge-Rules: {NEWEST_RULES}\n"
        return self.stream.commit(self.ref, first, step, trailers, AUTHOR, second)

    def _oid_if_tied(self, tip: Tip, own: Tip) -> str:
        return self.stream.find_oid(tip) if own.revision == self.tip.revision else ""


class Stream:
    """The input of a running `git fast-import`."""

    def __init__(self, bare: Path, given: IO[bytes], answers: IO[bytes]) -> None:
        self.bare, self.given, self.answers = bare, given, answers
        self.marks = 0

    def read_tip(self, ref: str) -> Tip:
        """Return the tip of a branch that exists."""
        argv = [
            "git",
            f"--git-dir={self.bare}",
            "log",
            "-1",
            "--format=%H %ct %(trailers:key=Baton-Revision,valueonly)",
        ]
        oid, second, revision = subprocess.run([*argv, ref], check=True, capture_output=True, text=True).stdout.split()
        return Tip(oid, int(revision), int(second))

    def find_oid(self, tip: Tip) -> str:
        if not tip.name.startswith(":"):
            return tip.name
        self.given.write(f"get-mark {tip.name}\n".encode())
        self.given.flush()
        return self.answers.readline().decode().strip()

    def move(self, ref: str, tip: Tip) -> None:
        self.given.write(f"reset {ref}\nfrom {tip.name}\n\n".encode())

    def commit(
        self, ref: str, parent: Tip, step: Step, trailers: str, author: str, other: Tip | None = None
    ) -> Tip:  # fmt: skip
        """Write a commit and the files of its items. A merge has `parent` and `other` as its parents."""
        revision = 1 + max(parent.revision, other.revision if other else 0)
        message = f"{step.subject}\n\n{trailers}Baton-Revision: {revision}\n".encode()
        self.marks += 1
        who = f"{author} {step.second} +0000"
        lines = f"commit {ref}\nmark :{self.marks}\nauthor {who}\ncommitter {who}\ndata {len(message)}\n".encode()
        merge = f"merge {other.name}\n" if other else ""
        files = b"".join(write_files(step.items.items()))
        self.given.write(b"%s%sfrom %s\n%s%s\n" % (lines, message, parent.name.encode(), merge.encode(), files))
        return Tip(f":{self.marks}", revision, step.second)


def write_files(items: Iterable[tuple[Name, Item]]) -> Iterator[bytes]:
    """Yield the changes of files of a commit, as `git fast-import` reads them."""
    for (kind, id_), item in items:
        live, text = f"{FOLDERS[kind]}/{id_}.toml", item.text
        path = live
        if item.closing is not None:
            yield f"D {live}\n".encode()
            encoded = id_.replace("/", "%2f")
            path = f"archive/{FOLDERS[kind]}/{sha256(id_.encode()).hexdigest()[:2]}/{encoded}.toml"
            text = archived_text(kind, id_, item)
        data = text.encode()
        yield b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(data), data)


def archived_text(kind: str, id_: str, item: Item) -> str:
    """Return the text of the file of an archived record."""
    assert item.closing is not None
    at, by, reason = item.closing
    id_line = f'id = "{id_}"\n' if kind == "handoff" else ""  # its live file has none: the path gives the id
    text = item.text.replace("\n[facts", "\n[record.facts").replace("\n[[facts", "\n[[record.facts")
    return f'at = "{at}"\nreason = "{reason}"\nsession = "{by}"\n\n[record]\n{id_line}{text}'


@contextmanager
def importing(bare: Path) -> Iterator[Stream]:
    """Yield the input of `git fast-import` in a bare repository; its refs have moved at the end."""
    reading, writing = os.pipe()
    argv = ["git", f"--git-dir={bare}", "-c", "core.compression=1", "-c", "fastimport.unpackLimit=0", "fast-import"]
    environment = {**os.environ, **KEEP_MEMORY}
    process = subprocess.Popen(
        [*argv, "--quiet", "--force", f"--cat-blob-fd={writing}"],
        stdin=subprocess.PIPE, pass_fds=(writing,), env=environment,
    )  # fmt: skip
    os.close(writing)
    assert process.stdin is not None
    with os.fdopen(reading, "rb") as answers, process, process.stdin as given:
        yield Stream(bare, given, answers)
    if process.returncode:
        raise RuntimeError(f"git fast-import ended with status {process.returncode}")
    subprocess.run(["git", f"--git-dir={bare}", "update-ref", "-d", "refs/team/session"], check=True)


# --- is it what baton makes?


def check_merges(branch: Branch, most: int) -> int:
    """Make the newest merges again with baton's own merge, and return how many there were.

    Raises:
        AssertionError: one of them differs.
    """
    argv = ["git", f"--git-dir={branch.store.repository.common_dir}", "log", "--merges", f"-{most}", "--format=%H"]
    oids = subprocess.run([*argv, branch.ref], check=True, capture_output=True, text=True).stdout.split()
    for oid in oids:
        assert is_automatic_merge(branch.store, branch.store.commit(oid)), f"{oid} is not what baton makes"  # type: ignore[arg-type]
    return len(oids)


def check_records(store: Store, team: Team, most: int) -> int:
    """Read generated files with baton's codecs and write them again, and return how many there were.

    Raises:
        AssertionError: a file cannot be read, or baton would write it differently.
    """
    names = [*team.live, *team.closed_today]
    chosen = team.random.sample(names, min(most, len(names)))
    for name in chosen:
        item = team.find(name)
        assert item is not None
        path = f"{FOLDERS[name[0]]}/{name[1]}.toml"
        _check_text(path, item.text)
        if item.closing is not None:
            shard = sha256(name[1].encode()).hexdigest()[:2]
            path = f"archive/{FOLDERS[name[0]]}/{shard}/{name[1].replace('/', '%2f')}.toml"
            _check_text(path, archived_text(*name, item))
    return len(chosen)


def _check_text(path: str, text: str) -> None:
    key = key_at(path)
    assert key is not None, path
    entry = decode(key, path, text.encode())
    assert not isinstance(entry, Unreadable), entry
    again = encode({key: entry})[path]
    assert again == text.encode(), f"{path}: baton writes\n{(again or b'').decode()}\ninstead of\n{text}"


def live_ids(state: State, kind: str) -> set[str]:
    return set(state.ids(kind))
