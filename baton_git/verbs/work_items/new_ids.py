"""The ids that callers choose for new records."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from baton_git.core.output import is_safe


def _check_characters(text: str) -> str:
    if not is_safe(text):
        raise ValueError("has a line end, a control character or an invisible character; use printable characters")
    return text


NewId = Annotated[str, Field(min_length=1), AfterValidator(_check_characters)]
"""The id of a new record: any printable text in one line. Documents of other programs can have ids of any text."""
