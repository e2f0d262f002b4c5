"""`baton mine`: which transcripts are imported, the resulting records, and that a second run adds nothing."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from pseudo_terminal import typing_here
from transcript_sessions import GEMINI, gemini_lines, lines
from waiting import until
from world import NOW, on_machine

from baton_git.agents.hook_events.hook_session import HookSession, HookSessionStore
from baton_git.core.local_names import LABEL
from baton_git.interfaces.cli import printing
from baton_git.verbs.sessions.mining import Mine, mine

Baton = Callable[..., Any]
Git = Callable[..., str]
TIME = "2026-01-0{}T10:00:00.000Z"


@pytest.fixture
def home() -> Path:
    return Path(os.environ["HOME"])


def make_transcript(
    cwd: Path, session: str, prompt: str = "Fix it", *, day: int = 2, extra: str = "", part: int = 1
) -> bytes:
    """Return a transcript of Claude Code: a prompt, a command, and an answer."""
    shared = {"sessionId": session, "cwd": str(cwd), "version": "2.1.329", "gitBranch": "main", "isSidechain": False}
    call = {
        "type": "tool_use",
        "id": f"toolu_{part}",
        "name": "Bash",
        "input": {"command": "git commit -m 'Add it'"},
    }
    result = {"type": "tool_result", "tool_use_id": f"toolu_{part}", "content": extra or "done"}
    contents = [("user", prompt), ("assistant", [call]), ("user", [result]), ("assistant", "It works now.")]
    return lines([
        {"type": role, "uuid": f"{part}-{number}", "timestamp": TIME.format(day), **shared,
         "message": {"role": role, "content": content, **({"model": "m"} if role == "assistant" else {})}}
        for number, (role, content) in enumerate(contents)
    ])  # fmt: skip


def write_transcript(home: Path, cwd: Path, session: str, **more: Any) -> Path:
    """Write a transcript into the folder of Claude Code."""
    path = home / ".claude" / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(cwd)) / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(make_transcript(cwd, session, **more))
    return path


def list_handoffs(baton: Baton, **more: Any) -> list[str]:
    return sorted(handoff["id"] for handoff in baton("handoff", "list", "--json", **more).json["handoffs"])


def count_commits(git: Git, top: Path) -> int:
    return int(git(top, "rev-list", "--count", "baton/work"))


def test_transcripts_become_handoffs_in_one_commit_and_a_second_run_adds_nothing(baton, git, top, home):
    (top / "sub").mkdir()
    write_transcript(home, top, "a", prompt="Drop Kafka", day=3)
    write_transcript(home, top / "sub", "b", prompt="Use password = hunter2hunter2")
    write_transcript(home, top.parent / "other", "c")
    baton("init")
    before = count_commits(git, top)
    dry = baton("mine", "--dry-run", "--json").json
    assert ([session["id"] for session in dry["imported"]], count_commits(git, top)) == (
        ["claude/a", "claude/b"],
        before,
    )
    assert not (top / ".git" / "baton" / "mining").exists()
    result = baton("mine", "--json").json
    assert (result["unclear"], result["secrets"], count_commits(git, top)) == (1, 1, before + 1)
    shown = baton("handoff", "show", "claude/a", "--json").json["handoff"]
    assert (shown["extracted_at"], shown["trigger"]) == ("2026-01-03T10:00:00Z", "mine")
    assert f"in {top}" in baton("handoff", "show", "claude/a").out
    assert LABEL.fullmatch(shown["worktree"])
    assert shown["facts"]["initial_goal"] == "Drop Kafka"
    assert shown["facts"]["sources"]["initial_goal"]["line"] == 1
    assert "hunter2" not in baton("handoff", "show", "claude/b", "--json").out
    again = baton("mine", "--json").json
    assert (again["imported"], again["known"], again["read_bytes"], count_commits(git, top)) == ([], 2, 0, before + 1)
    turns = top / ".git" / "baton" / "turns" / "claude" / "a.jsonl"
    assert [json.loads(line)["answer"] for line in turns.read_text().splitlines()[1:]] == ["It works now."]
    for name in ("mining", "turns"):
        shutil.rmtree(top / ".git" / "baton" / name)
        assert (baton("mine", "--json").json["imported"], count_commits(git, top)) == ([], before + 1)
    assert turns.exists()


def test_turns_are_committed_if_the_user_shares_them(baton, git, top, home):
    git(top, "config", "baton.shareTurns", "true")
    write_transcript(home, top, "a")
    baton("init")
    before = count_commits(git, top)
    baton("mine")
    assert "It works now." in git(top, "show", "baton/work:turns/claude/a.toml")
    assert count_commits(git, top) == before + 1


def test_an_undone_import_can_be_repeated(baton, top, home):
    write_transcript(home, top, "a")
    baton("init")
    baton("mine")
    baton("undo", "1")
    assert list_handoffs(baton) == []
    baton("mine")
    assert list_handoffs(baton) == ["claude/a"]


def test_a_transcript_that_grew_is_read_again_and_facts_of_hooks_stay(baton, top, home):
    path = write_transcript(home, top, "a", prompt="First")
    baton("init")
    baton("mine")
    path.write_bytes(path.read_bytes() + make_transcript(top, "a", day=5, part=2, extra="[main 1234567] Add it"))
    assert [session["ended"] for session in baton("mine", "--json").json["imported"]] == ["2026-01-05T10:00:00Z"]
    path.write_bytes(path.read_bytes() + make_transcript(top, "a", day=6, part=3, extra="[main 2345678] More"))
    baton("handoff", "extract", str(path), "--keep")  # this handoff is newer than all times in the transcript
    path.write_bytes(path.read_bytes() + make_transcript(top, "a", day=7, part=4, extra="[main 3456789] Most"))
    assert baton("mine", "--json").json["known"] == 1


def test_sessions_of_every_agent_are_found(baton, top, home):
    meta = {"id": "019a1b2c-0000-7000-8000-000000000001", "cwd": str(top), "timestamp": TIME.format(2)}
    prompt = {"type": "user_message", "message": "Build it"}
    rollout = home / ".codex" / "archived_sessions" / f"rollout-2026-01-02T10-00-00-{meta['id']}.jsonl"
    rollout.parent.mkdir(parents=True)
    rollout.write_bytes(lines([{"timestamp": TIME.format(2), "type": kind, "payload": payload}
                               for kind, payload in (("session_meta", meta), ("event_msg", prompt))]))  # fmt: skip
    chats = home / ".gemini" / "tmp" / sha256(os.fsencode(top)).hexdigest() / "chats"
    chats.mkdir(parents=True)
    (chats / "session-2026-01-02T10-00-g1.jsonl").write_bytes(lines(gemini_lines()))
    write_transcript(home, top, "a")
    baton("init")
    assert "give claude, codex, gemini" in baton("mine", "--agent", "cursor", code=2).err
    assert baton("mine", "--agent", "codex", "--json").json["imported"][0]["id"] == f"codex/{meta['id']}"
    baton("mine")
    assert list_handoffs(baton) == ["claude/a", f"codex/{meta['id']}", f"gemini/{GEMINI['sessionId']}"]


def test_environment_variables_of_agents_name_the_folders_of_transcripts(baton, top, tmp_path, monkeypatch):
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "config"))
    write_transcript(tmp_path, top, "a")
    (tmp_path / ".claude").rename(tmp_path / "config")
    baton("init")
    baton("mine")
    assert list_handoffs(baton) == ["claude/a"]


# --- the repository of a transcript


def test_a_nested_repository_is_another_project(baton, git, top, home):
    inner = top / "vendor"
    inner.mkdir()
    git(inner, "init", "-q")
    for name, cwd in (("inner", inner), ("parent", top.parent), ("gone", top / "gone")):
        write_transcript(home, cwd, name)
    baton("init")
    result = baton("mine", "--json").json
    assert (result["imported"], result["elsewhere"], result["unclear"]) == ([], 2, 1)


def test_linked_work_trees_count_even_if_they_were_deleted(baton, git, top, home):
    there, gone = top.parent / "there", top.parent / "gone"
    for folder in (there, gone):
        git(top, "worktree", "add", "-q", str(folder))
        write_transcript(home, folder, folder.name)
    shutil.rmtree(gone)
    baton("init")
    baton("mine")
    assert list_handoffs(baton) == ["claude/gone", "claude/there"]


def test_a_deleted_folder_counts_if_its_files_were_committed(baton, git, top, home):
    (top / "old").mkdir()
    (top / "old" / "file").touch()
    git(top, "add", "old")
    git(top, "commit", "-q", "-m", "old")
    git(top, "rm", "-rq", "old")
    write_transcript(home, top / "old", "a")
    baton("init")
    baton("mine")
    assert list_handoffs(baton) == ["claude/a"]


def test_a_moved_repository_is_recognised_by_its_commits(baton, git, top, home):
    git(top, "commit", "-q", "--allow-empty", "-m", "Add it")
    made = f"[main {git(top, 'rev-parse', '--short', 'HEAD')}] Add it"
    former = top.parent / "before" / "work"
    write_transcript(home, former, "named", extra=made)
    write_transcript(home, former, "nothing-named", day=3)
    write_transcript(home, top.parent / "before" / "else", "unclear", extra="[main 1234567] Add it")
    baton("init")
    folder = str(top.parent / "before" / "else")
    assert f"    {folder}\n" in baton("mine", "--dry-run").err
    result = baton("mine", "--json").json
    assert (result["unclear"], result["unclear_folders"]) == (1, [folder])
    assert list_handoffs(baton) == ["claude/named", "claude/nothing-named"]
    assert f"in {top}" in baton("handoff", "show", "claude/named").out


def test_a_short_commit_id_counts_only_with_its_subject_and_if_most_commits_are_known(baton, git, top, home):
    git(top, "commit", "-q", "--allow-empty", "-m", "Add it")
    id_ = git(top, "rev-parse", "--short", "HEAD")
    gone = top.parent / "gone"
    write_transcript(home, gone, "other-subject", extra=f"[main {id_}] Something else")
    write_transcript(home, gone, "mostly-other", extra=f"[main {id_}] Add it\n[main 1234567] b\n[main 2345678] c")
    baton("init")
    assert baton("mine", "--json").json["unclear"] == 2


def test_a_folder_inside_the_work_tree_is_recognised_by_its_branch(baton, git, top, home):
    git(top, "branch", "feature-7")
    for name, branch in (("known", "feature-7"), ("common", "main"), ("unknown", "feature-8")):
        path = write_transcript(home, top / "trees" / name, name)
        path.write_bytes(path.read_bytes().replace(b'"gitBranch": "main"', f'"gitBranch": "{branch}"'.encode()))
    outside = write_transcript(home, top.parent / "outside", "outside")
    outside.write_bytes(outside.read_bytes().replace(b'"gitBranch": "main"', b'"gitBranch": "feature-7"'))
    baton("init")
    assert baton("mine", "--json").json["unclear"] == 3
    assert list_handoffs(baton) == ["claude/known"]


def test_a_clone_counts_if_it_has_a_remote_in_common(baton, git, top, home):
    for name, address in (("clone", "git@example.org:a/shop.git"), ("fork", "git@example.org:b/shop")):
        git(top.parent, "clone", "-q", str(top), name)
        git(top.parent / name, "remote", "set-url", "origin", address)
        write_transcript(home, top.parent / name, name)
    git(top, "remote", "add", "up", "https://example.org/a/shop")
    baton("init")
    baton("mine")
    assert list_handoffs(baton) == ["claude/clone"]


def test_the_sessions_of_a_named_folder_can_be_mined(baton, top, home):
    write_transcript(home, top.parent / "gone", "gone")
    write_transcript(home, top.parent / "second", "second")
    baton("init")
    baton("mine", "--project", "../gone")
    assert list_handoffs(baton) == ["claude/gone"]
    assert baton("mine", "--json").json["known"] == 1
    baton("mine", "--all")
    assert list_handoffs(baton) == ["claude/gone", "claude/second"]
    assert "not both" in baton("mine", "--all", "--project", ".", code=2).err


def test_outside_of_a_repository_the_folder_itself_counts(baton, home, tmp_path):
    folder = tmp_path / "plain"
    folder.mkdir()
    write_transcript(home, folder, "a")
    write_transcript(home, tmp_path, "b")
    assert "this created the namespace" in baton("mine", "--create", cwd=folder).err
    assert list_handoffs(baton, cwd=folder) == ["claude/a"]


# --- transcripts that are not imported


def test_subagents_old_transcripts_links_and_pipes_are_left_out(baton, top, home, tmp_path):
    path = write_transcript(home, top, "a")
    old = write_transcript(home, top, "old")
    os.utime(old, (0, 0))
    shutil.copy(path, path.parent / "agent-1.jsonl")
    (path.parent / "a" / "subagents").mkdir(parents=True)
    shutil.copy(path, path.parent / "a" / "subagents" / "agent-2.jsonl")
    (tmp_path / "outside.jsonl").write_bytes(make_transcript(top, "outside"))
    (path.parent / "outside.jsonl").symlink_to(tmp_path / "outside.jsonl")
    os.mkfifo(path.parent / "pipe.jsonl")
    baton("init")
    baton("mine", "--since", "2020-01-01")
    assert list_handoffs(baton) == ["claude/a"]
    assert "not a date or time" in baton("mine", "--since", "soon", code=2).err


@pytest.mark.parametrize("moved", [".claude", ".claude/projects", "project"])
def test_transcripts_in_a_linked_folder_are_read(baton, top, home, tmp_path, moved):
    """Users put the folders of Claude Code on another disk, and leave a symbolic link."""
    path = write_transcript(home, top, "a")
    folder = path.parent if moved == "project" else home / moved
    shutil.move(folder, tmp_path / "other disk")
    folder.symlink_to(tmp_path / "other disk")
    baton("init")
    assert [session["id"] for session in baton("mine", "--json").json["imported"]] == ["claude/a"]
    assert list_handoffs(baton) == ["claude/a"]


ENDS = ("0001-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z", "0001-01-01", "9999-12-31")


@pytest.mark.parametrize("zone", ["Etc/GMT+12", "Etc/GMT-14"])
def test_times_at_the_ends_of_the_calendar_do_not_stop_the_import_of_other_sessions(
    baton, top, home, monkeypatch, zone
):
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    write_transcript(home, top, "fine")
    for number, moment in enumerate(ENDS):
        path = write_transcript(home, top, f"end{number}")
        path.write_text(path.read_text().replace(TIME.format(2), moment))
    for number, seconds in enumerate((-(2**33), 2**40)):
        path = write_transcript(home, top, f"file{number}")
        path.write_text(path.read_text().replace(TIME.format(2), "no time"))
        os.utime(path, (seconds, seconds))
    baton("init")
    for words in (("mine", "--dry-run"), ("mine",), ("handoff", "list"), ("boot",), ("session", "list")):
        baton(*words)
    assert "claude/fine" in list_handoffs(baton)
    for number in range(len(ENDS)):
        baton("handoff", "show", f"end{number}")


def test_the_current_session_is_left_to_its_hooks(baton, top, home):
    write_transcript(home, top, "a")
    baton("init")
    result = baton("mine", "--json", env={"CLAUDE_CODE_SESSION_ID": "a"}).json
    assert (result["imported"], result["active"]) == ([], 1)


def test_a_session_whose_process_runs_is_left_to_its_hooks(baton, top, home, tmp_path):
    """A running session without hooks is also skipped: its program has run in its folder since before the change."""
    os.utime(write_transcript(home, top, "old"), (1e9, 1e9))
    claude = Path(shutil.copy(shutil.which("sleep") or "", tmp_path / "claude"))
    with subprocess.Popen([claude, "60"], cwd=top) as process:
        time.sleep(0.05)
        now = write_transcript(home, top, "now")
        os.utime(now, (time.time() + 5, time.time() + 5))
        baton("init")
        assert baton("mine", "--json").json["active"] == 1
        process.kill()
    assert baton("mine", "--json").json["known"] == 1
    write_transcript(home, top, "hooked")
    seen = HookSession("claude", "hooked", pid=os.getpid(), last_seen="2099-01-01T00:00:00+00:00")
    HookSessionStore(str(top / ".git")).save(seen)
    assert baton("mine", "--json").json["active"] == 1
    HookSessionStore(str(top / ".git")).save(seen._replace(ended="exit"))
    baton("mine")
    assert list_handoffs(baton) == ["claude/hooked", "claude/now", "claude/old"]


def test_a_transcript_without_prompts_is_counted_as_empty(baton, top, home):
    path = write_transcript(home, top, "a")
    path.write_text(json.dumps({"type": "summary", "summary": "x", "leafUuid": "u", "cwd": str(top)}) + "\n")
    baton("init")
    assert [baton("mine", "--json").json["empty"] for _ in range(2)] == [1, 1]


def test_transcripts_that_will_soon_be_deleted_are_reported(baton, top, home):
    path = write_transcript(home, top, "a")
    baton("init")
    assert "deleted" not in baton("mine").err
    (home / ".claude" / "settings.json").write_text('{"cleanupPeriodDays": 5}')
    assert "1 transcript will be deleted within 7 days: Claude Code keeps them for 5 days" in baton("mine").err
    os.utime(path, (1_000_000_000, 1_000_000_000))
    (home / ".claude" / "settings.json").write_text('{"cleanupPeriodDays": "x"}')
    assert "1 transcript will be deleted" in baton("mine").err


def test_another_run_at_the_same_time_is_busy(baton, top):
    import fcntl

    baton("init")
    baton("mine")
    with (top / ".git" / "baton" / "mining" / "work.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "another process" in baton("mine", code=4).err


def test_an_interrupted_mining_run_continues_where_it_ended(ws, home, tmp_path):
    """The results of reading are cached on this machine; the next run stores them without reading again."""
    paths = [write_transcript(home, tmp_path, name) for name in ("a", "b")]
    ws, request = on_machine(ws, home), Mine(all_projects=True)

    def stop(done: int, whole: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mine(replace(ws, progress=stop), NOW, request)
    assert ws.branch.read().number == 0
    result = mine(ws, NOW, request)
    assert (len(result.imported), result.read_bytes) == (2, paths[0].stat().st_size)


@pytest.mark.slow
def test_a_killed_run_loses_nothing_that_was_committed(baton, git, top, home, tmp_path):
    write_transcript(home, top, "first")
    baton("init")
    baton("mine")
    paths = [write_transcript(home, top, f"s{number}", part=number) for number in range(150)]
    notes = top / ".git" / "baton" / "mining" / "work.jsonl"

    def list_read() -> set[str]:
        """Return the transcripts whose sessions are noted. The evidence of all of them is noted before the first."""
        noted = [json.loads(line) for line in notes.read_bytes().split(b"\n")[:-1] if line]
        return {line["file"][0] for line in noted if "session" in line["note"]}

    process = subprocess.Popen([sys.executable, "-m", "baton_git", "mine"], cwd=top, stderr=subprocess.DEVNULL)
    until(lambda: len(list_read()) >= 10)
    process.kill()
    process.wait()
    unread = [path for path in paths if str(path) not in list_read()]
    assert list_handoffs(baton) == ["claude/first"]
    result = baton("mine", "--json").json
    assert (len(result["imported"]), result["known"], count_commits(git, top)) == (150, 1, 3)
    assert 0 < result["read_bytes"] == sum(path.stat().st_size for path in unread)


def test_a_file_in_an_unknown_format_is_reported_each_time(baton, top, home):
    path = write_transcript(home, top, "a")
    path.write_bytes(path.read_bytes().replace(b'"message":', b'"said":'))
    baton("init")
    assert [baton("mine", "--json").json["problems"] for _ in range(2)] == [
        [f"{path}: records seen 4, understood 0"]
    ] * 2
    assert "understood 0" in baton("mine").err


def test_init_names_the_command_when_there_are_transcripts(baton, top, home):
    assert "baton mine" not in baton("init").err
    write_transcript(home, top, "a")
    write_transcript(home, top.parent / "other", "b")
    assert "1 earlier session of this repository left transcripts" in baton("init").err
    baton("mine")
    assert "baton mine" not in baton("init").err


@pytest.mark.parametrize(("answer", "taken"), [("y", ["claude/a"]), ("n", [])])
def test_init_asks_at_a_terminal(baton, top, home, monkeypatch, answer, taken):
    write_transcript(home, top, "a")
    monkeypatch.setattr(printing, "PROGRESS_AFTER", 0)
    code, shown = typing_here(monkeypatch, top, "init", typed=f"{answer}\n".encode())
    assert (code, "Import them?" in shown, "reading transcripts" in shown) == (0, True, answer == "y")
    assert list_handoffs(baton) == taken


def test_recall_reads_unread_transcripts_and_mine_continues_from_there(baton, git, top, home):
    write_transcript(home, top, "a", prompt="Drop Kafka for SQS")
    write_transcript(home, top.parent / "other", "b", prompt="Keep Kafka")
    baton("init")
    before = count_commits(git, top)
    assert "Drop Kafka for SQS" in baton("recall", "Kafka").out
    write_transcript(home, top, "c", prompt="Move to Postgres")
    assert baton("recall", "Postgres").out == "", "transcripts that were just read are not read again at once"
    assert count_commits(git, top) == before
    assert (
        json.loads(baton("mine", "--json").out)["read_bytes"]
        == (home / ".claude").joinpath("projects", re.sub(r"[^A-Za-z0-9]", "-", str(top)), "c.jsonl").stat().st_size
    )
    assert list_handoffs(baton) == ["claude/a", "claude/c"]
    assert "Move to Postgres" in baton("recall", "Postgres").out
