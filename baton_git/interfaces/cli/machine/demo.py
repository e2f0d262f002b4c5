"""`baton demo`: run three sessions that hand over to each other, with real commands in a temporary repository."""

from __future__ import annotations

import http.server
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click

from baton_git.core.output import BOLD, GREEN, style
from baton_git.interfaces.cli.printing import write, write_json
from baton_git.interfaces.context.process import child_environment

FOLDED = 4
"""A JSON object with at least this many lines is printed only as a list of its fields."""
LONG = 150
"""A line with more characters than this is printed only once; every brief begins with such lines."""
KNOWN_BY = 60
"""A long line is recognised by this many characters at its beginning."""


@dataclass(frozen=True)
class Narrator:
    """Prints the story and the commands as they happen, and collects them for --json.

    Attributes:
        silent: whether to print nothing.
        events: the story so far, as data.
        long: the beginnings of long lines that were printed.
    """

    silent: bool
    events: list[dict[str, Any]] = field(default_factory=list)
    long: set[str] = field(default_factory=set)

    def story(self, text: str) -> None:
        self.events.append({"story": text})
        if not self.silent:
            write("")
            write(style(f"# {text}", BOLD))

    def ran(self, words: Sequence[str], done: subprocess.CompletedProcess[str]) -> None:
        self.events.append(
            {"command": list(words), "stdout": done.stdout, "stderr": done.stderr, "status": done.returncode}
        )
        if self.silent:
            return
        write(style(f"$ {shlex.join(words)}", GREEN))
        for line in self._select_lines(done):
            write(f"  {line}".rstrip())
        if done.returncode:
            write(f"  (exit status {done.returncode})")

    def _select_lines(self, done: subprocess.CompletedProcess[str]) -> Iterator[str]:
        """Yield the lines of the output, without empty lines and repeated long lines.

        Standard output is left out if standard error begins with the same text, for example with the id of a new
        record.
        """
        news = done.stderr.rstrip().splitlines()
        output = [] if news and news[0].startswith(f"{done.stdout.strip()} ") else _fold(done.stdout)
        for line in (*output, *news):
            if line.strip() and line[:KNOWN_BY] not in self.long:
                yield line
            if len(line) > LONG:
                self.long.add(line[:KNOWN_BY])


def _fold(text: str) -> list[str]:
    """Return the lines of an output; for a long JSON object, return one line with the names of its fields."""
    lines = text.rstrip().splitlines()
    if len(lines) < FOLDED or not text.startswith("{"):
        return lines
    return [f"{{{', '.join(json.loads(text))}}}  ({len(lines)} lines of JSON)"]


@dataclass(frozen=True)
class Stage:
    """The repository of the demonstration, and the environment variables of the commands that run there."""

    folder: Path
    environment: Mapping[str, str]
    narrator: Narrator

    def session(self, session: str, agent: str) -> Stage:
        return replace(self, environment={**self.environment, "BATON_SESSION": session, "BATON_AGENT": agent})

    def story(self, text: str) -> None:
        self.narrator.story(text)

    def baton(self, *words: str, given: str = "", expect: int = 0) -> str:
        """Run one command as if it were typed, print its output, and return its standard output.

        Args:
            given: the standard input.
            expect: the expected exit status.

        Raises:
            ClickException: the exit status is not `expect`.
        """
        done = self._run([sys.executable, "-m", "baton_git", *words], given)
        self.narrator.ran(["baton", *words], done)
        if done.returncode != expect:
            raise click.ClickException(f"the demonstration stopped: exit status {done.returncode} instead of {expect}")
        return done.stdout

    def git(self, *words: str, show: bool = False) -> None:
        done = self._run(["git", *words])
        if done.returncode != 0:
            raise click.ClickException(f"git {shlex.join(words)}: {done.stderr.strip()}")
        if show:
            self.narrator.ran(["git", *words], done)

    def _run(self, argv: list[str], given: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # noqa: S603  our own program, and git
            argv, cwd=self.folder, env=dict(self.environment), input=given,
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip


class _Health(http.server.BaseHTTPRequestHandler):
    """The service that the first session deploys: it answers every GET with 200."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name is the base class's
        """Log nothing."""


@click.command("demo")
@click.option("--keep", is_flag=True, help="Do not delete the repository, and print its path.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON at the end.")
def demo_command(keep: bool, as_json: bool) -> None:
    """Show three sessions that hand over to each other, with real commands in a temporary repository.

    \b
    baton demo
    baton demo --keep
    """
    if shutil.which("git") is None:
        raise click.ClickException("the demonstration needs the git program")
    folder = Path(tempfile.mkdtemp(prefix="baton-demo-"))
    narrator = Narrator(silent=as_json)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Health)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        stage = _stage(folder, narrator)
        first_session(stage.session("monday", "claude"), server.server_address[1])
        second_session(stage.session("tuesday", "codex"), stage.session("tuesday-b", "gemini"))
        third_session(stage.session("wednesday", "claude"))
        if keep:
            narrator.story(f"The repository is {stage.folder}")
    finally:
        server.shutdown()
        server.server_close()
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    if as_json:
        write_json(narrator.events)


def _stage(folder: Path, narrator: Narrator) -> Stage:
    inherited = {name: value for name, value in child_environment().items() if not name.startswith(("GIT_", "BATON_"))}
    repository = folder / "shop"
    repository.mkdir()
    environment = {**inherited, "GIT_CONFIG_GLOBAL": os.devnull, "XDG_DATA_HOME": str(folder / "data")}
    stage = Stage(repository, environment, narrator)
    stage.story("A repository with some code in it")
    stage.git("init", "-q", "-b", "main")
    stage.git("config", "user.name", "Ada")
    stage.git("config", "user.email", "ada@example.org")
    (repository / "prices.py").write_text("def total(prices):\n    return sum(prices)\n")
    stage.git("add", "prices.py")
    stage.git("commit", "-q", "-m", "Add prices")
    stage.baton("init")
    return stage


def first_session(stage: Stage, port: int | str) -> None:
    """Record open loops, a follow-up, a pattern and a decision."""
    stage.story("Monday, session 1 (claude): it does some work, and records what the next sessions need to know")
    stage.baton("boot")
    url = f"http://127.0.0.1:{port}/health"
    stage.baton("loop", "add", "Deployed the shop", "--expect", "its health is 200", "--verify-http", url)
    stage.baton("loop", "add", "Asked for a rounding fix", "--expect", "the fix is on main",
                "--verify-commit", "Round totals to cents", "--branch", "main")  # fmt: skip
    stage.baton("followup", "add", "Move prices into the database", "--reason", "the release comes first")
    stage.baton("pattern", "record", "Edited the config without reading its schema", "--context", "port was a string")
    stage.baton("decision", "add", "Totals are rounded half to even", "--why", "our accountants do it that way",
                "--rejected", "half up", "--id", "DEC-001")  # fmt: skip
    stage.baton("wrap", "--context", "The shop runs. A rounding fix was requested.", "--summary", "deployed")


def second_session(stage: Stage, other_stage: Stage) -> None:
    """Continue the work of the first session, while another agent writes; show that an agent cannot make a rule."""
    stage.story("Meanwhile the fix arrives on main")
    (stage.folder / "prices.py").write_text("def total(prices):\n    return round(sum(prices), 2)\n")
    stage.git("commit", "-q", "-a", "-m", "Round totals to cents")
    stage.git("log", "--oneline", "main", show=True)
    stage.story("Tuesday, session 2 (codex): baton boot runs the checks of Monday's open loops")
    stage.baton("boot")
    stage.story("Another agent reads the state now; later it will write the whole document back")
    document = json.loads(other_stage.baton("read"))["baton"]
    stage.story("Session 2 continues: it defers the follow-up three times, and makes the same mistake twice more")
    item = document["follow_ups"][0]["id"]
    for _ in range(3):
        stage.baton("followup", "defer", item)
    for context in ("a string was given instead of a list", "a key was misspelt"):
        stage.baton("pattern", "record", "edited the config without reading its schema", "--context", context)
    pattern = document["patterns"][0]["id"]
    stage.story(
        "After three occurrences a rule is proposed. Only a person can accept it, at a terminal; an agent cannot"
    )
    stage.baton("pattern", "graduate", pattern, expect=1)
    stage.baton("wrap", "--context", "Rounding is fixed. The config should be checked in CI.")
    stage.story("The other agent writes its older document, with a new follow-up: both are merged, and nothing is lost")
    document |= {"session_id": "tuesday-b", "parent_session": "monday"}
    document["follow_ups"].append({"id": "FU-100", "item": "Translate the receipt", "first_seen": "2026-11-21"})
    other_stage.baton("write", "--file", "-", given=json.dumps(document))


def third_session(stage: Stage) -> None:
    """Show the verified loops for the last time, then the history, an undo and a redo."""
    stage.story("Wednesday, session 3 (claude): verified loops are shown once more, then archived")
    stage.baton("boot")
    stage.story("The sessions as a graph, and the same history in plain git")
    stage.baton("log", "--graph")
    stage.git("log", "--oneline", "--graph", "-n", "4", "baton/shop", show=True)
    stage.story("Undo a change, and redo it")
    stage.baton("followup", "done", "FU-100")
    stage.baton("undo")
    stage.baton("redo")
    stage.story("To begin in a repository of your own: baton init, then baton boot")


COMMANDS = {"demo": demo_command}
