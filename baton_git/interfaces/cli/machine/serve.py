"""`baton serve`: serve the HTTP APIs and the web page."""

from __future__ import annotations

import importlib.util
import ipaddress
import os
import re
import socket
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from baton_git.core.errors import BatonError, BranchMoved, InvalidArgument, NotAllowed, StoreError
from baton_git.core.output import json_text, shell_line
from baton_git.interfaces.cli.app import App, WholeNumber, command
from baton_git.interfaces.cli.printing import write
from baton_git.interfaces.context.process import CLOSED, PAGE_TOKEN, TOKEN, interrupt_on_sigterm, read_server_token
from baton_git.interfaces.context.running_servers import make_listen_error, recorded_server
from baton_git.verbs.upkeep.extras import describe_install

if TYPE_CHECKING:
    from baton_git.interfaces.http.site import Site

DATABASE, PUBLISHED = "BATON_DB_PATH", "BATON_PUBLISHED"
HOST, PORT = "127.0.0.1", 9101
"""The address and port of session-baton."""
LONG = 16
"""Minimum number of characters of a token; for a shorter one, which could be guessed, a warning is printed."""
LEAVE_SECONDS = 2
"""Seconds that running requests have to finish when the server stops."""


@command("serve", may_create=True)
@click.option("--host", metavar="ADDRESS", help=f"The address to listen on. Default: BATON_HOST, or {HOST}.")
@click.option(
    "--port", type=WholeNumber(0, 65535), help=f"The port; 0 for any free one. Default: BATON_PORT, or {PORT}."
)
@click.option("--allow-host", metavar="NAME", multiple=True,
              help="Another host name that requests may use for this server; repeatable.")  # fmt: skip
@click.option("--writers", type=WholeNumber(0, 64), help="How many processes write documents of session-baton's API "
              "when many arrive at once; 0: only the server itself. Default: one for each processor, at most 4; none "
              "if there is only one.")  # fmt: skip
def serve_command(
    app: App, host: str | None, port: int | None, allow_host: tuple[str, ...], writers: int | None
) -> None:
    """Serve an HTTP API, the APIs of session-baton and PAIF, and a web page, until it is stopped.

    It listens on this machine only, unless BATON_API_TOKEN is set. Then --host may be an address that other machines
    reach, and all requests need that token, except GET /health and the login of the page. In a container, it listens on
    all addresses without a token if BATON_PUBLISHED says that its port is published on loopback only.

    If BATON_PAGE_TOKEN is set, the login of the web page accepts only that token. So people can use the page, and
    agents, which have BATON_API_TOKEN, cannot. Without BATON_API_TOKEN, the APIs then refuse every request.

    In the repository of a project, clients of session-baton and PAIF can write only to namespaces that exist there,
    unless --create is given. In a bare repository and in your own store, they create those that they write to. Outside
    of a repository, your own store is served, and created if there is none.

    This needs packages of the extra http. If they are missing, the error has the command that installs them.

    \b
    baton serve
    BATON_API_TOKEN=… baton serve --host 0.0.0.0 --port 9101 --repo /srv/state.git
    """
    missing = [name for name in ("starlette", "uvicorn", "httptools") if importlib.util.find_spec(name) is None]
    if missing:
        raise BatonError(f"baton serve needs {' and '.join(missing)}", hint=describe_install("http"))
    if host == "":
        raise InvalidArgument("--host is empty", hint="give an address, or leave it out")
    listen_host = host or os.environ.get("BATON_HOST") or HOST
    listen_port = port if port is not None else _parse_port(os.environ.get("BATON_PORT"))
    addresses = resolve_addresses(listen_host, listen_port)
    token, page_token = read_server_token(), read_server_token(PAGE_TOKEN)
    if page_token is not None and page_token == token:
        raise InvalidArgument(
            f"{PAGE_TOKEN} is the same as {TOKEN}, which agents may have", hint=f"set {PAGE_TOKEN} to another secret"
        )
    for name, secret in ((TOKEN, token), (PAGE_TOKEN, page_token)):
        if secret is not None and len(secret) < LONG:
            app.say(f"{name} is short enough to be guessed; to make a long one: openssl rand -hex 24")
    if token is None and page_token is not None:
        app.say(CLOSED)
    if token is None and not all(is_this_machine(address) for address in addresses):
        check_published(listen_host)
    if not app.settings.is_repository_named and app.settings.found_repository is None:
        app = app.creating
    site = _open_site(app, token, page_token)
    site.is_shared = bool(allow_host) or not all(is_this_machine(address) for address in addresses)
    if os.environ.get(DATABASE):
        app.say(f"{DATABASE} names session-baton's database; baton stores its state in git. To import the database:")
        app.say(shell_line(["baton", "import", "session-baton", os.environ[DATABASE], "--all"]))
    with _listen(listen_host, addresses[0], listen_port) as listener:
        names = _allowed_names(listen_host, addresses[0], allow_host, token)
        _serve(app, site, listener, names, _count_writers() if writers is None else writers)


def check_published(host: str) -> None:
    """Check that this is a container whose port is published on this machine's loopback only.

    BATON_PUBLISHED is the line below `ports` in compose.yaml: the address, the port there, and the port in here.

    Raises:
        InvalidArgument: it is not, so that other machines reach a server without a token.
    """
    published = os.environ.get(PUBLISHED)
    if not published:
        raise InvalidArgument(
            f"without a token baton serves only this machine, not {host}",
            hint="set BATON_API_TOKEN to a long secret, or do not set --host and BATON_HOST",
        )
    address = re.match(r"\[([^]]*)\]:|([^:]*):[^:]*:", published)
    with suppress(ValueError):  # not an address
        if address is not None and is_this_machine(address[1] or address[2]):
            return
    raise InvalidArgument(
        f"the port is published to other machines ({PUBLISHED} is {published}), so a token is needed",
        hint="set BATON_API_TOKEN to a long secret, or publish it as 127.0.0.1:9101:9101",
    )


def _count_writers() -> int:
    """Return the default number of writer processes, for the processors that this process may use."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(processors, 4) if processors > 1 else 0


def _open_site(app: App, token: str | None, page_token: str | None) -> Site:
    """Open the repository to serve, so that an invalid option or repository fails now, not at the first request."""
    from baton_git.interfaces.context.person import find_agent  # slow to import
    from baton_git.interfaces.http.site import Site  # takes a quarter of a second, and needs an extra

    is_new = app.settings.options.create and app.settings.found_repository is None
    repository = app.settings.repository
    agent = find_agent(os.environ, app.settings.agent)
    options = app.settings.options
    site = Site(options._replace(create=False), token, agent, page_token, may_create=options.create)
    with site.work() as ws:
        try:
            ws.branch.read()
        except BranchMoved as error:  # the page and every answer say so; other namespaces are served
            app.say(f"{error}; {error.hint}")
    if is_new:
        app.say(f"created {repository.common_dir}")
    if token is None and site.agents:
        raise NotAllowed(
            "agents are registered here, and without a token anybody could act for them",
            hint=f"set BATON_API_TOKEN, or remove {site.agents.path}",
        )
    return site


def _serve(app: App, site: Site, listener: socket.socket, names: frozenset[str] | None, writers: int) -> None:
    import uvicorn  # slow to import, and needs an extra

    from baton_git.interfaces.http.app import application
    from baton_git.interfaces.http.serving import Connection, Server
    from baton_git.interfaces.http.site import log_to_stderr

    address, port = listener.getsockname()[:2]
    url = f"http://{f'[{address}]' if ':' in address else address}:{port}"
    config = uvicorn.Config(
        application(site, hosts=names, writers=writers), http=Connection, ws="none", lifespan="on",
        log_level="error", access_log=False, server_header=False, proxy_headers=False, timeout_keep_alive=30,
        timeout_graceful_shutdown=LEAVE_SECONDS,
    )  # fmt: skip
    server = Server(config, site)
    ready = {"url": url, "repository": str(site.repository.common_dir)}
    with recorded_server(port, site.repository.common_dir), suppress(KeyboardInterrupt):  # uvicorn raises it again
        interrupt_on_sigterm()
        log_to_stderr()
        write(json_text(ready, None) if app.json else url)  # on one line, so that a program can read it with readline
        sys.stdout.flush()
        app.say(f"serving {site.repository.common_dir}; stop with Ctrl-C")
        server.run(sockets=[listener])
    _exit_without_workers()


def _exit_without_workers() -> None:
    """Exit without waiting for worker threads; their writes are atomic."""
    if any(thread.name.startswith("AnyIO worker") for thread in threading.enumerate()):
        sys.stderr.flush()
        os._exit(0)


def is_this_machine(address: str) -> bool:
    """Return whether an address is a loopback address: `::1`, or in `127.0.0.0/8`, also mapped to IPv6."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    mapped = parsed.ipv4_mapped if isinstance(parsed, ipaddress.IPv6Address) else None
    return (mapped or parsed).is_loopback


def resolve_addresses(host: str, port: int) -> list[str]:
    """Resolve a host name to addresses; the server listens on the first of them.

    Raises:
        StoreError: the name cannot be resolved.
    """
    try:
        entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise StoreError(f"{host}: {why}", hint="give an address of this machine") from error
    return [str(address[0]) for _, _, _, _, address in entries]


def _listen(host: str, address: str, port: int) -> socket.socket:
    """Open a listening socket.

    Raises:
        StoreError: the address is in use or cannot be bound (see `make_listen_error`).
    """
    listener = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        listener.listen(512)
    except OSError as error:
        listener.close()
        raise make_listen_error(host, port, error) from error
    return listener


def _allowed_names(host: str, address: str, allowed: tuple[str, ...], token: str | None) -> frozenset[str] | None:
    """Return the host names that requests may have in the header `Host`; None if every name is allowed.

    Every name is allowed if the server has a token, listens on an address that other machines can reach, and
    --allow-host is not given.
    """
    from baton_git.interfaces.http.guard import LOOPBACK

    if token is not None and not allowed and not is_this_machine(address):
        return None
    own = (
        set() if ipaddress.ip_address(address.partition("%")[0]).is_unspecified else {host.lower().rstrip("."), address}
    )
    return LOOPBACK | own | {name.lower().rstrip(".") for name in allowed}


def _parse_port(text: str | None) -> int:
    if not text:
        return PORT
    if not text.isascii() or not text.isdecimal() or int(text[:9]) > 65535:
        raise InvalidArgument(f"BATON_PORT {text!r} is not a port", hint="set it to a number from 0 to 65535")
    return int(text)


COMMANDS = {"serve": serve_command}
