"""The cache of session-baton's clients on this machine: where it is, which server it is for, and what waits in it."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from baton_git.core.errors import BatonError
from baton_git.core.output import count_noun
from baton_git.interfaces.context.git_config import read_user_config
from baton_git.interfaces.context.process import read_token
from baton_git.namespace.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from baton_git.systems.session_baton.cache_folder import CacheFolder
    from baton_git.systems.session_baton.caching import SentDocument


def cache_folder() -> Path:
    return Path.home() / ".claude" / "loop" / "batons"


def find_server_url() -> str | None:
    """Return the URL of the server in BATON_URL or in the user's configuration of git; None or empty if none is named.

    The configuration of a repository does not count: it must not choose to whom the token is sent.
    """
    return os.environ.get("BATON_URL") or (read_user_config("baton.url") or [None])[-1]


def with_client_cache(ws: Workspace) -> Workspace:
    """Return the workspace in which the start of a session sends what waits in the cache of this machine's clients."""
    return replace(ws, send_cached=send_cached)


def send_cached(seconds: float) -> list[str]:
    """Send the documents that wait in the cache, each to its server, within `seconds`; return lines for a person."""
    path = cache_folder()
    if not path.is_dir():  # most machines have none
        return []
    from baton_git.systems.session_baton.cache_folder import CacheFolder  # slow to import

    try:
        return _send_to_servers(CacheFolder(path), seconds)
    except (BatonError, OSError) as error:
        return [f"what waits in the client's cache was not sent: {error}"]


def _send_to_servers(folder: CacheFolder, seconds: float) -> list[str]:
    """Send the waiting documents, server by server, but not those in conflict nor those of an unknown server.

    The lines count documents and do not name them: a session of one project is not told of another's.
    """
    from baton_git.systems.session_baton.caching import BatonCache, list_waiting, send_waiting
    from baton_git.systems.session_baton.http_client import BatonServer, ServerAddress

    found = list_waiting(folder)
    contested = sum(document.is_contested for document in found)
    lines = [_describe_contested(contested)] if contested else []
    waiting = [document for document in found if not document.is_contested]
    if not waiting:
        return lines
    named = find_server_url()
    own, end = str(ServerAddress.parse(named)) if named else None, time.monotonic() + seconds
    urls = dict.fromkeys(document.url or own or "" for document in waiting)
    token = read_token()
    for url in filter(None, urls):
        names = [document.namespace for document in waiting if (document.url or own) == url]
        # A token is for one server: the named one or, if none is named, the only one that this cache is for.
        is_for_token = url == own or (own is None and len(urls) == 1)
        server = BatonServer(ServerAddress.parse(url), token if is_for_token else None)
        lines += _describe_sent(
            url, send_waiting(BatonCache(folder, server), names, end - time.monotonic()), len(names)
        )
    return lines


def _describe_contested(number: int) -> str:
    counted = count_noun(number, "document in the client's cache is", "documents in the client's cache are")
    return f"{counted} in conflict with the server (baton cache status; baton cache send NS)"


def _describe_sent(url: str, results: Sequence[SentDocument], number: int) -> list[str]:
    """Describe what became of `number` documents that waited for one server."""
    sent = sum(result.is_sent for result in results)
    contested = sum(result.is_contested for result in results)
    why = next((result.problem for result in results if result.problem), "")
    went = count_noun(sent, "document in the client's cache was", "documents in the client's cache were")
    lines = [f"{went} sent to {url}"] if sent else []
    lines += [_describe_contested(contested)] if contested else []
    waits = count_noun(number - sent - contested, "document still waits", "documents still wait")
    return lines + ([f"{waits} in the client's cache: {why} (baton cache status)"] if why else [])
