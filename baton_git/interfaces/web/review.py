"""`/n/…/review`: what came from a remote and waits; taken over or turned down, record by record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from starlette.responses import Response

from baton_git.core.diff import describe_change
from baton_git.core.errors import InvalidArgument, NotFound, Unsettled
from baton_git.core.names import parse_oid
from baton_git.interfaces.web.page_controller import Asked, Page
from baton_git.interfaces.web.texts import quoted, sentence
from baton_git.namespace.remote_selection import waiting_counts
from baton_git.namespace.review.queue import ReviewQueue, WaitingRecord
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.review import decide, review, takes_person

SHOWN = 100
"""Records that one page asks about; the others come up once these are decided."""


class Asking(NamedTuple):
    """One record that waits. `takes_person`: taking it over makes a rule."""

    item: WaitingRecord
    words: str
    takes_person: bool


class Queue(NamedTuple):
    """What of one remote waits."""

    remote: str
    waiting: ReviewQueue
    asking: tuple[Asking, ...]


def show(asked: Asked) -> Response:
    with asked.work() as ws:
        return _shown(asked, ws)


def _shown(asked: Asked, ws: Workspace, status: int = 200, problem: str = "") -> Response:
    """The page, with what was chosen on it before."""
    return asked.page(
        "review.html", ws, status=status, problem=problem, queues=list(_queues(ws)), shown=SHOWN, chosen=asked.form
    )


def _queues(ws: Workspace) -> Iterator[Queue]:
    for one in waiting_counts(ws):
        name, found = review(ws, one.remote)
        if found is not None:
            yield Queue(name, found, tuple(_asking(ws, name, item) for item in found.items[:SHOWN]))


def _asking(ws: Workspace, remote: str, item: WaitingRecord) -> Asking:
    words = "; ".join(text for change in item.changes if (text := describe_change(change)))
    return Asking(item, words, takes_person(ws, remote, item))


class Wish(NamedTuple):
    """What the form says of the records: their ids."""

    take: frozenset[str]
    refuse: frozenset[str]


def settle(asked: Asked) -> Response:
    """What was shown, and chosen there; where it is refused, the page comes again with what was entered."""
    with asked.work() as ws:
        remote = asked.form.get("remote", "")
        if all(one.remote != remote for one in waiting_counts(ws)):
            return _shown(asked, ws, 409, f"Nothing of {remote or 'that remote'} waits any more. Nothing was decided.")
        name, found = review(ws, remote)
        if found is None:
            return asked.to("review", done="nothing")
        try:
            _settle(asked, ws, name, found)
        except Unsettled:
            return _shown(asked, ws, 409, f"More came from {name} since the page was made. Nothing was decided; look "
                          "at it as it is now.")  # fmt: skip
        except (InvalidArgument, NotFound) as error:
            return _shown(asked, ws, 422, f"{sentence(error)} Nothing was decided.")
        return asked.to("review", done="decided")


def _settle(asked: Asked, ws: Workspace, remote: str, found: ReviewQueue) -> None:
    shown = parse_oid(asked.form.get("shown", ""))
    if shown != found.theirs:
        raise Unsettled("more came")
    wish = _wish(asked, found)
    if not wish.take and not wish.refuse:
        raise InvalidArgument("nothing was chosen; accept or reject at least one record")
    confirmed = _confirmed(asked, found)
    decide(
        ws, asked.site.now(), remote, take=wish.take, refuse=wish.refuse, shown=shown, confirmed=confirmed, how="page"
    )


def _wish(asked: Asked, found: ReviewQueue) -> Wish:
    said = {item.id: asked.form.get(f"choice.{quoted(item.kind)}.{quoted(item.id)}", "") for item in found.items}
    every = asked.form.get("every", "")
    names = {f"choice.{quoted(item.kind)}.{quoted(item.id)}" for item in found.items}
    unknown = {name for name in asked.form if name.startswith("choice.")} - names
    if unknown:
        raise InvalidArgument("a record was decided on that does not wait")
    if every not in ("", "accept", "reject") or set(said.values()) - {"", "accept", "reject"}:
        raise InvalidArgument("a record can be accepted, rejected, or decided later")
    if every in ("accept", "reject"):
        said = {id_: choice if choice in ("accept", "reject") else every for id_, choice in said.items()}
    take, refuse = (frozenset(id_ for id_, one in said.items() if one == word) for word in ("accept", "reject"))
    return Wish(take, refuse)


def _confirmed(asked: Asked, found: ReviewQueue) -> set[str]:
    """The records whose id a person has typed. None where a click is no person's word."""
    if asked.no_person:
        return set()
    return {one.id for one in found.items if asked.form.get(f"confirm.{quoted(one.id)}", "").strip() == one.id}


PAGES = {"/n/{component}/review": Page(show, settle)}
