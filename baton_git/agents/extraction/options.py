"""What of a session is extracted, and how much: the block `autonomous_handoff` of the settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, StrictInt

from baton_git.core.errors import Fault, InvalidDocument
from baton_git.core.records.base import Flag, Part, parse

MOST = 100
"""Calls of recent activity, and commits, that can be asked for."""

Number = Annotated[StrictInt, Field(ge=0, le=MOST)]


class _Settings(Part):
    """A part of the settings; a name that it does not know is probably misspelt."""

    model_config = ConfigDict(extra="forbid")


class Extract(_Settings):
    """Which facts are extracted."""

    gobby_tasks: Flag = Field(True, description="The active task, by calls of gobby-tasks.")
    todowrite: Flag = Field(True, description="The list of what is to be done, whichever tool keeps it.")
    files_modified: Flag = Field(True, description="Files that were changed.")
    git_commits: Flag = Field(True, description="Commits made in this session.")
    git_status: Flag = Field(True, description="What is not committed.")
    initial_goal: Flag = Field(True, description="The first prompt.")
    recent_activity: Flag = Field(True, description="The last calls of tools.")
    key_decisions: Flag = Field(True, description="What was perhaps decided.")
    conversation: Flag = Field(True, description="The latest prompts, the last answer, and what it leaves open.")
    files_used: Flag = Field(True, description="The files that were used most and last.")
    errors: Flag = Field(True, description="Commands that failed and did not work later.")


class GitOptions(_Settings):
    """How commits are listed."""

    max_commits: Number = Field(20, description="At most this many, the newest.")
    include_diff_stats: Flag = Field(False, description="With what each changed.")


class Options(_Settings):
    """What is extracted, and how much of it."""

    enabled: Flag = Field(True, description="Whether hooks extract and inject anything.")
    max_turns_to_analyze: Annotated[StrictInt, Field(ge=1)] | None = Field(
        None, description="Only the last so many turns are looked at, the goal apart; null: all."
    )
    include_recent_activity: Number = Field(5, description="So many of the last calls.")
    extract: Extract = Field(Extract(), description="Which facts.")
    git: GitOptions = Field(GitOptions(), description="How commits are listed.")
    injection_format: Literal["structured", "narrative"] = Field("structured", description="Sections, or sentences.")


FACTS = tuple(Extract.model_fields)
"""The names under which facts can be left out."""


def parse_options(block: Any, *, where: str = "", at: str = "autonomous_handoff") -> Options:
    """The options that a block of the settings says.

    Args:
        where: the file, for messages.
        at: the path of the block in it.

    Raises:
        InvalidDocument: it says what cannot be.
    """
    if block is None:
        return Options()
    if not isinstance(block, Mapping):
        raise InvalidDocument([Fault(at, "must be a table")], where=where)
    return parse(Options, block, where=where, at=at)
