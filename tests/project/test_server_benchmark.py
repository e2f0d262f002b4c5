"""The benchmark of the server runs its own server, and reports a server that does not start."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield importlib.import_module("server")  # a script, whose folder is only now on the path
    for name in ("server", "measuring"):
        sys.modules.pop(name, None)


@pytest.mark.slow
def test_the_benchmark_writes_to_and_reads_from_a_server_of_its_own(server: Any, tmp_path: Path) -> None:
    with server.serving_baton(tmp_path) as ours:
        for messages in (server.writes(ours.port, 0, range(1)), server.reads(ours.port, 0, range(1))):
            assert len(server.load(ours.port, [messages]).each) == 1
    assert (tmp_path / "data").is_dir()


def test_a_server_that_does_not_start_ends_the_benchmark(server: Any, tmp_path: Path) -> None:
    argv = [sys.executable, "-c", "raise SystemExit(3)"]
    with pytest.raises(RuntimeError, match="ended with status 3"), server.serving("it", argv, 1, tmp_path):
        pass
