"""The whole output of `log`, `show`, `ready`, `status`, the brief and the lists, in every medium, compared with files.

A repository is filled by commands at fixed times, so its commits and ages are the same in every run. Each file in
`shown/` has the output of one command: in a pipe, on terminals of 80 and 120 columns, and with styles. After a change
of the output, `SHOWN=write pytest -n 0 tests/interfaces/test_shown.py` writes the files anew; the diff shows what users
will see.
"""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from folder_copies import FolderCopy
from mcp_client import talk
from pseudo_terminal import typing_here
from web_server import Running, Served
from world import ANYBODY

from baton_git.core.names import Namespace
from baton_git.core.records.conflict import Conflict
from baton_git.git.store import Repository, Store
from baton_git.interfaces.context.settings import CommonOptions, Settings
from baton_git.interfaces.http.site import Site
from baton_git.namespace.branch import Branch
from baton_git.namespace.revision import CommitStamp

FILES = Path(__file__).parent / "shown"
BEGIN = datetime(2026, 11, 18, 9, 0, tzinfo=UTC)
NOW = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)

COMMIT = re.compile(r"\b([0-9a-f]{10})([0-9a-f]{30})?\b")
"""A commit, which the files name by its place, so that a change of what is stored does not change all of them."""

CLAUDE = ("--session", "7f3e9a52-1c44-4c1e-9a0d-5b7d2f5e8a11", "--agent", "claude")
CODEX = ("--session", "2026-11-20-k3f9q2", "--agent", "codex")
LONG = (
    "Rewrote the rounding of totals; see the discussion in the tracker, which is long and has several opinions on "
    "whether half-even or half-up is what the accountants expect"
)

STEPS: tuple[tuple[str, ...], ...] = (
    ("boot", *CLAUDE, "--no-verify", "--no-sync"),
    ("loop", "add", "Deployed the shop to staging", "--id", "OL-7k3f9q", "--expect", "its health answers 200",
     "--verify-file", "health", *CLAUDE),
    ("loop", "add", LONG, "--id", "OL-round1", "--expect", "all invoices of October come out the same",
     "--verify-file", "readme", *CLAUDE),
    ("loop", "add", "店舗を配備した", "--id", "OL-2wide3", "--expect", "応答がある", "--ttl-days", "1", *CLAUDE),
    ("loop", "verify", "OL-7k3f9q", "--failed", "--note", "it answers 502", *CLAUDE),
    ("loop", "verify", "OL-round1", "--passed", *CLAUDE),
    ("followup", "add", "Remove the old price file", "--id", "FU-4file2", "--reason", "the release is first", *CODEX),
    ("followup", "add", "Clean up the bucket", "--id", "FU-5done3", *CODEX),
    *(("followup", "defer", "FU-4file2", "--reason", "no time", *CODEX),) * 3,
    ("followup", "done", "FU-5done3", "--note", "in 4f2a", *CODEX),
    *(("pattern", "record", "Edited the config without its schema", "--id", "PAT-9cfg4x", "--context", "port was text",
       *CLAUDE),) * 2,
    ("pattern", "propose", "PAT-9cfg4x", "--rule", "Read config.schema.json first", *CLAUDE),
    ("decision", "add", "Totals are rounded half to even", "--why", "our accountants do", "--id", "DEC-7even1",
     "--rejected", "half up", "--rejected", "truncate", "--evidence", "mail of 3 November", *CLAUDE),
    ("decision", "add", "Totals are rounded by the bank", "--why", "it is their money", "--id", "DEC-8bank2",
     "--replaces", "DEC-7even1", *CODEX),
    ("edit", "DEC-7even1", "--set", 'evidence=["mail of 3 November", "call of 5 November"]', *CLAUDE),
    ("boot", *CODEX, "--no-verify", "--no-sync"),
    ("wrap", "--context", "The shop runs on staging.\n\nNext: the webhook secret, then the invoices.", "--summary",
     "deployed, and looked into rounding", "--no-sync", *CLAUDE),
    ("boot", "--session", "2026-11-21-p8r4w1", "--agent", "gemini", "--no-verify", "--no-sync"),
    ("todo", "add", "Compare the other half of the invoices", "--session", "2026-11-21-p8r4w1"),
)  # fmt: skip
TRANSCRIPT = [
    {"type": kind, "cwd": "/shop", "sessionId": CLAUDE[1], "version": "2.1.332", "uuid": f"u{number}",
     "parentUuid": f"u{number - 1}" if number else None, "timestamp": f"2026-11-18T12:0{number}:00Z",
     "message": {"role": kind, "content": [{"type": "text", "text": text}]}}
    for number, (kind, text) in enumerate([("user", "Deploy the shop to staging"), ("assistant", "It is deployed.")])
]  # fmt: skip
"""What the agent CLI wrote of the first session."""
SHOWN = {
    "log": ("log", "--limit", "8"),
    "log-oneline": ("log", "--oneline", "--limit", "20"),
    "log-ops": ("log", "--ops"),
    "log-graph": ("log", "--graph"),
    "show-revision": ("show", "18"),
    "show-loop": ("show", "OL-7k3f9q"),
    "show-decision": ("show", "DEC-7even1"),
    "show-archived": ("show", "FU-5done3"),
    "show-session": ("show", CLAUDE[1][:8]),
    "session-lineage": ("session", "lineage"),
    "handoff-list": ("handoff", "list"),
    "show-conflict": ("show", "C-6side8"),
    "ready": ("ready",),
    "ready-limited": ("ready", "--limit", "2"),
    "status": ("status",),
    "dashboard": ("dashboard",),
    "list": ("list",),
    "diff": ("diff", "3", "8"),
}
"""By the name of its file, the command whose output it has."""
AS_JSON = ("show-revision", "show-loop", "show-archived", "ready-limited", "status", "list")
LISTS = (("list",), ("session", "lineage"), ("handoff", "list"), ("log", "--graph"))
"""The commands that list sessions and records, with the id of each at the end of its line."""
PAGES = ("timeline", "lineage", "record?kind=open_loop&id=OL-7k3f9q", "board", "records?kind=active_decision")
TOOLS = {"log": {"limit": 3}, "ready": {}, "status": {}, "list": {}}


@pytest.fixture(scope="session")
def stores() -> dict[str, FolderCopy]:
    """Return the copy of the filled repository, which is made once."""
    return {}


@pytest.fixture
def shop(
    top: Path,
    baton: Callable[..., Any],
    git: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
    stores: dict[str, FolderCopy],
) -> Path:
    """Return a work tree named `shop`, filled by commands at fixed times; it is then 8 o'clock on 21 November 2026."""
    place = top.parent / "shop"
    clock = [BEGIN]
    monkeypatch.setattr(Settings, "now", staticmethod(lambda: clock[0]))
    if stores:
        stores["shop"].write(place)
    else:
        top.rename(place)
        with (place / ".git" / "config").open("a") as config:
            config.write("[baton]\n\tmachine = desk\n\tnamespace = shop\n")
        monkeypatch.setenv("GIT_COMMITTER_DATE", BEGIN.isoformat())
        git(place, "commit", "-q", "--amend", "--no-edit", "--date", BEGIN.isoformat())
        baton("init", cwd=place)
        for number, step in enumerate(STEPS, 1):
            clock[0] = BEGIN + timedelta(hours=3 * number, minutes=7 * number)
            baton(*step, cwd=place, code=None)
        transcript = top.parent / "transcript.jsonl"
        transcript.write_text("".join(json.dumps(line) + "\n" for line in TRANSCRIPT))
        baton("handoff", "extract", str(transcript), "--keep", "--folder", str(place), cwd=place)
        _add_conflict(place)
        stores["shop"] = FolderCopy.of(place)
    clock[0] = NOW
    return place


def _add_conflict(place: Path) -> None:
    data = {"id": "C-6side8", "record_kind": "open_loop", "record_id": "OL-7k3f9q", "field": "action", "winner": "ours"}
    conflict = Conflict.model_validate({**data, "ours": "Deployed the shop to staging", "theirs": "Deployed it"})
    with Store(Repository.open(place)) as store:
        stamp = CommitStamp("sync", NOW - timedelta(hours=1), "Ada <ada@example.org>", ANYBODY, "s1")
        Branch(store, Namespace("shop")).update(lambda tip: tip.state.put(conflict), stamp)


def compare(name: str, text: str, place: Path) -> None:
    """Compare a text with its file, without what differs from run to run; or write the file."""
    numbers: dict[str, int] = defaultdict(lambda: len(numbers) + 1)
    text = text.replace(str(place.parent), "<folder>").replace("\r\n", "\n")
    text = re.sub(r"\bctx-[0-9a-z]{6}\b", "ctx-mark00", text).replace("\x1b", "␛")
    text = re.sub(r'name="csrf_token" value="[^"]+"', 'name="csrf_token" value="token"', text)
    text = COMMIT.sub(lambda match: f"{numbers[match[1]]:010x}{(match[2] or '') and '0' * 30}", text)
    file = FILES / name
    if os.environ.get("SHOWN") == "write":
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8"), f"differs from {file}; to write it anew, see the top of this test"


@pytest.mark.parametrize("name", SHOWN)
def test_a_command_prints_exactly_this(shop, baton, monkeypatch, name):
    done = baton(*SHOWN[name], cwd=shop)
    parts = {"in a pipe": done.out + done.err}
    for width, colour in ((80, "1"), (120, "1"), (80, "")):
        screen = {"COLUMNS": str(width), "LINES": "1000", "NO_COLOR": colour, "TERM": "xterm"}
        parts[f"{width} columns{'' if colour else ', with styles'}"] = typing_here(
            monkeypatch, shop, *SHOWN[name], **screen
        )[1]
    if name in AS_JSON:
        parts["as JSON"] = baton(*SHOWN[name], "--json", cwd=shop).out
    compare(f"{name}.txt", "".join(f"=== {title}\n{text}" for title, text in parts.items()), shop)


def test_every_shown_id_has_at_most_8_characters_of_a_uuid_and_is_accepted(shop, baton):
    rows = [line for words in LISTS for line in baton(*words, cwd=shop).out.splitlines() if "  " in line.strip()]
    ids = {row.split()[-1] for row in rows if not row.isupper() and not row.startswith(("ID", "WHEN", "EXTRACTED"))}
    assert {"OL-7k3f9q", "C-6side8", CLAUDE[1][:8], f"claude/{CLAUDE[1][:8]}", CODEX[1]} <= ids
    assert not any(CLAUDE[1] in row for row in rows)
    for id_ in ids - {"WHEN", "ID", "SESSION"}:
        for words in (("show", id_), ("record", id_), ("log", "--record", id_), ("rollback", "--record", id_, "1")):
            refused = baton(*words, *(["--dry-run"] if words[0] == "rollback" else []), cwd=shop, code=None)
            assert refused.code == 0 or "no record" not in refused.err, (words, refused)
            assert "could be" not in refused.err, (words, refused)


def test_agents_are_told_exactly_this(shop, monkeypatch):
    monkeypatch.chdir(shop)

    async def ask(client: Any) -> list[tuple[str, str]]:
        tools = [(name, json.dumps((await client.call_tool(name, values)).structured_content, indent=1,
                                   ensure_ascii=False)) for name, values in TOOLS.items()]  # fmt: skip
        brief = (await client.read_resource("baton://brief/shop")).contents[0].text
        return [("brief", brief), *tools]

    told = talk(ask, asked=CommonOptions(str(shop), "shop", None, None))
    compare("agents.txt", "".join(f"=== {title}\n{text}\n" for title, text in told), shop)


def test_pages_show_exactly_this(shop):
    site = Site(CommonOptions(str(shop), "shop", None, None))
    with Running(site) as url:
        served = Served(url, site, "shop")
        shown = {page: re.findall(r"<main.*?</main>", served.get(page).text, re.DOTALL)[0] for page in PAGES}
        served.client.close()
    site.close()
    compare("pages.html", "".join(f"=== {page}\n{text}\n" for page, text in shown.items()), shop)
