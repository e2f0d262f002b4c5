"""Sessions of another project that once had the same folder: they are listed and asked for, and own ones stay own."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from default_run import slow_after
from pseudo_terminal import typing_here
from transcript_sessions import lines

Baton = Callable[..., Any]
Git = Callable[..., str]
Case = Callable[["Project"], "Story"]
ACME, GLOBEX = "https://git.example/acme/shop.git", "https://git.example/globex/payroll.git"
ID = "1111aaaa-0000-4000-8000-000000000001"


class Story:
    """A session: its branch, the commands it ran with their output, and the files it edited."""

    def __init__(self, *, branch: str = "main", prompt: str = "Fix the payroll", answer: str = "Done.") -> None:
        self.branch, self.prompt, self.answer = branch, prompt, answer
        self.calls: list[tuple[str, dict[str, Any], str]] = []
        self.extra: dict[str, Any] = {}
        self.mtime: float | None = None

    def run(self, command: str, output: str = "") -> Story:
        self.calls.append(("Bash", {"command": command}, output))
        return self

    def edit(self, *names: str) -> Story:
        self.calls += [("Edit", {"file_path": name, "old_string": "a", "new_string": "b"}, "ok") for name in names]
        return self

    def named(self, address: str) -> Story:
        return self.run("git remote -v", f"origin\t{address} (fetch)\norigin\t{address} (push)")

    def committed(self, hash_: str = "1a2b3c4", subject: str = "Fix the salary of Bob") -> Story:
        return self.run("git commit -m x", f"[{self.branch} {hash_}] {subject}\n 1 file changed, 1 insertion(+)")

    def ended(self, seconds: float) -> Story:
        self.mtime = seconds
        return self

    def write(self, home: Path, cwd: Path, session: str = ID) -> Path:
        shared = {"sessionId": session, "cwd": str(cwd), "version": "2.1.329", "gitBranch": self.branch}
        contents: list[tuple[str, Any]] = [("user", self.prompt)]
        for number, (name, arguments, output) in enumerate(self.calls):
            if "file_path" in arguments:
                arguments = {**arguments, "file_path": str(cwd / arguments["file_path"])}
            contents.append(
                (
                    "assistant",
                    [{"type": "tool_use", "id": f"toolu_{session}_{number}", "name": name, "input": arguments}],
                )
            )
            contents.append(
                ("user", [{"type": "tool_result", "tool_use_id": f"toolu_{session}_{number}", "content": output}])
            )
        records = [
            {"type": role, "uuid": f"{session}-{at}", "timestamp": f"2026-01-02T10:{at:02}:00.000Z", **shared,
             "isSidechain": False, "message": {"role": role, "content": content}}
            for at, (role, content) in enumerate([*contents, ("assistant", self.answer)])
        ]  # fmt: skip
        path = home / ".claude" / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(cwd)) / f"{session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(lines(records))
        if self.mtime is not None:
            os.utime(path, (self.mtime, self.mtime))
        return path


class Project:
    """The repository of the tests, for whose folder the transcripts were written."""

    def __init__(self, top: Path, git: Git) -> None:
        self.top, self._git = top, git

    def git(self, *words: str) -> str:
        return self._git(self.top, *words)

    def add(self, name: str, message: str = "Add it") -> str:
        path = self.top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(message)
        self.git("add", name)
        self.git("commit", "-q", "-m", message)
        return self.git("rev-parse", "--short", "HEAD")

    def forget_commits(self) -> None:
        """Remove commits that no branch has: also from the reflogs and from the object database."""
        self.git("reflog", "expire", "--expire=now", "--all")
        self.git("gc", "-q", "--prune=now")


@pytest.fixture
def home() -> Path:
    return Path(os.environ["HOME"])


@pytest.fixture
def project(top: Path, git: Git) -> Project:
    return Project(top, git)


# --- sessions that worked in this repository


def own_ssh_and_https(project: Project) -> Story:
    project.git("remote", "add", "origin", "ssh://git@git.example:2222/Acme/shop")
    return Story().named(ACME).committed()


def own_alias_of_an_ssh_host(project: Project) -> Story:
    project.git("remote", "add", "origin", ACME)
    return Story().named("work-git:acme/shop.git")


def own_instead_of(project: Project) -> Story:
    project.git("config", "url.https://git.example/.insteadOf", "work:")
    project.git("remote", "add", "origin", "work:acme/shop")
    return Story().named(ACME).committed()


def own_renamed_remote(project: Project) -> Story:
    project.git("remote", "add", "upstream", ACME)
    return Story().named(ACME).committed()


def own_moved_remote_with_a_commit(project: Project) -> Story:
    project.git("remote", "add", "origin", "https://git.example/acme/store.git")
    return Story().named(GLOBEX).committed(project.add("a.py"), "Add it")


def own_moved_remote_with_a_file(project: Project) -> Story:
    project.git("remote", "add", "origin", "https://git.example/acme/store.git")
    project.add("prices/total.py")
    return Story().named(GLOBEX).edit("prices/total.py")


def own_cloned_before_the_remote_moved(project: Project) -> Story:
    project.git("remote", "add", "origin", "https://git.example/acme/store.git")
    log = project.top / ".git" / "logs" / "HEAD"
    log.write_text(re.sub(r"\t.*", f"\tclone: from {GLOBEX}", log.read_text(), count=1))
    return Story().named(GLOBEX)


def own_fork(project: Project) -> Story:
    project.git("remote", "add", "origin", "git@git.example:me/shop.git")
    return Story().named(ACME)


def own_rebased_commit(project: Project) -> Story:
    before = project.add("a.py", "Round the totals")
    project.git("commit", "-q", "--amend", "--no-edit", "--date=2026-01-05T00:00:00Z")
    project.forget_commits()
    assert subprocess.run(["git", "cat-file", "-e", before], cwd=project.top, capture_output=True).returncode
    return Story().committed(before, "Round the totals")


def own_squashed_commit(project: Project) -> Story:
    before = project.add("prices/round.py", "Round the totals")
    project.git("commit", "-q", "--amend", "-m", "Prices")
    project.forget_commits()
    return Story().edit("prices/round.py").committed(before, "Round the totals")


def own_rewritten_commit(project: Project) -> Story:
    before = project.add("a.py", "Round the totals")
    whole = project.git("rev-parse", "HEAD")
    project.git("commit", "-q", "--amend", "-m", "Prices")
    (project.top / ".git" / "baton").mkdir(exist_ok=True)
    (project.top / ".git" / "baton" / "rewritten").write_text(f"{whole} {project.git('rev-parse', 'HEAD')}\n")
    project.forget_commits()
    return Story().committed(before, "Round the totals")


def own_quoted_remote(project: Project) -> Story:
    project.git("remote", "add", "origin", ACME)
    listed = f"origin\t{GLOBEX} (fetch)\norigin\t{GLOBEX} (push)\nTo {GLOBEX}"
    return Story(prompt=f"Why does this fail?\n{listed}", answer=listed).run("cat notes.txt", listed)


def own_work_in_another_repository(project: Project) -> Story:
    project.git("remote", "add", "origin", ACME)
    committed = "[main 1a2b3c4] Fix it\n 1 file changed"
    return (
        Story()
        .run("git -C ../lib remote -v", f"origin\t{GLOBEX} (fetch)")
        .run("cd ../lib && git commit -m 'Fix it' && git push", f"{committed}\nTo {GLOBEX}")
        .run(f"git clone {GLOBEX} /tmp/x && cd /tmp/x && git remote -v", f"origin\t{GLOBEX} (fetch)")
        .run(f"git fetch {GLOBEX} main", f"From {GLOBEX}")
    )


def own_work_in_a_submodule(project: Project) -> Story:
    project.git("remote", "add", "origin", ACME)
    (project.top / "lib").mkdir()
    (project.top / "lib" / "a.py").touch()
    committed = "[main 1a2b3c4] Fix it\n 1 file changed"
    return Story().edit("lib/a.py").run("cd lib && git commit -m 'Fix it' && git push", f"{committed}\nTo {GLOBEX}")


def own_push_from_a_subfolder(project: Project) -> Story:
    project.git("remote", "add", "origin", ACME)
    return Story().run("cd src && git push", f"To {ACME}").committed()


def own_deleted_branch(project: Project) -> Story:
    return Story(branch="feature/rounding")


def own_older_than_the_clone(project: Project) -> Story:
    project.add("prices/total.py")
    return Story(branch="feature/rounding").edit("prices/total.py").ended(1e9)


def own_only_old(project: Project) -> Story:
    return Story().ended(1e9).run("git status", "clean")


OWN: list[Case] = [value for name, value in list(globals().items()) if name.startswith("own_")]


@pytest.mark.parametrize("case", OWN, ids=lambda case: case.__name__)
def test_an_own_session_is_imported(case: Case, baton: Baton, project: Project, home: Path):
    story = case(project)
    baton("init")
    story.write(home, project.top)
    result = baton("mine", "--json").json
    assert ([item["id"] for item in result["imported"]], result["doubtful"]) == ([f"claude/{ID}"], [])


# --- sessions of another project at the same place


def foreign_remote_and_commits(project: Project) -> Story:
    project.git("remote", "add", "origin", ACME)
    return Story(branch="feature/payroll").named(GLOBEX).committed()


def foreign_remote(project: Project) -> Story:
    project.git("remote", "add", "origin", ACME)
    return Story().named(GLOBEX)


def foreign_remote_where_there_is_none(project: Project) -> Story:
    return Story().named(GLOBEX)


def foreign_push(project: Project) -> Story:
    project.git("remote", "add", "origin", ACME)
    return Story().run("git push", f"To {GLOBEX}\n   1a2b3c4..2b3c4d5  main -> main")


def foreign_configured_address(project: Project) -> Story:
    project.git("remote", "add", "origin", ACME)
    return Story().run("git remote get-url origin", GLOBEX)


def foreign_commits(project: Project) -> Story:
    return Story().committed().edit("payroll/salary.py")


def foreign_initial_commit(project: Project) -> Story:
    project.add("a.py", "Initial commit")
    return Story().run("git commit -m 'Initial commit'", "[main (root-commit) 1a2b3c4] Initial commit\n 1 file changed")


def foreign_project_of_the_same_name(project: Project) -> Story:
    project.git("remote", "add", "origin", ACME)
    return Story().named("https://git.example/globex/shop.git").committed()


def foreign_project_with_common_files(project: Project) -> Story:
    project.add("package.json")
    project.git("remote", "add", "origin", ACME)
    return Story().named(GLOBEX).edit("package.json")


def foreign_and_older_on_another_branch(project: Project) -> Story:
    return Story(branch="feature/payroll").ended(1e9)


def foreign_and_older_with_other_files(project: Project) -> Story:
    return Story(branch="feature/payroll").edit("payroll/salary.py").ended(1e9)


def foreign_namespace(project: Project) -> Story:
    brief = "=== baton payroll · revision 12 · last change 3 days ago · session 1111 · x ==="
    return Story(branch="feature/payroll").run("baton boot", brief)


FOREIGN: list[Case] = [value for name, value in list(globals().items()) if name.startswith("foreign_")]


@pytest.mark.parametrize("case", slow_after(1, FOREIGN), ids=lambda case: case.__name__)
def test_a_session_of_another_project_is_listed_and_not_imported(
    case: Case, baton: Baton, project: Project, home: Path
):
    story = case(project)
    story.write(home, project.top)
    assert "baton mine" not in baton("init").err
    assert baton("recall", "payroll", code=None).out == ""
    for options in (("--dry-run",), (), ()):
        result = baton("mine", *options, "--json").json
        assert (result["imported"], [item["id"] for item in result["doubtful"]]) == ([], [f"claude/{ID}"])
        assert result["doubtful"][0]["reasons"]
    assert not (project.top / ".git" / "baton" / "turns").exists()
    shown = baton("mine").err
    assert "probably worked in another project" in shown
    assert "baton mine --take" in shown
    taken = baton("mine", "--take", f"claude/{ID}", "--json").json
    assert [item["id"] for item in taken["imported"]] == [f"claude/{ID}"]
    assert baton("mine", "--json").json["doubtful"] == []


def test_the_newest_transcript_of_a_folder_is_one_of_this_project(baton, project, home):
    Story(prompt="Round the totals").ended(4e9).write(home, project.top, "2222aaaa-0000-4000-8000-000000000002")
    foreign_remote_and_commits(project).ended(4e9 + 1).write(home, project.top)
    baton("init")
    assert "Round the totals" in baton("handoff", "extract").out


def test_the_reasons_name_what_contradicts_the_folder(baton, project, home):
    foreign_remote_and_commits(project).write(home, project.top)
    baton("init")
    assert baton("mine", "--json").json["doubtful"][0]["reasons"] == [
        "used the remote git.example/globex/payroll",
        "made commits that are not in this repository (1a2b3c4)",
        "was on the branch feature/payroll, which is not in this repository",
    ]


@pytest.mark.parametrize(("answer", "imported"), [("y", True), ("n", False)])
def test_mine_asks_for_doubtful_sessions_at_a_terminal(baton, project, home, monkeypatch, answer, imported):
    foreign_remote(project).write(home, project.top)
    baton("init")
    code, shown = typing_here(monkeypatch, project.top, "mine", typed=f"{answer}\n".encode())
    assert (code, "Import 1 doubtful session, too?" in shown) == (0, True)
    assert bool(baton("handoff", "list", "--json").json["handoffs"]) is imported


def test_a_remote_that_was_changed_after_init_is_still_known(baton, project, home):
    project.git("remote", "add", "origin", GLOBEX)
    baton("init")
    project.git("remote", "set-url", "origin", "https://git.example/acme/store.git")
    Story().named(GLOBEX).write(home, project.top)
    assert baton("mine", "--json").json["doubtful"] == []
    file = project.top / ".git" / "baton" / "mining" / "addresses.json"
    assert json.loads(file.read_text()) == {
        "format": 1, "addresses": ["git.example/globex/payroll", "git.example/acme/store"]
    }  # fmt: skip
    file.write_text('{"format": 9}')
    Story().named(GLOBEX).write(home, project.top, "2222aaaa-0000-4000-8000-000000000002")
    assert len(baton("mine", "--json").json["doubtful"]) == 1
    assert json.loads(file.read_text())["format"] == 1


def test_codex_names_the_remote_and_the_commit_itself(baton, project, home):
    project.git("remote", "add", "origin", ACME)
    head = project.git("rev-parse", "HEAD")
    for number, (address, commit) in enumerate([(GLOBEX, "1" * 40), (ACME, "2" * 40), (GLOBEX, head)]):
        id_ = f"019a1b2c-0000-7000-8000-00000000000{number}"
        meta = {"id": id_, "cwd": str(project.top), "timestamp": "2026-01-02T10:00:00.000Z",
                "git": {"commit_hash": commit, "branch": "main", "repository_url": address}}  # fmt: skip
        path = home / ".codex" / "sessions" / f"rollout-2026-01-02T10-00-00-{id_}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        prompt = {"type": "user_message", "message": "Build it"}
        path.write_bytes(lines([{"timestamp": "2026-01-02T10:00:00.000Z", "type": kind, "payload": payload}
                                for kind, payload in (("session_meta", meta), ("event_msg", prompt))]))  # fmt: skip
    baton("init")
    result = baton("mine", "--json").json
    assert [item["id"][-1] for item in result["doubtful"]] == ["0"]
    assert sorted(item["id"][-1] for item in result["imported"]) == ["1", "2"]


def test_gemini_transcripts_name_only_a_digest_of_their_folder(baton, project, home):
    from hashlib import sha256

    project.git("remote", "add", "origin", ACME)
    chats = home / ".gemini" / "tmp" / sha256(os.fsencode(project.top)).hexdigest() / "chats"
    chats.mkdir(parents=True)
    call = {"id": "c1", "name": "run_shell_command", "args": {"command": "git remote -v"}, "status": "success",
            "result": [{"functionResponse": {"id": "c1", "name": "run_shell_command",
                                             "response": {"output": f"origin\t{GLOBEX} (fetch)"}}}]}  # fmt: skip
    messages = [
        {"id": "m1", "timestamp": "2026-01-02T10:00:00.000Z", "type": "user", "content": "Fix the payroll"},
        {"id": "m2", "timestamp": "2026-01-02T10:00:01.000Z", "type": "gemini", "content": "", "toolCalls": [call]},
    ]
    start = {"sessionId": "g-1", "projectHash": "x", "startTime": "2026-01-02T10:00:00.000Z"}
    (chats / "session-2026-01-02T10-00-g1.jsonl").write_bytes(lines([start, *messages]))
    baton("init")
    assert [item["id"] for item in baton("mine", "--json").json["doubtful"]] == ["gemini/g-1"]


# --- hooks


def call_hook(top: Path, event: str, path: Path, session: str = ID, **more: Any) -> str:
    payload = {"session_id": session, "transcript_path": str(path), "cwd": str(top), "hook_event_name": event, **more}
    done = subprocess.run([sys.executable, "-m", "baton_git", "hook", "--agent", "claude"], input=json.dumps(payload),
                          capture_output=True, text=True, cwd=top, check=True)  # fmt: skip
    return done.stdout


@pytest.mark.parametrize("is_foreign", [True, False])
def test_hooks_do_not_save_a_resumed_session_of_another_project(baton, project, home, is_foreign):
    """`claude --continue` resumes the newest session of the folder, also if another project was mounted there."""
    case = foreign_remote_and_commits if is_foreign else own_ssh_and_https
    path = case(project).write(home, project.top)
    baton("init")
    call_hook(project.top, "SessionStart", path, source="resume")
    call_hook(project.top, "Stop", path)
    call_hook(project.top, "SessionEnd", path, reason="other")
    assert [item["id"] for item in baton("handoff", "list", "--json").json["handoffs"]] == (
        [] if is_foreign else [f"claude/{ID}"]
    )
    log = project.top / ".git" / "baton" / "agents.log"
    assert (log.exists() and f"baton mine --take claude/{ID}" in log.read_text()) is is_foreign
    if is_foreign:
        assert [item["id"] for item in baton("mine", "--json").json["doubtful"]] == [f"claude/{ID}"]
        baton("mine", "--take", f"claude/{ID}")
        more = Story(prompt="And the taxes").edit("taxes.py").write(home, project.top, "x").read_bytes()
        path.write_bytes(path.read_bytes() + more)
        call_hook(project.top, "SessionEnd", path, reason="logout")
        assert "taxes.py" in json.dumps(baton("handoff", "show", f"claude/{ID}", "--json").json["handoff"])


def test_catching_up_leaves_a_killed_session_of_another_project(baton, project, home):
    """The folder `.git/baton` was copied with the repository, or the hooks of the session ran before the swap."""
    path = foreign_remote_and_commits(project).write(home, project.top)
    baton("init")
    agents = project.top / ".git" / "baton" / "agents"
    agents.mkdir(parents=True)
    remembered = {"cli": "claude", "session": ID, "git_dir": str(project.top / ".git"), "cwd": str(project.top),
                  "transcript": str(path), "seen": "2026-01-02T10:00:00+00:00", "size": -1}  # fmt: skip
    (agents / f"claude-{ID}.json").write_text(json.dumps(remembered))
    new = "2222aaaa-0000-4000-8000-000000000002"
    call_hook(project.top, "SessionStart", Story().write(home, project.top, new), new, source="startup")
    assert baton("handoff", "list", "--json").json["handoffs"] == []
    shutil.rmtree(agents)
    assert [item["id"] for item in baton("mine", "--json").json["doubtful"]] == [f"claude/{ID}"]


def test_a_session_that_began_here_is_saved_whatever_its_transcript_names(baton, project, home):
    story = foreign_remote_and_commits(project)
    baton("init")
    path = home / ".claude" / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(project.top)) / f"{ID}.jsonl"
    call_hook(project.top, "SessionStart", path, source="startup")
    story.write(home, project.top)
    call_hook(project.top, "SessionEnd", path, reason="other")
    assert [item["id"] for item in baton("handoff", "list", "--json").json["handoffs"]] == [f"claude/{ID}"]
