"""Compare `baton serve` with the original session-baton from PyPI: reads, writes, and memory.

Both servers run with their defaults, each in a separate virtual environment. Each client is a process with one
keep-alive connection that sends prepared bytes. Everything runs on 127.0.0.1.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from multiprocessing import Barrier, Process, SimpleQueue
from multiprocessing.synchronize import Barrier as BarrierType
from pathlib import Path
from typing import Any, NamedTuple

import psutil
from measuring import missed, report

ROUNDS = 5
READS, WRITES = 1500, 150
"""Number of requests of a single client in a round; each of eight clients sends a quarter of them."""
EARLY, LATE = 10_000, 100_000
"""Numbers of requests after which memory is measured."""


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


def read_response(connection: socket.socket) -> None:
    """Read one response from the connection; its status must be 200."""
    response = b""
    while (end := response.find(b"\r\n\r\n")) < 0:
        response += connection.recv(1 << 18)
    assert response.startswith(b"HTTP/1.1 200"), response[:500]
    head = response[:end].lower()
    length = int(head[head.index(b"content-length:") + 15 :].split(b"\r\n", 1)[0])
    left = end + 4 + length - len(response)
    while left > 0:
        left -= len(connection.recv(1 << 18))


def _client(port: int, messages: Sequence[bytes], begin: BarrierType, results: SimpleQueue[list[float]]) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        begin.wait()
        times = []
        for one in messages:
            started = time.perf_counter()
            connection.sendall(one)
            read_response(connection)
            times.append(time.perf_counter() - started)
    results.put(times)


def load(port: int, clients: Sequence[Sequence[bytes]]) -> Load:
    """Run all clients concurrently; each sends its requests one after the other."""
    begin = Barrier(len(clients) + 1)
    results: SimpleQueue[list[float]] = SimpleQueue()
    started = [Process(target=_client, args=(port, one, begin, results)) for one in clients]
    for one in started:
        one.start()
    begin.wait()
    before = time.perf_counter()
    each = [seconds for _ in started for seconds in results.get()]
    whole = time.perf_counter() - before
    for one in started:
        one.join()
    return Load(whole, each)


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
    """Run alternating rounds; report the times of baton as multiples of those of the original."""
    results: dict[str, list[Load]] = {ours.name: [], theirs.name: []}
    each = count if clients == 1 else count // 4
    for turn in range(ROUNDS + 1):
        numbers = range(turn * each, (turn + 1) * each)
        for peer in (theirs, ours):
            results[peer.name].append(load(peer.port, [make(peer.port, one, numbers) for one in range(clients)]))
    rates = {}
    for name, loads in results.items():
        kept = loads[1:]  # the first round only warms both up
        times = sorted(seconds for one in kept for seconds in one.each)
        rates[name] = [len(one.each) / one.whole for one in kept]
        median, slow = statistics.median(times), times[int(len(times) * 0.99)]
        rate = statistics.median(rates[name])
        print(
            f"  {what}, {clients} clients, {name:<14}{rate:>8.0f}/s  p50 {median * 1e3:.2f} ms  p99 {slow * 1e3:.2f} ms"
        )
        if name == ours.name:
            spread = slow / median
    ratios = [theirs_ / ours_ for theirs_, ours_ in zip(rates[theirs.name], rates[ours.name], strict=True)]
    report(f"{what}, {clients} clients: time a request, against session-baton", statistics.median(ratios), goal)
    report(f"{what}, {clients} clients: the 99th percentile, against the median", spread, 3.0)


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


def main() -> int:
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="baton-bench-")))
        its = free_port()
        ours = stack.enter_context(serving_baton(place))
        variables = {"BATON_PORT": str(its), "BATON_DB_PATH": str(place / "baton.sqlite3")}
        theirs = stack.enter_context(
            serving("session-baton", install_original(place / "venv"), its, place, **variables)
        )
        print(f"  the files of a durable commit alone: {time_durable_files(place / 'bare'):.2f} ms")
        for clients in (1, 8):
            compare_servers(ours, theirs, "writes", writes, WRITES, clients, 2.0)
            compare_servers(ours, theirs, "reads", reads, READS, clients, 1.0)
        if "--no-memory" not in sys.argv:
            measure_memory(ours)
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
