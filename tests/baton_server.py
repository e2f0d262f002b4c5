"""A small server for session-baton's API, with the responses of the original or of memory-hall (with revisions).

`Wire` holds the data and answers requests, and `served` serves it. `odd` starts a server with invalid responses.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Wire:
    """The data of a server and how it responds.

    Attributes:
        counts: whether it has revisions, as memory-hall.
        batons: by namespace, the document, the time of its write, and its revision.
        asked: path and body of every request that it has received.
        history: every document that was written.
        after_write: called after a write is stored and before the response is sent.
    """

    counts: bool = False
    token: str = ""
    batons: dict[str, tuple[dict[str, Any], str, int]] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    after_write: Callable[[], None] = lambda: None
    history: list[dict[str, Any]] = field(default_factory=list)
    clock: int = 0
    url: str = ""

    def put(self, namespace: str, baton: dict[str, Any]) -> None:
        """Write as another client."""
        self.clock += 1
        revision = self.batons.get(namespace, ({}, "", 0))[2] + 1
        self.history.append(baton)
        self.batons[namespace] = (baton, f"2026-11-21T08:00:{self.clock:02d}.000001+00:00", revision)

    def get(self, namespace: str) -> dict[str, Any]:
        return self.batons[namespace][0]

    @property
    def writes(self) -> int:
        return sum(path.endswith("write") for path, _ in self.asked)

    def answer(self, path: str, body: dict[str, Any], token: str) -> tuple[int, dict[str, Any]]:
        if self.token and not token.startswith("Bearer "):
            return 401, {"detail": "missing bearer token"}
        if self.token and token != f"Bearer {self.token}":
            return 401, {"detail": "invalid token"}
        self.asked.append((path, body))
        if path == "/v1/baton/read":
            return 200, self.make_read_response(body["namespace"])
        if path == "/v1/baton/write":
            return self.write(body)
        return 404, {"detail": "Not Found"}

    def make_read_response(self, namespace: str) -> dict[str, Any]:
        baton, time, revision = self.batons.get(namespace, (None, None, None))
        data = {"baton": baton, "namespace": namespace, "updated_at": time}
        return {**data, "revision": revision} if self.counts else data

    def write(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        namespace, expected = body["namespace"], body.get("expected_revision")
        now = self.make_read_response(namespace)
        if self.counts and expected is not None and expected != now["revision"]:
            current = {f"current_{name}": now[name] for name in ("baton", "updated_at", "revision")}
            detail = {"error": "baton_revision_conflict", "namespace": namespace, "expected_revision": expected}
            return 409, {"detail": {**detail, **current}}
        self.put(namespace, body["baton"])
        self.after_write()
        now = self.make_read_response(namespace)
        return 200, {"ok": True, **{name: value for name, value in now.items() if name != "baton"}}


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64


@contextmanager
def served(wire: Wire) -> Iterator[Wire]:
    """Serve the wire on a loopback port, and set its `url`."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            try:
                status, data = wire.answer(self.path, body, self.headers.get("Authorization", ""))
            except ConnectionAbortedError:  # the response gets lost
                return
            text = json.dumps(data).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            pass

    server = _Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    wire.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield wire
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def odd(answer: bytes | Callable[[socket.socket], None]) -> Iterator[str]:
    """Start a server that answers every request with these bytes or by this function; return its URL."""
    listener = socket.create_server(("127.0.0.1", 0))

    def run() -> None:
        while True:
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=_one, args=(sock, answer), daemon=True).start()

    accepting = threading.Thread(target=run, daemon=True)
    accepting.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        # Closing it alone would let the thread wait on the number of its file, which another test's server gets next:
        # the thread then took a request of that server, and gave it this answer or none.
        listener.shutdown(socket.SHUT_RDWR)
        accepting.join()
        listener.close()


def _one(sock: socket.socket, answer: bytes | Callable[[socket.socket], None]) -> None:
    with sock:
        try:
            sock.recv(1 << 20)
            if callable(answer):
                answer(sock)
            else:
                sock.sendall(answer)
                sock.shutdown(socket.SHUT_WR)
                while sock.recv(1 << 16):
                    pass
        except OSError:  # the client has gone
            return


def response(status: int, body: str, *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body.encode())}", *headers, "", body]
    return "\r\n".join(lines).encode()
