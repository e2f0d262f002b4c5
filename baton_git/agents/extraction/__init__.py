"""Extract facts from a session's transcript and repository, because a context compaction may lose them.

Here are only the options, the settings block `autonomous_handoff`, because most session starts need nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, StrictInt

from baton_git.core.errors import Fault, InvalidDocument
from baton_git.core.records.base import Flag, Part, parse

MOST = 100
"""Maximum value of the settings that limit the number of tool calls or commits."""

Number = Annotated[StrictInt, Field(ge=0, le=MOST)]


class _Settings(Part):
    """A part of the settings. Unknown names are rejected, since they are probably misspelt."""

    model_config = ConfigDict(extra="forbid")


class Extract(_Settings):
    """Which facts are extracted."""

    gobby_tasks: Flag = Field(True, description="The active task, from calls of gobby-tasks.")
    todowrite: Flag = Field(True, description="The todo list, from whichever tool keeps it.")
    files_modified: Flag = Field(True, description="Files that were changed.")
    git_commits: Flag = Field(True, description="Commits made in this session.")
    git_status: Flag = Field(True, description="Uncommitted changes.")
    initial_goal: Flag = Field(True, description="The first prompt.")
    recent_activity: Flag = Field(True, description="The last tool calls.")
    key_decisions: Flag = Field(True, description="Probable decisions, found by their wording.")
    conversation: Flag = Field(
        True, description="The latest prompts, the last answer, and its open questions and next steps."
    )
    files_used: Flag = Field(True, description="The files that were used most and most recently.")
    errors: Flag = Field(True, description="Commands that failed and did not work later.")


class GitOptions(_Settings):
    """How commits are listed."""

    max_commits: Number = Field(20, description="Maximum number of commits; the newest are kept.")
    include_diff_stats: Flag = Field(False, description="Include the diffstat of each commit.")


class Options(_Settings):
    """Which facts are extracted, and how many."""

    enabled: Flag = Field(True, description="Whether hooks extract and inject anything.")
    max_turns_to_analyze: Annotated[StrictInt, Field(ge=1)] | None = Field(
        None, description="Analyse only this many of the last turns (the goal is always kept); null: all."
    )
    include_recent_activity: Number = Field(5, description="Number of recent tool calls.")
    extract: Extract = Field(Extract(), description="Which facts are extracted.")
    git: GitOptions = Field(GitOptions(), description="How commits are listed.")
    injection_format: Literal["structured", "narrative"] = Field("structured", description="Sections, or sentences.")


FACTS = tuple(Extract.model_fields)
"""The names of facts that can be switched off."""


def parse_options(block: Any, *, where: str = "", at: str = "autonomous_handoff") -> Options:
    """Parse a settings block into options; None gives the defaults.

    Args:
        where: the file, for messages.
        at: the path of the block in the file.

    Raises:
        InvalidDocument: the block is not a table, has an unknown name, or a value out of range.
    """
    if block is None:
        return Options()
    if not isinstance(block, Mapping):
        raise InvalidDocument([Fault(at, "must be a table")], where=where)
    return parse(Options, block, where=where, at=at)
