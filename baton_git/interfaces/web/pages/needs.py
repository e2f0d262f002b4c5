"""How pages show what needs attention, which the verb `ready` answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from baton_git.verbs.upkeep.namespace_status import StatusResult


class NeedWords(NamedTuple):
    """How a need is shown.

    Attributes:
        level: `bad`, `warn` or `note`.
        word: the label of one item.
        one, many: the label of a number of items.
        page, anchor: the page of the namespace that shows them, and the section on it.
        link_label: the label of the link to the page where an item is resolved; empty if buttons resolve it.
    """

    level: str
    word: str
    one: str
    many: str
    page: str
    anchor: str = ""
    link_label: str = ""


NEEDS: Mapping[str, NeedWords] = {
    "failed": NeedWords("bad", "failed", "loop failed", "loops failed", "board", "loops"),
    "overdue": NeedWords("bad", "overdue", "loop overdue", "loops overdue", "board", "loops"),
    "unreadable": NeedWords(
        "bad", "unreadable", "file cannot be read", "files cannot be read", "board", "damaged"
    ),
    "reverted": NeedWords(
        "bad", "reverted", "change taken back by hand", "changes taken back by hand", "timeline", link_label="Show"
    ),
    "follow_up": NeedWords(
        "warn", "follow-up", "follow-up put off too often", "follow-ups put off too often", "board", "follow-ups"
    ),
    "conflict": NeedWords("bad", "conflict", "conflict", "conflicts", "conflicts", link_label="Resolve"),
    "review": NeedWords(
        "warn", "review", "remote waits for review", "remotes wait for review", "review", link_label="Review"
    ),
    "import": NeedWords("warn", "import", "import to correct", "imports to correct", "quarantine"),
    "rule": NeedWords("warn", "rule", "rule to decide on", "rules to decide on", "board", "patterns", "Decide"),
    "proposal": NeedWords(
        "warn", "proposal", "decision to confirm", "decisions to confirm", "board", "decisions"
    ),
    "unverified": NeedWords("note", "to verify", "loop to verify", "loops to verify", "board", "loops"),
}  # fmt: skip


class Sign(NamedTuple):
    """A number of things, and the page that shows them."""

    level: str
    number: int
    one: str
    many: str
    page: str
    anchor: str = ""


def list_signs(result: StatusResult) -> list[Sign]:
    """Return the signs of what needs attention in a namespace, most urgent first."""
    shown = ((NEEDS[need], number) for need, number in result.needs.items() if need != "unverified")
    return [Sign(words.level, number, words.one, words.many, words.page, words.anchor) for words, number in shown]


def list_notes(result: StatusResult) -> Iterator[Sign]:
    """Yield the signs of what needs nobody."""
    notes = (
        Sign("note", sum(result.pending.values()), "commit not sent yet", "commits not sent yet", "timeline"),
        Sign("note", len(result.active_sessions), "session at work", "sessions at work", "lineage"),
    )
    yield from (note for note in notes if note.number)
