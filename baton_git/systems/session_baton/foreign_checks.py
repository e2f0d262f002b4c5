"""Show the checks that session-baton does not know (`command`, `git_commit`, `port_open`) to its clients as `manual`.

Its models reject unknown methods but ignore unknown fields. Additional fields keep the original check.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from typing import Any

from baton_git.core.records.check_methods import CHECK_METHODS

Table = Mapping[str, Any]

_UNKNOWN_THERE = {method: CHECK_METHODS[method] for method in ("command", "git_commit", "port_open")}


def to_foreign_checks(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document whose checks session-baton's models accept; a missing note becomes the original check."""
    return _change_checks(document, _to_foreign)


def from_foreign_checks(document: Any) -> Any:
    """Return a document with the original checks; the reverse of `to_foreign_checks`.

    Every `manual` check that has the field of exactly one of these methods becomes a check of that method.
    """
    return _change_checks(document, _from_foreign) if isinstance(document, dict) else document


def _change_checks(document: dict[str, Any], change: Callable[[Table], Table]) -> dict[str, Any]:
    loops = document.get("open_loops")
    if not isinstance(loops, list):
        return document
    changed = [
        {**loop, "verify": change(loop["verify"])}
        if isinstance(loop, Mapping) and isinstance(loop.get("verify"), Mapping)
        else loop
        for loop in loops
    ]
    return {**document, "open_loops": changed} if changed != loops else document


def _to_foreign(check: Table) -> Table:
    method = check.get("method")
    if method not in _UNKNOWN_THERE or check.get(_UNKNOWN_THERE[method]) is None:
        return check
    return {**check, "method": "manual", "note": check.get("note") or _describe(method, check)}


def _from_foreign(check: Table) -> Table:
    methods = [method for method, field in _UNKNOWN_THERE.items() if check.get(field) is not None]
    if check.get("method") != "manual" or len(methods) != 1:
        return check
    restored = {**check, "method": methods[0]}
    if restored.get("note") == _describe(methods[0], check):
        del restored["note"]
    return restored


def _describe(method: str, check: Table) -> str:
    value = check[_UNKNOWN_THERE[method]]
    words = value if isinstance(value, list) else [value]
    return f"{method}: {shlex.join(str(word) for word in words)}"
