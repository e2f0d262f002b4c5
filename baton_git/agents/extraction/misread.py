"""Detect a transcript whose format is not understood, so that it is not taken for a session without any work."""

from __future__ import annotations

from baton_git.agents.events import Tally
from baton_git.agents.extraction.findings import Findings

MANY = 50
"""Number of records after which there must be a prompt and an answer. Some unknown types of records are normal."""


def describe_misread(tally: Tally, known: Findings) -> str | None:
    """Return why a transcript was probably not understood, with the numbers of its records; None if it was."""
    counts = f"records seen {tally.records}, understood {tally.understood}"
    has_prompt, has_answer = bool(known.goal or known.bare_goal), known.answers > 0
    if has_prompt and has_answer:
        return None
    unknown = tally.records - tally.understood
    if not has_prompt and not has_answer and (tally.misshaped or unknown > max(tally.understood, 1)):
        return counts
    if (tally.records >= MANY or tally.misshaped) and not known.kept_goal:
        return f"{counts}, but no {'answer' if has_prompt else 'prompt'} found"
    return None
