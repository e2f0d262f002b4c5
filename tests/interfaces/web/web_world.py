"""A namespace as after some weeks of work on two machines, with everything that the pages can show."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Baton = Callable[..., Any]
Git = Callable[..., str]

CLAUDE = ("--session", "2026-11-20-claude-1", "--agent", "claude")
CODEX = ("--session", "2026-11-20-codex-7", "--agent", "codex")
GEMINI = ("--session", "2026-11-21-gemini-2", "--agent", "gemini")
NS = ("--namespace", "shop")


@dataclass(frozen=True)
class World:
    """Two clones of one repository: `here` is served, `there` is another machine."""

    baton: Baton
    git: Git
    top: Path
    other: Path

    def here(self, *words: str, **more: Any) -> str:
        return self.baton(*words, *NS, **more).id

    def there(self, *words: str, **more: Any) -> str:
        return self.baton(*words, *NS, cwd=self.other, **more).id


def two_machines(baton: Baton, git: Git, top: Path) -> World:
    """Return two clones of one repository that share an empty namespace."""
    hub, other = top.parent / "hub.git", top.parent / "other"
    git(top, "init", "-q", "--bare", str(hub))
    git(top, "remote", "add", "origin", str(hub))
    git(top, "push", "-q", "origin", "main")
    git(top, "clone", "-q", str(hub), str(other))
    world = World(baton, git, top, other)
    world.here("init")
    world.here("sync")
    world.there("sync")
    return world


def rich(world: World) -> World:
    """Create loops, follow-ups, patterns, decisions, conflicts, handovers, and commits that wait for review."""
    here = world.here
    here("boot", *CLAUDE)
    here("loop", "add", "Deployed the shop to staging", "--id", "OL-stage", "--expect", "its health answers 200",
         "--verify-http", "http://127.0.0.1:9/health", *CLAUDE)  # fmt: skip
    here("loop", "add", "Asked the payment provider for a webhook secret", "--id", "OL-secret", "--expect",
         "a mail with the secret, and the variable is set in the deployment", *CLAUDE)  # fmt: skip
    here("loop", "add", "Rewrote the rounding of totals; see the discussion in the tracker, which is long and has "
         "several opinions on whether half-even or half-up is what the accountants expect", "--id", "OL-round",
         "--expect", "all invoices of October come out the same", "--verify-file", "readme", *CLAUDE)  # fmt: skip
    here("verify", *CLAUDE, code=None)
    _follow_ups(world)
    _patterns(world)
    here("decision", "add", "Totals are rounded half to even", "--why", "our accountants do", "--id", "DEC-001",
         "--rejected", "half up", "--rejected", "truncate", "--evidence", "mail of the accountant, 3 November",
         *CLAUDE)  # fmt: skip
    here(
        "decision",
        "add",
        "Prices move into the database",
        "--why",
        "three services read the file",
        "--id",
        "DEC-002",
        *CODEX,
    )
    here("sync")
    world.there("sync")
    _both_at_once(world)
    _save_checkpoint(world)
    here("followup", "done", "FU-old", *CODEX)
    here("wrap", "--context", "The shop runs on staging. Rounding is under review.\n\nNext: the webhook secret, then "
         "the October invoices.", "--summary", "deployed, and looked into rounding", *CLAUDE, code=3)  # fmt: skip
    _queue(world)
    return world


def _follow_ups(world: World) -> None:
    here = world.here
    here("followup", "add", "Translate the receipt", "--id", "FU-receipt", "--reason", "no translator yet", *CODEX)
    here(
        "followup", "add", "Remove the old price file", "--id", "FU-file", "--reason", "the release comes first", *CODEX
    )
    here("followup", "add", "Clean up the staging bucket", "--id", "FU-old", *CODEX)
    for _ in range(5):
        here("followup", "defer", "FU-file", *CODEX)
    for _ in range(3):
        here("followup", "defer", "FU-receipt", *CODEX)


def _patterns(world: World) -> None:
    here = world.here
    for number in range(4):
        here("pattern", "record", "Edited the config without reading its schema", "--id", "PAT-schema", "--context",
             f"port was a string, deployment {number}", "--rule", "Read config.schema.json before any change of "
             "config.yaml, and run the validator after it.", *CLAUDE)  # fmt: skip
    here("pattern", "record", "Assumed that the tests run against Postgres", "--id", "PAT-pg", "--context", "they run "
         "against SQLite", *CODEX)  # fmt: skip


def _both_at_once(world: World) -> None:
    """Let two machines change records at the same time, which gives a conflict and a merge."""
    here, there = world.here, world.there
    there("boot", *GEMINI)
    there("decision", "add", "The receipt is a PDF", "--why", "customers print it", "--id", "DEC-003", *GEMINI)
    _change_outcome(world.there, "OL-secret", "the secret is in the vault under shop/webhook")
    _change_outcome(here, "OL-secret", "a mail with the secret")
    there("wrap", "--context", "The receipt is designed.", *GEMINI)
    there("sync")
    here("sync", code=3)  # exit code 3: the two machines changed one value


def _change_outcome(who: Any, loop: str, outcome: str) -> None:
    """Change a loop's expected outcome with a whole document, as session-baton's clients do."""
    document = json.loads(who("read", "--json"))
    baton = document["baton"]
    for one in baton["open_loops"]:
        if one["id"] == loop:
            one["expected_outcome"] = outcome
    who("write", "--file", "-", "--expected-revision", str(document["revision"]), given=json.dumps(baton))


def _save_checkpoint(world: World) -> None:
    world.here("checkpoint", "--agent", "zero", "--session", "2026-11-20-zero", "--summary",
               "Half of the invoices are compared; 17 differ by one cent", "--pending",
               "compare the other half")  # fmt: skip
    world.here("boot", *CODEX)


def _queue(world: World) -> None:
    """Create commits on the other machine, and receive them here, where they wait for review."""
    world.here("sync", code=3)
    world.git(world.top, "config", "remote.origin.batonPolicy", "review")
    world.there("sync", code=3)
    world.there("followup", "add", "Ask for the fonts of the receipt", "--id", "FU-fonts", *GEMINI)
    world.there("followup", "defer", "FU-receipt", *GEMINI)
    world.there("decision", "monitor", "DEC-002", *GEMINI)
    world.there("sync", code=3)
    world.here("sync", code=None)
