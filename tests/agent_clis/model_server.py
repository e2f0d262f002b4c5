"""A model on loopback that gives scripted answers and records every request."""

from __future__ import annotations

import gzip
import json
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

from agent_clis.wires import SUMMARY, Action, Fail, Kind, Say, Turn, Wire, aside, texts


@dataclass(frozen=True)
class Request:
    """A request of the CLI. `conversation` contains every text of its messages, including tool calls and results."""

    path: str
    kind: Kind
    body: Any
    messages: list[Any]

    @property
    def conversation(self) -> str:
        return "\n".join(texts(self.messages))


Scripted = Turn | Fail | Callable[[Request], Turn]


@dataclass
class ModelServer:
    """Play `script`, one turn for each request of the session; afterwards answer "nothing more"."""

    wire: Wire
    url: str
    script: deque[Scripted] = field(default_factory=deque)
    requests: list[Request] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def play(self, *actions: Action, tokens: int = 1000) -> None:
        """Append a turn to the script."""
        self.script.append(Turn(actions, tokens))

    def say(self, text: str) -> None:
        """Append a turn that is only a text."""
        self.play(Say(text))

    def play_as(self, answer: Callable[[Request], Turn]) -> None:
        """Append a turn that depends on its request."""
        self.script.append(answer)

    def fail(self, status: int, message: str) -> None:
        """Append a refusal to the script."""
        self.script.append(Fail(status, message))

    def forget(self) -> None:
        """Drop the rest of the script."""
        self.script.clear()

    @property
    def turns(self) -> list[Request]:
        """Return the requests of the session itself, oldest first."""
        return [request for request in self.requests if request.kind == "turn"]

    def wait(self, turns: int, seconds: float = 40) -> Request:
        """Wait for the `turns`th request of the session, counted from 1, and return it.

        Raises:
            AssertionError: it did not come in time.
        """
        with self.changed:
            in_time = self.changed.wait_for(lambda: len(self.turns) >= turns, seconds)
        assert in_time, f"{len(self.turns)} requests instead of {turns}"
        return self.turns[turns - 1]

    def answer(self, path: str, body: Any) -> Iterator[Any] | Fail:
        """Record a request, and return the events that answer it, or the refusal."""
        request = Request(path, self.wire.kind(path, body), body, self.wire.messages(body))
        with self.changed:
            self.requests.append(request)
            scripted = self._next(request)
            self.changed.notify_all()
        if isinstance(scripted, Fail):
            return scripted
        return self.wire.events(body, scripted if isinstance(scripted, Turn) else scripted(request))

    def _next(self, request: Request) -> Scripted:
        if request.kind == "summary":
            return Turn((Say(f"<summary>{SUMMARY}</summary>"),))
        if request.kind == "aside":
            return Turn((Say(aside(request.body)),))
        return self.script.popleft() if self.script else Turn((Say("nothing more"),))


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore that a killed CLI does not wait for its answer; report anything else."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def serving(wire: Wire) -> Iterator[ModelServer]:
    """Run a model server on a free loopback port, in a thread."""
    handler: Any = type("Handler", (_Handler,), {})
    server = _Server(("127.0.0.1", 0), handler)
    handler.model = ModelServer(wire, f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield handler.model
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    model: ClassVar[ModelServer]
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._json(self.model.wire.small_talk(self.path))

    def do_HEAD(self) -> None:
        self._json(None)

    def do_POST(self) -> None:
        body = json.loads(self._body() or b"{}")
        if not self.path.partition("?")[0].endswith(("/messages", "/responses", "GenerateContent", "generateContent")):
            self._json(self.model.wire.small_talk(self.path))
            return
        answer = self.model.answer(self.path, body)
        if isinstance(answer, Fail):
            self._json(self.model.wire.failure(answer), answer.status)
            return
        events = list(answer)
        if body.get("stream") or "stream" in self.path:
            self._stream(events)
        else:
            self._json(_whole(events))

    def _body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        else:
            raw = b"".join(self._chunks())
        return gzip.decompress(raw) if self.headers.get("Content-Encoding") == "gzip" else raw

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline().split(b";")[0], 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def _json(self, value: Any, status: int = 200) -> None:
        body = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, events: list[Any]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for event in events:
            name = f"event: {event['type']}\n" if "type" in event else ""
            self.wfile.write(f"{name}data: {json.dumps(event)}\r\n\r\n".encode())
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name in the base class
        pass


def _whole(events: list[Any]) -> Any:
    """Return the events of an answer as one JSON value, for a client that did not request a stream."""
    if "candidates" in events[0]:
        return events[0]
    text = "".join(event["delta"]["text"] for event in events if "text" in event.get("delta", {}))
    message = events[0]["message"]
    return {**message, "content": [{"type": "text", "text": text}], "stop_reason": "end_turn"}
