"""Hooks are installed next to those of other tools, upgraded in place, and removed without a trace."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from broken_programs import spoil
from hook_world import CLIENT, everything, hook

from baton_git.git.hooks.script import VERSION, HookScript, make_scripts, read_marker


@pytest.fixture
def folder(top):
    return top / ".git/hooks"


def states(baton, top, **more):
    return {one["event"]: one for one in baton("hooks", "status", "--json", cwd=top, **more).json["events"]}


def older(path):
    """Change an installed script into that of an older version."""
    body = path.read_bytes().split(b"\n", 2)[2].replace(b"none_in", b"nothing_in")
    path.write_bytes(_signed(body, 0))


def _signed(body, version):
    from hashlib import sha256

    return b"#!/bin/sh\n# baton-git hook %d post-commit %s\n" % (version, sha256(body).hexdigest().encode()) + body


def test_after_an_installation_every_hook_will_run(baton, top):
    assert not any(one["runs"] for one in states(baton, top).values())
    baton("hooks", "install")
    assert {event for event, one in states(baton, top).items() if one["runs"]} == set(CLIENT)
    assert all(os.access(top / ".git/hooks" / event, os.X_OK) for event in CLIENT)


def test_a_second_installation_changes_nothing(baton, top):
    baton("hooks", "install")
    before = everything(top / ".git")
    done = baton("hooks", "install", "--json")
    assert done.json == {"mode": "files", "changed": False, "notes": []}
    assert everything(top / ".git") == before


def test_uninstalling_puts_back_bytes_modes_and_links(baton, top, folder):
    hook(folder, "post-commit", "#!/bin/sh\necho mine\n", mode=0o750)
    hook(folder, "pre-push", "#!/bin/sh\nexit 0\n", mode=0o644)
    hook(top, "tracked-hook", "#!/bin/sh\n")
    (folder / "post-merge").symlink_to("../../tracked-hook")
    (folder / "post-rewrite").symlink_to("nowhere")
    before = everything(top / ".git")
    baton("hooks", "install")
    assert everything(top / ".git") != before
    assert (top / "tracked-hook").read_text() == "#!/bin/sh\n"
    baton("hooks", "uninstall")
    assert everything(top / ".git") == before
    assert baton("hooks", "uninstall", "--json").json["changed"] is False


def test_hooks_without_a_folder_for_them_are_installed_too(baton, top, folder):
    subprocess.run(["rm", "-r", str(folder)], check=True)
    baton("hooks", "install")
    assert all(one["runs"] for one in states(baton, top).values())


def test_a_script_of_an_older_version_is_replaced_in_place(baton, top, folder):
    hook(folder, "post-commit", "#!/bin/sh\necho mine\n")
    baton("hooks", "install")
    current = (folder / "post-commit").read_bytes()
    older(folder / "post-commit")
    assert "not up to date" in states(baton, top)["post-commit"]["summary"]
    baton("hooks", "install")
    assert (folder / "post-commit").read_bytes() == current
    assert (folder / "post-commit.pre-baton").read_text() == "#!/bin/sh\necho mine\n"


def test_a_script_of_a_newer_version_is_left_unchanged(baton, top, folder):
    baton("hooks", "install")
    newer = _signed(b"exit 0\n", 999)
    (folder / "post-commit").write_bytes(newer)
    assert "newer baton" in baton("hooks", "install").err
    assert (folder / "post-commit").read_bytes() == newer


def test_a_newer_hook_of_another_tool_is_kept_and_the_backup_of_the_older_one_is_not_run(baton, git, top, folder):
    """entireio/cli#2237: the newer hook was overwritten, and the backup of the older hook was run."""
    hook(folder, "post-commit", "#!/bin/sh\necho old >>ran\n")
    baton("hooks", "install")
    hook(folder, "post-commit", "#!/bin/sh\necho new >>ran\n")
    baton("hooks", "install")
    git(top, "commit", "-q", "--allow-empty", "-m", "x")
    assert (top / "ran").read_text() == "new\n"
    (kept,) = folder.glob("post-commit.pre-baton.*")
    assert "echo old" in kept.read_text()
    done = baton("hooks", "uninstall")
    assert "echo new" in (folder / "post-commit").read_text()
    assert str(kept) in done.err


def test_a_hook_that_another_tool_installed_over_batons_is_kept_and_reported(baton, top, folder):
    hook(folder, "post-commit", "#!/bin/sh\necho mine\n")
    baton("hooks", "install")
    other = hook(folder, "post-commit", "#!/bin/sh\necho other\n").read_text()
    assert "another tool" in states(baton, top)["post-commit"]["summary"]
    done = baton("hooks", "uninstall")
    assert "is no longer baton's" in done.err
    assert (folder / "post-commit").read_text() == other
    assert (folder / "post-commit.pre-baton").exists()
    assert not (folder / "pre-push").exists()


def test_an_edited_script_is_kept_by_install_and_uninstall(baton, top, folder):
    baton("hooks", "install")
    path = folder / "post-commit"
    path.write_text(path.read_text() + "echo edited\n")
    edited = path.read_text()
    assert "changed by hand" in baton("hooks", "uninstall").err
    assert path.read_text() == edited
    baton("hooks", "install")
    (kept,) = folder.glob("post-commit.changed-*")
    assert kept.read_text() == edited


def test_an_interrupted_installation_is_resumed(baton, top, folder):
    """beads#2344: an interrupted installation stayed incomplete."""
    hook(folder, "post-commit", "#!/bin/sh\necho mine\n")
    before = everything(top / ".git")
    os.link(folder / "post-commit", folder / "post-commit.pre-baton")
    baton("hooks", "install")
    assert not list(folder.glob("post-commit.pre-baton.*"))
    baton("hooks", "uninstall")
    assert everything(top / ".git") == before


def test_hooks_run_and_can_be_uninstalled_although_batons_folder_in_git_was_removed(baton, top, folder):
    hook(folder, "post-commit", "#!/bin/sh\necho mine\n")
    before = everything(folder)
    baton("hooks", "install")
    subprocess.run(["rm", "-r", str(top / ".git/baton")], check=True)
    assert states(baton, top)["post-commit"]["runs"]
    baton("hooks", "uninstall")
    assert everything(folder) == before


def test_a_hook_that_was_removed_or_lost_its_mode_will_not_run(baton, top, folder):
    baton("hooks", "install")
    (folder / "post-commit").unlink()
    (folder / "post-merge").chmod(0o644)
    found = states(baton, top)
    assert "was removed" in found["post-commit"]["summary"]
    assert "not executable" in found["post-merge"]["summary"]
    assert "baton boot" in baton("hooks", "status").err


def test_a_hook_whose_baton_is_gone_will_not_run(baton, top, folder, monkeypatch):
    baton("hooks", "install")
    (folder / "pre-push").write_bytes(HookScript("pre-push", "refs/heads/baton/", ("/gone/it's/python", "-m")).text)
    path = [one for one in os.environ["PATH"].split(os.pathsep) if not (Path(one) / "baton").exists()]
    monkeypatch.setenv("PATH", os.pathsep.join(path))
    assert "/gone/it's/python is missing or not executable" in states(baton, top)["pre-push"]["summary"]
    baton("hooks", "install")
    assert states(baton, top)["pre-push"]["runs"]


def test_a_hook_whose_baton_cannot_be_imported_does_nothing_and_status_reports_it(baton, top, folder, tmp_path):
    baton("hooks", "install")
    words = (str(tmp_path / "baton"),)
    spoil(tmp_path / "baton", "a half-finished upgrade")
    (folder / "pre-push").write_bytes(HookScript("pre-push", "refs/heads/baton/", words).text)
    found = states(baton, top)["pre-push"]
    assert not found["runs"]
    assert "fails with exit status 1: ModuleNotFoundError" in found["summary"]
    assert found["summary"].endswith("; run: baton hooks install")
    (folder / "pre-push").write_bytes(HookScript("pre-push", "refs/heads/baton/", words).text + b"# changed\n")
    assert "fails" not in states(baton, top)["pre-push"]["summary"]  # it is not ours any more, so it is not run


def test_the_marker_line_identifies_batons_scripts():
    text = HookScript("pre-push", "refs/heads/baton/", ("/a b/python", "-m", "baton_git")).text
    assert read_marker(text) == (VERSION, "pre-push", True)
    assert read_marker(text + b"#") == (VERSION, "pre-push", False)
    assert read_marker(b"#!/bin/sh\necho baton-git hook\n") is None
    assert read_marker(b"") is None


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_a_shell_can_parse_every_script(tmp_path, shell):
    for event, script in make_scripts((*CLIENT, "pre-receive", "post-receive"), "refs/baton/", ("/it's/here",)).items():
        (tmp_path / event).write_bytes(script.text)
        subprocess.run([shell, "-n", str(tmp_path / event)], check=True)


def test_outside_of_a_repository_no_hooks_are_installed(baton, tmp_path):
    (tmp_path / "outside").mkdir()
    assert "no hooks" in baton("hooks", "install", cwd=tmp_path / "outside", code=2).err


def test_the_hooks_of_a_bare_repository_are_those_of_a_server(baton, git, tmp_path):
    git(tmp_path, "init", "-q", "--bare", "r.git")
    baton("hooks", "install", "--repo", str(tmp_path / "r.git"))
    assert set(states(baton, tmp_path / "r.git")) == {"pre-receive", "post-receive"}


def test_with_server_a_work_tree_gets_both_kinds(baton, top):
    baton("hooks", "install", "--server")
    assert set(states(baton, top)) == {*CLIENT, "pre-receive", "post-receive"}
    assert all(one["runs"] for one in states(baton, top).values())


# --- hooks of other tools

PRE_COMMIT = """\
#!/usr/bin/env bash
# File generated by pre-commit: https://pre-commit.com
# ID: 138fd403232d2ddd5efb44317e38bf03

# start templated
INSTALL_PYTHON=/nowhere/python
ARGS=(hook-impl --config=.pre-commit-config.yaml --hook-type=%s)
# end templated

HERE="$(cd "$(dirname "$0")" && pwd)"
ARGS+=(--hook-dir "$HERE" -- "$@")
echo "${ARGS[@]}" >>ran
if [ -x "$HERE/%s.legacy" ]; then "$HERE/%s.legacy" "$@"; fi
"""
LEFTHOOK = """\
#!/bin/sh
if [ "$LEFTHOOK" = "0" ]; then exit 0; fi
call_lefthook() { dir="$(git rev-parse --show-toplevel)"; echo "lefthook $dir $*" >>ran; }
call_lefthook run "post-commit" "$@"
"""
GIT_LFS = """\
#!/bin/sh
command -v cat >/dev/null 2>&1 || { printf >&2 "no git-lfs"; exit 2; }
echo "git lfs pre-push $*" >>ran; cat >>ran
"""
HUSKY = '#!/usr/bin/env sh\n. "$(dirname "$0")/h"\n'
HUSKY_H = '#!/usr/bin/env sh\necho "$(basename "$0") of $(basename "$(dirname "$0")")" >>ran\nexit 3\n'
PYTHON = "#!/usr/bin/env python3\nimport sys\nopen('ran', 'a').write(f'python {len(sys.argv)}')\n"
GUARDED = '#!/bin/bash\nif [ "${BASH_SOURCE[0]}" = "$0" ]; then echo main >>ran; fi\n'


@pytest.mark.parametrize(
    ("text", "output"),
    [
        (PRE_COMMIT % (("post-commit",) * 3), "--hook-type=post-commit --hook-dir {hooks} --\n"),
        (LEFTHOOK, "lefthook {top} run post-commit\n"), (HUSKY, "post-commit of hooks\n"), (PYTHON, "python 1"),
        (GUARDED, "main\n"), ("#! /bin/sh -e\nfalse\necho no >>ran\n", None),
        ('#!/bin/sh -u\necho "${0##*/}" >>ran\n', "post-commit\n"), ("echo no shebang >>ran\n", "no shebang\n"),
    ],
    ids=["pre-commit", "lefthook", "husky", "python", "guarded", "flags", "name", "bare"],
)  # fmt: skip
def test_a_previous_hook_still_runs(baton, git, top, folder, text, output):
    """entireio/cli#802: a hook that reads its own name got a wrong one; opencode-beads#83: a hook lost its folder."""
    hook(folder, "h", HUSKY_H)
    hook(folder, "post-commit", text)
    git(top, "commit", "-q", "--allow-empty", "-m", "x")
    ran = top / "ran"
    without = ran.read_text() if ran.exists() else None
    ran.unlink(missing_ok=True)
    baton("hooks", "install")
    git(top, "commit", "-q", "--allow-empty", "-m", "x")
    assert (ran.read_text() if ran.exists() else None) == without
    if output is None:
        assert without is None
    else:
        assert output.format(hooks=folder, top=top) in str(without)


def test_a_hook_that_git_would_not_run_is_not_run_by_baton_either(baton, git, top, folder):
    hook(folder, "post-commit", "#!/bin/sh\necho >ran\n", mode=0o644)
    baton("hooks", "install")
    git(top, "commit", "-q", "--allow-empty", "-m", "x")
    assert not (top / "ran").exists()


@pytest.mark.slow
def test_the_previous_hook_gets_arguments_and_input_and_can_stop_a_push(baton, git, top, folder):
    git(top, "init", "-q", "--bare", "../r.git")
    hook(folder, "pre-push", GIT_LFS)
    baton("init")
    baton("hooks", "install")
    git(top, "remote", "add", "origin", "../r.git")
    git(top, "push", "-q", "origin", "main")
    head = git(top, "rev-parse", "HEAD")
    expected = f"git lfs pre-push origin ../r.git\nrefs/heads/main {head} refs/heads/main {'0' * 40}\n"
    assert (top / "ran").read_text() == expected
    (top / ".git/baton/unsent").mkdir(exist_ok=True)
    (top / ".git/baton/unsent/work").touch()
    git(top, "commit", "-q", "--allow-empty", "-m", "x")
    git(top, "push", "-q", "origin", "main")
    assert len((top / "ran").read_text().splitlines()) == 4
    hook(folder, "pre-push.pre-baton", "#!/bin/sh\nexit 9\n")
    git(top, "commit", "-q", "--allow-empty", "-m", "x")
    git(top, "push", "-q", "origin", "main", code=1)


def test_the_exit_status_of_a_checkout_is_that_of_the_previous_hook(baton, git, top, folder):
    hook(folder, "post-checkout", "#!/bin/sh\nexit 4\n")
    baton("hooks", "install")
    git(top, "checkout", "-q", "-b", "other", code=1)


def test_pre_commit_installed_over_batons_hook_runs_it_and_another_installation_changes_nothing(
    baton, git, top, folder
):
    baton("hooks", "install")
    (folder / "post-commit").rename(folder / "post-commit.legacy")
    hook(folder, "post-commit", PRE_COMMIT % (("post-commit",) * 3))
    found = states(baton, top)["post-commit"]
    assert (found["runs"], found["summary"]) == (True, f"as {folder}/post-commit.legacy")
    assert baton("hooks", "install", "--json").json["changed"] is False
    baton("hooks", "uninstall")
    assert sorted(one.name for one in folder.iterdir() if one.suffix != ".sample") == ["post-commit"]


def test_lefthook_installed_over_batons_hook_does_not_run_it(baton, top, folder):
    hook(folder, "post-commit", "#!/bin/sh\necho mine\n")
    baton("hooks", "install")
    (folder / "post-commit").rename(folder / "post-commit.old")
    hook(folder, "post-commit", LEFTHOOK)
    assert states(baton, top)["post-commit"]["runs"] is False
    baton("hooks", "uninstall")
    assert (folder / "post-commit").read_text() == LEFTHOOK
    assert (folder / "post-commit.old").read_text() == "#!/bin/sh\necho mine\n"


def test_if_baton_is_missing_the_hooks_print_nothing_and_do_not_fail(baton, git, top, folder):
    baton("init")
    baton("hooks", "install")
    for event in CLIENT:
        text = HookScript(event, "refs/heads/baton/", ("/nowhere/python",)).text
        (folder / event).write_bytes(text)
    (top / ".git/baton/due").mkdir(exist_ok=True)
    (top / ".git/baton/due/work").touch()
    git(top, "init", "-q", "--bare", "../r.git")
    path = os.pathsep.join(one for one in os.environ["PATH"].split(os.pathsep) if not (Path(one) / "baton").exists())
    for words in (["commit", "--allow-empty", "-qm", "x"], ["checkout", "-qb", "b"], ["push", "-q", "../r.git", "b"]):
        done = subprocess.run(
            ["git", *words], cwd=top, env={**os.environ, "PATH": path}, capture_output=True, text=True
        )
        assert (done.returncode, done.stderr) == (0, "")
