"""What a sync would send to whom, before it is sent, and what the first push says."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from baton_git.interfaces.context.invocation import Call
from baton_git.interfaces.context.settings import CommonOptions, Settings

Baton = Callable[..., Any]
SESSION = "11111111-0000-4000-8000-000000000001"


@pytest.fixture
def remote(git: Callable[..., str], top: Path) -> Path:
    remote = top.parent / "r.git"
    git(top, "init", "-q", "--bare", str(remote))
    git(top, "remote", "add", "origin", str(remote))
    return remote


@pytest.fixture
def filled(baton: Baton, top: Path) -> Path:
    """A namespace with a text of each kind of content."""
    baton("init")
    baton("followup", "add", "See http://db.internal/x", "--reason", "mail bob@corp.example")
    baton("loop", "add", "Built", "--expect", "e", "--verify-command", "--", "make", "/opt/tools/in")
    lines = [
        {"type": "user", "message": {"role": "user", "content": "Fix the walrus"}},
        {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": "It is fixed."}]}},
    ]
    place = {"cwd": str(top), "sessionId": SESSION, "version": "2.1.300", "isSidechain": False}
    records = [
        {**line, **place, "uuid": f"u{number}", "timestamp": f"2026-11-20T10:00:0{number}.000Z"}
        for number, line in enumerate(lines)
    ]
    file = top.parent / "s.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    baton("handoff", "extract", "--keep", str(file))
    return top


def contents(part: dict[str, Any]) -> dict[str, list[str]]:
    return {content["content"]: [text["text"] for text in content["texts"]] for content in part["contents"]}


def test_every_text_is_shown_before_the_first_push(baton: Baton, git: Any, filled: Path, remote: Path) -> None:
    before = git(filled, "for-each-ref")
    (part,) = baton("outgoing", "--full", "--json").json["outgoing"]
    assert git(filled, "for-each-ref") == before
    assert (part["remote"], part["address"], part["is_first"]) == ("origin", str(remote), True)
    assert (part["is_automatic"], part["commits"]) == (False, 4)
    shown = contents(part)
    assert shown["prompts"] == ["Fix the walrus"]
    assert shown["answers"] == ["It is fixed."]
    assert shown["commands"] == ["make", "/opt/tools/in"]
    assert "/opt/tools/in" in shown["paths"]
    assert {"db.internal", "corp.example"} <= set(shown["host names"])
    assert shown["people"] == ["Ada <ada@example.org>", "Ada"]
    assert shown["machines"][0].startswith("machine-")
    assert "mail bob@corp.example" in shown["other texts"]
    sent = b"".join(
        subprocess.run(["git", "show", f"baton/work~{back}"], cwd=filled, capture_output=True, check=True).stdout
        for back in range(3)
    ).decode()
    every = {text for texts in shown.values() for text in texts}
    assert {text for text in every if text not in sent and "\n" not in text} == set()
    words = baton("outgoing").out
    assert "never sent there before" in words
    assert "Fix the walrus" in words


def test_the_first_push_says_what_went_and_later_ones_do_not(baton: Baton, filled: Path, remote: Path) -> None:
    said = "4 commits with 1 prompt, 1 answer, 2 commands"
    planned = baton("sync", "--dry-run").err
    assert f"the first push to origin would send {said}" in planned
    assert "baton outgoing --whole --full" in planned
    assert f"the first push to origin sent {said}" in baton("sync").err
    baton("followup", "add", "B", "--reason", "r")
    (part,) = baton("outgoing", "--json").json["outgoing"]
    assert (part["is_first"], part["is_automatic"], part["commits"], part["kinds"]) == (
        False,
        True,
        1,
        {"follow_up": 1},
    )
    assert "first push" not in baton("sync").err
    assert baton("outgoing", "--json").json["outgoing"][0]["commits"] == 0
    assert baton("outgoing", "--whole", "--json").json["outgoing"][0]["commits"] == 5


def test_an_automatic_first_push_says_it_too(baton: Baton, git: Any, filled: Path, remote: Path) -> None:
    assert "first push" not in baton("wrap", "--context", "c").err
    git(filled, "config", "baton.remote", "origin")
    (part,) = baton("outgoing", "--json").json["outgoing"]
    assert (part["is_first"], part["is_automatic"]) == (True, True)
    assert "the first push to origin sent" in baton("wrap", "--context", "d").err


def test_without_a_remote_everything_would_go_to_the_first(baton: Baton, filled: Path) -> None:
    (part,) = baton("outgoing", "--json").json["outgoing"]
    assert (part["remote"], part["commits"], part["is_first"]) == ("", 4, True)
    assert "no remote yet" in baton("outgoing").out
    assert "nope" in baton("outgoing", "nope", code=1).err


def test_older_commits_with_paths_of_this_machine_are_listed(
    baton: Baton, git: Any, filled: Path, remote: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert baton("outgoing", "--json").json["held_count"] == 0
    id_ = baton("followup", "add", "A", "--reason", "r").id
    tree = filled.parent / "branch"
    git(filled, "worktree", "add", "-q", str(tree), "baton/work")
    file = tree / "follow_ups" / f"{id_}.toml"
    file.write_text(file.read_text().replace('"A"', f'"in {filled}/src"'))
    git(tree, "commit", "-qam", "by an older baton")
    old = git(tree, "rev-parse", "HEAD")
    git(filled, "worktree", "remove", "--force", str(tree))
    baton("edit", id_, "--item", "A")
    result = baton("outgoing", "--json").json
    assert [(place["commit"], place["file"]) for place in result["held"]] == [(old, f"follow_ups/{id_}.toml")]
    assert f"in {filled}/src".startswith(result["held"][0]["text"])
    assert old[:10] in baton("outgoing").out


def test_a_server_without_a_token_does_not_show_it(baton: Baton, filled: Path) -> None:
    from baton_git.core.errors import NotAllowed
    from baton_git.verbs.sharing.outgoing import show_outgoing

    call = Call(Settings(CommonOptions(str(filled), "work", None, None)))
    with call.workspace() as ws:
        assert show_outgoing(ws, call.now).outgoing
        with pytest.raises(NotAllowed, match="without a token"):
            show_outgoing(ws.unauthenticated, call.now)


def test_a_damaged_record_is_shown_as_it_is(baton: Baton, git: Any, filled: Path) -> None:
    tree = filled.parent / "branch"
    git(filled, "worktree", "add", "-q", str(tree), "baton/work")
    (tree / "follow_ups" / "FU-9.toml").write_text("not = = toml but sent")
    (tree / "notes.txt").write_text("a note by hand")
    git(tree, "add", "-A")
    git(tree, "commit", "-qm", "by hand")
    (part,) = baton("outgoing", "--full", "--json").json["outgoing"]
    assert {"not = = toml but sent", "a note by hand"} <= set(contents(part)["other texts"])
