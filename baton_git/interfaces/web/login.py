"""`/login` and `/logout`: exchange the token of the page for a cookie and a CSRF token.

Browsers send the cookie to every server on this host, whatever its port. Forms must therefore also contain the CSRF
token, which only the response to the login contains. The page's script stores it where only pages of this origin can
read it.
"""

from __future__ import annotations

import math
from dataclasses import replace

from starlette.responses import RedirectResponse, Response

from baton_git.core.output import count_noun
from baton_git.interfaces.web.page_controller import PageRequest, PageRoute, set_cookie
from baton_git.interfaces.web.session_cookie import PERSON
from baton_git.interfaces.web.texts import next_page


def log_in(request: PageRequest) -> Response:
    """Log in a visitor who sent the right token; otherwise show the form again, with the reason."""
    wait = request.access.try_token(request.form.get("token", "").strip(), request.names["client"])
    if wait is None:
        return _grant_access(request)
    if wait > 0:
        seconds = math.ceil(wait)
        problem = f"Too many attempts. Try again in {count_noun(seconds, 'second')}."
        return _render_login(request, 429, problem, seconds)
    return _render_login(request, 403, f"That is not the {'page' if request.access.is_apart else 'server'}'s token.")


def show_login(request: PageRequest) -> Response:
    if request.access.allows(request.visitor):
        return RedirectResponse(next_page(request.query.get("next", "")), 303)
    return request.render("login.html", problem="", next=next_page(request.query.get("next", "")))


def _render_login(request: PageRequest, status: int, problem: str, wait: int = 0) -> Response:
    next_ = next_page(request.form.get("next", ""))
    response = request.render("login.html", status=status, problem=problem, next=next_)
    if wait:
        response.headers["Retry-After"] = str(wait)
    return response


def _grant_access(request: PageRequest) -> Response:
    visitor = request.access.make_visitor(PERSON)
    next_ = next_page(request.form.get("next", ""))
    response = replace(request, visitor=visitor).render(
        "entered.html", csrf_token=request.access.make_csrf_token(visitor), next=next_
    )
    set_cookie(response, request, visitor)
    return response


def log_out(request: PageRequest) -> Response:
    request.access.revoke(request.visitor)
    response = RedirectResponse("/login" if request.access.requires_token else "/", 303)
    set_cookie(response, request, None)
    return response


PAGES = {
    "/login": PageRoute(show_login, log_in),
    "/logout": PageRoute(show_login, log_out, needs_csrf_token=False),
}
"""The handlers by path."""
