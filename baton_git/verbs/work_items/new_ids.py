"""The ids that callers choose for new records."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from baton_git.core.output import is_safe


def _check_characters(text: str) -> str:
    if not is_safe(text):
        raise ValueError("has a line end, a control character or an invisible character; use printable characters")
    if " " in text or text.startswith("-"):
        raise ValueError("has a space, or begins like an option; use one word")
    return text


NewId = Annotated[str, Field(min_length=1), AfterValidator(_check_characters)]
"""The id of a new record: one printable word. Documents of other programs can have ids of any text."""
