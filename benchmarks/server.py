"""Compare `baton serve` with the original session-baton from PyPI: reads, writes, and memory.

Both servers run with their defaults, each in a separate virtual environment. For a team of 32 clients, the original
also syncs each write to the disk (`synchronous=FULL`), as baton does. Each client has one keep-alive connection; one
process sends the prepared bytes of all clients, because it shares the processors with the servers. Everything runs on
127.0.0.1. `--team` runs only the scenarios of a team, `--no-memory` leaves out those of memory.
"""

from __future__ import annotations

import http.client
import json
import os
import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import psutil
from measuring import missed, report

ROUNDS = 5
READS, WRITES = 1500, 150
"""Number of requests of a single client in a round; each of eight clients sends a quarter of them."""
EARLY, LATE = 10_000, 100_000
"""Numbers of requests after which memory is measured."""
TEAM, TEAM_WRITES = 32, 40
"""Number of clients of a team, and of writes of each in a round."""
TEAM_EARLY, TEAM_LATE = 5_000, 50_000
"""Numbers of writes of a team after which memory is measured."""
FULL = """
from session_baton import server, storage
import uvicorn

connect = storage.BatonStore._get_conn

def connect_durably(store):
    is_new = store._conn is None
    connection = connect(store)
    if is_new:
        connection.execute("PRAGMA synchronous=FULL")
    return connection

storage.BatonStore._get_conn = connect_durably
uvicorn.run("session_baton.server:app", host=server.HOST, port=server.PORT)
"""
"""The original server, with a sync to the disk for each write."""


class Peer(NamedTuple):
    """A running server."""

    name: str
    port: int
    process: psutil.Process


class Load(NamedTuple):
    """The result of one round: the total time and the time of each request, in seconds."""

    whole: float
    each: list[float]


def document(client: int, number: int) -> dict[str, Any]:
    """Return a document of ten records; each write changes one of them, and the context."""
    day, words = "2026-06-17", "words that say what is to be done " * 4
    loops = [
        {"id": f"OL-{n}", "action": f"did {n}: {words}", "expected_outcome": "it works", "created_at": day}
        for n in range(4)
    ]
    later = [{"id": f"FU-{n}", "item": f"item {n}: {words}", "first_seen": day} for n in range(3)]
    later[number % 3]["reason"] = f"as of {number}"
    choices = [{"id": f"DEC-{n}", "what": words, "why": words, "created_at": day} for n in range(3)]
    return {
        "schema_version": 1, "session_id": f"bench-{client}", "context": f"at {number}", "open_loops": loops,
        "follow_ups": later, "patterns": [], "active_decisions": choices,
    }  # fmt: skip


def request(port: int, path: str, body: Any) -> bytes:
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data


def writes(port: int, client: int, numbers: range) -> list[bytes]:
    body = {"namespace": f"bench-{client}"}
    return [request(port, "/v1/baton/write", {**body, "baton": document(client, one)}) for one in numbers]


def reads(port: int, client: int, numbers: range) -> list[bytes]:
    return [request(port, "/v1/baton/read", {"namespace": f"bench-{client}"})] * len(numbers)


def team_document(client: int, number: int) -> dict[str, Any]:
    """Return a document of twenty records of a client's own; each write changes one of them, and the context."""
    day, words = "2026-06-17", "words that say what is to be done " * 3
    loops = [
        {"id": f"OL-{client}-{n}", "action": f"did {n}: {words}", "expected_outcome": "it works", "created_at": day}
        for n in range(8)
    ]
    later = [{"id": f"FU-{client}-{n}", "item": f"item {n}: {words}", "first_seen": day} for n in range(5)]
    later[number % 5]["reason"] = f"as of {number}"
    patterns = [
        {"id": f"PAT-{client}-{n}", "what": words, "count": 1, "first_seen": day, "last_seen": day} for n in range(2)
    ]
    choices = [{"id": f"DEC-{client}-{n}", "what": words, "why": words, "created_at": day} for n in range(5)]
    return {
        "schema_version": 1, "session_id": f"bench-{client}", "context": f"at {number}", "open_loops": loops,
        "follow_ups": later, "patterns": patterns, "active_decisions": choices,
    }  # fmt: skip


def team_writes(port: int, client: int, numbers: range, namespace: str = "") -> list[bytes]:
    body = {"namespace": namespace or f"team-{client}"}
    return [request(port, "/v1/baton/write", {**body, "baton": team_document(client, one)}) for one in numbers]


def writes_to_one(port: int, client: int, numbers: range) -> list[bytes]:
    return team_writes(port, client, numbers, "team")


class Client:
    """One connection: it sends its messages one after the other, each after the response to the last one."""

    def __init__(self, port: int, messages: Sequence[bytes]) -> None:
        self.connection = socket.create_connection(("127.0.0.1", port))
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.times: list[float] = []
        self._messages = iter(messages)
        self._response = b""
        self._sent = 0.0

    def send(self) -> bool:
        """Send the next message; return False if there is none."""
        message = next(self._messages, None)
        if message is None:
            return False
        self._sent = time.perf_counter()
        self.connection.sendall(message)
        return True

    def receive(self) -> bool:
        """Receive what has arrived; return whether the response is complete. Its status must be 200."""
        self._response += self.connection.recv(1 << 18)
        head, found, body = self._response.partition(b"\r\n\r\n")
        if not found:
            return False
        assert head.startswith(b"HTTP/1.1 200"), self._response[:500]
        head = head.lower()
        if len(body) < int(head[head.index(b"content-length:") + 15 :].split(b"\r\n", 1)[0]):
            return False
        self.times.append(time.perf_counter() - self._sent)
        self._response = b""
        return True


def load(port: int, clients: Sequence[Sequence[bytes]]) -> Load:
    """Run all clients concurrently; each sends its requests one after the other."""
    running = [Client(port, messages) for messages in clients]
    with selectors.DefaultSelector() as selector:
        before, active = time.perf_counter(), len(running)
        for one in running:
            selector.register(one.connection, selectors.EVENT_READ, one)
            one.send()
        while active:
            for key, _ in selector.select():
                client: Client = key.data
                if client.receive() and not client.send():
                    selector.unregister(client.connection)
                    client.connection.close()
                    active -= 1
        whole = time.perf_counter() - before
    return Load(whole, [seconds for one in running for seconds in one.times])


@contextmanager
def serving(name: str, argv: Sequence[str], port: int, folder: Path, **variables: str) -> Iterator[Peer]:
    """Run a server in `folder` until the block ends. Raises RuntimeError if it ends before it answers."""
    surroundings = {key: value for key, value in os.environ.items() if not key.startswith("BATON_")}
    process = subprocess.Popen(
        argv, cwd=folder, env={**surroundings, **variables}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        for _ in range(200):
            time.sleep(0.1)
            if process.poll() is not None:
                raise RuntimeError(f"{name} ended with status {process.returncode}: {' '.join(map(str, argv))}")
            try:
                with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=5)) as connection:
                    connection.request("GET", "/health")
                    connection.getresponse().read()
                break
            except OSError:
                continue
        yield Peer(name, port, psutil.Process(process.pid))
    finally:
        process.terminate()
        process.wait(20)


def serving_baton(place: Path) -> AbstractContextManager[Peer]:
    """Run `baton serve` on a store of its own, which it creates in `place`, because no repository is there."""
    port = free_port()
    argv = [sys.executable, "-m", "baton_git", "serve", "--create", "--port", str(port)]
    return serving("baton serve", argv, port, place, XDG_DATA_HOME=str(place / "data"))


def install_original(folder: Path) -> list[str]:
    """Install session-baton from PyPI in a separate virtual environment."""
    venv.create(folder, with_pip=True)
    subprocess.run([folder / "bin" / "pip", "install", "-qq", "session-baton"], check=True)
    return [str(folder / "bin" / "python"), "-m", "session_baton"]


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def compare_servers(ours: Peer, theirs: Peer, what: str, make: Any, count: int, clients: int, goal: float) -> None:
    """Run alternating rounds; report the times of baton as multiples of those of the original.

    Args:
        count: the number of requests of each client in a round.
    """
    results: dict[str, list[Load]] = {ours.name: [], theirs.name: []}
    used = {ours.name: 0.0, theirs.name: 0.0}
    for turn in range(ROUNDS + 1):
        numbers = range(turn * count, (turn + 1) * count)
        for peer in (theirs, ours):
            before = processor_seconds(peer)
            results[peer.name].append(load(peer.port, [make(peer.port, one, numbers) for one in range(clients)]))
            used[peer.name] += processor_seconds(peer) - before if turn else 0.0
    rates = {}
    for name, loads in results.items():
        kept = loads[1:]  # the first round only warms both up
        times = sorted(seconds for one in kept for seconds in one.each)
        rates[name] = [len(one.each) / one.whole for one in kept]
        median, slow = statistics.median(times), times[int(len(times) * 0.99)]
        print(
            f"  {what}, {clients} clients, {name:<14}{statistics.median(rates[name]):>8.0f}/s"
            f"  p50 {median * 1e3:.2f} ms  p99 {slow * 1e3:.2f} ms"
            f"  processor time {used[name] / len(times) * 1e3:.2f} ms"
        )
        if name == ours.name:
            spread, slowest = slow / median, slow
    ratios = [theirs_ / ours_ for theirs_, ours_ in zip(rates[theirs.name], rates[ours.name], strict=True)]
    report(f"{what}, {clients} clients: time a request, against session-baton", statistics.median(ratios), goal)
    if clients == TEAM:
        report(f"{what}, {clients} clients: the 99th percentile", slowest, 0.5, " s")
    else:
        report(f"{what}, {clients} clients: the 99th percentile, against the median", spread, 3.0)


def processor_seconds(peer: Peer) -> float:
    """Return the processor time of a server and its running processes so far."""
    return sum(sum(one.cpu_times()[:2]) for one in (peer.process, *peer.process.children(recursive=True)))


def resident_bytes(peer: Peer) -> int:
    """Return the memory of a server and its processes."""
    return sum(one.memory_info().rss for one in (peer.process, *peer.process.children(recursive=True)))


def time_durable_files(folder: Path) -> float:
    """Return the time that the disk needs for the files of one durable commit, in milliseconds: a pack, its index and a
    ref are written, synced and renamed, and their two folders are synced. The original syncs nothing."""
    for name in ("pack", "refs"):
        (folder / name).mkdir(parents=True)
    times = []
    for number in range(100):
        started = time.perf_counter()
        files = []
        for part in ("pack/a", "pack/b", "refs/c"):
            fd = os.open(f"{folder}/{part}{number}.tmp", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            os.write(fd, b"x" * 3000)
            os.fsync(fd)
            os.close(fd)
            files.append(f"{folder}/{part}")
        pack, index, ref = files
        for part in (pack, index):
            os.replace(f"{part}{number}.tmp", f"{part}{number}")  # noqa: PTH105  as the store does it
        sync_folder(folder / "pack")
        os.replace(f"{ref}{number}.tmp", ref)  # noqa: PTH105  as above
        sync_folder(folder / "refs")
        times.append(time.perf_counter() - started)
    return statistics.median(times) * 1e3


def sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)


def measure_memory(ours: Peer) -> None:
    """Report the memory of baton's server after 100,000 requests against that after 10,000; one in 200 is a write."""
    done, sizes = 0, []
    for wanted in (EARLY, LATE):
        while done < wanted:
            load(ours.port, [reads(ours.port, one, range(1000)) for one in range(2)])
            load(ours.port, [writes(ours.port, one, range(done, done + 5)) for one in range(2)])
            done += 2010
        sizes.append(ours.process.memory_info().rss)
        print(f"  memory after {done:,} requests: {sizes[-1] / 1e6:.1f} MB")
    report(f"memory after {LATE:,} requests, against {EARLY:,}", sizes[1] / sizes[0], 1.1)


def measure_memory_of_a_team(ours: Peer) -> None:
    """Report the memory of baton's server and its processes after 50,000 writes against that after 5,000."""
    done, sizes = 0, []
    for wanted in (TEAM_EARLY, TEAM_LATE):
        while done < wanted:
            each = range(done, done + 50)
            load(ours.port, [team_writes(ours.port, one, each) for one in range(TEAM)])
            done += 50 * TEAM
        sizes.append(resident_bytes(ours))
        print(f"  memory after {done:,} writes of a team: {sizes[-1] / 1e6:.1f} MB")
    report(f"memory after {TEAM_LATE:,} writes of a team, against {TEAM_EARLY:,}", sizes[1] / sizes[0], 1.2)


def main() -> int:
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="baton-bench-")))
        its, durable = free_port(), free_port()
        original = install_original(place / "venv")
        variables = {"BATON_PORT": str(its), "BATON_DB_PATH": str(place / "baton.sqlite3")}
        print(f"  the files of a durable commit alone: {time_durable_files(place / 'bare'):.2f} ms")
        if "--team" not in sys.argv:
            ours = stack.enter_context(serving_baton(place))
            theirs = stack.enter_context(serving("session-baton", original, its, place, **variables))
            for clients, part in ((1, 1), (8, 4)):
                compare_servers(ours, theirs, "writes", writes, WRITES // part, clients, 2.0)
                compare_servers(ours, theirs, "reads", reads, READS // part, clients, 1.0)
            if "--no-memory" not in sys.argv:
                measure_memory(ours)
        variables = {"BATON_PORT": str(durable), "BATON_DB_PATH": str(place / "durable.sqlite3")}
        full = stack.enter_context(serving("FULL", [original[0], "-c", FULL], durable, place, **variables))
        (place / "team").mkdir()
        ours = stack.enter_context(serving_baton(place / "team"))
        compare_servers(ours, full, "writes to 32 namespaces", team_writes, TEAM_WRITES, TEAM, 1 / 0.75)
        if "--no-memory" not in sys.argv:
            measure_memory_of_a_team(ours)
        compare_servers(ours, full, "writes to one namespace", writes_to_one, TEAM_WRITES // 4, TEAM, 1 / 0.3)
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
