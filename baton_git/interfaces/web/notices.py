"""The notice about the last action: a fixed text chosen by the query, and the address of the page that undoes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from baton_git.core.errors import InvalidName
from baton_git.core.names import parse_oid
from baton_git.interfaces.web.actions.table import ACTIONS
from baton_git.interfaces.web.texts import address

NOTICE_FIELDS = ("done", "about", "commit", "in")
"""The fields of a query that describe the last action; `in` is the component of its namespace."""
DONE = {
    "decided": "Your choices are saved. The next sync sends them.",
    "resolved": "The conflict is resolved.",
    "graduated": "The pattern is now a rule. Sessions get it when they start.",
    "back": "Done. A new revision was written.",
    "nothing": "Nothing from that remote is waiting any more.",
    "unchanged": "Nothing changed.",
    "check-passed": "The check of {id} passed.",
    "check-failed": "The check of {id} failed.",
    "check-unknown": "The check of {id} gave no result.",
    "edited": "{id} is changed.",
    "remote-trusted": "The remote is trusted on this machine until its URL changes.",
    "remote-distrusted": "The remote is no longer trusted on this machine.",
    "todos": "The to-do list is changed.",
    "trusted": "The check of {id} is approved on this machine.",
} | {name: action.done for name, action in ACTIONS.items() if action.done}
"""The texts of notices by their key in the query; `{id}` stands for the id of the record."""


class Notice(NamedTuple):
    """The last action, the record that it changed and the address of the page that undoes it.

    Attributes:
        before, after: the text around the id; if the text names no record, all of it is `before`.
        is_good: whether the action succeeded.
    """

    before: str
    id: str
    after: str
    undo: str
    is_good: bool


def read_notice(query: Mapping[str, str]) -> Notice | None:
    """Return the notice for the query; None if the query names no known action."""
    text = DONE.get(query.get("done", ""))
    if text is None:
        return None
    before, mark, after = text.partition("{id}")
    id_ = query.get("about", "") if mark else ""
    is_good = query["done"] not in ("check-failed", "check-unknown", "nothing", "unchanged")
    return Notice(before, id_, after, _find_undo(query), is_good)


def _find_undo(query: Mapping[str, str]) -> str:
    commit, component = query.get("commit", ""), query.get("in", "")
    try:
        revision = parse_oid(commit)
    except InvalidName:
        return ""
    return address(component, "back", way="undo", revision=revision) if component else ""
