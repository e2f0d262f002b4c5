"""Tools for checkpoints, protocol runs, handoffs, syncs and conflicts, in both eras of the protocol."""

from __future__ import annotations

import functools
import json

import pytest
from mcp_client import talk


@pytest.fixture
def call(call, era):
    """Return a function that calls a tool in one of the eras."""
    return functools.partial(call, client={"mode": era})


def test_a_missing_agent_name_is_an_error(call):
    assert "no agent is named" in call("checkpoint", error=True, summary="x")
    assert "there is no agent 'nobody'" in call("restore", error=True, agent="nobody")


def test_ending_a_run_removes_its_workspace_copy(call, git, top):
    git(top, "config", "baton.handoverFile", "handover.txt")
    file = top / "handover.txt"
    call("handover_step", run="run-1", challenge="find", uri="kairos://1")
    assert "current_challenge: find" in file.read_text()
    file.write_text(file.read_text().replace("find", "search"))
    assert call("handover_resume")["current_challenge"] == "search"
    assert call("handover_clear", outcome="completed")["file_removed"] is True
    assert not file.exists()


def test_a_broken_copy_does_not_block_other_runs(call, git, top):
    git(top, "config", "baton.handoverFile", "handover.txt")
    call("handover_step", run="run-1", challenge="find", uri="kairos://1")
    (top / "handover.txt").write_text("nonsense")
    found = call("handover_resume")
    assert found["current_challenge"] == "find"
    assert "handover.txt" in found["file_problem"]
    assert (top / "handover.txt").read_text() == "nonsense"


def test_the_facts_of_a_transcript_are_kept_and_shown(call, top):
    from transcript_sessions import SESSIONS

    transcript = top.parent / "transcript.jsonl"
    transcript.write_bytes(SESSIONS["claude-2.1"][1])
    kept = call("handoff_extract", transcript=str(transcript))
    assert kept["handoff"]["facts"]["initial_goal"]
    assert call("handoff_show", id=kept["id"])["handoff"] == kept["handoff"]
    assert "nope" in call("handoff_extract", error=True, transcript=str(top / "nope"))


def test_sync_sends_the_state_to_other_machines(call, git, top, tmp_path):
    assert "there is no remote" in call("sync", error=True)
    git(tmp_path, "init", "-q", "--bare", "remote.git")
    git(top, "remote", "add", "origin", str(tmp_path / "remote.git"))
    call("followup_add", item="Later")
    dry = call("sync", dry_run=True)
    assert dry["namespaces"][0]["actions"]
    assert git(tmp_path / "remote.git", "for-each-ref") == ""
    assert call("sync")["errors"] == []
    assert "refs/heads/baton/work" in git(tmp_path / "remote.git", "for-each-ref")


@pytest.mark.parametrize(
    "address",
    [
        "{there}", "file://{there}", "../evil.git", "https://evil.example/x.git", "git@evil.example:x.git",
        "ssh://evil.example/x.git", "ext::sh -c 'touch {there}/run'", "--upload-pack=touch {there}/run",
    ],
)  # fmt: skip
def test_an_address_that_is_not_a_remote_is_not_contacted(call, git, top, tmp_path, address):
    there = top.parent / "evil.git"
    git(tmp_path, "init", "-q", "--bare", str(there))
    git(top, "remote", "add", "origin", str(tmp_path / "remote.git"))
    call("followup_add", item="Our secret plan")
    told = call("sync", error=True, remote=address.format(there=there))
    assert "there is no remote" in told
    assert "the configured remotes: origin" in told
    assert git(there, "for-each-ref") == ""
    assert not (there / "run").exists()


def test_a_remote_can_be_named(call, git, top, tmp_path):
    for name in ("one", "two"):
        git(tmp_path, "init", "-q", "--bare", f"{name}.git")
        git(top, "remote", "add", name, str(tmp_path / f"{name}.git"))
    call("followup_add", item="Later")
    assert call("sync", remote="two")["errors"] == []
    assert git(tmp_path / "one.git", "for-each-ref") == ""
    assert "refs/heads/baton/work" in git(tmp_path / "two.git", "for-each-ref")


def test_conflicts_are_listed_and_resolved(call, baton, top):
    from interfaces.cli.conftest import create_conflict

    baton("loop", "add", "Deployed it", "--expect", "it answers", "--id", "OL-1")
    create_conflict(top)
    assert [one["id"] for one in call("conflicts")["conflicts"]] == ["C-1"]
    assert "give either side or value" in call("resolve", error=True, id="C-1")
    assert "give either side or value" in call("resolve", error=True, id="C-1", side="ours", value="x")
    assert call("resolve", id="C-1", side="theirs")["record"] == "OL-1"
    assert call("conflicts")["conflicts"] == []
    assert baton("read").json["baton"]["open_loops"][0]["action"] == "Sent it"


def test_a_result_is_returned_as_data_and_as_text(here, era):
    found = talk(lambda client: client.call_tool("followup_add", {"item": "Später"}), mode=era)
    assert json.loads(found.content[0].text) == found.structured_content
    assert "follow-up" in found.structured_content["summary"] or found.structured_content["id"] in found.content[0].text
