"""What sessions wrote is sent by a background process: when, how often, and what happens if it fails or is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from machines import Machine
from waiting import until
from world import begin

from baton_git.core.errors import BatonError
from baton_git.core.names import Namespace
from baton_git.interfaces.background.detached import reap_children
from baton_git.interfaces.background.requests import Requests, request_work
from baton_git.interfaces.background.worker import work
from baton_git.namespace.remote_selection import LATE, find_unsent_commits
from baton_git.namespace.sync.sharing_state import JITTER, LONGEST_DELAY, PAUSE, Sharing, SharingState
from baton_git.namespace.sync.tracking_refs import count_commits
from baton_git.namespace.workspace import Background
from baton_git.verbs.sessions.session_start import StartOptions, begin_session
from baton_git.verbs.sharing.auto_sync import HAND_OVER, RETRIES, count_delay, send_unsent, sync_at_end
from baton_git.verbs.upkeep.namespace_status import read_status

Baton = Callable[..., Any]
Git = Callable[..., str]
Pair = tuple[Machine, Machine]
REF = "refs/heads/baton/work"


def send(machine: Machine, **more: Any) -> set[str]:
    return set(send_unsent([machine.ws], machine.clock(), **more))


def delay(machine: Machine) -> float:
    return count_delay(machine.store.repository.common_dir, machine.clock.now)


def errors(machine: Machine) -> list[str]:
    return [unsent.error for unsent in find_unsent_commits(machine.ws)]


def their_tip(machine: Machine) -> str:
    return machine.git("ls-remote", "origin", "refs/heads/baton/x").partition("\t")[0]


# --- what is sent, and to whom


def test_what_the_remote_lacks_is_sent_and_then_nothing_for_the_pause(pair: Pair) -> None:
    ada, _ = pair
    ada.loop("OL-2")
    assert send(ada) == set()
    assert their_tip(ada) == ada.tip
    assert PAUSE <= delay(ada) <= PAUSE * (1 + JITTER)


def test_nothing_is_sent_to_a_remote_that_never_had_the_namespace(ada: Machine) -> None:
    ada.loop("OL-1")
    send(ada)
    assert their_tip(ada) == ""
    assert find_unsent_commits(ada.ws) == []
    assert not SharingState(ada.store.repository.common_dir).path.exists()


@pytest.mark.parametrize("key", ["url", "pushurl"])
def test_nothing_is_sent_to_a_new_address_of_the_remote(pair: Pair, tmp_path: Path, key: str) -> None:
    ada, _ = pair
    other = tmp_path / "other.git"
    ada.git("init", "-q", "--bare", str(other))
    ada.git("config", f"remote.origin.{key}", str(other))
    ada.loop("OL-2")
    send(ada)
    assert ada.git("--git-dir", str(other), "for-each-ref") == ""
    assert errors(ada) != [""]


@pytest.mark.parametrize("sends", [True, False])
def test_a_machine_that_only_receives_sends_nothing(pair: Pair, sends: bool) -> None:
    ada, _ = pair
    ada.loop("OL-2")
    settings = ada.ws.remote_settings._replace(automatic=sends, sends=False)
    ws = replace(ada.ws, remote_settings=settings)
    send_unsent([ws], ada.clock())
    assert list(sync_at_end(ws, ada.clock()).lines) == []
    assert their_tip(ada) != ada.tip
    [unsent] = find_unsent_commits(ws)
    assert not unsent.is_late(ada.clock() + timedelta(days=1))


def test_commits_of_others_are_merged_before_ours_are_sent(pair: Pair) -> None:
    ada, bob = pair
    bob.loop("OL-3")
    bob.run_sync()
    ada.loop("OL-2")
    assert send(ada) == set()
    assert their_tip(ada) == ada.tip
    assert ada.get("open_loop", "OL-3")


def test_a_conflict_that_is_found_in_the_background_is_kept_for_the_next_session(pair: Pair) -> None:
    ada, bob = pair
    for machine in (ada, bob):
        machine.change("open_loop", "OL-1", action=f"deployed by {machine.name}")
    bob.run_sync()
    assert send(ada) == set()
    assert their_tip(ada) == ada.tip
    assert ada.list_conflicting_fields() == [("OL-1", "action")]


def test_commits_that_wait_for_a_review_stop_the_sending_until_it(pair: Pair) -> None:
    ada, bob = pair
    bob.loop("OL-3")
    bob.run_sync()
    ada.loop("OL-2")
    ada.ws = replace(ada.ws, remote_settings=ada.ws.remote_settings._replace(policies={"origin": "review"}))
    assert send(ada) == set()
    assert their_tip(ada) == bob.tip


# --- failures


def test_an_unreachable_remote_is_tried_again_later_and_later(pair: Pair) -> None:
    ada, _ = pair
    ada.loop("OL-2")
    url = ada.git("config", "remote.origin.url")
    ada.git("config", "remote.origin.url", "git://127.0.0.1:1/x.git")
    delays = []
    for _ in range(len(RETRIES) + 1):
        assert send(ada) == {"x"}
        delays.append(delay(ada))
        ada.clock.now += timedelta(seconds=delays[-1])
    for least, seconds in zip((*RETRIES, RETRIES[-1]), delays, strict=True):
        assert least <= seconds + 5 <= least * (1 + JITTER) + 10
    assert "127.0.0.1" in errors(ada)[0]
    ada.git("config", "remote.origin.url", url)
    assert send(ada) == set()
    assert their_tip(ada) == ada.tip
    assert SharingState(ada.store.repository.common_dir).read().failures == 0


def test_a_refused_push_is_not_repeated_and_its_reason_is_told(pair: Pair, bare: Path) -> None:
    ada, _ = pair
    (bare / "hooks").mkdir(exist_ok=True)
    (bare / "hooks/pre-receive").write_text("#!/bin/sh\necho no pushes on Sundays >&2\nexit 1\n")
    (bare / "hooks/pre-receive").chmod(0o755)
    ada.loop("OL-2")
    assert send(ada) == set()
    assert "no pushes on Sundays" in errors(ada)[0]
    [unsent] = find_unsent_commits(ada.ws)
    assert unsent.is_late(ada.clock())
    (bare / "hooks/pre-receive").unlink()
    ada.run_sync()
    assert errors(ada) == []


def test_without_a_place_for_the_time_of_the_next_push_nothing_is_sent(pair: Pair) -> None:
    ada, _ = pair
    ada.loop("OL-2")
    path = SharingState(ada.store.repository.common_dir).path
    path.mkdir()
    with pytest.raises(Exception, match=r"cannot write"):
        send(ada)
    assert their_tip(ada) != ada.tip


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 1, "failures": "x", "errors": [], "not_before": 3}'])
def test_a_damaged_file_is_made_again(pair: Pair, text: str) -> None:
    ada, _ = pair
    state = SharingState(ada.store.repository.common_dir)
    state.path.write_text(text)
    ada.loop("OL-2")
    assert send(ada) == set()
    assert their_tip(ada) == ada.tip
    assert json.loads(state.path.read_text())["version"] == 1


def test_a_file_of_a_newer_version_stays(pair: Pair) -> None:
    ada, _ = pair
    path = SharingState(ada.store.repository.common_dir).path
    path.write_text('{"version": 2, "not_before": "2100-01-01"}')
    ada.loop("OL-2")
    send(ada)
    assert path.read_text() == '{"version": 2, "not_before": "2100-01-01"}'


def test_a_clock_that_was_set_back_delays_nothing_for_long(pair: Pair) -> None:
    ada, _ = pair
    state = SharingState(ada.store.repository.common_dir)
    state.update(lambda sharing: sharing.delayed(ada.clock.now + LONGEST_DELAY, 60))
    assert delay(ada) == 0


# --- the end of a session, and what is told


def test_what_a_wrap_could_not_send_is_handed_over(pair: Pair) -> None:
    ada, _ = pair
    tasks: list[str] = []
    ada.loop("OL-2")
    ada.git("config", "remote.origin.url", "git://127.0.0.1:1/x.git")
    ws = replace(ada.ws, background=Background(lambda task: not tasks.append(task)))
    assert list(sync_at_end(ws, ada.clock()).lines)[1:] == ["1 commit not sent yet; sending goes on in the background"]
    assert tasks == ["send"]
    assert 0 < delay(ada) <= HAND_OVER * (1 + JITTER)
    assert list(sync_at_end(ada.ws, ada.clock()).lines)[1:] == ["1 commit not sent yet (baton sync sends them)"]


def test_a_wrap_hands_nothing_over_that_needs_a_person(pair: Pair, bare: Path) -> None:
    ada, bob = pair
    ada.loop("OL-2")
    bob.git("--git-dir", str(bare), "update-ref", "-d", "refs/heads/baton/x")
    ws = replace(ada.ws, background=Background(lambda _: pytest.fail("nothing can go on")))
    assert "deleted on the remote" in " ".join(sync_at_end(ws, ada.clock()).lines)


def test_the_status_tells_since_when_commits_wait(pair: Pair) -> None:
    ada, _ = pair
    ada.loop("OL-2")
    then = ada.clock.now
    ada.loop("OL-3")
    [unsent] = read_status(ada.ws, ada.clock.now).unsent
    assert (unsent.remote, unsent.commits, unsent.since) == ("origin", 2, then)
    assert not unsent.is_late(then + LATE)
    assert unsent.is_late(then + LATE + timedelta(seconds=1))


def test_what_has_waited_for_an_hour_is_told_at_the_start_of_a_session(pair: Pair) -> None:
    ada, _ = pair
    ada.loop("OL-2")
    then = ada.clock.now
    requested: list[str] = []
    ws = replace(ada.ws, background=Background(lambda task: not requested.append(task)))
    ada.git("config", "remote.origin.url", "git://127.0.0.1:1/x.git")
    line = "to be sent to origin, the oldest made 1 hour ago"

    def start(seconds: float) -> str:
        begun = begin_session(ws, then + timedelta(seconds=seconds), StartOptions(check_seconds=0))
        return begun.brief.text

    assert line not in start(60)
    assert requested == []  # the session that wrote it may be at work, and sends it at its end
    assert line not in start(LATE.total_seconds())
    assert requested == ["send"]
    assert line in start(LATE.total_seconds() + 1)


def test_doctor_tells_what_has_waited_for_an_hour(
    baton: Baton, top: Path, bare: Path, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(top, "remote", "add", "origin", str(bare))
    baton("sync")
    tip = git(top, "rev-parse", REF)
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_DATE", "2026-01-01T00:00:00Z")
    written = git(top, "commit-tree", f"{tip}^{{tree}}", "-p", tip, "-m", "old")
    git(top, "update-ref", REF, written)
    assert "1 commit waits to be sent to origin, the oldest made" in baton("doctor", "remotes", code=None).out
    baton("sync")
    assert "to be sent" not in baton("doctor", "remotes", code=None).out


def test_a_start_without_a_sync_sends_nothing(pair: Pair) -> None:
    ada, _ = pair
    ada.loop("OL-2")
    ws = replace(ada.ws, background=Background(*[lambda *_: pytest.fail("started")] * 2))
    begin_session(ws, ada.clock() + LATE, StartOptions(check_seconds=0, sync_seconds=0))


def test_the_number_of_commits_has_no_limit(ada: Machine) -> None:
    ada.loop("OL-1")
    times = "".join(
        f"commit {ada.ws.branch.ref}\ncommitter A <a@b> {1_800_000_000 + number} +0000\ndata 1\nx\n"
        for number in range(1500)
    )
    start = f"reset {ada.ws.branch.ref}\nfrom {ada.tip}\n\n"
    subprocess.run(["git", "-C", ada.top, "fast-import", "--quiet"], input=(start + times).encode(), check=True)
    assert count_commits(ada.store, ada.tip, None) == 1502


def test_the_settings_decide_who_sends(baton: Baton, top: Path, bare: Path, git: Git) -> None:
    git(top, "remote", "add", "origin", str(bare))
    baton("sync")
    git(top, "config", "baton.autosync", "receive")
    baton("wrap", "--context", "x")
    assert "pending" in baton("status").out
    git(top, "config", "baton.autosync", "receve")
    assert "not true, false or receive" in baton("wrap", "--context", "y", code=2).err
    git(top, "config", "baton.autosync", "true")
    assert "sent to origin" in baton("wrap", "--context", "z").err


def test_init_says_how_to_share_if_there_is_a_remote(baton: Baton, tmp_path: Path, git: Git) -> None:
    git(tmp_path, "init", "-q", "new")
    assert "baton sync" not in baton("init", cwd=tmp_path / "new", code=0).err
    git(tmp_path / "new", "remote", "add", "origin", str(tmp_path))
    git(tmp_path / "new", "update-ref", "-d", "refs/heads/baton/new")
    git(tmp_path / "new", "update-ref", "-d", "refs/baton-kept/heads/baton/new")
    assert "baton sync" in baton("init", "--namespace", "other", cwd=tmp_path / "new").err


# --- the process


def make_task(runs: list[Any], *, wait: float = 0.0, left: tuple[str, ...] = (), error: str = "") -> Any:
    def run(_: object, components: list[str], now: object) -> tuple[str, ...]:
        runs.append(list(components))
        if error:
            raise ValueError(error)
        return left

    return SimpleNamespace(count_seconds=lambda *_: wait, run=run)


def test_a_worker_does_what_is_requested_once(tmp_path: Path) -> None:
    runs: list[Any] = []
    requests = Requests(tmp_path)
    requests.add("a", "x")
    requests.add("a", "y")
    assert work(tmp_path, {"a": make_task(runs)}, machine_clock) == {}
    assert runs == [["x", "y"]]
    assert requests.find_tasks() == []


def test_a_killed_worker_leaves_its_requests_to_the_next_one(tmp_path: Path) -> None:
    requests, runs = Requests(tmp_path), []
    requests.add("a", "x")
    requests.take("a")
    requests.add("a", "x")  # requested again meanwhile
    assert (requests.find("a"), requests.find_new("a")) == (["x"], ["x"])
    requests.take("a")
    work(tmp_path, {"a": make_task(runs)}, machine_clock)
    assert runs == [["x"]]


def test_other_files_among_the_requests_are_removed(tmp_path: Path) -> None:
    requests, runs = Requests(tmp_path), []
    requests.add("a", "x")
    (requests.folder / "a" / "Not a name").touch()
    work(tmp_path, {"a": make_task(runs)}, machine_clock)
    assert runs == [["x"]]
    assert requests.find_tasks() == []


def test_a_namespace_that_cannot_be_read_does_not_keep_others_from_being_sent(pair: Pair) -> None:
    ada, _ = pair
    ada.loop("OL-2")
    broken = replace(ada.ws, branch=replace(ada.ws.branch, namespace=Namespace("other")))
    begin(broken.branch)
    file = Path(ada.store.repository.common_dir, broken.branch.ref)
    file.write_text("garbage\n")
    with pytest.raises(BatonError):
        send_unsent([broken, ada.ws], ada.clock())
    assert their_tip(ada) == ada.tip


def test_an_error_of_one_task_is_logged_and_the_others_run(tmp_path: Path) -> None:
    requests, runs, failed = Requests(tmp_path), [], []
    requests.add("a", "x")
    requests.add("b", "x")
    work(tmp_path, {"a": make_task(failed, error="broken"), "b": make_task(runs)}, machine_clock)
    assert (failed, runs) == ([["x"]], [["x"]])
    assert requests.find_tasks() == ["a"]
    assert "a: ValueError: broken" in (tmp_path / "baton/background.log").read_text()


def test_a_worker_does_not_wait_for_what_is_due_after_its_end(tmp_path: Path) -> None:
    runs: list[Any] = []
    Requests(tmp_path).add("a", "x")
    assert work(tmp_path, {"a": make_task(runs, wait=300)}, machine_clock) == {"a": ["x"]}
    assert runs == []


def test_a_task_that_is_always_due_ends(tmp_path: Path) -> None:
    runs: list[Any] = []
    Requests(tmp_path).add("a", "x")
    work(tmp_path, {"a": make_task(runs, left=("x",))}, machine_clock)
    assert 1 < len(runs) <= 20


def machine_clock() -> Any:
    from machines import NOW

    return NOW


# --- real sessions, real processes


def worker_of(top: Path) -> int | None:
    """Return the id of the worker of a repository; None if none runs."""
    try:
        pid = int((top / ".git/baton/background.lock").read_text())
        arguments = Path(f"/proc/{pid}/cmdline").read_text()
    except (OSError, ValueError):
        return None
    return pid if str(top) in arguments else None


@pytest.fixture
def hooked(top: Path, bare: Path, git: Git) -> Iterator[Callable[..., Any]]:
    """Return a function that runs one hook of a session as a process; end the worker after the test."""
    git(bare, "config", "core.logAllRefUpdates", "always")
    git(top, "remote", "add", "origin", str(bare))

    def run(event: str, session: str, **more: Any) -> subprocess.Popen[bytes]:
        payload = {
            "session_id": session, "transcript_path": str(top.parent / f"{session}.jsonl"), "cwd": str(top),
            "hook_event_name": event, **more,
        }  # fmt: skip
        process = subprocess.Popen(
            [sys.executable, "-m", "baton_git", "hook", "--agent", "claude"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=top,
        )  # fmt: skip
        assert process.stdin is not None
        process.stdin.write(json.dumps(payload).encode())
        process.stdin.close()
        process.stdin = None
        return process

    yield run
    pid = worker_of(top)
    if pid is not None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    reap_children()


def finish(*processes: subprocess.Popen[bytes]) -> list[str]:
    """Return the outputs of hooks, which must end in time, with 0 and without a word to stderr."""
    outputs = []
    for process in processes:
        out, err = process.communicate(timeout=30)
        assert (process.returncode, err) == (0, b"")
        outputs.append(out.decode())
    return outputs


def tips(top: Path, bare: Path, git: Git) -> tuple[str, str]:
    return git(top, "rev-parse", REF), git(bare, "for-each-ref", "--format=%(objectname)", REF)


def test_sessions_that_were_never_synced_start_no_process(top: Path, bare: Path, git: Git, hooked: Any) -> None:
    finish(hooked("SessionStart", "s1", source="startup"))
    finish(hooked("SessionEnd", "s1", reason="other"))
    assert worker_of(top) is None
    assert not (top / ".git/baton/background").exists()
    assert git(bare, "for-each-ref") == ""


def test_sessions_that_end_together_are_sent_by_one_push(
    top: Path, bare: Path, git: Git, hooked: Any, baton: Baton
) -> None:
    baton("sync")
    names = ["s1", "s2", "s3"]
    finish(*(hooked("SessionStart", name, source="startup") for name in names))
    finish(*(hooked("SessionEnd", name, reason="other") for name in names))
    pushes = until(lambda: len(lines := (bare / "logs" / REF).read_text().splitlines()) > 1 and lines)
    finish(hooked("SessionStart", "s4", source="startup"))
    finish(hooked("SessionEnd", "s4", reason="other"))
    until(lambda: worker_of(top) is not None)
    assert Requests(top / ".git").find("send") == ["work"]
    later = (bare / "logs" / REF).read_text().splitlines()
    if count_delay(top / ".git", now()) > 0:  # else this machine is too busy to run two hooks in a minute
        assert later == pushes
        assert len(pushes) == 2  # the first sync, and one push for the sessions


def test_the_next_session_sends_what_a_killed_process_left(
    top: Path, bare: Path, git: Git, hooked: Any, baton: Baton
) -> None:
    baton("sync")
    finish(hooked("SessionStart", "s1", source="startup"))
    finish(hooked("SessionEnd", "s1", reason="other"))
    os.kill(until(lambda: worker_of(top)), signal.SIGKILL)
    until(lambda: worker_of(top) is None)
    assert len(set(tips(top, bare, git))) == 2
    [started] = finish(hooked("SessionStart", "s2", source="startup"))
    assert "commits wait to be sent to origin" in started
    until(lambda: len(set(tips(top, bare, git))) == 1)


@pytest.mark.slow
def test_the_worker_keeps_nothing_of_its_caller(top: Path, git: Git, hooked: Any, baton: Baton) -> None:
    baton("sync")
    add = ["add", "deployed", "--expect", "it answers"]
    baton("loop", *add)
    own = {name: text for name, text in os.environ.items() if not name.startswith("BATON_")}
    assert request_work(top / ".git", "send", "work", {**own, "BATON_SESSION": "s1", "BATON_REPO": "/nowhere"})
    pid = until(lambda: worker_of(top))
    assert os.getsid(pid) == pid
    assert str(Path(f"/proc/{pid}/cwd").readlink()) == "/"
    files = list_open_files(pid)
    assert str(top / ".git/baton/background.lock") in files
    assert not any(file.startswith(("pipe:", "socket:", "/dev/pts")) for file in files)
    environment = Path(f"/proc/{pid}/environ").read_bytes()
    assert b"BATON_SESSION" not in environment
    assert b"BATON_REPO" not in environment
    until(lambda: len(set(tips(top, top.parent / "origin.git", git))) == 1)


def list_open_files(pid: int) -> set[str]:
    files = set()
    for file in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):  # closed meanwhile
            files.add(str(file.readlink()))
    return files


def now() -> Any:
    from datetime import UTC, datetime

    return datetime.now(UTC)


def test_an_error_is_told_only_of_commits_that_the_attempt_could_not_send():
    at = datetime(2026, 11, 28, 12, tzinfo=UTC)
    before, after = at - timedelta(seconds=1), at + timedelta(seconds=1)
    for is_away in (False, True):
        sharing = Sharing().with_error("origin/x", "no", at, is_away=is_away)
        assert [sharing.find_error("origin/x", since) for since in (before, at, None, after)] == ["no", "no", "no", ""]
        assert sharing.reached("origin/x").find_error("origin/x", before) == ("" if is_away else "no")
        assert sharing.with_error("origin/x", "", at, is_away=is_away) == Sharing()
    assert Sharing(errors={"k": "of an older version"}).find_error("k", after) == "of an older version"
