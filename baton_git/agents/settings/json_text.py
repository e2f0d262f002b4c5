"""Parse JSON into values with their positions in the text, so that parts of the text can be replaced.

The parser is as strict as JavaScript's `JSON.parse`. Comments (`//` and `/* */`) are allowed only in the files of CLIs
that allow them.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from baton_git.core.errors import Fault, InvalidDocument

MAX_DEPTH = 200
"""Maximum nesting depth; real settings files have a much smaller one."""

COMMENT = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_BLANKS = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]++|\\["\\/bfnrt]|\\u[0-9A-Fa-f]{4})*"')
_OTHER = re.compile(r"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_CLOSERS = {"{": "}", "[": "]"}


class JsonItem(NamedTuple):
    """A member of an object, starting at its name, or an element of a list."""

    start: int
    value: JsonValue
    name: str | None = None

    @property
    def end(self) -> int:
        return self.value.end


class JsonValue(NamedTuple):
    """A value in a text.

    Attributes:
        start, end: its position in the text; `end` is that of the next character.
        data: the value as Python data.
        opener: the opening bracket of an object or list; empty for other values.
        items: the items of an object or list.
    """

    start: int
    end: int
    data: Any
    opener: str = ""
    items: tuple[JsonItem, ...] = ()

    def member(self, name: str) -> JsonItem | None:
        """Return the member of this name; if there are several, the last one, which JSON parsers use."""
        return next((item for item in reversed(self.items) if item.name == name), None)


def parse(text: str, *, comments: bool = False) -> JsonValue:
    """Return the value of a JSON text.

    Raises:
        InvalidDocument: the text is not JSON; the fault names the line.
    """
    return _Parser(text, comments).parse_text()


class _Parser:
    """Parses one text."""

    def __init__(self, text: str, comments: bool) -> None:
        self.text = text
        self.comments = comments

    def parse_text(self) -> JsonValue:
        value = self._parse_value(self._skip_blanks(0), 0)
        end = self._skip_blanks(value.end)
        if end < len(self.text):
            raise self._make_error(end, "has text after the end of the JSON")
        return value

    def _parse_value(self, at: int, depth: int) -> JsonValue:
        if depth > MAX_DEPTH:
            raise self._make_error(at, f"nested more than {MAX_DEPTH} deep")
        if self.text[at : at + 1] in _CLOSERS:
            return self._parse_container(at, depth)
        match = _STRING.match(self.text, at) or _OTHER.match(self.text, at)
        if match is None:
            problem = "ends too early" if at >= len(self.text) else f"is not JSON at {self.text[at : at + 10]!r}"
            raise self._make_error(at, problem)
        return JsonValue(at, match.end(), _decode_token(match[0]))

    def _parse_container(self, start: int, depth: int) -> JsonValue:
        opener = self.text[start]
        items: list[JsonItem] = []
        at = self._skip_blanks(start + 1)
        while self.text[at : at + 1] != _CLOSERS[opener]:
            if items:
                if self.text[at : at + 1] != ",":
                    raise self._make_error(at, f"lacks a comma or {_CLOSERS[opener]!r}")
                at = self._skip_blanks(at + 1)
            items.append(
                self._parse_member(at, depth) if opener == "{" else JsonItem(at, self._parse_value(at, depth + 1))
            )
            at = self._skip_blanks(items[-1].end)
        data = {item.name: item.value.data for item in items} if opener == "{" else [item.value.data for item in items]
        return JsonValue(start, at + 1, data, opener, tuple(items))

    def _parse_member(self, at: int, depth: int) -> JsonItem:
        name = _STRING.match(self.text, at)
        if name is None:
            raise self._make_error(at, "lacks a name in double quotes")
        colon = self._skip_blanks(name.end())
        if self.text[colon : colon + 1] != ":":
            raise self._make_error(colon, "lacks a colon")
        return JsonItem(at, self._parse_value(self._skip_blanks(colon + 1), depth + 1), json.loads(name[0]))

    def _skip_blanks(self, at: int) -> int:
        while True:
            blanks = _BLANKS.match(self.text, at)
            assert blanks is not None
            comment = COMMENT.match(self.text, blanks.end()) if self.comments else None
            if comment is None:
                return blanks.end()
            at = comment.end()

    def _make_error(self, at: int, problem: str) -> InvalidDocument:
        line = self.text.count("\n", 0, at) + 1
        return InvalidDocument([Fault(f"line {line}", problem)])


def _decode_token(token: str) -> Any:
    return json.loads(token, parse_int=lambda digits: int(digits) if len(digits) < 100 else float(digits))
