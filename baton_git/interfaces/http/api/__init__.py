"""baton-git's own API, below `/v1`: the verbs that have a route, and the stream of changes."""

from __future__ import annotations

from fastapi import APIRouter

from baton_git.interfaces.http.api import events
from baton_git.interfaces.http.api.verb_routes import verb_router
from baton_git.interfaces.http.site import Site
from baton_git.interfaces.http.streams import Places
from baton_git.verbs.table import all_verbs


def routers(site: Site, places: Places) -> list[APIRouter]:
    """All of it; streams take one of the places."""
    return [verb_router(site, all_verbs().values()), events.router(site, places)]
