"""An agent in a test: a CLI with a scratch home, a project and a scripted model, headless or in a terminal."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from agent_clis.clis import Cli, Place
from agent_clis.model_server import ModelServer, Request
from agent_clis.terminal import Terminal, terminal


@dataclass(frozen=True)
class Ran:
    """The result of a headless run. `requests` are the requests that its model received for the session."""

    session: str
    out: str
    err: str
    requests: list[Request]

    @property
    def first(self) -> Request:
        return self.requests[0]


@dataclass(frozen=True)
class Session(Terminal):
    """A CLI in a terminal, with its model."""

    cli: Cli
    model: ModelServer

    def ask(self, prompt: str, answer: str) -> Request:
        """Type a prompt and return the model's request when the turn is over.

        Args:
            prompt: without a question mark, which is a command of Gemini's terminal.
        """
        before = len(self.model.turns)
        self.model.say(answer)
        self.type(prompt, lambda: self.is_done(answer))
        return self.model.wait(before + 1)

    def start(self, prompt: str) -> None:
        """Type a prompt and wait until the model has its request, but not for the answer."""
        before = len(self.model.turns)
        self.type(prompt, lambda: len(self.model.turns) > before)

    def go_back(self, prompts: int) -> None:
        """Take back the last prompts with all that followed them; the first of them is left in the input line."""
        self.cli.go_back(self, prompts)
        self.keys("C-u")

    def is_done(self, last: str) -> bool:
        """Return whether the turn is over whose answer ends with `last`."""
        _, answer, after = self.screen.rpartition(last)
        return bool(answer) and self.cli.rests(after)

    def compact(self) -> None:
        """Compact the conversation."""
        self.type(self.cli.compact, lambda: self.is_done(self.cli.compacted))

    def clear(self, last: str) -> None:
        """Start a new conversation. `last` is on the screen until then."""
        self.type("/clear", lambda: last not in self.screen)
        self.wait_for_text(self.cli.ready)

    def quit(self) -> None:
        self.type("/exit" if self.cli.name == "claude" else "/quit", lambda: self.is_over)


@dataclass(frozen=True)
class Agent:
    """One CLI with its home, project and model. `folder` is its npm folder; `more` adds environment variables."""

    cli: Cli
    place: Place
    model: ModelServer
    folder: Path
    more: dict[str, str] = field(default_factory=dict)

    @property
    def project(self) -> Path:
        return self.place.project

    @property
    def environment(self) -> dict[str, str]:
        """Return an environment with nothing of the machine but its PATH; `baton` is that of this interpreter."""
        path = [str(Path(sys.executable).parent), str(self.folder / "node_modules/.bin"), os.environ["PATH"]]
        git = {name: value for name, value in os.environ.items() if name.startswith("GIT_")}
        fixed = {"PATH": ":".join(path), "HOME": str(self.place.home), "TERM": "xterm-256color", "LANG": "C.UTF-8"}
        return {**git, **fixed, "SHELL": "/bin/bash", "TZ": "UTC", **self.cli.environment(self.place), **self.more}

    def at(self, project: Path) -> Agent:
        """Return the same agent (one home, one model) in another project."""
        there = replace(self, place=replace(self.place, project=project))
        self.cli.configure(there.place)
        return there

    def with_tokens(self, tokens: int) -> Agent:
        """Return the same agent, set to compact a conversation of this many tokens automatically."""
        short = replace(self, place=replace(self.place, tokens=tokens))
        self.cli.configure(short.place)
        return short

    def run(self, prompt: str, *, resume: str | None = None, options: tuple[str, ...] = ()) -> Ran:
        """Send one prompt without a terminal.

        Raises:
            AssertionError: the CLI failed.
        """
        return self._run([*self.cli.headless(prompt, resume), *options])

    def fork(self, prompt: str, session: str) -> Ran:
        """Send one prompt in a copy of a session. Raises as `run` does."""
        return self._run(self.cli.fork(prompt, session))

    def _run(self, argv: list[str]) -> Ran:
        before = len(self.model.turns)
        done = subprocess.run(
            argv, cwd=self.project, env=self.environment, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, f"{argv}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return Ran(self.cli.session(done.stdout), done.stdout, done.stderr, self.model.turns[before:])

    @contextmanager
    def session(self, *, resume: str | None = None) -> Iterator[Session]:
        """Start the CLI in a terminal, and yield it when it is ready for input."""
        argv = self.cli.interactive(resume)
        with (
            tempfile.TemporaryDirectory(prefix="t") as short,  # the name of a socket must be short
            terminal(argv, self.project, self.environment, Path(short) / "s") as shown,
        ):
            session = Session(shown.socket, shown.environment, self.cli, self.model)
            session.wait_for_text(self.cli.ready)
            yield session
