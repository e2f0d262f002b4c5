"""The three CLIs as a test starts them: their configuration in a scratch home, and their command lines."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from agent_clis.terminal import Terminal
from agent_clis.wires import Anthropic, Gemini, OpenAI, Wire

KEY = "sk-ant-scripted-model-on-loopback"


@dataclass(frozen=True)
class Place:
    """The folders and the model's URL of a CLI: its `home`, the `project` that it works in, the `url` of its model.

    `tokens` above 0 is the length of a conversation at which it compacts automatically, for CLIs with such a
    setting.
    """

    home: Path
    project: Path
    url: str
    tokens: int = 0


class Cli(Protocol):
    """The differences between the three CLIs.

    A terminal session shows `ready` when it accepts input, `compacted` after a compaction, `busy` while it is at work,
    and `interrupted` after Escape has ended that. A failed request is not sent again. `prompt_event` and
    `stop_event` are the CLI's names of the events for a sent prompt and a finished turn.
    """

    name: str
    wire: Wire
    ready: str
    compact: str
    compacted: str
    busy: str
    interrupted: str
    prompt_event: str
    stop_event: str

    def configure(self, place: Place) -> None: ...
    def environment(self, place: Place) -> dict[str, str]: ...
    def headless(self, prompt: str, resume: str | None) -> list[str]: ...
    def fork(self, prompt: str, session: str) -> list[str]: ...
    def interactive(self, resume: str | None) -> list[str]: ...
    def rests(self, after: str) -> bool:
        """Return whether the CLI waits for input and its hooks are done.

        Args:
            after: the screen after the last answer.
        """
        ...

    def go_back(self, screen: Terminal, prompts: int) -> None:
        """Take back the last prompts in a terminal session that waits for input."""
        ...

    def session(self, out: str) -> str:
        """Return the session id in the output of a headless run."""
        ...

    def transcripts(self, home: Path) -> list[Path]: ...
    def add_hooks(self, home: Path, command: str, events: list[str]) -> None: ...


def add_json(file: Path, more: dict[str, Any]) -> None:
    """Add keys to a JSON file, which may not exist yet."""
    file.parent.mkdir(parents=True, exist_ok=True)
    existing = json.loads(file.read_text()) if file.exists() else {}
    file.write_text(json.dumps({**existing, **more}, indent=2))


def _entries(command: str, events: list[str], timeout: int) -> dict[str, Any]:
    """Return the settings that run a command at these events. `timeout` is in the unit of the CLI."""
    entry = {"hooks": [{"type": "command", "command": command, "timeout": timeout}]}
    return {"hooks": {event: [entry] for event in events}}


def _oldest_first(files: list[Path]) -> list[Path]:
    return sorted(files, key=lambda file: file.stat().st_mtime)


class ClaudeCode:
    name = "claude"
    wire: Wire = Anthropic()
    ready = "accept edits on"
    compact = "/compact"
    compacted = "Compacted"
    busy = "esc to interrupt"
    interrupted = "What should Claude do instead"
    prompt_event = "UserPromptSubmit"
    stop_event = "Stop"

    def configure(self, place: Place) -> None:
        keys = {"customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []}}
        trusted = {str(place.project): {"hasTrustDialogAccepted": True}}
        add_json(place.home / ".claude.json", {"hasCompletedOnboarding": True, "projects": trusted, **keys})
        allowed = {"allow": ["Bash", "Write", "Edit"], "defaultMode": "acceptEdits", "disableAutoMode": "disable"}
        add_json(place.home / ".claude/settings.json", {"permissions": allowed, "theme": "dark"})

    def environment(self, place: Place) -> dict[str, str]:
        switches = ("DISABLE_AUTOUPDATER", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_TELEMETRY")
        model = {"ANTHROPIC_BASE_URL": place.url, "ANTHROPIC_API_KEY": KEY, "CLAUDE_CODE_MAX_RETRIES": "0"}
        return {**model, **dict.fromkeys(switches, "1")}

    def headless(self, prompt: str, resume: str | None) -> list[str]:
        return ["claude", "-p", prompt, "--output-format", "json", *(["--resume", resume] if resume else [])]

    def fork(self, prompt: str, session: str) -> list[str]:
        return [*self.headless(prompt, session), "--fork-session"]

    def interactive(self, resume: str | None) -> list[str]:
        return ["claude", *(["--resume", resume] if resume else [])]

    def rests(self, after: str) -> bool:
        return self.busy not in after

    def go_back(self, screen: Terminal, prompts: int) -> None:
        screen.keys_in_turn("Escape", "Escape")
        screen.wait_for_text("Restore the code")
        screen.keys_in_turn(*["Up"] * prompts, "Enter")
        screen.wait_for_text("1. Restore conversation")
        screen.keys_in_turn("Enter")
        screen.wait_for_text(self.ready)

    def session(self, out: str) -> str:
        return str(json.loads(out)["session_id"])

    def transcripts(self, home: Path) -> list[Path]:
        return _oldest_first(list(home.glob(".claude/projects/*/*.jsonl")))

    def add_hooks(self, home: Path, command: str, events: list[str]) -> None:
        add_json(home / ".claude/settings.json", _entries(command, events, 20))


class Codex:
    name = "codex"
    wire: Wire = OpenAI()
    ready = "for shortcuts"
    compact = "/compact"
    compacted = "Context compacted"
    busy = "esc to interrupt"
    interrupted = "Conversation interrupted"
    prompt_event = "UserPromptSubmit"
    stop_event = "Stop"
    trust = "--dangerously-bypass-hook-trust"

    def configure(self, place: Place) -> None:
        config = place.home / ".codex/config.toml"
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text(
            'model = "gpt-5"\nmodel_provider = "scripted"\napproval_policy = "never"\n'
            'sandbox_mode = "danger-full-access"\ncheck_for_update_on_startup = false\n'
            f"model_auto_compact_token_limit = {place.tokens or 200_000}\n"
            f'[model_providers.scripted]\nname = "scripted"\nbase_url = "{place.url}/v1"\n'
            'wire_api = "responses"\nenv_key = "SCRIPTED_KEY"\nrequest_max_retries = 0\nstream_max_retries = 0\n'
            f'[projects."{place.project}"]\ntrust_level = "trusted"\n'
        )

    def environment(self, place: Place) -> dict[str, str]:
        return {"CODEX_HOME": str(place.home / ".codex"), "SCRIPTED_KEY": "none"}

    def headless(self, prompt: str, resume: str | None) -> list[str]:
        return ["codex", "exec", "--json", self.trust, *(["resume", resume] if resume else []), prompt]

    def fork(self, prompt: str, session: str) -> list[str]:
        return ["codex", "exec", "--json", self.trust, "fork", session, prompt]

    def interactive(self, resume: str | None) -> list[str]:
        return ["codex", *(["resume", resume] if resume else []), self.trust]

    def rests(self, after: str) -> bool:
        return "Worked for" in after

    def go_back(self, screen: Terminal, prompts: int) -> None:
        screen.keys_in_turn("Escape", "Escape")
        screen.wait_for_text("rewind")
        screen.keys_in_turn(*["Left"] * (prompts - 1), "Enter")
        screen.wait_for_text("Conversation reverted")

    def session(self, out: str) -> str:
        lines = (json.loads(line) for line in out.splitlines() if line.startswith("{"))
        return next(str(line["thread_id"]) for line in lines if line["type"] == "thread.started")

    def transcripts(self, home: Path) -> list[Path]:
        return _oldest_first(list(home.glob(".codex/sessions/*/*/*/*.jsonl")))

    def add_hooks(self, home: Path, command: str, events: list[str]) -> None:
        add_json(home / ".codex/hooks.json", _entries(command, events, 20))


class GeminiCli:
    name = "gemini"
    wire: Wire = Gemini()
    ready = "Type your message"
    compact = "/compress"
    compacted = "Chat history compressed"
    busy = "esc to cancel"
    interrupted = "Request cancelled"
    prompt_event = "BeforeAgent"
    stop_event = "AfterAgent"

    def configure(self, place: Place) -> None:
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
            "telemetry": {"enabled": False}, "privacy": {"usageStatisticsEnabled": False},
            "general": {"disableAutoUpdate": True, "disableUpdateNag": True, "maxAttempts": 1},
            "ui": {"hideTips": True},
        }  # fmt: skip
        add_json(place.home / ".gemini/settings.json", settings)

    def environment(self, place: Place) -> dict[str, str]:
        settings = {"GOOGLE_GEMINI_BASE_URL": place.url, "GEMINI_API_KEY": "none", "NO_BROWSER": "1"}
        return {**settings, "GEMINI_CLI_NO_RELAUNCH": "true", "GEMINI_CLI_TRUST_WORKSPACE": "true"}

    def headless(self, prompt: str, resume: str | None) -> list[str]:
        argv = ["gemini", "-p", prompt, "-o", "json", "--approval-mode", "yolo"]
        return [*argv, *(["--resume", resume] if resume else [])]

    def fork(self, prompt: str, session: str) -> list[str]:
        raise NotImplementedError("Gemini CLI cannot fork a session")

    def interactive(self, resume: str | None) -> list[str]:
        return ["gemini", "--approval-mode", "yolo", *(["--resume", resume] if resume else [])]

    def rests(self, after: str) -> bool:
        return self.busy not in after

    def go_back(self, screen: Terminal, prompts: int) -> None:
        screen.keys_in_turn("Escape", "Escape")
        screen.wait_for_text("Stay at current position")
        screen.keys_in_turn(*["Up"] * prompts, "Enter")
        screen.wait_for_text("1. Rewind conversation")
        screen.keys_in_turn("Enter")
        screen.wait_for_text("* ")

    def session(self, out: str) -> str:
        return str(json.loads(out[out.index("{") :])["session_id"])

    def transcripts(self, home: Path) -> list[Path]:
        return _oldest_first(list(home.glob(".gemini/tmp/*/chats/*.jsonl")))

    def add_hooks(self, home: Path, command: str, events: list[str]) -> None:
        add_json(home / ".gemini/settings.json", _entries(command, events, 20_000))


CLIS: dict[str, Callable[[], Cli]] = {"claude": ClaudeCode, "codex": Codex, "gemini": GeminiCli}
