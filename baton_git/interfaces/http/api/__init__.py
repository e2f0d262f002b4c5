"""baton-git's own API, below `/v1`: one module for each family of verbs."""

from __future__ import annotations

from fastapi import APIRouter

from baton_git.interfaces.http.api import events, namespaces, records
from baton_git.interfaces.http.api.verb_routes import verb_router
from baton_git.interfaces.http.site import Site
from baton_git.interfaces.http.streams import Places
from baton_git.verbs.table import all_verbs

FAMILIES = (namespaces, records)


def routers(site: Site, places: Places) -> list[APIRouter]:
    """All of it; streams take one of the places."""
    return [
        *(family.router(site) for family in FAMILIES),
        verb_router(site, all_verbs().values()),
        events.router(site, places),
    ]
