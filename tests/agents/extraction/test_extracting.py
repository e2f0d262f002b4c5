"""The facts of a session from every format of transcript: read at once, in pieces, and after a crash."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from looped_cases import for_each
from transcript_sessions import COMMIT, GOAL, GREET, HERE, ITEMS, README, SESSIONS, Claude, damaged, lines

from baton_git.agents.events import EndReached, ModelReply, Position, Restart, ResumePoint, ToolCall
from baton_git.agents.extraction import Options, parse_options
from baton_git.agents.extraction.extracting import Extraction, extract
from baton_git.agents.registry import AGENTS
from baton_git.core.errors import BatonError, InvalidArgument, InvalidDocument, NotFound
from baton_git.core.records.base import parse
from baton_git.core.records.handoff import Facts

LAST = [  # how the last shell commands of every session begin
    "git add -A",
    "git commit -m 'empty'",
    "echo 'git commit",
    "git commit -q",
]
SIDE = f"{HERE}/side.py"
SUITE = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def reading(content: bytes | list[Any], **more: Any) -> Extraction:
        path = tmp_path / "session.jsonl"
        path.write_bytes(content if isinstance(content, bytes) else lines(content))
        return extract(path, folder=Path(HERE), **more)

    return reading


def todos(found: Extraction) -> list[tuple[str, str]]:
    return [(todo["content"], todo["status"]) for todo in found.facts["todo_state"]]


def commits(found: Extraction) -> list[tuple[str, str]]:
    return [(commit["hash"], commit["message"]) for commit in found.facts["git_commits"]]


# --- every format


@pytest.mark.parametrize("name", SESSIONS)
def test_the_facts_are_found_in_every_format(read, name):
    agent, content = SESSIONS[name]
    found = read(content)
    assert found.agent == agent
    assert found.facts["initial_goal"] == GOAL
    assert todos(found) == ITEMS
    assert [path for path in found.facts["files_modified"] if path != SIDE] == [GREET, README]
    assert commits(found) == [("1234abc", "Add greet"), ("567890d", "Add notes")]
    assert found.facts["active_task"]["title"] == "Report"
    assert found.facts["active_task"]["origin"] == "todo"
    assert len(found.facts["recent_activity"]) == 5
    calls = read(content, options=Options.model_validate({"include_recent_activity": 20})).facts["recent_activity"]
    commands = [call.removeprefix("Ran: ") for call in calls if call.startswith("Ran: ")]
    assert [command[: len(start)] for command, start in zip(commands, LAST, strict=True)] == LAST


@pytest.mark.parametrize("name", SESSIONS)
def test_the_facts_fit_the_record_and_each_has_a_source(read, name):
    facts = read(SESSIONS[name][1]).facts
    assert parse(Facts, facts).as_data() == json.loads(json.dumps(facts))
    for name_of_list in ("files_modified", "recent_activity"):
        assert len(facts["sources"][name_of_list]) == len(facts[name_of_list])


@pytest.mark.parametrize("name", SESSIONS)
def test_the_source_of_a_commit_names_its_line(read, tmp_path, name):
    content = SESSIONS[name][1]
    facts = read(content).facts
    if SESSIONS[name][0] == "gemini" and name != "gemini-0.6":
        return
    source = facts["git_commits"][0]["source"]
    line = content[source["offset"] :].partition(b"\n")[0]
    assert COMMIT[:10].encode() in line or b"exec" in line
    assert content[: source["offset"]].count(b"\n") == source["line"] - 1


@pytest.mark.parametrize("damage", damaged(b""))
@pytest.mark.parametrize("name", [name for name in SESSIONS if b"\n{" in SESSIONS[name][1]])
def test_damage_around_the_records_changes_no_fact(read, name, damage):
    whole, content = read(SESSIONS[name][1]), damaged(SESSIONS[name][1])[damage]
    found = read(content)
    for fact in ("initial_goal", "files_modified", "recent_activity"):
        assert found.facts[fact] == whole.facts[fact]
    assert (todos(found), commits(found)) == (todos(whole), commits(whole))


# --- reading in pieces


@SUITE
@given(name=st.sampled_from(sorted(SESSIONS)), data=st.data())
def test_a_growing_file_read_in_steps_gives_the_same_as_read_whole(tmp_path_factory, name, data):
    content = SESSIONS[name][1]
    cuts = data.draw(st.lists(st.integers(0, len(content)), max_size=6).map(sorted))
    folder = tmp_path_factory.mktemp("grown")
    path, memory = folder / "session", folder / "memory"
    for cut in [*cuts, len(content)]:
        path.write_bytes(content[:cut])
        assert outcome(path, memory=memory) == outcome(path)


def outcome(path: Path, **more: Any) -> Any:
    """Return the extraction, or the text of the error that it raises."""
    try:
        return extract(path, **more)
    except BatonError as error:
        return str(error)


@pytest.mark.parametrize("name", SESSIONS)
def test_a_file_growing_line_by_line_gives_the_same_as_read_whole(tmp_path, name):
    path, memory, content = tmp_path / "session", tmp_path / "memory", SESSIONS[name][1]
    parts = content.split(b"\n")
    for number in range(1, len(parts) + 1):
        path.write_bytes(b"\n".join(parts[:number]))
        assert outcome(path, memory=memory) == outcome(path)


@pytest.mark.parametrize("name", ["claude-2.1", "codex-0.16", "gemini-0.6"])
def test_remembered_events_are_not_read_again(tmp_path, monkeypatch, name):
    agent, content = SESSIONS[name]
    path, memory = tmp_path / "session", tmp_path / "memory"
    path.write_bytes(content)
    first = extract(path, memory=memory)
    seen_events: list[Any] = []
    events = AGENTS[agent].transcript.events

    def record_events(path: Path, since: EndReached) -> Any:
        seen_events.append(since)
        for event in events(path, since):
            seen_events.append(event)
            yield event

    monkeypatch.setattr(AGENTS[agent].transcript, "events", record_events)
    assert extract(path, memory=memory) == first
    assert seen_events[0].position == first.position == Position(first.position.line, path.stat().st_size)
    assert all(isinstance(event, ResumePoint | ModelReply | EndReached) for event in seen_events)


def test_a_rewritten_gemini_message_does_not_restart_the_reading(tmp_path, monkeypatch):
    agent, content = SESSIONS["gemini-0.6"]
    path, memory, events = tmp_path / "session", tmp_path / "memory", AGENTS[agent].transcript.events
    seen_events: list[Any] = []

    def record_events(path: Path, since: EndReached) -> Any:
        for event in events(path, since):
            seen_events.append(event)
            yield event

    monkeypatch.setattr(AGENTS[agent].transcript, "events", record_events)
    parts = content.split(b"\n")
    for number in range(1, len(parts) + 1):
        path.write_bytes(b"\n".join(parts[:number]))
        outcome(path, memory=memory)
    assert [event for event in seen_events if isinstance(event, Restart)] == []
    calls = [event.id for event in seen_events if isinstance(event, ToolCall)]
    assert len(calls) <= 4 * len(set(calls))


_GEMINI_HEAD = {"sessionId": "g", "projectHash": "h", "startTime": "2026-01-02T03:04:05Z"}
_NAMES = st.sampled_from(["a", "b", "c"])
_CALLS = st.fixed_dictionaries(
    {
        "id": st.sampled_from(["1", "2"]),
        "name": st.just("write_file"),
        "args": st.fixed_dictionaries({"file_path": st.sampled_from(["/repo/a", "/repo/b"])}),
        "status": st.sampled_from(["success", "executing", "error"]),
    }
)
_MESSAGES = st.one_of(
    st.fixed_dictionaries({"id": _NAMES, "type": st.just("user"), "content": st.sampled_from(["x", "y", ""])}),
    st.fixed_dictionaries(
        {"id": _NAMES, "type": st.just("gemini"), "content": st.just("Decision: z"), "toolCalls": st.lists(_CALLS)}
    ),
)
_RECORDS = st.one_of(
    _MESSAGES,
    st.fixed_dictionaries({"$rewindTo": _NAMES}),
    st.builds(lambda found: {"$set": {"messages": found}}, st.lists(_MESSAGES, max_size=3)),
    st.just({"$set": {"summary": "S"}}),
    st.just(_GEMINI_HEAD),
)


@settings(SUITE, max_examples=150)
@given(records=st.lists(_RECORDS, max_size=10), data=st.data())
def test_reading_a_rewritten_gemini_transcript_in_steps_gives_the_same_as_read_whole(tmp_path_factory, records, data):
    content = lines([_GEMINI_HEAD, *records])
    cuts = data.draw(st.lists(st.integers(0, len(content)), max_size=4).map(sorted))
    folder = tmp_path_factory.mktemp("gemini")
    path, memory = folder / "session", folder / "memory"
    for cut in [*cuts, len(content)]:
        path.write_bytes(content[:cut])
        assert outcome(path, memory=memory) == outcome(path)


def test_remembered_state_has_no_secret_and_is_private(tmp_path):
    path, memory = tmp_path / "session", tmp_path / "memory"
    secret = "ghp_" + "a1B2" * 9
    memory.write_bytes(b"of an older version, which everybody could read")
    memory.chmod(0o644)
    content = SESSIONS["claude-2.1"][1]
    path.write_bytes(
        content.replace(json.dumps(GOAL, ensure_ascii=False)[1:-1].encode(), f"use {secret} for it".encode())
    )
    assert secret in extract(path, memory=memory).facts["initial_goal"]
    assert secret.encode() not in memory.read_bytes()
    assert memory.stat().st_mode & 0o777 == 0o600
    assert extract(path, memory=memory).facts["initial_goal"] == "use [redacted: github token] for it"


@pytest.mark.parametrize(
    "spoil",
    [
        lambda memory, path: memory.write_bytes(b"garbage"),
        lambda memory, path: memory.write_bytes(memory.read_bytes()[:-5]),
        lambda memory, path: memory.write_bytes(memory.read_bytes().replace(b"Report", b"Nothin")),
        lambda memory, path: memory.write_bytes(b""),
        lambda memory, path: path.write_bytes(SESSIONS["claude-1.0"][1]),
        lambda memory, path: path.write_bytes(SESSIONS["claude-2.1"][1].replace(b"Obsolete", b"Absolute")),
        lambda memory, path: path.write_bytes(SESSIONS["claude-2.1"][1][:5000]),
    ],
)
def test_a_memory_file_that_is_damaged_or_of_another_transcript_is_ignored(tmp_path, spoil):
    path, memory = tmp_path / "session", tmp_path / "memory"
    path.write_bytes(SESSIONS["claude-2.1"][1])
    extract(path, memory=memory)
    spoil(memory, path)
    assert outcome(path, memory=memory) == outcome(path)


def test_a_memory_of_another_path_does_not_count(tmp_path):
    memory = tmp_path / "memory"
    for name in ("claude-1.0", "claude-2.1", "claude-1.0"):
        path = tmp_path / name
        path.write_bytes(SESSIONS[name][1])
        assert extract(path, memory=memory) == extract(path)


def test_an_unwritable_memory_file_is_not_an_error(tmp_path):
    path = tmp_path / "session"
    path.write_bytes(SESSIONS["claude-1.0"][1])
    assert extract(path, memory=path / "below a file") == extract(path)


# --- the goal


def test_a_slash_command_alone_is_the_goal_only_if_there_is_no_other_prompt(read):
    made = Claude("2.1")
    made.user("<command-message>review</command-message>\n<command-name>/review</command-name>")
    assert read(made.records).facts["initial_goal"] == "/review"
    made.user("Now fix it")
    assert read(made.records).facts["initial_goal"] == "Now fix it"


def test_a_command_with_arguments_is_a_goal(read):
    made = Claude("2.1")
    made.user("<command-message>do</command-message>\n<command-name>/do</command-name><command-args>it</command-args>")
    made.user("Now fix it")
    assert read(made.records).facts["initial_goal"] == "/do it"


def test_a_compaction_summary_is_no_goal_and_later_events_are_read(read):
    made = Claude("2.1")
    made.user("This session is being continued from a previous conversation. Do X.", isCompactSummary=True)
    made.work()
    found = read(made.records)
    assert "initial_goal" not in found.facts
    assert found.compactions == 1
    assert found.facts["files_modified"] == [GREET, README]


def test_a_codex_goal_is_the_goal_without_a_prompt_and_the_task_while_active(read):
    def goal(status: str) -> list[Any]:
        kept = {"type": "thread_goal_updated", "goal": {"objective": "All greeted", "status": status}}
        return [{"timestamp": "t", "type": "event_msg", "payload": kept}]

    assert read(goal("active")).facts["initial_goal"] == "All greeted"
    assert read(goal("active")).facts["active_task"]["origin"] == "goal"
    assert "active_task" not in read(goal("complete")).facts


# --- tasks, todos, decisions


def gobby(tool: str, given: Any) -> dict[str, Any]:
    return {"server_name": "gobby-tasks", "tool_name": tool, "arguments": given}


@pytest.mark.parametrize("name", ["mcp__gobby__call_tool", "mcp_call_tool"])
@pytest.mark.parametrize("written", [json.dumps, dict])
def test_a_task_of_gobby_is_the_active_task(read, name, written):
    made = Claude("2.1")
    made.run(name, gobby("create_task", written({"title": "Parse it"})), '{"success": true, "id": "gt-1"}')
    made.run(name, gobby("update_task", written({"task_id": "gt-1", "status": "in_progress"})), "{}")
    made.run(name, gobby("get_task", written({"task_id": "gt-2"})), "{}")
    made.run("TodoWrite", {"todos": [{"content": "x", "status": "in_progress"}]}, "ok")
    found = read(made.records)
    task = found.facts["active_task"]
    assert (task["id"], task["title"], task["status"], task["origin"]) == (
        "gt-1",
        "Parse it",
        "in_progress",
        "gobby-tasks",
    )
    assert found.facts["recent_activity"][:3] == [
        "Created task: Parse it", "Updated task gt-1: status → in_progress", "Fetched task gt-2",
    ]  # fmt: skip


def test_a_task_that_is_closed_or_whose_call_failed_is_not_active(read):
    made = Claude("2.1")
    made.run("mcp_call_tool", gobby("claim_task", {"task_id": "gt-1"}), "{}")
    made.run("mcp_call_tool", gobby("close_task", {"task_id": "gt-1", "reason": "done"}), "{}")
    made.run("mcp_call_tool", gobby("claim_task", {"task_id": "gt-9"}), "no", failed=True)
    assert "active_task" not in read(made.records).facts


def test_the_last_todo_list_without_an_error_counts_even_if_empty(read):
    made = Claude("2.0")
    made.run("TodoWrite", {"todos": [{"content": "a", "status": "pending"}]}, "ok")
    made.run("TodoWrite", {"todos": [{"content": "b", "status": "pending"}]}, "no", failed=True)
    assert todos(read(made.records)) == [("a", "pending")]
    made.call("TodoWrite", {"todos": [{"content": "c", "status": "pending"}]}, "toolu_open")
    assert todos(read(made.records)) == [("c", "pending")]
    made.run("TodoWrite", {"todos": []}, "ok")
    assert todos(read(made.records)) == []


def test_the_result_of_a_task_list_call_replaces_the_list(read):
    made = Claude("2.1")
    made.run("TaskList", {}, "#1 [completed] Read\n#2 [in_progress] Write (me)\n#3 [pending] Test [blocked by #2]")
    assert todos(read(made.records)) == [("Read", "completed"), ("Write", "in_progress"), ("Test", "pending")]


def test_decisions_are_marked_as_heuristic(read):
    made = Claude("2.1")
    questions = {"questions": [{"question": "Which?", "options": []}]}
    made.run("AskUserQuestion", questions, 'User answered: "Which?"="TOML"', noted={"answers": {"Which?": "TOML"}})
    made.run("ExitPlanMode", {"plan": "# Use a hand-written parser\n\nBecause."}, "User has approved your plan")
    made.run("ExitPlanMode", {"plan": "# Use yacc"}, "The user doesn't want to proceed", failed=True)
    for number in range(20):
        made.say(f"We'll use part {number}. It is fast.")
    found = read(made.records).facts["key_decisions"]
    assert len(found) == 10
    assert [(one["kind"], one["text"]) for one in found[:3]] == [
        ("answer", "Which? → TOML"), ("plan", "Use a hand-written parser"), ("wording", "We'll use part 12."),
    ]  # fmt: skip
    assert all(one["heuristic"] is True for one in found)


def test_changes_of_a_subagent_count_and_its_calls_do_not(read):
    found = read(SESSIONS["claude-1.0"][1], options=Options.model_validate({"include_recent_activity": 50})).facts
    assert SIDE in found["files_modified"]
    assert not any(SIDE in one for one in found["recent_activity"])


# --- selected facts


@pytest.mark.parametrize("name", SESSIONS)
def test_a_limit_of_turns_leaves_out_all_older_facts_but_the_goal(read, name):
    content = SESSIONS[name][1]
    few = read(content, options=Options.model_validate({"max_turns_to_analyze": 3})).facts
    assert few["initial_goal"] == GOAL
    assert few["files_modified"] == []
    many = read(content, options=Options.model_validate({"max_turns_to_analyze": 10_000}))
    assert many.facts == read(content).facts


def test_facts_that_were_not_requested_are_absent(read):
    off = dict.fromkeys(("todowrite", "files_modified", "git_commits", "initial_goal", "recent_activity"), False)
    off |= dict.fromkeys(("conversation", "files_used", "errors"), False)
    facts = read(SESSIONS["claude-2.0"][1], options=Options.model_validate({"extract": off})).facts
    assert set(facts) == {"key_decisions", "sources", "unknown"}


def test_only_the_newest_commits_are_kept_up_to_the_limit(read):
    options = Options.model_validate({"git": {"max_commits": 1}})
    assert commits(read(SESSIONS["claude-2.0"][1], options=options)) == [("567890d", "Add notes")]


@for_each(
    ("block", "message"),
    [
        ([], "autonomous_handoff: must be a table"),
        ({"enabled": "yes"}, "autonomous_handoff.enabled: "),
        ({"max_turns_to_analyze": 0}, "autonomous_handoff.max_turns_to_analyze: "),
        ({"include_recent_activity": 101}, "autonomous_handoff.include_recent_activity: "),
        ({"extract": {"todos": True}}, "autonomous_handoff.extract.todos: "),
        ({"git": {"max_commits": -1}}, "autonomous_handoff.git.max_commits: "),
        ({"injection_format": "poem"}, "autonomous_handoff.injection_format: "),
    ],
)
def test_invalid_settings_are_refused_and_named(block, message):
    with pytest.raises(InvalidDocument) as raised:
        parse_options(block)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_without_settings_the_defaults_apply():
    assert parse_options(None) == parse_options({}) == Options()


def test_paths_relative_to_an_unknown_folder_are_reported(tmp_path):
    path = tmp_path / "session"
    path.write_bytes(SESSIONS["gemini-0.6"][1].replace(GREET.encode(), b"src/greet.py"))
    without_folder = extract(path).facts
    assert without_folder["files_modified"] == ["src/greet.py", README]
    assert without_folder["unknown"]["files_modified"] == "folder unknown for 1 relative path(s)"
    assert extract(path, folder=Path("relative")).facts == without_folder
    with_folder = extract(path, folder=Path(HERE)).facts
    assert with_folder["files_modified"] == [GREET, README]
    assert with_folder["unknown"] == {}


# --- files that are not transcripts


@pytest.mark.parametrize("content", [b"", b"garbage", b"# Title\n", b"{}", b"\0" * 100])
def test_a_file_that_is_not_a_transcript_is_rejected_with_its_file_name(read, content):
    with pytest.raises(InvalidDocument, match=r"session\.jsonl: "):
        read(content)


def test_a_folder_a_missing_file_and_an_unknown_agent_are_refused(tmp_path):
    with pytest.raises(InvalidArgument, match="folder"):
        extract(tmp_path)
    with pytest.raises(NotFound, match="there is no file"):
        extract(tmp_path / "nowhere")
    with pytest.raises(InvalidArgument, match="no agent 'cursor'"):
        extract(tmp_path / "x", "cursor")


@SUITE
@given(content=st.binary(max_size=300), agent=st.sampled_from([None, *AGENTS]))
def test_no_bytes_cause_a_crash(tmp_path_factory, content, agent):
    path = tmp_path_factory.getbasetemp() / "bytes"
    path.write_bytes(content)
    outcome(path, agent=agent)


@SUITE
@given(name=st.sampled_from(sorted(SESSIONS)), data=st.data())
def test_no_change_of_a_transcript_causes_a_crash(tmp_path_factory, name, data):
    """Bytes are overwritten and lines moved; every agent's reader is tried."""
    content = bytearray(SESSIONS[name][1])
    for at in data.draw(st.lists(st.integers(0, len(content) - 1), max_size=8)):
        content[at : at + 3] = data.draw(st.sampled_from([b'"', b"{}", b"[", b"null", b"\n", b"\xff", b'":[{"', b"0"]))
    parts = data.draw(st.permutations(bytes(content).split(b"\n"))) if data.draw(st.booleans()) else [bytes(content)]
    path = tmp_path_factory.getbasetemp() / "changed"
    path.write_bytes(b"\n".join(parts))
    for agent in (None, *AGENTS):
        found = outcome(path, agent=agent)
        if isinstance(found, Extraction):
            parse(Facts, found.facts)
            assert replace(found, facts={}) is not None


def test_a_transcript_of_another_agent_is_refused(read):
    with pytest.raises(InvalidDocument, match="is a transcript of claude, not of codex"):
        read(SESSIONS["claude-2.1"][1], agent="codex")


def test_a_device_is_no_transcript():
    with pytest.raises(InvalidArgument, match="is a device"):
        extract(Path("/dev/zero"))
