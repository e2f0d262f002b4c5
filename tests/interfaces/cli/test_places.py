"""Which repository and namespace a command uses, and that it leaves everything else alone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from default_run import slow_after


def repository_of(done):
    return done.json["repository"]


def namespace_of(done):
    return done.json["namespace"]


# --- the namespace


def test_the_namespace_is_the_name_of_the_repositorys_folder(baton, top):
    (top / "deep/er").mkdir(parents=True)
    assert namespace_of(baton("status", "--json", cwd=top / "deep/er")) == "work"


def test_the_namespace_of_git_config_comes_before_the_folder(baton, git, top):
    git(top, "config", "baton.namespace", "project:x")
    baton("boot")
    assert namespace_of(baton("status", "--json")) == "project:x"


def test_the_option_overrides_the_variable_and_both_override_git_config(baton, git, top):
    git(top, "config", "baton.namespace", "configured")
    env = {"BATON_NAMESPACE": "from env"}
    baton("boot", "-n", "option", "--create")
    for variables in (env, {}):
        baton("boot", env=variables)
    assert namespace_of(baton("status", "--json", env=env)) == "from env"
    assert namespace_of(baton("status", "--json", "-n", "option", env=env)) == "option"
    assert namespace_of(baton("status", "--json", env={"BATON_NAMESPACE": ""})) == "configured"


def test_init_keeps_the_namespace_that_it_was_given(baton, git, top):
    baton("init", "--namespace", "project:x")
    assert git(top, "config", "baton.namespace") == "project:x"
    assert namespace_of(baton("read")) == "project:x"
    assert git(top, "rev-parse", "--verify", "-q", "refs/heads/baton/project%3ax")


def test_init_names_a_namespace_whose_ref_is_encoded_as_people_write_it(baton):
    assert "created the namespace My App in " in baton("init", "-n", "My App").err


def test_a_second_init_reports_the_existing_namespace(baton):
    assert baton("init", "--json").json["created"] is False


@pytest.mark.parametrize("name", ["a/b", "..", "-x", "名前", "A", "x.lock", "con", "a b", "HEAD"])
def test_any_name_can_be_a_namespace_and_git_accepts_its_ref(baton, git, top, name):
    baton("followup", "add", "x", f"--namespace={name}", "--create")
    assert baton("read", f"--namespace={name}").json["namespace"] == name
    assert len(git(top, "for-each-ref", "refs/heads/baton/").splitlines()) == 2
    git(top, "fsck", "--strict")


def test_names_that_look_alike_are_different_namespaces(baton):
    for name in ("a/b", "a_b", "a:b", "A", "a"):
        baton("followup", "add", f"of {name}", "-n", name, "--create")
    for name in ("a/b", "a_b", "a:b", "A", "a"):
        assert [one["item"] for one in baton("read", "-n", name).json["baton"]["follow_ups"]] == [f"of {name}"]


def test_the_prefix_of_the_refs_is_configurable(baton, git, top):
    git(top, "config", "baton.refPrefix", "refs/baton/")
    baton("init")
    assert git(top, "rev-parse", "--verify", "-q", "refs/baton/work")
    assert git(top, "branch", "--list", "baton/*") == "baton/work"


@pytest.mark.parametrize("option", ["--single-branch", "--depth=1"])
def test_a_clone_of_one_branch_under_another_name_finds_the_namespace_of_its_remote(baton, git, top, tmp_path, option):
    git(tmp_path, "init", "-q", "--bare", "shared.git")
    git(top, "remote", "add", "origin", str(tmp_path / "shared.git"))
    git(top, "push", "-q", "origin", "main")
    baton("followup", "add", "Ask Bo")
    baton("sync")
    git(tmp_path, "clone", "-q", option, "-b", "main", f"file://{tmp_path}/shared.git", "another")
    assert "to begin: baton boot" in baton("status", cwd=tmp_path / "another", code=1).err
    done = baton("boot", cwd=tmp_path / "another")
    assert "Ask Bo" in done.out
    assert namespace_of(baton("status", "--json", cwd=tmp_path / "another")) == "work"


# --- the repository


def test_the_option_overrides_the_variable_and_it_overrides_the_surrounding_repository(baton, tmp_path, top):
    for name in ("one", "two"):
        baton("init", "--repo", str(tmp_path / name))
    env = {"BATON_REPO": str(tmp_path / "one")}
    assert repository_of(baton("status", "--json", env=env)) == os.path.realpath(tmp_path / "one")
    two = tmp_path / "two"
    assert repository_of(baton("status", "--json", "--repo", str(two), env=env)) == os.path.realpath(two)
    assert repository_of(baton("status", "--json", env={"BATON_REPO": ""})) == os.path.realpath(top / ".git")


@pytest.mark.parametrize("exists", [False, True])
def test_with_create_an_absent_or_empty_folder_becomes_a_bare_repository(baton, git, tmp_path, exists):
    folder = tmp_path / "a/new.git" if not exists else tmp_path / "empty"
    if exists:
        folder.mkdir()
    for words in (("status",), ("followup", "add", "x")):
        assert "baton init --repo" in baton(*words, "--repo", str(folder), code=1).err
    assert folder.exists() == exists
    assert not exists or not any(folder.iterdir())
    inode = folder.stat().st_ino if exists else None
    baton("followup", "add", "x", "--repo", str(folder), "--create")
    assert inode in (None, folder.stat().st_ino)  # not replaced: it may be the current folder of a process
    assert git(folder, "rev-parse", "--is-bare-repository") == "true"
    assert baton("read", "--repo", str(folder)).json["namespace"] == folder.name.removesuffix(".git")
    git(folder, "fsck", "--strict")


def test_a_relative_repository_is_relative_to_the_current_folder(baton, tmp_path):
    baton("init", "--repo", "here.git", cwd=tmp_path)
    assert (tmp_path / "here.git/HEAD").exists()


def test_a_folder_with_other_files_does_not_become_a_repository(baton, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").touch()
    done = baton("status", "--repo", str(tmp_path / "full"), code=1)
    assert "is not in a git repository" in done.err
    assert list((tmp_path / "full").iterdir()) == [tmp_path / "full/file"]


def test_outside_of_any_repository_the_users_own_store_is_used(baton, git, tmp_path):
    (tmp_path / "plain/deep").mkdir(parents=True)
    store = Path(os.environ["XDG_DATA_HOME"]) / "baton/state.git"
    assert "baton init" in baton("boot", cwd=tmp_path / "plain", code=1).err
    assert not store.exists()
    made = baton("followup", "add", "x", "--create", "--json", cwd=tmp_path / "plain").json
    assert git(store, "for-each-ref", "--format=%(objectname)", "refs/heads/baton/") == made["commit"]
    for folder in ("plain", "plain/deep"):
        assert baton("read", cwd=tmp_path / folder).json["commit"] == made["commit"]
    assert baton("status", cwd=tmp_path, code=1)
    assert list((tmp_path / "plain").iterdir()) == [tmp_path / "plain/deep"]


def test_without_xdg_data_home_the_store_is_below_the_home(baton, tmp_path):
    (tmp_path / "plain").mkdir()
    baton("init", cwd=tmp_path / "plain", env={"XDG_DATA_HOME": ""})
    assert (Path(os.environ["HOME"]) / ".local/share/baton/state.git/HEAD").exists()


def test_the_users_own_store_is_recognised_through_a_symbolic_link(baton, tmp_path):
    (tmp_path / "plain").mkdir()
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    done = baton("init", "--json", cwd=tmp_path / "plain", env={"XDG_DATA_HOME": str(tmp_path / "link")})
    assert namespace_of(done).startswith("plain-")


def test_a_linked_worktree_shares_the_state_but_not_the_session(baton, git, top, tmp_path):
    git(top, "worktree", "add", "-q", str(tmp_path / "linked"))
    begun = baton("boot", "--json").json
    made = baton("followup", "add", "x", "--json", cwd=tmp_path / "linked").json
    assert baton("read").json["commit"] == made["commit"]
    assert namespace_of(baton("status", "--json", cwd=tmp_path / "linked")) == "work"
    assert baton("show", "--json", cwd=tmp_path / "linked").json["session"] is None
    baton("followup", "add", "y")
    assert baton("show", "--json").json["session"] == begun["session"]


def test_a_submodule_has_a_state_of_its_own(baton, git, top, tmp_path):
    git(tmp_path, "clone", "-q", str(top), "lib")
    git(top, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(tmp_path / "lib"), "lib")
    done = baton("init", "--json", cwd=top / "lib")
    assert repository_of(done) == os.path.realpath(top / ".git/modules/lib")
    assert namespace_of(done) == "lib"
    assert baton("read").json["revision"] == 0


def test_a_bare_repository_is_named_after_its_folder(baton, git, tmp_path):
    git(tmp_path, "init", "-q", "--bare", "project.git")
    assert namespace_of(baton("init", "--json", cwd=tmp_path / "project.git")) == "project"


def test_packed_refs_are_read_and_replaced(baton, git, filled, top):
    git(top, "pack-refs", "--all")
    before = baton("read").json["revision"]
    baton("followup", "defer", "FU-1")
    assert baton("read").json["revision"] == before + 1


def test_git_hooks_do_not_run_when_baton_writes(baton, git, top, tmp_path):
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("pre-commit", "post-commit", "reference-transaction", "post-update"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\nexit 1\n")
        (hooks / name).chmod(0o755)
    git(top, "config", "core.hooksPath", str(hooks))
    baton("followup", "add", "x")
    assert not (tmp_path / "ran").exists()


def test_a_repository_of_another_user_is_refused_until_it_is_trusted(baton, git, top):
    if os.geteuid() != 0:
        pytest.skip("only root can change the owner of a file")
    for path in (top, top / ".git"):
        os.chown(path, 65534, 65534)
    done = baton("status", code=1)
    assert "belongs to another user" in done.err
    env = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": str(top)}
    baton("status", env=env)


def run_without(folder, command, top):
    """Run a command while nobody may read or enter a folder, not even root."""
    words = [sys.executable, "-m", "baton_git", command, "--namespace", "work"]
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root can read everything, and there is no setpriv to drop that right")
        words = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", *words]
    folder.chmod(0)
    try:
        return subprocess.run(words, cwd=top, capture_output=True, text=True, check=False)
    finally:
        folder.chmod(0o755)


@pytest.mark.parametrize("folder", [".git/objects", ".git/objects/pack", ".git/refs", ".git/refs/heads", ".git/baton"])
@pytest.mark.parametrize("command", slow_after(1, ["boot", "list", "status", "doctor"]))
def test_the_hint_about_a_missing_permission_names_the_folder_that_lacks_it(baton, top, command, folder):
    baton("followup", "add", "x")
    done = run_without(top / folder, command, top)
    if folder != ".git/baton" or command == "list":
        assert done.returncode != 0
        assert f"see its owner and mode: ls -ld {top / folder}" in done.stdout + done.stderr
    assert done.returncode != 70


@pytest.mark.parametrize("command", ["status", "boot", "doctor"])
def test_a_git_directory_without_read_permission_is_an_error(git, top, command):
    done = run_without(top / ".git", command, top)
    assert done.returncode == 1
    assert f"{top / '.git'} cannot be read: permission denied" in done.stdout + done.stderr


def test_a_removed_current_folder_is_an_error(baton_process, tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    line = f"rm -r {gone}; exec {sys.executable} -m baton_git status"
    done = subprocess.run(["bash", "-c", line], cwd=gone, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("baton: the current folder does not exist any more\n")


def test_the_number_of_deferrals_that_elevates_a_follow_up_is_configurable(baton, git, top):
    git(top, "config", "baton.elevateAt", "1")
    baton("followup", "add", "x", "--id", "FU-1")
    baton("followup", "defer", "FU-1")
    assert baton("read").json["baton"]["follow_ups"][0]["priority"] == "elevated"
    git(top, "config", "baton.elevateAt", "many")
    done = baton("followup", "defer", "FU-1", code=2)
    assert done.err.startswith("baton: git config baton.elevateAt is 'many'")


def test_the_actor_comes_from_options_variables_and_the_current_session(baton, top):
    baton("boot", env={"BATON_SESSION": "from env", "BATON_AGENT": "codex"})
    baton("followup", "add", "x")
    assert baton("show", "--json").json["session"] == "from env"
    baton("followup", "add", "y", "--session", "option", "--agent", "claude", env={"BATON_SESSION": "from env"})
    shown = baton("show", "--json").json
    assert (shown["session"], shown["agent"], shown["author"]) == ("option", "claude", "Ada <ada@example.org>")
    baton("wrap")
    baton("followup", "add", "z")
    assert baton("show", "--json").json["session"] is None


# --- inside of a hook, and unchanged behaviour


def read_other_files(top: Path) -> dict[str, bytes]:
    """Return the bytes of everything that is not baton's: index, HEAD, refs, the work tree."""
    files = {}
    for path in sorted(top.rglob("*")):
        name = str(path.relative_to(top))
        ours = (".git/objects", ".git/baton", ".git/refs/heads/baton", ".git/refs/baton-kept",
                ".git/logs/refs/heads/baton")  # fmt: skip
        if path.is_file() and not name.startswith(ours):
            files[name] = path.read_bytes()
    return files


def test_no_command_touches_the_index_head_work_tree_or_other_refs(baton, git, top):
    (top / "staged").write_text("staged")
    (top / "readme").write_text("changed\n")
    git(top, "add", "staged")
    git(top, "tag", "v1")
    git(top, "stash", "list")
    before, status = read_other_files(top), git(top, "status", "--porcelain")
    document = json.dumps({"session_id": "s", "context": "c"})
    baton("init")
    for words in (
        ("boot",), ("loop", "add", "a", "--expect", "b", "--id", "OL-1", "--verify-file", "readme"), ("verify",),
        ("followup", "add", "x", "--id", "FU-1"), ("followup", "defer", "FU-1"), ("followup", "done", "FU-1"),
        ("pattern", "record", "p", "--id", "P"), ("pattern", "propose", "P", "--rule", "r"),
        ("pattern", "dismiss", "P"),
        ("decision", "add", "d", "--why", "w", "--id", "D"), ("decision", "monitor", "D"), ("log",), ("show",),
        ("diff", "1"), ("rollback", "2"), ("undo",), ("write", "--file", "-"), ("read",), ("status",), ("validate",),
        ("rollback", "--record", "OL-1"), ("rollback", "--of-session", "s"), ("trust", "--yes", "--", "true"), ("gc",),
        ("wrap", "--context", "c"), ("loop", "close", "OL-1"),
    ):  # fmt: skip
        baton(*words, given=document, code=None)
    after = read_other_files(top)
    changed = {name for name in {**before, **after} if before.get(name) != after.get(name)}
    assert changed == {".git/config"}  # init sets baton.namespace
    assert git(top, "status", "--porcelain") == status
    git(top, "fsck", "--strict")


def test_a_command_works_inside_of_a_git_hook(baton_process, git, top, tmp_path):
    hook = top / ".git/hooks/pre-commit"
    hook.write_text(
        f"#!/bin/sh\nenv | grep ^GIT_ >{tmp_path}/env\n"
        f"{sys.executable} -m baton_git followup add 'seen in a hook' >{tmp_path}/out 2>&1\n"
    )
    hook.chmod(0o755)
    (top / "readme").write_text("more\n")
    git(top, "commit", "-q", "-a", "-m", "second")
    assert "GIT_INDEX_FILE" in (tmp_path / "env").read_text()
    assert baton_process("read").json["baton"]["follow_ups"][0]["item"] == "seen in a hook"
    assert git(top, "show", "--stat", "--format=%s", "HEAD").split()[0] == "second"
    assert git(top, "status", "--porcelain") == ""


def test_the_variables_of_git_name_the_repository_and_the_work_tree(baton, git, top, tmp_path):
    git(tmp_path, "init", "-q", "other")
    env = {
        "GIT_DIR": str(tmp_path / "other/.git"), "GIT_WORK_TREE": str(top), "GIT_PREFIX": "x/",
        "GIT_INDEX_FILE": str(tmp_path / "other/index"), "GIT_OBJECT_DIRECTORY": str(tmp_path / "nowhere"),
    }  # fmt: skip
    assert namespace_of(baton("init", "--json", env=env)) == "other"
    baton("loop", "add", "x", "--expect", "y", "--verify-file", "readme", env=env)
    assert baton("verify", env=env).out.count("passed") == 1  # that work tree has the file
    assert baton("status", "--json").json["revision"] == 0
    assert not (tmp_path / "nowhere").exists()
    assert "does not exist" in baton("status", env={"GIT_DIR": str(tmp_path / "nowhere")}, code=1).err


def test_a_branch_that_is_checked_out_is_named_in_the_status(baton, git, filled, top):
    git(top, "checkout", "-q", "baton/work")
    assert "has this branch checked out" in baton("status").out


def test_a_command_works_without_a_git_program(baton_process, filled, git, top, tmp_path):
    git(top, "config", "baton.namespace", "work")
    (tmp_path / "bin").mkdir()
    done = baton_process("followup", "defer", "FU-1", "--json", env={"PATH": str(tmp_path / "bin")})
    assert done.json["id"] == "FU-1"


def test_boot_fails_if_the_newest_commit_cannot_be_read(baton, git, top):
    baton("followup", "add", "x")
    shutil.rmtree(top / ".git/objects/pack")
    begun = baton("boot", code=1)
    assert " · the state cannot be read, see Problems · " in begun.out.splitlines()[0]
    assert "revision 0" not in begun.out
    assert ": is missing" in begun.out


def test_hints_about_an_unknown_namespace_list_the_existing_ones(baton):
    baton("followup", "add", "x")
    for words in (("namespace", "delete", "nope", "--yes"), ("namespace", "rename", "nope", "x"), ("log", "-n", "x2")):
        assert "existing: work; to create it: baton init --namespace " in baton(*words, code=1).err


def test_a_number_after_n_that_is_no_namespace_is_explained(baton):
    baton("followup", "add", "x")
    for command in ("log", "list"):
        assert "-n names a namespace; for the number of items: --limit" in baton(command, "-n", "4", code=1).err


def test_a_missing_input_file_or_a_folder_is_named_with_a_hint(baton, tmp_path):
    baton("boot")
    for words in ("write --file", "wrap --file", "validate", "workflow check"):
        assert baton(*words.split(), "/nope", code=1).err == "baton: there is no file '/nope'\n       check the path\n"
        assert "is a folder, not a file" in baton(*words.split(), str(tmp_path), code=2).err


def test_a_deleted_namespace_is_removed_from_the_settings(baton, git, top):
    baton("init", "--namespace", "shop")
    assert git(top, "config", "baton.namespace").strip() == "shop"
    baton("namespace", "delete", "shop", "--yes")
    assert git(top, "config", "--default", "", "baton.namespace").strip() == ""


def test_deleting_a_namespace_reports_a_global_setting_that_still_names_it(baton, tmp_path):
    (tmp_path / "gitconfig").write_text("[baton]\n\tnamespace = work\n")
    env = {"GIT_CONFIG_GLOBAL": str(tmp_path / "gitconfig")}
    baton("followup", "add", "x", env=env)
    deleted = baton("namespace", "delete", "work", "--yes", env=env)
    assert "baton.namespace still names work; to see where: git config --show-origin baton.namespace" in deleted.err
    assert "work was deleted" in deleted.err
