"""Answer a question from the records and turns of one namespace or of all namespaces of a repository."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property, reduce
from typing import NamedTuple

from baton_git.agents.turn_store import turns_folder
from baton_git.core.errors import Busy
from baton_git.core.kinds import KINDS, find_kind
from baton_git.core.layout import key_at, path_of
from baton_git.core.records.lineage import Session
from baton_git.core.records.work_items import ActiveDecision
from baton_git.core.state import Key, State
from baton_git.git.source_commits import head_branch
from baton_git.namespace.namespaces import list_namespaces
from baton_git.namespace.workspace import Workspace, fresh_mark
from baton_git.recall.answer import DEFAULT_BUDGET, PARAMETERS, Answer, Wording, compose_answer
from baton_git.recall.classes import expand_class
from baton_git.recall.common_words import STOP_WORDS
from baton_git.recall.dates import Period
from baton_git.recall.index import PassageFilter, RecallIndex, remove_damaged
from baton_git.recall.passages import DIGEST, PASSAGE, SHARED_TURNS, TRUNKS, TURN
from baton_git.recall.ranking import (
    Ranking,
    Thread,
    add_newest,
    add_threads,
    put_first,
    put_those_first,
    rank_overview,
    rank_passages,
)
from baton_git.recall.sources import update_index
from baton_git.recall.standing import StandingJudge
from baton_git.recall.terms import Query, is_overview, parse_question

NOTHING = Answer("", (), ())
_DECIDING = frozenset({"decide", "decided", "decides"})
"""Words that ask for decisions."""
_WHICH = frozenset({"open", "live", "pending", "archived", "closed", "list", "many"})
"""Words that say which records of a kind are meant, and nothing about their subject."""
_KINDS_OF = {Session.kind: (TURN, DIGEST, SHARED_TURNS, Session.kind)}
"""The kinds of passages that are told for a kind that a question names, if there are others."""
_HOW_MANY = re.compile(r"\bhow (?:many|much|often|long)\b", re.IGNORECASE)
"""Words that ask for a number: no text needs them."""
_SESSION_ID = re.compile(r"(?<![\w-])(?=\D*\d)[0-9A-Za-z][\w-]{7,63}(?![\w-])")
"""A word that may be the id of a session or its beginning, as headings show it."""
_LEAST_DEPTH = 12
"""Minimum number of passages of a session that are considered."""


class Question(NamedTuple):
    """A question and its options.

    Attributes:
        text: the question.
        budget: the maximum size of the answer in bytes.
        filter: a filter for passages. Its namespace is ignored, because `all_namespaces` decides it.
        period: the days that the text names, if they matter: their passages come first.
        all_namespaces: search all namespaces of the repository instead of that of the workspace.
        seconds: the maximum time for updating the index, for each namespace searched; if the newest commits are not
            indexed by then, the answer is empty. None for no limit.
        ids: the ids of records in the text, which also has their titles: the answer does not miss them.
        wording: how the answer names the options that get more.
    """

    text: str
    budget: int = DEFAULT_BUDGET
    filter: PassageFilter = PassageFilter()
    period: Period | None = None
    all_namespaces: bool = False
    seconds: float | None = None
    wording: Wording = PARAMETERS
    ids: frozenset[str] = frozenset()


def find_answer(ws: Workspace, question: Question) -> Answer:
    """Update the index and return the answer to a question; the answer is empty if nothing matches.

    A damaged index is rebuilt. If another process updates it for longer than `index.WAIT_SECONDS`, or the disk is full,
    an index in memory is used instead.

    Raises:
        StoreError: the branch cannot be read, or Python's sqlite was built without full-text search.
    """
    common_dir = ws.branch.store.repository.common_dir
    if not list_namespaces(ws.branch.store, ws.branch.prefix) and not turns_folder(common_dir).exists():
        return NOTHING  # without creating an index
    folder = common_dir / "baton" / "recall"
    problem = ""
    for _ in range(2):
        try:
            with RecallIndex.open(folder) as index:
                return answer_from(index, ws, question)
        except Busy as error:
            problem = str(error)
            break
        except sqlite3.DatabaseError as error:  # opening reads few pages
            problem = str(error)
            if not remove_damaged(folder, error):
                break
    with RecallIndex.in_memory(problem) as index:
        return answer_from(index, ws, question)


def answer_from(index: RecallIndex, ws: Workspace, question: Question) -> Answer:
    """Update an index and return the answer from it.

    Raises:
        StoreError: as for `find_answer`.
        Busy: another process is updating the index.
    """
    workspaces = _workspaces(ws, question)
    for workspace in workspaces:
        if not update_index(index, workspace.branch, question.seconds) and question.seconds is not None:
            return NOTHING
    query = parse_question(question.text)
    query = expand_class(question.text, query)
    ranking = _rank(index, ws, question, query)
    known = question.ids.union(
        *(parse_question(id_).words for id_ in question.ids),
        _list_kind_words(query, ranking),
        _list_date_words(question, query),
        query.words.keys() - query.strong if ranking.is_list and query.strong else (),
        *(found[0].lower().split() for found in _HOW_MANY.finditer(question.text)),
    )
    ranking = ranking._replace(missing=tuple(word for word in ranking.missing if word not in known))
    nothing = NOTHING._replace(
        missing=ranking.missing, empty_days=ranking.empty_days,
        unread=index.unread, pending=index.pending, unstored=index.unstored,
    )  # fmt: skip
    if not ranking.threads:
        return nothing
    judges = {workspace.branch.namespace.text: StandingJudge(workspace, index) for workspace in workspaces}
    own = judges[ws.branch.namespace.text]
    answer = compose_answer(
        ranking,
        query,
        lambda passage: judges.get(passage.namespace, own).judge(passage),
        fresh_mark(),
        question.budget,
        wording=question.wording,
    )
    return nothing._replace(text=answer.text, excerpts=answer.excerpts, also=answer.also)


def _rank(index: RecallIndex, ws: Workspace, question: Question, query: Query) -> Ranking:
    """Return the passages to answer from."""
    namespace = None if question.all_namespaces else ws.branch.namespace.text
    wanted = question.filter._replace(namespace=namespace)
    depth = max(_LEAST_DEPTH, question.budget // PASSAGE)
    if wanted.session is None:
        of_session = _rank_session(index, question.text, wanted, depth)
        if of_session is not None:
            return of_session
    live = _LiveRecords(_workspaces(ws, question), query.class_statuses)
    if question.period is None:
        return _rank_all(index, ws, question, query, wanted, depth, live)
    of_days = _rank_days(index, question.period, wanted, depth, live)
    if of_days is not None:
        return of_days
    ranking = _rank_all(index, ws, question, query, wanted, depth, live)
    return ranking._replace(empty_days=question.period.days)


def _rank_all(
    index: RecallIndex,
    ws: Workspace,
    question: Question,
    query: Query,
    wanted: PassageFilter,
    depth: int,
    live: _LiveRecords,
) -> Ranking:
    """Return the passages to answer from, of whatever session and day."""
    ranking = rank_passages(index, query, wanted, depth)
    if query.class_kinds and wanted.kind is None:
        of_kind = _rank_class(index, query, wanted, depth, live)
        ranking = put_first(of_kind, ranking)._replace(missing=ranking.missing, is_list=True)
    elif any(word.endswith("s") for word in _name_kinds(query)):
        of_kind = _rank_kinds(index, query, wanted, depth, live)
        # The records of many systems have the word "session", which says nothing about one.
        others = Ranking([]) if of_kind.threads and _asks_for_sessions(query) else ranking
        if of_kind.threads:
            ranking = put_first(of_kind, others)._replace(missing=ranking.missing)
    rest = question.period.rest if question.period is not None else question.text
    if is_overview(question.text, query) or is_overview(rest, parse_question(rest)):
        return rank_overview(index, wanted, depth)
    if not ranking.threads:
        kinds = (*query.class_kinds, *_name_kinds(query).values()) if wanted.kind is None else ()
        return _list_newest(index, kinds, wanted, depth, live)._replace(missing=ranking.missing, is_list=True)
    branch = head_branch(ws.branch.store) or ""
    if wanted.is_narrow or branch in TRUNKS:
        return ranking
    others_wanted = wanted._replace(not_session=wanted.not_session or ws.actor.session)
    return add_newest(ranking, index.newest_on_branch(branch, others_wanted, depth))


def _rank_session(index: RecallIndex, text: str, wanted: PassageFilter, depth: int) -> Ranking | None:
    """Return what matches in the session that a question names by the beginning of its id; None if it names none.

    If nothing there matches, or the question says nothing else, the last passages of the session are told.
    """
    for named in _SESSION_ID.finditer(text):
        if index.has_session(named[0]):
            inside = wanted._replace(session=named[0])
            query = parse_question(f"{text[: named.start()]} {text[named.end() :]}")
            return put_first(rank_passages(index, query, inside, depth), rank_overview(index, inside, depth))
    return None


def _rank_days(
    index: RecallIndex, period: Period, wanted: PassageFilter, depth: int, live: _LiveRecords
) -> Ranking | None:
    """Return what matches on the days that a question names, before what matches on others; None if nothing is of them.

    If nothing of these days has a word of the question, what was done and recorded then is told nevertheless ("what did
    we ship on Friday"): first, if the question says nothing else, and otherwise after the best matches.
    """
    since, until = max(period.since, wanted.since or ""), min(period.until, wanted.until or period.until)
    inside = wanted._replace(since=since, until=until)
    query = expand_class(period.rest, parse_question(period.rest))
    kinds = _rank_kinds(index, query, inside, depth, live)
    if not query.strong - STOP_WORDS and (kinds.threads or not query.signs):
        first = put_first(kinds, rank_overview(index, inside, depth))._replace(is_list=True)
        if not first.threads:
            return None
        is_searched = bool(query.words.keys() - STOP_WORDS)
        return put_first(first, rank_passages(index, query, wanted, depth)) if is_searched else first
    matching, others = rank_passages(index, query, inside, depth), rank_passages(index, query, wanted, depth)
    if kinds.threads or matching.threads:
        return put_first(put_first(matching, kinds), others)._replace(missing=others.missing)
    overview = rank_overview(index, inside, depth)
    return add_threads(others, overview) if overview.threads else None


class _LiveRecords:
    """The live records of some workspaces, which come before those that are done when a question is for their kind."""

    def __init__(self, workspaces: Iterable[Workspace], statuses: frozenset[str]) -> None:
        self._branches = {workspace.branch.namespace.text: workspace.branch for workspace in workspaces}
        self._statuses = statuses

    @cached_property
    def _states(self) -> dict[str, State]:
        return {name: branch.read().state for name, branch in self._branches.items()}

    def list_paths(self, kind: str) -> frozenset[str]:
        """Return the paths of the live records of a kind."""
        if kind not in KINDS:
            return frozenset()
        return frozenset(path_of(Key(kind, id_)) for state in self._states.values() for id_ in state.ids(kind))

    def has(self, thread: Thread) -> bool:
        """Return whether a thread is a live record whose status is among those that come first."""
        passage = thread.passages[0].passage
        key, state = key_at(passage.path), self._states.get(passage.namespace)
        record = state.entry(key) if key is not None and not key.archived and state is not None else None
        status = getattr(record, "status", None)
        return record is not None and (status is None or not self._statuses or status in self._statuses)


def _rank_class(index: RecallIndex, query: Query, wanted: PassageFilter, depth: int, live: _LiveRecords) -> Ranking:
    """Return the records of a class that match the subject of the question, or the newest if it has none."""
    if not query.strong - query.class_words:
        return _list_newest(index, query.class_kinds, wanted, depth, live)
    rankings = [rank_passages(index, query, wanted._replace(kind=kind), depth) for kind in query.class_kinds]
    return put_those_first(reduce(put_first, rankings), live.has)


def _list_newest(
    index: RecallIndex, kinds: Iterable[str], wanted: PassageFilter, depth: int, live: _LiveRecords
) -> Ranking:
    """Return the newest records of some kinds: the live ones first, however many were done since."""
    of_kinds = [wanted._replace(kind=one) for kind in dict.fromkeys(kinds) for one in _KINDS_OF.get(kind, (kind,))]
    paths = [live.list_paths(one.kind or "") for one in of_kinds]
    first = [rank_overview(index, one, depth, some) for one, some in zip(of_kinds, paths, strict=True) if some]
    others = [rank_overview(index, one, depth) for one in of_kinds]
    return put_those_first(reduce(put_first, [*first, *others], Ranking([])), live.has)


def _rank_kinds(index: RecallIndex, query: Query, wanted: PassageFilter, depth: int, live: _LiveRecords) -> Ranking:
    """Return the newest records of the kinds that a question names ("which decisions"), if it says nothing else."""
    kinds = _find_kinds(query) if wanted.kind is None else ()
    return _list_newest(index, kinds, wanted, depth, live)._replace(is_list=True)


def _find_kinds(query: Query) -> list[str]:
    """Return the kinds of records that a question names (`decisions`), if it has no other strong words."""
    named = _name_kinds(query)
    return list(dict.fromkeys(named.values())) if query.strong - _WHICH <= named.keys() else []


def _asks_for_sessions(query: Query) -> bool:
    return _find_kinds(query) == [Session.kind]


def _name_kinds(query: Query) -> dict[str, str]:
    """Return the kinds of records that words of a question name, by word; `follow-ups` is two words."""
    compounds = {word: name for name, words in query.compounds for word in words}
    named = {
        word: ActiveDecision.kind if word in _DECIDING else find_kind(word) or find_kind(compounds.get(word, word))
        for word in query.words
    }
    return {word: kind for word, kind in named.items() if kind is not None}


def _list_kind_words(query: Query, ranking: Ranking) -> set[str]:
    """Return the words of a question that name a kind of which a record is found: its heading says them."""
    found = {thread.passages[0].passage.kind for thread in ranking.threads}
    words = {word for word, kind in _name_kinds(query).items() if not found.isdisjoint(_KINDS_OF.get(kind, (kind,)))}
    return words | {name for name, parts in query.compounds if parts <= words}


def _list_date_words(question: Question, query: Query) -> set[str]:
    """Return the words of a question that name its days: they need not occur in a text."""
    if question.period is None:
        return set()
    words = query.words.keys() - parse_question(question.period.rest).words.keys()
    return words | {name for name, parts in query.compounds if parts <= words}


def _workspaces(ws: Workspace, question: Question) -> list[Workspace]:
    if not question.all_namespaces:
        return [ws]
    names = list_namespaces(ws.branch.store, ws.branch.prefix)
    others = [name for name in names if name != ws.branch.namespace]
    return [ws, *(replace(ws, branch=replace(ws.branch, namespace=name)) for name in others)]
