"""Which pushes a bare repository accepts, and what it does after a push."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hook_world import eventually, hook

from baton_git.git.hooks.script import HookScript

PREFIX = "refs/heads/baton/"


@pytest.fixture
def server(baton, git, top):
    """Return a bare repository with hooks: the remote `origin` of `top`, which has a namespace of four records."""
    place = top.parent / "r.git"
    git(top, "init", "-q", "--bare", "-b", "main", str(place))
    git(place, "config", "user.name", "Server")
    baton("hooks", "install", "--repo", str(place))
    git(top, "remote", "add", "origin", str(place))
    baton("init")
    baton("loop", "add", "Did it", "--expect", "y", "--id", "OL-1", "--verify-commit", "Mend it")
    baton("loop", "add", "Made it", "--expect", "y", "--id", "OL-2", "--verify-file", "/etc/passwd")
    baton("pattern", "record", "Assumed", "--id", "PAT-1", "--rule", "Look first")
    return place


@pytest.fixture
def push(top):
    """Push; return the exit status and the output."""

    def call(*words: str, to: str = "origin") -> tuple[int, str]:
        done = subprocess.run(["git", "push", to, *words], cwd=top, capture_output=True, text=True, timeout=60)
        return done.returncode, done.stderr

    return call


@pytest.fixture
def by_hand(git, top):
    """Make a commit with these files on the branch, as a person would."""

    def make(files: dict[str, str], *, branch: str = "baton/work", parent: str | None = None) -> str:
        index = str(top / ".git/scratch-index")
        run = {"cwd": top, "env": {**os.environ, "GIT_INDEX_FILE": index}, "check": True, "capture_output": True}
        start = parent or git(top, "rev-parse", "baton/work")
        subprocess.run(["git", "read-tree", start], **run)
        for path, text in files.items():
            blob = git(top, "hash-object", "-w", "--stdin", text=text)
            subprocess.run(["git", "update-index", "--add", "--cacheinfo", f"100644,{blob},{path}"], **run)
        tree = subprocess.run(["git", "write-tree"], text=True, **run).stdout.strip()
        new = git(top, "commit-tree", "-p", start, "-m", "by hand", tree)
        git(top, "update-ref", f"refs/heads/{branch}", new)
        return new

    return make


@pytest.fixture
def daemon(top):
    """Run a git daemon for the folder around `top`; yield its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    base = str(top.parent)
    words = ["--listen=127.0.0.1", f"--port={port}", f"--base-path={base}", "--enable=receive-pack", "--export-all"]
    running = subprocess.Popen(["git", "daemon", "--reuseaddr", *words, base], stderr=subprocess.DEVNULL)
    eventually(lambda: _answers(port))
    yield f"git://127.0.0.1:{port}/r.git"
    running.terminate()
    running.wait()


def _answers(port):
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def graduated(git, top):
    text = git(top, "show", "baton/work:patterns/PAT-1.toml")
    return {"patterns/PAT-1.toml": text.replace('status = "observing"', 'status = "graduated"') + "\n"}


@pytest.mark.slow
def test_a_server_accepts_commits_of_baton(git, server, push):
    assert push("main", "baton/work")[0] == 0
    assert git(server, "for-each-ref", "--format=%(refname)") == "refs/heads/baton/work\nrefs/heads/main"


@pytest.mark.parametrize("transport", ["path", pytest.param("daemon", marks=pytest.mark.slow)])
def test_a_push_that_breaks_a_rule_is_refused_with_record_field_and_reason(
    git, top, server, push, by_hand, request, transport
):
    to = "origin" if transport == "path" else request.getfixturevalue("daemon")
    assert push("baton/work", to=to)[0] == 0
    bad = by_hand(graduated(git, top))
    before = git(server, "for-each-ref")
    code, output = push("main", "baton/work", to=to)
    assert code == 1
    assert "remote: baton: refused PAT-1, field status: " in output
    assert bad[:8] in output
    assert "pre-receive hook declined" in output
    assert git(server, "for-each-ref") == before


@pytest.mark.slow
def test_a_record_that_cannot_be_read_is_refused(server, push, by_hand):
    by_hand({"open_loops/OL-7.toml": "not [toml"})
    code, output = push("baton/work")
    assert code == 1
    assert "OL-7" in output


@pytest.mark.slow
def test_at_most_twenty_faults_are_reported(server, push, by_hand):
    by_hand({f"open_loops/OL-{number}.toml": "bad" for number in range(10, 45)})
    _, output = push("baton/work")
    assert output.count("remote: baton: refused ") == 20
    assert "remote: baton: and 15 more" in output


@pytest.mark.slow
def test_a_branch_cannot_be_deleted_or_rewound_unless_the_server_allows_it(git, top, server, push):
    assert push("baton/work", "baton/work:baton/second")[0] == 0
    code, output = push(":baton/second", "+baton/work~1:baton/work")
    assert code == 1
    assert "a push may not delete refs/heads/baton/second" in output
    assert "the push would remove commits from refs/heads/baton/work" in output
    git(server, "config", "baton.allowRewrite", "true")
    assert push(":baton/second", "+baton/work~1:baton/work")[0] == 0


@pytest.mark.slow
def test_branches_without_an_encoded_name_or_a_supported_format_file_are_refused(git, top, server, push, by_hand):
    by_hand({"format.toml": "version = 99\n"}, branch="newer")
    names = ("My-App", "a/b", "a%2fb%zz")
    wrong = [f"baton/work:refs/heads/baton/{name}" for name in names]
    code, output = push(*wrong, "main:baton/other", "newer:baton/newer")
    assert code == 1
    assert [f"refs/heads/baton/{name} is not the encoded name of a namespace" in output for name in names] == [True] * 3
    assert "other: it has no format.toml" in output
    assert "upgrade baton-git" in output


def test_a_tag_in_place_of_a_commit_is_refused(git, top, server, push):
    git(top, "tag", "-a", "-m", "x", "t", "baton/work")
    git(server, "config", "receive.fsckObjects", "false")
    assert push("t:refs/heads/baton/t")[0] == 1


def test_a_push_is_accepted_without_the_imports_of_the_command_line_and_the_models(git, top, server):
    new = git(top, "rev-parse", "baton/work")
    code = (
        "import sys; from baton_git.interfaces.hook.push_check import accepts_push; "
        "print(accepts_push(['--repo', sys.argv[1]]), {'click', 'pydantic', 'baton_git.verbs'} & {*sys.modules})"
    )
    for old, expected in (("0" * 40, "True set()\n"), (git(top, "rev-parse", "HEAD"), "False set()\n")):
        lines = f"{old} {new} {PREFIX}work\n"
        argv = [sys.executable, "-c", code, str(top)]
        assert subprocess.run(argv, input=lines, capture_output=True, text=True, check=True).stdout == expected


def test_baton_is_not_called_for_other_branches(git, top, server, push, tmp_path):
    program = hook(tmp_path, "called", f"#!/bin/sh\ntouch {tmp_path}/was-called\n")
    for event in ("pre-receive", "post-receive"):
        (server / "hooks" / event).write_bytes(HookScript(event, PREFIX, (str(program),)).text)
    assert push("main", "main:feature/baton/x")[0] == 0
    time.sleep(0.2)
    assert not (tmp_path / "was-called").exists()


def test_a_server_rejects_only_what_it_cannot_check(server, push, monkeypatch):
    (server / "hooks/pre-receive").write_bytes(HookScript("pre-receive", PREFIX, ("/nowhere/python",)).text)
    path = [one for one in os.environ["PATH"].split(os.pathsep) if not (Path(one) / "baton").exists()]
    monkeypatch.setenv("PATH", os.pathsep.join(path))
    code, output = push("baton/work")
    assert code == 1
    assert "baton is not found on this server" in output
    assert push("main")[0] == 0


def test_a_server_refuses_a_push_whose_lines_another_script_has_read(git, server, push, tmp_path):
    """With core.hooksPath, commands before baton's line may read the input; git always passes at least one line."""
    hook(tmp_path / "hooks", "pre-receive", f'#!/bin/sh\ncat >/dev/null\n"{server}/hooks/pre-receive"\n')
    git(server, "config", "core.hooksPath", str(tmp_path / "hooks"))
    code, output = push("baton/work")
    assert code != 0
    assert "refused, since baton's pre-receive hook got no input to check" in output


def test_a_bug_in_baton_refuses_the_push_in_one_line(server, push, tmp_path):
    program = hook(tmp_path, "broken", "#!/bin/sh\necho 'baton: a bug in baton itself' >&2\nexit 70\n")
    (server / "hooks/pre-receive").write_bytes(HookScript("pre-receive", PREFIX, (str(program),)).text)
    code, output = push("baton/work")
    assert code == 1
    assert output.count("remote: baton: ") == 1


def test_previous_hooks_get_the_same_push_and_may_refuse_it(baton, git, top, server, push):
    baton("hooks", "uninstall", "--repo", str(server))
    for event in ("pre-receive", "post-receive", "update"):
        hook(server / "hooks", event, f'#!/bin/sh\ncat >>"{top.parent}/{event}"; echo "$@" >>"{top.parent}/{event}"\n')
    update = (server / "hooks/update").read_bytes()
    baton("hooks", "install", "--repo", str(server))
    assert (server / "hooks/update").read_bytes() == update
    assert push("main", "baton/work")[0] == 0
    seen = (top.parent / "pre-receive").read_text()
    assert (top.parent / "post-receive").read_text() == seen
    assert seen.count("refs/heads/") == 2
    hook(server / "hooks", "pre-receive.pre-baton", "#!/bin/sh\nexit 1\n")
    assert push("main:other")[0] == 1


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="there is no ssh-keygen")
def test_with_signing_configured_every_commit_needs_an_allowed_key(baton, git, top, server, push):
    key = top.parent / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    (top.parent / "allowed").write_text(f"ada@example.org {key.with_suffix('.pub').read_text()}")
    git(server, "config", "baton.allowedSigners", str(top.parent / "allowed"))
    code, output = push("baton/work")
    assert code == 1
    assert "is not signed by an allowed key (commit " in output
    git(top, "config", "baton.signingKey", str(key))
    baton("init", "--namespace", "signed")
    baton("followup", "add", "Later", "--namespace", "signed")
    assert push("baton/signed")[0] == 0


# --- after a push


def checked(git, server, id_):
    return "result = " in git(server, "show", f"baton/work:open_loops/{id_}.toml")


@pytest.mark.slow
def test_a_pushed_commit_settles_loops_on_the_server_and_nothing_else_is_checked(git, top, server, push):
    push("main", "baton/work")
    eventually(lambda: "OL-1 failed" in git(server, "log", "-1", "--format=%s", "baton/work"))
    git(top, "commit", "-q", "--allow-empty", "-m", "Mend it")
    code, _ = push("main")
    assert code == 0
    eventually(lambda: "OL-1 verified" in git(server, "log", "-1", "--format=%s", "baton/work"))
    assert git(top, "rev-parse", "HEAD") in git(server, "show", "baton/work:open_loops/OL-1.toml")
    assert "Baton-Agent: server" in git(server, "log", "-1", "--format=%B", "baton/work")
    assert "Baton-Session" not in git(server, "log", "-1", "--format=%B", "baton/work")
    assert not checked(git, server, "OL-2")
    eventually(lambda: not list((server / "baton/due").iterdir()))


@pytest.mark.slow
def test_code_and_loops_that_come_in_one_push_are_settled(git, top, server, push):
    git(top, "commit", "-q", "--allow-empty", "-m", "Mend it")
    assert push("main", "baton/work")[0] == 0
    eventually(lambda: "OL-1 verified" in git(server, "log", "-1", "--format=%s", "baton/work"))


@pytest.mark.slow
def test_a_server_with_another_ref_prefix_guards_the_branches_of_that_prefix(baton, git, top, server, push):
    git(server, "config", "baton.refPrefix", "refs/baton/")
    assert "not up to date" in baton("hooks", "status", "--repo", str(server)).out
    baton("hooks", "install", "--repo", str(server))
    assert "is not the encoded name" in push("main:refs/baton/No")[1]
    assert push("main:refs/heads/baton/No")[0] == 0


def test_a_push_over_the_budget_is_refused_before_anything_is_expanded(git, top, server, push):
    """100^6 paths in 9 objects."""
    assert push("baton/work")[0] == 0
    inside, mode = git(top, "hash-object", "-w", "--stdin", text="x"), "100644 blob"
    for _ in range(6):
        lines = "".join(f"{mode} {inside}\t{number:03}\n" for number in range(100))
        inside, mode = git(top, "mktree", text=lines), "040000 tree"
    root = git(top, "ls-tree", "baton/work") + f"\n040000 tree {inside}\tbomb\n"
    bad = git(top, "commit-tree", "-p", "baton/work", "-m", "by hand", git(top, "mktree", text=root))
    code, output = push(f"{bad}:refs/heads/baton/work")
    assert code == 1
    assert f"is rejected: commit {bad[:8]}: has more than 200,000 files" in output
    assert git(server, "rev-parse", "baton/work") == git(top, "rev-parse", "baton/work")
