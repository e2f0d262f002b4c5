"""The roles that text has in a terminal, and whether this one shows styles."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from enum import Enum

from baton_git.core.output import Styled, style


class Role(Enum):
    """What a piece of text is, with the SGR code that shows it."""

    PLAIN = ""
    HEADING = "1"
    DIM = "2"
    BAD = "31"
    GOOD = "32"
    WARNING = "33"
    ID = "36"


def shows_styles() -> bool:
    """Whether standard output is a terminal that shows styles; NO_COLOR (https://no-color.org) switches them off."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: str, role: Role, *, styled: bool) -> str:
    """Return the text in the style of its role; unchanged where styles are not shown."""
    return style(text, role.value) if styled and role.value and text else text


def join(parts: Iterable[str], separator: str = "") -> Styled:
    """Return the parts as one text whose styles are kept."""
    return Styled(separator).join(parts)
