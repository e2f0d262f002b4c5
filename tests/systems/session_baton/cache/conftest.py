"""Helpers for the tests of the cache: a server with or without revisions, and the command that uses it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from baton_server import Wire, served


@pytest.fixture(params=[False, True], ids=["original", "counting"])
def wire(request: pytest.FixtureRequest) -> Iterator[Wire]:
    """A server without revisions, as the original one, then a server with revisions."""
    with served(Wire(counts=request.param)) as wire:
        yield wire


@pytest.fixture
def plain() -> Iterator[Wire]:
    """A server without revisions."""
    with served(Wire()) as wire:
        yield wire


@pytest.fixture
def counting() -> Iterator[Wire]:
    """A server with revisions."""
    with served(Wire(counts=True)) as wire:
        yield wire


@pytest.fixture
def folder() -> Path:
    """The default folder of the cache."""
    return Path(os.environ["HOME"]) / ".claude" / "loop" / "batons"


@pytest.fixture
def cache(baton: Callable[..., Any], tmp_path: Path) -> Callable[..., Any]:
    """Run `baton cache`, with a document as its file if one is given."""

    def call(verb: str, *words: str, url: str = "", doc: Any = None, code: int | None = 0, **rest: Any) -> Any:
        options = ["--url", url] if url else []
        if doc is not None:
            options += ["--file", "-"]
            rest["given"] = json.dumps(doc)
        return baton("cache", verb, *words, *options, code=code, **rest)

    return call
