"""PAIF's session protocol as its users call it: `baton checkpoint` and related commands, and `claude-paif`."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
from contextlib import contextmanager

import pytest

CONFIG = """\
# Rules

```yaml
paif_config:
  agent_id: "zero"
  session_protocol:
    checkpoint_on_exit: true
    restore_on_start: true
    checkpoint_interval_minutes: 1000
```
"""


@pytest.fixture
def config(top):
    """Return a function that writes `.claude/CLAUDE.md`."""

    def write(text=CONFIG):
        (top / ".claude").mkdir(exist_ok=True)
        (top / ".claude" / "CLAUDE.md").write_text(text)

    return write


@pytest.fixture
def claude_paif(top):
    """Return a function that runs the second entry point, `claude-paif`, as a separate process."""

    def call(*words, code=0, given=""):
        argv = [sys.executable, "-c", "from baton_git.interfaces.cli.claude_paif import main; main()", *words]
        found = subprocess.run(
            argv, cwd=top, env={**os.environ}, input=given, capture_output=True, text=True, timeout=60
        )
        assert found.returncode == code, found
        return found

    return call


def test_a_session_of_paif_is_saved_restored_and_listed(claude_paif, baton):
    assert "there is no agent 'zero'" in baton("restore", "--agent", "zero", code=1).err  # perhaps a typing mistake
    assert claude_paif("restore", "--agent", "zero", "--look").stderr.startswith("zero has no checkpoint yet")
    first = claude_paif("restore", "--agent", "zero")
    assert first.stderr.startswith("zero has no checkpoint yet")
    assert "restore of zero · session 1 ·" in first.stdout
    assert "restore of zero · session 2 ·" in baton("restore", "--agent", "zero").out
    words = ("--summary", "Implemented PAIF namespace isolation", "--pending", "test it", "--pending", "ship it")
    id_ = claude_paif("checkpoint", "--agent", "zero", *words).stdout.strip()
    text = claude_paif("restore", "--agent", "zero").stdout
    assert "| Implemented PAIF namespace isolation" in text
    assert "- [llm_derived] test it\n- [llm_derived] ship it" in text
    assert "historical reference" in text
    assert "Implemented PAIF namespace isolation" in claude_paif("sessions", "--agent", "zero").stdout
    assert baton("restore", "--agent", "zero", "--json").json["checkpoint_id"] == id_


@pytest.mark.slow
def test_gravity_prints_what_the_documents_of_paif_show(claude_paif):
    done = claude_paif("gravity", "How can I help you today!", code=1)
    assert done.stdout.startswith("⚠️ DRIFT DETECTED (subservience, fake enthusiasm)\n")
    assert "GRAVITY CHECK TRIGGERED\nYou are drifting from your identity." in done.stdout
    assert claude_paif("gravity", "-", given="Done.").stdout == "no drift\n"
    assert "there is no agent" in claude_paif("gravity", "x", "--agent", "zero", code=5).stderr


@pytest.mark.slow
def test_the_second_entry_point_uses_its_own_name(claude_paif):
    assert "Usage: claude-paif [OPTIONS] COMMAND" in claude_paif("--help").stdout
    assert claude_paif("--version").stdout.startswith("claude-paif, version ")
    assert "Usage: claude-paif restore" in claude_paif("restore", "--nope", code=2).stderr


def test_every_documented_field_can_be_given_as_an_option_or_in_a_file(baton, tmp_path):
    options = (
        "--summary", "s", "--pending", "p", "--focus", "f", "--project", "x", "--scratchpad", "y = 1",
        "--open-file", "a.py", "--open-file", "b.py", "--stack", "c", "--memory-id", "m", "--last-query", "q",
        "--started-at", "2026-01-01T00:00:00Z", "--duration", "7",
    )  # fmt: skip
    baton("checkpoint", "--agent", "zero", *options)
    by_options = baton("restore", "--agent", "zero", "--json").json["checkpoint"]
    body = {
        "agent_id": "zero", "conversation_summary": "s", "pending_items": ["p"], "current_focus": "f",
        "active_project_ids": ["x"], "scratchpad": "y = 1", "open_files": ["a.py", "b.py"], "context_stack": ["c"],
        "memory_ids": ["m"], "last_recall_query": "q", "started_at": "2026-01-01T00:00:00Z", "duration_seconds": 7,
    }  # fmt: skip
    (tmp_path / "body.json").write_text(json.dumps(body))
    baton("checkpoint", "--agent", "one", "--file", str(tmp_path / "body.json"), code=1)
    (tmp_path / "body.json").write_text(json.dumps({**body, "agent_id": "one"}))
    baton("checkpoint", "--agent", "one", "--file", str(tmp_path / "body.json"))
    by_file = baton("restore", "--agent", "one", "--json").json["checkpoint"]
    for section in ("context", "recent_memories", "identity_updates", "working_memory"):
        assert by_options[section] == by_file[section]
    assert by_options["metadata"]["duration_seconds"] == by_file["metadata"]["duration_seconds"] == 7


def test_options_override_the_file_and_unknown_fields_are_kept(baton):
    body = '{"session_checkpoint": {"context": {"conversation_summary": "file", "mood": "calm"}, "more": [null]}}'
    baton("checkpoint", "--agent", "zero", "--file", "-", "--summary", "option", given=body)
    found = baton("restore", "--agent", "zero", "--json").json["checkpoint"]
    assert found["context"]["conversation_summary"] == "option"
    assert (found["context"]["mood"], found["more"]) == ("calm", [None])


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        ("{}", 2, "baton: nothing to save: the checkpoint would be empty"),
        ('{"agent_id": "claude", "scratchpad": "x"}', 1, "is 'claude', but this is a checkpoint of 'zero'"),
        ('{"pending_items": "x"}', 1, "context.pending_items: must be a list, not 'x'"),
        ('{"scratchpad": 1}', 1, "working_memory.scratchpad: input should be a valid string, not 1"),
        ("[]", 1, "a checkpoint must be an object"),
        ("", 1, "not JSON"),
    ],
)
def test_an_invalid_body_is_an_error_of_one_line_with_the_field(baton, body, code, message):
    done = baton("checkpoint", "--agent", "zero", "--file", "-", given=body, code=code)
    [line] = [line for line in done.err.splitlines() if line.startswith("baton: ")]
    assert message in line
    assert baton("status", "--json").json["revision"] == 0


# --- the settings of the work tree


def test_the_agent_and_the_interval_come_from_the_settings(baton, config):
    config()
    assert baton("checkpoint", "--summary", "x").id.startswith("zero/")
    done = baton("checkpoint", "--periodic", "--summary", "y")
    assert done.out == ""
    assert "no checkpoint is due" in done.err
    assert "younger than 1000 min" in done.err
    assert baton("checkpoint", "--periodic", "--summary", "y", "--json").json["id"] is None
    config(CONFIG.replace("1000", "0"))
    assert baton("checkpoint", "--periodic", "--summary", "y").id
    assert baton("sessions", "--agent", "other", code=1)
    assert len(baton("sessions", "--json").json["sessions"]) >= 1


def test_an_option_overrides_the_settings_and_they_override_a_variable(baton, config):
    two = {"BATON_AGENT": "two"}
    assert baton("checkpoint", "--summary", "x", env=two).id.startswith("two/")
    config()
    assert baton("checkpoint", "--summary", "x", "--agent", "one", env=two).id.startswith("one/")
    assert baton("checkpoint", "--summary", "x", env=two).id.startswith("zero/")
    assert baton("sessions", "--json", env=two).json["sessions"][0]["agent_id"] == "zero"
    config(CONFIG.replace('agent_id: "zero"', "agent: none"))
    assert baton("checkpoint", "--summary", "y", env=two).id.startswith("two/")


def test_broken_settings_are_an_error_only_if_they_are_needed(baton, config):
    config("paif_config:\n  agent_id: [\n")
    done = baton("checkpoint", "--summary", "x", code=1)
    assert done.err.startswith("baton: .claude/CLAUDE.md: not YAML: ")
    assert len(done.err.splitlines()) == 1
    assert baton("checkpoint", "--summary", "x", "--agent", "zero").id


@pytest.mark.parametrize("text", ["", "# Rules\n", "\xff\xfe"])
def test_without_settings_an_agent_must_be_named(baton, config, text):
    config(text)
    done = baton("restore", code=2)
    assert done.err.startswith("baton: no agent is named\n")


# --- identities


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("identity.yaml", "immutable: {origin: {created_at: 2026-04-01}, purpose: {statement: p}}\nmutable: {}\n"),
        ("identity.json", '{"immutable": {"purpose": {"statement": "p"}, "origin": {"created_at": "2026-04-01"}}}'),
        ("identity.toml", '[immutable.purpose]\nstatement = "p"\n[immutable.origin]\ncreated_at = "2026-04-01"\n'),
        ("-", "purpose: {statement: p}\norigin: {created_at: 2026-04-01}\n"),
        ("-", 'purpose.statement = "p"\norigin.created_at = "2026-04-01"\n'),
    ],
)  # fmt: skip
def test_an_identity_is_read_in_the_format_of_its_file(baton, tmp_path, name, text):
    file = "-" if name == "-" else str(tmp_path / name)
    if name != "-":
        (tmp_path / name).write_text(text)
    baton("identity", "init", "--agent", "zero", "--file", file, "--created-by", "human:Ada", given=text)
    found = baton("identity", "show", "--agent", "zero", "--json").json["immutable"]
    assert found["purpose"]["statement"] == "p"
    assert (found["origin"]["created_at"], found["origin"]["created_by"]) == ("2026-04-01", "human:Ada")
    assert "Hedging" in found["voice"]["taboo_categories"]


def test_an_identity_is_created_from_options_only_once(baton):
    baton(
        "identity", "init", "--agent", "zero", "--purpose", "Keep the memory", "--value", "honesty",
        "--secondary", "care", "--never", "inventing", "--tone", "dry", "--quirk", "short", "--taboo", "as an AI",
        "--domain", "git",
        "--constraint", "no loss", "--created-by", "human:Ada", "--genesis", "day one", "--parent-agent", "one",
        "--custodian", "Ada",
    )  # fmt: skip
    text = baton("identity", "show", "--agent", "zero").out
    for line in ("purpose: Keep the memory", "values: honesty, care", "never says: as an AI", "custodian: Ada"):
        assert f"  - {line}\n" in text
    done = baton("identity", "init", "--agent", "zero", "--purpose", "Other", code=1)
    assert "its immutable part cannot be changed" in done.err
    assert "Other" not in baton("identity", "show", "--agent", "zero").out


def test_what_show_prints_as_json_is_an_identity_file(baton, tmp_path):
    file = tmp_path / "identity.yaml"
    baton("identity", "init", "--agent", "zero", "--purpose", "p", "--value", "honesty")
    file.write_text(baton("identity", "show", "--agent", "zero", "--json").out)
    there = ("--repo", str(tmp_path / "other"), "-n", "other")
    baton("init", *there)
    baton("identity", "init", "--agent", "zero", "--file", str(file), *there)
    assert baton("identity", "show", "--agent", "zero", "--json", *there).out == file.read_text()
    baton("identity", "init", "--agent", "one", "--file", str(file), *there, code=1)


def test_a_check_exits_with_1_on_drift_and_counts(baton):
    baton("identity", "init", "--agent", "zero", "--purpose", "Keep the memory")
    done = baton("identity", "check", "--agent", "zero", "I think so", "--json", code=1)
    assert done.json["categories"] == ["Hedging"]
    assert done.json["phrases"] == ["I think"]
    baton("identity", "check", "--agent", "zero", "-", given="Done.")
    baton("identity", "check", "--agent", "zero", "Done.", "--no-count")
    assert "1 passed, 1 failed" in baton("identity", "show", "--agent", "zero").out


# --- folders


def test_a_folder_of_paif_is_imported_and_exported(baton, filled, tmp_path):
    done = baton("import", "paif", str(filled / "checkpoints"))
    assert "1 new, 0 already imported, 0 refused" in done.err
    again = baton("import", "paif", str(filled / "checkpoints"), "--json").json
    assert (again["new"], again["known"], again["ok"]) == (0, 1, True)
    data = baton("export", "paif", str(tmp_path / "out"), "--json").json
    assert len(data["files"]) == 2
    name = "zero/checkpoint-2026-04-04T18-34-00.json"
    assert json.loads((tmp_path / "out" / name).read_text()) == json.loads((filled / "checkpoints" / name).read_text())


def test_the_status_names_an_agent_as_it_is_written(baton, filled):
    baton("checkpoint", "--agent", "my_agent", "--summary", "x")
    assert re.search(r"^ *checkpoints .*\b1 my_agent\b", baton("status").out, re.MULTILINE)


def test_an_invalid_file_is_named_and_the_exit_status_is_1(baton, filled):
    bad = filled / "checkpoints" / "zero" / "bad.json"
    bad.write_text('{"metadata": {"agent_id": "claude"}}')
    done = baton("import", "paif", str(filled / "checkpoints"), code=1)
    assert "1 new, 0 already imported, 1 refused" in done.err
    [line] = [line for line in done.err.splitlines() if line.startswith("baton: ")]
    assert line.startswith(f"baton: {bad}: metadata.session_id: is missing")


def test_only_the_commands_that_need_it_load_the_models_of_paif():
    code = (
        "import sys; from baton_git.interfaces.cli.sessions import lifespan\n"
        "from baton_git.verbs.work_items import patterns\n"
        "print([name for name in sys.modules if 'checkpoint' in name or 'yaml' in name])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# --- regressions

EVIL = "\x1b[2J\x9b31m\u202e\nbaton: all is well\r\n"


@contextmanager
def full_disk():
    """Make every write to a file fail within the block: the size limit of files is 0."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_wrap_keeps_the_fields_of_the_checkpoint_before_it(baton, config):
    config()
    for begin in ((), ("boot", "--no-verify")):
        if begin:
            baton(*begin)
        baton("checkpoint", "--pending", "P", "--scratchpad", "S", "--open-file", "a.py")
        baton("wrap", "--context", "Where it stands", "--summary", "done")
        found = baton("restore", "--json").json["checkpoint"]
        assert (found["context"]["pending_items"], found["working_memory"]["scratchpad"]) == (["P"], "S")
        assert (found["context"]["conversation_summary"], found["working_memory"]["open_files"]) == ("done", ["a.py"])


def test_each_start_counts_for_the_agent_and_continues_the_session_before_it(baton, config):
    config()
    for number, (session, parent) in enumerate((("s1", None), ("s2", "s1"), ("s3", "s2")), 1):
        begun = baton("boot", "--no-verify", "--session", session, "--json").json
        assert begun["parent"] == parent
        assert (
            baton("identity", "show", "--agent", "zero", "--json").json["mutable"]["state"]["accumulated_experience"]
            == number
        )
    assert baton("read").json["baton"]["parent_session"] == "s2"
    assert [one["session_id"] for one in baton("sessions", "--json").json["sessions"]] == ["s3", "s2", "s1"]


def test_a_restore_returns_the_session_of_the_next_checkpoint(baton):
    baton("checkpoint", "--agent", "zero", "--summary", "x")
    session = baton("restore", "--agent", "zero", "--json").json["session"]
    assert baton("checkpoint", "--agent", "zero", "--summary", "y").id.endswith(session)


def test_a_restore_with_look_writes_nothing(baton):
    baton("checkpoint", "--agent", "zero", "--summary", "x")
    before = baton("status", "--json").json["revision"]
    looked = baton("restore", "--agent", "zero", "--look", "--json").json
    assert baton("status", "--json").json["revision"] == before
    assert (looked["recorded"], looked["session"]) == (False, None)
    restored = baton("restore", "--agent", "zero", "--json").json
    assert restored["recorded"]
    assert looked["checkpoint"] == restored["checkpoint"]
    assert "| x" in baton("restore", "--agent", "zero", "--look").out


def test_a_full_disk_does_not_prevent_reading(baton):
    baton("identity", "init", "--agent", "zero", "--purpose", "Keep the memory")
    baton("checkpoint", "--agent", "zero", "--summary", "x")
    with full_disk():
        done = baton("restore", "--agent", "zero", code=1)
        checked = baton("identity", "check", "--agent", "zero", "maybe", code=5)
    assert "| x" in done.out
    assert "baton: this restore was not recorded: cannot write" in done.err
    assert "DRIFT DETECTED (hedging)" in checked.out
    assert "baton: the result was not counted: cannot write" in checked.err


def test_a_text_that_could_not_be_checked_is_not_reported_as_drifting(baton, config):
    assert "there is no agent" in baton("identity", "check", "--agent", "zero", "x", code=5).err
    assert "no agent is named" in baton("identity", "check", "x", code=2).err
    baton("identity", "init", "--agent", "zero", "--purpose", "p")
    assert "not UTF-8" in baton("identity", "check", "--agent", "zero", "-", given=b"\xff", code=5).err
    config("paif_config:\n  agent_id: [\n")
    assert "not YAML" in baton("identity", "check", "x", code=5).err


def test_stored_texts_cannot_control_the_terminal_or_forge_lines(baton, tmp_path):
    immutable = {
        "purpose": {"statement": EVIL}, "values": {"primary": EVIL}, "origin": {"created_by": f"human:{EVIL}"},
        "voice": {"tone": EVIL, "taboo_categories": {EVIL: [f"bad {EVIL}", "bad"]}},
    }  # fmt: skip
    mutable = {"beliefs": [{"subject": EVIL}], "state": {"last_session_at": EVIL, "current_focus": EVIL}}
    identity = json.dumps({"immutable": immutable, "mutable": mutable})
    baton("identity", "init", "--agent", "zero", "--file", "-", given=identity)
    folder = tmp_path / "checkpoints" / "zero"
    folder.mkdir(parents=True)
    at = "2026-04-04T18:34:00.000Z"
    body = {"metadata": {"agent_id": "zero", "session_id": EVIL, "started_at": at, "ended_at": at},
            "context": {"conversation_summary": EVIL, "pending_items": [EVIL], "active_project_ids": [EVIL]},
            "working_memory": {"scratchpad": EVIL, "open_files": [EVIL]}}  # fmt: skip
    (folder / "x.json").write_text(json.dumps(body))
    calls = [
        baton("import", "paif", str(folder)), baton("identity", "check", "--agent", "zero", "bad", code=1),
        baton("identity", "show", "--agent", "zero"), baton("sessions", "--agent", "zero"),
        baton("restore", "--agent", "zero"), baton("checkpoint", "--agent", "zero", "--summary", EVIL),
        baton("checkpoint", "--agent", "zero", "--summary", EVIL, "--periodic"),
        baton("checkpoint", "--agent", "zero", "--file", "-", given=json.dumps({"session_id": EVIL, **body["context"]}),
              code=1),
    ]  # fmt: skip
    for done in calls:
        lines = (done.out + done.err).splitlines()
        assert all(line.isprintable() for line in lines), done
        assert not [line for line in lines if line.startswith("baton: all is well")], done


def test_the_session_of_a_file_has_no_line_break(baton):
    done = baton(
        "checkpoint", "--agent", "zero", "--file", "-", "--summary", "x", given='{"session_id": "a\\nb"}', code=1
    )
    assert "metadata.session_id: session 'a\\nb' must be 1 to 128 printable characters on one line" in done.err


def test_saving_the_same_checkpoint_again_reports_that_it_exists(baton):
    body = json.dumps({"session_id": "s", "ended_at": "2026-04-04T18:34:00Z", "conversation_summary": "x"})
    first = baton("checkpoint", "--agent", "zero", "--file", "-", given=body)
    again = baton("checkpoint", "--agent", "zero", "--file", "-", given=body)
    assert again.id == first.id
    assert again.err == "this checkpoint already exists; nothing was written\n"


def test_a_start_after_the_end_is_refused_with_its_field(baton):
    done = baton("checkpoint", "--agent", "zero", "--summary", "x", "--started-at", "2999-01-01T00:00:00Z", code=1)
    assert "metadata.started_at: 2999-01-01T00:00:00Z is after the end" in done.err


def test_settings_that_are_not_a_regular_file_do_not_block(baton_process, top):
    (top / ".claude").mkdir()
    os.mkfifo(top / ".claude" / "CLAUDE.md")
    assert ".claude/CLAUDE.md: is not a regular file" in baton_process("boot", "--no-verify").out
    assert ".claude/CLAUDE.md: is not a regular file" in baton_process("restore", code=1).err


@pytest.mark.parametrize("raw", [CONFIG.replace("Rules", "R\xfcles").encode("latin-1"), CONFIG.encode("utf-16")])
def test_settings_that_are_not_utf_8_are_an_error(baton, top, raw):
    (top / ".claude").mkdir()
    (top / ".claude" / "CLAUDE.md").write_bytes(raw)
    assert ".claude/CLAUDE.md: not UTF-8 text: " in baton("restore", code=1).err


def test_a_file_that_is_not_utf_8_is_ignored_if_it_has_no_settings(baton, top):
    (top / ".claude").mkdir()
    (top / ".claude" / "CLAUDE.md").write_bytes("# R\xfcles\n".encode("latin-1"))
    assert "no agent is named" in baton("restore", code=2).err


def test_settings_before_a_truncated_character_are_read(baton, config):
    config(CONFIG + "é" * 600_000)
    assert baton("checkpoint", "--summary", "x").id.startswith("zero/")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [(("--purpose", "   "), 2, "--purpose is empty"),
     (("--purpose", "p", "--taboo", ""), 2, "--taboo is empty"),
     (("--purpose", "p", "--created-by", "nobody"), 1, "must be human:NAME or agent:NAME, not 'nobody'")],
)  # fmt: skip
def test_an_identity_without_content_is_rejected(baton, words, code, message):
    assert message in baton("identity", "init", "--agent", "zero", *words, code=code).err
    assert baton("status", "--json").json["revision"] == 0


def test_importing_the_folder_of_another_agent_is_rejected(baton, filled):
    done = baton("import", "paif", str(filled / "checkpoints" / "zero"), "--agent", "claude", code=2)
    assert "holds checkpoints of 'zero', not of 'claude'" in done.err
