"""`/n/…/trust-remote?remote=…`: trust a remote on this machine, or stop trusting it."""

from __future__ import annotations

from starlette.responses import Response

from baton_git.core.errors import NeedsHuman, NotFound
from baton_git.git.remotes import mask_logins
from baton_git.interfaces.web.actions.form_digest import digest
from baton_git.interfaces.web.page_controller import PageRequest
from baton_git.interfaces.web.texts import command
from baton_git.namespace.remote_selection import check_configured, find_remote_url
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.verification.trust import distrust_remote, trust_remote, trusts_remote


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
        if request.no_person:
            line = command("baton", "trust", "--from", name, namespace=str(request.namespace))
            raise NeedsHuman(request.no_person, hint=f"in a terminal: {line}")
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
