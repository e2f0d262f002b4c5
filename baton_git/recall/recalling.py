"""Answer a question from the records and turns of one namespace or of all namespaces of a repository."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from typing import NamedTuple

from baton_git.agents.turn_store import turns_folder
from baton_git.core.errors import Busy
from baton_git.core.kinds import find_kind
from baton_git.core.records.work_items import ActiveDecision
from baton_git.git.source_commits import head_branch
from baton_git.namespace.namespaces import list_namespaces
from baton_git.namespace.workspace import Workspace, fresh_mark
from baton_git.recall.answer import DEFAULT_BUDGET, PARAMETERS, Answer, Wording, compose_answer
from baton_git.recall.classes import expand_class
from baton_git.recall.common_words import STOP_WORDS
from baton_git.recall.dates import Period
from baton_git.recall.index import PassageFilter, RecallIndex, remove_damaged
from baton_git.recall.passages import PASSAGE, TRUNKS
from baton_git.recall.ranking import (
    Ranking,
    add_newest,
    add_threads,
    put_first,
    rank_overview,
    rank_passages,
)
from baton_git.recall.sources import update_index
from baton_git.recall.standing import StandingJudge
from baton_git.recall.terms import Query, is_overview, parse_question

NOTHING = Answer("", (), ())
_DECIDING = frozenset({"decide", "decided", "decides"})
"""Words that ask for decisions."""
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
    known = question.ids.union(*(parse_question(id_).words for id_ in question.ids), _list_kind_words(query, ranking))
    ranking = ranking._replace(missing=tuple(word for word in ranking.missing if word not in known))
    nothing = NOTHING._replace(
        missing=ranking.missing, unread=index.unread, pending=index.pending, unstored=index.unstored
    )
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
    named = _rank_named(index, question, wanted, depth)
    if named is not None:
        return named
    ranking = rank_passages(index, query, wanted, depth)
    if query.class_kinds and wanted.kind is None:
        of_kind = _rank_class(index, query, wanted, depth)
        ranking = put_first(of_kind, ranking)._replace(missing=ranking.missing, is_list=True)
    if is_overview(question.text, query):
        return rank_overview(index, wanted, depth)
    if not ranking.threads:
        kinds = dict.fromkeys((*query.class_kinds, *_name_kinds(query).values())) if wanted.kind is None else ()
        return _list_newest(index, kinds, wanted, depth)._replace(missing=ranking.missing, is_list=True)
    days = question.period.days if question.period is not None else ""
    branch = head_branch(ws.branch.store) or ""
    if wanted.is_narrow or branch in TRUNKS:
        return ranking._replace(empty_days=days)
    others = wanted._replace(not_session=wanted.not_session or ws.actor.session)
    return add_newest(ranking, index.newest_on_branch(branch, others, depth))._replace(empty_days=days)


def _rank_named(index: RecallIndex, question: Question, wanted: PassageFilter, depth: int) -> Ranking | None:
    """Return what is of the session or the days that a question names, first; None if it names none, or none here."""
    if wanted.session is None:
        of_session = _rank_session(index, question.text, wanted, depth)
        if of_session is not None:
            return of_session
    return _rank_days(index, question.period, wanted, depth) if question.period is not None else None


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


def _rank_days(index: RecallIndex, period: Period, wanted: PassageFilter, depth: int) -> Ranking | None:
    """Return what matches on the days that a question names, before what matches on others; None if nothing is of them.

    If nothing of these days has a word of the question, what was done and recorded then is told nevertheless ("what did
    we ship on Friday"): first, if the question says nothing else, and otherwise after the best matches.
    """
    since, until = max(period.since, wanted.since or ""), min(period.until, wanted.until or period.until)
    inside = wanted._replace(since=since, until=until)
    query = expand_class(period.rest, parse_question(period.rest))
    kinds = _rank_kinds(index, query, inside, depth)
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


def _rank_class(index: RecallIndex, query: Query, wanted: PassageFilter, depth: int) -> Ranking:
    """Return the records of a class that match the subject of the question, or the newest if it has none."""
    if not query.strong - query.class_words:
        return _list_newest(index, query.class_kinds, wanted, depth)
    rankings = [rank_passages(index, query, wanted._replace(kind=kind), depth) for kind in query.class_kinds]
    return reduce(put_first, rankings)


def _list_newest(index: RecallIndex, kinds: Iterable[str], wanted: PassageFilter, depth: int) -> Ranking:
    return reduce(put_first, [rank_overview(index, wanted._replace(kind=kind), depth) for kind in kinds], Ranking([]))


def _rank_kinds(index: RecallIndex, query: Query, wanted: PassageFilter, depth: int) -> Ranking:
    """Return the newest records of the kinds that a question names ("which decisions"), if it says nothing else."""
    kinds = _find_kinds(query) if wanted.kind is None else ()
    return _list_newest(index, kinds, wanted, depth)._replace(is_list=True)


def _find_kinds(query: Query) -> list[str]:
    """Return the kinds of records that a question names (`decisions`), if it has no other strong words."""
    named = _name_kinds(query)
    return list(dict.fromkeys(named.values())) if query.strong <= named.keys() else []


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
    words = {word for word, kind in _name_kinds(query).items() if kind in found}
    return words | {name for name, parts in query.compounds if parts <= words}


def _workspaces(ws: Workspace, question: Question) -> list[Workspace]:
    if not question.all_namespaces:
        return [ws]
    names = list_namespaces(ws.branch.store, ws.branch.prefix)
    others = [name for name in names if name != ws.branch.namespace]
    return [ws, *(replace(ws, branch=replace(ws.branch, namespace=name)) for name in others)]
