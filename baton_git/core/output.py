"""Text for output: one function per medium, so that no text of a record can steer what shows it.

    terminal, terminal_line    standard output and error of a command; `Styled` is baton's own styling
    html                       text and attributes of a page
    one_line                   a line of a brief or another frame around text, of a log, of a commit subject or trailer
    json_text                  JSON, whoever reads it

Unsafe are control characters, everything that turns the direction of a text, and what is invisible: format characters,
tags, variation selectors, fillers, and separators of lines and paragraphs.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any


@cache
def _compile_invisible() -> re.Pattern[str]:
    """Return the pattern of characters that Python calls printable, though nothing is seen of them.

    U+FE0E and U+FE0F are parts of emoji. Compiled with the first text that is not ASCII: many commands print none.
    """
    return re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0d\uffa0\U000e0000-\U000e0fff]")


_SPACES = frozenset("\u00a0\u202f\u3000")
_JOINERS = frozenset("\u200c\u200d")
"""Parts of words in some scripts, and of emoji."""


def is_safe(text: str) -> bool:
    """Whether `text` is one line that holds nothing unsafe."""
    return text.isprintable() and (text.isascii() or _compile_invisible().search(text) is None)


def escape_code(char: str) -> str:
    """`\\x1b`, `\\u202e`, `\\U000e0041`."""
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _replace_unsafe(text: str, kept: frozenset[str], write: Callable[[str], str]) -> str:
    """`text` with what is unsafe and not in `kept` written by `write`; lines without any are only looked at."""
    if is_safe(text):
        return text
    return "".join(c if c in kept or is_safe(c) else write(c) for c in text)


# --- the terminal

BOLD, RED, GREEN, YELLOW, BLUE, CYAN = "1", "31", "32", "33", "34", "36"
"""SGR codes for `style`."""


class Styled(str):
    """Text for a terminal that holds baton's own styling; what was put into it is escaped."""

    __slots__ = ()

    def __add__(self, other: str) -> Styled:
        return Styled(str.__add__(self, terminal(other)))

    def __radd__(self, other: str) -> Styled:
        return Styled(terminal(other) + str(self))

    def join(self, parts: Iterable[str], /) -> Styled:
        return Styled(str.join(self, map(terminal, parts)))


def style(text: str, code: str) -> Styled:
    """`text` on one line, in the style of an SGR code."""
    return Styled(f"\x1b[{code}m{terminal_line(text)}\x1b[0m")


_BREAKS = frozenset("\n\t")
_NOTHING: frozenset[str] = frozenset()


def terminal(text: str) -> str:
    """`text` for a terminal: what is unsafe stands as an escape, line ends and tabs stay."""
    if isinstance(text, Styled):
        return text
    return "\n".join(_replace_unsafe(line, _BREAKS, escape_code) for line in text.split("\n"))


def terminal_line(text: str) -> str:
    """As `terminal`, on one line: line ends and tabs stand as escapes, too."""
    return _replace_unsafe(text, _NOTHING, escape_code)


def shell_line(argv: Sequence[str]) -> str:
    """A command as a shell would take it, with everything unsafe as an escape that the shell understands."""
    return " ".join(shlex.quote(word) if is_safe(word) else f"$'{_shell_word(word)}'" for word in argv)


def _shell_word(word: str) -> str:
    return "".join(f"\\{c}" if c in "\\'" else c if is_safe(c) else _shell_code(ord(c)) for c in word)


def _shell_code(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


# --- pages


def html(value: Any) -> Any:
    """A value for a page, before it is escaped for HTML: in a text, what is unsafe stands as an escape."""
    if value is None:
        return ""
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return _replace_unsafe(value.replace("\r\n", "\n"), _BREAKS | _SPACES | _JOINERS, escape_code)


# --- frames, logs, commits


def one_line(text: str, limit: int) -> str:
    """`text` on one line, what is unsafe as spaces, cut after `limit` characters."""
    flat = " ".join(_replace_unsafe(text, _NOTHING, lambda _: " ").split())
    return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"


# --- JSON


def json_text(data: Any, indent: int | None = 2) -> str:
    """JSON of plain data with real characters; what is unsafe stands as `\\uXXXX`, and parses back to the same."""
    return safe_json(json.dumps(data, ensure_ascii=False, indent=indent, default=str))


def safe_json(text: str) -> str:
    """JSON text with everything unsafe in its strings as `\\uXXXX`."""
    return "\n".join(_replace_unsafe(line, _NOTHING, lambda c: json.dumps(c)[1:-1]) for line in text.split("\n"))
