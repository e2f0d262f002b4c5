"""Rank passages for a question by BM25 scores of passages and of their sessions.

Whether there is an answer at all depends on the significant terms of the question: rarer terms count more, and terms
that no passage contains count against an answer.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from baton_git.recall.index import Hit, PassageFilter, RecallIndex
from baton_git.recall.passages import DIGEST, TURN, Passage
from baton_git.recall.terms import Query

CANDIDATES = 120
"""Maximum number of matching passages that are scored."""
_K1, _B = 1.2, 0.6
_COMMON = 0.2
"""Share of the passages above which a term is common. Common terms do not select candidates if all terms would select
too many."""
_SESSION = 1.0
"""Weight of the score of a passage's session, added to that of the passage."""
_FEEDBACK_PASSAGES, _FEEDBACK_TERMS = 3, 30
"""Number of best passages, and of their rarest terms, that are used to search for related sessions."""
_NEIGHBOUR_SESSIONS, _NEIGHBOURS = 6, 20
"""Number of best sessions whose other turns are also scored, and number of turns per session."""
MIN_EVIDENCE = 0.375
"""Minimum share, by weight, of the question's significant terms that one session must contain for an answer."""
_NEARLY = 0.7
"""Share of the best score from which a passage is nearly as good."""
_BACKGROUND = 200
"""Added to the number of passages when evidence is weighed, because in a small index all words would be common."""
_UNKNOWN = 0.45
"""Weight of a significant term that no passage contains, relative to a rare term."""
_UNKNOWN_NAME = 1.7
"""Weight of a proper name if no passage contains any proper name of the question: then there should be no answer."""
_ELSEWHERE = 0.6
"""Weight, as evidence, of a term that only another passage of the same session contains."""


class Ranked(NamedTuple):
    """A passage with its score for the question."""

    hit: Hit
    score: float

    @property
    def passage(self) -> Passage:
        return self.hit.passage


class Ranking(NamedTuple):
    """The ranked passages for a question.

    Attributes:
        ranked: the matching passages and other turns of the best sessions, best first.
        more: passages of related sessions, best first.
        evidence: the share of the question's significant terms that the best session contains, from 0 to 1.
        idf: the inverse document frequency of each term.
    """

    ranked: list[Ranked]
    more: list[Passage]
    evidence: float
    idf: Mapping[str, float]


def rank_passages(index: RecallIndex, query: Query, wanted: PassageFilter) -> Ranking:
    """Rank the passages that match a question, and find passages of related sessions."""
    total = index.count()
    frequencies = index.frequencies(query.weights)
    idf = {term: _idf(total, count) for term, count in frequencies.items()}
    hits = index.search(_select_terms(frequencies, total), wanted, CANDIDATES)
    weights = {term: weight * idf[term] for term, weight in query.weights.items()}
    hits = _drop_repeated(hits, weights)
    ranked = score_hits([*hits, *_find_neighbours(index, score_hits(hits, weights), wanted)], weights)
    evidence_idf = {term: _idf(total + _BACKGROUND, count) for term, count in frequencies.items()}
    evidence = _measure_evidence(ranked, query, frequencies, evidence_idf)
    more = _find_more(index, ranked, wanted, total)
    return Ranking(ranked, more, evidence, idf)


def drop_echoes(ranking: Ranking, question: str) -> Ranking:
    """Return the ranking without turns that are nothing but the same question, asked before and without an answer."""
    asked = question.strip()

    def is_echo(passage: Passage) -> bool:
        return passage.kind == TURN and passage.text.partition(": ")[2].strip() == asked

    return ranking._replace(ranked=[ranked for ranked in ranking.ranked if not is_echo(ranked.passage)])


def keep_best(ranking: Ranking) -> Ranking:
    """Return the ranking reduced to the passages nearly as good as the best."""
    least = _NEARLY * ranking.ranked[0].score
    return ranking._replace(ranked=[ranked for ranked in ranking.ranked if ranked.score >= least], more=[])


def rank_overview(index: RecallIndex, query: Query, wanted: PassageFilter) -> Ranking:
    """Return the newest passages, for a question about the progress of the work as a whole."""
    hits = index.newest(wanted, CANDIDATES)
    total = index.count()
    idf = {term: _idf(total, count) for term, count in index.frequencies(query.weights).items()}
    ranked = [Ranked(hit, 1.0 / (1 + number)) for number, hit in enumerate(hits)]
    return Ranking(ranked, [], 1.0, idf)


def _idf(total: int, count: int) -> float:
    return math.log(1 + (total - count + 0.5) / (count + 0.5))


def _select_terms(frequencies: Mapping[str, int], total: int) -> list[str]:
    """Return the terms that select candidates: all known terms, or only rare ones if all would select too many."""
    known = sorted((term for term, count in frequencies.items() if count), key=lambda term: frequencies[term])
    rare = [term for term in known if frequencies[term] <= _COMMON * total]
    return rare if rare and sum(frequencies[term] for term in known) > 10 * CANDIDATES else known


def score_hits(hits: Sequence[Hit], weights: Mapping[str, float]) -> list[Ranked]:
    """Return the passages, best first, by their own BM25 score plus that of their session.

    The score of a session is the sum, over all terms, of the term's best score among its passages.
    """
    average = sum(len(hit.terms) for hit in hits) / len(hits) if hits else 1.0
    parts = {hit.number: _score_terms(hit.terms, weights, average) for hit in hits}
    best: dict[str, dict[str, float]] = defaultdict(dict)
    for hit in hits:
        of_session = best[_group_of(hit)]
        for term, score in parts[hit.number].items():
            of_session[term] = max(score, of_session.get(term, 0.0))
    scored = [
        Ranked(hit, sum(parts[hit.number].values()) + _SESSION * sum(best[_group_of(hit)].values())) for hit in hits
    ]
    return sorted(scored, key=lambda match: (-match.score, match.passage.time, match.hit.number))


def _drop_repeated(hits: Sequence[Hit], weights: Mapping[str, float]) -> list[Hit]:
    """Return the passages except digests whose matching terms all occur in matching turns of the same session."""
    turns: dict[str, set[str]] = defaultdict(set)
    for hit in hits:
        if hit.passage.kind == TURN:
            turns[hit.passage.session].update(hit.terms)
    return [
        hit
        for hit in hits
        if hit.passage.kind != DIGEST or not weights.keys() & set(hit.terms) <= turns.get(hit.passage.session, set())
    ]


def _find_neighbours(index: RecallIndex, ranked: Sequence[Ranked], wanted: PassageFilter) -> list[Hit]:
    """Return the other turns of the best sessions, which may be relevant without matching the question."""
    known = {match.hit.number for match in ranked}
    sessions = {match.passage.session: match.passage for match in reversed(ranked) if match.passage.session}
    best = list(sessions.values())[: -_NEIGHBOUR_SESSIONS - 1 : -1]
    hits = (hit for passage in best for hit in index.list_turns(passage.session, wanted, _NEIGHBOURS))
    return [hit for hit in hits if hit.number not in known]


def _group_of(hit: Hit) -> str:
    return hit.passage.session or hit.passage.path


def _score_terms(terms: Sequence[str], weights: Mapping[str, float], average: float) -> dict[str, float]:
    counts: dict[str, int] = {}
    for term in terms:
        if term in weights:
            counts[term] = counts.get(term, 0) + 1
    norm = _K1 * (1 - _B + _B * len(terms) / average)
    return {term: weights[term] * count * (_K1 + 1) / (count + norm) for term, count in counts.items()}


def _measure_evidence(
    ranked: Iterable[Ranked], query: Query, frequencies: Mapping[str, int], idf: Mapping[str, float]
) -> float:
    """Return the share, by weight, of the question's significant terms that the best session contains.

    Terms of the session's best passage count fully, terms that only its other passages contain by `_ELSEWHERE`.
    """
    known = {term: idf[term] for term in query.strong if frequencies[term]}
    unknown = [term for term in query.strong if not frequencies[term]]
    name_weight = _UNKNOWN if query.proper & known.keys() else _UNKNOWN_NAME
    missing = sum(idf[term] * (name_weight if term in query.proper else _UNKNOWN) for term in unknown)
    if not known:
        return 0.0
    passages: dict[str, list[frozenset[str]]] = defaultdict(list)
    for match in ranked:
        passages[_group_of(match.hit)].append(frozenset(match.hit.terms) & known.keys())
    best = 0.0
    for here in passages.values():
        anywhere = frozenset().union(*here)
        most = max(sum(known[term] for term in terms) for terms in here)
        best = max(best, (1 - _ELSEWHERE) * most + _ELSEWHERE * sum(known[term] for term in anywhere))
    return best / (sum(known.values()) + missing)


def _find_more(index: RecallIndex, ranked: Sequence[Ranked], wanted: PassageFilter, total: int) -> list[Passage]:
    """Return passages of related sessions, best first, found by the rare terms of the best passages."""
    counts = Counter(term for match in ranked[:_FEEDBACK_PASSAGES] for term in set(match.hit.terms) if len(term) > 2)
    frequencies = index.frequencies(counts)
    weights = {
        term: _idf(total, frequencies[term]) * counts[term]
        for term in counts
        if 1 < frequencies[term] <= max(3.0, 0.1 * total)
    }
    best = dict(sorted(weights.items(), key=lambda item: -item[1])[:_FEEDBACK_TERMS])
    hits = index.search(list(best), wanted, CANDIDATES)
    return [match.passage for match in score_hits(hits, best)]
