"""baton-git's own API below `/v1`: the verbs that have a route, and the stream of changes."""

from __future__ import annotations

from fastapi import APIRouter

from baton_git.interfaces.http.api import events
from baton_git.interfaces.http.api.verb_routes import verb_router
from baton_git.interfaces.http.site import Site
from baton_git.interfaces.http.streams import StreamLimit


def routers(site: Site, stream_limit: StreamLimit) -> list[APIRouter]:
    """Return the routers of the API."""
    return [verb_router(), events.router(site, stream_limit)]
