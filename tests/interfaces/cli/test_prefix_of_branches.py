"""`baton.refPrefix`: named when a server refuses baton's branches; `namespace move` moves them; nothing begins anew."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import baton_git
from baton_git.core.errors import BatonError

Baton = Callable[..., Any]
Git = Callable[..., str]
HIDDEN = ("config", "baton.refPrefix", "refs/baton/")
RULE = """#!/bin/sh
while read old new ref; do
  case $ref in refs/heads/baton/*) echo "GH013: Repository rule violations found for $ref"; exit 1 ;; esac
done
"""


@pytest.fixture
def hub(baton: Baton, git: Git, top: Path, tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "--bare", "hub.git")
    git(top, "remote", "add", "origin", str(tmp_path / "hub.git"))
    baton("followup", "add", "Ask Bo", "--id", "FU-1")
    return tmp_path / "hub.git"


def list_refs(git: Git, folder: Path) -> list[str]:
    return git(folder, "for-each-ref", "--format=%(refname)").split()


def list_ids(baton: Baton, **more: Any) -> set[str]:
    return {record["id"] for record in baton("list", "followups", "--json", **more).json["records"]}


def test_a_refusal_by_a_rule_for_branches_names_the_setting_and_the_command_works(baton, git, top, hub):
    hook = hub / "hooks" / "pre-receive"
    hook.write_text(RULE)
    hook.chmod(0o755)
    refused = baton("sync", code=None)
    assert refused.code != 0
    assert "GH013" in refused.err
    assert "git config baton.refPrefix refs/baton/, then baton namespace move" in refused.err
    git(top, *HIDDEN)
    assert "work was moved from refs/heads/baton/work to refs/baton/work" in baton("namespace", "move").err
    baton("sync")
    assert list_refs(git, hub) == ["refs/baton/work"]
    assert list_ids(baton) == {"FU-1"}
    assert "all branches are below refs/baton/" in baton("namespace", "move").err


def test_the_refusal_of_batons_own_hook_does_not_name_the_setting(baton, git, hub):
    hook = hub / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho 'baton: refused: a rule was changed'\nexit 1\n")
    hook.chmod(0o755)
    assert "refPrefix" not in baton("sync", code=None).err


READING = [
    ("list",), ("show", "FU-1"), ("status",), ("ready",), ("read",), ("log",), ("validate",), ("boot",), ("wrap",),
    ("followup", "add", "x"), ("undo",), ("sync",), ("recall", "Ask Bo"), ("brief",), ("export", "baton"),
]  # fmt: skip


def test_every_command_says_that_the_branch_is_still_under_the_old_prefix(baton, git, top, hub):
    git(top, *HIDDEN)
    before = list_refs(git, top)
    for words in READING:
        done = baton(*words, code=None)
        if done.code == 2:  # no such command
            continue
        said = done.out + done.err
        assert "still under refs/heads/baton/" in said, (words, said)
        assert "baton namespace move" in said, words
        assert "nothing was written" not in said, words
    assert list_refs(git, top) == before
    assert "still under refs/heads/baton/: work" in baton("namespace", "list").err
    assert "1 branch under refs/heads/baton/: work" in baton("doctor", "refs").out
    with baton_git.open(top) as opened, pytest.raises(BatonError) as refused:
        opened.add_follow_up(item="x")
    assert "baton namespace move" in refused.value.hint
    git(top, "config", "--unset", "baton.refPrefix")
    assert list_ids(baton) == {"FU-1"}


def test_branches_below_both_prefixes_are_merged_and_a_dry_run_changes_nothing(baton, git, top, hub):
    git(top, *HIDDEN)
    baton("init")
    baton("followup", "add", "new", "--id", "FU-2")
    before = list_refs(git, top)
    assert "would be moved" in baton("namespace", "move", "--dry-run").err
    assert list_refs(git, top) == before
    baton("namespace", "move")
    assert list_ids(baton) == {"FU-1", "FU-2"}
    assert [ref for ref in list_refs(git, top) if "remotes" not in ref] == [
        "refs/baton-kept/baton/work", "refs/baton/work", "refs/heads/main"
    ]  # fmt: skip
    git(top, "config", "baton.refPrefix", "refs/memory/")
    baton("namespace", "move")
    assert list_ids(baton) == {"FU-1", "FU-2"}
    git(top, "config", "--unset", "baton.refPrefix")
    assert "still under refs/memory/" in baton("list", code=1).err, "the kept ref shows where the branch is"
    baton("namespace", "move")
    assert list_ids(baton) == {"FU-1", "FU-2"}


def test_the_branches_of_a_remote_are_moved_and_another_machine_follows(baton, git, top, hub, tmp_path):
    baton("sync")
    git(tmp_path, "clone", "-q", str(hub), "work2")
    other = tmp_path / "work2"
    baton("boot", cwd=other)
    baton("sync", cwd=other)
    baton("sync")
    baton("followup", "add", "there", "--id", "FU-2", cwd=other)
    git(top, *HIDDEN)
    assert "there is no terminal" in baton("namespace", "move", "--remote", "origin", code=2).err
    baton("namespace", "move", "--remote", "origin", "--yes")
    assert list_refs(git, hub) == ["refs/baton/work"]
    git(other, *HIDDEN)
    baton("namespace", "move", cwd=other)
    baton("sync", cwd=other)
    baton("sync")
    assert list_ids(baton) == list_ids(baton, cwd=other) == {"FU-1", "FU-2"}
    assert list_refs(git, hub) == ["refs/baton/work"]


def test_a_branch_of_the_user_below_the_old_prefix_is_left_alone(baton, git, top, hub):
    git(top, *HIDDEN)
    git(top, "branch", "baton/mine", "main")
    result = json.loads(baton("namespace", "move", "--json").out)
    assert [item["namespace"] for item in result["moved"]] == ["work"]
    assert "refs/heads/baton/mine" in list_refs(git, top)


def test_a_hook_tells_the_agent_where_the_branch_is(baton, git, top, hub):
    git(top, *HIDDEN)
    event = {"session_id": "s", "transcript_path": "/nope", "cwd": str(top), "hook_event_name": "SessionStart"}
    argv = [sys.executable, "-m", "baton_git", "hook", "--agent", "claude"]
    text = json.dumps({**event, "source": "startup"})
    done = subprocess.run(argv, cwd=top, text=True, input=text, capture_output=True, check=True)
    assert "still under refs/heads/baton/" in done.stdout
