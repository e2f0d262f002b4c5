"""Recall: from a question to the answer, over one namespace or all of a repository."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from baton_git.agents.turn_store import turns_folder
from baton_git.core.errors import Busy
from baton_git.namespace.namespaces import list_namespaces
from baton_git.namespace.workspace import Workspace, fresh_mark
from baton_git.recall.answer import DEFAULT_BUDGET, Answer, compose_answer
from baton_git.recall.index import PassageFilter, RecallIndex
from baton_git.recall.ranking import MIN_EVIDENCE, Ranking, keep_best, rank_overview, rank_passages
from baton_git.recall.sources import update_index
from baton_git.recall.standing import StandingJudge
from baton_git.recall.terms import Query, is_overview, parse_question

NOTHING = Answer("", (), ())


class Question(NamedTuple):
    """What to look for.

    Attributes:
        filter: which passages count; its namespace is that of the workspace unless all count.
        least: the evidence without which nothing is answered, from 0 to 1.
        is_strict: only passages that fit nearly as well as the best are quoted, and no further session is named.
        told: digests of sentences that are left out.
        seconds: for bringing the index up to date; nothing is answered if that takes longer. None: as long as it takes.
    """

    text: str
    budget: int = DEFAULT_BUDGET
    filter: PassageFilter = PassageFilter()
    all_namespaces: bool = False
    least: float = MIN_EVIDENCE
    is_strict: bool = False
    told: Iterable[str] = ()
    seconds: float | None = None


def find_answer(ws: Workspace, question: Question) -> Answer:
    """Return the answer to a question; an empty one if nothing fits it.

    The index is brought up to date first. If another process is at that for long, the answer comes from an index in
    memory.

    Raises:
        Corrupt, StoreError: the branch cannot be read, or this Python's sqlite cannot search texts.
    """
    common_dir = ws.branch.store.repository.common_dir
    if not list_namespaces(ws.branch.store, ws.branch.prefix) and not turns_folder(common_dir).exists():
        return NOTHING  # and nothing is created
    folder = common_dir / "baton" / "recall"
    try:
        with RecallIndex.open(folder) as index:
            return answer_from(index, ws, question)
    except Busy:
        with RecallIndex.in_memory() as index:
            return answer_from(index, ws, question)


def answer_from(index: RecallIndex, ws: Workspace, question: Question) -> Answer:
    """Return the answer from an index, after bringing it up to date. Raises as `find_answer` does, and Busy."""
    workspaces = _workspaces(ws, question)
    for workspace in workspaces:
        if not update_index(index, workspace.branch, question.seconds):
            return NOTHING
    query = parse_question(question.text)
    ranking = _rank(index, ws, question, query)
    if ranking is None:
        return NOTHING
    judges = {workspace.branch.namespace.text: StandingJudge(workspace, index) for workspace in workspaces}
    own = judges[ws.branch.namespace.text]
    return compose_answer(
        ranking,
        query,
        lambda passage: judges.get(passage.namespace, own).judge(passage),
        fresh_mark(),
        question.budget,
        question.told,
    )


def _rank(index: RecallIndex, ws: Workspace, question: Question, query: Query) -> Ranking | None:
    """Return the passages that fit; None if too little does."""
    namespace = None if question.all_namespaces else ws.branch.namespace.text
    wanted = question.filter._replace(namespace=namespace)
    ranking = rank_passages(index, query, wanted)
    if ranking.evidence >= question.least and ranking.ranked:
        return keep_best(ranking) if question.is_strict else ranking
    if is_overview(question.text, query) and not question.is_strict:
        overview = rank_overview(index, query, wanted)
        return overview if overview.ranked else None
    return None


def _workspaces(ws: Workspace, question: Question) -> list[Workspace]:
    if not question.all_namespaces:
        return [ws]
    names = list_namespaces(ws.branch.store, ws.branch.prefix)
    others = [name for name in names if name != ws.branch.namespace]
    return [ws, *(replace(ws, branch=replace(ws.branch, namespace=name)) for name in others)]
