"""The outcome of an action: whether a click counts as a confirmation, what the form had shown, and the next page."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from typing import Any
from urllib.parse import urlencode

from starlette.responses import RedirectResponse, Response

from baton_git.core.errors import BatonError
from baton_git.core.verb import Result
from baton_git.interfaces.web.notices import NOTICE_FIELDS
from baton_git.interfaces.web.page_controller import PageRequest
from baton_git.interfaces.web.texts import sentence
from baton_git.namespace.caller import Vouched
from baton_git.namespace.workspace import Workspace

# --- the outcome of an action: whether a click counts as a confirmation, why it was refused, and the next page


def vouch(request: PageRequest, ws: Workspace) -> Workspace:
    """Return the workspace, with the confirmation of a person if a click on this page counts as one."""
    return ws if request.no_person else replace(ws, confirmed=Vouched(request.site.person, "page"))


def describe_refusal(error: BatonError) -> str:
    """Return why an action was refused, with its hint unless the hint names a command."""
    hint = "" if "baton " in error.hint else error.hint
    return sentence(error) + (f" {sentence(hint)}" if hint else "")


def go_back(request: PageRequest, page: str, done: str, about: str = "", result: Result | None = None) -> Response:
    """Redirect to a page that shows a notice about the action.

    Args:
        done: the key of the notice's text.
        about: the id of the record.
        result: the verb's result; if it changed something, the page offers to undo that.
    """
    commit = getattr(result, "commit", None) if getattr(result, "changes", None) else None
    notice = {"done": done, "about": about, "commit": commit or "", "in": request.namespace.component}
    path, _, query = page.partition("?")
    kept = [part for part in query.split("&") if part and part.partition("=")[0] not in NOTICE_FIELDS]
    sent = urlencode({name: value for name, value in notice.items() if value}, errors="surrogatepass")
    return RedirectResponse(f"{path}?{'&'.join([*kept, sent])}", 303)


# --- a digest of what a page showed. A form sends it back, so that a click applies only to what the person saw


def digest(*values: Any) -> str:
    """Return a digest of plain data; different data has different digests."""
    text = json.dumps(values, ensure_ascii=True, sort_keys=True, default=str)
    return sha256(text.encode()).hexdigest()[:32]
