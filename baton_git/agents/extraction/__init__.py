"""Extract facts from a session's transcript and repository, because a context compaction may lose them.

The names from `extracting` are imported on first use, because most session starts need only the options.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from baton_git.agents.extraction.options import FACTS, Options, parse_options

if TYPE_CHECKING:
    from baton_git.agents.extraction.extracting import Extraction, add_final_answer, extract

__all__ = ["FACTS", "Extraction", "Options", "add_final_answer", "extract", "parse_options"]


def __getattr__(name: str) -> Any:
    if name not in ("Extraction", "add_final_answer", "extract"):
        raise AttributeError(name)
    from baton_git.agents.extraction import extracting

    return getattr(extracting, name)
