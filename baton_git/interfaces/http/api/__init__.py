"""baton-git's own API below `/v1`: the verbs that have a route, and the stream of changes."""

from __future__ import annotations

from fastapi import APIRouter

from baton_git.interfaces.http.api import events
from baton_git.interfaces.http.api.verb_routes import verb_router
from baton_git.interfaces.http.site import Site
from baton_git.interfaces.http.streams import Places


def routers(site: Site, places: Places) -> list[APIRouter]:
    """Return the routers of the API. `places` limits the number of streams."""
    return [verb_router(), events.router(site, places)]
