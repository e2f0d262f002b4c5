"""A client in memory, for both eras of the protocol, in the repository `top`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from mcp_client import ERAS, talk

Call = Callable[..., Any]


BOTH = [pytest.param(era, id=name, marks=[] if name == "modern" else pytest.mark.slow) for name, era in ERAS.items()]
"""Behaviour that is the same in both eras is tested in the older one only in the slow group."""


@pytest.fixture(params=BOTH)
def era(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def here(baton, top, monkeypatch) -> None:
    """Make a repository with a namespace the current folder."""
    baton("init")
    monkeypatch.chdir(top)


@pytest.fixture
def call(here) -> Call:
    """Return a function that calls a tool and returns its structured result, or with `error` the text of its error."""

    def run(tool: str, *, error: bool = False, client: dict[str, Any] | None = None, **arguments: Any) -> Any:
        found = talk(lambda one: one.call_tool(tool, arguments), **(client or {}))
        assert found.is_error is error, found
        return found.content[0].text if error else found.structured_content

    return run


@pytest.fixture
def read(here) -> Call:
    """Return a function that reads a resource and returns its text."""

    def run(uri: str, **options: Any) -> str:
        return talk(lambda one: one.read_resource(uri), **options).contents[0].text

    return run
