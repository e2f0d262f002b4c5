"""A session of Claude Code whose hooks run, with a transcript that grows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

OLD, NEW = "11111111-0000-4000-8000-000000000001", "11111111-0000-4000-8000-000000000002"
GOAL = "Add a greet module\nand commit it"


def context(reply: Any) -> str:
    """Return the text that a reply adds to the session, or an empty text."""
    return str(reply["hookSpecificOutput"]["additionalContext"]) if reply else ""


def transcript(tmp_path: Path, session: str) -> Path:
    return tmp_path / "transcripts" / f"{session}.jsonl"


class Session:
    """A session of Claude Code whose transcript grows."""

    def __init__(self, tmp_path: Path, repo: Path, session: str = OLD) -> None:
        self.path, self.repo, self.session = transcript(tmp_path, session), repo, session
        self.path.parent.mkdir(exist_ok=True)
        self.number = 0

    def say(self, kind: str, content: Any, **more: Any) -> None:
        self.number += 1
        record = {
            "type": kind, "uuid": f"{self.session}-{self.number}", "sessionId": self.session, "cwd": str(self.repo),
            "timestamp": f"2026-11-21T10:00:{self.number:02}.000Z", "version": "2.1.329",
            "message": {"role": kind, "content": content}, **more,
        }  # fmt: skip
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    def call(self, name: str, arguments: dict[str, Any], output: str = "ok", **result: Any) -> None:
        identity = f"toolu_{self.number}"
        self.say("assistant", [{"type": "tool_use", "id": identity, "name": name, "input": arguments}])
        self.say("user", [{"type": "tool_result", "tool_use_id": identity, "content": output, **result}])

    def work(self, git: Callable[..., str]) -> str:
        """Send a prompt, change a file, write a todo list and commit; return the commit."""
        self.say("user", GOAL)
        (self.repo / "greet.py").write_text("hello = 1\n")
        self.call("Write", {"file_path": str(self.repo / "greet.py"), "content": "hello = 1\n"})
        todos = [
            {"content": "write greet.py", "status": "completed"},
            {"content": "write its tests", "status": "in_progress"},
        ]
        self.call("TodoWrite", {"todos": todos})
        git(self.repo, "add", "greet.py")
        git(self.repo, "commit", "-q", "-m", "Add greet")
        commit = git(self.repo, "rev-parse", "--short=7", "HEAD")
        output = f"[main {commit}] Add greet\n 1 file changed"
        self.call("Bash", {"command": "git commit -m 'Add greet'"}, output)
        (self.repo / "notes.txt").write_text("later\n")
        return commit
