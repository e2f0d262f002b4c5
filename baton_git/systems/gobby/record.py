"""The record of Gobby's handoff: the facts of a session that a compaction of its context would lose."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from baton_git.core.records.base import Flag, Part, Record, Text, Texts, Whole
from baton_git.core.records.merge_rules import Beside, Earliest, Latest


class Source(Part):
    """The position of an entry in the transcript."""

    line: Whole = Field(
        description="The number of the line, from 1; in a file with a single JSON object, the number of the message."
    )
    offset: Whole = Field(description="The offset of that line in bytes.")
    time: Text | None = Field(None, description="The time of the entry, as written in the transcript.")
    file: Text | None = Field(None, description="The name of the subagent's transcript, if the entry is in one.")


class ActiveTask(Part):
    """The task that the session worked on last."""

    title: Text = Field(description="What it is.")
    id: Text | None = Field(None, description="The task's id in the tool that manages it.")
    status: Text | None = Field(None, description="The task's status in the tool that manages it.")
    description: Text | None = Field(None, description="More about it.")
    origin: Text = Field(description="The tool that manages it: `todo`, `goal`, or `gobby-tasks`.")
    source: Source | None = Field(None, description="Where it stands.")


class TodoItem(Part):
    """One item of the to-do list."""

    content: Text = Field(description="The work to do.")
    status: Text = Field(
        description="`pending`, `in_progress`, `completed`, or another status of the agent's own tool."
    )
    origin: Text = Field(
        "agent", description="The list that has it: `agent` for the agent's own tool, `baton` for `baton todo`."
    )
    source: Source | None = Field(
        None, description="Its position in the transcript; none for an item of baton's own list."
    )


class CommitMade(Part):
    """A commit of the session."""

    hash: Text = Field(description="Its id, abbreviated as in the transcript; empty if unknown.")
    message: Text = Field(description="Its subject.")
    verified: Flag | None = Field(
        None, description="Whether the repository has the commit; null: this could not be checked."
    )
    on_branch: Flag | None = Field(
        None, description="Whether HEAD or a branch contained the commit at that time; false after a reset or a rebase."
    )
    stat: Text | None = Field(None, description="The output of `git show --stat`, if it was requested.")
    source: Source | None = Field(None, description="The position of the command that made it.")
    found: Text = Field(
        "transcript",
        description="Its source: the session's `transcript`, the transcript of a `subagent`, or only `git`.",
    )


def _is_boolean(value: Any) -> Any:
    """Return the value if it is a boolean; a `Literal[True]` alone would accept `1`."""
    if type(value) is not bool:
        raise ValueError(f"must be true, not {value!r:.40}")
    return value


class KeyDecision(Part):
    """A sentence that may be a decision, found by its wording or in the answer to a question of the agent."""

    text: Text = Field(description="The sentence, or the question and its answer.")
    kind: Text = Field(
        description="How it was found: `answer` (a person's answer to the agent's question), `plan` (an accepted "
        "plan), `summary` (of a compaction), or `wording`."
    )
    heuristic: Annotated[Literal[True], BeforeValidator(_is_boolean)] = Field(
        True, description="Always true: nobody recorded it as a decision."
    )
    source: Source | None = Field(None, description="Where it stands.")


class SessionPrompt(Part):
    """A prompt of the session."""

    text: Text = Field(description="The text; a long prompt is cut in the middle.")
    source: Source | None = Field(None, description="Where it stands.")


class LastAnswer(Part):
    """The last answer of the agent."""

    text: Text = Field(description="The text; a long answer is cut in the middle.")
    source: Source | None = Field(
        None, description="Its position in the transcript; none if so far only a hook has received it."
    )


class FileUse(Part):
    """How a session used a file."""

    path: Text = Field(description="The absolute path, or the path in the transcript if it cannot be resolved.")
    changes: Whole = Field(0, description="How often the session changed the file.")
    reads: Whole = Field(0, description="How often the session read the file.")
    found: Text = Field(
        "transcript",
        description="Its source: the session's `transcript`, the transcript of a `subagent`, or only `git`.",
    )
    names: Texts = Field(
        (), description="Functions, types and frequent names in the text written to the file, the last ones first."
    )


class LastingError(Part):
    """A command that failed and did not succeed later."""

    command: Text = Field(description="The command.")
    text: Text = Field(description="Its output; a long output is cut in the middle.")
    source: Source | None = Field(None, description="Where it stands.")


class Sources(Part):
    """The positions of the facts that are plain texts or lists of texts, each in the order of its fact."""

    initial_goal: Source | None = Field(None, description="Of the goal.")
    files_modified: tuple[Source, ...] = Field((), description="The last tool use that changed each file.")
    recent_activity: tuple[Source, ...] = Field((), description="Of each call.")


class Facts(Part):
    """The facts: `HandoffContext` in Gobby's document. Excluded facts are absent; `unknown` has those not
    determined."""

    initial_goal: Text = Field("", description="The first prompt of the person, unchanged; empty if there is none.")
    active_task: ActiveTask | None = Field(None, description="The task that the session worked on last.")
    todo_state: tuple[TodoItem, ...] = Field((), description="The current to-do list.")
    files_modified: Texts = Field((), description="Absolute paths in the order of their first successful change.")
    git_commits: tuple[CommitMade, ...] = Field(
        (), description="The commits of this session in this repository, oldest first."
    )
    git_status: Text | None = Field(
        None, description="The output of `git status --short` in the session's folder; empty if there were no changes."
    )
    recent_activity: Texts = Field((), description="The last tool uses, oldest first.")
    key_decisions: tuple[KeyDecision, ...] = Field((), description="Oldest first, capped.")
    latest_prompts: tuple[SessionPrompt, ...] = Field(
        (), description="The last prompts except the first of the session, oldest first."
    )
    last_answer: LastAnswer | None = Field(None, description="The last answer of the agent.")
    open_questions: Texts = Field((), description="The sentences of the last answer that end with a question mark.")
    next_steps: Texts = Field(
        (), description="The items that the last answer lists as next steps, remaining work or to-dos."
    )
    files_used: tuple[FileUse, ...] = Field(
        (), description="The files that were changed, read or named most often and last, the most used first."
    )
    errors: tuple[LastingError, ...] = Field(
        (), description="Commands that failed and did not succeed later, oldest first."
    )
    sources: Sources = Field(
        Sources(), description="The positions of the facts that are plain texts or lists of texts."
    )
    unknown: dict[str, Text] = Field({}, description="Why a fact could not be determined, or only in part, by fact.")
    left_out: dict[str, Whole] = Field(
        {}, description="The number of omitted entries of a fact that is a list, by fact."
    )


class Handoff(Record):
    """The newest facts of one session. Its id is `<agent>/<session>`; earlier facts are in the history."""

    kind: ClassVar[str] = "handoff"
    dated: ClassVar[str] = "extracted_at"

    extracted_at: Annotated[Text, Latest()] = Field(description="When the facts were extracted: ISO 8601, UTC.")
    started: Annotated[Text | None, Earliest()] = Field(None, description="When the session began: ISO 8601.")
    trigger: Text | None = Field(
        None,
        description="The event or command that extracted them: `pre_compact`, `stop`, `session_end`, `catch_up`, "
        "`mine`, `command`.",
    )
    machine: Text | None = Field(None, description="The machine on which the session ran.")
    worktree: Text | None = Field(None, description="The path of the session's work tree on that machine.")
    branch: Text | None = Field(None, description="The checked-out branch.")
    facts: Annotated[Facts, Beside("extracted_at", "initial_goal")] = Field(
        description="The facts. A merge takes them from one side as a whole."
    )
    notes: Text | None = Field(None, description="Notes for the next session.")

    @model_validator(mode="after")
    def _names_its_agent(self) -> "Handoff":
        if not all(self.id.partition("/")):
            raise ValueError(f"{self.id!r} is not AGENT/SESSION")
        return self
