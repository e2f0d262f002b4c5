"""`/n/…/recall`: a question, and what earlier sessions and records say about it."""

from __future__ import annotations

from starlette.responses import Response

from baton_git.core.errors import BatonError
from baton_git.interfaces.http.problems import status_of
from baton_git.interfaces.web.page_controller import PageRequest, PageRoute
from baton_git.interfaces.web.texts import sentence
from baton_git.recall.terms import MAX_QUESTION
from baton_git.verbs.revisions.recall import recall

BUDGET = 12_000
"""Bytes of an answer on a page."""


def show_answer(request: PageRequest) -> Response:
    question = request.query.get("q", "").strip()[:MAX_QUESTION]
    with request.work() as ws:
        if not question:
            return request.render("recall.html", ws, question="", result=None, problem="")
        try:
            result = recall(ws, request.site.now(), question=question, budget=BUDGET)
        except BatonError as error:
            return request.render(
                "recall.html", ws, status=status_of(error), question=question, result=None, problem=sentence(error)
            )
        return request.render("recall.html", ws, question=question, result=result, problem="")


PAGES = {"/n/{component}/recall": PageRoute(show_answer)}
