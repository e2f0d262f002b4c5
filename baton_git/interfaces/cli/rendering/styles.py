"""The roles of text in a terminal, and their styles."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from enum import Enum

from baton_git.core.output import Styled, style


class Role(Enum):
    """The role of a piece of text; the value is its SGR code."""

    PLAIN = ""
    HEADING = "1"
    DIM = "2"
    BAD = "31"
    GOOD = "32"
    WARNING = "33"
    ID = "36"


def shows_styles() -> bool:
    """Return whether stdout is a terminal that shows styles; NO_COLOR (https://no-color.org) disables them."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: str, role: Role, *, styled: bool) -> str:
    """Return the text in the style of its role; unchanged if not `styled`."""
    return style(text, role.value) if styled and role.value and text else text


def join(parts: Iterable[str], separator: str = "") -> Styled:
    """Return the parts joined to one `Styled` text."""
    return Styled(separator).join(parts)
