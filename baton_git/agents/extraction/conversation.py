"""What was said in a session: its turns, the latest prompts, and the last answer."""

from __future__ import annotations

import re

from baton_git.agents.events import ModelReply, Prompt
from baton_git.agents.extraction.findings import Findings, Mark, Table
from baton_git.agents.extraction.open_ends import find_next_steps, find_questions
from baton_git.agents.turn_store import MAX_TEXT, Turn, bound_turns, keep_ends

MAX_PROMPTS = 5
"""Prompts after the first that a digest keeps."""
MAX_PROMPT = 2048
MAX_ANSWER = 6144
"""Bytes of a prompt and of the last answer in a digest."""
_BOUND_EVERY = 32
"""Turns after which those that are remembered are bounded again."""


_LOOP = re.compile(
    r"(?:<stdin>\s*)?This is session \d+ of at most \d+ that work on one task, each with a fresh memory\.\n"
    r".*?\nbefore that, do not write this word\."
    r"(?:\n\nThe session before [^\n]*, as data:(?:\n\|[^\n]*)*)?(?:\s*</stdin>)?\s*",
    re.DOTALL,
)


def remove_loop_instructions(text: str) -> str:
    """Return a prompt without what `baton loop-run` tells each of its sessions: the task alone is the goal."""
    return _LOOP.sub("", text, count=1).rstrip() if "that work on one task" in text else text


def add_prompt(known: Findings, event: Prompt) -> None:
    """Begin a turn."""
    known.turn_count += 1
    text = keep_ends(event.text, MAX_TEXT)
    known.turns.append([known.turn_count, event.time, text, "", *event.place])
    if known.turn_count % _BOUND_EVERY == 0:
        known.turns = [list(turn) for turn in bound_turns(Turn(*turn) for turn in known.turns)]


def add_reply(known: Findings, event: ModelReply, mark: Mark) -> None:
    """Take a reply as the answer of its turn, in place of earlier ones."""
    text = keep_ends(event.text.strip(), MAX_TEXT)
    known.last_answer = {"text": text, "mark": mark}
    if known.turns:
        known.turns[-1][3] = text


def list_turns(known: Findings) -> tuple[Turn, ...]:
    """Return the turns, bounded."""
    return bound_turns(Turn(*turn) for turn in known.turns)


def describe_conversation(known: Findings) -> Table:
    """Return the facts about what was said: `latest_prompts`, and those of the last answer."""
    prompts = [
        {"text": keep_ends(text, MAX_PROMPT), "source": describe_place(line, offset, time)}
        for _, time, text, _, line, offset in known.turns[1:][-MAX_PROMPTS:]
    ]
    facts: Table = {"latest_prompts": prompts} if prompts else {}
    if known.last_answer is not None:
        _, line, offset, time = known.last_answer["mark"]
        facts |= describe_answer(known.last_answer["text"], describe_place(line, offset, time))
    return facts


def describe_answer(text: str, source: Table | None) -> Table:
    """Return the facts of the last answer: itself, and the questions and next steps in it."""
    place = {"source": source} if source is not None else {}
    facts: Table = {"last_answer": {"text": keep_ends(text, MAX_ANSWER), **place}}
    for name, texts in (("open_questions", find_questions(text)), ("next_steps", find_next_steps(text))):
        if texts:
            facts[name] = texts
    return facts


def describe_place(line: int, offset: int, time: str | None) -> Table:
    """Return a source as plain data."""
    return {"line": line, "offset": offset} | ({"time": time} if time else {})
