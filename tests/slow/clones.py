"""Clones of one remote, each with its own clock, and the actions in them: verbs, edits by hand, kills."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import going_back

from baton_git.core.errors import BatonError, InvalidArgument
from baton_git.core.layout import path_of
from baton_git.core.lifecycle import Confirmed
from baton_git.core.names import Namespace, Oid
from baton_git.core.records.work_items import ActiveDecision, FollowUp, OpenLoop, Pattern
from baton_git.core.state import Key
from baton_git.git.remotes import Remote, open_remote
from baton_git.git.store import ReflogEntry, Repository, Store
from baton_git.git.store.folder import Folder
from baton_git.namespace.branch import Branch
from baton_git.namespace.revision import Revision
from baton_git.namespace.sync.actions import Terms
from baton_git.namespace.sync.synchronise import SyncOptions, SyncOutcome, synchronise
from baton_git.namespace.workspace import Actor, Workspace
from baton_git.systems.session_baton import document_writing, documents
from baton_git.verbs.sessions.session_end import end_session
from baton_git.verbs.sessions.session_start import StartOptions, begin_session
from baton_git.verbs.sharing import sync as syncing
from baton_git.verbs.sharing.conflict_resolution import resolve
from baton_git.verbs.sharing.open_conflicts import list_open_conflicts
from baton_git.verbs.work_items import decisions, followups, loops, patterns

START = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
REF = "refs/heads/baton/x"
KINDS = ("open_loop", "follow_up", "pattern", "active_decision")
NOBODY: dict[str, str] = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


class Act(NamedTuple):
    """One action: its verb, the record, the id, the session, and the words that it writes.

    `mark(kind)` makes a word that `claims` looks for later.
    """

    verb: str
    which: int = 0
    id: str = "X-1"
    session: str | None = "s1"
    number: int = 0

    def mark(self, kind: str) -> str:
        """Return a unique word. `K`: only undoing and rollbacks may remove it; `L`: later words may replace it; `R`: a
        rule may choose another word."""
        return f"{kind}{self.number:05d}q"


@dataclass
class Clone:
    """A work tree with a remote `origin`; `offset` is the error of its clock."""

    top: Path
    offset: timedelta = timedelta()
    documents: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.store = Store(Repository.open(self.top))
        self.branch = Branch(self.store, Namespace("x"))

    def workspace(self, session: str | None = "s1", branch: Branch | None = None) -> Workspace:
        actor = Actor("Ada <ada@example.org>", session, "claude", self.top.name)
        return Workspace(branch or self.branch, actor, folder=self.top, environment={**os.environ, **NOBODY})

    def now(self, passed: timedelta) -> datetime:
        return START + passed + self.offset

    @property
    def tip(self) -> Oid | None:
        return self.store.tip(REF)

    def users(self) -> str:
        """Return everything that belongs to the user: HEAD, the index, other branches, all files of the work tree."""
        digest = hashlib.sha256()
        for name in (".git/HEAD", ".git/index"):
            digest.update((self.top / name).read_bytes())
        files = [path for path in self.top.rglob("*") if path.is_file() and ".git" not in path.parts]
        for path in sorted(files):
            digest.update(str(path).encode() + path.read_bytes())
        digest.update(run_git(self.top, "rev-parse", "HEAD", "main").encode())
        return digest.hexdigest()


def run_git(where: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(where), *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, f"git {words}: {done.stdout}{done.stderr}"
    return done.stdout.strip()


def create_remote(bare: Path) -> None:
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(bare)], check=True)


def create_clone(top: Path, bare: Path) -> Clone:
    subprocess.run(["git", "init", "-q", "-b", "main", str(top)], check=True)
    (top / "readme").write_text("hello\n")
    run_git(top, "add", "readme")
    run_git(top, "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "-q", "-m", "first")
    run_git(top, "remote", "add", "origin", str(bare))
    return Clone(top)


# --- verbs

Verb = Callable[[Workspace, datetime, Act], Revision | None]


def _pick(ws: Workspace, model: Any, which: int) -> Any:
    found = ws.branch.read().state.records(model)
    return found[which % len(found)] if found else None


def _add_loop(ws: Workspace, now: datetime, act: Act) -> Revision:
    verify = {"method": "file_exists", "path": "readme"} if act.which % 3 == 0 else None
    return loops.add_loop(
        ws, now, action=act.mark("K"), expect=act.mark("L"), verify=verify, ttl_days=act.which % 9, id=act.id
    ).written.revision


def _verify(ws: Workspace, now: datetime, act: Act) -> Revision | None:
    one = _pick(ws, OpenLoop, act.which)
    result: Any = ("passed", "failed")[act.which % 2]
    return one and loops.settle_loop(ws, now, one.id, result, note=act.mark("R")).written.revision


def _close(ws: Workspace, now: datetime, act: Act) -> Revision | None:
    one = _pick(ws, OpenLoop, act.which)
    return one and loops.close_loop(ws, now, one.id, reason=act.mark("R")).written.revision


def _add_item(ws: Workspace, now: datetime, act: Act) -> Revision:
    return followups.add_follow_up(ws, now, item=act.mark("K"), reason=act.mark("L"), id=act.id).written.revision


def _defer(ws: Workspace, now: datetime, act: Act) -> Revision | None:
    one = _pick(ws, FollowUp, act.which)
    reason = act.mark("L") if act.number % 4 == 0 else None
    return one and followups.defer_follow_up(ws, now, one.id, reason=reason).written.revision


def _done(ws: Workspace, now: datetime, act: Act) -> Revision | None:
    one = _pick(ws, FollowUp, act.which)
    return one and followups.finish_follow_up(ws, now, one.id, note=act.mark("R")).written.revision


def _record(ws: Workspace, now: datetime, act: Act) -> Revision:
    rule = act.mark("L") if act.which % 2 else None
    return patterns.record_pattern(
        ws, now, what=act.mark("K"), context=act.mark("R"), rule=rule, id=act.id
    ).written.revision


def _recur(ws: Workspace, now: datetime, act: Act) -> Revision | None:
    one = _pick(ws, Pattern, act.which)
    return one and patterns.record_pattern(ws, now, what=one.what, context=act.mark("R")).written.revision


def _propose(ws: Workspace, now: datetime, act: Act) -> Revision | None:
    one = _pick(ws, Pattern, act.which)
    return one and patterns.propose_rule(ws, now, one.id, act.mark("L")).written.revision


def _dismiss(ws: Workspace, now: datetime, act: Act) -> Revision | None:
    one = _pick(ws, Pattern, act.which)
    return one and patterns.dismiss_pattern(ws, now, one.id).written.revision


def _graduate(ws: Workspace, now: datetime, act: Act) -> Revision | None:
    one = _pick(ws, Pattern, act.which)
    if one is None:
        return None
    yes = Confirmed("Ada", "terminal", one.id, one.proposed_rule or "", one.what)
    return patterns.graduate_pattern(replace(ws, confirmed=yes), now, one.id).written.revision


def _decide(ws: Workspace, now: datetime, act: Act) -> Revision:
    tier = ("llm_derived", "raw_source", "human_confirmed")[act.which % 3]
    return decisions.add_decision(
        replace(ws, confirmed=Confirmed("Ada", "terminal", "", "")), now, what=act.mark("K"), why=act.mark("L"),
        evidence=[f"{act.mark('K')} too"], id=act.id, tier=tier,
    ).written.revision  # fmt: skip


def _monitor(ws: Workspace, now: datetime, act: Act) -> Revision | None:
    one = _pick(ws, ActiveDecision, act.which)
    return one and decisions.monitor_decision(ws, now, one.id).written.revision


def _supersede(ws: Workspace, now: datetime, act: Act) -> Revision | None:
    one, by = _pick(ws, ActiveDecision, act.which), _pick(ws, ActiveDecision, act.which + 1)
    return one and decisions.supersede_decision(ws, now, one.id, by.id).written.revision


def changed_document(data: Mapping[str, Any], act: Act) -> dict[str, Any]:
    """Return a document that an agent changed: some records are added, some changed, and some left out."""
    new = deepcopy({**data, "session_id": act.session or "s1"})
    if act.which % 2:
        new["context"] = act.mark("L")
    items = new.setdefault("follow_ups", [])
    if items and act.which % 3 == 0:
        items[act.which % len(items)]["reason"] = act.mark("L")
    if items and act.which % 5 == 0:
        items.pop(act.which % len(items))
    if act.which % 4 < 2 and all(one["id"] != act.id for one in items):
        items.append({"id": act.id, "item": act.mark("L"), "first_seen": "2026-11-01", "x": act.mark("L")})
    for section in ("open_loops", "active_decisions"):
        if new.get(section) and act.which % 7 == 0:
            new[section].pop()
    return new


def _write(ws: Workspace, now: datetime, act: Act) -> Revision:
    data = documents.read_document(ws).baton or {}
    return document_writing.write_document(ws, now, changed_document(data, act)).written.revision


def _import(ws: Workspace, now: datetime, act: Act) -> Revision:
    data = changed_document({"session_id": "foreign"}, act._replace(which=act.which & ~2))
    return document_writing.write_document(ws, now, data, where="/elsewhere/baton.json", op="import").written.revision


def _wrap(ws: Workspace, now: datetime, act: Act) -> Revision:
    return end_session(ws, now, context=act.mark("L"), summary=act.mark("L") if act.which % 2 else None).revision


def _boot(ws: Workspace, now: datetime, act: Act) -> Revision:
    options = StartOptions(sync_seconds=3.0 if act.which % 3 == 0 else 0, check_seconds=act.which % 2)
    return begin_session(ws, now, options).revision


def _roll_back(ws: Workspace, now: datetime, act: Act) -> Revision:
    return going_back.rollback_to(ws, now, f"~{act.which % 7}").revision


def _roll_back_record(ws: Workspace, now: datetime, act: Act) -> Revision:
    return going_back.rollback_record(ws, now, act.id).revision


def _roll_back_session(ws: Workspace, now: datetime, act: Act) -> Revision:
    return going_back.rollback_session(ws, now, act.session or "s1").revision


def _undo(ws: Workspace, now: datetime, act: Act) -> Revision:
    return going_back.undo_revision(ws, now, f"~{act.which % 5}")[0].revision


def _resolve(ws: Workspace, now: datetime, act: Act) -> Revision | None:
    found = list_open_conflicts(ws)
    if not found:
        return None
    side: Any = ("ours", "theirs")[act.which % 2]
    return resolve(ws, now, found[act.which % len(found)].id, side)[1].revision


VERBS: dict[str, Verb] = {
    "loop add": _add_loop, "loop verify": _verify, "loop close": _close,
    "followup add": _add_item, "followup defer": _defer, "followup done": _done,
    "pattern record": _record, "pattern record again": _recur, "pattern propose": _propose, "pattern dismiss": _dismiss,
    "pattern graduate": _graduate, "decision add": _decide, "decision monitor": _monitor,
    "decision supersede": _supersede, "write": _write, "import": _import, "wrap": _wrap, "boot": _boot,
    "rollback": _roll_back, "rollback record": _roll_back_record, "rollback session": _roll_back_session,
    "undo": _undo, "resolve": _resolve,
}  # fmt: skip

PLAIN = ("loop add", "followup add", "pattern record", "decision add", "followup defer", "pattern record again")
"""These verbs occur more often, so that there are records for the other verbs."""


# --- by hand


def by_hand(clone: Clone, now: datetime, act: Act) -> Oid | None:
    """Create a commit with git alone, without trailers."""
    tip = clone.tip
    if tip is None:
        return None
    store, tree = clone.store, clone.store.commit(tip).tree
    files = HANDS[act.verb](store.folder(tree), clone, act)
    if not files:
        return None
    draft = store.draft()
    try:
        new_tree, seconds = draft.tree(tree, files), int(now.timestamp())
    except InvalidArgument:  # a file where another needs a folder
        return None
    new = draft.commit(new_tree, [tip], author="Bob <bob@example.org>", time=seconds, timezone=0, message="by hand")
    moved = store.publish(draft, REF, tip, new, ReflogEntry("Bob <bob@example.org>", seconds, 0, "commit: by hand"))
    return new if moved else None


def _text(root: Folder, path: str) -> bytes:
    *folders, name = path.split("/")
    for one in folders:
        root = root.folder(one)
    return root.read(name) or b""


def _files_of(root: Folder, clone: Clone, kinds: tuple[str, ...] = KINDS) -> list[str]:
    state = clone.branch.read().state
    return [path_of(Key(kind, id_)) for kind in kinds for id_ in sorted(state.ids(kind))]


def _record_file(root: Folder, clone: Clone, act: Act) -> tuple[str, bytes] | None:
    paths = _files_of(root, clone)
    return (path := paths[act.which % len(paths)], _text(root, path)) if paths else None


Hand = Callable[[Folder, Clone, Act], dict[str, bytes | None]]


def _comment(root: Folder, clone: Clone, act: Act) -> dict[str, bytes | None]:
    found = _record_file(root, clone, act)
    return {found[0]: f"# {act.mark('R')}\n".encode() + found[1]} if found else {}


def _field(root: Folder, clone: Clone, act: Act) -> dict[str, bytes | None]:
    found = _record_file(root, clone, act)
    if found is None or f"note{act.which % 2} =".encode() in found[1]:
        return {}
    return {found[0]: f"note{act.which % 2} = '{act.mark('L')}'\n".encode() + found[1]}


def _unknown_file(root: Folder, clone: Clone, act: Act) -> dict[str, bytes | None]:
    path = ("notes/one.md", "notes/two.bin", "deep/er/three.txt")[act.which % 3]
    line = act.mark("K").encode() + (b"\0" if path.endswith("bin") else b"\n")
    text = _text(root, path)
    return {path: (line + text) if act.which % 2 else (text + line)}


def _rewritten_file(root: Folder, clone: Clone, act: Act) -> dict[str, bytes | None]:
    return {("notes/one.md", "notes", "notes/one.md/inside")[act.which % 3]: f"{act.mark('K')}\n".encode()}


def _broken(root: Folder, clone: Clone, act: Act) -> dict[str, bytes | None]:
    found = _record_file(root, clone, act)
    return {found[0]: f"= torn {act.mark('K')}\n".encode()} if found else {}


def _removed(root: Folder, clone: Clone, act: Act) -> dict[str, bytes | None]:
    found = _record_file(root, clone, act)
    return {found[0]: None, "notes/why.md": act.mark("K").encode()} if found else {}


def _retitled(root: Folder, clone: Clone, act: Act) -> dict[str, bytes | None]:
    one = _pick(clone.workspace(), FollowUp, act.which)
    if one is None:
        return {}
    path = path_of(Key("follow_up", one.id))
    return {path: _text(root, path).replace(one.item.encode(), act.mark("L").encode())}


def _forged(root: Folder, clone: Clone, act: Act) -> dict[str, bytes | None]:
    """Make a pattern a rule by hand, without a confirmation."""
    one = _pick(clone.workspace(), Pattern, act.which)
    if one is None or one.status == "graduated":
        return {}
    path = path_of(Key("pattern", one.id))
    lines = [line for line in _text(root, path).splitlines() if not line.startswith(b"status")]
    return {path: b"\n".join([b'status = "graduated"', *lines, b""])}


HANDS: dict[str, Hand] = {
    "comment": _comment, "unknown field": _field, "unknown file": _unknown_file, "rewritten file": _rewritten_file,
    "broken file": _broken, "removed file": _removed, "other title": _retitled, "forged rule": _forged,
}  # fmt: skip


# --- syncs


def sync(ws: Workspace, now: datetime, settle: Any = None, **how: Any) -> syncing.Synced:
    return syncing.sync(ws, now, remote="origin", options=SyncOptions(30, **how), settle=settle)


@dataclass
class Racing:
    """A remote to which others push first: `meanwhile` is called once, after the fetch or before the push."""

    remote: Remote
    meanwhile: list[Callable[[], object]]
    before_push: bool

    @property
    def name(self) -> str:
        return self.remote.name

    @contextmanager
    def fetch(self, wants: Mapping[str, str], **more: Any) -> Iterator[Any]:
        with self.remote.fetch(wants, **more) as quarantine:
            yield quarantine
        if not self.before_push and self.meanwhile:
            self.meanwhile.pop()()

    def push(self, moves: Any, *, seconds: float) -> Any:
        if self.before_push and self.meanwhile:
            self.meanwhile.pop()()
        return self.remote.push(moves, seconds=seconds)


def raced_sync(
    ws: Workspace, now: datetime, meanwhile: list[Callable[[], object]], *, before_push: bool
) -> SyncOutcome:
    reached = open_remote(ws.branch.store.repository, "origin", ws.environment)
    racing: Any = Racing(reached, meanwhile, before_push)
    [done] = synchronise([ws.branch], racing, "origin", Terms(), ws.stamp("sync", now), SyncOptions(30))
    return done


# --- kills

_PROCESSES = get_context("forkserver")
_PROCESSES.set_forkserver_preload([__name__, "baton_git.git.remotes.git_command", "dulwich.objects", "dulwich.pack"])


def write_many(top: Path, offset: timedelta, passed: timedelta, acts: list[Act], syncs: bool, journal: Path) -> None:
    """Run actions, and a sync after each if `syncs`; append the commit of each acknowledged write to the journal."""
    clone = Clone(top, offset)
    out = os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for act in acts:
        now = clone.now(passed + timedelta(seconds=act.number))
        done = try_action(lambda: VERBS[act.verb](clone.workspace(act.session), now, act))  # noqa: B023  called at once
        if isinstance(done, Revision):
            os.write(out, f"{done.commit}\n".encode())
        if syncs:
            try_action(lambda: sync(clone.workspace(), clone.now(passed)))


def try_action(do: Callable[[], Any]) -> Any:
    """Return the result, or the error if it is an expected one."""
    try:
        return do()
    except BatonError as error:
        return error


def run_and_kill(
    clone: Clone, passed: timedelta, acts: list[Act], journal: Path, *, syncs: bool, milliseconds: int
) -> list[Oid]:
    """Run actions in another process, and kill it some milliseconds after its first output; return the writes that it
    acknowledged before."""
    process = _PROCESSES.Process(target=write_many, args=(clone.top, clone.offset, passed, acts, syncs, journal))
    process.start()
    end = time.monotonic() + 10
    while process.is_alive() and not journal.exists() and time.monotonic() < end:
        time.sleep(0.002)
    process.join(milliseconds / 1000)
    if process.is_alive():
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert process.exitcode in (0, -signal.SIGKILL)
    lines = journal.read_text().splitlines(keepends=True) if journal.exists() else []
    journal.unlink(missing_ok=True)
    return [Oid(line.strip()) for line in lines if line.endswith("\n")]
