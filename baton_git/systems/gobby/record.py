"""Gobby's handoff: the facts of a session that a compaction of its context loses, read from its transcript."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from baton_git.core.records.base import Flag, Part, Record, Text, Texts, Whole
from baton_git.core.records.merge_rules import Beside, Earliest, Latest


class Source(Part):
    """Where in the transcript something stands."""

    line: Whole = Field(description="Its line, from 1; in a file that is one object the number of the message.")
    offset: Whole = Field(description="Bytes before that line.")
    time: Text | None = Field(None, description="When, as the transcript has it.")
    file: Text | None = Field(None, description="The name of a subagent's transcript, where it stands in that.")


class ActiveTask(Part):
    """What was being worked on."""

    title: Text = Field(description="What it is.")
    id: Text | None = Field(None, description="What its keeper calls it.")
    status: Text | None = Field(None, description="As its keeper has it.")
    description: Text | None = Field(None, description="More about it.")
    origin: Text = Field(description="Who keeps it: `todo`, `goal`, or `gobby-tasks`.")
    source: Source | None = Field(None, description="Where it stands.")


class TodoItem(Part):
    """One item of the list."""

    content: Text = Field(description="What is to be done.")
    status: Text = Field(description="`pending`, `in_progress`, `completed`, or what the agent's own tool has.")
    origin: Text = Field("agent", description="Whose list it is from: the `agent`'s own tool, or `baton`'s.")
    source: Source | None = Field(None, description="Where it stands; none for an item of baton's own list.")


class CommitMade(Part):
    """A commit of the session."""

    hash: Text = Field(description="Its id, as short as the transcript has it; empty when that is not known.")
    message: Text = Field(description="Its subject.")
    verified: Flag | None = Field(None, description="Whether the repository has it; null: nobody could look.")
    on_branch: Flag | None = Field(
        None, description="Whether HEAD or a branch has it, as it was then: what was reset or rebased away has none."
    )
    stat: Text | None = Field(None, description="What `git show --stat` says, where that is wanted.")
    source: Source | None = Field(None, description="Where the command that made it stands.")
    found: Text = Field(
        "transcript", description="What tells of it: the session's `transcript`, that of a `subagent`, or only `git`."
    )


def _is_boolean(value: Any) -> Any:
    """The value; a literal alone would take `1` for `true`."""
    if type(value) is not bool:
        raise ValueError(f"must be true, not {value!r:.40}")
    return value


class KeyDecision(Part):
    """Something that was perhaps decided: found by its wording, or by a tool that asks."""

    text: Text = Field(description="The sentence, or question and answer.")
    kind: Text = Field(description="`answer` of a person, accepted `plan`, `summary` of a compaction, or `wording`.")
    heuristic: Annotated[Literal[True], BeforeValidator(_is_boolean)] = Field(
        True, description="Always: nobody recorded it as a decision."
    )
    source: Source | None = Field(None, description="Where it stands.")


class SessionPrompt(Part):
    """Something that the session was asked."""

    text: Text = Field(description="The prompt; of a long one the beginning and the end.")
    source: Source | None = Field(None, description="Where it stands.")


class LastAnswer(Part):
    """What the agent answered last."""

    text: Text = Field(description="The answer; of a long one the beginning and the end.")
    source: Source | None = Field(None, description="Where it stands; none when only a hook was told of it so far.")


class FileUse(Part):
    """How a session used a file."""

    path: Text = Field(description="Absolute, or as the transcript names it where nobody can tell.")
    changes: Whole = Field(0, description="How often it was changed.")
    reads: Whole = Field(0, description="How often it was looked into.")
    found: Text = Field(
        "transcript", description="What tells of it: the session's `transcript`, that of a `subagent`, or only `git`."
    )
    names: Texts = Field(
        (), description="Functions, types and frequent names in what was written to it, the last ones first."
    )


class LastingError(Part):
    """A command that failed, and did not work later."""

    command: Text = Field(description="The command.")
    text: Text = Field(description="What it printed; of much the beginning and the end.")
    source: Source | None = Field(None, description="Where it stands.")


class Sources(Part):
    """Where the plain texts of the facts stand, in the order in which they stand there."""

    initial_goal: Source | None = Field(None, description="Of the goal.")
    files_modified: tuple[Source, ...] = Field((), description="Of each file: the call that changed it last.")
    recent_activity: tuple[Source, ...] = Field((), description="Of each call.")


class Facts(Part):
    """The document's HandoffContext. What was not wanted is not there; what could not be found out is in `unknown`."""

    initial_goal: Text = Field("", description="The first real prompt, verbatim; empty when there is none.")
    active_task: ActiveTask | None = Field(None, description="What was being worked on.")
    todo_state: tuple[TodoItem, ...] = Field((), description="The list as it is now.")
    files_modified: Texts = Field(
        (), description="Absolute paths, in the order of their first change; only what worked."
    )
    git_commits: tuple[CommitMade, ...] = Field(
        (), description="Made in this session and this repository, oldest first."
    )
    git_status: Text | None = Field(None, description="`git status --short` of the session's folder; empty: clean.")
    recent_activity: Texts = Field((), description="The last calls, oldest first.")
    key_decisions: tuple[KeyDecision, ...] = Field((), description="Oldest first, capped.")
    latest_prompts: tuple[SessionPrompt, ...] = Field(
        (), description="The last prompts after the first, the newest one last."
    )
    last_answer: LastAnswer | None = Field(None, description="What the agent answered last.")
    open_questions: Texts = Field((), description="Sentences of the last answer that end with a question mark.")
    next_steps: Texts = Field((), description="Items that the last answer lists as next, remaining or to do.")
    files_used: tuple[FileUse, ...] = Field(
        (), description="The files that were changed, read or named most and last; the first one above all."
    )
    errors: tuple[LastingError, ...] = Field((), description="Failures that stayed, the newest one last.")
    sources: Sources = Field(Sources(), description="Where the plain texts stand.")
    unknown: dict[str, Text] = Field({}, description="By fact, why it, or all of it, could not be found out.")
    left_out: dict[str, Whole] = Field({}, description="By fact, how many entries of its list were not kept.")


class Handoff(Record):
    """The facts of one session as extracted last. Its id is `<agent>/<session>`; the history has earlier ones."""

    kind: ClassVar[str] = "handoff"
    dated: ClassVar[str] = "extracted_at"

    extracted_at: Annotated[Text, Latest()] = Field(description="When, ISO 8601 in UTC.")
    started: Annotated[Text | None, Earliest()] = Field(None, description="When the session began, ISO 8601.")
    trigger: Text | None = Field(
        None, description="What had it extracted: `pre_compact`, `stop`, `session_end`, `catch_up`, `mine`, `command`."
    )
    machine: Text | None = Field(None, description="On which machine the session ran.")
    worktree: Text | None = Field(None, description="The work tree that it worked in, as that machine names it.")
    branch: Text | None = Field(None, description="The branch of the code.")
    facts: Annotated[Facts, Beside("extracted_at", "initial_goal")] = Field(
        description="The facts, whole: a merge never mixes two."
    )
    notes: Text | None = Field(None, description="What the session's end had written for the next one.")

    @model_validator(mode="after")
    def _names_its_agent(self) -> "Handoff":
        if not all(self.id.partition("/")):
            raise ValueError(f"{self.id!r} is no AGENT/SESSION")
        return self
