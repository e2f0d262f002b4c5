"""dulwich's clients for `git://`, ssh and http(s), each with its connections under a `Watch`."""

from __future__ import annotations

import select
import shlex
import socket
import subprocess
from collections.abc import Callable, Mapping
from typing import IO, Final, NamedTuple
from urllib.parse import ParseResult, urlparse

from dulwich.client import (
    GitClient,
    SSHGitClient,
    SSHVendor,
    StrangeHostname,
    SubprocessWrapper,
    TCPGitClient,
    Urllib3HttpGitClient,
    parse_rsync_url,
)
from dulwich.protocol import Protocol

from baton_git.errors import RemoteError
from baton_git.remotes import http_pool, ssh
from baton_git.remotes.complaints import masked
from baton_git.remotes.git_files import GitFiles
from baton_git.remotes.watch import Watch

_V2: Final = 2


class Channel(NamedTuple):
    """A client, and the path that its calls want."""

    client: GitClient
    path: str


def channel(address: str, files: GitFiles, environment: Mapping[str, str], watch: Watch) -> Channel:
    """A way to the repository at this URL, all of whose connections end with the watch.

    Raises:
        RemoteError: a path or file:// (only a real git may be the server there), or an unknown kind of URL.
        OSError: its host does not resolve.
    """
    url = urlparse(address)
    if url.scheme in {"http", "https"} and url.hostname:
        return _http(url, files, environment, watch)
    if url.scheme == "git" and url.hostname:
        watch.looked_up(url.hostname, url.port)
        return Channel(_Tcp(url.hostname, url.port, watch), url.path)
    if url.scheme in {"ssh", "git+ssh", "ssh+git"} and url.hostname:
        vendor = _Ssh(files.ssh, environment, watch)
        return Channel(_SshClient(url.hostname, url.port, url.username, vendor), url.path)
    head, colon, _ = address.partition(":")
    if colon and "/" not in head and "://" not in address:
        user, host, path = parse_rsync_url(address)
        return Channel(_SshClient(host, None, user, _Ssh(files.ssh, environment, watch)), path)
    raise RemoteError(
        f"{masked(address)}: this needs the git program",
        hint="install git; without it only ssh, http(s) and git:// addresses can be reached",
    )


def _http(url: ParseResult, files: GitFiles, environment: Mapping[str, str], watch: Watch) -> Channel:
    pool = http_pool.pool(url, files.config, environment, watch)
    client = Urllib3HttpGitClient.from_parsedurl(url, config=files.config, pool_manager=pool)
    return Channel(client, url.path)


class _Tcp(TCPGitClient):
    def __init__(self, host: str, port: int | None, watch: Watch) -> None:
        super().__init__(host, port)
        self._watch = watch

    def _connect(
        self, cmd: bytes, path: str | bytes, protocol_version: int | None = None
    ) -> tuple[Protocol, Callable[[], bool], IO[bytes] | None]:
        """As its base does it, but with a limit for each address and for the whole."""
        sock = socket.create_connection((self._host, self._port), timeout=self._watch.left)
        self._watch.closing(sock.close)
        self._watch.socket(sock).settimeout(None)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        reading, writing = sock.makefile("rb"), sock.makefile("wb", 0)
        self._watch.closing(reading.close)
        self._watch.closing(writing.close)
        proto = Protocol(reading.read, writing.write, sock.close)
        self._watch.closing(proto.close)
        raw = path if isinstance(path, bytes) else path.encode()
        self.protocol_version = _V2 if cmd == b"upload-pack" else 0
        version = b"\0\0version=2\0" if cmd == b"upload-pack" else b""
        host = self._host if self._port is None else f"{self._host}:{self._port}"
        proto.send_cmd(b"git-" + cmd, raw.removeprefix(b"/") if raw.startswith(b"/~") else raw,
                       b"host=" + host.encode() + version)  # fmt: skip
        return proto, lambda: bool(select.select([sock], [], [], 0)[0]), None


class _SshClient(SSHGitClient):
    def __init__(self, host: str, port: int | None, user: str | None, vendor: _Ssh) -> None:
        super().__init__(host, port, user, vendor=vendor)
        self._watch = vendor.watch

    def _connect(
        self, cmd: bytes, path: str | bytes, protocol_version: int | None = None
    ) -> tuple[Protocol, Callable[[], bool], IO[bytes] | None]:
        """As its base does it; a connection that breaks off at once is not closed there."""
        connected = super()._connect(cmd, path, protocol_version)
        self._watch.closing(connected[0].close)
        return connected


class _Ssh(SSHVendor):
    def __init__(self, settings: ssh.SshSettings, environment: Mapping[str, str], watch: Watch) -> None:
        self.watch = watch
        self._settings = settings
        self._environment = environment

    def run_command(
        self,
        host: str,
        command: bytes,
        username: str | None = None,
        port: int | None = None,
        password: str | None = None,
        key_filename: str | None = None,
        ssh_command: str | None = None,
        protocol_version: int | None = None,
    ) -> SubprocessWrapper:
        """Starts the user's ssh without anything that it could ask at, in a group that the watch can kill."""
        line = ssh.command(self._environment, self._settings, self.watch.left)
        target = f"{username}@{host}" if username else host
        if target.startswith("-"):
            raise StrangeHostname(hostname=target)
        plain = " -batch" not in line
        argv = [*shlex.split(line), *(("-P" if not plain else "-p", str(port)) if port else ())]
        argv += ["-o", "SendEnv=GIT_PROTOCOL"] if plain else []
        quiet = {"SSH_ASKPASS": "", "SSH_ASKPASS_REQUIRE": "never", "GIT_PROTOCOL": "version=2"}
        process = subprocess.Popen(  # noqa: S603  the ssh that the user configured
            [*argv, target, command.decode("utf-8", "surrogateescape")],
            bufsize=0,
            env={**self._environment, **quiet},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self.watch.process(process)
        return SubprocessWrapper(process)
