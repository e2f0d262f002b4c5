"""The server that runs the application: it tells those who listen for changes that it ends."""

from __future__ import annotations

import socket

import uvicorn

from baton_git.interfaces.http.site import Site


class Server(uvicorn.Server):
    """uvicorn waits for answers that have begun, and a stream of events has no end of its own."""

    def __init__(self, config: uvicorn.Config, site: Site) -> None:
        super().__init__(config)
        self._site = site

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._site.ending.set()
        await super().shutdown(sockets)
