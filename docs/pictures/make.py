"""Make the pictures of the documentation again, from a real repository, browser and agent session.

    .venv/bin/python docs/pictures/make.py /folder/of/the/clis     # with tests/agent_clis/package.json installed in it
    .venv/bin/python docs/pictures/make.py                         # all but `brief.png`, which needs the CLIs

`board.png`, `inbox.png` and `conflict.png` are the page of `baton serve` in a headless chromium. The SVG files are a
shell in tmux. `brief.png` is the screen of Claude Code in tmux, in a project with baton's hooks. Its model is the
scripted one of the tests; everything else is what a user sees.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

HERE = Path(__file__).parent
TESTS = HERE.parent.parent / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "interfaces" / "web")]

from agent_clis.agent import Agent, Session  # noqa: E402  the tests are no package
from agent_clis.clis import ClaudeCode, Place  # noqa: E402
from agent_clis.model_server import serving  # noqa: E402
from browser import Browser, browser  # noqa: E402
from screen import draw_screen  # noqa: E402
from terminal import open_terminal  # noqa: E402

BATON = str(Path(sys.executable).parent / "baton")
CONTEXT = "The shop is deployed with rounding fixed. The export of invoices broke; the config should be checked in CI."

ANSWER = "I begin with the loop that failed: why exports/2026-10.csv was not written."


class Shop:
    """A repository with a namespace that has some records of each kind."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder = folder
        path = os.environ["PATH"]
        self.environment = {"PATH": path, "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1", "LANG": "C.UTF-8", "TZ": "UTC"}
        folder.mkdir(parents=True)
        self.git("config", "--global", "user.name", "Ada")
        self.git("config", "--global", "user.email", "ada@example.org")
        self.git("init", "-q", "-b", "main")
        (folder / "prices.py").write_text("def total(prices):\n    return round(sum(prices), 2)\n")
        self.git("add", ".")
        self.git("commit", "-q", "-m", "Round totals to cents")

    def git(self, *words: str) -> None:
        subprocess.run(["git", *words], cwd=self.folder, env=self.environment, check=True)

    def baton(self, *words: str, session: str = "", agent: str = "claude", given: str = "") -> str:
        """Run a command, and return what it prints on standard output."""
        acting = {"BATON_SESSION": session, "BATON_AGENT": agent} if session else {}
        done = subprocess.run(
            [BATON, *words],
            cwd=self.folder,
            env={**self.environment, **acting},
            input=given,
            capture_output=True,
            text=True,
        )
        assert done.returncode in (0, 5), f"{words}: {done.stderr}"
        return done.stdout.strip()

    def fill(self, health: str) -> None:
        """Add the records of two sessions; `health` is the address of a service that answers 200."""
        self.baton("init")
        self.baton("write", "--file", "-", given=json.dumps(earlier_document()))
        self.baton("boot", session="monday")
        self.baton(
            "loop",
            "add",
            "Deployed the shop",
            "--expect",
            "its health is 200",
            "--verify-http",
            health,
            session="monday",
        )
        self.baton("loop", "add", "Exported the invoices of October", "--expect", "the file is there",
                   "--verify-file", "exports/2026-10.csv", session="monday")  # fmt: skip
        self.baton("followup", "add", "Translate the receipt", "--reason", "no French customers yet", session="monday")
        self.baton("pattern", "record", "Assumed Docker without reading compose.yaml", session="monday")
        self.baton("decision", "add", "Totals are rounded half to even", "--why", "our accountants do",
                   "--rejected", "half up", session="monday")  # fmt: skip
        self.baton("wrap", "--context", CONTEXT, "--summary", "deployed", session="monday")
        self.baton("boot", session="tuesday", agent="codex")


def earlier_document() -> dict[str, object]:
    """Return the document of an earlier session, with records that are weeks old."""
    day = [(datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="seconds") for days in range(30)]
    return {
        "session_id": "last-week",
        "open_loops": [
            {
                "id": "OL-4mhk44",
                "action": "Raised the lifetime of the cache to one day",
                "expected_outcome": "fewer than 100 misses an hour",
                "verify": {"method": "manual", "note": "look at the dashboard"},
                "created_at": day[9],
                "ttl_days": 7,
                "status": "open",
            },
        ],
        "follow_ups": [
            {
                "id": "FU-s5ezgf",
                "item": "Move prices into the database",
                "first_seen": day[20],
                "reason": "the release comes first",
                "times_deferred": 3,
                "priority": "elevated",
            },
        ],
        "patterns": [
            {
                "id": "PAT-1bbkmf",
                "what": "Edited the config without reading its schema",
                "first_seen": day[21],
                "last_seen": day[1],
                "count": 3,
                "threshold": 3,
                "status": "rule_candidate",
                "proposed_rule": "Read config/schema.json before editing config/*.toml",
            },
        ],
        "active_decisions": [
            {
                "id": "DEC-042",
                "what": "Deploy with --update-env-vars only",
                "why": "--set-env-vars clears the others",
                "created_at": day[12],
            },
        ],
    }


@contextmanager
def healthy_service() -> Iterator[str]:
    """Run a service that answers 200; yield its address."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()


def make_conflict(shop: Shop) -> Path:
    """Change a follow-up in the shop and in a clone, so that the next sync has a conflict; return the clone."""
    origin, laptop = (shop.folder.parent / name for name in ("shop.git", "laptop"))
    shop.git("init", "-q", "--bare", "-b", "main", str(origin))
    shop.git("remote", "add", "origin", str(origin))
    shop.git("push", "-q", "origin", "main")
    shop.baton("sync")
    shop.git("clone", "-q", str(origin), str(laptop))
    elsewhere = ["env", "-C", str(laptop), BATON]
    for words in (
        ["boot", "--session", "laptop"],
        ["edit", "FU-s5ezgf", "--reason", "the accountant asks for it first", "--session", "laptop"],
        ["loop", "add", "Tagged release 2.1", "--expect", "CI is green", "--session", "laptop"],
        ["sync"],
    ):
        subprocess.run([*elsewhere, *words], env=shop.environment, check=True, capture_output=True)
    shop.baton("edit", "FU-s5ezgf", "--reason", "the migration comes first", session="tuesday")
    return laptop


def make_terminals(shop: Shop) -> None:
    """Draw a shell with the brief, what needs a person, a new rule, and a conflict."""
    path = f"{Path(BATON).parent}:{shop.environment['PATH']}"
    with open_terminal(shop.folder, {**shop.environment, "PATH": path}) as shell:
        shell.type("baton boot")
        shell.save(HERE / "boot.svg", "the brief")
        shell.type("baton ready")
        shell.save(HERE / "ready.svg", "what needs somebody")
        shell.type("baton pattern graduate PAT-1bbkmf", "confirm:")
        shell.type("PAT-1bbkmf")
        shell.save(HERE / "rule.svg", "a person makes a rule")
        make_conflict(shop)
        shell.type("baton sync")
        shell.type("baton conflicts")
        shell.save(HERE / "conflict.svg", "two machines changed one value")


def make_pages(shop: Shop, page: Browser) -> None:
    """Draw the inbox and the page of conflicts."""
    with serve(shop) as url:
        for path, name, height in (("/", "inbox.png", 560), ("/n/shop/conflicts", "conflict.png", 460)):
            page.driver.get(url + path)
            page.size(1280, height)
            page.one("main h1, main h2")
            page.run("document.documentElement.style.overflow = 'hidden'")  # no scroll bar
            save_picture(page, HERE / name)


@contextmanager
def serve(shop: Shop) -> Iterator[str]:
    argv = [BATON, "serve", "--port", "0"]
    with subprocess.Popen(argv, cwd=shop.folder, env=shop.environment, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        server.terminate()


def make_board(shop: Shop, page: Browser) -> None:
    """Draw the board."""
    with serve(shop) as url:
        page.driver.get(url + "/n/shop")
        page.size(1440, 640)
        page.one("main h1, main h2")
        page.run("document.documentElement.style.overflow = 'hidden'")  # no scroll bar
        save_picture(page, HERE / "board.png")


def save_picture(page: Browser, file: Path) -> None:
    file.write_bytes(base64.b64decode(page.driver.get_screenshot_as_base64()))
    print(f"{file.name}: {file.stat().st_size} bytes")


def show_brief(session: Session) -> str:
    """Let Claude Code show the brief of its session; return the screen with the escape sequences of its colours."""
    session.tmux("set-option", "-g", "focus-events", "on")
    session.tmux("resize-window", "-t", "cli", "-x", "120", "-y", "46")
    session.model.say(ANSWER)
    session.keys("!")
    time.sleep(1)  # the CLI changes to its shell mode
    session.type("baton boot", lambda: ANSWER[:20] in session.screen)
    time.sleep(3)  # until the CLI's hints have disappeared
    return session.tmux("capture-pane", "-p", "-e", "-t", "cli")


def make_brief(shop: Shop, page: Browser, clis: Path) -> None:
    """Draw the screen of Claude Code in a project with baton's hooks."""
    claude = ClaudeCode()
    with serving(claude.wire) as model, tempfile.TemporaryDirectory() as scratch:
        place = Place(Path(shop.environment["HOME"]), shop.folder, model.url)
        claude.configure(place)
        agent = Agent(claude, place, model, clis)
        subprocess.run([BATON, "agents", "install", "claude"], cwd=shop.folder, env=agent.environment, check=True)
        with agent.session() as session:
            screen = show_brief(session)
        file = Path(scratch) / "screen.html"
        file.write_text(draw_screen(screen), encoding="utf-8")
        page.driver.get(file.as_uri())
        page.size(*page.run("const box = document.querySelector('pre'); return [box.offsetWidth, box.offsetHeight]"))
        save_picture(page, HERE / "brief.png")


def main(clis: Path | None) -> None:
    with tempfile.TemporaryDirectory() as scratch, healthy_service() as health:
        home = Path(scratch) / "home"
        shop = Shop(home / "shop", home)
        shop.fill(health)
        with browser("", Path(scratch) / "profile") as page:
            make_board(shop, page)
            if clis is not None:
                make_brief(shop, page, clis)
            make_terminals(shop)
            make_pages(shop, page)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
