"""The verb that extracts the facts of a session from its transcript, and keeps them where that is wanted."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, PrivateAttr

from baton_git.agents.extraction import Extraction, Options
from baton_git.agents.extraction.options import MOST
from baton_git.core.errors import InvalidArgument
from baton_git.core.verb import SETTLES, Input, Option, Result, Tool, verb
from baton_git.namespace.results import RedactedValue, ResultPart, list_redactions, position, summarise
from baton_git.namespace.revision import WriteResult
from baton_git.namespace.workspace import Workspace
from baton_git.systems.gobby.handoffs import gather, id_of, keep
from baton_git.systems.gobby.previous_sessions import resolve_handoff

FACTS: dict[str, Any] = {
    "initial_goal": "", "active_task": None, "todo_state": [], "files_modified": [], "git_commits": [],
    "git_status": None, "recent_activity": [], "key_decisions": [], "latest_prompts": [], "last_answer": None,
    "open_questions": [], "next_steps": [], "files_used": [], "errors": [],
}  # fmt: skip
"""The facts, with what stands for one that there is not."""
OTHER_NAMES = {"gobby_tasks": "active_task", "todowrite": "todo_state"}
"""What the settings call facts, and what they are called in the answer."""
FactName = Literal[
    "initial_goal", "active_task", "todo_state", "files_modified", "git_commits", "git_status", "recent_activity",
    "key_decisions", "latest_prompts", "last_answer", "open_questions", "next_steps", "files_used", "errors",
    "gobby_tasks", "todowrite",
]  # fmt: skip
UpTo = Annotated[int | None, Field(ge=0, le=MOST)]


class ExtractHandoff(Input):
    """Which facts of which session to extract."""

    transcript: Path | None = Field(None, description="The transcript; an interface may find the newest one.")
    max_turns: int | None = Field(
        None, ge=1, le=1_000_000, description="Use only the last N turns (and the goal).  [all]"
    )
    activity: UpTo = Field(None, description="Number of last tool uses to include.  [5]")
    max_commits: UpTo = Field(None, description="Maximum number of newest commits.  [20]")
    diff_stats: bool = Field(False, description="Include the changed files of each commit.")
    format: Literal["structured", "narrative"] | None = Field(
        None, description="Print sections, or sentences.  [structured]"
    )
    only: list[FactName] = Field([], description="Include only this fact.")
    without: list[FactName] = Field([], description="Leave out this fact.")
    memory: Path | None = Field(None, description="Store the progress in this file, and continue from it next time.")
    folder: Path | None = Field(None, description="The session's folder, if the transcript does not name it.")
    keep: bool = Field(False, description="Store the facts as the session's handoff.")
    cli: str | None = Field(None, description="Whose transcript it is; else that is found out.", examples=["codex"])
    session: str | None = Field(None, description="The name of the session in the namespace, where it has its todos.")
    options: Options = Field(Options(), description="The settings: the block `autonomous_handoff`.")

    def complete_options(self) -> Options:
        """Return the settings, with what this call says over them; git is not asked for what nobody wants."""
        facts = {
            "max_turns_to_analyze": self.max_turns, "include_recent_activity": self.activity,
            "injection_format": self.format,
        }  # fmt: skip
        git = {"max_commits": self.max_commits, "include_diff_stats": self.diff_stats or None}
        left_out = {name: False for name in ("git_status", "git_commits") if name in self.list_unwanted()}
        return self.options.replace(
            **{name: value for name, value in facts.items() if value is not None},
            git={**self.options.git.as_data(), **{name: value for name, value in git.items() if value is not None}},
            extract={**self.options.extract.as_data(), **left_out},
        )

    def list_unwanted(self) -> set[str]:
        """Return the facts that are left out."""
        wanted = {OTHER_NAMES.get(name, name) for name in self.only} or set(FACTS)
        return set(FACTS) - wanted | {OTHER_NAMES.get(name, name) for name in self.without}


class KeptHandoff(ResultPart):
    """What became of the session's handoff."""

    id: str = Field(description="AGENT/SESSION.", examples=["claude/1f0c"])
    changed: bool = Field(description="Whether it said something new.")
    revision: int | None = Field(None, description="The revision that has it, if it is new.")
    commit: str | None = Field(None, description="The commit of that revision.")
    summary: str = Field("", description="The change in words.")
    redactions: list[RedactedValue] = Field([], description="Which secrets were taken out.")


class ExtractedHandoff(Result):
    """The facts of a session."""

    initial_goal: str = Field(description="The first real prompt.")
    active_task: dict[str, Any] | None = Field(description="What was being worked on.")
    todo_state: list[dict[str, Any]] = Field(description="The list as it is now.")
    files_modified: list[str] = Field(description="Absolute paths, in the order of their first change.")
    git_commits: list[dict[str, Any]] = Field(description="Made in this session, oldest first.")
    git_status: str | None = Field(description="`git status --short` of the session's folder.")
    recent_activity: list[str] = Field(description="The last calls, oldest first.")
    key_decisions: list[dict[str, Any]] = Field(description="What was perhaps decided, oldest first.")
    latest_prompts: list[dict[str, Any]] = Field(description="The last prompts after the first, oldest first.")
    last_answer: dict[str, Any] | None = Field(description="What the agent answered last.")
    open_questions: list[str] = Field(description="Questions in the last answer.")
    next_steps: list[str] = Field(description="What the last answer lists as left to do.")
    files_used: list[dict[str, Any]] = Field(description="The files that were used most and last, these first.")
    errors: list[dict[str, Any]] = Field(description="Commands that failed and did not work later.")
    sources: dict[str, Any] = Field({}, description="Where in the transcript the plain texts stand.")
    unknown: dict[str, str] = Field({}, description="By fact, why it could not be found out.")
    session: str | None = Field(description="What the agent's CLI calls the session.")
    agent: str = Field(description="The agent's CLI.", examples=["claude"])
    cwd: str | None = Field(description="Where it works.")
    branch: str | None = Field(description="The branch of the code.")
    started: str | None = Field(description="When it began, as the transcript has it.")
    compactions: int = Field(description="How often its context was replaced.")
    unread: int = Field(description="Lines that could not be read.")
    format: str = Field(description="The format for people: `structured` or `narrative`.")
    kept: KeptHandoff | None = Field(None, description="What became of the session's handoff, where it is kept.")
    id: str | None = Field(None, description="The id of the handoff, where it is kept.")
    handoff: dict[str, Any] | None = Field(None, description="The handoff as it is kept.")
    verbose: ClassVar[frozenset[str]] = frozenset(
        {*FACTS, "sources", "unknown", "session", "agent", "cwd", "branch", "started", "compactions", "unread",
         "format"}
    )  # fmt: skip

    _extraction: Extraction = PrivateAttr()
    _written: WriteResult | None = PrivateAttr(None)

    @property
    def extraction(self) -> Extraction:
        """The facts behind the plain data."""
        return self._extraction

    @property
    def written(self) -> WriteResult | None:
        """The revision that was made, if any."""
        return self._written

    @classmethod
    def of(cls, extraction: Extraction, written: WriteResult | None = None, **kept: Any) -> ExtractedHandoff:
        """Return the result for facts that were extracted, with the fields about the handoff."""
        names = ("session", "agent", "cwd", "branch", "started", "compactions", "unread")
        about = {name: getattr(extraction, name) for name in names}
        result = cls(**FACTS | extraction.facts, **about, format=extraction.options.injection_format, **kept)
        result._extraction, result._written = extraction, written
        return result


@verb(
    "handoff extract",
    effect=SETTLES,
    positional=("transcript",),
    options={
        "transcript": Option(metavar="[TRANSCRIPT|latest]"),
        "max_turns": Option(metavar="N"), "activity": Option(metavar="N"), "max_commits": Option(metavar="N"),
        "only": Option(metavar="FACT"), "without": Option(names=("--no",), metavar="FACT"),
        "memory": Option(metavar="FILE"), "folder": Option(metavar="DIR"),
        "cli": Option(hidden=True), "session": Option(hidden=True), "options": Option(hidden=True),
    },
    tool=Tool(
        "Keep these facts of a transcript.",
        hidden=tuple(name for name in ExtractHandoff.model_fields if name != "transcript"),
        defaults={"keep": True},
        schemas={"transcript": {"type": "string", "description": "Else the newest"}},
    ),
    examples=(
        "baton handoff extract latest",
        "baton handoff extract ~/.claude/projects/-repo/1f0c.jsonl --json | jq .git_commits",
        "baton handoff extract latest --agent codex --only initial_goal --only todo_state --format narrative",
    ),
)  # fmt: skip
def extract_handoff(ws: Workspace, now: datetime, asked: ExtractHandoff) -> ExtractedHandoff:
    """Extract the facts of a session from its transcript: goal, task, to-dos, commits, files, last tool uses.

    FACT is one of initial_goal, active_task, todo_state, files_modified, git_commits, git_status, recent_activity,
    key_decisions, latest_prompts, last_answer, open_questions, next_steps, files_used, errors.

    Raises:
        InvalidDocument, InvalidArgument, NotFound, StoreError, LimitExceeded: the transcript cannot be read.
        InvalidName: the session's id cannot be the name of a file.
    """
    if asked.transcript is None:
        raise InvalidArgument("no transcript is named", hint="give the path of one")
    extraction = gather(
        ws, now, asked.transcript, asked.cli, memory=asked.memory, options=asked.complete_options(),
        folder=asked.folder, session=asked.session,
    )  # fmt: skip
    extraction = _leave_out(extraction, asked.list_unwanted())
    if not asked.keep:
        return ExtractedHandoff.of(extraction)
    written = keep(ws, now, extraction, trigger="command")
    handoff = resolve_handoff(ws.branch.read().state, id_of(extraction))
    new = {}
    if written is not None:
        new = {**position(written.revision), "summary": summarise(written.changes)}
        new["redactions"] = list_redactions(written.redactions)
    kept = KeptHandoff(id=handoff.id, changed=written is not None, **new)
    return ExtractedHandoff.of(extraction, written, kept=kept, id=handoff.id, handoff=handoff.as_data())


def _leave_out(extraction: Extraction, unwanted: set[str]) -> Extraction:
    facts = {name: value for name, value in extraction.facts.items() if name not in unwanted}
    facts["sources"] = {name: value for name, value in facts["sources"].items() if name not in unwanted}
    return replace(extraction, facts=facts)
