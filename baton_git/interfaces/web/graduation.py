"""`/n/…/graduate`: a pattern becomes a rule by a person's word: a click with a confirmation, behind the token."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import unquote

from starlette.responses import Response

from baton_git.core.errors import InvalidArgument, NeedsHuman
from baton_git.core.lifecycle import Confirmed
from baton_git.core.records.work_items import Pattern
from baton_git.interfaces.web.form_digest import digest
from baton_git.interfaces.web.page_controller import Asked, Page
from baton_git.interfaces.web.texts import command
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.patterns import graduate_pattern


def show(asked: Asked) -> Response:
    """The pattern, and the exact text that it would become: the proposed one, or another that was asked for."""
    with asked.work() as ws:
        pattern = _pattern(asked, ws)
        text = asked.query.get("rule", "").strip() or pattern.proposed_rule or ""
        return _shown(asked, ws, pattern, text)


def _pattern(asked: Asked, ws: Workspace) -> Pattern:
    return ws.branch.read().state.get(Pattern, asked.query.get("id", ""))


def _shown(asked: Asked, ws: Workspace, pattern: Pattern, text: str, status: int = 200, problem: str = "") -> Response:
    return asked.page(
        "graduate.html", ws, status=status, pattern=pattern, rule=text, shown=digest(pattern.as_data(), text),
        problem=problem,
    )  # fmt: skip


def settle(asked: Asked) -> Response:
    if asked.no_person:
        raise NeedsHuman(
            asked.no_person,
            hint="in a terminal: "
            + command("baton", "pattern", "graduate", asked.query.get("id", "ID"), namespace=str(asked.namespace)),
        )
    with asked.work() as ws:
        pattern = _pattern(asked, ws)
        wording = unquote(asked.form.get("rule", ""))
        text = wording or pattern.proposed_rule or ""
        if pattern.status == "graduated":
            return _shown(asked, ws, pattern, text, 409, f"{pattern.id} is a rule already. Nothing more was done.")
        if asked.form.get("shown") != digest(pattern.as_data(), text):
            problem = (
                "The pattern, or the rule, has changed since it was shown. Nothing was confirmed; read it as it is now."
            )
            return _shown(asked, ws, pattern, pattern.proposed_rule or "", 409, problem)
        if asked.form.get("typed", "").strip() != pattern.id:
            problem = "What was typed is not the id of the pattern. Nothing was confirmed."
            return _shown(asked, ws, pattern, text, 422, problem)
        if not text:
            raise InvalidArgument(f"pattern {pattern.id} has no proposed rule", hint="propose one first")
        word = Confirmed(asked.site.person, "page", pattern=pattern.id, rule=text, what=pattern.what)
        graduate_pattern(replace(ws, confirmed=word), asked.site.now(), pattern.id, rule=text)
        return asked.to("board", done="graduated")


PAGES = {"/n/{component}/graduate": Page(show, settle)}
