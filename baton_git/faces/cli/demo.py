"""`baton demo`: three sessions hand over to each other, with the real commands in a real repository."""

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
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click


@dataclass(frozen=True)
class Stage:
    """The repository of the demonstration, and how a session of an agent acts in it."""

    folder: Path
    environment: Mapping[str, str]

    def session(self, session: str, agent: str) -> Stage:
        return Stage(self.folder, {**self.environment, "BATON_SESSION": session, "BATON_AGENT": agent})

    def baton(self, *words: str, given: str | None = None, expect: int = 0) -> str:
        """Runs one command as it would be typed, shows it and what it says, and gives its standard output.

        Raises:
            ClickException: it did not exit as the story has it.
        """
        _show(f"$ baton {shlex.join(words)}", fg="green")
        done = self._run([sys.executable, "-m", "baton_git", *words], given)
        for text in (done.stdout, done.stderr):
            if text.strip():
                click.echo(_indented(text))
        if done.returncode != expect:
            raise click.ClickException(f"the demonstration stopped: exit status {done.returncode} instead of {expect}")
        if expect:
            click.echo(_indented(f"(exit status {expect})"))
        return done.stdout

    def git(self, *words: str, show: bool = False) -> None:
        done = self._run(["git", *words])
        if done.returncode != 0:
            raise click.ClickException(f"git {shlex.join(words)}: {done.stderr.strip()}")
        if show:
            _show(f"$ git {shlex.join(words)}", fg="green")
            click.echo(_indented(done.stdout))

    def _run(self, argv: list[str], given: str | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # noqa: S603  our own program, and git
            argv, cwd=self.folder, env=dict(self.environment), input=given if given is not None else "",
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.rstrip().splitlines())


def _show(text: str, *, fg: str | None = None, bold: bool | None = None) -> None:
    click.echo(click.style(text, fg=fg, bold=bold))


def _story(text: str) -> None:
    click.echo()
    _show(f"# {text}", bold=True)


class _Health(http.server.BaseHTTPRequestHandler):
    """The service that the first session deploys: it answers every GET with 200."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name is the base class's
        """Says nothing."""


@click.command("demo")
@click.option("--keep", is_flag=True, help="Leave the repository, and say where it is.")
def demo_command(keep: bool) -> None:
    """See three sessions hand over, with the real commands and their real output, in a temporary repository.

    \b
    baton demo
    baton demo --keep
    """
    if shutil.which("git") is None:
        raise click.ClickException("the demonstration needs the git program")
    folder = Path(tempfile.mkdtemp(prefix="baton-demo-"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Health)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        stage = _stage(folder)
        first_session(stage.session("monday", "claude"), server.server_address[1])
        second_session(stage.session("tuesday", "codex"), stage.session("tuesday-b", "gemini"))
        third_session(stage.session("wednesday", "claude"))
    finally:
        server.shutdown()
        server.server_close()
        if keep:
            _story(f"The repository is {folder / 'shop'}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


def _stage(folder: Path) -> Stage:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "BATON_"))}
    repository = folder / "shop"
    repository.mkdir()
    stage = Stage(repository, {**kept, "GIT_CONFIG_GLOBAL": os.devnull, "XDG_DATA_HOME": str(folder / "data")})
    _story("A repository with some code in it")
    stage.git("init", "-q", "-b", "main")
    stage.git("config", "user.name", "Ada")
    stage.git("config", "user.email", "ada@example.org")
    (repository / "prices.py").write_text("def total(prices):\n    return sum(prices)\n")
    stage.git("add", "prices.py")
    stage.git("commit", "-q", "-m", "Add prices")
    stage.git("log", "--oneline", show=True)
    stage.baton("init")
    return stage


def first_session(stage: Stage, port: int | str) -> None:
    """Work is done and put off, decided, and gone wrong; nothing of it may be forgotten."""
    _story("Monday, session 1 (claude): it works, and notes what must not be forgotten")
    stage.baton("boot")
    url = f"http://127.0.0.1:{port}/health"
    stage.baton("loop", "add", "Deployed the shop", "--expect", "its health is 200", "--verify-http", url)
    stage.baton("loop", "add", "Asked for a fix of rounding", "--expect", "the fix is on main",
                "--verify-commit", "Round totals to cents", "--branch", "main")  # fmt: skip
    stage.baton("followup", "add", "Move prices into the database", "--reason", "the release comes first")
    stage.baton("pattern", "record", "Edited the config without reading its schema", "--context", "port was a string")
    stage.baton("decision", "add", "Totals are rounded half to even", "--why", "the books do it so",
                "--rejected", "half up", "--id", "DEC-001")  # fmt: skip
    stage.baton("wrap", "--context", "The shop runs. The fix of rounding is asked for.", "--summary", "deployed")


def second_session(stage: Stage, other: Stage) -> None:
    """The next session knows it all; a third one works at the same time; a model cannot make rules."""
    _story("Meanwhile the fix arrives on main")
    (stage.folder / "prices.py").write_text("def total(prices):\n    return round(sum(prices), 2)\n")
    stage.git("commit", "-q", "-a", "-m", "Round totals to cents")
    stage.git("log", "--oneline", "main", show=True)
    _story("Tuesday, session 2 (codex): it begins by checking what Monday expected")
    stage.baton("boot")
    _story("Another agent reads the state now, and will write it back later as a whole document")
    document = json.loads(other.baton("read"))["baton"]
    _story("Session 2 goes on: it puts things off again, and makes the same mistake twice more")
    item = document["follow_ups"][0]["id"]
    for _ in range(3):
        stage.baton("followup", "defer", item)
    for context in ("a list was a word", "a key was misspelt"):
        stage.baton("pattern", "record", "edited the config without reading its schema", "--context", context)
    pattern = document["patterns"][0]["id"]
    _story("Three times: a rule is proposed. But an agent cannot make it a rule; a person must, at a terminal")
    stage.baton("pattern", "graduate", pattern, expect=1)
    stage.baton("wrap", "--context", "Rounding is fixed. The config should be checked in CI.")
    _story("The other agent writes its document, which knows nothing of all this: both survive")
    document |= {"session_id": "tuesday-b", "parent_session": "monday"}
    document["follow_ups"].append({"id": "FU-100", "item": "Translate the receipt", "first_seen": "2026-11-21"})
    other.baton("write", "--file", "-", given=json.dumps(document))


def third_session(stage: Stage) -> None:
    """What was verified is shown once more and archived; the history answers questions, and can be undone."""
    _story("Wednesday, session 3 (claude): what was verified is told once more, and archived")
    stage.baton("boot")
    _story("What did Tuesday change? And all of it is plain git")
    stage.baton("log", "--graph")
    stage.baton("log", "--by-session", "tuesday", "--oneline")
    stage.baton("diff", "~3", "~1")
    stage.git("log", "--oneline", "--graph", "-n", "6", "baton/shop", show=True)
    stage.git("status", "--short", "--branch", show=True)
    _story("A step back, and back again")
    stage.baton("undo")
    stage.baton("undo")
    stage.baton("status")
    _story("That is the whole spiral. In a repository of your own: baton init, then baton boot")


COMMANDS = {"demo": demo_command}
