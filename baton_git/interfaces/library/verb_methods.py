"""The verbs as methods. Their types stand in `verb_methods.pyi`, which `python tests/project/verb_pages.py` writes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from baton_git.core.verb import VerbFunction
from baton_git.verbs.table import functions


class VerbMethods:
    """Whoever inherits from this has a method for each verb."""

    def run_verb(self, function: VerbFunction[Any, Any], *args: Any, **fields: Any) -> Any:
        """Run a verb, with the fields of its input as arguments."""
        raise NotImplementedError

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_") or name not in functions():
            raise AttributeError(f"a namespace has no verb {name!r}")
        function = functions()[name]
        method = functools.partial(self.run_verb, function)
        method.__doc__ = function.__doc__  # type: ignore[misc]
        return method

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *functions()})
