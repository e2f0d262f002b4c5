"""`/login` and `/logout`: the token of the page, once, for a cookie."""

from __future__ import annotations

import math
from urllib.parse import urlsplit

from starlette.responses import RedirectResponse, Response

from baton_git.faces.web.attempts import Attempts
from baton_git.faces.web.desk import Asked, Page, remember
from baton_git.faces.web.door import PERSON
from baton_git.faces.web.texts import count_words


def pages() -> dict[str, Page]:
    """The pages, with the attempts of this process."""
    attempts = Attempts()

    def enter(asked: Asked) -> Response:
        address = asked.names["client"]
        wait = attempts.begin(address)
        if wait > 0:
            return _again(
                asked,
                429,
                f"Too many attempts. Try again in {count_words(math.ceil(wait), 'second')}.",
                math.ceil(wait),
            )
        if not asked.door.is_key(asked.form.get("token", "").strip()):
            return _again(asked, 403, f"That is not the {'page' if asked.door.is_apart else 'server'}'s token.")
        attempts.succeeded(address)
        return _entered(asked)

    return {"/login": Page(ask, enter, is_open=True), "/logout": Page(ask, leave, is_open=True)}


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
    response = RedirectResponse(next_page(asked.form.get("next", "")), 303)
    remember(response, asked, asked.door.welcome(PERSON))
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
