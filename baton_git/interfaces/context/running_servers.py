"""The running servers of this user, so that a server that finds its port taken can say which repository has it.

Each server keeps a file `<data home>/baton/servers/<port>.json` while it runs:

    {"version": 1, "pid": 4711, "started": 1795820400.25, "repository": "/home/ada/shop/.git"}

A file counts only while its process runs. Any file may be deleted; the next server on that port writes it again.
"""

from __future__ import annotations

import errno
import http.client
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import psutil

from baton_git.core.errors import StoreError, WriteFailed
from baton_git.core.output import one_line
from baton_git.git.files.durable_files import make_folder, remove, replace_file, writing
from baton_git.interfaces.context.process import data_home

FOLDER = "servers"
_VERSION = 1
_HEALTH_SECONDS = 1.0
"""Maximum time in seconds that whatever has the port has to answer."""


class RunningServer(NamedTuple):
    """A running server: its process, and the git directory of the repository that it serves."""

    pid: int
    repository: str


@contextmanager
def recorded_server(port: int, repository: Path) -> Iterator[None]:
    """Record that this process serves a repository on a port. Errors of the disk are ignored: the server is useful
    without its record."""
    path = _path_of(port)
    data = {"version": _VERSION, "pid": os.getpid(), "started": psutil.Process().create_time()}
    with suppress(WriteFailed), writing(str(path)):
        make_folder(path.parent)
        content = json.dumps({**data, "repository": str(repository)}).encode()
        replace_file(path, content, mode=0o600, private=True)
    try:
        yield
    finally:
        if find_server(port) == RunningServer(os.getpid(), str(repository)):
            remove(path)


def find_server(port: int) -> RunningServer | None:
    """Return the server of this user that runs on a port; None if none is known."""
    try:
        data = json.loads(_path_of(port).read_bytes())
        if data["version"] != _VERSION or abs(psutil.Process(data["pid"]).create_time() - data["started"]) > 1:
            return None
        return RunningServer(int(data["pid"]), str(data["repository"]))
    except (OSError, ValueError, TypeError, LookupError, psutil.Error):
        return None


def list_servers() -> list[RunningServer]:
    """Return the running servers of this user that are known."""
    ports = [path.stem for path in sorted((data_home() / "baton" / FOLDER).glob("*.json"))]
    found = (find_server(int(port)) for port in ports if port.isdecimal())
    return [server for server in found if server is not None]


def make_listen_error(host: str, port: int, error: OSError | UnicodeError) -> StoreError:
    """Return the error of a server that cannot listen; if its port is taken, the error says by what, if that is
    known."""
    why = getattr(error, "strerror", None) or str(error)
    if not isinstance(error, OSError) or error.errno != errno.EADDRINUSE:
        return StoreError(f"{host}:{port}: {why}", hint="choose another with --port" if port else "")
    server = find_server(port)
    if server is not None:
        user = f", by baton for {one_line(server.repository, 300)} (process {server.pid})"
    else:
        user = _describe_user(host, port)
    return StoreError(f"{host}:{port}: {why}{user}", hint="choose another with --port")


def _describe_user(host: str, port: int) -> str:
    """Describe what has a port, as far as it can be known; else return an empty text."""
    process = _find_listener(port)
    what = "a server with session-baton's API, whose repository is not known here" if _is_baton(host, port) else ""
    who = f"{one_line(process.name(), 40)} (process {process.pid})" if process is not None else ""
    known = ", ".join(filter(None, (what, who)))
    return f", by {known}" if known else ""


def _find_listener(port: int) -> psutil.Process | None:
    """Return the process that listens on a port; None if the system does not show it."""
    with suppress(psutil.Error, OSError):
        for connection in psutil.net_connections("tcp"):
            if connection.status == psutil.CONN_LISTEN and connection.pid and (*connection.laddr, 0, 0)[1] == port:
                return psutil.Process(connection.pid)
    return None


def _is_baton(host: str, port: int) -> bool:
    """Return whether a server with the API of session-baton answers. No token is sent: it could be any program."""
    connection = http.client.HTTPConnection(host, port, timeout=_HEALTH_SECONDS)
    try:
        connection.request("GET", "/health")
        data = json.loads(connection.getresponse().read(4096))
    except (OSError, ValueError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return isinstance(data, dict) and data.get("service") == "session-baton"


def _path_of(port: int) -> Path:
    return data_home() / "baton" / FOLDER / f"{port}.json"
