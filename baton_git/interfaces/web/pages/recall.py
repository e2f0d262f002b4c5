"""`/n/…/recall`, `/search`: records that contain a text, and the answer of recall."""

from __future__ import annotations

from starlette.responses import Response

from baton_git.core.errors import BatonError
from baton_git.interfaces.http.problems import status_of
from baton_git.interfaces.web.page_controller import PageRequest
from baton_git.interfaces.web.texts import sentence
from baton_git.recall.terms import MAX_QUESTION
from baton_git.verbs.records.listing import list_records
from baton_git.verbs.revisions.recall import RecallResult, recall

BUDGET = 12_000
"""Maximum size of an answer on a page, in bytes."""
MOST_RECORDS = 12


def show_answer(request: PageRequest) -> Response:
    question = request.query.get("q", "").strip()[:MAX_QUESTION]
    with request.work() as ws:
        if not question:
            return request.render("recall.html", ws, question="", records=(), result=None, problem="")
        result: RecallResult | None = None
        status, problem = 200, ""
        try:
            result = recall(ws, request.site.now(), question=question, budget=BUDGET)
        except BatonError as error:
            status, problem = status_of(error), sentence(error)
        records = list_records(ws, request.site.now(), about=question, limit=MOST_RECORDS).records
        return request.render(
            "recall.html", ws, status=status, question=question, records=records, result=result, problem=problem
        )


def show_everywhere(request: PageRequest) -> Response:
    """Show the answer of recall from all namespaces."""
    question = request.query.get("q", "").strip()[:MAX_QUESTION]
    names = request.site.namespaces()
    if not question or not names:
        return request.render("search.html", question=question, result=None, problem="")
    try:
        with request.site.work(names[0].text) as ws:
            result = recall(ws, request.site.now(), question=question, budget=BUDGET, all_projects=True)
    except BatonError as error:
        return request.render(
            "search.html", status=status_of(error), question=question, result=None, problem=sentence(error)
        )
    components = {str(name): name.component for name in names}
    return request.render("search.html", question=question, result=result, components=components, problem="")
