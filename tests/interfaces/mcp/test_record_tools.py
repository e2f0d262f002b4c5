"""Each verb of the records, by its tool, on both eras of the protocol."""

from __future__ import annotations

import json

import pytest
from mcp_client import talk


@pytest.fixture
def work(call, era):
    """Calls a tool on one of the eras."""

    def run(tool, **arguments):
        return call(tool, client={"mode": era}, **arguments)

    return run


def test_loops_are_verified_and_closed(work, baton):
    loop = work("loop_add", action="Sent it", expect="it is there", verify={"method": "file_exists", "path": "readme"})
    other = work("loop_add", action="Sent more", expect="as well", verify={"method": "file_exists", "path": "nope"})
    found = {id_: check["result"] for id_, check in work("verify")["checks"].items()}
    assert found == {loop["id"]: "passed", other["id"]: "failed"}
    assert work("verify", ids=[loop["id"]])["checks"][loop["id"]]["result"] == "passed"
    assert work("loop_verify", id=other["id"])["checks"][other["id"]]["result"] == "failed"
    closed = work("loop_close", id=other["id"], reason="given up")
    assert closed["id"] == other["id"]
    assert [one["id"] for one in baton("read").json["baton"]["open_loops"]] == [loop["id"]]


def test_follow_ups_are_put_off_and_done(work, baton):
    later = work("followup_add", item="Look again", reason="no time", priority="elevated")
    other = work("followup_add", item="And again")
    work("followup_defer", id=later["id"], reason="still none")
    work("followup_done", id=other["id"], note="seen")
    (left,) = baton("read").json["baton"]["follow_ups"]
    assert (left["id"], left["defer_count"], left["reason"]) == (later["id"], 1, "still none")


def test_patterns_are_counted_proposed_and_dismissed(work, baton):
    one = work("pattern_record", what="Assumed it", context="here")
    assert work("pattern_record", what="assumed  IT", context="there")["id"] == one["id"]
    work("pattern_propose", id=one["id"], rule="Look first")
    (state,) = baton("read").json["baton"]["patterns"]
    assert (state["count"], state["status"], state["proposed_rule"]) == (2, "rule_candidate", "Look first")
    work("pattern_dismiss", id=one["id"])
    assert baton("read").json["baton"]["patterns"][0]["status"] == "dismissed"


def test_decisions_are_watched_and_superseded(work, baton):
    old = baton("decision", "add", "Use X", "--why", "fast", "--tier", "raw_source").id
    new = work("decision_add", what="Use Y", why="faster", evidence=["measured"], rejected=["Z: slow"])["id"]
    work("decision_monitor", id=new)
    work("decision_supersede", id=old, by=new)
    state = {one["id"]: one for one in baton("read").json["baton"]["active_decisions"]}
    assert (state[old]["status"], state[old]["superseded_by"]) == ("superseded", new)
    assert (state[new]["status"], state[new]["source_tier"]) == ("monitoring", "llm_derived")


def test_the_whole_document_is_read_changed_and_written(work, baton):
    work("followup_add", item="Later")
    found = work("read")
    document = {**found["baton"], "session_id": "s2", "context": "rewritten", "follow_ups": []}
    answer = work("write", baton=document, expected_revision=found["revision"])
    assert answer["ok"] is True
    assert len(answer["archived"]) == 1
    assert baton("read").json["baton"]["context"] == "rewritten"
    assert work("read", at=str(found["revision"]))["baton"]["follow_ups"][0]["item"] == "Later"


def test_a_document_that_comes_too_late_is_refused(call):
    call("followup_add", item="Later")
    said = call("write", error=True, baton={"session_id": "s"}, expected_revision=0)
    assert "expected revision 0" in said
    assert "read the current state" in said


def test_what_was_and_what_changed_since(work):
    before = work("status")["revision"]
    made = work("followup_add", item="Later")
    (newest,) = work("log", limit=1)["commits"]
    assert newest["changes"][0]["id"] == made["id"]
    found = work("diff", a=str(before))
    assert [one["id"] for one in found["changes"]] == [made["id"]]
    assert (found["before"]["revision"], found["after"]["revision"]) == (before, made["revision"])
    assert work("diff", a=str(before), b=str(before))["changes"] == []


def test_a_checkpoint_is_saved_and_restored(work):
    saved = work("checkpoint", agent="zero", summary="Isolated it", pending=["test it"], more={"scratchpad": "x = 1"})
    assert saved["saved"] is True
    assert work("checkpoint", agent="zero", summary="again", periodic=True)["saved"] is False
    found = work("restore", agent="zero")
    assert found["checkpoint"]["context"]["conversation_summary"] == "Isolated it"
    assert "x = 1" in str(found["checkpoint"])
    assert "Isolated it" in found["brief"]
    assert found["problems"] == []


def test_an_agent_that_nobody_names_is_asked_for(call):
    assert "no agent is named" in call("checkpoint", error=True, summary="x")
    assert "there is no agent 'nobody'" in call("restore", error=True, agent="nobody")


def test_a_run_is_handed_over(work):
    work("handover_step", run="run-1", challenge="find", uri="kairos://1", index=1, state={"people": ["Ada"]})
    work("handover_step", challenge="book", uri="kairos://2", came_from="find", unset=["people"])
    found = work("handover_resume")
    assert (found["SESSION_ID"], found["current_challenge"], found["step_index"]) == ("run-1", "book", 2)
    assert (found["state"], found["stale"], found["file_problem"]) == ({}, False, None)
    assert work("handover_step", stay=True, state={"slot": 10})["state"] == {"slot": 10}
    assert work("handover_clear", outcome="completed")["SESSION_ID"] == "run-1"


def test_a_run_that_went_on_elsewhere_is_refused(call):
    call("handover_step", run="run-1", challenge="find", uri="kairos://1")
    said = call("handover_step", error=True, challenge="book", uri="kairos://2", came_from="another")
    assert "another" in said
    call("handover_clear", outcome="abandoned")
    assert "was abandoned" in call("handover_resume", error=True, run="run-1")


def test_the_workspace_copy_of_a_run_goes_with_it(call, git, top):
    git(top, "config", "baton.handoverFile", "handover.txt")
    file = top / "handover.txt"
    call("handover_step", run="run-1", challenge="find", uri="kairos://1")
    assert "current_challenge: find" in file.read_text()
    file.write_text(file.read_text().replace("find", "search"))
    assert call("handover_resume")["current_challenge"] == "search"
    assert call("handover_clear", outcome="completed")["file_removed"] is True
    assert not file.exists()


def test_a_copy_that_is_broken_stands_in_nobodys_way(call, git, top):
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


def test_other_machines_get_what_is_here(call, git, top, tmp_path):
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
def test_nothing_is_sent_to_an_address_that_is_no_remote(call, git, top, tmp_path, address):
    there = top.parent / "evil.git"
    git(tmp_path, "init", "-q", "--bare", str(there))
    git(top, "remote", "add", "origin", str(tmp_path / "remote.git"))
    call("followup_add", item="Our secret plan")
    told = call("sync", error=True, remote=address.format(there=there))
    assert "there is no remote" in told
    assert "there are: origin" in told
    assert git(there, "for-each-ref") == ""
    assert not (there / "run").exists()


def test_a_remote_is_named(call, git, top, tmp_path):
    for name in ("one", "two"):
        git(tmp_path, "init", "-q", "--bare", f"{name}.git")
        git(top, "remote", "add", name, str(tmp_path / f"{name}.git"))
    call("followup_add", item="Later")
    assert call("sync", remote="two")["errors"] == []
    assert git(tmp_path / "one.git", "for-each-ref") == ""
    assert "refs/heads/baton/work" in git(tmp_path / "two.git", "for-each-ref")


def test_what_is_contested_is_listed_and_settled(call, baton, top):
    from interfaces.cli.conftest import contest

    baton("loop", "add", "Deployed it", "--expect", "it answers", "--id", "OL-1")
    contest(top)
    assert [one["id"] for one in call("conflicts")["conflicts"]] == ["C-1"]
    assert "give side or value" in call("resolve", error=True, id="C-1")
    assert "give side or value" in call("resolve", error=True, id="C-1", side="ours", value="x")
    assert call("resolve", id="C-1", side="theirs")["record"] == "OL-1"
    assert call("conflicts")["conflicts"] == []
    assert baton("read").json["baton"]["open_loops"][0]["action"] == "Sent it"


def test_the_answer_is_there_as_data_and_as_text(here, era):
    found = talk(lambda client: client.call_tool("followup_add", {"item": "Später"}), mode=era)
    assert json.loads(found.content[0].text) == found.structured_content
    assert "follow-up" in found.structured_content["summary"] or found.structured_content["id"] in found.content[0].text
