"""The addresses of the pages, and their handlers."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import Scope

from baton_git.core.errors import NotFound
from baton_git.interfaces.http.events import StreamLimit
from baton_git.interfaces.http.responses import of_error, refusal
from baton_git.interfaces.http.site import Site
from baton_git.interfaces.web import events, login
from baton_git.interfaces.web.actions import conflicts, consent, review, rollback, todos, verb_forms
from baton_git.interfaces.web.page_controller import PageController, PageRequest, PageRoute, address_of
from baton_git.interfaces.web.pages import inbox, lineage, records, timeline
from baton_git.interfaces.web.session_cookie import PageAccess
from baton_git.interfaces.web.templating import static_files
from baton_git.interfaces.web.texts import REPOSITORY_PAGES, quote_value

FOREVER = "public, max-age=31536000, immutable"
"""Browsers may cache a file forever, because its address contains its version."""

PAGES = {
    "/": PageRoute(inbox.show_inbox),
    "/n/{component}": PageRoute(inbox.to_board),
    "/n/{component}/": PageRoute(inbox.to_board),
    "/n/{component}/board": PageRoute(records.show_board),
    "/n/{component}/timeline": PageRoute(timeline.show_timeline),
    "/n/{component}/commit/{revision}": PageRoute(timeline.show_commit),
    "/n/{component}/compare": PageRoute(timeline.show_differences),
    "/n/{component}/lineage": PageRoute(lineage.show_lineage),
    "/n/{component}/session": PageRoute(timeline.show_session),
    "/n/{component}/quarantine": PageRoute(inbox.show_quarantine),
    "/n/{component}/handed": PageRoute(records.show_handed_over),
    "/n/{component}/records": PageRoute(records.show_records),
    "/n/{component}/record": PageRoute(records.show_record),
    "/n/{component}/recall": PageRoute(records.show_answer),
    "/search": PageRoute(records.show_everywhere),
    "/n/{component}/review": PageRoute(review.show, review.settle),
    "/n/{component}/conflicts": PageRoute(conflicts.show, conflicts.settle),
    "/n/{component}/graduate": PageRoute(consent.show_pattern, consent.settle_pattern),
    "/n/{component}/back": PageRoute(rollback.show, rollback.settle),
    "/n/{component}/trust": PageRoute(consent.show_check, consent.approve_shown_check),
    "/n/{component}/trust-remote": PageRoute(consent.show_remote, consent.settle_remote),
    "/n/{component}/todos": PageRoute(todos.show, todos.change),
    "/doctor": PageRoute(inbox.show_doctor),
    "/n/{component}/edit": PageRoute(verb_forms.show_edit, verb_forms.settle_edit),
    "/n/{component}/do/{action}": PageRoute(verb_forms.show_form, verb_forms.run_verb, ask_again=verb_forms.ask_again),
}


class LoginGate:
    """Refuses every request for a page, its files and its events by somebody who has not logged in, but must.

    It decides by the path alone, before a route is chosen, so a new page, a wrong method or an unknown path below the
    pages is refused too. Only the login itself is open, with the files that it loads.
    """

    def __init__(self, access: PageAccess) -> None:
        self._access = access
        self._open = {"/login", "/logout", *(f"/login/{name}" for name in static_files())}
        self._pages = self._open.union(REPOSITORY_PAGES, ("/n", "/events"))  # asked twice for every request

    @property
    def requires_token(self) -> bool:
        return self._access.requires_token

    def is_page(self, path: str) -> bool:
        return path in self._pages or path.startswith(("/n/", "/static/", "/login/"))

    def find_refusal(self, scope: Scope) -> Response | None:
        path, request = scope["path"], Request(scope)
        if path in self._open or not self.requires_token:
            return None
        visitor = self._access.visitor(request.cookies.get(self._access.cookie))
        if visitor is not None and self._access.allows(visitor):
            return None
        is_navigation = not (path.endswith("/events") or path.startswith(("/static/", "/login/")))
        if is_navigation and scope["method"] in ("GET", "HEAD", "POST"):
            return RedirectResponse(f"/login?next={quote_value(address_of(request))}", 303)
        return refusal(path, 401, "access_denied", "this page needs a login", hint="log in at /login")


def routes(site: Site, access: PageAccess, stream_limit: StreamLimit) -> list[Route]:
    """Return the routes of all pages, their files, and the events that keep open pages up to date.

    Args:
        access: decides who is logged in.
        stream_limit: the limit on streams.
    """
    controller = PageController(site, access)
    found = [
        *(Route(f"/{folder}/{{name}}", _serve_static_file) for folder in ("static", "login")),
        *(Route(path, events.endpoint(site, stream_limit)) for path in ("/events", "/n/{component}/events")),
    ]
    for path, page in {
        **PAGES,
        **login.PAGES,
        "/n": PageRoute(_refuse_unknown_page),
        "/n/{rest:path}": PageRoute(_refuse_unknown_page),
    }.items():
        methods = ["GET", "HEAD", *(["POST"] if page.post is not None or page.get is _refuse_unknown_page else [])]
        found.append(Route(path, controller.endpoint(page), methods=methods))
    return found


def _refuse_unknown_page(request: PageRequest) -> Response:
    raise NotFound("page", request.path, hint="all pages can be reached from the start page")


async def _serve_static_file(request: Request) -> Response:
    file = static_files().get(request.path_params["name"])
    if file is None:
        hint = "/ is the start page, which names its files"
        return of_error(request.url.path, NotFound("file", request.url.path, hint=hint))
    return Response(file.body, 200, {"Cache-Control": FOREVER}, file.media_type)
