"""Objects that only older revisions need are gone: the newest revision is still shown, and what is unknown is said."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from world import workspace

from baton_git.core.errors import Corrupt
from baton_git.core.state import Key
from baton_git.git.store import Repository, Store

Git = Callable[..., str]
LOST = {"commit": "baton/x~3", "root": "baton/x~3^{tree}", "folder": "baton/x~3:follow_ups"}


def lose(git: Git, top: Path, what: str) -> None:
    """Unpack all objects into loose files, and remove one."""
    oid = git(top, "rev-parse", what)
    for pack in list((top / ".git/objects/pack").glob("*.pack")):
        data = pack.read_bytes()
        for suffix in (".pack", ".idx", ".rev", ".keep"):
            pack.with_suffix(suffix).unlink(missing_ok=True)
        subprocess.run(["git", "-C", str(top), "unpack-objects", "-q"], input=data, check=True)
    (top / ".git/objects" / oid[:2] / oid[2:]).unlink()


@pytest.fixture
def made(baton: Any, top: Path, git: Git) -> Path:
    """Return a repository with a namespace of five revisions, and a remote that has them."""
    baton("init", "-n", "x")
    for number in range(4):
        baton("followup", "add", f"deploy part {number}", "--id", f"FU-{number}")
    baton("decision", "add", "use git", "--why", "history", "--id", "DEC-1")
    git(top, "clone", "-q", "--bare", ".", str(top.parent / "hub.git"))
    return top


@pytest.fixture(params=LOST)
def damaged(request: pytest.FixtureRequest, made: Path, git: Git) -> str:
    lose(git, made, LOST[request.param])
    return str(request.param)


def test_the_newest_revision_is_listed_and_shown(damaged: str, baton: Any) -> None:
    records = baton("list", "--json").json["records"]
    assert {record["id"] for record in records} == {"FU-0", "FU-1", "FU-2", "FU-3", "DEC-1"}
    shown = baton("show", "FU-1").out
    assert "deploy part 1" in shown
    assert "older changes cannot be read" in shown
    assert baton("status").code == baton("ready").code == baton("validate").code == 0


def test_the_brief_has_the_records_and_says_what_is_unknown(damaged: str, baton: Any) -> None:
    brief = baton("boot").out
    assert "use git" in brief
    assert "deploy part 1" in brief
    if damaged == "commit":
        assert "who vouches for the records is unknown" in brief
        assert "[unknown] use git" in brief


def test_a_hook_gives_the_brief(damaged: str, baton_process: Any, made: Path) -> None:
    event = {"hook_event_name": "SessionStart", "session_id": "s1", "cwd": str(made), "source": "startup"}
    reply = baton_process("hook", "--agent", "claude", given=json.dumps(event)).json
    assert "use git" in reply["hookSpecificOutput"]["additionalContext"]


def test_recall_searches_what_it_can_and_says_the_rest(damaged: str, baton: Any) -> None:
    done = baton("recall", "deploy part 3")
    assert "deploy part 3" in done.out
    assert "older revisions were not searched" in done.err


def test_recall_reads_the_older_revisions_once_they_are_back(made: Path, git: Git, baton: Any, top: Path) -> None:
    lose(git, made, LOST["commit"])
    baton("recall", "deploy part 3")
    git(top, "remote", "add", "origin", str(top.parent / "hub.git"))
    baton("doctor", "objects", "--fix", "--yes")
    done = baton("recall", "deploy part 0")
    assert "deploy part 0" in done.out
    assert "not searched" not in done.err


def test_recall_finds_values_before_the_gap_once_it_is_closed(made: Path, git: Git, baton: Any, top: Path) -> None:
    for reason in ("zebra", "giraffe", "lion", "tiger"):
        baton("followup", "defer", "FU-0", "--reason", reason)
    git(top, "remote", "add", "origin", str(top.parent / "hub.git"))
    git(top, "push", "-q", "origin", "baton/x")
    git(top, "remote", "remove", "origin")
    lose(git, made, "baton/x~1")
    assert "not searched" in baton("recall", "zebra").err
    git(top, "remote", "add", "origin", str(top.parent / "hub.git"))
    baton("doctor", "objects", "--fix", "--yes")
    assert "zebra" in baton("recall", "zebra").out


def test_history_that_is_gone_is_named_with_the_repair(damaged: str, baton: Any, top: Path, git: Git) -> None:
    told = baton("log", "--record", "FU-0", code=1 if damaged == "commit" else 0)
    assert "is missing" in told.out + told.err
    assert "baton doctor --fix" in told.err
    git(top, "remote", "add", "origin", str(top.parent / "hub.git"))
    baton("doctor", "objects", "--fix", "--yes")
    told = baton("log", "--record", "FU-0")
    assert "FU-0" in told.out
    assert "is missing" not in told.out + told.err


def test_writes_go_on_and_can_be_undone(damaged: str, baton: Any) -> None:
    baton("followup", "add", "later", "--id", "FU-later")
    baton("undo")
    assert "FU-later" not in baton("list").out


def test_a_decision_about_a_change_needs_the_provenance(made: Path, git: Git) -> None:
    """Whether a person confirmed a record is unknown, which does not mean that nobody did."""
    lose(git, made, LOST["commit"])
    key = Key("active_decision", "DEC-1")
    with Store(Repository.open(made)) as store:
        ws = workspace(store)
        assert ws.shown_judgement().word(key) == "unknown"
        with pytest.raises(Corrupt):
            ws.judgement().is_confirmed(key)
