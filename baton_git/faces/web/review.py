"""`/n/…/review`: what came from a remote and waits; taken over or turned down, record by record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from starlette.responses import Response

from baton_git.diff import in_words
from baton_git.errors import InvalidArgument, NeedsHuman
from baton_git.faces.web.desk import Asked, Page
from baton_git.faces.web.texts import quoted
from baton_git.names import oid
from baton_git.operations.reaching import waiting_counts
from baton_git.operations.reviewing import decide, review
from baton_git.operations.workspace import Workspace
from baton_git.sync.waiting import Item, Waiting

SHOWN = 100
"""Records that one page asks about; the others come up once these are decided."""


class Asking(NamedTuple):
    """One record that waits. `makes_rule`: taking it over makes a rule, which takes a person."""

    item: Item
    words: str
    makes_rule: bool


class Queue(NamedTuple):
    """What of one remote waits."""

    remote: str
    waiting: Waiting
    asking: tuple[Asking, ...]


def show(asked: Asked) -> Response:
    with asked.work() as ws:
        return asked.page("review.html", ws, queues=list(_queues(ws)), shown=SHOWN)


def _queues(ws: Workspace) -> Iterator[Queue]:
    for one in waiting_counts(ws):
        name, found = review(ws, one.remote)
        if found is not None:
            yield Queue(name, found, tuple(_asking(item) for item in found.items[:SHOWN]))


def _asking(item: Item) -> Asking:
    words = "; ".join(text for change in item.changes if (text := in_words(change)))
    return Asking(item, words, makes_rule(item))


def makes_rule(item: Item) -> bool:
    """Whether taking it over makes a rule here, or changes one."""
    graduates = any(one.kind == "pattern" and one.after("status") == "graduated" for one in item.changes)
    return graduates or any(one.kind == "rule" and one.action != "removed" for one in item.changes)


class Wish(NamedTuple):
    """What the form says of the records: their ids."""

    take: frozenset[str]
    refuse: frozenset[str]


def settle(asked: Asked) -> Response:
    remote, shown = asked.form.get("remote", ""), oid(asked.form.get("shown", ""))
    with asked.work() as ws:
        name, found = review(ws, remote)
        if found is None:
            return asked.to("review", done="nothing")
        wish = _wish(asked, found)
        if not wish.take and not wish.refuse:
            raise InvalidArgument("nothing was chosen", hint="accept or reject at least one record")
        _check(asked, found, wish)
        decide(ws, asked.site.now(), name, take=wish.take, refuse=wish.refuse, shown=shown)
        return asked.to("review", done="decided")


def _wish(asked: Asked, found: Waiting) -> Wish:
    said = {item.id: asked.form.get(f"choice.{quoted(item.kind)}.{quoted(item.id)}", "") for item in found.items}
    every = asked.form.get("every", "")
    if every in ("accept", "reject"):
        said = {id_: choice if choice in ("accept", "reject") else every for id_, choice in said.items()}
    take, refuse = (frozenset(id_ for id_, one in said.items() if one == word) for word in ("accept", "reject"))
    return Wish(take, refuse)


def _check(asked: Asked, found: Waiting, wish: Wish) -> None:
    """A rule takes a person, who types the id of its pattern."""
    for item in found.items:
        if item.id not in wish.take or not makes_rule(item):
            continue
        if not asked.is_person:
            raise NeedsHuman(
                f"{item.id} would become a rule, and this server asks nobody for a token",
                hint=f"in a terminal: baton review --accept {item.id}",
            )
        if asked.form.get(f"confirm.{quoted(item.id)}", "").strip() != item.id:
            raise NeedsHuman(f"{item.id} would become a rule", hint="go back and type its id to confirm that")


PAGES = {"/n/{component}/review": Page(show, settle)}
