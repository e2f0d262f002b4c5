"""The effects of the hooks after a commit, a merge, a checkout or a rewrite, and before a push."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest
from default_run import slow_after
from dulwich.repo import Repo as DulwichRepo
from hook_world import eventually, everything, hook, pre_commit, quiet

from baton_git.git.hooks.script import HookScript
from baton_git.git.rewritten import load_rewritten


@pytest.fixture
def hooked(baton, top):
    """Return the repository with a namespace and with hooks."""
    baton("init")
    baton("hooks", "install")
    return top


@pytest.fixture
def loop(baton):
    """Add a loop `OL-<number>` with a check."""

    def add(number: int, *check: str) -> None:
        baton("loop", "add", f"Did {number}", "--expect", "y", "--id", f"OL-{number}", *check)

    return add


@pytest.fixture
def subjects(git, top):
    """Return a function that lists the subjects of the namespace's commits, newest first."""
    return lambda: git(top, "log", "--format=%s", "baton/work").splitlines()


def commit(git, top, subject="x", *more):
    git(top, "commit", "-q", "--allow-empty", "-m", subject, *more)


def test_a_commit_verifies_the_loops_that_it_settles_and_becomes_their_evidence(baton, git, hooked, loop, subjects):
    loop(1, "--verify-file", "done")
    loop(2, "--verify-commit", "Mend it")
    loop(3, "--verify-http", "http://127.0.0.1:1/")
    (hooked / "done").touch()
    commit(git, hooked, "Mend it")
    eventually(lambda: len(subjects()) == 5)
    assert "OL-1 verified" in subjects()[0]
    assert "OL-2 verified" in subjects()[0]
    loops = {one["id"]: one for one in baton("read").json["baton"]["open_loops"]}
    head = git(hooked, "rev-parse", "HEAD")
    assert [loops[id_]["last_check"]["commit"] for id_ in ("OL-1", "OL-2")] == [head, head]
    assert "last_check" not in loops["OL-3"]
    eventually(lambda: "post-commit work: " in (hooked / ".git/baton/hooks.log").read_text())
    eventually(lambda: not list((hooked / ".git/baton/due").iterdir()))


@pytest.mark.slow
def test_the_same_result_is_stored_once_and_an_unknown_result_never(git, hooked, loop, subjects):
    loop(1, "--verify-file", "done")
    loop(2, "--verify-command", "--", "true")
    for number in range(3):
        commit(git, hooked, str(number))
        quiet(hooked)
        eventually(lambda: "OL-1 failed" in subjects()[0])
    assert len(subjects()) == 4
    (hooked / "done").touch()
    commit(git, hooked)
    eventually(lambda: "OL-1 verified" in subjects()[0])
    assert len(subjects()) == 5
    assert (hooked / ".git/baton/due/work").exists()


@pytest.mark.slow
def test_of_many_commits_in_a_row_only_the_last_is_verified(git, hooked, loop, subjects):
    loop(1, "--verify-commit", "last")
    for number in range(25):
        commit(git, hooked, str(number))
    commit(git, hooked, "last")
    eventually(lambda: "OL-1 verified" in subjects()[0])


@pytest.mark.slow
def test_hooks_use_no_session_name(baton, git, hooked, loop, subjects):
    """A commit with the name of a session would claim that the session has seen the records of others."""
    baton("boot", "--session", "s1", "--no-verify")
    loop(1, "--verify-file", "done")
    (hooked / "done").touch()
    git(hooked, "config", "user.name", "Me")
    commit(git, hooked, "x", "--author", "Other <o@example.org>")
    eventually(lambda: "OL-1 verified" in subjects()[0])
    text = git(hooked, "log", "-1", "--format=%an%n%B", "baton/work")
    assert text.startswith("Me\n")
    assert "Baton-Agent: git-hook" in text
    assert "Baton-Session" not in text


@pytest.mark.slow
def test_head_index_and_files_stay_as_the_commit_left_them(git, hooked, loop, subjects):
    (hooked / "a").write_text("a")
    (hooked / "b").write_text("b")
    git(hooked, "add", "a")
    loop(1, "--verify-file", "a")
    git(hooked, "commit", "-q", "-m", "x")
    before = (hooked / ".git/index").read_bytes(), (hooked / ".git/HEAD").read_bytes(), git(hooked, "status", "-s")
    eventually(lambda: "OL-1 verified" in subjects()[0])
    after = (hooked / ".git/index").read_bytes(), (hooked / ".git/HEAD").read_bytes(), git(hooked, "status", "-s")
    assert after == before


@pytest.mark.slow
@pytest.mark.parametrize("event", ["merge", "checkout", "amend", "rebase"])
def test_a_merge_a_checkout_and_a_rewrite_verify_loops_too(git, hooked, loop, subjects, event):
    git(hooked, "checkout", "-q", "-b", "side")
    (hooked / "done").touch()
    git(hooked, "add", "done")
    commit(git, hooked, "side")
    git(hooked, "checkout", "-q", "main")
    quiet(hooked)
    loop(1, "--verify-commit", "renamed") if event == "amend" else loop(1, "--verify-file", "done")
    if event == "rebase":
        commit(git, hooked, "mine")
        eventually(lambda: "OL-1 failed" in subjects()[0])
    words = {
        "merge": ["merge", "-q", "side"], "checkout": ["checkout", "-q", "side"], "rebase": ["rebase", "-q", "side"],
        "amend": ["commit", "-q", "--amend", "--allow-empty", "-m", "renamed"],
    }  # fmt: skip
    git(hooked, *words[event])
    eventually(lambda: "OL-1 verified" in subjects()[0])


@pytest.mark.slow
def test_the_commit_does_not_wait_for_the_checks(baton, git, hooked, loop, subjects, tmp_path):
    go = tmp_path / "go"
    words = ["sh", "-c", f"until [ -e '{go}' ]; do sleep 0.05; done"]
    loop(1, "--verify-command", "--", *words)
    baton("trust", "--yes", "--", *words)
    done = subprocess.run(
        "git commit -q --allow-empty -m x 2>&1 | cat", shell=True, cwd=hooked, capture_output=True, text=True
    )
    assert done.stdout == ""
    go.touch()
    eventually(lambda: "OL-1 verified" in subjects()[0])


@pytest.mark.slow
def test_no_process_is_started_if_nothing_is_due(baton, git, hooked, loop, tmp_path):
    program = hook(tmp_path, "called", f"#!/bin/sh\ntouch {tmp_path}/was-called\n")
    loop(1, "--verify-http", "http://127.0.0.1:1/")
    for event in ("post-commit", "post-checkout", "post-merge", "post-rewrite"):
        text = HookScript(event, "refs/heads/baton/", (str(program),)).text
        (hooked / ".git/hooks" / event).write_bytes(text)
    (hooked / ".git/baton/due/").mkdir(exist_ok=True)
    commit(git, hooked)
    commit(git, hooked, "y", "--amend")
    git(hooked, "checkout", "-q", "-b", "other", "HEAD~1")
    git(hooked, "merge", "-q", "main")
    time.sleep(0.2)
    assert not (tmp_path / "was-called").exists()
    (hooked / ".git/baton/due/work").touch()
    commit(git, hooked)
    eventually(lambda: (tmp_path / "was-called").exists())


@pytest.mark.slow
def test_an_outdated_marker_is_removed(git, hooked, subjects):
    (hooked / ".git/baton/due").mkdir(parents=True, exist_ok=True)
    (hooked / ".git/baton/due/work").touch()
    (hooked / ".git/baton/due/NO NAME").touch()
    commit(git, hooked)
    eventually(lambda: not (hooked / ".git/baton/due/work").exists())
    assert len(subjects()) == 1


@pytest.mark.slow
def test_a_process_that_died_early_does_not_block_others(git, hooked, loop, subjects):
    loop(1, "--verify-file", "done")
    (hooked / "done").touch()
    gone = subprocess.run(["sh", "-c", "echo $$"], capture_output=True, text=True, check=True).stdout
    (hooked / ".git/baton/asked").write_text(gone)
    commit(git, hooked)
    eventually(lambda: "OL-1 verified" in subjects()[0])


@pytest.mark.slow
def test_a_pending_background_check_is_not_requested_again(git, hooked, loop, subjects):
    loop(1, "--verify-file", "done")
    (hooked / "done").touch()
    asked = hooked / ".git/baton/asked"
    asked.write_text(f"{os.getpid()}\n")
    commit(git, hooked)
    time.sleep(0.3)
    assert asked.read_text() == f"{os.getpid()}\n"
    os.utime(asked, (0, 0))  # it was killed, and another process has its id
    commit(git, hooked)
    eventually(lambda: "OL-1 verified" in subjects()[0])


def test_a_baton_that_fails_leaves_no_mark_that_blocks_the_next_hook(git, hooked, loop):
    text = HookScript("post-commit", "refs/heads/baton/", ("/bin/sh", "-c", "echo broken >&2; exit 1")).text
    (hooked / ".git/hooks/post-commit").write_bytes(text)
    loop(1, "--verify-file", "done")
    log = hooked / ".git/baton/hooks.log"
    commit(git, hooked)
    eventually(lambda: log.exists() and log.read_text() == "broken\n")
    eventually(lambda: not (hooked / ".git/baton/asked").exists())
    commit(git, hooked)
    eventually(lambda: log.read_text() == "broken\nbroken\n")


@pytest.mark.slow
def test_a_broken_namespace_does_not_block_others(baton, git, hooked, loop, subjects):
    loop(1, "--verify-file", "done")
    (hooked / "done").touch()
    (hooked / ".git/refs/heads/baton/bad").write_text("no id\n")
    (hooked / ".git/baton/due/bad").touch()
    commit(git, hooked)
    eventually(lambda: "OL-1 verified" in subjects()[0])
    eventually(lambda: "bad" in (hooked / ".git/baton/hooks.log").read_text())


@pytest.mark.slow
def test_a_commit_that_another_program_makes_with_dulwich_verifies_loops_too(hooked, loop, subjects):
    """dulwich starts hooks in another folder and without git's variables."""
    loop(1, "--verify-file", "done")
    (hooked / "done").touch()
    with DulwichRepo(str(hooked)) as repo:
        repo.get_worktree().commit(message=b"x", author=b"A <a@b>", committer=b"A <a@b>")
    eventually(lambda: "OL-1 verified" in subjects()[0])


@pytest.mark.slow
def test_the_log_has_a_size_limit(git, hooked, loop, subjects):
    log = hooked / ".git/baton/hooks.log"
    log.write_text("a line of the past\n" * 10_000)
    loop(1, "--verify-file", "done")
    (hooked / "done").touch()
    commit(git, hooked)
    eventually(lambda: "OL-1 verified" in log.read_text())
    assert log.stat().st_size < 40_000
    assert log.read_text().startswith("a line of the past\n")


@pytest.mark.slow
def test_a_hook_ignores_the_repository_namespace_and_session_in_the_environment(
    git, hooked, loop, subjects, monkeypatch
):
    loop(1, "--verify-file", "done")
    (hooked / "done").touch()
    monkeypatch.setenv("BATON_REPO", str(hooked.parent / "elsewhere.git"))
    monkeypatch.setenv("BATON_NAMESPACE", "else")
    monkeypatch.setenv("BATON_SESSION", "x\ny")
    commit(git, hooked)
    eventually(lambda: "OL-1 verified" in subjects()[0])
    assert not (hooked.parent / "elsewhere.git").exists()


@pytest.mark.slow
def test_modules_of_the_project_that_have_the_names_of_imported_modules_are_not_run(git, hooked, loop, subjects):
    for name in ("click", "baton_git", "tomllib", "signal"):
        (hooked / f"{name}.py").write_text("raise SystemExit('run')\n")
    loop(1, "--verify-file", "click.py")
    commit(git, hooked)
    eventually(lambda: "OL-1 verified" in subjects()[0])


# --- post-rewrite without its input


def hand_over_without_input(folder):
    """Run the moved script with empty input, as tools other than pre-commit may do."""
    (folder / "post-rewrite").rename(folder / "post-rewrite.legacy")
    hook(folder, "post-rewrite", '#!/bin/sh\n"$0.legacy" "$@" </dev/null\n')


@pytest.mark.parametrize("tool", slow_after(1, ["pre-commit-first", "pre-commit-last", "another"]))
@pytest.mark.parametrize("how", ["amend", pytest.param("rebase", marks=pytest.mark.slow)])
def test_a_rewritten_commit_is_known_although_the_hook_got_no_input(baton, git, hooked, loop, subjects, tool, how):
    """pre-commit 4.7.0 runs a moved post-rewrite hook with empty input (commands/hook_impl.py, _run_legacy)."""
    folder = hooked / ".git/hooks"
    if tool == "pre-commit-first":
        baton("hooks", "uninstall")
        pre_commit(folder, "post-rewrite")
        baton("hooks", "install")
    elif tool == "pre-commit-last":
        pre_commit(folder, "post-rewrite")
    else:
        hand_over_without_input(folder)
    git(hooked, "branch", "before")
    commit(git, hooked, "work")
    old = git(hooked, "rev-parse", "HEAD")
    if how == "amend":
        commit(git, hooked, "work, done", "--amend")
    else:
        git(hooked, "checkout", "-q", "before")
        commit(git, hooked, "of others")
        git(hooked, "rebase", "-q", "--empty=keep", "before", "main")
    eventually(lambda: load_rewritten(hooked / ".git").get(old) == git(hooked, "rev-parse", "HEAD"))
    loop(1, "--verify-commit", old)
    baton("verify")
    assert "OL-1 verified" in subjects()[0]
    if tool != "another":
        (state,) = (one for one in baton("hooks", "status", "--json").json["events"] if one["event"] == "post-rewrite")
        assert (state["runs"], state["gets_input"]) == (True, False)
        assert "without its input" in baton("hooks", "status").out
        assert "warning  hooks: post-rewrite: without its input" in baton("doctor", "hooks").out


def test_a_hook_that_gets_its_input_again_is_no_longer_reported(baton, git, hooked):
    (hooked / ".git/baton/hook-input").mkdir(parents=True)
    (hooked / ".git/baton/hook-input/post-rewrite").write_text("1\n")
    assert "it had none when it ran last" in baton("hooks", "status").out
    commit(git, hooked, "work")
    commit(git, hooked, "done", "--amend")
    quiet(hooked)
    assert "without its input" not in baton("hooks", "status").out


# --- pre-push


@pytest.fixture
def pushed(git, hooked):
    """Push main to a new remote; return the output."""
    git(hooked, "init", "-q", "--bare", "../r.git")
    git(hooked, "remote", "add", "origin", "../r.git")

    def push(*words: str, env: dict[str, str] | None = None) -> str:
        argv = ["git", "push", "-q", *(words or ("origin", "main"))]
        done = subprocess.run(argv, cwd=hooked, capture_output=True, text=True, env={**os.environ, **(env or {})})
        assert done.returncode == 0
        return done.stderr

    return push


def replace_baton(top, code):
    """Let pre-push call a Python program instead of baton."""
    words = (sys.executable, "-c", code)
    (top / ".git/hooks/pre-push").write_bytes(HookScript("pre-push", "refs/heads/baton/", words).text)
    (top / ".git/baton/unsent").mkdir(exist_ok=True)
    (top / ".git/baton/unsent/work").touch()


def test_a_push_succeeds_although_baton_fails(hooked, pushed):
    replace_baton(hooked, "import sys; print('broken', file=sys.stderr); sys.exit(70)")
    assert pushed() == ""


@pytest.mark.parametrize(
    ("words", "env"), [(("../r.git", "main"), {}), (("origin", "main"), {"BATON_HOOK": "1"})], ids=["no-name", "ours"]
)
def test_a_push_by_baton_or_to_a_remote_without_a_name_does_not_call_baton(hooked, pushed, words, env):
    replace_baton(hooked, "print('called')")
    assert pushed(*words, env=env) == ""


def test_the_push_hook_gets_the_remote_and_the_refs(git, hooked, pushed):
    replace_baton(hooked, "import sys; print(sys.argv[1:], sys.stdin.read())")
    head = git(hooked, "rev-parse", "HEAD")
    expected = f"['hooks', 'run', 'pre-push', '--repo', '.git', 'origin'] refs/heads/main {head} refs/heads/main"
    assert expected in pushed()


PATCHED = """
import sys, time
from baton_git.interfaces.cli.machine import hook_events
from baton_git.interfaces.cli import main
hook_events.push_along = {}
sys.argv = ['baton', *sys.argv[1:]]
main()
"""
"""The command, with another function in place of the one that pushes namespaces."""


@pytest.mark.slow
def test_a_push_waits_at_most_five_seconds(hooked, pushed):
    replace_baton(hooked, PATCHED.format("lambda *_: time.sleep(600)"))
    assert pushed() == "baton: namespaces were not pushed: no answer within 4 s\n"


@pytest.mark.slow
def test_the_result_of_the_push_hook_is_reported_in_one_line(hooked, pushed):
    replace_baton(hooked, PATCHED.format("lambda ws, now, remote, seconds: f'{ws.branch.namespace} to {remote}'"))
    assert pushed() == "baton: work to origin\n"


@pytest.mark.slow
def test_branches_that_the_user_pushes_are_not_pushed_again(hooked, pushed):
    """Our push would move the remote's branch after git has read it, and git's own push would fail."""
    replace_baton(hooked, PATCHED.format("lambda *_: 'called'"))
    assert pushed("origin", "main", "baton/work") == ""


@pytest.fixture
def synced(baton, git, hooked, pushed):
    """Return a repository whose namespace is on the remote, and has one more commit here."""
    git(hooked, "push", "-q", "--no-verify", "origin", "main")
    baton("sync")
    assert not (hooked / ".git/baton/unsent/work").exists()
    baton("followup", "add", "Later", "--id", "FU-1")
    assert (hooked / ".git/baton/unsent/work").exists()


@pytest.mark.usefixtures("synced")
def test_unsent_commits_are_pushed_with_the_users_push(git, hooked, pushed):
    commit(git, hooked)
    assert pushed() == "baton: work: 1 commit sent to origin\n"
    assert git(hooked.parent / "r.git", "rev-parse", "baton/work") == git(hooked, "rev-parse", "baton/work")
    assert not (hooked / ".git/baton/unsent/work").exists()
    commit(git, hooked)
    assert pushed() == ""


@pytest.mark.slow
def test_the_push_hook_pushes_only_with_autosync_and_to_remotes_that_have_the_branch(baton, git, hooked, pushed):
    baton("followup", "add", "Later")
    assert pushed() == ""
    baton("sync")
    baton("followup", "add", "Later still")
    git(hooked, "config", "baton.autosync", "false")
    commit(git, hooked)
    assert pushed() == ""
    assert git(hooked, "rev-parse", "baton/work") not in git(hooked.parent / "r.git", "for-each-ref")


@pytest.fixture
def write_and_push(baton, git, hooked, pushed):
    """Return a function that adds a commit to the namespace, pushes code, and tells whether the remote got it."""

    def check(remote: str = "origin") -> bool:
        baton("followup", "add", "Later")
        commit(git, hooked)
        assert len(pushed(remote, "main").splitlines()) <= 1
        return git(hooked, "rev-parse", "baton/work") in git(hooked.parent / "r.git", "for-each-ref")

    return check


@pytest.mark.parametrize("tool", ["", "pre-commit-first", "pre-commit-last"])
def test_a_namespace_that_git_pushed_counts_as_shared(baton, git, hooked, write_and_push, tool):
    assert not write_and_push()
    baton("hooks", "uninstall")
    git(hooked, "push", "-q", "origin", "baton/work")
    if tool == "pre-commit-first":
        pre_commit(hooked / ".git/hooks", "pre-push")
    baton("hooks", "install")
    if tool == "pre-commit-last":
        pre_commit(hooked / ".git/hooks", "pre-push")
    assert write_and_push()
    assert write_and_push()


@pytest.mark.parametrize(
    "words", slow_after(1, [("baton/work",), ("-q", "baton/work:refs/heads/baton/work"), ("--all",)]), ids=str
)
def test_a_push_that_leaves_no_remote_tracking_branch_counts_too(git, hooked, pushed, write_and_push, words):
    git(hooked, "config", "remote.origin.fetch", "+refs/heads/main:refs/remotes/origin/main")  # clone --single-branch
    assert pushed("origin", *words) == ""
    assert git(hooked, "for-each-ref", "refs/remotes/origin/baton") == ""
    assert write_and_push()


@pytest.mark.slow
def test_a_push_to_another_remote_counts_for_that_remote(git, hooked, write_and_push):
    git(hooked, "remote", "rename", "origin", "backup")
    git(hooked, "init", "-q", "--bare", "../o.git")
    git(hooked, "remote", "add", "origin", "../o.git")
    git(hooked, "push", "-q", "backup", "baton/work")
    assert not write_and_push("origin")
    assert git(hooked.parent / "o.git", "for-each-ref", "refs/heads/baton") == ""
    assert write_and_push("backup")


@pytest.mark.parametrize("how", slow_after(1, ["refused", "deleted", "off"]))
def test_a_branch_that_the_remote_lacks_or_that_is_not_synced_stays_here(git, hooked, pushed, write_and_push, how):
    server = hooked.parent / "r.git"
    if how == "refused":
        refusing = hook(server / "hooks", "pre-receive", "#!/bin/sh\n! grep -q refs/heads/baton/\n")
        subprocess.run(["git", "push", "-q", "origin", "baton/work"], cwd=hooked, capture_output=True)
        refusing.unlink()
    else:
        assert pushed("origin", "baton/work") == ""
    if how == "deleted":
        git(server, "update-ref", "-d", "refs/heads/baton/work")
    if how == "off":
        git(hooked, "config", "baton.autosync", "false")
    for _ in range(2):
        assert not write_and_push()
    assert ("refs/heads/baton/work" in git(server, "for-each-ref")) == (how == "off")


@pytest.mark.slow
@pytest.mark.usefixtures("synced")
def test_a_namespace_with_a_damaged_record_is_not_pushed(baton, git, hooked, pushed):
    blob = git(hooked, "hash-object", "-w", "--stdin", text="not [toml")
    folder = git(hooked, "mktree", text=f"100644 blob {blob}\tOL-9.toml\n")
    tree = git(hooked, "ls-tree", "baton/work") + f"\n040000 tree {folder}\topen_loops\n"
    new = git(hooked, "commit-tree", "-p", "baton/work", "-m", "x", git(hooked, "mktree", text=tree))
    git(hooked, "update-ref", "refs/heads/baton/work", new)
    assert pushed("origin", "main:other").startswith("baton: work was not pushed: open_loops/OL-9.toml: ")


@pytest.mark.slow
@pytest.mark.usefixtures("synced")
def test_a_push_of_code_succeeds_although_the_server_refuses_the_namespace(git, hooked, pushed):
    refuse = "#!/bin/sh\ngrep -q refs/heads/baton/ || exit 0\necho no baton here\nexit 1\n"
    hook(hooked.parent / "r.git/hooks", "pre-receive", refuse)
    commit(git, hooked)
    output = pushed()
    assert output.startswith("baton: work: ")
    assert len(output.splitlines()) == 1
    assert git(hooked.parent / "r.git", "rev-parse", "main") == git(hooked, "rev-parse", "main")


@pytest.mark.slow
def test_a_commit_with_hooks_leaves_no_other_files_behind(git, hooked, loop, subjects):
    loop(1, "--verify-file", "done")
    (hooked / "done").touch()
    before = set(everything(hooked))
    commit(git, hooked)
    eventually(lambda: "OL-1 verified" in subjects()[0])
    quiet(hooked)
    eventually(lambda: not list((hooked / ".git/baton/due").iterdir()))
    new = {name for name in set(everything(hooked)) - before if not name.startswith(".git/objects/")}
    assert {name for name in new if not name.startswith(".git/baton/")} <= {".git/COMMIT_EDITMSG"}
    assert not [name for name in new if "due" in name or name.endswith("asked")]
