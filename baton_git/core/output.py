"""Escape text for output, with one function per medium, so that no text of a record can control its display.

    terminal, terminal_line    standard output and error of a command; `Styled` is baton's own styling
    html                       text and attributes of a page
    one_line                   one line of a brief, a log, a commit subject or a trailer
    json_text                  JSON

Unsafe characters are control characters, characters that change the direction of text, unassigned ones, and invisible
ones: format characters, tags, variation selectors, fillers, and all spaces and separators other than U+0020.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from typing import Any

# Texts, which `re` compiles on first use: most output is ASCII and has no colours.
_INVISIBLE = "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0d\uffa0\U000e0000-\U000e0fff]"
"""Invisible characters that `str.isprintable` accepts. U+FE0E and U+FE0F are parts of emoji, so they are allowed."""
_TERMINAL_CODES = r"(?:\x1b\[|\x9b)[0-9;:?]{0,64}[@-~]|\x1b\]8;[^\x07\x1b\n]{0,2000}(?:\x07|\x1b\\)|\x1b\(B"
"""Colours, cursor movements, and the marks of a link. Other sequences can hold text, so they are not removed."""
_BARE_COLOURS = r"\[[0-9]{1,3}(?:[;:][0-9]{1,3}){0,9}m(?!\])"
"""Colours whose escape character another program removed; `[5m]` is a duration."""
_SPACES = frozenset("\u00a0\u202f\u3000")
_JOINERS = frozenset("\u200c\u200d")
"""Zero-width joiners: parts of words in some scripts, and of emoji."""


def is_safe(text: str) -> bool:
    """Whether `text` is a single line without unsafe characters."""
    return text.isprintable() and (text.isascii() or re.search(_INVISIBLE, text) is None)


def escape_code(char: str) -> str:
    """Return the escape of a character: `\\x1b`, `\\u202e`, `\\U000e0041`."""
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _replace_unsafe(text: str, kept: frozenset[str], write: Callable[[str], str]) -> str:
    """Return `text` with each unsafe character that is not in `kept` replaced by `write`."""
    if is_safe(text):
        return text
    return "".join(c if c in kept or is_safe(c) else write(c) for c in text)


# --- the terminal

BOLD, RED, GREEN, YELLOW, BLUE, CYAN = "1", "31", "32", "33", "34", "36"
"""SGR codes for `style`."""


class Styled(str):
    """Text for a terminal with baton's own styling; text that is added to it is escaped."""

    __slots__ = ()

    def __add__(self, other: str) -> Styled:
        return Styled(str.__add__(self, terminal(other)))

    def __radd__(self, other: str) -> Styled:
        return Styled(terminal(other) + str(self))

    def join(self, parts: Iterable[str], /) -> Styled:
        return Styled(str.join(self, map(terminal, parts)))


def style(text: str, code: str) -> Styled:
    """Return `text` on one line, styled with an SGR code."""
    return Styled(f"\x1b[{code}m{terminal_line(text)}\x1b[0m")


_BREAKS = frozenset("\n\t")
_NOTHING: frozenset[str] = frozenset()


def terminal(text: str) -> str:
    """Return `text` for a terminal: unsafe characters are escaped, except line ends and tabs."""
    if isinstance(text, Styled):
        return text
    return "\n".join(_replace_unsafe(line, _BREAKS, escape_code) for line in text.split("\n"))


def terminal_line(text: str) -> str:
    """Return `text` for a terminal on one line: unsafe characters, line ends and tabs are escaped."""
    return _replace_unsafe(text, _NOTHING, escape_code)


def shell_line(argv: Sequence[str]) -> str:
    """Return a command quoted for a shell; unsafe characters are written as `$'…'` escapes."""
    return " ".join(shlex.quote(word) if is_safe(word) else f"$'{_shell_word(word)}'" for word in argv)


def _shell_word(word: str) -> str:
    return "".join(f"\\{c}" if c in "\\'" else c if is_safe(c) else _shell_code(ord(c)) for c in word)


def _shell_code(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


# --- pages


def html(value: Any) -> Any:
    """Prepare a value for HTML escaping: escape the unsafe characters of a text, and return an empty text for None.

    Line ends, tabs, zero-width joiners, and non-breaking and ideographic spaces are not escaped. Other values and
    markup are returned unchanged.
    """
    if value is None:
        return ""
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return _replace_unsafe(value.replace("\r\n", "\n"), _BREAKS | _SPACES | _JOINERS, escape_code)


# --- briefs, logs, commits


_RESETS = ("[0m", "[39m", "[22m")
"""The ends of colours, without which a text is not taken to have colours."""


def remove_terminal_codes(text: str) -> str:
    """Return `text` without the colours and cursor movements of a terminal, whose printable rest (`[33m`) would mean
    nothing. Not for a text that a person is asked to confirm, of which everything must be seen."""
    if "\x1b" in text or "\x9b" in text:
        text = re.sub(_TERMINAL_CODES, "", text)
    return re.sub(_BARE_COLOURS, "", text) if any(reset in text for reset in _RESETS) else text


def one_line(text: str, limit: int) -> str:
    """Return `text` on one line of at most `limit` characters; unsafe characters become spaces."""
    flat = " ".join(_replace_unsafe(text, _NOTHING, lambda _: " ").split())
    return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"


def flat(text: str) -> str:
    """Return a text on one line, with control characters replaced by spaces."""
    return one_line(text, len(text))


_PLAIN = re.compile(r"[\w.:@/+-]{1,100}")


def quote_id(id_: str) -> str:
    """Return an id, quoted unless it is one plain word."""
    return id_ if _PLAIN.fullmatch(id_) else f'"{one_line(id_, 60)}"'


def count_noun(number: int, noun: str, plural: str | None = None) -> str:
    """Return the number with its noun: `1 file`, `2 files`. The plural ends in `s` unless one is given."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def count_times(number: int) -> str:
    """Return `once`, or `3 times`."""
    return "once" if number == 1 else f"{number} times"


# --- JSON


def json_text(data: Any, indent: int | None = 2) -> str:
    """Return plain data as JSON. Non-ASCII characters are not escaped; unsafe ones are, as `\\uXXXX`."""
    return safe_json(json.dumps(data, ensure_ascii=False, indent=indent, default=str))


def safe_json(text: str) -> str:
    """Return JSON text with the unsafe characters of its strings escaped as `\\uXXXX`."""
    return "\n".join(_replace_unsafe(line, _NOTHING, lambda c: json.dumps(c)[1:-1]) for line in text.split("\n"))
