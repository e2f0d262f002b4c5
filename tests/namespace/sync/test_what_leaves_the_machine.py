"""What is sent has no path, login or host name of this machine: sessions of all agents, synced to a bare remote."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

USER, PROJECT, BESIDE, TREE, REMOTE = "quokka-user-7", "shop", "numbat-folder", "bilby-tree", "remote.git"
TIMES = "2026-11-20T10:00:{:02d}.000Z"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home behind a symbolic link, with unique names for the user and the folders above the repository."""
    real = tmp_path / "wallaby-disk" / USER
    real.mkdir(parents=True)
    link = tmp_path / "homes-of-kookaburra"
    link.symlink_to(real.parent)
    for name in ("USER", "LOGNAME"):
        monkeypatch.setenv(name, USER)
    monkeypatch.setenv("HOME", str(link / USER))
    for name, folder in (("XDG_DATA_HOME", ".local/share"), ("XDG_CONFIG_HOME", ".config")):
        monkeypatch.setenv(name, str(link / USER / folder))
    return link / USER


@pytest.fixture
def shop(home: Path, git: Callable[..., str]) -> Path:
    shop = home / PROJECT
    shop.mkdir()
    git(shop, "init", "-q", "-b", "main")
    git(shop, "commit", "-q", "--allow-empty", "-m", "Begin")
    git(shop, "worktree", "add", "-q", str(home / TREE), "-b", "feature")
    git(shop, "init", "-q", "--bare", str(home / BESIDE / REMOTE))
    git(shop, "remote", "add", "origin", str(home / BESIDE / REMOTE))
    return shop


def describe(place: Path, home: Path) -> dict[str, str]:
    """Return the texts of a session that names the machine in every way that transcripts do."""
    real = os.path.realpath(place)
    encoded = "".join(c if c.isalnum() else "-" for c in real)
    return {
        "prompt": f"Fix {real}/src/a.py as in @{home}/notes.md, then read `{real}`.",
        "answer": f"Done: [a]({real}/src/a.py:3). Next steps:\n- look at {home}/{BESIDE}/x.log\n- copy {home}/{TREE}/b",
        "command": f"cd {real} && PATH=$PATH:{home}/bin gcc -I{real}/include src/a.c > {home}/{BESIDE}/out 2>&1",
        "output": f'{{"cwd": "{real}", "log": "file://{real}/a.mjs:3\\n{home}/x"}} C:\\Users\\{USER}\\{PROJECT}\\a.py',
        "file": f"{real}/src/a.py",
        "other": f"{home}/.claude/projects/{encoded}/memory/MEMORY.md",
        "cwd": real,
    }


def claude(texts: dict[str, str], session: str) -> list[dict[str, Any]]:
    def record(number: int, kind: str, message: Any) -> dict[str, Any]:
        above = {"parentUuid": f"u{number - 1}" if number else None, "uuid": f"u{number}", "isSidechain": False}
        place = {"cwd": texts["cwd"], "sessionId": session, "version": "2.1.300", "gitBranch": "main"}
        return {**above, **place, "type": kind, "timestamp": TIMES.format(number), "message": message}

    def call(
        number: int, name: str, given: dict[str, str], output: str, *, failed: bool = False
    ) -> list[dict[str, Any]]:
        use = {"type": "tool_use", "id": f"t{number}", "name": name, "input": given}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": output, "is_error": failed}
        return [
            record(number, "assistant", {"role": "assistant", "model": "m", "content": [use]}),
            record(number + 1, "user", {"role": "user", "content": [result]}),
        ]

    answer = [{"type": "text", "text": texts["answer"]}]
    return [
        record(0, "user", {"role": "user", "content": texts["prompt"]}),
        *call(1, "Write", {"file_path": texts["file"], "content": "x"}, f"File created at: {texts['file']}"),
        *call(3, "Read", {"file_path": texts["other"]}, "notes"),
        *call(5, "Bash", {"command": texts["command"]}, texts["output"], failed=True),
        record(7, "assistant", {"role": "assistant", "model": "m", "content": answer}),
    ]


def codex(texts: dict[str, str], session: str) -> list[dict[str, Any]]:
    def line(number: int, kind: str, payload: Any) -> dict[str, Any]:
        return {"timestamp": TIMES.format(number), "type": kind, "payload": payload}

    patch = f"*** Begin Patch\n*** Add File: {texts['file']}\n+x\n*** End Patch"
    call = {"type": "function_call", "name": "exec_command", "call_id": "c1"}
    content = [{"type": "output_text", "text": texts["answer"]}]
    failed = f"Process exited with code 1\nOutput:\n{texts['output']}"
    return [
        line(
            0, "session_meta", {"id": session, "timestamp": TIMES.format(0), "cwd": texts["cwd"], "cli_version": "0.2"}
        ),
        line(1, "event_msg", {"type": "user_message", "message": texts["prompt"]}),
        line(2, "response_item", {"type": "custom_tool_call", "name": "apply_patch", "call_id": "c0", "input": patch}),
        line(3, "response_item", {"type": "custom_tool_call_output", "call_id": "c0", "output": "Success"}),
        line(4, "response_item", {**call, "arguments": json.dumps({"cmd": texts["command"]})}),
        line(5, "response_item", {"type": "function_call_output", "call_id": "c1", "output": failed}),
        line(6, "event_msg", {"type": "agent_message", "message": texts["answer"]}),
        line(6, "response_item", {"type": "message", "role": "assistant", "content": content}),
    ]


def gemini(texts: dict[str, str], session: str) -> list[dict[str, Any]]:
    def message(number: int, kind: str, content: str, **more: Any) -> dict[str, Any]:
        return {"id": f"m{number}", "timestamp": TIMES.format(number), "type": kind, "content": content, **more}

    def call(name: str, given: dict[str, str], output: str, status: str) -> dict[str, Any]:
        response = [{"functionResponse": {"id": name, "name": name, "response": {"output": output}}}]
        return {"id": name, "name": name, "args": given, "status": status, "result": response}

    calls = [
        call("write_file", {"file_path": texts["file"], "content": "x"}, "ok", "success"),
        call("run_shell_command", {"command": texts["command"]}, texts["output"], "error"),
    ]
    return [
        {"sessionId": session, "projectHash": "x", "startTime": TIMES.format(0), "lastUpdated": TIMES.format(0)},
        message(0, "user", texts["prompt"]),
        message(1, "gemini", texts["answer"], toolCalls=calls),
    ]


AGENTS = {"claude": claude, "codex": codex, "gemini": gemini}
EVENTS = {"claude": ("SessionStart", "Stop", "SessionEnd"), "codex": ("SessionStart", "Stop"),
          "gemini": ("SessionStart", "AfterAgent", "SessionEnd")}  # fmt: skip


def run_session(agent: str, place: Path, home: Path, session: str) -> None:
    """Run a session of an agent in a work tree: its transcript, and the events that its hooks receive."""
    texts = describe(place, home)
    file = home / f".{agent}" / f"{session}.jsonl"
    file.parent.mkdir(exist_ok=True)
    file.write_text("".join(json.dumps(record) + "\n" for record in AGENTS[agent](texts, session)))
    for event in EVENTS[agent]:
        payload = {"session_id": session, "transcript_path": str(file), "cwd": texts["cwd"], "hook_event_name": event,
                   "source": "startup", "reason": "exit", "last_assistant_message": texts["answer"],
                   "prompt_response": texts["answer"], "stop_hook_active": False}  # fmt: skip
        hook = [sys.executable, "-m", "baton_git", "hook", "--agent", agent]
        subprocess.run(hook, input=json.dumps(payload).encode(), cwd=place, capture_output=True, check=True)


def sent_objects(remote: Path) -> Iterator[bytes]:
    """Yield each object of a repository, with its content."""
    out = subprocess.run(
        ["git", "-C", str(remote), "cat-file", "--batch-all-objects", "--batch"], capture_output=True, check=True
    ).stdout
    yield out


def find_names(remote: Path, *names: str) -> list[str]:
    """Return the places in the objects of a remote that have one of these names."""
    content = b"".join(sent_objects(remote)).decode(errors="replace")
    return [content[max(0, at - 60) : at + 60] for name in names for at in [content.find(name)] if at >= 0]


def test_what_three_agents_leave_has_no_name_of_this_machine(baton, git, home: Path, shop: Path) -> None:
    git(shop, "config", "baton.shareTurns", "true")
    baton("init", cwd=shop)
    for number, agent in enumerate(AGENTS):
        run_session(agent, shop, home, f"1111111{number}-0000-4000-8000-000000000001")
    run_session("claude", home / TREE, home, "22222220-0000-4000-8000-000000000001")
    deadline = time.monotonic() + 20
    while len(baton("list", "handoffs", "--json", cwd=shop).json["records"]) < 4 and time.monotonic() < deadline:
        time.sleep(0.2)
    real = os.path.realpath(shop)
    baton("loop", "add", f"Built {real}/out", "--expect", f"{home}/x is gone", "--verify-file", f"{real}/out", cwd=shop)
    baton("loop", "add", "Tests", "--expect", "pass", "--verify-command", "--", f"{real}/run", f"{home}/in", cwd=shop)
    baton("verify", cwd=shop, code=None)
    baton("followup", "add", f"Tidy {home}/{BESIDE}", "--reason", f"see {real}/README.md", cwd=shop)
    baton("decision", "add", "Use tabs", "--why", f"{real} has them", cwd=home / TREE)
    baton("pattern", "record", f"Forgot {real}/a.py", cwd=shop)
    baton("checkpoint", "--agent", "claude", "--summary", f"In {real}: half done", cwd=shop)
    baton("mine", cwd=shop)
    baton("wrap", "--context", f"Stopped at {real}/src/a.py, see {home}/notes", cwd=shop)
    assert "nothing was sent; baton sync sends it" in baton("outgoing", cwd=shop).err
    baton("sync", cwd=shop)
    assert "there is nothing to send" in baton("outgoing", cwd=shop).err
    remote = home / BESIDE / REMOTE
    assert find_names(remote, USER, TREE, "kookaburra", "wallaby") == []
    handoffs = baton("list", "handoffs", "--json", cwd=shop).json["records"]
    assert len(handoffs) == 4
    shown = baton("handoff", "show", f"claude/1111111{0}-0000-4000-8000-000000000001", "--json", cwd=shop).json[
        "handoff"
    ]
    assert shown["facts"]["files_modified"] == ["src/a.py"]


def test_a_record_has_no_path_of_this_machine(baton, home: Path, shop: Path) -> None:
    baton("init", cwd=shop)
    added = baton("followup", "add", f"Tidy {home}/x and {shop}/a.py", "--reason", "r", "--json", cwd=shop).json
    assert added["changes"][0]["title"] == "Tidy ~/x and a.py"
    baton("edit", added["id"], "--item", f"See {shop}/b.py, not https://example.org{home}/x", cwd=shop)
    shown = baton("list", "followups", cwd=shop).out
    assert f"See b.py, not https://example.org{home}/x" in shown
    text = "/home/somebody-else/x and ~/y"
    baton("followup", "add", text, "--reason", "r", cwd=shop)
    assert text in baton("list", "followups", cwd=shop).out


def test_an_older_handoff_with_paths_is_continued_here_and_listed(baton, git, home: Path, shop: Path) -> None:
    baton("init", cwd=shop)
    texts, session = describe(shop, home), "77777777-0000-4000-8000-000000000001"
    (home / "s.jsonl").write_text("".join(json.dumps(record) + "\n" for record in claude(texts, session)))
    baton("handoff", "extract", "--keep", str(home / "s.jsonl"), cwd=shop)
    git(shop, "worktree", "add", "-q", str(home / "branch"), "baton/shop")
    (file,) = (home / "branch" / "handoffs" / "claude").iterdir()
    host, real = os.uname().nodename.split(".")[0], os.path.realpath(shop)
    older = re.sub(r"(?m)^machine = .*", f'machine = "{host}"', file.read_text())
    older = re.sub(r"(?m)^worktree = .*", f'worktree = "{real}"', older).replace('"src/a.py"', f'"{real}/src/a.py"')
    file.write_text(older)
    git(home / "branch", "commit", "-qam", f"handoff\n\nBaton-Op: handoff-extract\nBaton-Machine: {host}")
    git(shop, "worktree", "remove", "--force", str(home / "branch"))
    assert baton("handoff", "show", "--json", cwd=shop).json["handoff"]["id"] == f"claude/{session}"
    brief = baton("boot", cwd=shop).out
    assert "Fix src/a.py as in" in brief
    assert f"{real}/src/a.py" not in brief
    held = baton("outgoing", "--json", cwd=shop).json["held"]
    assert {place["file"] for place in held} == {"", f"handoffs/claude/{session}.toml"}
    assert f"Baton-Machine: {host}" in [place["text"] for place in held]


def test_paths_of_a_session_in_a_subfolder_are_relative_to_the_repository(baton, home: Path, shop: Path) -> None:
    baton("init", cwd=shop)
    (shop / "src").mkdir()
    texts = describe(shop, home) | {"cwd": f"{os.path.realpath(shop)}/src"}
    session = "66666666-0000-4000-8000-000000000001"
    file = home / "s.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in claude(texts, session)))
    baton("handoff", "extract", "--keep", str(file), cwd=shop)
    shown = baton("handoff", "show", "--json", cwd=shop).json["handoff"]
    assert shown["facts"]["files_modified"] == ["src/a.py"]
    assert shown["facts"]["initial_goal"].startswith("Fix src/a.py as in @~/notes.md, then read `.`")
    assert "src/a.py" in baton("boot", cwd=shop).out


def test_a_check_finds_its_files_and_its_program_again(baton, git, home: Path, shop: Path) -> None:
    baton("init", cwd=shop)
    program, real = shop / "run check.sh", os.path.realpath(shop)
    program.write_text('#!/bin/sh\ntest -f "$1"\n')
    program.chmod(0o755)
    (home / "in file").touch()
    (home / TREE / "there").touch()
    command = [f"{real}/run check.sh", f"{home}/in file"]
    baton("trust", "--yes", "--", *command, cwd=shop)
    ran = baton("loop", "add", "A", "--expect", "e", "--verify-command", "--", *command, cwd=shop).id
    paths = [f"{home}/in file", f"{home}/{TREE}/there", f"{real}/run check.sh"]
    ids = [baton("loop", "add", path, "--expect", "e", "--verify-file", path, cwd=shop).id for path in paths]
    loops = [tomllib.loads(git(shop, "show", f"baton/shop:open_loops/{id_}.toml")) for id_ in (ran, *ids)]
    stored = [loop["verify"]["path"] for loop in loops[1:]]
    assert stored[::2] == ["~/in file", "run check.sh"]
    assert re.fullmatch(r"wt-\w{6}/there", stored[1])
    assert loops[0]["verify"]["argv"] == ["./run check.sh", "~/in file"]
    assert baton("verify", "--json", cwd=shop).out.count('"result": "passed"') == 4


def test_text_that_another_machine_stored_is_not_changed(baton, git, home: Path, shop: Path) -> None:
    baton("init", cwd=shop)
    id_ = baton("followup", "add", "A", "--reason", "r", cwd=shop).id
    path = f"follow_ups/{id_}.toml"
    git(shop, "worktree", "add", "-q", str(home / "branch"), "baton/shop")
    file = home / "branch" / path
    file.write_text(file.read_text().replace('"A"', f'"{home}/theirs"'))
    git(home / "branch", "commit", "-qam", "by hand")
    baton("followup", "defer", id_, cwd=shop)
    assert f'"{home}/theirs"' in git(shop, "show", f"baton/shop:{path}")
    baton("undo", "--yes", cwd=shop, code=None)
    assert f'"{home}/theirs"' in git(shop, "show", f"baton/shop:{path}")


def test_documents_of_other_programs_stay_as_they_are(baton, home: Path, shop: Path) -> None:
    baton("init", cwd=shop)
    item = {"id": "FU-001", "item": f"See {home}/x and {shop}/y", "reason": "r", "first_seen": "2026-11-20T10:00:00Z"}
    document = {"session_id": "s1", "follow_ups": [item], "context": f"In {shop}"}
    baton("write", "--file", "-", given=json.dumps(document), cwd=shop)
    written = baton("read", "--json", cwd=shop).json
    assert written["baton"]["follow_ups"][0]["item"] == item["item"]
    assert written["baton"]["context"] == f"In {shop}"
    baton("followup", "defer", "FU-001", cwd=shop)
    assert baton("read", "--json", cwd=shop).json["baton"]["follow_ups"][0]["item"] == item["item"]


def test_the_machine_has_the_name_that_its_user_chose(baton, git, shop: Path) -> None:
    baton("init", cwd=shop)
    baton("followup", "add", "A", "--reason", "r", cwd=shop)
    log = git(shop, "log", "-1", "--format=%B", "baton/shop")
    assert re.search(r"^Baton-Machine: machine-[0-9a-z]{6}$", log, re.MULTILINE)
    git(shop, "config", "baton.machine", "Ada's laptop")
    baton("followup", "add", "B", "--reason", "r", cwd=shop)
    assert "\nBaton-Machine: Ada-s-laptop\n" in git(shop, "log", "-1", "--format=%B", "baton/shop")
    baton("undo", "--yes", cwd=shop)
    baton("undo", "--yes", cwd=shop)  # the name that this machine had before is its own too
    assert " A" not in baton("list", "followups", cwd=shop).out


def test_a_session_is_continued_in_its_own_work_tree_by_the_label(baton, home: Path, shop: Path) -> None:
    baton("init", cwd=shop)
    for place, session in (
        (shop, "44444444-0000-4000-8000-000000000001"),
        (home / TREE, "55555555-0000-4000-8000-000000000001"),
    ):
        texts = describe(place, home)
        file = home / f"{session}.jsonl"
        file.write_text("".join(json.dumps(record) + "\n" for record in claude(texts, session)))
        baton("handoff", "extract", "--keep", str(file), cwd=place)
    assert baton("handoff", "show", "--json", cwd=shop).json["handoff"]["id"].startswith("claude/4444")
    assert baton("handoff", "show", "--json", cwd=home / TREE).json["handoff"]["id"].startswith("claude/5555")
    recorded = shop / ".git" / "baton" / "work-trees.json"
    assert json.loads(recorded.read_text())["version"] == 1
    for content in ("", "{", '{"version": 99, "paths": {}}', '{"version": 1, "paths": {"x": 1}}'):
        recorded.write_text(content)
        assert baton("handoff", "show", "--json", cwd=home / TREE).json["handoff"]["id"].startswith("claude/5555")
    newer = '{"version": 99, "paths": {}}'
    recorded.write_text(newer)
    baton("handoff", "extract", "--keep", str(home / "44444444-0000-4000-8000-000000000001.jsonl"), cwd=home / TREE)
    assert recorded.read_text() == newer


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux") or os.geteuid() != 0, reason="sets a host name of its own")
def test_the_host_name_does_not_leave_the_machine(home: Path, shop: Path, tmp_path: Path) -> None:
    host = "dingo-host-9"
    texts = describe(shop, home) | {"prompt": f"ssh {USER}@{host}:~/x; then on {host.upper()}.local, go"}
    file = home / "s.jsonl"
    session = "33333333-0000-4000-8000-000000000001"
    file.write_text("".join(json.dumps(record) + "\n" for record in claude(texts, session)))
    baton = f"{sys.executable} -m baton_git"
    commands = ["init", "followup add A --reason r", f"handoff extract --keep {file}", "sync"]
    script = "; ".join([f"hostname {host}", *(f"{baton} {words}" for words in commands)])
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_AUTHOR")}
    done = subprocess.run(
        ["unshare", "--uts", "sh", "-ec", script],
        cwd=shop,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if "unshare failed" in done.stderr or "unshare: " in done.stderr:
        pytest.skip("this container cannot set a host name")
    assert done.returncode == 0, done.stderr
    assert find_names(home / BESIDE / REMOTE, host, host.upper(), USER) == []
