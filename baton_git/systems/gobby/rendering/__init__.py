"""Conditions and templates of workflows: text that others wrote, evaluated so that it can neither reach nor exhaust
anything.

Jinja2's immutable sandbox, and narrower: plain data only, the few methods and filters that are named here, no statement
but `if`, `for` and `set`. Everything that could grow or last is counted (`bounds.Guard`). Jinja2 is loaded when called.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton_git.core.errors import InvalidArgument

LIMIT = 64 * 1024
"""Bytes of UTF-8 that a rendered text may have, where its caller says nothing else."""
MAX_CONDITION = 8 * 1024
MAX_TEMPLATE = 64 * 1024
"""Characters that the source may have."""
CUT = "\n… (cut: the limit is {:,} bytes)"


def condition(text: str, names: Mapping[str, Any]) -> bool:
    """Whether the expression `text` holds; an empty one does.

    Raises:
        InvalidArgument: it is no expression, uses a name that is not there, or fails; it is never just false.
    """
    if not text.strip():
        return True
    from baton_git.systems.gobby.rendering.sandbox import Sandbox

    _short(text, MAX_CONDITION, "the condition")
    return Sandbox(is_strict=True).expression(text)(names)


def render(text: str, names: Mapping[str, Any], limit: int = LIMIT) -> str:
    """What the template `text` says, at most `limit` bytes of it, with a last line that says so when it is cut.

    A name that is not there is false, and prints as nothing.

    Raises:
        InvalidArgument: it is no template, or fails.
    """
    from baton_git.systems.gobby.rendering.sandbox import Sandbox  # as above

    _short(text, MAX_TEMPLATE, "the template")
    return Sandbox(is_strict=False).template(text)(names, limit)


def check_condition(text: str) -> None:
    """Raises InvalidArgument when `text` is no expression."""
    if text.strip():
        from baton_git.systems.gobby.rendering.sandbox import Sandbox  # as above

        _short(text, MAX_CONDITION, "the condition")
        Sandbox(is_strict=True).expression(text)


def names_in(text: str) -> frozenset[str]:
    """The names that the expression `text` uses and that something outside of it must define. Raises InvalidArgument
    when it is none."""
    from baton_git.systems.gobby.rendering.sandbox import Sandbox  # as above

    return Sandbox(is_strict=True).names_in(text) if text.strip() else frozenset()


def check_template(text: str) -> None:
    """Raises InvalidArgument when `text` is no template."""
    from baton_git.systems.gobby.rendering.sandbox import Sandbox  # as above

    _short(text, MAX_TEMPLATE, "the template")
    Sandbox(is_strict=False).template(text)


def _short(text: str, limit: int, what: str) -> None:
    if len(text) > limit:
        raise InvalidArgument(f"{what} has {len(text):,} characters, the limit is {limit:,}")


__all__ = ["LIMIT", "check_condition", "check_template", "condition", "names_in", "render"]
