"""Recall for a prompt: short, limited to clear matches, without sentences that the session has already received."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from baton_git.namespace.workspace import Workspace
from baton_git.recall.answer import OPTIONS, digest_sentence
from baton_git.recall.index import PassageFilter
from baton_git.recall.recalling import Question, find_answer

BUDGET = 1_500
"""Maximum size of the text for a prompt, in bytes."""
CLEAR_EVIDENCE = 0.6
"""Minimum share of a prompt's significant terms that one session must contain."""
MAX_SECONDS = 2.0
"""Maximum seconds for updating the index; the rest of the update is left to the next prompt."""
MAX_QUOTED = 400
"""Maximum number of digests of sentences per session; the newest are kept."""


class Recalled(NamedTuple):
    """The text for a prompt (empty if nothing matches), and digests of the last sentences that the session received."""

    text: str
    quoted: tuple[str, ...]


def recall_for_prompt(ws: Workspace, prompt: str, session: str, quoted: Sequence[str]) -> Recalled:
    """Return excerpts of other sessions and of records that match a prompt.

    Args:
        ws: the workspace to search.
        prompt: the text of the prompt.
        session: the session of the prompt, which is not searched.
        quoted: digests of the sentences that the session has received.

    Raises:
        StoreError: as for `find_answer`.
    """
    wanted = PassageFilter(not_session=session)
    question = Question(
        prompt,
        BUDGET,
        wanted,
        least=CLEAR_EVIDENCE,
        is_strict=True,
        exclude=quoted,
        seconds=MAX_SECONDS,
        wording=OPTIONS,
    )
    answer = find_answer(ws, question)
    new = tuple(digest_sentence(sentence) for excerpt in answer.excerpts for sentence in excerpt.sentences)
    return Recalled(answer.text, (*quoted, *new)[-MAX_QUOTED:])
