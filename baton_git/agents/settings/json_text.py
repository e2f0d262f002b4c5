"""Parse JSON into values with their positions in the text, and insert or remove items in the style of the text.

The parser is as strict as JavaScript's `JSON.parse`. Comments (`//` and `/* */`) are allowed only in the files of CLIs
that allow them.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
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


_INDENT = "  "
_SAME_LINE = re.compile(r"[ \t]*(?://[^\r\n]*|/\*(?:(?!\*/)[^\r\n])*\*/)(?=[ \t]*\r?\n)")
"""A comment at the end of a line, which belongs to the item before it."""


@dataclass(frozen=True)
class Style:
    """The layout of a JSON text.

    Attributes:
        unit: the text of one level of indentation.
        newline: the line ending.
        spread: whether the items of the root are on lines of their own.
        tight: whether there are no blanks after colons and commas.
    """

    unit: str
    newline: str
    spread: bool
    tight: bool

    @classmethod
    def of(cls, text: str, root: JsonValue) -> Style:
        first = text.find("\n")
        newline = "\r\n" if first > 0 and text[first - 1] == "\r" else "\n"
        spread = not root.items or "\n" in text[root.start : root.items[0].start]
        outer, inner = (
            get_line_indent(text, root.start),
            get_line_indent(text, root.items[0].start) if root.items else "",
        )
        unit = inner[len(outer) :] if spread and inner.startswith(outer) else ""
        return cls(unit or _INDENT, newline, spread, re.search(r'"\s*:\s', text) is None)

    def render(self, data: Any, indent: str, *, spread: bool) -> str:
        """Return a value as text. With `spread`, it has several lines, all but the first indented by `indent`."""
        if not spread:
            return json.dumps(data, ensure_ascii=False, separators=(",", ":") if self.tight else None)
        text = json.dumps(data, ensure_ascii=False, indent=self.unit)
        return text.replace("\n", self.newline + indent)

    def render_container(self, opener: str, inner: str, indent: str, *, spread: bool) -> str:
        """Return a new container with one item; `inner` is the item, rendered one level deeper."""
        closer = {"{": "}", "[": "]"}[opener]
        if not spread:
            return f"{opener} {inner} {closer}"
        return f"{opener}{self.newline}{indent}{self.unit}{inner}{self.newline}{indent}{closer}"


def get_line_indent(text: str, at: int) -> str:
    """Return the indentation of the line that contains position `at`."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


@dataclass(frozen=True)
class InsertionPoint:
    """A container in a text, to which an item is added or from which it is removed, and the layout of the text.

    `remove` undoes `append` byte for byte. A container (an object or a list) that we created is removed together with
    its last item, so it must be recognisable: its closing bracket is on a line of its own or, in a text of one line,
    there is a blank inside both brackets. In an existing empty container, the item is inserted before the text between
    the brackets, so that the result does not look like a container that we created."""

    text: str
    container: JsonValue
    style: Style
    is_root: bool = False

    @property
    def spread(self) -> bool:
        """Whether the items of this container are on lines of their own.

        An empty container follows the style of the text, unless the result would look like a container that we created.
        """
        if not self.container.items:
            inside = self.text[self.container.start + 1 : self.container.end - 1]
            return self.style.spread and (self.is_root or inside != self._closing)
        return "\n" in self.text[self.container.start : self.container.items[0].start]

    @property
    def indent(self) -> str:
        """The indentation of an item in this container."""
        items = self.container.items
        if items and self.spread:
            return get_line_indent(self.text, items[0].start)
        outer = get_line_indent(self.text, self.container.start)
        return outer + self.style.unit if self.spread else outer

    def append(self, item: str) -> str:
        """Return the text with `item` added at the end of the container."""
        return self._append_after_others(item) if self.container.items else self._insert_alone(item)

    def _append_after_others(self, item: str) -> str:
        last = self.container.items[-1].end
        if not self.spread:
            return f"{self.text[:last]},{'' if self.style.tight else ' '}{item}{self.text[last:]}"
        comment = _SAME_LINE.match(self.text, last)
        then = comment.end() if comment else last
        before = f"{self.text[:last]},{self.text[last:then]}{self.style.newline}{self.indent}"
        return f"{before}{item}{self.text[then:]}"

    def _insert_alone(self, item: str) -> str:
        at = self.container.start + 1
        before, rest = self.text[:at], self.text[at:]
        if not self.spread:
            return f"{before}{item}{rest}"
        return f"{before}{self.style.newline}{self.indent}{item}{self._closing if self.is_root else ''}{rest}"

    @property
    def _closing(self) -> str:
        """The text before the closing bracket of a container that we created with several lines."""
        return self.style.newline + get_line_indent(self.text, self.container.start)

    def is_ours(self, item: JsonItem) -> bool:
        """Whether the container, whose only item is `item`, looks like one that we created."""
        lead, trail = self._split_around(item)
        if lead == trail == " ":
            return True
        return lead.isspace() and lead.startswith(self.style.newline) and trail == self._closing

    def remove(self, item: JsonItem) -> str:
        """Return the text without this item; comments around it are kept."""
        items = self.container.items
        number = items.index(item)
        if number > 0:
            start, end = items[number - 1].end, item.end
            return self.text[:start] + self._keep_gap(start, item.start, end) + self.text[end:]
        if len(items) > 1:
            start, end = item.start, items[1].start
            return self.text[:start] + self._keep_gap(item.end, end, end) + self.text[end:]
        return self._remove_only_item(item)

    def _keep_gap(self, start: int, end: int, after: int) -> str:
        """Return the part of the gap between two items that is kept: its comments, and a line ending if one is needed.

        Args:
            after: the position of the text that follows the gap after the removal.
        """
        gap = self.text[start:end]
        comments = list(COMMENT.finditer(gap))
        if not comments:
            return ""
        comma = next(
            at for at, c in enumerate(gap) if c == "," and not any(m.start() <= at < m.end() for m in comments)
        )
        last = comments[-1].end()
        kept = (gap[:comma] + gap[comma + 1 : last]) if comma < last else gap[:last]
        follows = self.text[after:].lstrip(" \t")[:1]
        open_ended = comments[-1][0].startswith("//") and follows not in ("\n", "\r")
        return kept + (self.style.newline if open_ended else "")

    def _remove_only_item(self, item: JsonItem) -> str:
        lead, trail = self._split_around(item)
        end = item.end
        if lead.strip():  # a comment of the user before our item
            return self.text[: item.start] + self.text[end:]
        if self.is_root and lead.startswith(self.style.newline) and trail.startswith(self._closing):
            end += len(self._closing)
        return self.text[: self.container.start + 1] + self.text[end:]

    def _split_around(self, item: JsonItem) -> tuple[str, str]:
        return self.text[self.container.start + 1 : item.start], self.text[item.end : self.container.end - 1]
