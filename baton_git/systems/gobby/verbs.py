"""Gobby's verbs: show, list and extract the facts of sessions, and stop a session that a workflow started."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, Field, PrivateAttr

from baton_git.agents.extraction import MOST, Options
from baton_git.agents.extraction.extracting import Extraction
from baton_git.agents.mining.mined_sessions import find_session_doubt
from baton_git.agents.registry import AGENTS
from baton_git.agents.sessions.handoff_index import (
    extraction_time,
    find_last_handoff,
    follow_rewritten,
    resolve_handoff,
)
from baton_git.agents.sessions.handoff_store import gather_facts, make_handoff_id, store_handoff
from baton_git.agents.sessions.records import stop
from baton_git.agents.transcripts import Transcript
from baton_git.core.errors import NotFound
from baton_git.core.output import flat
from baton_git.core.records.handoff import Handoff
from baton_git.core.styles import Column, Role
from baton_git.core.times import describe_age, iso
from baton_git.core.verb import READS, REPLACES, SETTLES, Input, Option, Result, Tool, verb
from baton_git.core.view import Reader, ResultView
from baton_git.namespace.results import (
    AtNamespace,
    PageInput,
    PageResult,
    PastRevision,
    RedactedValue,
    ResultPart,
    full_position,
    list_redactions,
    position,
    summarise,
    take_page,
)
from baton_git.namespace.revision import WriteResult
from baton_git.namespace.workspace import Workspace
from baton_git.systems.gobby.handoff_settings import read_handoff_options
from baton_git.systems.gobby.workflows import open_spawned_sessions

# --- stored handoffs


class ShowHandoff(Input):
    """The handoff to show."""

    id: str | None = Field(
        None, description="AGENT/SESSION, only SESSION, or an unambiguous prefix of either.", examples=["claude/1f0c"]
    )
    at: PastRevision = None


class ShownHandoff(AtNamespace):
    """The stored facts of a session."""

    handoff: dict[str, Any] = Field(
        description="The handoff with all its facts; see `/v1/schema/handoff` for the fields."
    )
    verbose: ClassVar[frozenset[str]] = frozenset({"namespace", "revision", "commit"})


class HandoffSummary(BaseModel):
    """A summary of a handoff."""

    id: str = Field(description="AGENT/SESSION.", examples=["claude/1f0c"])
    extracted_at: str = Field(description="When the facts were extracted.", examples=["2026-06-17T12:30:00Z"])
    trigger: str | None = Field(
        description="The hook event or command that extracted the facts.", examples=["session_end"]
    )
    machine: str | None = Field(description="The machine on which the session ran.")
    worktree: str | None = Field(
        description="The label of the session's work tree; older records have its path.", examples=["wt-7k3f9q"]
    )
    branch: str | None = Field(description="The checked-out branch.")
    person: str | None = Field(None, description="The name of the person for whom the session ran.")
    goal: str = Field(description="The goal of the session.")


class HandoffList(PageResult):
    """The handoffs of a namespace."""

    handoffs: list[HandoffSummary] = Field(description="The handoffs, newest first.")

    def show(self, reader: Reader) -> ResultView:
        columns = [
            Column("extracted", lambda handoff: describe_age(handoff.extracted_at, reader.now), Role.DIM),
            Column("person", lambda handoff: flat(handoff.person or "")),
            Column("goal", lambda handoff: flat(handoff.goal or "")),
            Column("id", lambda handoff: reader.sessions.shorten(handoff.id), Role.ID),
        ]
        none = "there is no handoff yet; to store one: baton handoff extract --keep"
        return ResultView(reader.table(self.handoffs, columns), () if self.handoffs else [none])


@verb("handoff list", "GET /v1/handoffs", effect=READS, tag="sessions", examples=("baton handoff list",))
def list_kept_handoffs(ws: Workspace, now: datetime, verb_input: PageInput) -> HandoffList:
    """List the stored handoffs with a summary of each, newest first."""
    revision = ws.branch.read()
    handoffs = sorted(revision.state.records(Handoff), key=extraction_time, reverse=True)
    shown, after = take_page(handoffs, verb_input, lambda handoff: handoff.id)
    return HandoffList(handoffs=[_summarise(handoff) for handoff in shown], next=after, **full_position(revision))


@verb(
    "handoff show",
    "GET /v1/handoffs/{id}",
    effect=READS,
    tag="sessions",
    positional=("id", "at"),
    options={"id": Option(metavar="[ID|latest]"), "at": Option(metavar="[REV]")},
    tool=Tool("Facts of a session. Default: the last here.", hidden=("at",)),
    examples=("baton handoff show", "baton handoff show claude/1f0c --json", "baton handoff show 1f0c ~2"),
)
def show_handoff(ws: Workspace, now: datetime, verb_input: ShowHandoff) -> ShownHandoff:
    """Show the stored facts of a session. The default is the last session of this work tree.

    If this work tree has no session, the default is the last one of its branch, or else of a branch that HEAD contains,
    or else of any other.

    Raises:
        NotFound: there is no such handoff.
        Ambiguous: several ids begin with this text.
    """
    revision = ws.branch.read(verb_input.at)
    handoff = (
        resolve_handoff(revision.state, verb_input.id)
        if verb_input.id is not None
        else find_last_handoff(ws, revision.state)
    )
    if handoff is None:
        raise NotFound(
            f"handoff of the namespace {ws.branch.namespace.text}", hint="baton handoff extract latest --keep makes one"
        )
    handoff = follow_rewritten(handoff, ws.branch.store.repository.common_dir)
    return ShownHandoff(handoff=handoff.as_data(), **full_position(revision))


def _summarise(handoff: Handoff) -> HandoffSummary:
    return HandoffSummary(
        id=handoff.id, extracted_at=handoff.extracted_at, trigger=handoff.trigger, machine=handoff.machine,
        worktree=handoff.worktree, branch=handoff.branch, person=handoff.person, goal=handoff.facts.initial_goal or "",
    )  # fmt: skip


# --- extraction


FACTS: dict[str, Any] = {
    "initial_goal": "", "active_task": None, "todo_state": [], "files_modified": [], "git_commits": [],
    "git_status": None, "recent_activity": [], "key_decisions": [], "latest_prompts": [], "unanswered": None,
    "last_answer": None, "open_questions": [], "next_steps": [], "files_used": [], "errors": [],
}  # fmt: skip
"""The facts of the result, each with its value if it was not extracted."""
OTHER_NAMES = {"gobby_tasks": "active_task", "todowrite": "todo_state"}
"""Names of facts in the settings that differ from the names in the result."""
FactName = Literal[
    "initial_goal", "active_task", "todo_state", "files_modified", "git_commits", "git_status", "recent_activity",
    "key_decisions", "latest_prompts", "unanswered", "last_answer", "open_questions", "next_steps", "files_used",
    "errors", "gobby_tasks", "todowrite",
]  # fmt: skip
UpTo = Annotated[int | None, Field(ge=0, le=MOST)]


class ExtractHandoff(Input):
    """The session, and the facts to extract."""

    transcript: Path | None = Field(
        None, description="The path of the transcript. Default: the newest of a session in the current folder, or in "
        "one above or below it; else of any session.",
    )  # fmt: skip
    max_turns: int | None = Field(
        None, ge=1, le=1_000_000, description="Use only the last N turns (and the goal).  [all]"
    )
    activity: UpTo = Field(None, description="Include the last N tool uses.  [5]")
    max_commits: UpTo = Field(None, description="Include only the newest N commits.  [20]")
    diff_stats: bool = Field(False, description="Include the changed files of each commit.")
    format: Literal["structured", "narrative"] | None = Field(
        None, description="Print sections (`structured`) or sentences (`narrative`).  [structured]"
    )
    only: list[FactName] = Field([], description="Include only this fact.")
    without: list[FactName] = Field([], description="Leave out this fact.")
    memory: Path | None = Field(None, description="Store the progress in this file, and continue from it next time.")
    folder: Path | None = Field(
        None, description="The session's folder, in which git runs. Default: the folder that the transcript names."
    )
    keep: bool = Field(False, description="Store the facts as the session's handoff.")
    cli: str | None = Field(
        None,
        description="The agent CLI that wrote the transcript. Default: detected from the file.",
        examples=["codex"],
    )
    config: Path | None = Field(None, description="Read the settings of autonomous_handoff only from this file.")

    def complete_options(self, settings: Options) -> Options:
        """Return the settings, overridden by the options of this call; git is not run for excluded facts."""
        facts = {
            "max_turns_to_analyze": self.max_turns, "include_recent_activity": self.activity,
            "injection_format": self.format,
        }  # fmt: skip
        git = {"max_commits": self.max_commits, "include_diff_stats": self.diff_stats or None}
        left_out = {name: False for name in ("git_status", "git_commits") if name in self.list_unwanted()}
        return settings.replace(
            **{name: value for name, value in facts.items() if value is not None},
            git={**settings.git.as_data(), **{name: value for name, value in git.items() if value is not None}},
            extract={**settings.extract.as_data(), **left_out},
        )

    def list_unwanted(self) -> set[str]:
        """Return the excluded facts."""
        wanted = {OTHER_NAMES.get(name, name) for name in self.only} or set(FACTS)
        return set(FACTS) - wanted | {OTHER_NAMES.get(name, name) for name in self.without}


class KeptHandoff(ResultPart):
    """The stored handoff of the session."""

    id: str = Field(description="AGENT/SESSION.", examples=["claude/1f0c"])
    changed: bool = Field(description="Whether this call changed the stored handoff.")
    revision: int | None = Field(None, description="The revision that stored it, if it changed.")
    commit: str | None = Field(None, description="The commit of that revision.")
    summary: str = Field("", description="A description of the change.")
    redactions: list[RedactedValue] = Field([], description="The redacted secrets.")


class ExtractedHandoff(Result):
    """The facts of a session."""

    initial_goal: str = Field(description="The first prompt of the person.")
    active_task: dict[str, Any] | None = Field(description="The task that the session worked on last.")
    todo_state: list[dict[str, Any]] = Field(description="The current to-do list.")
    files_modified: list[str] = Field(
        description="The changed files: absolute paths, in the order of their first change."
    )
    git_commits: list[dict[str, Any]] = Field(description="The commits of this session, oldest first.")
    git_status: str | None = Field(description="The output of `git status --short` in the session's folder.")
    recent_activity: list[str] = Field(description="The last tool uses, oldest first.")
    key_decisions: list[dict[str, Any]] = Field(description="Sentences that may be decisions, oldest first.")
    latest_prompts: list[dict[str, Any]] = Field(
        description="The last prompts except the first of the session, oldest first."
    )
    unanswered: dict[str, Any] | None = Field(description="The last prompt and why it has no answer, if it has none.")
    last_answer: dict[str, Any] | None = Field(
        description="The last answer of the agent, with its prompt if that is not the last one."
    )
    open_questions: list[str] = Field(description="The questions in the last answer.")
    next_steps: list[str] = Field(description="The open work that the last answer lists.")
    files_used: list[dict[str, Any]] = Field(
        description="The files that were used most often and last, the most used first."
    )
    errors: list[dict[str, Any]] = Field(description="Commands that failed and did not succeed later.")
    sources: dict[str, Any] = Field(
        {}, description="The position in the transcript of each fact that is a plain text or a list of texts."
    )
    unknown: dict[str, str] = Field({}, description="The facts that could not be determined, each with the reason.")
    session: str | None = Field(description="The session's id in its agent CLI.")
    agent: str = Field(description="The agent CLI.", examples=["claude"])
    cwd: str | None = Field(description="The working directory of the session.")
    branch: str | None = Field(description="The checked-out branch.")
    started: str | None = Field(description="When the session began, as written in the transcript.")
    compactions: int = Field(description="How often the session's context was compacted.")
    unread: int = Field(description="The number of unreadable lines in the transcript.")
    format: str = Field(description="The text format: `structured` or `narrative`.")
    kept: KeptHandoff | None = Field(
        None, description="The stored handoff; null if the call did not ask to store the facts."
    )
    id: str | None = Field(None, description="The id of the stored handoff.")
    handoff: dict[str, Any] | None = Field(None, description="The stored handoff.")
    verbose: ClassVar[frozenset[str]] = frozenset(
        {*FACTS, "sources", "unknown", "session", "agent", "cwd", "branch", "started", "compactions", "unread",
         "format"}
    )  # fmt: skip

    _extraction: Extraction = PrivateAttr()
    _written: WriteResult | None = PrivateAttr(None)

    @property
    def extraction(self) -> Extraction:
        """The extraction that this result was made from."""
        return self._extraction

    @property
    def written(self) -> WriteResult | None:
        """The result of the write; None if nothing was written."""
        return self._written

    @classmethod
    def of(cls, extraction: Extraction, written: WriteResult | None = None, **kept: Any) -> ExtractedHandoff:
        """Return the result for an extraction; `kept` has the fields about the stored handoff."""
        names = ("session", "agent", "cwd", "branch", "started", "compactions", "unread")
        about = {name: getattr(extraction, name) for name in names}
        result = cls(**FACTS | extraction.facts, **about, format=extraction.options.injection_format, **kept)
        result._extraction, result._written = extraction, written
        return result


@verb(
    "handoff extract",
    usage=(
        "--agent names the agent CLI that wrote the transcript: claude, codex, gemini, or auto to detect it.\n\n"
        "Settings are read from the block autonomous_handoff in .baton/config.yaml of the work tree and in "
        "~/.config/baton/config.yaml. A project can only restrict your own settings, or choose the format: it "
        "cannot enable what your file disables, and of two numbers the smaller one is used.\n\n"
        "Nothing is written without --keep or --memory."
    ),
    effect=SETTLES,
    anywhere_without="keep",
    positional=("transcript",),
    options={
        "transcript": Option(metavar="[TRANSCRIPT|latest]"),
        "max_turns": Option(metavar="N"), "activity": Option(metavar="N"), "max_commits": Option(metavar="N"),
        "only": Option(metavar="FACT"), "without": Option(names=("--no",), metavar="FACT"),
        "memory": Option(metavar="FILE"), "folder": Option(metavar="DIR"),
        "config": Option(metavar="FILE"), "cli": Option(hidden=True),
    },
    machine=True,
    tool=Tool(
        "Store the facts of a transcript.",
        hidden=tuple(name for name in ExtractHandoff.model_fields if name != "transcript"),
        defaults={"keep": True},
        schemas={"transcript": {"type": "string", "description": "Default: the newest"}},
    ),
    examples=(
        "baton handoff extract latest",
        "baton handoff extract ~/.claude/projects/-repo/1f0c.jsonl --json | jq .git_commits",
        "baton handoff extract latest --agent codex --only initial_goal --only todo_state --format narrative",
    ),
)  # fmt: skip
def extract_handoff(ws: Workspace, now: datetime, verb_input: ExtractHandoff) -> ExtractedHandoff:
    """Extract the facts of a session from its transcript: goal, task, to-dos, commits, files, last tool uses.

    FACT is one of initial_goal, active_task, todo_state, files_modified, git_commits, git_status, recent_activity,
    key_decisions, latest_prompts, unanswered, last_answer, open_questions, next_steps, files_used, errors.

    Raises:
        InvalidDocument, InvalidArgument, NotFound, StoreError, LimitExceeded: the transcript or the settings cannot be
            read, or there is no transcript.
        InvalidName, InvalidDocument: the session's id cannot be the name of a file, or contains a secret.
    """
    transcript, cli, folder = verb_input.transcript, verb_input.cli, verb_input.folder
    if transcript is None:
        agent = ws.actor.agent if ws.calls_tools and ws.actor.agent in AGENTS else None
        transcript, cli, cwd = _find_newest(ws, cli or agent)
        folder = folder or (Path(cwd).absolute() if cwd else None)
    options = verb_input.complete_options(_read_options(ws, verb_input))
    extraction = gather_facts(
        ws, now, transcript, cli, memory=verb_input.memory, options=options,
        folder=folder, session=ws.actor.named_session,
    )  # fmt: skip
    extraction = _leave_out_facts(extraction, verb_input.list_unwanted())
    if not verb_input.keep:
        return ExtractedHandoff.of(extraction)
    written = store_handoff(ws, now, extraction, trigger="command")
    handoff = resolve_handoff(ws.branch.read().state, make_handoff_id(extraction))
    new = {}
    if written is not None:
        new = {**position(written.revision), "summary": summarise(written.changes)}
        new["redactions"] = list_redactions(written.redactions)
    kept = KeptHandoff(id=handoff.id, changed=written is not None, **new)
    return ExtractedHandoff.of(extraction, written, kept=kept, id=handoff.id, handoff=handoff.as_data())


def _find_newest(ws: Workspace, agent: str | None) -> tuple[Path, str, str | None]:
    """Find the newest transcript of a session in the current folder, or in one above or below it; else of any session.

    Sessions in this folder that probably worked in another project are skipped.

    Args:
        agent: the agent CLI; None for any.

    Returns:
        The path of the transcript, the agent CLI, and the folder in which the session worked, if known.

    Raises:
        NotFound: there is no transcript.
    """
    machine = ws.required_machine
    here = os.path.realpath(machine.folder)
    newest: list[tuple[bool, float, Transcript, str]] = []
    for name in [agent] if agent else AGENTS:
        for number, transcript in enumerate(AGENTS[name].find_sessions(machine.home, machine.variables)):
            is_here = transcript.cwd is not None and _is_around(here, os.path.realpath(transcript.cwd))
            if is_here and find_session_doubt(ws, name, transcript.session or "", transcript.path, transcript.cwd):
                continue
            if number == 0 or is_here:
                newest.append((is_here, transcript.path.stat().st_mtime, transcript, name))
            if is_here:
                break
    if not newest:
        whose = AGENTS[agent].title if agent else "any agent CLI"
        raise NotFound(f"transcript of {whose} on this machine", hint="give the path of a transcript")
    _, _, transcript, name = max(newest, key=lambda entry: entry[:2])
    return transcript.path, name, transcript.cwd


def _is_around(folder: str, cwd: str) -> bool:
    return os.path.commonpath([folder, cwd]) in (folder, cwd) and min(folder, cwd) != "/"


def _read_options(ws: Workspace, verb_input: ExtractHandoff) -> Options:
    """Return the settings of `autonomous_handoff` that apply to the work tree; the defaults without a machine."""
    machine, top = ws.machine, ws.branch.store.repository.work_tree
    return Options() if machine is None else read_handoff_options(top, machine.config, verb_input.config)


def _leave_out_facts(extraction: Extraction, unwanted: set[str]) -> Extraction:
    facts = {name: value for name, value in extraction.facts.items() if name not in unwanted}
    facts["sources"] = {name: value for name, value in facts["sources"].items() if name not in unwanted}
    return replace(extraction, facts=facts)


# --- started sessions


class StopSession(Input):
    """The session to end."""

    id: str = Field(description="The id of a started session, or an unambiguous prefix of it.", examples=["SP-7k3f9q"])


class StoppedSession(Result):
    """A session that a workflow or a loop started, and its current state."""

    id: str = Field(description="The id of the session.", examples=["SP-7k3f9q"])
    status: str = Field(description="The status of the session.", examples=["stopped"])
    was_running: bool = Field(description="Whether this call stopped it; false if it had already ended.")
    session: dict[str, Any] = Field(description="The stored record of the started session.")

    def show(self, reader: Reader) -> ResultView:
        notes = () if self.was_running else [f"{self.id} had already ended: {self.status}"]
        return ResultView(f"{self.id} {self.status}", notes)


@verb(
    "session stop",
    effect=REPLACES,
    positional=("id",),
    options={"id": Option(metavar="ID")},
    examples=("baton session stop SP-7k3f9q",),
)
def stop_session(ws: Workspace, now: datetime, verb_input: StopSession) -> StoppedSession:
    """Stop a session that a workflow or a loop started, with all of its child processes.

    To list the ids of started sessions: baton session list --spawned.

    Raises:
        NotFound: no session with this id was started in this repository.
        Ambiguous: several ids begin with this text.
    """
    records = open_spawned_sessions(ws)
    session = records.find(verb_input.id)
    ended = stop(records, session, iso(now))
    was_running = session.status == "running"
    return StoppedSession(id=ended.id, status=ended.status, was_running=was_running, session=ended.public_data)
