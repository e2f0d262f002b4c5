"""The output of single commands, in the forms that scripts rely on."""

from __future__ import annotations

import json

import pytest
from click.shell_completion import ShellComplete

from baton_git.interfaces.cli import baton as root


def records(baton, section):
    """Return the records in one section of the document, such as `open_loops`."""
    return baton("read").json["baton"][section]


# --- loops


@pytest.mark.parametrize(
    ("options", "verify"),
    [
        (["--verify-http", "http://x/health"], {"method": "http", "url": "http://x/health"}),
        (
            ["--verify-http", "http://x", "--status", "204"],
            {"method": "http", "url": "http://x", "expected_status": 204},
        ),
        (["--verify-file", "a/b"], {"method": "file_exists", "path": "a/b"}),
        (["--verify-process", "nginx"], {"method": "process_running", "process_name": "nginx"}),
        (["--verify-port", "db:5432"], {"method": "port_open", "host": "db", "port": 5432}),
        (["--verify-port", "[::1]:80"], {"method": "port_open", "host": "::1", "port": 80}),
        (["--verify-port", ":80"], {"method": "port_open", "host": "127.0.0.1", "port": 80}),
        (["--verify-commit", "abc"], {"method": "git_commit", "commit": "abc"}),
        (["--verify-commit", "abc", "--branch", "main"], {"method": "git_commit", "commit": "abc", "branch": "main"}),
        (["--verify-manual", "look"], {"method": "manual", "note": "look"}),
        (["--verify-command", "--", "make", "-j", "--x"], {"method": "command", "argv": ["make", "-j", "--x"]}),
        (["--verify-file", "a", "--timeout", "9"], {"method": "file_exists", "path": "a", "timeout_seconds": 9}),
        ([], None),
    ],
)
def test_a_loop_is_added_with_its_check(baton, options, verify):
    made = baton("loop", "add", "Did it", "--expect", "works", "--ttl-days", "3", *options)
    (loop,) = records(baton, "open_loops")
    assert (loop["id"], loop["action"], loop["expected_outcome"], loop["ttl_days"]) == (made.id, "Did it", "works", 3)
    assert (loop["status"], loop.get("verify")) == ("open", verify)


@pytest.mark.parametrize("option", ["http", "file", "process", "port", "commit", "manual"])
def test_a_check_with_an_empty_argument_is_refused(baton, option):
    refused = baton("loop", "add", "Did it", "--expect", "works", f"--verify-{option}", "", code=2)
    assert f"--verify-{option} is empty" in refused.err
    assert baton("read").json["revision"] == 0


def test_boot_reports_that_it_created_the_namespace(baton):
    assert "this created the namespace another in" in baton("boot", "-n", "another", "--create", "--no-sync").err
    assert "this created" not in baton("boot", "-n", "another", "--create", "--no-sync").err


def test_init_reports_a_changed_namespace_setting(baton):
    assert "from now on (git config baton.namespace)" in baton("init", "-n", "another").err


@pytest.mark.parametrize("option", ["--yes", "--revoke"])
def test_trust_without_an_argument_is_rejected(baton, option):
    assert "give an ID, -- and a command" in baton("trust", option, code=2).err


def test_a_loop_that_waits_for_approval_shows_how_to_approve_it(baton):
    made = baton("loop", "add", "a", "--expect", "b", "--verify-command", "--", "true")
    assert f"baton trust {made.id}" in made.err
    assert f"waiting   true  (baton trust {made.id})" in baton("trust", "--list").out
    baton("trust", made.id, "--yes")
    assert "waiting" not in baton("trust").out
    assert baton("trust", "--revoke", "--json", "--", "true").json == {"argv": ["true"], "revoked": True}
    assert baton("trust", "--list", "--json").json["waiting"] == {made.id: ["true"]}


def test_a_loop_is_verified_by_hand_and_closed(baton, filled):
    baton("loop", "verify", "OL-1", "--failed", "--note", "no answer")
    (loop,) = records(baton, "open_loops")
    assert (loop["status"], loop["last_check"]["why"]) == ("failed", "no answer")
    baton("loop", "close", "OL-1", "--reason", "the service is gone")
    assert records(baton, "open_loops") == []
    assert "archived (the service is gone)" in baton("log", "--limit", "1").out


def test_a_commit_of_the_users_own_branch_verifies_a_loop(baton, git, top):
    baton("loop", "add", "a", "--expect", "b", "--verify-commit", "second", "--branch", "main", "--id", "OL-1")
    baton("verify", code=1)
    (top / "readme").write_text("more\n")
    git(top, "commit", "-q", "-a", "-m", "second")
    assert baton("verify").out == "OL-1  passed\n"
    assert records(baton, "open_loops")[0]["last_check"]["commit"] == git(top, "rev-parse", "HEAD")


# --- follow-ups, patterns, decisions


def test_a_pattern_that_was_recorded_three_times_is_a_rule_candidate(baton):
    first = baton("pattern", "record", "Assumed it", "--context", "one")
    assert baton("pattern", "record", "assumed  IT", "--context", "two").id == first.id
    done = baton("pattern", "record", first.id, "--context", "three")
    assert "rule candidate" in done.err
    (pattern,) = records(baton, "patterns")
    assert [one["context"] for one in pattern["recent_occurrences"]] == ["one", "two", "three"]
    assert "Rule candidates" in baton("boot").out


# --- the document


def test_write_returns_what_a_client_needs_and_read_returns_the_document(baton):
    data = {
        "session_id": "s",
        "open_loops": [],
        "context": "名前 \x00",
        "big": 2**70,
        "n": {"a": [None, {"$null": True}]},
    }
    done = baton("write", "--file", "-", given=json.dumps(data)).json
    assert (done["ok"], done["namespace"], done["revision"]) == (True, "work", 1)
    assert set(done) == {"ok", "namespace", "updated_at", "revision", "commit"}
    assert done["updated_at"].endswith("+00:00")
    answer = baton("read").json
    assert (answer["baton"], answer["revision"], answer["commit"]) == (data, 1, done["commit"])
    assert set(answer) == {"baton", "namespace", "updated_at", "revision", "commit", "provenance"}


def test_write_reports_held_archived_and_redacted_values(baton, filled):
    pattern = {"id": "P", "what": "w", "first_seen": "d", "last_seen": "d", "status": "graduated"}
    data = {"session_id": "s", "patterns": [pattern], "context": "token ghp_" + "k3J9xQ2mP7vR5tY8wZ1aB4cD6eF0gH2iL5nS"}
    done = baton("write", "--file", "-", given=json.dumps(data)).json
    assert [one["field"] for one in done["held"]] == ["status"]
    assert set(done["archived"]) == {"OL-1", "FU-1", "PAT-1", "DEC-1", "DEC-2"}
    assert done["redacted"] == [{"record": "head", "path": "context", "kind": "github token"}]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"a": NaN}',
        '{"session_id": "s", "session_id": "t"}',
        "\x80",
        '{"session_id": "\\ud800"}',
    ],
)
def test_write_rejects_an_invalid_document(baton, text):
    done = baton("write", "--file", "-", given=text.encode("latin-1"), code=1)
    assert done.out == ""
    assert len(done.err.splitlines()) <= 2
    assert baton("read").json["revision"] == 0


def test_write_names_the_path_of_each_fault(baton):
    data = {"session_id": "s", "open_loops": [{}, {"id": "x", "verify": {"method": "bash"}}]}
    done = baton("write", "--file", "-", "--json", given=json.dumps(data), code=1)
    paths = [one["path"] for one in done.json["faults"]]
    assert "open_loops[0].action" in paths
    assert "open_loops[1].verify.method" in paths


def test_the_past_is_read_by_revision_and_time(baton, filled):
    assert baton("read", "--at", "1").json["baton"]["open_loops"] == []
    assert baton("read", "--at", "~1").json["revision"] == baton("read").json["revision"] - 1
    assert baton("read", "--at", "2100-01-01").json["commit"] == baton("read").json["commit"]


def test_wrap_reads_its_context_from_a_file_or_from_standard_input(baton, tmp_path):
    (tmp_path / "text").write_text("from a file")
    baton("wrap", "--file", str(tmp_path / "text"))
    assert baton("read").json["baton"]["context"] == "from a file"
    baton("boot", "--session", "s2")
    baton("wrap", "--file", "-", given="from a pipe\n")
    assert baton("read").json["baton"]["context"] == "from a pipe\n"
    assert "UTF-8" in baton("wrap", "--file", "-", given=b"\xff", code=1).err


# --- boot and status


def test_boot_prints_a_framed_brief_within_its_budget(baton, filled):
    done = baton("boot", "--budget", "700", "--json").json
    assert len(done["brief"].encode()) <= 700
    assert "historical reference" in done["brief"]
    assert done["left_out"]
    assert set(done) >= {"session", "parent", "revision", "checks", "archived", "problems"}


def test_boot_prints_a_brief_even_if_the_branch_cannot_be_read(baton, filled, top):
    (top / ".git/refs/heads/baton/work").write_text("")
    done = baton("boot", code=1)
    assert "## Problems" in done.out
    assert done.err == ""


def test_boot_remembers_its_session_until_wrap(baton):
    session = baton("boot", "--json").json["session"]
    assert baton("wrap", "--json").json["session"] == session
    assert "no session was ended" in baton("wrap").err


def test_boot_begins_a_new_session_even_if_the_previous_one_was_not_wrapped(baton):
    first, second = (baton("boot", "--json").json for _ in range(2))
    assert second["session"] != first["session"]
    assert second["parent"] == first["session"]


def test_a_wrap_says_whose_context_is_told_beside_it_and_how_to_replace_it(baton, monkeypatch):
    baton("boot")
    first = baton("wrap", "--context", "one", "--json").json
    assert first["news"] == []
    monkeypatch.setenv("BATON_SESSION", "stranger")
    done = baton("wrap", "--context", "two")
    assert f"the next brief also tells the context of session {first['session']}" in done.err
    assert "this session did not begin with baton boot" in done.err
    assert "to replace every other context: baton wrap --session stranger --context TEXT" in done.err
    assert baton("read").json["baton"]["context"] == "two"
    assert baton("wrap", "--session", "stranger", "--context", "three", "--json").json["news"] == []
    assert baton("read").json["baton"]["context"] == "three"
    monkeypatch.setenv("BATON_SESSION", "another")
    baton("wrap", "--context", "four", "--expected-revision", "4")
    assert baton("read").json["baton"]["context"] == "four"


def test_the_undo_of_a_wrap_continues_the_session_and_its_redo_ends_it_again(baton):
    session = baton("boot", "--json").json["session"]
    baton("wrap", "--context", "one", "--summary", "did")
    undone = baton("undo")
    assert f"commands in this work tree act in session {session} again" in undone.err.splitlines()[-1]
    assert [one["id"] for one in baton("status", "--json").json["active_sessions"]] == [session]
    baton("redo")
    assert baton("status", "--json").json["active_sessions"] == []
    assert "no session was ended" in baton("wrap").err
    baton("undo", "2")
    assert baton("wrap", "--json").json["session"] == session


def test_a_new_id_or_namespace_with_characters_that_a_terminal_acts_on_is_refused(baton, git, top):
    baton("init")
    refs = git(top, "for-each-ref")
    for unsafe in ("OL-\x1b[31mx", "a\tb", "a\u202eb", "a\x7f"):
        for words in ("loop add x --expect y", "followup add x", "pattern record x", "decision add x --why y"):
            done = baton(*words.split(), "--id", unsafe, code=2)
            assert "--id: has a line end, a control character or an invisible character" in done.err
        for words in ("init --namespace", "boot --namespace", "namespace rename work"):
            done = baton(*words.split(), unsafe, code=2)
            assert "has a line end, a control character or an invisible character" in done.err
            assert unsafe not in done.err
    assert git(top, "for-each-ref") == refs


def test_a_word_that_is_no_number_is_refused_in_plain_words(baton, filled):
    assert "'abc' is not a valid whole number" in baton("log", "--limit", "abc", code=2).err
    assert "'abc' is not a valid number" in baton("verify", "--budget", "abc", code=2).err


def test_an_argument_that_is_not_utf_8_is_called_so(baton):
    done = baton("followup", "add", "a\udcff", code=1)
    assert "'\\udcff' is a byte that is not UTF-8" in done.err


def test_the_first_revision_is_not_undone_but_the_error_says_how_to_delete_the_namespace(baton, filled):
    assert "to delete the namespace: baton namespace delete work" in baton("undo", "0", code=1).err


def test_help_suggests_only_names_that_resemble_the_word(baton):
    assert "Did you mean loop" in baton("help", "lop", code=2).err
    assert "To list the commands: baton help" in baton("help", "nope", code=2).err


def test_a_field_of_boot_is_selected_with_a_space_or_an_equals_sign(baton):
    for words in (("--json", "session"), ("--json=session",)):
        assert list(baton("boot", *words).json) == ["session"]


def test_status_reports_counts_and_active_sessions(baton, filled):
    status = baton("status", "--json").json
    assert (status["open_loops"], status["active_decisions"]) == ({"open": 1}, {"active": 2})
    assert [one["id"] for one in status["active_sessions"]] == ["s1"]


# --- log, diff, undo and rollback


def test_diff_and_show_print_records_and_fields(baton, filled):
    baton("loop", "verify", "OL-1", "--passed")
    printed = baton("diff", "~1").out
    assert "OL-1" in printed
    assert "status: open → verified" in printed
    assert "status: open → verified" in baton("show").out
    data = baton("diff", "~1", "--json").json
    assert {"field": "status", "before": "open", "after": "verified"} in data["changes"][0]["fields"]
    assert "have the same records" in baton("diff", "~0").err


def test_log_filters_and_limits_its_commits(baton, filled):
    baton("followup", "defer", "FU-1", "--session", "s2", "--agent", "codex")
    assert [one["subject"] for one in baton("log", "--by-session", "s2", "--json").json["commits"]] == ["FU-1 deferred"]
    assert len(baton("log", "--by-agent", "codex", "--oneline").out.splitlines()) == 1
    assert len(baton("log", "--record", "FU-1", "--json").json["commits"]) == 2
    assert len(baton("log", "--limit", "3", "--oneline").out.splitlines()) == 3
    assert baton("log", "--since", "2100-01-01").out == ""
    assert baton("log", "--until", "1980-01-01", "--json").json["commits"][0]["op"] == "root"


def test_the_graph_draws_each_session_below_its_parent(baton):
    for session, parent in (("a", None), ("b", "a"), ("c", "a")):
        data = {"session_id": session, **({"parent_session": parent} if parent else {})}
        baton("write", "--file", "-", given=json.dumps(data))
    lines = baton("log", "--graph").out.splitlines()
    assert [(line.partition("● ")[0], line.split()[-1]) for line in lines] == [("", "a"), ("├─", "b"), ("╰─", "c")]
    assert [one["id"] for one in baton("log", "--graph", "--json").json] == ["a", "b", "c"]


def test_a_graph_of_sessions_with_circular_parents_is_drawn(baton):
    for session, parent in (("a", "b"), ("b", "a"), ("c", "c")):
        baton("write", "--file", "-", given=json.dumps({"session_id": session, "parent_session": parent}))
    assert len(baton("log", "--graph").out.splitlines()) == 3


def test_rollback_and_undo_report_their_changes(baton, filled):
    done = baton("rollback", "2", "--json").json
    assert {one["id"] for one in done["changes"]} >= {"FU-1", "PAT-1"}
    assert records(baton, "follow_ups") == []
    done = baton("undo")
    assert "undone: roll back to revision 2" in done.err
    assert [one["id"] for one in records(baton, "follow_ups")] == ["FU-1"]


def test_a_preview_counts_sessions_if_nothing_else_would_change(baton):
    baton("boot", "--no-sync")
    baton("wrap", "--context", "done", "--no-sync")
    assert baton("undo", "--dry-run").err.startswith("1 session would change: 1 changed;")


def test_the_log_shows_operations_and_the_changes_of_one_record(baton, filled):
    baton("rollback", "2")
    baton("undo")
    heading, newest, before, *_ = [line.split() for line in baton("log", "--ops").out.splitlines()]
    assert heading == ["REV", "WHEN", "VERB", "RECORDS", "WHO", "WHAT"]
    assert (newest[3], before[3], "undone" in before) == ("undo", "rollback", True)
    newest = baton("log", "--record", "PAT-1", "--limit", "1").out.splitlines()
    assert "PAT-1" in newest[0]
    assert "FU-1" not in baton("log", "--record", "PAT-1").out


def test_the_effects_of_a_session_can_be_reverted(baton, filled):
    baton("followup", "add", "by another", "--id", "FU-2", "--session", "s2")
    baton("rollback", "--of-session", "s1", "--yes")
    assert [one["id"] for one in records(baton, "follow_ups")] == ["FU-2"]
    assert records(baton, "open_loops") == []


# --- import, export, schemas and packing


@pytest.mark.parametrize("name", ["out.json", "out.sqlite3", "batons/"])
def test_an_exported_state_is_imported_equal(baton, filled, tmp_path, name):
    if name.endswith("/"):
        (tmp_path / name).mkdir()
    baton("export", "session-baton", str(tmp_path / name))
    other = str(tmp_path / "other.git")
    baton("import", "session-baton", str(tmp_path / name), "--repo", other, "-n", "work", "--create")
    assert baton("read", "--repo", other, "-n", "work").json["baton"] == baton("read").json["baton"]


def test_schemas_are_printed_for_every_kind(baton):
    assert baton("schema", "loops").json["title"] == "open_loop"
    for kind in baton("schema").out.split():
        assert baton("schema", kind).json["type"] == ("array" if kind == "decisions" else "object")


def test_gc_packs_what_baton_wrote_into_one_pack(baton, git, filled, top):
    before = baton("read").json
    done = baton("gc", "--json").json
    assert done["packs_after"] <= 1
    assert done["packs_before"] > 1
    assert baton("read").json == before
    git(top, "fsck", "--strict")


SLOW_TO_LOAD = {
    "dulwich.pack", "email", "importlib.metadata", "jinja2", "logging", "psutil", "socket", "urllib3", "yaml",
    "baton_git.checks.runner", "baton_git.core.merge.deciding", "baton_git.core.records.checkpoint",
    "baton_git.git.remotes", "baton_git.git.signing",
}  # fmt: skip


@pytest.mark.parametrize("words", [["read"], ["boot"]])
def test_reading_and_starting_a_session_load_only_what_they_need(baton, baton_process, words):
    for number in range(2):
        baton("followup", "add", f"Item {number}")
    baton("gc")  # now there are deltas to read
    import_times = baton_process(*words, env={"PYTHONPROFILEIMPORTTIME": "1"}, measured=False).err
    loaded = {line.rpartition("|")[2].strip() for line in import_times.splitlines() if line.startswith("import time:")}
    assert {"click", "pydantic", "baton_git.git.store"} <= loaded
    assert loaded & SLOW_TO_LOAD == set()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("log -n -3", "-n needs a value, and '-3' looks like an option; for the number of items: --limit"),
        ("recall x -n -3", "(if it is meant: --namespace=-3)"),
        ("log --namespace --json", "--namespace needs a value, and '--json' looks like an option (if it is meant"),
        ("followup add x --session --agent=a --create", "--session needs a value, and '--agent=a' looks"),
        ("wrap --context --json", "(if it is meant: --context=--json)"),
        ("log --limit -3", "-3 is not in the range x>=1"),
    ],
)
def test_a_forgotten_value_of_an_option_is_not_the_next_option(baton, words, said):
    baton("init")
    assert said in baton(*words.split(), code=2).err


def test_a_value_that_begins_with_a_dash_is_accepted_as_text_or_after_an_equals_sign(baton):
    baton("followup", "add", "x", "--namespace=-3", "--create")
    assert "-n names a namespace; for the number of items: --limit" in baton("log", "-n-4", code=1).err
    assert baton("wrap", "--context", "- one\n- two", "--namespace=-3").code == 0
    assert baton("wrap", "--context=--json", "--namespace=-3").code == 0


def test_an_option_before_the_command_is_an_error_with_a_hint(baton):
    done = baton("--repo", ".", "status", code=2)
    assert "--repo goes after the command" in done.err


def test_writing_a_read_response_is_refused_with_a_hint(baton):
    baton("followup", "add", "x")
    done = baton("write", "--file", "-", given=baton("read").out, code=1)
    assert "jq .baton" in done.err


def test_a_log_of_an_unknown_record_is_an_error(baton):
    baton("followup", "add", "x")
    assert "there is no record 'nope'" in baton("log", "--record", "nope", code=1).err


def test_hints_name_the_options_of_the_command_line(baton):
    baton("loop", "add", "Sent", "--expect", "reply", "--id", "OL-1")
    confirmed = ("decision", "add", "Use X", "--why", "fast", "--tier", "human_confirmed")
    assert baton(*confirmed, code=1).err.endswith(", or leave out --tier\n")
    assert baton("loop", "verify", "OL-1", code=2).err.endswith(": baton loop verify OL-1 --passed, or --failed\n")


def test_a_todo_list_in_json_is_stored_unchanged(baton, top, git):
    baton("boot", "--session", "s")
    items = [{"content": "[x] one", "activeForm": "Doing one"}, {"content": "two", "status": "completed"}]
    baton("todo", "set", "--file", "-", given=json.dumps(items))
    stored = git(top, "show", "baton/work:sessions/s.toml")
    assert '{ content = "[x] one", activeForm = "Doing one" },' in stored
    assert '{ content = "two", status = "completed" },' in stored


def test_the_status_in_json_counts_turns_handoffs_and_open_loops(baton):
    assert {"turns", "handoffs", "open_loops"} <= baton("status", "--json").json.keys()


def test_the_budget_of_verify_is_limited_to_an_hour(baton):
    baton("verify", "--budget", "3600")
    assert "3600" in baton("verify", "--budget", "3601", code=2).err


@pytest.mark.parametrize(
    ("words", "typed", "offered"),
    [(("import", "paif"), "fold", "file"), (("handoff", "extract", "--only"), "todo_", "todo_state")],
    ids=" ".join,
)
def test_the_shell_completes_files_and_the_values_of_an_option(words, typed, offered):
    completions = ShellComplete(root, {}, "baton", "_BATON_COMPLETE").get_completions(list(words), typed)
    assert offered in [item.type if item.type != "plain" else item.value for item in completions]


def test_wrong_words_and_values_are_usage_errors_and_an_unknown_record_is_a_failure(baton):
    baton("loop", "add", "Deployed", "--expect", "it answers", "--id", "OL-deployed")
    assert "there is no kind of record 'foo'" in baton("list", "foo", code=2).err
    assert "did you mean decisions? the kinds are open-loops, " in baton("list", "decison", code=2).err
    assert "did you mean turns? " in baton("list", "turnz", code=2).err
    assert "For example: baton diff 12" in baton("diff", code=2).err
    assert "ttl_days" in baton("edit", "OL-deployed", "--ttl-days", "-1", code=2).err
    assert "did you mean OL-deployed?" in baton("log", "--record", "OL-deplyed", code=1).err


def test_several_words_of_recall_are_one_question(baton):
    baton("decision", "add", "Drop Kafka", "--why", "nobody runs it")
    assert "Drop Kafka" in baton("recall", "why", "drop", "Kafka").out


def test_verifying_a_loop_without_a_check_names_the_options_for_the_result(baton):
    loop = baton("loop", "add", "Deployed", "--expect", "200").out.strip()
    assert "--passed, or --failed" in baton("loop", "verify", loop, code=2).err


def test_help_of_edit_names_the_values_of_a_field(baton):
    assert "normal, elevated, escalated" in baton("edit", "--help").out


def test_help_of_edit_shows_the_fields_of_the_named_record_only(baton):
    baton("decision", "add", "Drop Kafka", "--why", "no one reads it", "--id", "kafka")
    for words in (["DEC-1"], ["kafka"], ["decisions/kafka"], ["x", "--kind", "decision"]):
        shown = baton("edit", *words, "--help").out
        assert "--why TEXT" in shown, words
        assert "--item TEXT" not in shown, words
        assert "Patterns: " not in shown, words
    for words in ([], ["nothing"]):
        shown = baton("edit", *words, "--help").out
        assert "--why TEXT" in shown
        assert "--item TEXT" in shown


def test_an_empty_graph_has_an_explanation(baton):
    assert "there is no session yet" in baton("log", "--graph").err


def test_reopening_can_be_previewed(baton):
    item = baton("followup", "add", "Later").out.strip()
    baton("followup", "done", item)
    assert baton("reopen", item, "--dry-run", "--json").json["dry_run"] is True
    assert baton("show", item, "--json").json["archived"] is True
    baton("reopen", item)
    assert baton("show", item, "--json").json["archived"] is False


def test_the_log_names_the_author_if_no_session_acted(baton):
    baton("followup", "add", "Later")
    author = baton("show", "--json").json["author"].partition(" <")[0]
    assert author in baton("log", "--oneline").out
