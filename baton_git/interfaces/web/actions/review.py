"""`/n/…/review`: accept or reject the records of a remote that wait for review, one by one or all together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from starlette.responses import Response

from baton_git.core.diff import describe_change
from baton_git.core.errors import InvalidArgument, NotFound, Unsettled
from baton_git.core.names import parse_oid
from baton_git.interfaces.web.actions.outcomes import vouch
from baton_git.interfaces.web.page_controller import PageRequest
from baton_git.interfaces.web.texts import quote_value, sentence
from baton_git.namespace.remote_selection import WaitingCount, count_waiting_commits
from baton_git.namespace.review.queue import ReviewChoice, ReviewQueue, WaitingRecord
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.sharing.remotes import summarize_remotes
from baton_git.verbs.sharing.review import decide, load_review, needs_person

SHOWN = 100
"""Maximum number of records of one remote on the page; the others are shown after these are decided."""


class ReviewCard(NamedTuple):
    """One waiting record. `needs_person`: accepting it makes a rule, which only a person may do."""

    item: WaitingRecord
    words: str
    needs_person: bool


class Queue(NamedTuple):
    """The records of one remote that wait for review."""

    remote: str
    waiting: ReviewQueue
    items: tuple[ReviewCard, ...]


def show(request: PageRequest) -> Response:
    with request.work() as ws:
        return _render_queues(request, ws)


def _render_queues(request: PageRequest, ws: Workspace, status: int = 200, problem: str = "") -> Response:
    """Render the page, with the choices that were made on it before."""
    counts = count_waiting_commits(ws)
    return request.render(
        "review.html",
        ws,
        status=status,
        problem=problem,
        queues=list(_read_queues(request, ws, counts)),
        remotes=summarize_remotes(ws, counts),
        shown=SHOWN,
        chosen=request.form,
    )


def _read_queues(request: PageRequest, ws: Workspace, counts: Sequence[WaitingCount]) -> Iterator[Queue]:
    acting = vouch(request, ws)
    for count in counts:
        name, queue = load_review(acting, count.remote)
        if queue is not None:
            yield Queue(name, queue, tuple(_build_item(ws, name, item) for item in queue.items[:SHOWN]))


def _build_item(ws: Workspace, remote: str, item: WaitingRecord) -> ReviewCard:
    words = "; ".join(text for change in item.changes if (text := describe_change(change)))
    return ReviewCard(item, words, needs_person(ws, remote, item))


def settle(request: PageRequest) -> Response:
    """Apply the choices of the form. If they are refused, show the page again with them."""
    request.require_person("review")
    with request.work() as ws:
        remote = request.form.get("remote", "")
        if all(count.remote != remote for count in count_waiting_commits(ws)):
            return _render_queues(
                request, ws, 409, f"Nothing from {remote or 'that remote'} is waiting any more. Nothing was decided."
            )
        name, queue = load_review(vouch(request, ws), remote)
        if queue is None:
            return request.redirect_to("review", "nothing")
        try:
            _decide_queue(request, ws, name, queue)
        except Unsettled:
            return _render_queues(request, ws, 409, f"More changes came from {name} in the meantime. Nothing was "
                                  "decided; the page now shows all of them.")  # fmt: skip
        except (InvalidArgument, NotFound) as error:
            return _render_queues(request, ws, 422, f"{sentence(error)} Nothing was decided.")
        return request.redirect_to("review", "decided")


def _decide_queue(request: PageRequest, ws: Workspace, remote: str, queue: ReviewQueue) -> None:
    shown = parse_oid(request.form.get("shown", ""))
    if shown != queue.theirs:
        raise Unsettled("more changes came in the meantime")
    choices = _read_choices(request, queue)
    if not choices.accept and not choices.reject:
        raise InvalidArgument("accept or reject at least one record")
    acting = vouch(request, ws)
    decide(acting, request.site.now(), remote, choices, confirmed=_read_confirmed(request, queue), how="page")


def _read_choices(request: PageRequest, queue: ReviewQueue) -> ReviewChoice:
    choices = {
        item.id: request.form.get(f"choice.{quote_value(item.kind)}.{quote_value(item.id)}", "") for item in queue.items
    }
    others = request.form.get("every", "")
    names = {f"choice.{quote_value(item.kind)}.{quote_value(item.id)}" for item in queue.items}
    unknown = {name for name in request.form if name.startswith("choice.")} - names
    if unknown:
        raise InvalidArgument("the form has a choice for a record that does not wait for review")
    if others not in ("", "accept", "reject") or set(choices.values()) - {"", "accept", "reject"}:
        raise InvalidArgument("a record can be accepted, rejected, or decided later")
    if others in ("accept", "reject"):
        choices = {id_: choice if choice in ("accept", "reject") else others for id_, choice in choices.items()}
    accept, reject = (
        frozenset(id_ for id_, choice in choices.items() if choice == word) for word in ("accept", "reject")
    )
    return ReviewChoice(accept, reject, queue.theirs)


def _read_confirmed(request: PageRequest, queue: ReviewQueue) -> set[str]:
    """Return the ids that a person typed to confirm rules; none if a click is not a person's confirmation."""
    if request.no_person:
        return set()
    return {
        item.id for item in queue.items if request.form.get(f"confirm.{quote_value(item.id)}", "").strip() == item.id
    }
