"""The conversation of a session: its turns, the latest prompts, and the last answer."""

from __future__ import annotations

import re

from baton_git.agents.events import ModelReply, Prompt
from baton_git.agents.extraction.findings import Findings, Mark, Table
from baton_git.agents.extraction.open_ends import find_next_steps, find_questions
from baton_git.agents.turn_store import MAX_TEXT, Turn, bound_turns, keep_ends

MAX_PROMPTS = 5
"""Number of prompts after the first that a digest keeps."""
MAX_PROMPT = 2048
MAX_ANSWER = 6144
"""Maximum size in bytes of a prompt and of the last answer in a digest."""
_BOUND_EVERY = 32
"""The remembered turns are shortened to their limit each time this many turns were added."""


_LOOP = re.compile(
    r"(?:<stdin>\s*)?This is session \d+ of at most \d+ that work on one task, each with a fresh memory\.\n"
    r".*?\nbefore that, do not write this word\."
    r"(?:\n\nThe (?:previous session|session before) [^\n]*, as data:(?:\n\|[^\n]*)*)?(?:\s*</stdin>)?\s*",
    re.DOTALL,
)


def remove_loop_instructions(text: str) -> str:
    """Return a prompt without the instructions that `baton loop-run` puts before the task of each of its sessions."""
    return _LOOP.sub("", text, count=1).rstrip() if "that work on one task" in text else text


def add_prompt(known: Findings, event: Prompt) -> None:
    """Start a turn with a prompt."""
    known.turn_count += 1
    text = keep_ends(event.text, MAX_TEXT)
    known.turns.append([known.turn_count, event.time, text, "", *event.position])
    if known.turn_count % _BOUND_EVERY == 0:
        known.turns = [list(turn) for turn in bound_turns(Turn(*turn) for turn in known.turns)]


def add_reply(known: Findings, event: ModelReply, mark: Mark) -> None:
    """Set the answer of the current turn, replacing an earlier one."""
    text = keep_ends(event.text.strip(), MAX_TEXT)
    known.last_answer = {"text": text, "mark": mark}
    if known.turns:
        known.turns[-1][3] = text


def list_turns(known: Findings) -> tuple[Turn, ...]:
    """Return the turns, cut to the size limit of a session."""
    return bound_turns(Turn(*turn) for turn in known.turns)


def describe_conversation(known: Findings) -> Table:
    """Return the facts of the conversation: `latest_prompts`, and the facts that `describe_answer` returns."""
    prompts = [
        {"text": keep_ends(text, MAX_PROMPT), "source": describe_position(line, offset, time)}
        for _, time, text, _, line, offset in known.turns[1:][-MAX_PROMPTS:]
    ]
    facts: Table = {"latest_prompts": prompts} if prompts else {}
    if known.last_answer is not None:
        _, line, offset, time = known.last_answer["mark"]
        facts |= describe_answer(known.last_answer["text"], describe_position(line, offset, time))
    return facts


def describe_answer(text: str, source: Table | None) -> Table:
    """Return `last_answer`, and the `open_questions` and `next_steps` found in it."""
    position = {"source": source} if source is not None else {}
    facts: Table = {"last_answer": {"text": keep_ends(text, MAX_ANSWER), **position}}
    for name, texts in (("open_questions", find_questions(text)), ("next_steps", find_next_steps(text))):
        if texts:
            facts[name] = texts
    return facts


def describe_position(line: int, offset: int, time: str | None) -> Table:
    """Return a position in a transcript as plain data, as the source of a fact."""
    return {"line": line, "offset": offset} | ({"time": time} if time else {})
