"""Evaluate conditions and templates of workflows, which are untrusted text, in a sandbox.

The sandbox restricts Jinja2's immutable sandbox further: plain data only, an allowlist of methods and filters, and no
statements except `if`, `for` and `set`. `EvaluationGuard` limits the steps, the time and the size of values.
Jinja2 is imported on first use.
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
"""Default maximum size of a rendered text in bytes of UTF-8."""
_COMPARISON = re.compile(r"event\.data\.get\('(\w+)'\) (==|!=|in|not in) (.+)")
"""Matches the conditions of the shipped workflow, so that a session's start need not import Jinja2."""
_TEXT = re.compile(r"'([\w-]*)'")
_TEXTS = re.compile(r"\('[\w-]*'(?:, '[\w-]*')+\)")
MAX_CONDITION = 8 * 1024
MAX_TEMPLATE = 64 * 1024
"""Maximum length of a condition and of a template's source, in characters."""


def evaluate_condition(text: str, names: Mapping[str, Any]) -> bool:
    """Return whether the expression `text` is true; an empty expression is true.

    Raises:
        InvalidArgument: `text` is not an expression, uses an undefined name, or fails.
    """
    if not text.strip():
        return True
    known = _compare_event(text, names)
    return _open_condition(text).compile_condition(text)(names) if known is None else known


def _compare_event(text: str, names: Mapping[str, Any]) -> bool | None:
    """Evaluate a plain comparison with a value of the event as the sandbox would; return None for any other text."""
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
    """Raise InvalidArgument if `text` is not an expression."""
    if text.strip():
        _open_condition(text).compile_condition(text)


def find_names(text: str) -> frozenset[str]:
    """Return the names that an expression uses, except the sandbox's own. Raises InvalidArgument if it is not one."""
    return _open_condition(text).find_names(text) if text.strip() else frozenset()


def render(text: str, names: Mapping[str, Any], limit: int = LIMIT) -> str:
    """Render a template; truncate the text to `limit` bytes, with a last line that reports the truncation.

    An undefined name is false, and renders as an empty text.

    Raises:
        InvalidArgument: `text` is not a template, or rendering fails.
    """
    return _compile_template(text, get_ident())(names, limit)


@lru_cache(8)
def _compile_template(text: str, thread: int) -> Callable[[Mapping[str, Any], int], str]:
    """Return the compiled template; each thread has its own because the template counts its steps."""
    return _open_template(text).compile_template(text)


def check_template(text: str) -> None:
    """Raise InvalidArgument if `text` is not a template."""
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
