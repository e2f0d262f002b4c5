"""Hooks that record their input from a CLI, in the order of the calls."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_clis.agent import Agent

SPY = Path(__file__).with_name("spy.py")
EVENTS = {
    "claude": ["SessionStart", "UserPromptSubmit", "PreCompact", "PostCompact", "Stop", "SessionEnd"],
    "codex": ["SessionStart", "UserPromptSubmit", "PreCompact", "PostCompact", "Stop", "SessionEnd"],
    "gemini": ["SessionStart", "BeforeAgent", "PreCompress", "AfterAgent", "SessionEnd"],
}


@dataclass(frozen=True)
class Call:
    """One call of a hook: `payload` is its input, `why` the source, reason or trigger in it, "x" without any."""

    event: str
    why: str
    payload: dict[str, Any]
    parent: int
    variables: dict[str, str]

    @property
    def name(self) -> str:
        return self.event if self.why == "x" else f"{self.event}({self.why})"

    @property
    def session(self) -> str:
        return str(self.payload["session_id"])


@dataclass(frozen=True)
class Spy:
    """The hooks of one agent. Their replies can be changed while it runs."""

    folder: Path

    @property
    def command(self) -> str:
        """The hook's command. Like baton's hook line, it replaces the shell by the program."""
        words = ["python3", str(SPY), str(self.folder / "journal"), str(self.folder / "replies")]
        return f"! command -v python3 >/dev/null 2>&1 || exec {shlex.join(words)}"

    def answer(self, **replies: Any) -> None:
        """Set the output of the hooks from now on, by event."""
        (self.folder / "replies").write_text(json.dumps(replies))

    @property
    def calls(self) -> list[Call]:
        journal = self.folder / "journal"
        return [Call(**json.loads(line)) for line in journal.read_text().splitlines()] if journal.exists() else []

    def names(self, *, without: str = "PreCompress(auto)") -> list[str]:
        """Return the events in order, without Gemini's event before every model request."""
        return [call.name for call in self.calls if call.name != without]


def context(event: str) -> dict[str, Any]:
    """Return the output of a hook that adds a mark to the model's context."""
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": "a note: @MARK@."}}


def spy_on(agent: Agent, folder: Path) -> Spy:
    """Install hooks for every event. At a start and at a prompt, they add a mark to the model's context."""
    folder.mkdir()
    spy = Spy(folder)
    spy.answer(**{event: context(event) for event in ("SessionStart", agent.cli.prompt_event)})
    agent.cli.add_hooks(agent.place.home, spy.command, EVENTS[agent.cli.name])
    return spy
