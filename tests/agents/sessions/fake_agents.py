"""Small programs with the names of the agent CLIs, and a repository in which `baton` finds them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil


class Agents:
    """A folder of programs, which is first on the PATH of `environment`."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder = folder
        self.notes = folder / "notes"
        folder.mkdir()
        path = f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin"
        kept = {name: value for name, value in os.environ.items() if not name.startswith("BATON_")}
        self.environment: Mapping[str, str] = {**kept, "PATH": path, "NOTES": str(self.notes), "HOME": str(home)}

    def shell(self, name: str, body: str) -> None:
        self._put(name, f"#!/bin/sh\n{body}\n")

    def python(self, name: str, body: str) -> None:
        self._put(name, f"#!{sys.executable}\nimport json, os, sys, time\n{body}\n")

    def answering(self, *answers: str, cost: float | None = 0.5, name: str = "claude") -> None:
        """Create a Claude that gives these answers one after the other, then repeats the last one."""
        self.python(
            name,
            f"""
notes = os.environ["NOTES"]
with open(notes, "a") as file:
    file.write(json.dumps([sys.argv[1:], os.environ.get("BATON_SPAWNED"), sys.stdin.read()]) + chr(10))
count = len(open(notes).readlines())
answers = {list(answers)!r}
answer = answers[min(count, len(answers)) - 1].replace("COUNT", str(count))
print(json.dumps({{"type": "result", "result": answer, "session_id": "c-%d" % count,
                  "total_cost_usd": {cost!r}, "usage": {{"input_tokens": 10, "output_tokens": 5}}}}))
""",
        )

    def _put(self, name: str, text: str) -> None:
        file = self.folder / name
        file.write_text(text)
        file.chmod(0o755)

    def calls(self) -> list[Any]:
        """Return the calls of the answering programs: arguments, spawn id, standard input."""
        return [json.loads(line) for line in self.notes.read_text().splitlines()] if self.notes.exists() else []


def living(pids: Path) -> list[int]:
    """Return the running processes among those that wrote their ids into a file."""
    return [pid for pid in _numbers(pids) if psutil.pid_exists(pid) and _status(pid) != psutil.STATUS_ZOMBIE]


def _numbers(file: Path) -> Iterator[int]:
    yield from (int(line) for line in file.read_text().split() if line) if file.exists() else ()


def _status(pid: int) -> str:
    try:
        return psutil.Process(pid).status()
    except psutil.Error:
        return psutil.STATUS_ZOMBIE


FAMILY = """echo $$ >> "$PIDS"
sh -c 'trap "" TERM; echo $$ >> "$PIDS"; sleep 60 & echo $! >> "$PIDS"; wait' &
setsid sh -c 'echo $$ >> "$PIDS"; exec sleep 60' &
"""
"""A session with a child that ignores SIGTERM, a grandchild, and a child that has left the process group."""
