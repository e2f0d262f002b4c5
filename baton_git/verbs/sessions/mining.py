"""The verb `mine`: import sessions from transcripts on this machine, such as those from before baton was installed."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import ClassVar, NamedTuple

from pydantic import Field, model_validator

from baton_git.agents.extraction.extracting import check_agent_name
from baton_git.agents.hook_events.hook_session import HookSessionStore
from baton_git.agents.mining.candidates import (
    Belonging,
    Candidate,
    MiningProgress,
    ProjectFolders,
    find_expiring,
    is_folder,
    is_moved,
    list_candidates,
    make_running_check,
)
from baton_git.agents.mining.evidence import Evidence, NamedCommit, find_evidence, store_addresses
from baton_git.agents.mining.mined_sessions import (
    MinedSession,
    has_news,
    has_turns,
    is_known,
    open_repository_evidence,
    read_session,
    store_sessions,
    weigh_transcript,
)
from baton_git.agents.mining.weighing import Doubt, RepositoryEvidence
from baton_git.agents.registry import AGENTS
from baton_git.core.errors import BatonError, Busy, NotFound
from baton_git.core.isolation import describe_bug
from baton_git.core.output import count_noun, flat
from baton_git.core.progress import Progress
from baton_git.core.records.handoff import Handoff
from baton_git.core.state import State
from baton_git.core.styles import Column, Role
from baton_git.core.times import TimeField, describe_age, from_seconds, iso, parse_moment, parse_time_or_none, shift
from baton_git.core.verb import SETTLES, Input, Option, verb
from baton_git.core.view import Reader, ResultView
from baton_git.git.files.atomic_files import read_head, show_path, write_all
from baton_git.git.files.ref_locks import hold_flock
from baton_git.git.store import Repository
from baton_git.namespace.results import AtNamespace, ResultPart, full_position
from baton_git.namespace.workspace import Workspace

LOOK_AGAIN = timedelta(minutes=1)
"""After a complete run of `keep_local_turns`, runs are skipped for this time: listing the transcripts takes longer than
a search."""

READING_SECONDS = 3.0
"""Time limit in seconds for reading new transcripts before a question is answered."""

MAX_WEIGHED = 64 << 20
"""Maximum number of bytes of transcripts that `count_new` searches for evidence of another project."""
ALL = "all"


class Mine(Input):
    """The transcripts to import."""

    agent: str | None = Field(None, description="Import only transcripts of this agent CLI.", examples=["claude"])
    since: TimeField = Field(
        None, description="Import only transcripts that changed since this date or time.", examples=["2026-06-01"]
    )
    dry_run: bool = Field(False, description="Only show what would be imported.")
    project: str | None = Field(
        None, description="Import the sessions of this folder: an earlier folder of the repository, or another clone."
    )
    all_projects: bool = Field(False, description="Import the sessions of all projects into this namespace.")
    take: list[str] = Field(
        [], description="Also import these doubtful sessions (AGENT/SESSION), or `all` of them.", examples=[["all"]]
    )

    @model_validator(mode="after")
    def _one_choice(self) -> Mine:
        if self.project is not None and self.all_projects:
            raise ValueError("give {project} or {all_projects}, not both")
        return self


class MinedTranscript(ResultPart):
    """An imported session."""

    id: str = Field(description="AGENT/SESSION.", examples=["claude/1f0c"])
    ended: str = Field(description="The time of the session's last event.", examples=["2026-06-17T12:30:00Z"])
    goal: str = Field(description="The goal of the session.")
    path: str = Field(description="The path of its transcript.")


class DoubtfulTranscript(ResultPart):
    """A session that started in a folder of this repository, but whose transcript names another project."""

    id: str = Field(description="AGENT/SESSION.", examples=["claude/1f0c"])
    folder: str = Field(description="The folder in which it started.")
    reasons: list[str] = Field(
        description="What contradicts the folder.", examples=[["used the remote git.example/globex/payroll"]]
    )
    path: str = Field(description="The path of its transcript.")


class ExpiringTranscripts(ResultPart):
    """Transcripts that their CLI deletes within a week."""

    agent: str = Field(description="The agent CLI that wrote them.")
    number: int = Field(description="Their number.")
    kept_days: float = Field(description="After how many days the CLI deletes a transcript.")
    settings: str = Field(description="The settings file that can change this.")


class MineResult(AtNamespace):
    """The imported sessions, and the number of transcripts that were not imported, by reason."""

    dry_run: bool = Field(description="Whether this was a dry run, so that nothing was stored.")
    imported: list[MinedTranscript] = Field(
        description="The imported sessions, newest first; in a dry run, those that would be imported."
    )
    known: int = Field(description="The number of sessions that are already in the namespace.")
    active: int = Field(description="The number of active sessions; their hooks store them.")
    empty: int = Field(description="The number of transcripts without a prompt or a tool use.")
    unclear: int = Field(
        description="The number of transcripts of deleted or unknown folders, which were not imported."
    )
    unclear_folders: list[str] = Field(description="The deleted folders, as far as the transcripts name them.")
    elsewhere: int = Field(description="The number of transcripts of other projects.")
    doubtful: list[DoubtfulTranscript] = Field(
        description="The sessions that were not imported because they probably worked in another project."
    )
    problems: list[str] = Field(description="Messages about files that could not be read or parsed.")
    expiring: list[ExpiringTranscripts] = Field(
        description="The transcripts that agent CLIs will delete within a week."
    )
    secrets: int = Field(description="The number of redacted secrets.")
    read_bytes: int = Field(description="The number of bytes read from transcripts.")
    verbose: ClassVar[frozenset[str]] = frozenset({"imported"})

    def show(self, reader: Reader) -> ResultView:
        columns = [
            Column("ended", lambda session: describe_age(session.ended, reader.now), Role.DIM),
            Column("goal", lambda session: flat(session.goal or "")),
            Column("id", lambda session: session.id, Role.ID),
        ]
        return ResultView(reader.table(self.imported, columns) if self.dry_run else "", [*describe_mined(self)])


@verb(
    "mine",
    usage=(
        "With --agent, only the transcripts of one agent CLI are imported: claude, codex or gemini."
    ),
    effect=SETTLES,
    tag="sessions",
    machine=True,
    options={
        "agent": Option(hidden=True), "since": Option(metavar="TIME"),
        "project": Option(metavar="PATH"), "all_projects": Option(names=("--all",)), "take": Option(metavar="SESSION"),
    },
    examples=("baton mine --dry-run", "baton mine", "baton mine --agent codex --since 2026-06-01"),
)  # fmt: skip
def mine(ws: Workspace, now: datetime, verb_input: Mine) -> MineResult:
    """Import earlier sessions of this repository from transcripts on this machine.

    Each session becomes a handoff like those that the hooks store, without secrets. All handoffs are stored in one
    commit. A session that is already stored is updated only if its transcript has newer facts. A session in a folder
    that no longer exists is imported only if git or the transcript shows that it worked in this repository. A session
    in a folder of this repository is not imported if its transcript names another project, for example because two
    projects were mounted at the same place; it is listed as doubtful.

    Raises:
        InvalidArgument: there is no such agent, or a time cannot be parsed.
        Busy: another process mines this namespace.
    """
    if verb_input.agent is not None:
        check_agent_name(verb_input.agent)
    since = parse_moment(verb_input.since) if verb_input.since is not None else None
    with _hold_lock(ws, needed=not verb_input.dry_run):
        run = _MiningRun(ws, now, verb_input)
        run.select_transcripts(since)
        run.read_all(ws.progress)
        return run.finish()


def count_new(ws: Workspace, now: datetime, verb_input: Mine) -> int:
    """Return the number of sessions that `mine` would read; only the first lines of transcripts are read.

    Sessions of deleted folders count only if git knows the folder: other evidence is found only in the whole
    transcript.
    """
    run = _MiningRun(ws, now, verb_input.model_copy(update={"dry_run": True}), looks_inside=False)
    run.select_transcripts(None)
    return run.count_undoubted()


def read_new_sessions(ws: Workspace, now: datetime) -> str:
    """Read the sessions of this machine that no hook has saved yet, so that recall can search them.

    Returns:
        A message if some are not read yet, or reading failed; else an empty text.
    """
    if ws.machine is None or ws.branch.read().commit is None:
        return ""
    if ws.machine.serves_others:
        return "transcripts that nothing has stored yet are not read for the clients of a server that others may reach"
    try:
        unread = keep_local_turns(ws, now, Mine(), READING_SECONDS)
    except BatonError as error:
        return f"transcripts of earlier sessions: {error}"
    return f"{unread} transcripts of earlier sessions are not read yet; ask again, or run baton mine" if unread else ""


def keep_local_turns(ws: Workspace, now: datetime, verb_input: Mine, seconds: float) -> int:
    """Store the turns of sessions that no hook and no `mine` has read yet, newest first, without a commit.

    A later `mine` continues from there. If a run reads all transcripts, runs in the following `LOOK_AGAIN` do
    nothing. A run also does nothing while another process mines this namespace.

    Args:
        seconds: the time limit.

    Returns:
        The number of transcripts that remain to be read; 0 if the run did nothing.

    Raises:
        WriteFailed: writing to disk failed.
    """
    folder = _mining_folder(ws)
    looked = folder / f"{ws.branch.namespace.component}.looked"
    before = parse_time_or_none(_read_text(looked))
    if before is not None and before <= now < shift(before, LOOK_AGAIN):
        return 0
    with hold_flock(folder / f"{ws.branch.namespace.component}.lock", 0) as is_alone:
        if is_alone is False:
            return 0
        run = _MiningRun(ws, now, verb_input, looks_inside=False)
        run.select_transcripts(None)
        unread = run.keep_turns(time.monotonic() + seconds)
        if not unread:
            write_all({looked: iso(now).encode()}, mode=0o600)
    return unread


def _read_text(path: Path) -> str | None:
    try:
        return read_head(path, 64).decode("ascii", "replace")
    except NotFound:
        return None


def _mining_folder(ws: Workspace) -> Path:
    return ws.branch.store.repository.common_dir / "baton" / "mining"


@contextmanager
def _hold_lock(ws: Workspace, *, needed: bool) -> Iterator[None]:
    """Hold the lock of mining in this namespace. Raises Busy if another process holds it."""
    if not needed:
        yield
        return
    with hold_flock(_mining_folder(ws) / f"{ws.branch.namespace.component}.lock", 0) as is_alone:
        if is_alone is False:
            raise Busy("another process mines this namespace", hint="wait until it has ended")
        yield


class _SelectedTranscript(NamedTuple):
    """A transcript to read, and the folder in which its session started, with the work tree."""

    candidate: Candidate
    belonging: Belonging
    cwd: str | None


class _MiningRun:
    """One run of `mine`: it selects transcripts, reads them, and stores the sessions."""

    def __init__(self, ws: Workspace, now: datetime, verb_input: Mine, *, looks_inside: bool = True) -> None:
        self._ws, self._now, self._verb_input, self._looks_inside = ws, now, verb_input, looks_inside
        machine = ws.required_machine
        self._home, self._variables = machine.home, machine.variables
        named = verb_input.project
        self._project = None if named is None else os.path.normpath(machine.folder / named)
        self._state: State = ws.branch.read().state
        self._progress = MiningProgress(_mining_folder(ws) / f"{ws.branch.namespace.component}.jsonl")
        self._writes = not verb_input.dry_run
        self._count: Counter[str] = Counter()
        self._unclear_folders: set[str] = set()
        self._problems: list[str] = []
        self._proven: set[Path] = set()
        self._cwds: dict[Path, str | None] = {}
        self._doubtful: list[DoubtfulTranscript] = []
        self._repositories: dict[str, RepositoryEvidence] = {}
        self._memory = HookSessionStore(str(ws.branch.store.repository.common_dir))
        self._ours: list[Candidate] = []
        self._sessions: dict[str, tuple[Candidate, MinedSession]] = {}
        self._bytes = 0
        self.to_read: list[_SelectedTranscript] = []

    # --- choosing transcripts

    def select_transcripts(self, since: datetime | None) -> None:
        """Find the transcripts of this repository that the namespace lacks, and count the others by reason."""
        agents = [self._verb_input.agent] if self._verb_input.agent is not None else list(AGENTS)
        listed = list_candidates(agents, self._home, self._variables, self._problems.append)
        candidates = list(_drop_older_copies(listed))
        belongs = self._judge_all(candidates)
        is_being_written = make_running_check(str(self._ws.branch.store.repository.common_dir), self._variables)
        ids = self._stored_ids()
        for candidate in candidates:
            belonging = belongs[candidate.path]
            outcome = self._known_outcome(candidate, ids)
            if belonging.verdict != "ours":
                verdict: str = belonging.verdict
                if verdict == "unclear":
                    verdict = "known" if outcome == "known" else verdict if candidate.size else "empty"
                self._count[verdict] += 1
                if verdict == "unclear" and candidate.cwd:
                    self._unclear_folders.add(candidate.cwd)
                continue
            self._ours.append(candidate)
            if since is not None and candidate.mtime_ns / 1e9 < since.timestamp():
                continue
            if outcome is None and is_being_written(candidate):
                outcome = "active"
            item = _SelectedTranscript(candidate, belonging, self._cwds.get(candidate.path))
            if outcome is not None:
                self._count[outcome] += 1
            elif not self._looks_inside or not self._is_doubtful(item, ids):
                self.to_read.append(item)
        if self._project is not None and not self._ours:
            self._problems.append(f"{show_path(Path(self._project))}: no session worked in this folder")

    def _stored_ids(self) -> set[str]:
        return {*self._state.ids(Handoff.kind), *self._state.ids(Handoff.kind, archived=True)}

    def _known_outcome(self, candidate: Candidate, ids: set[str]) -> str | None:
        """Return why a transcript need not be read again (`empty` or `known`), or None if it must be read."""
        note = self._progress.note(candidate)
        if note.get("empty"):
            return "empty"
        id_ = f"{candidate.agent}/{candidate.session}"
        if id_ not in ids or not has_turns(self._ws, candidate):
            return None
        changed = from_seconds(candidate.mtime_ns / 1e9)
        return "known" if note.get("stored") or is_known(self._state, id_, changed) else None

    def _judge_all(self, candidates: Sequence[Candidate]) -> dict[Path, Belonging]:
        if self._verb_input.all_projects:
            return {candidate.path: Belonging("ours") for candidate in candidates}
        folders = self._open_project_folders()
        cwds = self._cwds = {item.path: item.cwd or folders.resolve_digest(item.cwd_digest) for item in candidates}
        judged = {path: folders.judge(cwd) for path, cwd in cwds.items()}
        for item in candidates if self._project is None else ():
            judged[item.path] = self._follow_hooks(item, judged[item.path])
        unclear = [item for item in candidates if self._looks_inside and judged[item.path].verdict == "unclear"]
        self._proven = self._find_proven(folders, unclear)
        for item in unclear:
            cwd = cwds[item.path]
            if item.path in self._proven:
                judged[item.path] = Belonging("ours", cwd)
            elif cwd is not None:
                judged[item.path] = folders.judge(cwd)
        return {path: self._follow_move(belonging) for path, belonging in judged.items()}

    def _follow_hooks(self, item: Candidate, belonging: Belonging) -> Belonging:
        """Return `belonging`; a session whose hooks ran here belongs here, whatever became of its work tree."""
        hooked = self._memory.get(item.agent, item.session) if belonging.verdict != "ours" else None
        if hooked is None or hooked.doubt or not hooked.work_tree or is_folder(hooked.git_dir):
            return belonging
        is_here = hooked.namespace == str(self._ws.branch.namespace)
        return Belonging("ours", hooked.work_tree) if is_here else belonging

    def _open_project_folders(self) -> ProjectFolders:
        ws, project = self._ws, self._project
        repository = ws.branch.store.repository
        if project is None:
            return ProjectFolders(repository, ws.folder, ws.environment, ws.list_known_work_trees())
        other = Repository.discover(Path(project)) if is_folder(project) else None
        if other is not None:
            return ProjectFolders(other, other.work_tree, ws.environment)
        return ProjectFolders(repository, Path(project), ws.environment, [project])

    def _find_proven(self, folders: ProjectFolders, candidates: Sequence[Candidate]) -> set[Path]:
        """Return the transcripts that name commits of this repository only.

        A folder becomes a former work tree if at least half of its transcripts that name commits are among them.
        """
        evidence = {item.path: self._read_evidence(item) for item in candidates}
        verdicts = folders.find_proven([(item.cwd, evidence[item.path]) for item in candidates])
        proven = {path for path, is_proven in zip(evidence, verdicts, strict=True) if is_proven}
        for cwd in {item.cwd for item in candidates if item.path in proven and item.cwd}:
            named = [item for item in candidates if item.cwd == cwd and evidence[item.path].commits]
            if 2 * sum(item.path in proven for item in named) >= len(named):
                folders.add_former(cwd)
        return proven

    def _read_evidence(self, candidate: Candidate) -> Evidence:
        note = self._progress.note(candidate)
        if "commits" in note:
            commits = tuple(NamedCommit(*commit) for commit in note["commits"])
            remotes, branches, namespaces = (
                tuple(note.get(name, ())) for name in ("remotes", "branches", "namespaces")
            )
            return Evidence(commits, remotes, branches, namespaces, bool(note.get("has_remotes")))
        try:
            evidence = find_evidence(candidate.path)
        except BatonError as error:
            self._problems.append(str(error))
            return Evidence()
        if self._writes:
            self._progress.add(candidate, **evidence._asdict())
        return evidence

    # --- sessions of another project in a folder of this one

    def _is_doubtful(self, item: _SelectedTranscript, ids: set[str]) -> bool:
        """Whether a session is left out because its transcript contradicts its folder; if so, it is listed."""
        candidate, id_ = item.candidate, f"{item.candidate.agent}/{item.candidate.session}"
        is_taken = self._verb_input.all_projects or not {id_, ALL}.isdisjoint(self._verb_input.take)
        if is_taken or id_ in ids or candidate.path in self._proven:
            return False
        hooked = self._memory.get(candidate.agent, candidate.session)
        if hooked is not None and not hooked.doubt:
            return False
        doubt = self._find_doubt(item)
        if doubt is not None:
            self._doubtful.append(DoubtfulTranscript(
                id=id_, folder=item.cwd or "", reasons=list(doubt.reasons), path=str(candidate.path)
            ))  # fmt: skip
        return doubt is not None

    def _find_doubt(self, item: _SelectedTranscript) -> Doubt | None:
        candidate, clone = item.candidate, item.belonging.clone
        repository = clone or self._ws.branch.store.repository
        key = str(repository.common_dir)
        if key not in self._repositories:
            self._repositories[key] = open_repository_evidence(self._ws, clone)
        named, changed = self._read_evidence(candidate), candidate.mtime_ns / 1e9
        try:
            evidence = self._repositories[key]
            return weigh_transcript(evidence, candidate.agent, candidate.path, item.cwd, named, changed)
        except (BatonError, OSError) as error:
            self._problems.append(str(error))
            return None

    def count_undoubted(self) -> int:
        """Return the number of transcripts to read without the doubtful ones, as far as `MAX_WEIGHED` bytes show."""
        ids, weighed, number = self._stored_ids(), 0, 0
        for item in self.to_read:
            weighed += item.candidate.size
            number += weighed > MAX_WEIGHED or not self._is_doubtful(item, ids)
        return number

    def _follow_move(self, belonging: Belonging) -> Belonging:
        """Return `belonging` with the current folder as the work tree if the repository was moved here, otherwise
        unchanged."""
        folder, work_tree = self._ws.folder, belonging.work_tree
        if work_tree is not None and is_moved(work_tree, folder):
            return belonging._replace(work_tree=str(folder))
        return belonging

    # --- reading

    def read_all(self, progress: Progress) -> None:
        """Read the transcripts, newest first."""
        whole, done = sum(item.candidate.size for item in self.to_read), 0
        for item in self.to_read:
            session = self._read(item)
            done += item.candidate.size
            progress(done, whole)
            if session is None:
                continue
            if session.misread:
                self._problems.append(f"{show_path(item.candidate.path)}: {session.misread}")
            if session.unread:
                self._problems.append(
                    f"{show_path(item.candidate.path)}: {count_noun(session.unread, 'line')} could not be read"
                )
            if not session.has_facts:
                self._count["empty"] += session.misread is None
            elif not has_news(self._state, session):
                self._count["known"] += 1
                self._note(item.candidate, stored=True)
            else:
                self._sessions[session.id] = (item.candidate, session)

    def _read(self, item: _SelectedTranscript) -> MinedSession | None:
        candidate = item.candidate
        try:
            data = self._progress.note(candidate).get("session")
            session = MinedSession.from_data(data) if data else None
        except (KeyError, TypeError, ValueError):
            session = None
        if session is not None and (not self._writes or has_turns(self._ws, candidate)):
            return session
        try:
            work_tree = item.belonging.work_tree
            session = read_session(self._ws, self._now, candidate, work_tree, keep_turns=self._writes)
        except (BatonError, OSError) as error:
            self._problems.append(str(error))
            return None
        except Exception as error:  # noqa: BLE001  reported with the file, and the other sessions are read
            self._problems.append(f"{candidate.path}: {describe_bug(error)}")
            return None
        self._bytes += candidate.size
        if session.has_facts:
            self._note(candidate, session=session.as_data())
        elif session.misread is None:
            self._note(candidate, empty=True)
        return session

    def _note(self, candidate: Candidate, **facts: object) -> None:
        if self._writes:
            self._progress.add(candidate, **facts)

    def keep_turns(self, end: float) -> int:
        """Store the turns of the transcripts until `end` (monotonic clock); return the number of unread transcripts."""
        ids = self._stored_ids()
        for number, item in enumerate(self.to_read):
            if time.monotonic() > end:
                return len(self.to_read) - number
            if not has_turns(self._ws, item.candidate) and not self._is_doubtful(item, ids):
                self._read(item)
        return 0

    # --- storing

    def finish(self) -> MineResult:
        """Store the sessions, and return the result."""
        sessions = sorted(self._sessions.values(), key=lambda pair: (pair[1].ended, pair[1].id), reverse=True)
        if self._writes:
            self._store(sessions)
            store_addresses(self._ws.branch.store.repository)
        expiring = find_expiring(self._ours, self._now, self._home, self._variables)
        return MineResult(
            **full_position(self._ws.branch.read()),
            dry_run=self._verb_input.dry_run,
            imported=[_describe(candidate, session) for candidate, session in sessions],
            **{name: self._count[name] for name in ("known", "active", "empty", "unclear", "elsewhere")},
            doubtful=self._doubtful,
            unclear_folders=sorted(self._unclear_folders),
            problems=self._problems,
            expiring=[ExpiringTranscripts(**{**item._asdict(), "settings": str(item.settings)}) for item in expiring],
            secrets=sum(session.secrets for _, session in sessions),
            read_bytes=self._bytes,
        )

    def _store(self, sessions: Iterable[tuple[Candidate, MinedSession]]) -> None:
        pairs = list(sessions)
        if pairs:
            store_sessions(self._ws, self._now, [session for _, session in pairs])
        for candidate, _ in pairs:
            self._progress.add(candidate, stored=True)
        self._progress.settle()


def _drop_older_copies(candidates: Iterable[Candidate]) -> Iterator[Candidate]:
    """Yield the newest transcript of each session; a CLI that changes its format can leave two."""
    newest: dict[tuple[str, str], Candidate] = {}
    for candidate in candidates:
        known = newest.get((candidate.agent, candidate.session))
        if known is None or candidate.mtime_ns > known.mtime_ns:
            newest[candidate.agent, candidate.session] = candidate
    yield from sorted(newest.values(), key=lambda candidate: candidate.mtime_ns, reverse=True)


def _describe(candidate: Candidate, session: MinedSession) -> MinedTranscript:
    goal = " ".join(str(session.body["facts"].get("initial_goal") or "").split())[:200]
    return MinedTranscript(id=session.id, ended=iso(session.ended), goal=goal, path=str(candidate.path))


# --- what people read

PROBLEMS_SHOWN = 10
FOLDERS_SHOWN = 5
DOUBTFUL_SHOWN = 10


def describe_mined(result: MineResult) -> Iterator[str]:
    """Yield sentences about what was imported, and what was not and why."""
    number = len(result.imported)
    would = "would be " if result.dry_run else ""
    sessions = count_noun(number, "session")
    yield f"{sessions} {would}imported" + (f" (revision {result.revision})" if number and not would else "")
    counts = {
        "already imported": result.known, "still active": result.active, "without prompts or actions": result.empty,
        "of other projects": result.elsewhere,
        "of deleted or unknown folders (to import those of one folder: baton mine --project PATH)": result.unclear,
    }  # fmt: skip
    yield from (f"  {count} {description}" for description, count in counts.items() if count)
    folders = result.unclear_folders
    yield from (f"    {flat(folder)}" for folder in folders[:FOLDERS_SHOWN])
    if len(folders) > FOLDERS_SHOWN:
        yield f"    and {count_noun(len(folders) - FOLDERS_SHOWN, 'more folder')} (--json has all)"
    yield from describe_doubtful(result)
    if result.secrets:
        yield f"  {count_noun(result.secrets, 'secret was', 'secrets were')} removed"
    yield from (f"  {flat(problem)}" for problem in result.problems[:PROBLEMS_SHOWN])
    if len(result.problems) > PROBLEMS_SHOWN:
        yield f"  and {count_noun(len(result.problems) - PROBLEMS_SHOWN, 'more problem')} (--json has all)"
    for item in result.expiring:
        count = count_noun(item.number, "transcript")
        title, days = AGENTS[item.agent].title, f"{item.kept_days:g} days"
        yield flat(f"{count} will be deleted within 7 days: {title} keeps them for {days} ({item.settings})")


def describe_doubtful(result: MineResult) -> Iterator[str]:
    """Yield sentences about the sessions that probably worked in another project; none if there are none."""
    if not result.doubtful:
        return
    sessions = count_noun(len(result.doubtful), "session")
    yield f"  {sessions} started in a folder of this repository, but probably worked in another project:"
    for item in result.doubtful[:DOUBTFUL_SHOWN]:
        yield f"    {flat(item.id)}: {flat('; '.join(item.reasons))}"
    if len(result.doubtful) > DOUBTFUL_SHOWN:
        yield f"    and {count_noun(len(result.doubtful) - DOUBTFUL_SHOWN, 'more session')} (--json has all)"
    yield "    to import one: baton mine --take SESSION; all: baton mine --take all"
