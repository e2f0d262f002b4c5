"""Real git servers on loopback. Each is a process, or a thread around git's own server, that is always ended.

Every server keeps bare repositories in a folder and serves them all; `Served` is one of them, as a client sees it.
"""

from __future__ import annotations

import base64
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit

SSHD = "/usr/sbin/sshd"
LOGIN = "ada:s3cr3t-w0rd"
QUIET = {
    "PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_COUNT": "2", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*",
    "GIT_CONFIG_KEY_1": "http.receivepack", "GIT_CONFIG_VALUE_1": "true", "LC_ALL": "C",
}  # fmt: skip
"""The environment of every server: nothing of the machine's configuration."""


@dataclass(frozen=True)
class Served:
    """One repository of a server. `environment` is what its clients need."""

    url: str
    bare: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    def hook(self, name: str, script: str) -> None:
        """Install a server-side hook in the repository."""
        file = self.bare / "hooks" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)


@dataclass(frozen=True)
class Server:
    """`start` is the beginning of its URLs; `folder` contains its repositories."""

    start: str
    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    def make(self, name: str) -> Served:
        """Create an empty repository."""
        bare = self.folder / f"{name}.git"
        subprocess.run(["git", "init", "-q", "--bare", str(bare)], check=True, env=QUIET)
        return Served(f"{self.start}/{name}.git", bare, self.environment)


def free_port() -> int:
    with closing(socket.socket()) as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@contextmanager
def process(argv: list[str], port: int, log: Path, environment: Mapping[str, str] = QUIET) -> Iterator[None]:
    """Run a server that listens on `port`; its whole process group is killed at the end of the block."""
    with log.open("wb") as out:
        running = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=environment, start_new_session=True
        )
    try:
        _wait_for(port, running, log)
        yield
    finally:
        with suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
        running.wait()


def _wait_for(port: int, running: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 20
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            assert running.poll() is None, f"{running.args!r} ended: {log.read_text()}"
            assert time.monotonic() < deadline, f"{running.args!r} does not listen: {log.read_text()}"
            time.sleep(0.02)
        else:
            return


@contextmanager
def git_daemon(folder: Path) -> Iterator[Server]:
    port = free_port()
    argv = ["git", "daemon", "--reuseaddr", "--listen=127.0.0.1", f"--port={port}", f"--base-path={folder}"]
    argv += ["--enable=receive-pack", "--export-all", str(folder)]
    with process(argv, port, folder / "daemon.log"):
        yield Server(f"git://127.0.0.1:{port}", folder)


@contextmanager
def smart_http(folder: Path, delay: float = 0) -> Iterator[Server]:
    """Serve `git http-backend` behind Basic authentication; the login is in the URL. Each answer takes `delay` seconds
    longer."""
    handler = type("Handler", (_Handler,), {"folder": folder, "delay": delay})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield Server(f"http://{LOGIN}@127.0.0.1:{server.server_address[1]}", folder)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    folder: ClassVar[Path]
    delay: ClassVar[float]
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # with the next line: else each answer waits 40 ms for an acknowledgement
    wbufsize = -1

    def do_GET(self) -> None:
        body = self._body()  # first of all, so that the connection survives a 401
        time.sleep(self.delay)
        if self.headers.get("Authorization") != "Basic " + base64.b64encode(LOGIN.encode()).decode():
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        done = subprocess.run(["git", "http-backend"], input=body, env=self._variables(body), stdout=subprocess.PIPE)
        self._answer(*done.stdout.partition(b"\r\n\r\n")[::2])

    do_POST = do_GET  # noqa: N815  the name in the base class

    def _body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _variables(self, body: bytes) -> dict[str, str]:
        url = urlsplit(self.path)
        return {
            **QUIET, "GIT_PROJECT_ROOT": str(self.folder), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": url.path,
            "QUERY_STRING": url.query, "REQUEST_METHOD": self.command, "REMOTE_USER": LOGIN.partition(":")[0],
            "CONTENT_TYPE": self.headers.get("Content-Type", ""), "CONTENT_LENGTH": str(len(body)),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""), "REMOTE_ADDR": "127.0.0.1",
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
        }  # fmt: skip

    def _answer(self, head: bytes, body: bytes) -> None:
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        self.send_response(int(headers.pop("Status", "200").split()[0]))
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name in the base class
        pass


@contextmanager
def sshd(folder: Path, authorized: str) -> Iterator[str]:
    """Run a real OpenSSH server for the current user; yield the beginning of its URLs."""
    port = free_port()
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # sshd wants it when it starts as root
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / "hostkey")], check=True)
    (folder / "authorized").write_text(authorized)
    (folder / "sshd_config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/hostkey\nPidFile none\n"
        f"AuthorizedKeysFile {folder}/authorized\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"
        "UsePAM no\nStrictModes no\nAcceptEnv GIT_PROTOCOL\nPermitRootLogin prohibit-password\nMaxStartups 100\n"
    )
    with process([SSHD, "-D", "-e", "-f", str(folder / "sshd_config")], port, folder / "sshd.log"):
        yield f"ssh://127.0.0.1:{port}"


def ssh_key(file: Path) -> str:
    """Create a key pair at `file`; return its public key."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", file.name, "-f", str(file)], check=True)
    return file.with_name(f"{file.name}.pub").read_text()


def ssh_environment(key: Path) -> dict[str, str]:
    """Return variables that make a client use this key, and no ssh configuration of the machine."""
    options = ("IdentitiesOnly=yes", "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=ERROR")
    quick = ("KexAlgorithms=curve25519-sha256",)
    return {"GIT_SSH_COMMAND": " ".join(["ssh -F none -i", str(key), *(f"-o {one}" for one in (*options, *quick))])}


@contextmanager
def openssh(folder: Path) -> Iterator[Server]:
    """Serve `git-shell` behind OpenSSH."""
    key = folder / "key"
    variables = " ".join(f"{name}='{value}'" for name, value in QUIET.items() if name != "PATH")
    forced = f'command="env {variables} git-shell -c \\"$SSH_ORIGINAL_COMMAND\\"",restrict {ssh_key(key)}'
    with sshd(folder, forced) as start:
        yield Server(f"{start}{folder}", folder, ssh_environment(key))


GITOLITE = """
repo private
    RW = alice

repo memory
    RW baton/alice$ = alice
    RW baton/shared$ = alice bob
    RW baton/bob$ = bob
    - baton/ = @all
    R = @all
"""


@contextmanager
def gitolite(folder: Path) -> Iterator[dict[str, Server]]:
    """Serve `gitolite` behind a separate sshd, with its home in `folder`; yield a server for each user."""
    home = folder / "home"
    home.mkdir()
    keys = {user: ssh_key(folder / user) for user in ("admin", "alice", "bob")}
    environment = {**QUIET, "HOME": str(home), "USER": "git"}

    def run(*words: str) -> None:
        done = subprocess.run(["gitolite", *words], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    run("setup", "-pk", str(folder / "admin.pub"))
    for user in ("alice", "bob"):
        shutil.copy(folder / f"{user}.pub", home / ".gitolite" / "keydir")
    with (home / ".gitolite" / "conf" / "gitolite.conf").open("a") as rules:
        rules.write(GITOLITE)
    run("compile")
    shell = shutil.which("gitolite-shell") or "/usr/share/gitolite3/gitolite-shell"
    variables = " ".join(f"{name}='{value}'" for name, value in environment.items() if name != "PATH")
    authorized = "".join(f'command="env {variables} {shell} {user}",restrict {key}' for user, key in keys.items())
    with sshd(folder, authorized) as start:
        folders = home / "repositories"
        yield {user: Server(start, folders, ssh_environment(folder / user)) for user in keys}


@contextmanager
def listener(answer: bytes = b"", *, drip: float = 0) -> Iterator[int]:
    """Open a port that accepts connections and sends `answer`, once or repeatedly every `drip` seconds."""
    over = threading.Event()
    accepted: list[socket.socket] = []

    def serve(sock: socket.socket) -> None:
        with suppress(OSError):
            while answer:
                sock.sendall(answer)
                if over.wait(drip or 60):
                    return

    def accept() -> None:
        with suppress(OSError):
            while True:
                sock, _ = server.accept()
                accepted.append(sock)
                thread = threading.Thread(target=serve, args=(sock,), daemon=True)
                thread.start()

    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield int(server.getsockname()[1])
        finally:
            over.set()
            with suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)
            thread.join(5)
            for sock in accepted:
                sock.close()
