"""A server of the pages, for each test its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from web_server import Running, Served

from baton_git.faces.http.site import Site
from baton_git.faces.where.settings import Asked

Serve = Callable[..., Served]


@pytest.fixture
def serve(top: Path) -> Iterator[Serve]:
    """Starts a server of `top` and the namespace `shop`."""
    with ExitStack() as stack:

        def start(
            *,
            token: str | None = None,
            repo: Path = top,
            namespace: str = "shop",
            whole: bool = False,
            page_token: str | None = None,
        ) -> Served:
            site = Site(Asked(str(repo), namespace, None, None), token)
            served = Served(stack.enter_context(Running(site, whole=whole, page_token=page_token)), site, namespace)
            stack.callback(site.close)
            stack.callback(served.client.close)
            return served

        yield start
