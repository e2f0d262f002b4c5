"""Time the import of transcripts of earlier sessions against reading each of their lines as JSON.

Run by hand: `python benchmarks/mine.py`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from measuring import missed, report
from transcripts import assistant, user

SESSIONS = 500
BYTES = 300_000
"""Size of each transcript: about that of a session of one hour."""


def write_transcripts(folder: Path, work_tree: Path) -> int:
    """Write the transcripts of a project, and return their bytes."""
    folder.mkdir(parents=True)
    return sum(
        write_transcript(folder / f"session-{number:04d}.jsonl", number, work_tree) for number in range(SESSIONS)
    )


def write_transcript(path: Path, session: int, work_tree: Path) -> int:
    """Write a session with several prompts, its calls, their results, and an answer to each prompt."""
    with path.open("w", encoding="utf-8") as file:
        turn = 0
        while file.tell() < BYTES:
            turn += 1
            for record in turn_records(session, turn, work_tree):
                day = f"2026-{session % 12 + 1:02d}-{session % 28 + 1:02d}T{turn % 24:02d}:00:00.000Z"
                record |= {"cwd": str(work_tree), "sessionId": path.stem, "timestamp": day}
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
        return file.tell()


def turn_records(session: int, turn: int, work_tree: Path) -> list[dict[str, Any]]:
    """Return the records of one turn: a prompt, calls with results of some kilobytes, an answer."""
    records = [user(turn, f"Step {turn} of task {session}: why does the importer drop rows? token = ghp_{turn:036d}")]
    for number in range(8):
        call = f"toolu_{turn}_{number}"
        given = {"command": f"grep -rn row{number} src | head", "description": "look"}
        if number % 4 == 3:
            given = {"file_path": f"{work_tree}/src/part{number}.py", "old_string": "a" * 200, "new_string": "b" * 200}
        name = "Edit" if number % 4 == 3 else "Bash"
        records.append(assistant(f"{call}-c", {"type": "tool_use", "id": call, "name": name, "input": given}))
        text = "\n".join(f"src/part{number}.py:{line}:    return self.row({line!r})  # ünï" for line in range(60))
        content = [{"type": "tool_result", "tool_use_id": call, "content": text}]
        shape = {"parentUuid": "0", "isSidechain": False, "version": "2.1.329", "gitBranch": "main"}
        records.append({**shape, "type": "user", "uuid": f"{call}-r", "message": {"role": "user", "content": content}})
    answer = (
        f"The importer of task {session} drops rows without a key. I decided to keep them. Next: tests of part {turn}."
    )
    return [*records, assistant(f"a{turn}", {"type": "text", "text": answer})]


def seconds_as_json(folder: Path) -> float:
    """Return the processor time of reading each line as JSON, in seconds."""
    began = time.process_time()
    for path in sorted(folder.glob("*.jsonl")):
        with path.open("rb") as file:
            for line in file:
                json.loads(line)
    return time.process_time() - began


def run(work_tree: Path, home: Path, *words: str) -> tuple[float, float, dict[str, Any]]:
    """Run a command; return its wall time and its processor time in seconds, and its output."""
    environment = {**os.environ, "HOME": str(home), "XDG_DATA_HOME": str(home / "data")}
    for name in [name for name in environment if name.startswith(("BATON_", "CLAUDE", "CODEX_", "GEMINI_", "GIT_"))]:
        del environment[name]
    before, began = os.times(), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=work_tree, env=environment, capture_output=True, check=True
    )
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    answer: dict[str, Any] = json.loads(done.stdout) if done.stdout.startswith(b"{") else {}
    return time.perf_counter() - began, used, answer


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="baton-bench-") as place:
        home, work_tree = Path(place) / "home", Path(place) / "shop"
        work_tree.mkdir()
        folder = home / ".claude" / "projects" / "shop"
        megabytes = write_transcripts(folder, work_tree) / 1e6
        for words in (("git", "init", "-q"), ("git", "-c", "user.name=a", "-c", "user.email=a@example.org", "commit",
                                              "-q", "--allow-empty", "-m", "first")):  # fmt: skip
            subprocess.run(words, cwd=work_tree, check=True)
        run(work_tree, home, "baton_git", "init")
        plain = seconds_as_json(folder)
        seconds, used, answer = run(work_tree, home, "baton_git", "mine", "--json")
        again, _, second = run(work_tree, home, "baton_git", "mine", "--json")
        if (len(answer["imported"]), len(second["imported"])) != (SESSIONS, 0):
            raise SystemExit("not every session was imported, or one was imported twice")
        print(f"{SESSIONS} transcripts, {megabytes:.0f} MB: lines as JSON {plain:.2f} s, mine {used:.2f} s of one core")
        print(f"{megabytes / used:.1f} MB a second on one core")
        report("mine against reading the lines as JSON", used / plain, 25.0)
        report("processor time for 10 MB", used / megabytes * 10, 1.0, " s")
        report("500 transcripts, wall time", seconds, 300, " s")
        report("a second run, which reads nothing, wall time", again, 5.0, " s")
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
