"""The pages where a person allows something: the check of a loop, a remote, the rule of a pattern."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import unquote

from starlette.responses import Response

from baton_git.core.errors import InvalidArgument, NotFound
from baton_git.core.records.work_items import Pattern
from baton_git.git.remotes import mask_logins
from baton_git.interfaces.web.actions.outcomes import digest
from baton_git.interfaces.web.page_controller import PageRequest
from baton_git.interfaces.web.texts import sentence
from baton_git.namespace.remote_selection import check_configured, find_remote_url
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.verification.consent import approve_check, find_loop_with_check, list_waiting_checks
from baton_git.verbs.verification.trust import distrust_remote, trust_remote, trusts_remote
from baton_git.verbs.work_items.patterns import ask_about_rule, graduate_pattern

# --- `/n/…/trust`: show what the check of an open loop would do on this machine, and approve it


def show_check(request: PageRequest) -> Response:
    with request.work() as ws:
        return _render_check(request, ws)


def _render_check(request: PageRequest, ws: Workspace, status: int = 200, problem: str = "") -> Response:
    loop, verify = find_loop_with_check(ws, request.query.get("id", ""))
    waiting = list_waiting_checks(ws).get(loop.id)
    return request.render(
        "trust.html", ws, status=status, problem=problem, loop=loop, check=verify.as_data(),
        why=waiting[1].partition("; run: ")[0] if waiting is not None else "", shown=digest(verify.as_data()),
    )  # fmt: skip


def approve_shown_check(request: PageRequest) -> Response:
    """Approve the check, if it is still the one that the page showed."""
    id_ = request.query.get("id", "")
    request.require_person("baton", "trust", id_)
    with request.work() as ws:
        loop, verify = find_loop_with_check(ws, id_)
        if request.form.get("shown") != digest(verify.as_data()):
            return _render_check(request, ws, 409, "The check has changed since it was shown. Nothing was approved.")
        try:
            approve_check(ws, request.site.now(), loop.id, verify)
        except InvalidArgument as error:
            return _render_check(request, ws, 422, sentence(error))
        return request.redirect_to("record", "trusted", kind=loop.kind, id=loop.id, about=loop.id)


# --- `/n/…/trust-remote?remote=…`: trust a remote on this machine, or stop trusting it


def show_remote(request: PageRequest) -> Response:
    with request.work() as ws:
        return _render_remote(request, ws, _find_remote(request, ws))


def settle_remote(request: PageRequest) -> Response:
    """Trust the remote at the address that the page showed, or stop trusting it.

    Raises:
        NeedsHuman: a click on this page does not count as a person's confirmation.
    """
    with request.work() as ws:
        name = _find_remote(request, ws)
        if trusts_remote(ws, name):
            distrust_remote(ws, name)
            return request.redirect_to("review", "remote-distrusted")
        request.require_person("baton", "trust", "--from", name)
        if request.form.get("shown") != digest({"address": find_remote_url(ws, name)}):
            return _render_remote(
                request, ws, name, 409, "The address has changed since it was shown. The remote is not trusted."
            )
        trust_remote(ws, request.site.now(), name)
        return request.redirect_to("review", "remote-trusted")


def _find_remote(request: PageRequest, ws: Workspace) -> str:
    name = check_configured(ws, request.query.get("remote", ""))
    if name is None:
        raise NotFound("remote", "")
    return name


def _render_remote(request: PageRequest, ws: Workspace, name: str, status: int = 200, problem: str = "") -> Response:
    url = find_remote_url(ws, name)
    return request.render(
        "trust-remote.html", ws, status=status, problem=problem, remote=name, url=mask_logins(url),
        is_trusted=trusts_remote(ws, name), shown=digest({"address": url}),
    )  # fmt: skip


# --- `/n/…/graduate`: turn a pattern into a rule. A logged-in person confirms the rule by typing the pattern's id


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
    request.require_person("baton", "pattern", "graduate", request.query.get("id", "ID"))
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
        if not text:
            raise InvalidArgument(f"pattern {pattern.id} has no proposed rule", hint="propose one first")
        question = ask_about_rule(pattern, text)
        if not question.is_confirmed_by(request.form.get("typed", "")):
            problem = "This is not the id of the pattern. Nothing was confirmed."
            return _render_pattern(request, ws, pattern, text, 422, problem)
        confirmed = question.confirm(request.site.person, "page")
        graduated = graduate_pattern(replace(ws, confirmed=confirmed), request.site.now(), pattern.id, rule=text)
        return request.redirect_to("board", "graduated", graduated.commit)
