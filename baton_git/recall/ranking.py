"""Rank passages, and the threads that they belong to, for a question.

A *thread* is a session, or a record in all its versions. A passage scores by BM25, by its neighbours, and a thread by
its best passages and by the words that it has anywhere. How rare a word is counts by sources, not by passages: a word
that one session repeats a hundred times still tells which session is meant.
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from operator import itemgetter
from typing import NamedTuple

from baton_git.recall.index import MOST_ROWS, Hit, PassageFilter, RecallIndex, Totals, source_of, sources_of
from baton_git.recall.passages import PASSAGE, Passage
from baton_git.recall.terms import Query, stem

CANDIDATES = 400
"""Number of best passages whose sources are ranked."""
SOURCES = 25
"""Number of best sources that are read, and again as many until there are threads of half as many."""
OPENED = 3_000
"""Number of passages from which a further, more common word adds only to the scores of those that have a rarer one: the
time of a question then hardly grows with the number of sessions."""
RARE = 50
"""Maximum number of passages of a word for which words with the same beginning are searched, too."""
_NEIGHBOUR = 0.3
"""Share of the scores of its neighbours that a passage gets."""
_K, _LENGTH = 1.2, 0.2
"""As `k1` and `b` of BM25: how much it matters how often a passage has a word, and how long the passage is."""
_ANYWHERE, _NEXT_BEST = 0.3, 0.4
"""For the score of a thread, beside its best passage: the weights of the words that it has anywhere, each at its best,
and of its second and third passage."""
_NAME, _BEGINNING = 0.3, 0.2
"""Weights of a whole compound name beside its parts, and of words that begin with a word of the question."""
_OTHERS = 0.5
"""Most score, relative to the best, of threads that come after others whatever they score."""
_MOST_ADDED = 3
"""Maximum number of threads that are added to better ones."""
_NEWEST = 0.9
"""Least score, relative to the best, of the session that began last on the branch that is checked out."""
_BACKGROUND = 200
"""Added to the number of sources when evidence is weighed, because in a small index all words would be common."""
_BEST = 2
"""Number of best passages of a thread that are weighed as evidence."""
_UNKNOWN = 0.45
"""Weight of a strong word that occurs nowhere, relative to a rare word."""
_UNKNOWN_NAME = 1.7
"""Weight of a proper name if no passage contains any proper name of the question: then there should be no answer."""


class Ranked(NamedTuple):
    """A passage with its score for the question."""

    hit: Hit
    score: float

    @property
    def passage(self) -> Passage:
        return self.hit.passage


class Thread(NamedTuple):
    """A session or record, with its score and its matching passages, best first."""

    score: float
    passages: list[Ranked]


class Ranking(NamedTuple):
    """The ranked threads for a question.

    Attributes:
        threads: the matching threads, best first.
        evidence: the share of the question's strong words that a single passage has, from 0 to 1.
        missing: the words of the question that occur nowhere.
        empty_days: the days that the question names if nothing is of them; empty otherwise.
        is_list: whether the answer should have a line of each thread before more of one.
    """

    threads: list[Thread]
    evidence: float = 1.0
    missing: tuple[str, ...] = ()
    empty_days: str = ""
    is_list: bool = False


class _Matches(NamedTuple):
    """The passages that match an expression.

    Attributes:
        weight: the weight of the expression; the rarer it is, the higher.
        numbers: the numbers of the passages.
        sources: the numbers of their sources.
        phrase: the expression.
    """

    weight: float
    numbers: list[int]
    sources: set[int]
    phrase: str


def rank_passages(index: RecallIndex, query: Query, wanted: PassageFilter, depth: int) -> Ranking:
    """Rank the threads that match a question, with at most `depth` passages of each of their sources."""
    matches = _find_matches(index, query)
    missing = _list_missing(query, matches)
    if _is_narrow(index, wanted):
        allowed = index.list_matching(wanted)
        matches = {name: _restrict(index, found, allowed) for name, found in matches.items()}
    threads = _rank_threads(index, _score_sources(matches, depth), _stem_weights(query, matches), wanted)
    if query.signs:
        threads = _put_class_first(threads, query, matches)
    return Ranking(threads, _measure_evidence(threads, query, matches, index.totals), missing, is_list=query.is_list)


_LISTING = frozenset({"list", "enumerate", "summarize", "summarise"})
"""Words of a question that only ask for a list."""


def _list_missing(query: Query, matches: Mapping[str, _Matches]) -> tuple[str, ...]:
    """Return the words of a question that occur nowhere; a compound name as it was typed if none of its parts does."""
    known = query.class_words | (_LISTING if query.is_list else frozenset())
    missing = {word: word for word in query.words if not matches[word].numbers and word not in known}
    for name, words in query.compounds:
        if words <= missing.keys():
            missing |= dict.fromkeys(words, name)
    return tuple(dict.fromkeys(missing.values()))


def _put_class_first(threads: Sequence[Thread], query: Query, matches: Mapping[str, _Matches]) -> list[Thread]:
    """Return the threads about things of the class that a question is for, before others that have its subject.

    A thread without a word of the subject, or without a sign of the class beside one, is about something else.
    """
    signs = {number for name in (*query.signs, *query.class_words) for number in matches[name].numbers}
    subject = [matches[word].sources for word in query.strong - query.class_words if matches[word].sources]

    def is_of_class(thread: Thread) -> bool:
        numbers = [ranked.hit.number for ranked in thread.passages[:3]]
        return any({number - 1, number, number + 1} & signs for number in numbers)

    def has_subject(thread: Thread) -> bool:
        sources = sources_of(ranked.hit.number for ranked in thread.passages)
        return not subject or any(sources & having for having in subject)

    about = [thread for thread in threads if has_subject(thread)]
    first = Ranking([thread for thread in about if is_of_class(thread)])
    others = Ranking([thread for thread in about if not is_of_class(thread)] if subject else [])
    return put_first(first, others).threads


def _is_narrow(index: RecallIndex, wanted: PassageFilter) -> bool:
    """Whether the best passages of the whole index may all be such that do not match."""
    return wanted.is_narrow or (wanted.namespace is not None and index.has_other_namespaces(wanted.namespace))


def _restrict(index: RecallIndex, found: _Matches, allowed: set[int]) -> _Matches:
    """Return the matches among the allowed passages, with the same weight."""
    if len(found.numbers) < MOST_ROWS:
        return found._replace(numbers=[number for number in found.numbers if number in allowed])
    numbers = index.match(found.phrase, allowed)  # the last ones of all may not be allowed
    return found._replace(numbers=numbers, sources=found.sources | sources_of(numbers))


def rank_overview(index: RecallIndex, wanted: PassageFilter, depth: int, paths: Set[str] | None = None) -> Ranking:
    """Return the threads of the newest passages, for a question about the progress of the work as a whole.

    Args:
        paths: the files of records that count; None: all, and turns.
    """
    threads: dict[str, list[Hit]] = defaultdict(list)
    for hit in index.newest(wanted, CANDIDATES, paths):
        threads[hit.passage.thread].append(hit)
    return Ranking([
        Thread(1 / (1 + place), [Ranked(hit, 1 / (1 + at)) for at, hit in enumerate(hits[:depth])])
        for place, hits in enumerate(threads.values())
    ])  # fmt: skip


def add_newest(ranking: Ranking, hits: Sequence[Hit]) -> Ranking:
    """Return the ranking with a thread that comes at least after the best ones.

    A question that says little ("fix the tests") often goes on from the last session of its branch.

    Args:
        hits: the last passages of the thread, newest first; they are quoted if it has no passages that match.
    """
    if not hits or not ranking.threads:
        return ranking
    name, least = hits[0].passage.thread, _NEWEST * ranking.threads[0].score
    last = [Ranked(hit, least / (1 + at)) for at, hit in enumerate(hits)]
    known = [thread for thread in ranking.threads if thread.passages[0].passage.thread == name]
    others = [thread for thread in ranking.threads if thread.passages[0].passage.thread != name]
    thread = known[0]._replace(score=max(known[0].score, least)) if known else Thread(least, last)
    return ranking._replace(threads=sorted([*others, thread], key=lambda thread: -thread.score))


def put_first(first: Ranking, others: Ranking) -> Ranking:
    """Return the threads of one ranking before those of another that it does not have."""
    if not first.threads or not others.threads:
        return first if first.threads else others
    known = {thread.passages[0].passage.thread for thread in first.threads}
    factor = _OTHERS * first.threads[-1].score / others.threads[0].score
    rest = [
        thread._replace(score=factor * thread.score)
        for thread in others.threads
        if thread.passages[0].passage.thread not in known
    ]
    return first._replace(threads=[*first.threads, *rest])


def put_those_first(ranking: Ranking, is_first: Callable[[Thread], bool]) -> Ranking:
    """Return a ranking with the threads of which a test is true before all others."""
    first = [thread for thread in ranking.threads if is_first(thread)]
    others = [thread for thread in ranking.threads if not is_first(thread)]
    return put_first(ranking._replace(threads=first), ranking._replace(threads=others))


def add_threads(ranking: Ranking, others: Ranking) -> Ranking:
    """Return a ranking with the first threads of another one, which come at least after its best."""
    for thread in reversed(others.threads[:_MOST_ADDED]):
        ranking = add_newest(ranking, [ranked.hit for ranked in thread.passages])
    return ranking if ranking.threads else others._replace(missing=ranking.missing)


def _idf(total: int, count: int) -> float:
    return math.log(1 + (total - count + 0.5) / (count + 0.5))


def _find_matches(index: RecallIndex, query: Query) -> dict[str, _Matches]:
    """Return the matches of the words of a question, and of its compound names.

    A word that is rare also matches words that begin with it (`auth` matches `authentication`), with less weight.
    """
    totals = index.totals
    matches = {name: _match(index, name, _NAME, totals) for name in query.names}
    matches |= _match_signs(index, query.signs, totals)
    for word, phrase in query.words.items():
        matches[word] = found = _match(index, phrase, 1.0, totals)
        if word in query.beginnings and len(found.numbers) <= RARE:
            longer = _match(index, query.beginnings[word], _BEGINNING, totals)
            matches[query.beginnings[word]] = longer
            if not found.numbers:
                matches[word] = longer._replace(weight=0.0)
    return matches


def _match_signs(index: RecallIndex, signs: Mapping[str, float], totals: Totals) -> dict[str, _Matches]:
    """Return the matches of the signs of a class, weighted by how rare all together are: the rarest is not the best."""
    matches = {sign: _match(index, sign, weight, totals) for sign, weight in signs.items()}
    sources = set[int]().union(*(found.sources for found in matches.values()))
    rarity = _idf(totals.sources, len(sources))
    return {sign: found._replace(weight=signs[sign] * rarity) for sign, found in matches.items()}


def _stem_weights(query: Query, matches: Mapping[str, _Matches]) -> dict[str, float]:
    return {stem(word): matches[word].weight for word in query.words}


def _match(index: RecallIndex, phrase: str, weight: float, totals: Totals) -> _Matches:
    """Return the matches of an expression, weighted by how rare it is."""
    numbers = index.match(phrase)
    sources = sources_of(numbers)
    count = len(sources)
    if len(numbers) == MOST_ROWS:
        count = min(totals.sources, count * index.count_matches(phrase) // MOST_ROWS)
    return _Matches(weight * _idf(totals.sources, count), numbers, sources, phrase)


class _Source(NamedTuple):
    """A source and its best passages, with their scores.

    Attributes:
        anywhere: the weights of the words that it has.
        passages: scores with the numbers of the passages, best first.
    """

    anywhere: float
    passages: list[tuple[float, int]]

    @property
    def score(self) -> float:
        return _score_thread([score for score, _ in self.passages], self.anywhere)


def _score_sources(matches: Mapping[str, _Matches], depth: int) -> list[_Source]:
    """Return the sources of the best passages, best first.

    A passage is short, so it counts which words it has, not how often: that costs a third of the time of BM25.
    """
    scores: dict[int, float] = {}
    for found in sorted(matches.values(), key=lambda found: len(found.numbers)):
        weight = found.weight
        is_opened = not scores or len(scores) + len(found.numbers) <= OPENED
        for number in found.numbers if is_opened else scores.keys() & set(found.numbers):
            scores[number] = scores.get(number, 0.0) + weight
    best = heapq.nlargest(CANDIDATES, scores.items(), key=itemgetter(1))
    candidates = sources_of(number for number, _ in best)
    anywhere: dict[int, float] = defaultdict(float)
    for found in matches.values():
        for source in candidates & found.sources:
            anywhere[source] += found.weight
    passages: dict[int, list[tuple[float, int]]] = defaultdict(list)
    get = scores.get
    for number, score in scores.items():
        source = source_of(number)
        if source in candidates:
            beside = get(number - 1, 0.0) + get(number + 1, 0.0)
            passages[source].append((-score - _NEIGHBOUR * beside, number))
    sources = [
        _Source(anywhere[source], [(-score, number) for score, number in sorted(unordered)[: max(depth, 3)]])
        for source, unordered in passages.items()
    ]
    best_first = sorted(sources, key=lambda source: (-source.score, source.passages[0][1]))
    # Of a source that is hardly quoted, few passages are worth reading.
    return [source._replace(passages=source.passages[: max(depth - at, 3)]) for at, source in enumerate(best_first)]


def _score_thread(passages: Sequence[float], anywhere: float) -> float:
    return passages[0] + _NEXT_BEST * sum(passages[1:3]) + _ANYWHERE * anywhere


def _rank_threads(
    index: RecallIndex, sources: Sequence[_Source], weights: Mapping[str, float], wanted: PassageFilter
) -> list[Thread]:
    """Return the best threads that match the filter. A thread scores as its best source.

    Args:
        weights: the weights of the stems of the question's words.
    """
    threads: dict[str, Thread] = {}
    for at in range(0, len(sources), SOURCES):
        some = sources[at : at + SOURCES]
        hits = {hit.number: hit for hit in index.read([number for source in some for _, number in source.passages])}
        for source in some:
            ranked = sorted(
                (
                    Ranked(hits[number], _refine(score, hits[number].passage.text, weights))
                    for score, number in source.passages
                    if wanted.matches(hits[number].passage)
                ),
                key=_by_score,
            )
            if ranked:
                name = ranked[0].passage.thread
                before = threads.get(name, Thread(0.0, []))
                score = _score_thread([one.score for one in ranked], source.anywhere)
                threads[name] = Thread(max(before.score, score), [*before.passages, *ranked])
        if 2 * len(threads) >= SOURCES:
            break
    return sorted(
        (thread._replace(passages=sorted(thread.passages, key=_by_score)) for thread in threads.values()),
        key=lambda thread: -thread.score,
    )


def _refine(score: float, text: str, weights: Mapping[str, float]) -> float:
    """Return the score of a passage by its text: how often it has the words, and its length, as in BM25."""
    lower = text.lower()
    counts = ((lower.count(word), weight) for word, weight in weights.items())
    often = sum(weight * (count * (_K + 1) / (count + _K) - 1) for count, weight in counts if count > 1)
    return (score + often) / (1 - _LENGTH + _LENGTH * len(text) / PASSAGE)


def _by_score(ranked: Ranked) -> tuple[float, int]:
    return -ranked.score, ranked.hit.number


def _measure_evidence(
    threads: Iterable[Thread], query: Query, matches: Mapping[str, _Matches], totals: Totals
) -> float:
    """Return the share, by weight, of the question's strong words that a single passage has, of the best of a thread.

    A long session has most words somewhere, whatever it is about.
    """
    total = totals.sources + _BACKGROUND
    known: dict[str, float] = {}
    missing = 0.0
    names = {word for word in query.proper if matches[word].sources}
    for word in query.strong:
        found = matches[word]
        if found.sources:
            known[word] = _idf(total, len(found.sources))
        else:
            missing += _idf(total, 0) * (_UNKNOWN if names or word not in query.proper else _UNKNOWN_NAME)
    if not known:
        return 0.0
    numbers = {ranked.hit.number for thread in threads for ranked in thread.passages[:_BEST]}
    having = {word: numbers.intersection(matches[word].numbers) for word in known}
    best = max((sum(known[word] for word in known if at in having[word]) for at in numbers), default=0.0)
    return best / (sum(known.values()) + missing)
