"""An in-memory client of `baton mcp`, for both versions of the protocol."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from baton_git.interfaces.context.invocation import Call
from baton_git.interfaces.context.settings import CommonOptions, Settings

ERAS = {"modern": "auto", "legacy": "legacy"}
"""The modes of the SDK's client: a handshake with each request, or one at the start (2025-11-25 and older)."""


def talk(
    use: Callable[[Any], Awaitable[Any]],
    *,
    asked: CommonOptions = CommonOptions(),  # noqa: B008
    is_shared: bool = False,
    **options: Any,
) -> Any:
    """Connect a client to a new server, call `use` with the client, and return the result."""
    from mcp.client import Client  # half a second, which every worker of pytest would pay while it collects

    from baton_git.interfaces.mcp.server import make_mcp_server  # as above

    async def connected() -> Any:
        async with Client(make_mcp_server(Call(Settings(asked)), is_shared=is_shared), **options) as client:
            return await use(client)

    return asyncio.run(connected())
