"""The uvicorn server that runs the application and ends event streams at shutdown."""

from __future__ import annotations

import socket

import uvicorn

from baton_git.interfaces.http.site import Site


class Server(uvicorn.Server):
    """A uvicorn server that ends event streams before it shuts down; uvicorn alone would wait for them forever."""

    def __init__(self, config: uvicorn.Config, site: Site) -> None:
        super().__init__(config)
        self._site = site

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._site.ending.set()
        await super().shutdown(sockets)
