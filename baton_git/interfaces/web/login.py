"""`/login` and `/logout`: the token of the page, once, for a cookie and a seal.

The cookie goes to every server on this host, whatever its port. The seal, which forms must bring, is told in the answer
to the login alone; the page's script keeps it where only pages of this very origin can read it.
"""

from __future__ import annotations

import math
from dataclasses import replace
from urllib.parse import urlsplit

from starlette.responses import RedirectResponse, Response

from baton_git.interfaces.web.page_controller import Asked, Page, remember
from baton_git.interfaces.web.session_cookie import PERSON
from baton_git.interfaces.web.texts import count_words


def enter(asked: Asked) -> Response:
    wait = asked.door.try_token(asked.form.get("token", "").strip(), asked.names["client"])
    if wait is None:
        return _entered(asked)
    if wait > 0:
        seconds = math.ceil(wait)
        said = f"Too many attempts. Try again in {count_words(seconds, 'second')}."
        return _again(asked, 429, said, seconds)
    return _again(asked, 403, f"That is not the {'page' if asked.door.is_apart else 'server'}'s token.")


def ask(asked: Asked) -> Response:
    if asked.door.lets_in(asked.visitor):
        return RedirectResponse(next_page(asked.query.get("next", "")), 303)
    return asked.page("login.html", problem="", next=next_page(asked.query.get("next", "")))


def _again(asked: Asked, status: int, problem: str, wait: int = 0) -> Response:
    next_ = next_page(asked.form.get("next", ""))
    response = asked.page("login.html", status=status, problem=problem, next=next_)
    if wait:
        response.headers["Retry-After"] = str(wait)
    return response


def _entered(asked: Asked) -> Response:
    visitor = asked.door.welcome(PERSON)
    next_ = next_page(asked.form.get("next", ""))
    response = replace(asked, visitor=visitor).page("entered.html", seal=asked.door.mark(visitor), next=next_)
    remember(response, asked, visitor)
    return response


def leave(asked: Asked) -> Response:
    asked.door.refuse(asked.visitor)
    response = RedirectResponse("/login" if asked.door.has_lock else "/", 303)
    remember(response, asked, None)
    return response


def next_page(text: str) -> str:
    """Where to go on to: only to a page of ours."""
    parts = urlsplit(text) if text.isascii() and text.isprintable() and "\\" not in text else None
    is_ours = parts is not None and not parts.scheme and not parts.netloc and text.startswith(("/n/", "/?"))
    return text if is_ours else "/"


PAGES = {
    "/login": Page(ask, enter, is_open=True),
    "/logout": Page(ask, leave, is_open=True, is_sealed=False),
}
"""The addresses, and what answers there."""
