"""Which hooks of Codex CLI its user trusts; it skips the others without a message.

We ask it which hooks it trusts, and make it trust ours, through `codex app-server` (JSON-RPC, one object per line),
because the format of the hashes and the place where Codex stores the trusted ones have changed between versions.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Timer
from typing import IO, Any, NamedTuple

from baton_git.core.errors import BatonError, StoreError
from baton_git.git.files.atomic_files import read_bytes

SECONDS = 10.0
"""Time limit for one connection; it usually takes about 1 second."""
_LINES = 1000
"""Maximum number of lines that are read for one response; Codex also sends notifications."""


class LoadedHook(NamedTuple):
    """A hook that Codex has loaded. Its `status` is `trusted`, `untrusted`, `modified` or `managed`."""

    key: str
    status: str
    hash: str
    command: str
    source: Path
    enabled: bool = True

    @property
    def runs(self) -> bool:
        return self.enabled and self.status in ("trusted", "managed")


@dataclass(frozen=True)
class Codex:
    """The `codex` program.

    Attributes:
        folder: the working directory for which it lists hooks.
        seconds: the time limit for one connection.
    """

    program: str
    folder: Path
    environment: Mapping[str, str] = field(repr=False)
    seconds: float = SECONDS

    def hooks(self) -> list[LoadedHook]:
        """Return all hooks that Codex has loaded for the folder.

        Raises:
            StoreError: Codex does not start, does not respond in time, or sends an unexpected response.
        """
        with self._connect() as connection:
            return _parse_hooks(connection.request("hooks/list", {"cwds": [str(self.folder)]}))

    def trust(self, hooks: Sequence[LoadedHook]) -> None:
        """Make Codex trust these hooks, exactly as they are now. Raises as `hooks` does."""
        self._write_states({hook.key: {"trusted_hash": hook.hash} for hook in hooks})

    def forget(self, keys: Sequence[str]) -> None:
        """Make Codex forget that these hooks are trusted. Raises as `hooks` does."""
        self._write_states(dict.fromkeys(keys))

    def _write_states(self, states: Mapping[str, Any]) -> None:
        edits = [
            {"keyPath": f"hooks.state.{json.dumps(key)}", "value": value, "mergeStrategy": "replace"}
            for key, value in states.items()
        ]
        with self._connect() as connection:
            connection.request("config/batchWrite", {"edits": edits})

    @contextmanager
    def _connect(self) -> Iterator[_ServerConnection]:
        process = self._start_server()
        timer = Timer(self.seconds, _kill_server, [process])
        timer.start()
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            connection = _ServerConnection(process.stdin, process.stdout)
            connection.request("initialize", {"clientInfo": {"name": "baton", "version": "1"}})
            connection.send("initialized")
            yield connection
        finally:
            timer.cancel()
            _kill_server(process)

    def _start_server(self) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(  # noqa: S603  runs the user's own codex
                [self.program, "app-server"], cwd=self.folder, env=dict(self.environment), stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise StoreError(f"codex does not start: {error.strerror}") from error


@dataclass
class _ServerConnection:
    """A JSON-RPC connection to `codex app-server`."""

    stdin: IO[bytes]
    stdout: IO[bytes]
    requests: int = 0

    def send(self, method: str, **members: Any) -> None:
        try:
            self.stdin.write(json.dumps({"method": method, **members}).encode() + b"\n")
            self.stdin.flush()
        except OSError:
            raise _make_silence_error() from None

    def request(self, method: str, params: Mapping[str, Any]) -> Any:
        self.requests += 1
        self.send(method, id=self.requests, params=params)
        for _ in range(_LINES):
            message = self._read_message()
            if message.get("id") == self.requests and "method" not in message:
                if "error" in message:
                    raise StoreError(f"codex app-server: {method}: {_describe_error(message['error'])}")
                return message.get("result")
        raise _make_silence_error()

    def _read_message(self) -> dict[str, Any]:
        line = self.stdout.readline()
        if not line:
            raise _make_silence_error()
        with suppress(ValueError):
            data = json.loads(line)
            if isinstance(data, dict):
                return data
        return {}


def _make_silence_error() -> StoreError:
    return StoreError("codex app-server gave no answer", hint="check with /hooks in codex")


def _describe_error(error: Any) -> str:
    return str(error.get("message", error) if isinstance(error, dict) else error)[:200]


def _kill_server(process: subprocess.Popen[bytes]) -> None:
    """Kill the server's whole process group, because the program may be a wrapper that started another one."""
    with suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdin, process.stdout):
        with suppress(OSError):
            stream.close() if stream else None


def _parse_hooks(result: Any) -> list[LoadedHook]:
    try:
        return [
            LoadedHook(
                str(hook["key"]), str(hook["trustStatus"]), str(hook["currentHash"]), str(hook.get("command") or ""),
                Path(hook["sourcePath"]), bool(hook.get("enabled", True)),
            )
            for folder in result["data"] for hook in folder["hooks"]
        ]  # fmt: skip
    except (KeyError, TypeError) as error:
        raise StoreError("codex app-server sent an unknown response", hint="check with /hooks in codex") from error


def read_trusted_keys(config: Path) -> set[str]:
    """Return the keys of the hooks that Codex's configuration lists as trusted; the hooks may have changed since.

    Raises:
        StoreError: the configuration cannot be read.
    """
    if not config.exists():
        return set()
    try:
        data = tomllib.loads(read_bytes(config).decode())
    except (BatonError, ValueError) as error:
        raise StoreError(f"{config} cannot be read: {error}") from None
    states = data.get("hooks", {}).get("state", {}) if isinstance(data.get("hooks", {}), dict) else {}
    return {key for key, state in states.items() if isinstance(state, dict) and state.get("trusted_hash")}
