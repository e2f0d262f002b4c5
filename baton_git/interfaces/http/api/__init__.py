"""baton-git's own API, below `/v1`: one module for each family of verbs."""

from __future__ import annotations

from fastapi import APIRouter

from baton_git.interfaces.http.api import (
    decisions,
    events,
    followups,
    handovers,
    history,
    loops,
    namespaces,
    patterns,
    records,
    sessions,
    sharing,
    snapshots,
)
from baton_git.interfaces.http.site import Site
from baton_git.interfaces.http.streams import Places

FAMILIES = (
    namespaces, records, loops, followups, patterns, decisions, sessions, history, sharing, handovers, snapshots
)  # fmt: skip


def routers(site: Site, places: Places) -> list[APIRouter]:
    """All of it; streams take one of the places."""
    return [*(family.router(site) for family in FAMILIES), events.router(site, places)]
