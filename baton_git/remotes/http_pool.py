"""Connections for http and https: with the user's proxy, headers and certificates, and under a `Watch`."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Any
from urllib.parse import ParseResult, urlparse

import urllib3
from dulwich.client import default_urllib3_manager
from dulwich.config import StackedConfig
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from baton_git.remotes.watch import Watch

_RETRIES = urllib3.Retry(total=None, connect=0, read=0, redirect=5, status=0, other=0)


def pool(url: ParseResult, config: StackedConfig, environment: Mapping[str, str], watch: Watch) -> urllib3.PoolManager:
    """What dulwich sends its requests through: `http.<url>.extraHeader`, `sslCAInfo` and `sslVerify` of the user's.

    Raises:
        OSError: neither the host nor its proxy resolves.
    """
    proxy = _proxy(url, config, environment)
    to = urlparse(proxy if proxy is None or "://" in proxy else f"http://{proxy}") if proxy else url
    watch.looked_up(to.hostname or "", to.port)

    def make(*_: object, headers: Mapping[str, str], **given: Any) -> urllib3.PoolManager:
        limits = {**given, "retries": _RETRIES, "timeout": watch.left}
        limits.pop("proxy_headers", None)
        if proxy is None:
            return urllib3.PoolManager(headers=headers, **limits)
        login = f"{to.username}:{to.password or ''}" if to.username else None
        through = urllib3.make_headers(proxy_basic_auth=login) if login else {}
        return urllib3.ProxyManager(to.geturl(), headers=headers, proxy_headers=through, **limits)

    # dulwich would take any proxy variable for any scheme, so it is asked for all but the proxy.
    base = f"{url.scheme}://{url.netloc.rpartition('@')[2]}{url.path}"
    made: Any = default_urllib3_manager(config, base_url=base, pool_manager_cls=make, proxy_manager_cls=make)  # type: ignore[arg-type]
    made.pool_classes_by_scheme = _watched(watch)
    watch.closing(made.clear)
    return made  # type: ignore[no-any-return]


def _proxy(url: ParseResult, config: StackedConfig, environment: Mapping[str, str]) -> str | None:
    """As curl chooses: `http.proxy`, else the variable of the scheme, unless `no_proxy` names the host."""
    excepted = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
    host = (url.hostname or "").lower()
    for name in (part.strip().lower().lstrip(".") for part in excepted.split(",")):
        if name and (name == "*" or host == name or host.endswith(f".{name}")):
            return None
    try:
        configured = config.get((b"http",), b"proxy").decode()
    except KeyError:
        names = [f"{url.scheme}_proxy", "HTTPS_PROXY" if url.scheme == "https" else "", "all_proxy", "ALL_PROXY"]
        return next((environment[name] for name in names if environment.get(name)), None)
    return configured or None


def _watched(watch: Watch) -> dict[str, type[HTTPConnectionPool]]:
    """urllib3's pools, whose connections put their socket under the watch as soon as there is one."""

    class Plain(HTTPConnection):
        def _new_conn(self) -> socket.socket:
            return watch.socket(super()._new_conn())

    class Secure(HTTPSConnection):
        def _new_conn(self) -> socket.socket:
            return watch.socket(super()._new_conn())

    class PlainPool(HTTPConnectionPool):
        ConnectionCls = Plain

    class SecurePool(HTTPSConnectionPool):
        ConnectionCls = Secure

    return {"http": PlainPool, "https": SecurePool}
