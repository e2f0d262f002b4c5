"""Recall for a prompt: short, only what helps with it, and nothing that the session was told already.

On a branch other than the main one, the first prompt of a session probably goes on with the work there. It is answered
from the sessions of the branch: with what matches, or, if the prompt says little ("fix the tests") or speaks of the
branch itself ("the PR"), with the end of the last of them that is not known yet. Anything else is answered only if one
session clearly matches.

A hook with each prompt imports this module, so it imports nothing that reads records or commits.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from baton_git.core.errors import BatonError, SearchUnavailable
from baton_git.recall.answer import compose_answer
from baton_git.recall.index import FILE, PassageFilter, RecallIndex, remove_damaged
from baton_git.recall.passages import ON_THIS_MACHINE, TRUNKS, Passage, Standing, split_sentences
from baton_git.recall.ranking import Ranked, Ranking, Thread, rank_passages
from baton_git.recall.terms import SPEAKER, Query, parse_question
from baton_git.recall.turn_sources import TURNS, list_files, mark_folders, put_changed

BUDGET = 1_500
"""Maximum size of the text for a prompt, in bytes."""
CLEAR_EVIDENCE = 0.7
"""Minimum share, by how rare they are, of a prompt's significant words that a passage must have, unless it is of a
session of the branch."""
CLEAR_WORDS = 2
"""Minimum number of such words."""
RELATED = 0.5
"""Minimum score of the best session of the branch, relative to the best of all, to answer from the branch."""
LEAST_EVIDENCE = 0.1
"""Minimum share of significant words, as above, of a passage of the branch: a haiku has only everyday words of it."""
MOST_BYTES = 256 << 10
"""Maximum size of new files of turns that are indexed before the search: about the turns of four long sessions."""
MOST_COMPARED = 100_000
"""Number of characters of a prompt with which quotes are compared: those of a pasted log of 8 MB took 3 s."""
WAIT_SECONDS = 0.2
"""Maximum seconds to wait while another process updates the index; what it adds is then searched at the next prompt."""
_DEPTH = 12
"""Number of passages of a session that are considered."""
_NEAR = 0.5
"""Share of the best score below which sessions and passages are left out."""
_CLEAR = 0.7
"""The same for what is not of the branch."""
_MOST_THREADS = 3
_LAST = 0.9
"""Least score of the last session of the branch, relative to the best of the branch, if it matches at all."""
_RUN = 5
"""Number of successive words that a text has in common with another only if it repeats it."""
_REPEATED = 0.4
"""Share of the words of a sentence in such runs from which it counts as told."""
_LEAST_NEW = 60
"""Minimum number of characters of a passage in sentences that are new."""

_ANY_WORK = frozenset(
    """
    branch branches check checks ci comment comments commit commits conflict conflicts continue doc docs fail failed
    failing fails feedback finish lint merge merged next okay pr proceed prs pull push rebase request respond resume
    review reviewed reviewer reviews rest test tested testing tests tidy todo todos yes
    """.split()  # noqa: SIM905  a list would take a line for each word
)
"""Significant words that say nothing about the subject of a prompt: what is to be done with the work at hand."""
_GOES_ON = frozenset(
    """
    branch branches comments continue feedback pr proceed prs resume review reviewed reviewer
    """.split()  # noqa: SIM905  a list would take a line for each word
)
"""Words by which a prompt speaks of the work on the branch, whatever else it says."""
_WORD = re.compile(r"\w+")
_ARCHIVE = "archive/"
"""The folder of archived records, as in `core.layout`, which is slow to import."""


class Asked(NamedTuple):
    """A prompt, and what is known about its session.

    Attributes:
        told: the texts that the session was told, its prompts among them.
        branch: the branch that is checked out; empty if HEAD is detached.
        is_first: whether it is the first prompt of the session.
        vouch: returns the label of a passage of a record; empty unless it was written here, or came from a remote that
            the user trusts.
    """

    prompt: str
    namespace: str
    session: str
    branch: str
    told: Sequence[str]
    is_first: bool
    vouch: Callable[[Passage], str]


class _Told:
    """What a session was told, by runs of words."""

    def __init__(self, texts: Iterable[str]) -> None:
        words = [word for text in texts for word in (*_WORD.findall(text.lower()), "")]
        self._runs = set(zip(*(words[at:] for at in range(_RUN)), strict=False))
        self._text = f" {' '.join(words)} "

    def has(self, sentence: str) -> bool:
        """Return whether a sentence was told, at least in good part."""
        words = _WORD.findall(SPEAKER.sub("", sentence).lower())
        if len(words) < _RUN:
            return f" {' '.join(words)} " in self._text
        is_told = bytearray(len(words))
        for at in range(len(words) - _RUN + 1):
            if tuple(words[at : at + _RUN]) in self._runs:
                is_told[at : at + _RUN] = b"\1" * _RUN
        return sum(is_told) >= _REPEATED * len(words)


def recall_for_prompt(common_dir: Path, asked: Asked, mark: str) -> str:
    """Return quotes of earlier sessions that help with a prompt; empty if there are none.

    A damaged index is rebuilt.

    Args:
        common_dir: the common directory of the repository.
        mark: a random word for the frame of the quotes.

    Raises:
        SearchUnavailable: the index cannot be read, as by a sqlite without full-text search.
        Busy: another process keeps it locked.
    """
    folder = common_dir / "baton" / "recall"
    turns = common_dir / "baton" / "turns"
    if not turns.is_dir() and not (folder / FILE).exists():
        return ""
    try:
        return _search(folder, turns, asked, mark)
    except sqlite3.DatabaseError as error:  # opening reads few pages
        if not remove_damaged(folder, error):
            raise SearchUnavailable(f"the recall index cannot be read: {error}") from error
    return _search(folder, turns, asked, mark)


def _search(folder: Path, turns: Path, asked: Asked, mark: str) -> str:
    """Update the index and return the quotes for a prompt."""
    with RecallIndex.open(folder, WAIT_SECONDS) as index:
        if not index.is_stored:  # it would be built again for each prompt
            return ""
        gone = _update(index, turns)
        query = parse_question(asked.prompt)
        told = _Told([*asked.told, asked.prompt[:MOST_COMPARED]])
        choice = _Choice(index, asked, query, told, gone)
        ranking = choice.make()
        if not ranking.threads:
            return ""
        answer = compose_answer(ranking, query, choice.judge, mark, BUDGET, told.has, wording=None)
        return answer.text if answer.excerpts else ""


def _update(index: RecallIndex, turns: Path) -> frozenset[tuple[str, str]]:
    """Add the newest turns to the index. Return the sessions whose turns are not stored any more, though indexed.

    What is left is added by the next process that updates the index without haste.
    """
    folders = mark_folders(turns, index.opened)
    if folders and index.mark(TURNS) == folders:
        return frozenset()
    marks = dict(list_files(turns))
    gone = index.source_marks(TURNS).keys() - marks.keys()
    try:
        with index.changing():
            if put_changed(index, turns, marks, most=MOST_BYTES) and not gone:
                index.set_mark(TURNS, folders)
    except (BatonError, sqlite3.Error):  # locked, or a full disk: what is indexed is searched
        pass
    return frozenset((agent, name.removesuffix(".jsonl")) for agent, _, name in (key.partition("/") for key in gone))


class _Choice:
    """Chooses what to quote for a prompt."""

    def __init__(
        self, index: RecallIndex, asked: Asked, query: Query, told: _Told, gone: frozenset[tuple[str, str]]
    ) -> None:  # fmt: skip
        self._index, self._asked, self._query, self._told, self._gone = index, asked, query, told, gone
        self._all = PassageFilter(namespace=asked.namespace, not_session=asked.session)
        self._branch = self._all._replace(branch=asked.branch)

    def make(self) -> Ranking:
        asked = self._asked
        overall = rank_passages(self._index, self._query, self._all, _DEPTH)
        if asked.branch not in TRUNKS and asked.is_first:
            of_branch = rank_passages(self._index, self._query, self._branch, _DEPTH)
            best = overall.threads[0].score if overall.threads else 0.0
            is_related = of_branch.evidence >= LEAST_EVIDENCE and of_branch.threads[0].score >= RELATED * best
            if is_related:
                matching = self._keep_new(self._prefer_last(of_branch))
                if matching.threads:
                    return matching
            if self._says_little():
                return self._find_last()
        is_clear = overall.evidence >= CLEAR_EVIDENCE and len(self._query.strong - _ANY_WORK) >= CLEAR_WORDS
        return self._keep_new(overall, _CLEAR) if is_clear and overall.threads else Ranking([])

    def judge(self, passage: Passage) -> Standing:
        """Return who vouches for a passage; the label is empty if it may not be quoted."""
        return Standing(self._asked.vouch(passage) if passage.path else ON_THIS_MACHINE)

    def _says_little(self) -> bool:
        strong = self._query.strong
        subjects = strong - _ANY_WORK
        return not subjects or bool(strong & _GOES_ON) or len(subjects) == 1 < len(strong)  # "mise run lint fails"

    def _prefer_last(self, ranking: Ranking) -> Ranking:
        """Return the ranking of the branch with its last session at least nearly first, if it matches."""
        newest = max(ranking.threads, key=lambda thread: max(one.passage.time for one in thread.passages))
        least = _LAST * ranking.threads[0].score
        others = [thread for thread in ranking.threads if thread is not newest]
        threads = [newest._replace(score=max(newest.score, least)), *others]
        return ranking._replace(threads=sorted(threads, key=lambda thread: -thread.score))

    def _find_last(self) -> Ranking:
        """Return the end of the last session of the branch that was not told already."""
        for hits in self._index.ends_of_sessions(self._branch, _DEPTH):
            thread = Thread(1.0, [Ranked(hit, 1 / (1 + at)) for at, hit in enumerate(hits)])
            found = self._keep_new(Ranking([thread]), least=0.0)
            if found.threads:
                return found
        return Ranking([])

    def _keep_new(self, ranking: Ranking, least: float = _NEAR) -> Ranking:
        """Return the ranking reduced to the best of what may be quoted and was not told.

        Args:
            least: the share of the best score that a thread, and a passage of it, must have.
        """
        threads: list[Thread] = []
        for thread in ranking.threads:
            allowed = [one for one in thread.passages if self._may_quote(one.passage)]
            kept = [one for one in allowed if one.score >= least * thread.passages[0].score and self._is_new(one)]
            if kept and (not threads or thread.score >= least * threads[0].score):
                threads.append(Thread(thread.score, kept))
            if len(threads) == _MOST_THREADS:
                break
        return Ranking(threads)

    def _may_quote(self, passage: Passage) -> bool:
        # Who archived a digest did not write it, and a digest that should be forgotten is archived, too.
        is_archived = passage.path.startswith(_ARCHIVE)
        is_of_session = passage.thread == f"{passage.agent}/{passage.session}" and not is_archived
        return is_of_session and (passage.agent, passage.session) not in self._gone and bool(self.judge(passage).label)

    def _is_new(self, ranked: Ranked) -> bool:
        sentences = split_sentences(ranked.passage.text)
        return sum(len(sentence) for sentence in sentences if not self._told.has(sentence)) >= _LEAST_NEW
