"""Every page comes in through one place: who asks, whether the form is ours, what goes wrong, and how it looks."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from fastapi.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from baton_git.core.errors import BatonError, InvalidArgument, InvalidName, NotFound
from baton_git.core.kinds import KINDS
from baton_git.core.names import Namespace
from baton_git.core.output import one_line
from baton_git.core.records.conflict import Conflict
from baton_git.core.state import State
from baton_git.interfaces.http.guard import is_own_page
from baton_git.interfaces.http.problems import RETRY_AFTER, status_of
from baton_git.interfaces.http.site import Site
from baton_git.interfaces.web.session_cookie import LOGIN_SECONDS, PERSON, Door, Visitor
from baton_git.interfaces.web.templating import rendered
from baton_git.interfaces.web.texts import address, quoted, sentence
from baton_git.namespace.remote_selection import waiting_counts
from baton_git.namespace.revision import Revision
from baton_git.namespace.workspace import Workspace

MAX_FIELDS = 5000
FORM = "application/x-www-form-urlencoded"

TITLES = {
    403: "That is not allowed", 404: "There is no such thing here", 409: "Somebody changed this meanwhile",
    410: "That is over", 413: "That is too large", 415: "That is no form",
    422: "That does not fit", 429: "Too many attempts",
    503: "Others are writing just now", 504: "The other side did not answer",
}  # fmt: skip

log = logging.getLogger("baton.http")


class Frame(NamedTuple):
    """What the head of every page of a namespace shows."""

    namespace: str
    component: str
    commit: str | None
    revision: int
    conflicts: int
    waiting: int
    state: State

    def place(self, kind: str, id_: str, *, archived: bool = False) -> str | None:
        """Where a record of this id can be looked at: live or archived; None where it is not here."""
        if kind not in KINDS:
            return None
        places = [(word, id_ in self.state.ids(kind, archived=word == "archived")) for word in ("live", "archived")]
        return next((word for word, is_here in (places[::-1] if archived else places) if is_here), None)


@dataclass(frozen=True)
class Asked:
    """One request for a page.

    Attributes:
        names: what stands in the path; `client` is the address that asks.
        is_safe: whether the browser talks to us, or to a proxy before us, over TLS.
        form: the fields of a form that was sent; the mark was looked at already.
    """

    site: Site
    door: Door
    visitor: Visitor
    path: str
    address: str
    names: Mapping[str, str]
    query: Mapping[str, str]
    form: Mapping[str, str]
    is_safe: bool = False

    @cached_property
    def namespace(self) -> Namespace:
        component = self.names["component"]
        try:
            return Namespace.from_component(component)
        except InvalidName:
            raise NotFound("namespace", component) from None

    @contextmanager
    def work(self) -> Iterator[Workspace]:
        """The namespace that is meant.

        Raises:
            NotFound: it does not exist.
        """
        with self.site.work(self.namespace.text) as ws:
            if ws.branch.store.tip(ws.branch.ref) is None:
                raise NotFound("namespace", str(self.namespace), hint="baton init makes one")
            yield ws

    @property
    def no_person(self) -> str:
        """Why a click is no person's word; empty where it is: behind a token of the page that no agent has."""
        if self.site.agent is not None:
            return f"an agent started this server ({self.site.agent}), so a click here is no person's word"
        if not self.door.is_apart:
            return "agents may use this page too, and it is for people alone only with BATON_PAGE_TOKEN"
        return "" if self.visitor.kind == PERSON else "nobody is logged in"

    def number(self, name: str, default: int = 1, most: int = 100_000) -> int:
        """A whole number of the query, at least 1; what is none counts as the default."""
        text = self.query.get(name, "")
        return min(max(1, int(text)), most) if text.isdecimal() and len(text) < 10 else default

    def page(self, template: str, ws: Workspace | None = None, *, status: int = 200, **data: Any) -> Response:
        """A page in the common look; of a namespace where its workspace is given."""
        shared = {
            "judge": ws.judgement() if ws is not None else None,
            "frame": frame_of(ws) if ws is not None else None,
            "mark": "" if self.visitor.kind == PERSON else self.door.mark(self.visitor),
            "login": self.door.login(self.visitor),
            "has_lock": self.door.has_lock, "is_apart": self.door.is_apart,
            "no_person": self.no_person, "now": self.site.now(), "path": self.path,
            "here": template.removesuffix(".html"), "done": self.query.get("done", ""),
            "is_in": self.door.lets_in(self.visitor),
        }  # fmt: skip
        return HTMLResponse(rendered(template, {**shared, **data}), status)

    def to(self, page: str, **query: object) -> Response:
        """To another page of the namespace, after something was done."""
        return RedirectResponse(address(self.namespace.component, page, **query), 303)

    def _near(self) -> Workspace | None:
        """The namespace that an error is about, so that its page keeps the tabs; None where it cannot be shown."""
        if "component" not in self.names or not self.door.lets_in(self.visitor):
            return None
        with suppress(BatonError), self.work() as ws:
            frame_of(ws)
            return ws
        return None

    def error(self, status: int, message: str, hint: str = "") -> Response:
        title = TITLES.get(status, "That did not work")
        back = self.address if status in (409, 503) else None
        message = sentence(message)
        if status == 404 or ("baton " in hint and "terminal" not in hint):
            hint = ""  # it is about commands, which a page does not have
        return self.page(
            "error.html",
            None if status == 500 else self._near(),
            status=status,
            title=title,
            message=message,
            hint=hint,
            back=back,
        )


Handler = Callable[[Asked], Response]


class Page(NamedTuple):
    """What answers at an address. `is_open`: whoever is not logged in may see it as well; `is_sealed`: its form must
    bring what only a page of ours can know."""

    get: Handler
    post: Handler | None = None
    is_open: bool = False
    is_sealed: bool = True


def frame_of(ws: Workspace, version: Revision | None = None) -> Frame:
    version = version or ws.branch.read()
    contested = len(version.state.ids(Conflict.kind))
    waiting = sum(one.commits for one in waiting_counts(ws))
    name = ws.branch.namespace
    return Frame(str(name), name.component, version.commit, version.number, contested, waiting, version.state)


@dataclass(frozen=True)
class Desk:
    """Answers requests for pages."""

    site: Site
    door: Door

    def endpoint(self, page: Page) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            body = await request.body() if request.method == "POST" else b""
            return await run_in_threadpool(self._answer, page, request, body)

        return answer

    def _answer(self, page: Page, request: Request, body: bytes) -> Response:
        known = self.door.visitor(request.cookies.get(self.door.cookie))
        asked = self.asked(request, known or self.door.welcome())
        try:
            sort = request.headers.get("content-type", "")
            sent = body if request.method == "POST" else None
            is_ours = known is not None and is_own_page(request.headers)
            response = self._checked(page, asked, is_ours, sent, sort)
        except BatonError as error:
            response = _told(asked, error)
        except Exception:  # the boundary of the pages: what comes here is a bug, and is logged as one
            log.exception("a bug in baton itself: %s %s", request.method, one_line(asked.path, 1000))
            response = asked.error(500, "a bug in baton itself; the server's log has the details")
        if known is None and self.door.cookie not in response.headers.get("set-cookie", ""):
            remember(response, asked, asked.visitor)
        return response

    def asked(self, request: Request, visitor: Visitor) -> Asked:
        query = f"?{request.url.query}" if request.url.query else ""
        here = quoted(request.url.path).replace("%2F", "/") + query
        names = {name: str(value) for name, value in request.path_params.items()}
        names["client"] = request.client.host if request.client else ""
        is_safe = "https" in (request.url.scheme, request.headers.get("x-forwarded-proto"))
        path, asked = request.url.path, dict(request.query_params)
        return Asked(self.site, self.door, visitor, path, here, names, asked, {}, is_safe)

    def _checked(self, page: Page, asked: Asked, is_ours: bool, body: bytes | None, sort: str) -> Response:
        if not page.is_open and not self.door.lets_in(asked.visitor):
            return RedirectResponse(f"/login?next={quoted(asked.address)}", 303)
        if body is None or page.post is None:
            return page.get(asked)
        if sort.partition(";")[0].strip().lower() != FORM:
            return asked.error(415, "Only the forms of this page are accepted.")
        form = form_of(body)
        wait = self._find_fault(page, asked, form) if is_ours else 0.0
        if wait is None:
            return page.post(replace(asked, form=form))
        if wait > 0:
            return asked.error(429, "too many wrong tokens came from this address", "wait a moment")
        return asked.error(403, "this form is not from a page of this server, or is too old", "open the page again")

    def _find_fault(self, page: Page, asked: Asked, form: Mapping[str, str]) -> float | None:
        """None for a form that counts: it brings the mark of its browser, or the token anew. Else the seconds until
        another token is looked at.

        A cookie alone is not enough: other servers on this host receive it.
        """
        if not page.is_sealed or self.door.is_mark(form.get("mark", ""), asked.visitor):
            return None
        is_typed = asked.visitor.kind == PERSON and "key" in form
        return self.door.try_token(form["key"].strip(), asked.names["client"]) if is_typed else 0.0


def remember(response: Response, asked: Asked, visitor: Visitor | None) -> None:
    """Gives the browser its cookie; None takes it away."""
    ticket, lasts = (visitor.ticket, LOGIN_SECONDS) if visitor is not None else ("", 0)
    response.set_cookie(
        asked.door.cookie, ticket, lasts, path="/", secure=asked.is_safe, httponly=True, samesite="strict"
    )


def _told(asked: Asked, error: BatonError) -> Response:
    status = status_of(error)
    response = asked.error(status, str(error), error.hint)
    if status == 503:
        response.headers.update(RETRY_AFTER)
    return response


def form_of(body: bytes) -> dict[str, str]:
    """The fields of a form as a browser sends it; line ends are as everywhere else.

    Raises:
        InvalidArgument: it is none.
    """
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except ValueError:
        raise InvalidArgument("this is no form") from None
    return {name: value.replace("\r\n", "\n") for name, value in pairs}
