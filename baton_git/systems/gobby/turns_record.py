"""The turns of a session, shared with the other machines of a namespace where the user wants that."""

from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from baton_git.core.records.base import Part, Record, Text, Whole
from baton_git.core.records.merge_rules import Beside, Earliest, Latest


class SharedTurn(Part):
    """A prompt and the last answer to it."""

    number: Whole = Field(description="From 1, in the whole session.")
    time: Text | None = Field(None, description="Of the prompt, as the transcript has it.")
    prompt: Text = Field(description="The prompt; of a long one the beginning and the end.")
    answer: Text = Field("", description="The answer, shortened in the same way; empty when there is none yet.")
    line: Whole = Field(description="Where the prompt stands in the transcript: its line, from 1.")
    offset: Whole = Field(description="Bytes before that line.")


class Conversation(Part):
    """The turns of a session, at most 64 KiB of them: the oldest ones in the middle are shortened first."""

    count: Whole = Field(description="How many turns there were, also those that are left out.")
    turns: tuple[SharedTurn, ...] = Field((), description="Oldest first.")


class SharedTurns(Record):
    """The turns of one session. Its id is `<agent>/<session>`, as that of its handoff."""

    kind: ClassVar[str] = "turns"
    dated: ClassVar[str] = "recorded_at"

    recorded_at: Annotated[Text, Latest()] = Field(description="When, ISO 8601 in UTC.")
    started: Annotated[Text | None, Earliest()] = Field(None, description="When the session began, ISO 8601.")
    machine: Text | None = Field(None, description="On which machine the session ran.")
    worktree: Text | None = Field(None, description="The work tree that it worked in, as that machine names it.")
    branch: Text | None = Field(None, description="The branch of the code.")
    topic: Text = Field("", description="The beginning of the first prompt.")
    conversation: Annotated[Conversation, Beside("recorded_at", "count")] = Field(
        description="The turns, whole: a merge never mixes two."
    )

    @model_validator(mode="after")
    def _names_its_agent(self) -> "SharedTurns":
        if not all(self.id.partition("/")):
            raise ValueError(f"{self.id!r} is no AGENT/SESSION")
        return self
