"""Time the extraction of facts from a long session against reading its lines as JSON, at once and after it has grown.

Run by hand: `python benchmarks/transcripts.py`.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from measuring import missed, report, time_alternately

from baton_git.agents.extraction.extracting import extract

MEGABYTES = 30
TIME = "2026-01-02T03:04:05.000Z"
CHILD = """import sys
from pathlib import Path
from baton_git.agents.extraction.extracting import extract
extract(Path(sys.argv[1]))"""


def records() -> Iterator[dict[str, Any]]:
    """Yield the records of an endless session of Claude Code: tool calls, each with a result of some kilobytes."""
    yield user(0, "Rewrite the parser so that it is twice as fast")
    number = 0
    while True:
        number += 1
        yield user(number, f"And now part {number}") if number % 50 == 0 else answer(number, "I look at it. " * 20)
        for name, given in (
            ("Bash", {"command": f"grep -rn part{number} src | head -50"}),
            ("Read", {"file_path": f"/repo/src/part{number}.py"}),
            (
                "Edit",
                {"file_path": f"/repo/src/part{number % 40}.py", "old_string": "a" * 400, "new_string": "b" * 400},
            ),
        ):
            call = f"toolu_{number:08d}{name}"
            yield assistant(f"{call}-c", {"type": "tool_use", "id": call, "name": name, "input": given})
            text = "\n".join(f"src/part{number}.py:{line}:    return self.token({line!r})  # ünï" for line in range(60))
            content = [{"type": "tool_result", "tool_use_id": call, "content": text}]
            yield record("user", f"{call}-r", {"role": "user", "content": content}, {"stdout": text, "stderr": ""})


def record(kind: str, identity: str, message: dict[str, Any], result: Any = None) -> dict[str, Any]:
    more = {"toolUseResult": result} if result is not None else {}
    return {
        "parentUuid": "0", "isSidechain": False, "type": kind, "message": message, "uuid": identity, "timestamp": TIME,
        "cwd": "/repo", "sessionId": "s", "version": "2.1.329", "gitBranch": "main", **more,
    }  # fmt: skip


def user(number: int, text: str) -> dict[str, Any]:
    return record("user", f"u{number}", {"role": "user", "content": text})


def answer(number: int, text: str) -> dict[str, Any]:
    return assistant(f"a{number}", {"type": "text", "text": text})


def assistant(identity: str, block: dict[str, Any]) -> dict[str, Any]:
    return record("assistant", identity, {"role": "assistant", "model": "claude", "content": [block]})


def generate_records(path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for one in records():
            file.write(json.dumps(one, ensure_ascii=False) + "\n")
            if file.tell() > MEGABYTES << 20:
                return


def lines_as_json(path: Path) -> None:
    with path.open("rb") as file:
        for line in file:
            json.loads(line)


def time_growth(path: Path, memory: Path) -> float:
    """Return the time of an extraction after the file has grown by a hundred lines, in seconds."""
    extract(path, memory=memory)
    more = []
    for number, one in enumerate(records()):
        if number == 100:
            break
        more.append(json.dumps({**one, "uuid": f"new-{number}"}) + "\n")
    with path.open("a", encoding="utf-8") as file:
        file.writelines(more)
    [seconds] = time_alternately(1, lambda: extract(path, memory=memory))
    return seconds


def measure_peak(path: Path) -> float:
    """Return the peak memory of a process that extracts, in megabytes."""
    subprocess.run([sys.executable, "-c", CHILD, str(path)], check=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="baton-bench-") as folder:
        path = Path(folder) / "session.jsonl"
        generate_records(path)
        plain, whole = time_alternately(9, lambda: lines_as_json(path), lambda: extract(path))
        print(f"{MEGABYTES} MB: lines as JSON {plain:.3f} s, extract {whole:.3f} s")
        report("extract against reading the lines as JSON", whole / plain, 2.0)
        report("memory of a process that extracts", measure_peak(path), 150, " MB")
        report("extract after 100 more lines", time_growth(path, Path(folder) / "memory") * 1000, 100, " ms")
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
