"""What Codex itself says of hooks: it skips those that its user has not trusted, and tells nobody.

Asked through `codex app-server`, JSON-RPC one object a line. Only Codex knows how it hashes a hook and where it keeps
what its user trusts; both have changed before.
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
"""For one conversation; it takes about one."""
_LINES = 1000
"""Lines of answers and news that are read before we give up."""


class SeenHook(NamedTuple):
    """A hook as Codex sees it. `status`: trusted, untrusted, modified or managed."""

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
    """The program, and where it is asked: `folder` is what it takes for its working directory.

    `seconds` are what one conversation may take.
    """

    program: str
    folder: Path
    environment: Mapping[str, str] = field(repr=False)
    seconds: float = SECONDS

    def hooks(self) -> list[SeenHook]:
        """All hooks that Codex has loaded for this folder.

        Raises:
            StoreError: it does not start, does not answer in time, or not as expected.
        """
        with self._talking() as talk:
            return _parse_hooks(talk.ask("hooks/list", {"cwds": [str(self.folder)]}))

    def trust(self, hooks: Sequence[SeenHook]) -> None:
        """Has Codex remember that its user trusts these, exactly as they are now. Raises as `hooks` does."""
        self._remember({hook.key: {"trusted_hash": hook.hash} for hook in hooks})

    def forget(self, keys: Sequence[str]) -> None:
        """Takes the trust in these back. Raises as `hooks` does."""
        self._remember(dict.fromkeys(keys))

    def _remember(self, states: Mapping[str, Any]) -> None:
        edits = [
            {"keyPath": f"hooks.state.{json.dumps(key)}", "value": value, "mergeStrategy": "replace"}
            for key, value in states.items()
        ]
        with self._talking() as talk:
            talk.ask("config/batchWrite", {"edits": edits})

    @contextmanager
    def _talking(self) -> Iterator[_Talk]:
        process = self._start_server()
        timer = Timer(self.seconds, _end, [process])
        timer.start()
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            talk = _Talk(process.stdin, process.stdout)
            talk.ask("initialize", {"clientInfo": {"name": "baton", "version": "1"}})
            talk.tell("initialized")
            yield talk
        finally:
            timer.cancel()
            _end(process)

    def _start_server(self) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(  # noqa: S603  the user's codex is meant
                [self.program, "app-server"], cwd=self.folder, env=dict(self.environment), stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise StoreError(f"codex does not start: {error.strerror}") from error


@dataclass
class _Talk:
    """One conversation."""

    to: IO[bytes]
    said: IO[bytes]
    asked: int = 0

    def tell(self, method: str, **more: Any) -> None:
        try:
            self.to.write(json.dumps({"method": method, **more}).encode() + b"\n")
            self.to.flush()
        except OSError:
            raise _silent() from None

    def ask(self, method: str, params: Mapping[str, Any]) -> Any:
        self.asked += 1
        self.tell(method, id=self.asked, params=params)
        for _ in range(_LINES):
            answer = self._answer()
            if answer.get("id") == self.asked and "method" not in answer:
                if "error" in answer:
                    raise StoreError(f"codex app-server: {method}: {_message(answer['error'])}")
                return answer.get("result")
        raise _silent()

    def _answer(self) -> dict[str, Any]:
        line = self.said.readline()
        if not line:
            raise _silent()
        with suppress(ValueError):
            data = json.loads(line)
            if isinstance(data, dict):
                return data
        return {}


def _silent() -> StoreError:
    return StoreError("codex app-server gave no answer", hint="look yourself: /hooks in codex")


def _message(error: Any) -> str:
    return str(error.get("message", error) if isinstance(error, dict) else error)[:200]


def _end(process: subprocess.Popen[bytes]) -> None:
    """The program may be a wrapper around another one: the whole group ends."""
    with suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdin, process.stdout):
        with suppress(OSError):
            stream.close() if stream else None


def _parse_hooks(result: Any) -> list[SeenHook]:
    try:
        return [
            SeenHook(
                str(hook["key"]), str(hook["trustStatus"]), str(hook["currentHash"]), str(hook.get("command") or ""),
                Path(hook["sourcePath"]), bool(hook.get("enabled", True)),
            )
            for place in result["data"] for hook in place["hooks"]
        ]  # fmt: skip
    except (KeyError, TypeError) as error:
        raise StoreError("codex app-server answers otherwise than it used to", hint="look yourself: /hooks") from error


def trusted_keys(config: Path) -> set[str]:
    """The hooks that Codex's configuration has as trusted, whether or not they are still the same.

    Raises:
        StoreError: it cannot be read.
    """
    if not config.exists():
        return set()
    try:
        data = tomllib.loads(read_bytes(config).decode())
    except (BatonError, ValueError) as error:
        raise StoreError(f"{config} cannot be read: {error}") from None
    states = data.get("hooks", {}).get("state", {}) if isinstance(data.get("hooks", {}), dict) else {}
    return {key for key, state in states.items() if isinstance(state, dict) and state.get("trusted_hash")}
