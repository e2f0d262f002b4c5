"""Handle requests for pages: check the visitor and the form, call the page, and render errors."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from baton_git.core.diff import RecordChange
from baton_git.core.errors import BatonError, BranchMoved, InvalidArgument, InvalidName, NeedsHuman, NotFound, shorten
from baton_git.core.kinds import KINDS
from baton_git.core.names import Namespace
from baton_git.core.output import one_line
from baton_git.core.records.conflict import Conflict
from baton_git.core.sessions import SessionNames, list_session_ids
from baton_git.core.state import State
from baton_git.interfaces.context.hint_words import say_for_page
from baton_git.interfaces.http.guard import is_own_page
from baton_git.interfaces.http.responses import RETRY_AFTER, status_of
from baton_git.interfaces.http.site import Site
from baton_git.interfaces.web.notices import NOTICE_FIELDS, read_notice
from baton_git.interfaces.web.session_cookie import LOGIN_SECONDS, PERSON, PageAccess, Visitor
from baton_git.interfaces.web.templating import render_template
from baton_git.interfaces.web.texts import address, command, quote_value, sentence
from baton_git.namespace.commit_log import LogEntry
from baton_git.namespace.remote_selection import count_waiting_commits
from baton_git.namespace.revision import Revision
from baton_git.namespace.workspace import Workspace

MAX_FIELDS = 5000
FORM = "application/x-www-form-urlencoded"

TITLES = {
    403: "Not allowed", 404: "Not found", 409: "Changed in the meantime",
    410: "No longer available", 413: "Too large", 415: "Not a form",
    422: "Invalid input", 429: "Too many attempts",
    503: "Busy", 504: "The remote did not answer",
}  # fmt: skip

BRANCH_MOVED = "Another program moved or deleted the branch"

log = logging.getLogger("baton.http")


class Frame(NamedTuple):
    """The data in the header of every page of a namespace.

    Attributes:
        conflicts: the number of open conflicts.
        waiting: the number of commits that wait for review.
        sessions: the short names of the sessions.
    """

    namespace: str
    component: str
    commit: str | None
    revision: int
    conflicts: int
    waiting: int
    state: State
    sessions: SessionNames

    def describe_commit(self, entry: LogEntry, changes: Iterable[RecordChange] = ()) -> str:
        """Return the subject of a commit with the short names of its sessions."""
        ids = (*(change.id for change in changes), *filter(None, (entry.session,)))
        return self.sessions.shorten_in(entry.subject, ids)

    def find_location(self, kind: str, id_: str, *, archived: bool = False) -> str | None:
        """Return whether the record is `live` or `archived`; None if it is neither.

        If it is both, `archived` decides.
        """
        if kind not in KINDS:
            return None
        locations = ("archived", "live") if archived else ("live", "archived")
        return next((name for name in locations if id_ in self.state.ids(kind, archived=name == "archived")), None)


@dataclass(frozen=True)
class PageRequest:
    """One request for a page.

    Attributes:
        address: the path and the query, quoted.
        names: the parameters of the path; `client` is the address of the client.
        is_safe: whether the browser is connected by TLS to this server, or to a proxy in front of it.
        form: the fields of the submitted form; a `post` handler gets them only after the check that its `PageRoute`
            requires.
    """

    site: Site
    access: PageAccess
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
        """Yield a workspace of the namespace in the path.

        Raises:
            NotFound: the namespace does not exist.
        """
        with self.site.work(self.namespace.text) as ws:
            ws.branch.check_exists()
            yield ws

    @property
    def no_person(self) -> str:
        """Why a click does not count as a person's confirmation; empty if it does."""
        if self.site.agent is not None:
            reason = f"an agent started this server ({self.site.agent})"
        elif not self.access.is_apart:
            reason = "agents can use this page too: it has no token of its own (BATON_PAGE_TOKEN)"
        elif self.visitor.kind != PERSON:
            reason = "nobody is logged in"
        else:
            return ""
        return f"a click on this page does not count as a person's confirmation, because {reason}"

    def require_person(self, *words: str) -> None:
        """Refuse what only a person can confirm, unless a click on this page counts as a person's confirmation.

        Args:
            words: the command that a person can run instead.

        Raises:
            NeedsHuman: a click on this page does not count.
        """
        if self.no_person:
            line = command(*words, namespace=str(self.namespace))
            raise NeedsHuman(self.no_person, hint=f"in a terminal: {line}")

    def read_number(self, name: str, default: int = 1, most: int = 100_000) -> int:
        """Return a whole number of the query, limited to 1 to `most`; `default` if it is not a number."""
        text = self.query.get(name, "")
        return min(max(1, int(text)), most) if text.isdecimal() and len(text) < 10 else default

    def render(self, template: str, ws: Workspace | None = None, *, status: int = 200, **data: Any) -> Response:
        """Render a template inside the common frame, with the namespace's tabs if its workspace is given."""
        shared = {
            "judge": ws.shown_judgement() if ws is not None else None,
            "frame": build_frame(ws) if ws is not None else None,
            "csrf_token": "" if self.visitor.kind == PERSON else self.access.make_csrf_token(self.visitor),
            "login": self.access.name_csrf_storage(self.visitor),
            "requires_token": self.access.requires_token, "is_apart": self.access.is_apart,
            "no_person": self.no_person, "now": self.site.now(), "path": self.path,
            "here": template.removesuffix(".html"), "notice": read_notice(self.query),
            "address_here": self.address_here, "is_in": self.access.allows(self.visitor),
            "tips": "",
            "namespaces": self.site.namespaces() if self.access.allows(self.visitor) else (),
        }  # fmt: skip
        return HTMLResponse(render_template(template, {**shared, **data}), status)

    @property
    def address_here(self) -> str:
        """The address of this page without the notice of the last action."""
        path, _, query = self.address.partition("?")
        kept = [part for part in query.split("&") if part and part.partition("=")[0] not in NOTICE_FIELDS]
        return path + (f"?{'&'.join(kept)}" if kept else "")

    def redirect_to(self, page: str, done: str, commit: str | None = None, **query: object) -> Response:
        """Redirect to another page of the namespace after a form was handled.

        Args:
            done: the key of the notice's text.
            commit: the commit that was made; the page offers to undo it.
        """
        component = self.namespace.component
        notice = {"done": done, "commit": commit, "in": component if commit else None}
        return RedirectResponse(address(component, page, **query, **notice), 303)

    def _find_namespace(self) -> Workspace | None:
        """Return the namespace that an error is about, for the tabs of its page; None if it cannot be shown."""
        if "component" not in self.names or not self.access.allows(self.visitor):
            return None
        with suppress(BatonError), self.work() as ws:
            build_frame(ws)
            return ws
        return None

    def render_error(self, status: int, message: str, hint: str = "", title: str = "") -> Response:
        """Render the page of an error; the hint is left out if a visitor of the page cannot follow it."""
        title = title or TITLES.get(status, "Something went wrong")
        back = self.address if status in (409, 503) else None
        message = sentence(message)
        if "baton " in hint and "terminal" not in hint:
            hint = ""  # the hint names commands, which a page does not have
        return self.render(
            "error.html",
            None if status == 500 else self._find_namespace(),
            status=status,
            title=title,
            message=message,
            hint=hint,
            back=back,
        )


Handler = Callable[[PageRequest], Response]


class PageRoute(NamedTuple):
    """The handlers of an address.

    Attributes:
        needs_csrf_token: whether its form must contain the CSRF token.
        ask_again: renders the form again, with a field for the page's token, if a request contains neither that token
            nor the CSRF token.
    """

    get: Handler
    post: Handler | None = None
    needs_csrf_token: bool = True
    ask_again: Handler | None = None


def build_frame(ws: Workspace, revision: Revision | None = None) -> Frame:
    """Return the header of a namespace at a revision, by default the newest."""
    revision = revision or ws.branch.read()
    conflicts = len(revision.state.ids(Conflict.kind))
    waiting = sum(remote.commits for remote in count_waiting_commits(ws))
    name = ws.branch.namespace
    state = revision.state
    sessions = SessionNames(lambda: list_session_ids(state))
    return Frame(str(name), name.component, revision.commit, revision.number, conflicts, waiting, state, sessions)


def address_of(http_request: Request) -> str:
    """Return the path and the query of a request, quoted."""
    query = f"?{http_request.url.query}" if http_request.url.query else ""
    return quote_value(http_request.url.path).replace("%2F", "/") + query


@dataclass(frozen=True)
class PageController:
    """Turns requests for pages into responses."""

    site: Site
    access: PageAccess

    def endpoint(self, page: PageRoute) -> Callable[[Request], Awaitable[Response]]:
        async def answer(http_request: Request) -> Response:
            body = await http_request.body() if http_request.method == "POST" else b""
            return await run_in_threadpool(self._answer, page, http_request, body)

        return answer

    def _answer(self, page: PageRoute, http_request: Request, body: bytes) -> Response:
        known_visitor = self.access.visitor(http_request.cookies.get(self.access.cookie))
        request = self.build_request(http_request, known_visitor or self.access.make_visitor())
        try:
            content_type = http_request.headers.get("content-type", "")
            sent = body if http_request.method == "POST" else None
            foreign = _find_foreign_sign(request, known_visitor, http_request.headers)
            response = self._check_and_handle(page, request, foreign, sent, content_type)
        except BatonError as error:
            response = _render_refusal(request, error)
        except Exception:  # an unexpected exception is a bug, and is logged
            log.exception("a bug in baton itself: %s %s", http_request.method, one_line(request.path, 1000))
            response = request.render_error(500, "a bug in baton itself; the server's log has the details")
        if known_visitor is None and self.access.cookie not in response.headers.get("set-cookie", ""):
            set_cookie(response, request, request.visitor)
        return response

    def build_request(self, http_request: Request, visitor: Visitor) -> PageRequest:
        here = address_of(http_request)
        names = {name: str(value) for name, value in http_request.path_params.items()}
        names["client"] = http_request.client.host if http_request.client else ""
        is_safe = "https" in (http_request.url.scheme, http_request.headers.get("x-forwarded-proto"))
        path, parameters = http_request.url.path, dict(http_request.query_params)
        return PageRequest(self.site, self.access, visitor, path, here, names, parameters, {}, is_safe)

    def _check_and_handle(
        self,
        page: PageRoute,
        request: PageRequest,
        foreign: tuple[str, str] | None,
        body: bytes | None,
        content_type: str,
    ) -> Response:
        if body is None or page.post is None:
            return page.get(request)
        if content_type.partition(";")[0].strip().lower() != FORM:
            return request.render_error(415, "Only the forms of this page are accepted.")
        form = parse_form(body)
        if foreign is not None:
            return request.render_error(403, *foreign)
        wait = self._check_form_token(page, request, form)
        if wait is None:
            return page.post(replace(request, form=form))
        if page.ask_again is not None and "key" not in form:
            return page.ask_again(replace(request, form=form))
        if wait > 0:
            return request.render_error(429, "too many wrong tokens came from this address", "wait a moment")
        return request.render_error(
            403, "this form is too old, or has no valid csrf_token", "open the page again, and send its form"
        )

    def _check_form_token(self, page: PageRoute, request: PageRequest, form: Mapping[str, str]) -> float | None:
        """Return None if the form contains the CSRF token of its browser or the page's token again, or needs neither.
        Otherwise return the seconds until another token is accepted for checking (0: now).

        A cookie alone is not enough, because browsers send it to other servers on this host too.
        """
        if not page.needs_csrf_token or self.access.is_csrf_token(form.get("csrf_token", ""), request.visitor):
            return None
        is_typed = request.visitor.kind == PERSON and "key" in form
        return self.access.try_token(form["key"].strip(), request.names["client"]) if is_typed else 0.0


def _find_foreign_sign(
    request: PageRequest, known_visitor: Visitor | None, headers: Mapping[str, str]
) -> tuple[str, str] | None:
    """Return why a form may be from elsewhere, and what to do; None if a page of this server sent it."""
    if known_visitor is None:
        return (
            "this form was sent without the cookie of this page, or the cookie has expired",
            "allow cookies for this server, open the page again, and send its form",
        )
    if is_own_page(headers):
        return None
    if "sec-fetch-site" in headers:
        return (
            f"Sec-Fetch-Site is {shorten(headers['sec-fetch-site'])}, not 'same-origin'",
            "send the form of this page",
        )
    scheme = "https" if request.is_safe else "http"
    return (
        "the request has no Origin header, so it is unknown whether a page of this server sent it",
        f"use a browser, or send Origin: {scheme}://{headers.get('host', '')}",
    )


def set_cookie(response: Response, request: PageRequest, visitor: Visitor | None) -> None:
    """Set the visitor's cookie; None deletes it."""
    ticket, max_age = (visitor.ticket, LOGIN_SECONDS) if visitor is not None else ("", 0)
    response.set_cookie(
        request.access.cookie, ticket, max_age, path="/", secure=request.is_safe, httponly=True, samesite="strict"
    )


def _render_refusal(request: PageRequest, error: BatonError) -> Response:
    status = status_of(error)
    title = BRANCH_MOVED if isinstance(error, BranchMoved) else ""
    response = request.render_error(status, str(error), say_for_page(error.hint), title)
    if status == 503:
        response.headers.update(RETRY_AFTER)
    return response


def parse_form(body: bytes) -> dict[str, str]:
    """Parse the body of a form, with every CRLF as LF.

    Raises:
        InvalidArgument: the body is not a URL-encoded form.
    """
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except ValueError:
        raise InvalidArgument("the body is not a form") from None
    return {name: value.replace("\r\n", "\n") for name, value in pairs}
