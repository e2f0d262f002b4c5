"""What is kept of a session for later ones: its facts, which a compaction would lose, and, if shared, its turns."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from baton_git.core.records.base import Beside, Earliest, Either, Flag, Latest, Part, Record, Text, Texts, Whole


class Source(Part):
    """The position of an entry in the transcript."""

    line: Whole = Field(
        description="The line number, from 1. If the transcript is a single JSON object, the number of the message."
    )
    offset: Whole = Field(description="The byte offset of that line in the file.")
    time: Text | None = Field(None, description="The time of the entry, as written in the transcript.")
    file: Text | None = Field(
        None, description="The file name of a subagent's transcript. Null: the entry is in the session's transcript."
    )


class ActiveTask(Part):
    """The task that the session worked on last."""

    title: Text = Field(description="The title of the task.")
    id: Text | None = Field(None, description="The task's id in the tool that manages it.")
    status: Text | None = Field(None, description="The task's status in the tool that manages it.")
    description: Text | None = Field(None, description="The full text of the task, if it is more than the title.")
    origin: Text = Field(description="The tool that manages the task: `todo`, `goal`, or `gobby-tasks`.")
    source: Source | None = Field(None, description="The task's position in the transcript.")


class TodoItem(Part):
    """One item of the to-do list."""

    content: Text = Field(description="The text of the item.")
    status: Text = Field(
        description="`pending`, `in_progress`, `completed`, or another status of the agent's own tool."
    )
    origin: Text = Field(
        "agent", description="The list with this item: `agent` for the agent's own tool, `baton` for `baton todo`."
    )
    source: Source | None = Field(
        None, description="The item's position in the transcript. Null if only the list of `baton todo` has the item."
    )


class CommitMade(Part):
    """A commit of the session."""

    hash: Text = Field(description="The commit id, abbreviated as in the transcript; empty if unknown.")
    message: Text = Field(description="The subject of the commit.")
    verified: Flag | None = Field(
        None, description="Whether the repository has the commit. Null: this could not be checked."
    )
    on_branch: Flag | None = Field(
        None,
        description="Whether HEAD or a branch contained the commit when the facts were extracted. False after a reset "
        "or a rebase. Null: unknown.",
    )
    stat: Text | None = Field(
        None, description="The output of `git show --stat`, if the setting `git.include_diff_stats` is on."
    )
    source: Source | None = Field(None, description="The position of the command that made the commit.")
    found: Text = Field(
        "transcript",
        description="Where the commit was found: in the session's `transcript`, in the transcript of a `subagent`, "
        "only in `git`, or in a commit of a turn that the conversation `left`, as after a rewind.",
    )


def _check_boolean(value: Any) -> Any:
    """Return the value if it is a boolean; a `Literal[True]` alone would accept `1`."""
    if type(value) is not bool:
        raise ValueError(f"must be true, not {value!r:.40}")
    return value


class KeyDecision(Part):
    """A probable decision."""

    text: Text = Field(description="The sentence with the decision, or a question of the agent and its answer.")
    kind: Text = Field(
        description="How the decision was found: `answer` (the user answered a question of the agent), `plan` (the "
        "user accepted a plan), `summary` (in the summary of a compaction), or `wording` (the words of a sentence)."
    )
    heuristic: Annotated[Literal[True], BeforeValidator(_check_boolean)] = Field(
        True, description="Always true: the decision was inferred, and nobody recorded it as one."
    )
    source: Source | None = Field(None, description="The decision's position in the transcript.")


class SessionPrompt(Part):
    """A prompt of the session."""

    text: Text = Field(description="The text of the prompt; a long prompt is cut in the middle.")
    source: Source | None = Field(None, description="The prompt's position in the transcript.")
    origin: Text | None = Field(
        None, description="Whose prompt it is, if it is probably not a person's: `unknown`, as it came in a wrapping."
    )
    status: Text | None = Field(
        None, description="Why it has no answer, if it has none: `interrupted`, `failed` or `ended`."
    )


class UnansweredPrompt(Part):
    """The last prompt of the session, if it has no answer."""

    prompt: Text = Field(description="The text of the prompt; a long prompt is cut in the middle.")
    status: Text = Field(
        description="Why it has no answer: `interrupted`, `failed`, `ended` (the session ended before), `running` (the "
        "agent was at work when the facts were extracted), or `continued` (so was it, on a later prompt)."
    )
    reason: Text | None = Field(None, description="The message of the agent CLI about a failure.")
    said: Text | None = Field(None, description="What the agent said last in that turn, which is no answer.")
    source: Source | None = Field(None, description="The prompt's position in the transcript.")


class LastAnswer(Part):
    """The last answer of the agent."""

    text: Text = Field(description="The text of the answer; a long answer is cut in the middle.")
    prompt: Text | None = Field(
        None, description="The prompt that it answers, if that is not the last one; a long prompt is cut in the middle."
    )
    source: Source | None = Field(
        None,
        description="The answer's position in the transcript. Null if a hook received the answer and the transcript "
        "does not contain it yet.",
    )


class FileUse(Part):
    """How a session used a file."""

    path: Text = Field(
        description="The path relative to the session's work tree; elsewhere with `~` for the home or the label of "
        "another work tree, or else absolute. Or the path in the transcript if it cannot be resolved."
    )
    changes: Whole = Field(0, description="How often the session changed the file.")
    reads: Whole = Field(0, description="How often the session read the file.")
    gone: Flag = Field(False, description="Whether the session removed or renamed the file and did not write it again.")
    found: Text = Field(
        "transcript",
        description="Where the use was found: in the session's `transcript`, in the transcript of a `subagent`, "
        "only in `git`, or in a commit of a turn that the conversation `left`, as after a rewind.",
    )
    names: Texts = Field(
        (),
        description="The functions, types and frequent names in the text that the session wrote to the file, the "
        "newest first.",
    )


class LastingError(Part):
    """A command that failed and did not succeed later."""

    command: Text = Field(description="The command line; a long one is cut in the middle.")
    text: Text = Field(description="The output of the command; a long output is cut in the middle.")
    source: Source | None = Field(None, description="The command's position in the transcript.")


class Sources(Part):
    """Positions in the transcript of some facts that are plain texts or lists of texts.

    A list of positions has the same order as its fact.
    """

    initial_goal: Source | None = Field(None, description="The position of the goal.")
    files_modified: tuple[Source, ...] = Field(
        (), description="For each changed file, the position of the last tool use that changed it."
    )
    recent_activity: tuple[Source, ...] = Field((), description="The position of each tool use.")


class Facts(Part):
    """The facts of a session; the equivalent of `HandoffContext` in Gobby's document.

    Facts that the settings exclude are absent. Facts that could not be determined are listed in `unknown`.
    """

    initial_goal: Text = Field(
        "", description="The user's first prompt; only a very long one is cut. Empty if there is none."
    )
    active_task: ActiveTask | None = Field(None, description="The task that the session worked on last.")
    todo_state: tuple[TodoItem, ...] = Field((), description="The current to-do list.")
    files_modified: Texts = Field(
        (),
        description="The paths of the changed files, as in `files_used`, in the order of their first successful "
        "change.",
    )
    git_commits: tuple[CommitMade, ...] = Field(
        (), description="The commits of this session in this repository, oldest first."
    )
    git_status: Text | None = Field(
        None, description="The output of `git status --short` in the session's folder; empty if there were no changes."
    )
    recent_activity: Texts = Field((), description="The last tool uses, each as one line of text, oldest first.")
    key_decisions: tuple[KeyDecision, ...] = Field((), description="At most 10 probable decisions, oldest first.")
    latest_prompts: tuple[SessionPrompt, ...] = Field(
        (), description="The last prompts, oldest first. The first prompt of the session is not repeated here."
    )
    unanswered: UnansweredPrompt | None = Field(None, description="The last prompt, if it has no answer.")
    last_answer: LastAnswer | None = Field(None, description="The last answer of the agent.")
    open_questions: Texts = Field((), description="The sentences of the last answer that end with a question mark.")
    next_steps: Texts = Field(
        (), description="The items that the last answer lists as next steps, remaining work or to-dos."
    )
    files_used: tuple[FileUse, ...] = Field(
        (),
        description="The files that were changed, read or named, the most used first. Recent uses count more than "
        "older ones.",
    )
    errors: tuple[LastingError, ...] = Field(
        (), description="Commands that failed and did not succeed later, oldest first."
    )
    sources: Sources = Field(
        Sources(), description="The positions in the transcript of some facts that have no `source` of their own."
    )
    unknown: dict[str, Text] = Field(
        {},
        description="The facts that could not be determined, or only in part. The key is the name of the fact, the "
        "value is the reason.",
    )
    left_out: dict[str, Whole] = Field(
        {},
        description="The lists that were cut. The key is the name of the fact, the value is the number of omitted "
        "entries.",
    )

    @property
    def told(self) -> "Facts":
        """The facts as they may be told.

        A baton before `unanswered` stored the last answer whatever it answered. If it stands before the last prompt in
        the transcript, that prompt has no known answer, and its questions and next steps are older, too.
        """
        answer, last = self.last_answer, next(reversed(self.latest_prompts), None)
        if self.unanswered is not None or answer is None or last is None or not _is_before(answer.source, last.source):
            return self
        goal = SessionPrompt(text=self.initial_goal, source=self.sources.initial_goal)
        asked = [prompt for prompt in (goal, *self.latest_prompts) if _is_before(prompt.source, answer.source)]
        open_prompt = UnansweredPrompt(prompt=last.text, status="unknown", source=last.source)
        own = answer.model_copy(update={"prompt": asked[-1].text if asked else None})
        changes = {"unanswered": open_prompt, "last_answer": own, "open_questions": (), "next_steps": ()}
        return self.model_copy(update=changes)


def _is_before(first: Source | None, second: Source | None) -> bool:
    """Return whether a position is known to be before another one in the session's own transcript."""
    if first is None or second is None or first.file is not None or second.file is not None:
        return False
    return (first.offset, first.line) < (second.offset, second.line)


class Handoff(Record):
    """The newest facts of one session. The record's id is `<agent>/<session>`; earlier facts are in the history."""

    kind: ClassVar[str] = "handoff"
    dated: ClassVar[str] = "extracted_at"

    extracted_at: Annotated[Text, Latest()] = Field(
        description="When the facts were extracted, or, after a kill, when the session last worked: ISO 8601, UTC."
    )
    started: Annotated[Text | None, Earliest()] = Field(None, description="When the session began: ISO 8601.")
    trigger: Text | None = Field(
        None,
        description="What extracted the facts: the hook event `pre_compact`, `stop` or `session_end`; `catch_up` (the "
        "start of a later session, because this one ended without a hook event); `mine` (`baton mine`); or `command` "
        "(`baton handoff extract`).",
    )
    machine: Text | None = Field(None, description="The machine on which the session ran.")
    person: Annotated[Text | None, Either()] = Field(
        None, description="The name, without an address, of the person for whom it ran, as its commits have it."
    )
    worktree: Text | None = Field(
        None,
        description="The label of the session's work tree, whose path only that machine knows. Older records have the "
        "path.",
    )
    branch: Text | None = Field(None, description="The checked-out branch of the work tree.")
    facts: Annotated[Facts, Beside("extracted_at", "initial_goal")] = Field(
        description="The facts. A merge takes all of them from one side."
    )
    notes: Text | None = Field(None, description="Notes for the next session.")

    @model_validator(mode="after")
    def _check_id(self) -> "Handoff":
        if not all(self.id.partition("/")):
            raise ValueError(f"{self.id!r} is not AGENT/SESSION")
        return self


# --- the turns, for a user who shares them with other machines


class SharedTurn(Part):
    """A turn: a prompt, and the answer to it or the reason why there is none."""

    number: Whole = Field(description="The number of the turn in the session, from 1.")
    time: Text | None = Field(None, description="The time of the prompt, as written in the transcript.")
    prompt: Text = Field(description="The text of the prompt; a long prompt is cut in the middle.")
    answer: Text = Field(
        "",
        description="The last reply in the turn, cut in the same way; empty if there is none. Unless the status is "
        "`answered` or `unknown`, it is not an answer, but what the agent said before the turn stopped.",
    )
    line: Whole = Field(description="The number of the prompt's line in the transcript, from 1.")
    offset: Whole = Field(description="The byte offset of that line in the file.")
    origin: Text = Field(
        "person",
        description="Whose prompt it is: `person`, `agent` (another one), `harness` (the agent CLI), `schedule` or "
        "`unknown`.",
    )
    status: Text = Field(
        "unknown",
        description="`answered`; or why there is no answer: `running`, `continued` (the agent went on with the next "
        "prompt), `interrupted`, `failed` or `ended` (the session did); or `unknown`, for turns of an older baton.",
    )
    reason: Text = Field("", description="The message of the agent CLI about a failure.")
    id: Text = Field("", description="The id of the turn in the transcript; empty if it has none.")


class Conversation(Part):
    """The turns of a session in at most 64 KiB.

    Prompts and answers of a longer conversation are shortened. If that is not enough, its first turn is kept, and the
    oldest of the others are left out.
    """

    count: Whole = Field(description="The total number of turns, including omitted ones.")
    turns: tuple[SharedTurn, ...] = Field((), description="The turns, oldest first.")


class SharedTurns(Record):
    """The turns of one session. The record has the same id as the session's handoff: `<agent>/<session>`."""

    kind: ClassVar[str] = "turns"
    dated: ClassVar[str] = "recorded_at"

    recorded_at: Annotated[Text, Latest()] = Field(description="When the turns were stored: ISO 8601, UTC.")
    started: Annotated[Text | None, Earliest()] = Field(None, description="When the session began: ISO 8601.")
    machine: Text | None = Field(None, description="The machine on which the session ran.")
    worktree: Text | None = Field(None, description="The label of the session's work tree, as in its handoff.")
    branch: Text | None = Field(None, description="The checked-out branch of the work tree.")
    topic: Text = Field("", description="The beginning of the first prompt.")
    conversation: Annotated[Conversation, Beside("recorded_at", "count")] = Field(
        description="The turns. A merge takes all of them from one side."
    )

    @model_validator(mode="after")
    def _check_id(self) -> "SharedTurns":
        if not all(self.id.partition("/")):
            raise ValueError(f"{self.id!r} is not AGENT/SESSION")
        return self
