"""`/n/…/graduate`: turn a pattern into a rule. A logged-in person confirms the rule by typing the pattern's id."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import unquote

from starlette.responses import Response

from baton_git.core.errors import InvalidArgument, NeedsHuman
from baton_git.core.lifecycle import Confirmed
from baton_git.core.records.work_items import Pattern
from baton_git.interfaces.web.actions.form_digest import digest
from baton_git.interfaces.web.page_controller import PageRequest
from baton_git.interfaces.web.texts import command
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.work_items.patterns import graduate_pattern


def show_pattern(request: PageRequest) -> Response:
    """Show the pattern and the exact text of the rule: the proposed one, or one from the query."""
    with request.work() as ws:
        pattern = _read_pattern(request, ws)
        text = request.query.get("rule", "").strip() or pattern.proposed_rule or ""
        return _render_pattern(request, ws, pattern, text)


def _read_pattern(request: PageRequest, ws: Workspace) -> Pattern:
    return ws.branch.read().state.get(Pattern, request.query.get("id", ""))


def _render_pattern(
    request: PageRequest, ws: Workspace, pattern: Pattern, text: str, status: int = 200, problem: str = ""
) -> Response:
    return request.render(
        "graduate.html", ws, status=status, pattern=pattern, rule=text, shown=digest(pattern.as_data(), text),
        problem=problem,
    )  # fmt: skip


def settle_pattern(request: PageRequest) -> Response:
    """Turn the pattern into a rule, if the id was typed and the pattern is still the one that the page showed.

    Raises:
        NeedsHuman: a click on this page does not count as a person's confirmation.
        InvalidArgument: neither the form nor the pattern has a text for the rule.
    """
    if request.no_person:
        raise NeedsHuman(
            request.no_person,
            hint="in a terminal: "
            + command("baton", "pattern", "graduate", request.query.get("id", "ID"), namespace=str(request.namespace)),
        )
    with request.work() as ws:
        pattern = _read_pattern(request, ws)
        wording = unquote(request.form.get("rule", ""))
        text = wording or pattern.proposed_rule or ""
        if pattern.status == "graduated":
            return _render_pattern(
                request, ws, pattern, text, 409, f"{pattern.id} is already a rule. Nothing was changed."
            )
        if request.form.get("shown") != digest(pattern.as_data(), text):
            problem = (
                "The pattern or its rule has changed since it was shown; this is the new state. Nothing was confirmed."
            )
            return _render_pattern(request, ws, pattern, pattern.proposed_rule or "", 409, problem)
        if request.form.get("typed", "").strip() != pattern.id:
            problem = "This is not the id of the pattern. Nothing was confirmed."
            return _render_pattern(request, ws, pattern, text, 422, problem)
        if not text:
            raise InvalidArgument(f"pattern {pattern.id} has no proposed rule", hint="propose one first")
        confirmation = Confirmed(request.site.person, "page", pattern=pattern.id, rule=text, what=pattern.what)
        graduated = graduate_pattern(replace(ws, confirmed=confirmation), request.site.now(), pattern.id, rule=text)
        return request.redirect_to("board", "graduated", graduated.commit)
