"""The truth about each turn of the recorded conversations in `tests/agents/recorded`.

The same conversations are held with the real CLIs in the group `agents` (`agent_clis/conversations.py`), so the
recordings and the CLIs are compared with one table.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from baton_git.agents.turn_store import Turn


class Truth(NamedTuple):
    """A prompt, whose it is, how its turn ended, the answer; `on_path` is false if it was taken back."""

    prompt: str
    status: str = "answered"
    answer: str = ""
    origin: str = "person"
    on_path: bool = True


def answered(prompt: str, answer: str) -> Truth:
    return Truth(prompt, "answered", answer)


def left(prompt: str) -> Truth:
    return Truth(prompt, "", on_path=False)


LOGGER = answered("Add a logger", "The logger is added.")
KAFKA = answered("Use Kafka", "Kafka is in use.")
DOCUMENTED = answered("Document it", "It is documented.")
TRANSLATED = answered("Translate it", "It is translated.")
NATS = answered("Use NATS", "NATS is in use.")
DEPLOYED = Truth("Deploy it", "interrupted")
BROKEN, LIMIT = "the server is broken", "the limit is used up"
SECOND = answered("Amounts are integer cents", "Written, in cents.")

TRUTHS: dict[str, tuple[Truth, ...]] = {
    "interrupted": (LOGGER, DEPLOYED, DOCUMENTED),
    "interrupted early": (LOGGER, DEPLOYED, DOCUMENTED),
    "failed": (LOGGER, Truth("Deploy it", "failed"), DOCUMENTED),
    "limited": (LOGGER, Truth("Deploy it", "failed")),
    "rewound": (LOGGER, left("Use Kafka"), left("Document it"), NATS),
    "rewound twice": (LOGGER, left("Use Kafka"), left("Document it"), left("Translate it"), NATS),
    "queued": (Truth("Write the exporter", "continued"), SECOND, DOCUMENTED),
    "compacted": (LOGGER, KAFKA, DOCUMENTED),
    "resumed": (LOGGER, KAFKA),
    "forked": (LOGGER, KAFKA),
    "shared": (LOGGER, KAFKA, DOCUMENTED, TRANSLATED, NATS),
    "killed": (LOGGER, Truth("Deploy it", "ended")),
}
"""The turns of a conversation, in the order of the prompts."""

EXCEPTIONS: dict[tuple[str, str], tuple[Truth, ...]] = {
    # Claude Code puts a prompt that nothing has answered yet back into the input line
    ("claude", "interrupted early"): (LOGGER, left("Deploy it"), DOCUMENTED),
    # Gemini CLI sends a queued prompt after the answer to the one before it
    ("gemini", "queued"): (answered("Write the exporter", "Written."), SECOND, DOCUMENTED),
    # Gemini CLI asks the person what to do about a limit, and writes nothing
    ("gemini", "limited"): (LOGGER, Truth("Deploy it", "ended")),
    # Gemini CLI writes a call only when it has ended, so what the model said before it looks like an answer
    ("gemini", "killed"): (LOGGER, answered("Deploy it", "I look.")),
}
"""What differs in one of the CLIs."""


def truths_of(cli: str, name: str) -> tuple[Truth, ...]:
    return EXCEPTIONS.get((cli, name), TRUTHS[name])


def tell_turns(turns: Iterable[Turn]) -> list[Truth]:
    """Return the turns in the form of the table. What was said in a turn without an answer is left out."""
    return [
        Truth(turn.prompt, turn.status, turn.answer if turn.status == "answered" else "", turn.origin) for turn in turns
    ]
