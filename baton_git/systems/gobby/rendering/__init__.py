"""Conditions and templates of workflows: text by others, evaluated so that it can neither reach nor exhaust anything.

Jinja2's immutable sandbox, and narrower: plain data only, the few methods and filters that are named here, no statement
but `if`, `for` and `set`. Everything that could grow or last is counted (`EvaluationGuard`).
Jinja2 is loaded when called.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from threading import get_ident
from typing import TYPE_CHECKING, Any

from baton_git.core.errors import InvalidArgument

if TYPE_CHECKING:
    from baton_git.systems.gobby.rendering.sandbox import Sandbox

LIMIT = 64 * 1024
"""Bytes of UTF-8 that a rendered text may have by default."""
_COMPARISON = re.compile(r"event\.data\.get\('(\w+)'\) (==|!=|in|not in) (.+)")
"""What the conditions of the shipped workflow are; at a start nothing else would load Jinja2."""
_TEXT = re.compile(r"'([\w-]*)'")
_TEXTS = re.compile(r"\('[\w-]*'(?:, '[\w-]*')+\)")
MAX_CONDITION = 8 * 1024
MAX_TEMPLATE = 64 * 1024
"""Characters that the source may have."""


def evaluate_condition(text: str, names: Mapping[str, Any]) -> bool:
    """Return whether the expression `text` holds; an empty one does.

    Raises:
        InvalidArgument: it is no expression, uses a name that is not there, or fails; it is never just false.
    """
    if not text.strip():
        return True
    known = _compare_event(text, names)
    return _open_condition(text).compile_condition(text)(names) if known is None else known


def _compare_event(text: str, names: Mapping[str, Any]) -> bool | None:
    """Return what a plain comparison with a value of the event gives, as the sandbox would; None for any other text."""
    match = _COMPARISON.fullmatch(text.strip())
    event = names.get("event")
    data = event.get("data") if isinstance(event, dict) else None
    if match is None or type(data) is not dict:
        return None
    name, operator, value = match.groups()
    if not (_TEXT if operator in ("==", "!=") else _TEXTS).fullmatch(value):
        return None
    return (data.get(name) in _TEXT.findall(value)) == (operator in ("==", "in"))


def check_condition(text: str) -> None:
    """Raise InvalidArgument if `text` is no expression."""
    if text.strip():
        _open_condition(text).compile_condition(text)


def find_names(text: str) -> frozenset[str]:
    """Return the names that an expression uses and does not define. Raises InvalidArgument if it is none."""
    return _open_condition(text).find_names(text) if text.strip() else frozenset()


def render(text: str, names: Mapping[str, Any], limit: int = LIMIT) -> str:
    """Return the rendered template, at most `limit` bytes of it, with a last line that says so when it is cut.

    A name that is not there is false, and prints as nothing.

    Raises:
        InvalidArgument: it is no template, or fails.
    """
    return _compile_template(text, get_ident())(names, limit)


@lru_cache(8)
def _compile_template(text: str, thread: int) -> Callable[[Mapping[str, Any], int], str]:
    """Return the compiled template; each thread has its own, since it counts its steps."""
    return _open_template(text).compile_template(text)


def check_template(text: str) -> None:
    """Raise InvalidArgument if `text` is no template."""
    _open_template(text).compile_template(text)


def _open_condition(text: str) -> Sandbox:
    return _open_sandbox(text, MAX_CONDITION, is_strict=True)


def _open_template(text: str) -> Sandbox:
    return _open_sandbox(text, MAX_TEMPLATE, is_strict=False)


def _open_sandbox(text: str, limit: int, *, is_strict: bool) -> Sandbox:
    from baton_git.systems.gobby.rendering.sandbox import Sandbox

    sandbox = Sandbox(is_strict=is_strict)
    if len(text) > limit:
        raise InvalidArgument(f"{sandbox.subject} has {len(text):,} characters, the limit is {limit:,}")
    return sandbox


__all__ = ["LIMIT", "check_condition", "check_template", "evaluate_condition", "find_names", "render"]
