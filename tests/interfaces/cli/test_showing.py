"""The output of lists, of one record, and of `baton` without arguments."""

from __future__ import annotations

import json
import subprocess


def test_show_takes_a_revision_or_a_record_and_refuses_a_word_that_could_be_both(baton, filled):
    baton("followup", "add", "Count", "--id", "2")
    assert "expected outcome    it answers" in baton("show", "ol-1").out
    assert baton("show", "DEC-2", "--json").json["began"]["op"] == "decision-add"
    assert "archived" in baton("show", "FU-0").out
    assert baton("show", "1", "--json").json["revision"] == 1
    assert baton("show", "follow-up/2", "--json").json["title"] == "Count"
    both = baton("show", "2", code=1).err
    assert "could be revision 2, follow_up/2" in both
    assert "KIND/ID" in both
    assert "no revision or record 'OL-nope'" in baton("show", "OL-nope", code=1).err
    assert baton("show", "OL-1", "--at", "1", code=1).err


def test_an_id_that_no_record_can_have_is_refused_in_a_sentence(baton, filled):
    assert baton("show", "", code=None).err.splitlines()[0] == "baton: id '' is empty"
    assert "…' is too long for a file name" in baton("show", "a" * 300, code=None).err


def test_record_takes_a_kind_and_an_id_or_an_id_alone(baton, filled):
    alone = baton("record", "FU-1").out
    assert alone.startswith("FU-1  follow-up")
    assert baton("record", "follow-up", "FU-1").out == alone
    assert "unexpected extra argument (FU-2)" in baton("record", "follow-up", "FU-2", "FU-1", code=2).err


def test_a_family_without_a_command_lists_its_records(baton, filled):
    for words in (("loop",), ("loop", "list"), ("list", "loops"), ("loop", "--status", "open")):
        assert baton(*words).out.split()[:2] == ["STATUS", "CHANGED"]
        assert "OL-1" in baton(*words).out
    assert "Commands:" in baton("loop", "--help").out
    assert baton("decision", "list", "--json").json["records"][0]["id"] == "DEC-1"


def test_a_list_has_a_table_for_each_kind_with_whole_lines_in_a_pipe(baton, filled):
    title = "Refactor " + "the scoring formula " * 8
    baton("followup", "add", title, "--id", "FU-2", "--session", "s2")
    listed = baton("list").out
    assert listed.startswith("Open loops (1)\nopen  ")
    assert listed.splitlines()[1].endswith("  Deployed it  OL-1")
    assert title.strip() in listed
    assert f"FU-2 added: {title.strip()}  " in baton("log", "--oneline").out
    assert [record["id"] for record in baton("list", "--session", "s2", "--json").json["records"]] == ["FU-2"]
    assert "no record matches" in baton("list", "rules").err


def test_a_decision_in_force_is_listed_with_what_is_proposed_to_replace_it(baton, filled, monkeypatch):
    baton("decision", "add", "Person rule", "--why", "w", "--id", "DEC-P1")
    monkeypatch.setenv("CLAUDECODE", "1")
    baton("decision", "add", "Agent rule", "--why", "w", "--id", "DEC-A2", "--replaces", "DEC-P1")
    rows = [row.split() for row in baton("list", "decisions").out.splitlines()]
    told = ["Person", "rule", "·", "DEC-A2,", "proposed", "to", "replace", "DEC-P1:", "Agent", "rule", "DEC-P1"]
    assert [row[0] for row in rows if row[-len(told) :] == told] == ["active"]
    assert "DEC-A2" not in [row[-1] for row in rows]
    assert "Agent rule · DEC-A2, proposed to replace DEC-P1, which is in force: Person rule" in baton(
        "list", "decisions", "--after", "active_decision/DEC-1", "--about", "Agent rule"
    ).out  # fmt: skip
    assert "DEC-A2, proposed to replace DEC-P1: Agent rule; to settle it: baton decision confirm DEC-A2" in " ".join(
        baton("show", "DEC-P1").out.split()
    )


def test_baton_without_a_command_shows_the_dashboard_and_writes_nothing(baton, filled, top, tmp_path, git):
    shown = baton(cwd=top)
    assert shown.out.startswith("work  revision ")
    assert "Needs attention" in shown.out
    assert "baton conflicts" in shown.out
    assert len(shown.out.splitlines()) < 24
    empty = tmp_path / "empty"
    subprocess.run(["git", "init", "-q", str(empty)], check=True)
    assert "to create it: baton init" in baton(cwd=empty).err
    assert git(empty, "for-each-ref") == ""
    assert not (empty / ".git" / "baton").exists()


def test_a_handoff_is_shown_field_by_field(baton, filled, tmp_path):
    transcript = tmp_path / "1f0c.jsonl"
    lines = [
        {"type": "user", "cwd": str(tmp_path), "message": {"role": "user", "content": "Fix the_login and the_logout"}},
        {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": "Done"}]}},
    ]
    stamped = [{"timestamp": f"2026-06-17T10:00:0{n}Z", "sessionId": "1f0c", **line} for n, line in enumerate(lines)]
    transcript.write_text("".join(json.dumps(line) + "\n" for line in stamped))
    baton("handoff", "extract", str(transcript), "--keep")
    shown = baton("show", "claude/1f0c").out
    assert "facts               initial goal: Fix the_login and the_logout\n" in shown
    column = "\n" + 20 * " "
    assert f"{column}last answer:{column}  text: Done{column}  source: line 2, offset " in shown
    assert f"{column}sources:{column}  initial goal: line 1, offset 0" in shown
    assert ": \n" not in shown


def test_an_empty_result_is_described_on_standard_error(baton, top):
    baton("init")
    assert baton("handoff").err.startswith("there is no handoff yet")
    assert baton("workflow", "run", "on_stop").err == "no workflow that runs here has an action for this event\n"
    folder = top / ".baton" / "workflows"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text("name: mine\ntriggers: {on_stop: [{action: notify, message: done}]}\n")
    for words in ((), ("--dry-run",)):
        done = baton("workflow", "run", "on_stop", *words)
        assert "mine is not allowed, so it does not run: baton workflow allow mine" in done.err
    assert "mine" not in baton("workflow", "run", "on_session_end", "--dry-run").err


def test_a_wide_change_without_a_terminal_needs_yes(baton, top):
    for number in range(12):
        baton("followup", "add", f"x {number}")
    refused = baton("rollback", "1", code=2)
    assert "11 records would change: 11 removed" in refused.err
    assert "no terminal for the confirmation: add --yes" in refused.err
    assert len(baton("list", "--json").json["records"]) == 12
    baton("rollback", "1", "--yes")
    assert len(baton("list", "--json").json["records"]) == 1
    assert "--yes" in baton("undo", code=2).err
    baton("undo", "--yes")
    baton("rollback", "11")


def test_a_group_without_a_list_shows_its_status(baton, top):
    assert "post-commit" in baton("hooks").out
    assert "claude" in baton("agents").out
