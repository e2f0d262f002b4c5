"""The record of a session's turns. It exists only if the user shares turns with other machines."""

from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from baton_git.core.records.base import Part, Record, Text, Whole
from baton_git.core.records.merge_rules import Beside, Earliest, Latest


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
