"""The conversation of a session: its turns, the latest prompts, and the last answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from baton_git.agents.events import (
    ANSWERED,
    CONTINUED,
    ENDED,
    FAILED,
    INTERRUPTED,
    PERSON,
    RUNNING,
    UNKNOWN,
    ModelReply,
    Prompt,
    ToolCall,
    TurnEnd,
)
from baton_git.agents.extraction.findings import Findings, Mark, Table
from baton_git.agents.turn_store import MAX_TEXT, Turn, bound_turns, keep_ends

MAX_QUESTIONS, MAX_STEPS = 5, 10
LENGTH = 300
"""Maximum length of a question or step in characters."""

_FENCE = re.compile(r"^[ \t]*```.*?(?:^[ \t]*```[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_SENTENCE_END = re.compile(r"(?<=[.!?:])\s+|\n+")
_MARKUP = re.compile(r"^[\s>#*_-]*(?:\d+[.)]\s+)?[*_]*")
_ITEM = re.compile(r"^\s*(?:[-*+•]|\d+[.)]|\[[ ]\])\s+(?:\[[ ]\]\s+)?(.+)$")
_HEADING = re.compile(
    r"^\W*(?:(?:suggested|recommended|possible|remaining|what's|what is|still|your|the|my|our)\s+)*"
    r"(?:next steps?|next up|next|remaining(?: work| tasks| items| steps)?|to-?dos?|left(?: to do| open)?|outstanding"
    r"|open (?:items|points|questions|issues)|follow-?ups?|not (?:yet )?done|still (?:open|to do|missing)|pending)\b"
    r"(?:\s*\([^)]*\))?(?:[^.!?:]{0,40}:)?\W*$",
    re.IGNORECASE,
)


def find_questions(text: str) -> list[str]:
    """Return the last `MAX_QUESTIONS` questions outside code blocks, in order."""
    if "?" not in text:
        return []
    sentences = (_clean(sentence) for sentence in _SENTENCE_END.split(_FENCE.sub("\n", text)))
    questions = [sentence for sentence in sentences if sentence.endswith("?") and len(sentence) > len("Why?")]
    return list(dict.fromkeys(questions))[-MAX_QUESTIONS:]


def find_next_steps(text: str) -> list[str]:
    """Return the first `MAX_STEPS` list items below headings such as "Next steps", "Remaining" or "TODO"."""
    steps = (_clean(item) for item in _list_items_below_headings(_FENCE.sub("\n", text).splitlines()))
    return list(dict.fromkeys(step for step in steps if step))[:MAX_STEPS]


def _list_items_below_headings(lines: list[str]) -> Iterator[str]:
    is_below = False
    for line in lines:
        item = _ITEM.match(line)
        if item and is_below:
            if not line[:1].isspace():
                yield item[1]
        elif line.strip() and not line[:1].isspace():
            is_below = _HEADING.match(line) is not None


def _clean(text: str) -> str:
    flat = " ".join(_MARKUP.sub("", text).replace("**", "").replace("__", "").split())
    return flat if len(flat) <= LENGTH else flat[: LENGTH - 1] + "…"


# --- sentences that probably state a decision; because some do not, the results are marked as heuristic

DECISION_LENGTH = 500
"""Maximum length of a decision in characters."""

_SENTENCE = re.compile(
    r"^[ \t>*_#-]*((?:Decision:|(?:I|We)(?:'ve| have)? (?:decided|chose)\b|We(?:'ll| will) (?:use|go with)\b"
    r"|Let's go with\b|Instead of\b).*)$",
    re.MULTILINE,
)
_START = re.compile(r"(?<=[.!?]) +(?=(?:Decision:|I |We |We'|Let's |Instead ))")
_ANY = ("Decision:", "decided", "chose", "We'll ", "We will ", "Let's go with", "Instead of")
"""Every text with such a sentence contains one of these. Most texts contain none, so this fast test comes first."""
_DECISIONS = re.compile(r"^#{1,6} .*\bdecisions?\b.*$", re.MULTILINE | re.IGNORECASE)
_LIST_ITEM = re.compile(r"^[ \t]*(?:[-*]|\d+\.)[ \t]+(.+)$", re.MULTILINE)


def find_by_wording(text: str) -> list[str]:
    """Return the sentences of a reply that begin like a decision ("We decided …")."""
    if not any(word in text for word in _ANY):
        return []
    lines = _START.sub("\n", text)
    return [_shorten(_first_sentence(match[1])) for match in _SENTENCE.finditer(lines)]


def find_in_summary(text: str) -> list[str]:
    """Return the list items below the heading of a compaction summary that contains the word "decision"."""
    match = _DECISIONS.search(text)
    if not match:
        return []
    rest = text[match.end() :]
    end = re.search(r"^#{1,6} ", rest, re.MULTILINE)
    return [_shorten(item) for item in _LIST_ITEM.findall(rest[: end.start()] if end else rest)]


def read_plan_title(text: str) -> str:
    """Return the title of a plan: its first line with text; `a plan` if it has none."""
    lines = (line.strip().lstrip("#").strip() for line in text.splitlines())
    return _shorten(next((line for line in lines if line), "a plan"))


def _first_sentence(text: str) -> str:
    head, sep, _ = text.partition(". ")
    # In `Decision: we use X. Y follows.` the first sentence is the decision.
    return head + sep.strip() if sep else text


def _shorten(text: str) -> str:
    flat = " ".join(text.replace("**", "").split())
    return flat if len(flat) <= DECISION_LENGTH else flat[: DECISION_LENGTH - 1] + "…"


CONVERSATION_FACTS = ("latest_prompts", "unanswered", "last_answer", "open_questions", "next_steps")
MAX_PROMPTS = 5
"""Number of prompts after the first that a digest keeps."""
MAX_PROMPT = 2048
MAX_ANSWER = 6144
"""Maximum size in bytes of a prompt and of the last answer in a digest."""
_MAX_REASON, _MAX_ASKED = 300, 600
"""Maximum size in bytes of the reason of a failure, and of a text that is told beside another one."""
_ANSWER, _STATUS, _REASON, _ID, _SAID = (
    Turn._fields.index(name) for name in ("answer", "status", "reason", "id", "said")
)
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
    """Start a turn with a prompt. The turn before has no answer if the agent was still at work on it."""
    if known.turns and known.turns[-1][_STATUS] == RUNNING:
        known.turns[-1][_STATUS] = CONTINUED if event.queued else ENDED
    known.turn_count += 1
    turn = Turn(
        known.turn_count, event.time, keep_ends(event.text, MAX_TEXT), "", *event.position, event.origin, RUNNING,
        id=event.turn,
    )  # fmt: skip
    known.turns.append(list(turn))
    if known.turn_count % _BOUND_EVERY == 0:
        known.turns = [list(turn) for turn in bound_turns(Turn(*turn) for turn in known.turns)]


def add_reply(known: Findings, event: ModelReply, mark: Mark) -> None:
    """Set the answer of a turn. An earlier one becomes what the agent said before."""
    turn = _find_turn(known, event.turn)
    if turn is not None:
        text = keep_ends(event.text.strip(), MAX_TEXT)
        turn[_SAID] = add_said(turn[_SAID], turn[_ANSWER], text)
        turn[_ANSWER] = text
        turn[_STATUS], turn[_REASON] = RUNNING if event.final is False else ANSWERED, ""
        known.answer_marks[str(turn[0])] = mark


def add_said(said: str, earlier: str, answer: str) -> str:
    """Return what the agent said before an answer, with an earlier reply that the answer does not repeat."""
    if earlier in answer or earlier in said:
        return said
    return keep_ends("\n\n".join(filter(None, (said, earlier))), MAX_TEXT)


def add_work(known: Findings, event: ToolCall) -> None:
    """Note that the agent is at work on a turn: what it said before a call is no answer."""
    turn = _find_turn(known, event.turn)
    if turn is not None and not event.side:
        turn[_STATUS], turn[_REASON] = RUNNING, ""


def end_turn(known: Findings, event: TurnEnd) -> None:
    """Set how a turn ended."""
    turn = _find_turn(known, event.turn)
    if turn is not None:
        turn[_STATUS], turn[_REASON] = event.status, keep_ends(event.reason, _MAX_REASON)


def _find_turn(known: Findings, name: str | None) -> list[Any] | None:
    """Return the turn with an id, or the newest one; None if there is no such turn (any more)."""
    if name is None:
        return known.turns[-1] if known.turns else None
    return next((turn for turn in reversed(known.turns) if turn[_ID] == name), None)


def list_turns(known: Findings, *, has_ended: bool = False) -> tuple[Turn, ...]:
    """Return the turns, cut to the size limit of a session; with `has_ended`, none of them is running."""
    turns = (Turn(*turn) for turn in known.turns)
    return bound_turns(
        turn._replace(status=ENDED) if has_ended and turn.status == RUNNING else turn for turn in turns
    )  # fmt: skip


def describe_conversation(turns: Sequence[Turn], marks: Mapping[str, Mark]) -> Table:
    """Return the facts of the conversation, `CONVERSATION_FACTS`; `marks` as in `Findings.answer_marks`.

    `latest_prompts`: those of persons after the first; each text once. `unanswered`: the last of them, the first
    included, if it has no answer. And the facts that `describe_answer` returns about the last answer; questions and
    next steps only if no prompt came after it.
    """
    asked = [turn for turn in turns if turn.origin in (PERSON, UNKNOWN)]
    later = asked[1:] if asked and asked[0].origin == PERSON else asked
    facts: Table = {"latest_prompts": prompts} if (prompts := _list_latest(later)) else {}
    answered = next((turn for turn in reversed(turns) if turn.answer and turn.status in (ANSWERED, UNKNOWN)), None)
    last = asked[-1] if asked else None
    is_open = last is not None and (answered is None or answered.number < last.number)
    if last is not None and is_open:
        facts["unanswered"] = _describe_unanswered(last, turns[-1])
    if answered is not None:
        mark = marks.get(str(answered.number))
        source = describe_position(*mark[1:4]) if mark else None
        answer = describe_answer(answered.answer, source)
        if is_open:
            answer = {"last_answer": answer["last_answer"] | {"prompt": keep_ends(answered.prompt, _MAX_ASKED)}}
        facts |= answer
    return facts


def _list_latest(asked: list[Turn]) -> list[Table]:
    """Return the last prompts, oldest first; of equal texts ("continue") only the last."""
    last = {turn.prompt.strip(): turn for turn in asked}
    kept = sorted(last.values(), key=lambda turn: turn.number)[-MAX_PROMPTS:]
    return [
        {"text": keep_ends(turn.prompt, MAX_PROMPT), "source": describe_position(turn.line, turn.offset, turn.time)}
        | ({"origin": turn.origin} if turn.origin != PERSON else {})
        | ({"status": turn.status} if turn.status in (INTERRUPTED, FAILED, ENDED) else {})
        for turn in kept
    ]


def _describe_unanswered(asked: Turn, newest: Turn) -> Table:
    """Return a prompt without an answer, and why; `newest` has the status if the agent's work went on in it."""
    last = newest if asked.status == CONTINUED else asked
    optional = {"reason": last.reason, "said": keep_ends(last.answer, _MAX_ASKED) if last.answer else ""}
    return {
        "prompt": keep_ends(asked.prompt, MAX_PROMPT), "status": last.status,
        "source": describe_position(asked.line, asked.offset, asked.time),
    } | {name: text for name, text in optional.items() if text}  # fmt: skip


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
