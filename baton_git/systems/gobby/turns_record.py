"""The record of a session's turns, which shares them with other machines if the user allows it."""

from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from baton_git.core.records.base import Part, Record, Text, Whole
from baton_git.core.records.merge_rules import Beside, Earliest, Latest


class SharedTurn(Part):
    """A prompt and the last answer to it."""

    number: Whole = Field(description="The number of the turn in the session, from 1.")
    time: Text | None = Field(None, description="The time of the prompt, as written in the transcript.")
    prompt: Text = Field(description="The text of the prompt; a long prompt is cut in the middle.")
    answer: Text = Field("", description="The text of the answer, cut in the same way; empty if there is none yet.")
    line: Whole = Field(description="The number of the prompt's line in the transcript, from 1.")
    offset: Whole = Field(description="The offset of that line in bytes.")


class Conversation(Part):
    """The turns of a session in at most 64 KiB; if there are more, the oldest turns in the middle are shortened
    first."""

    count: Whole = Field(description="The total number of turns, including omitted ones.")
    turns: tuple[SharedTurn, ...] = Field((), description="Oldest first.")


class SharedTurns(Record):
    """The turns of one session. Its id is `<agent>/<session>`, like that of its handoff."""

    kind: ClassVar[str] = "turns"
    dated: ClassVar[str] = "recorded_at"

    recorded_at: Annotated[Text, Latest()] = Field(description="When the turns were stored: ISO 8601, UTC.")
    started: Annotated[Text | None, Earliest()] = Field(None, description="When the session began: ISO 8601.")
    machine: Text | None = Field(None, description="The machine on which the session ran.")
    worktree: Text | None = Field(None, description="The path of the session's work tree on that machine.")
    branch: Text | None = Field(None, description="The checked-out branch.")
    topic: Text = Field("", description="The beginning of the first prompt.")
    conversation: Annotated[Conversation, Beside("recorded_at", "count")] = Field(
        description="The turns. A merge takes them from one side as a whole."
    )

    @model_validator(mode="after")
    def _names_its_agent(self) -> "SharedTurns":
        if not all(self.id.partition("/")):
            raise ValueError(f"{self.id!r} is not AGENT/SESSION")
        return self
