"""Insert one item into an object or list of a JSON text, in the style of the text, or remove it.

`InsertionPoint.remove` undoes `append` byte for byte. A container (an object or a list) that we created is removed
together with its last item, so it must be recognisable: its closing bracket is on a line of its own or, in a text of
one line, there is a blank inside both brackets. In an existing empty container, the item is inserted before the text
between the brackets, so that the result does not look like a container that we created.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from baton_git.agents.settings.json_text import COMMENT, JsonItem, JsonValue

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
    """A container in a text, to which an item is added or from which it is removed, and the layout of the text."""

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
