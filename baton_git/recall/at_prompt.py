"""Recall for a prompt: short, and only what clearly fits and was not told in the session before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from baton_git.namespace.workspace import Workspace
from baton_git.recall.answer import digest_sentence
from baton_git.recall.index import PassageFilter
from baton_git.recall.recalling import Question, find_answer

BUDGET = 1_500
"""Bytes that may be added to a prompt."""
CLEAR_EVIDENCE = 0.6
"""Share of a prompt's telling terms that one session must have."""
MAX_SECONDS = 2.0
"""Seconds for bringing the index up to date; what is left waits for the next prompt."""
MAX_TOLD = 400
"""How many digests are remembered."""


class Recalled(NamedTuple):
    """The text for a prompt, empty if nothing fits, and the digests of all sentences that the session was told."""

    text: str
    told: tuple[str, ...]


def recall_for_prompt(ws: Workspace, prompt: str, session: str, told: Sequence[str]) -> Recalled:
    """Return what other sessions and records say about a prompt.

    Args:
        session: that the prompt is of; it knows itself what it said.
        told: digests of the sentences that it was told already.

    Raises:
        Corrupt, StoreError: as for `find_answer`.
    """
    wanted = PassageFilter(not_session=session)
    question = Question(prompt, BUDGET, wanted, least=CLEAR_EVIDENCE, is_strict=True, told=told, seconds=MAX_SECONDS)
    answer = find_answer(ws, question)
    quoted = tuple(digest_sentence(sentence) for excerpt in answer.excerpts for sentence in excerpt.sentences)
    return Recalled(answer.text, (*told, *quoted)[-MAX_TOLD:])
