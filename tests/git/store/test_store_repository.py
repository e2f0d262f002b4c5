"""Finding, opening and creating repositories of every kind, as git does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from baton_git.core.errors import NotARepository
from baton_git.git.store import Repository, Store


def _same_as_git(git, found: Repository, where: Path) -> None:
    answer = git(where, "rev-parse", "--path-format=absolute", "--git-common-dir", "--git-dir")
    assert [str(found.common_dir), str(found.git_dir)] == answer.splitlines()


def test_a_work_tree_is_found_from_any_folder_inside_it(top, git):
    deep = top / "a" / "b"
    deep.mkdir(parents=True)
    found = Repository.discover(deep)
    assert found == Repository(top / ".git", top / ".git", top)
    _same_as_git(git, found, deep)


def test_outside_any_repository_nothing_is_found(tmp_path):
    assert Repository.discover(tmp_path) is None
    with pytest.raises(NotARepository, match="not in a git repository"):
        Repository.open(tmp_path)


def test_an_empty_git_folder_is_skipped_as_in_git(top):
    (top / "sub" / ".git").mkdir(parents=True)
    found = Repository.discover(top / "sub")
    assert found is not None
    assert found.work_tree == top


def test_a_linked_work_tree_shares_the_common_directory(top, git, tmp_path):
    git(top, "worktree", "add", "../linked")
    found = Repository.open(tmp_path / "linked")
    assert found == Repository(top / ".git", top / ".git" / "worktrees" / "linked", tmp_path / "linked")
    _same_as_git(git, found, tmp_path / "linked")
    assert Repository.open(found.git_dir) == found


def test_a_submodule_has_a_store_of_its_own(top, git, tmp_path):
    git(tmp_path, "init", "-b", "main", "outer")
    git(tmp_path / "outer", "-c", "protocol.file.allow=always", "submodule", "add", str(top), "inner")
    found = Repository.open(tmp_path / "outer" / "inner")
    assert found.common_dir == tmp_path / "outer" / ".git" / "modules" / "inner"
    assert found.work_tree == tmp_path / "outer" / "inner"
    assert Repository.open(found.git_dir).work_tree == found.work_tree


def test_a_separate_git_directory_is_followed(tmp_path, git):
    git(tmp_path, "init", "--separate-git-dir", str(tmp_path / "elsewhere"), "work")
    found = Repository.open(tmp_path / "work")
    assert found == Repository(tmp_path / "elsewhere", tmp_path / "elsewhere", tmp_path / "work")


def test_a_bare_repository_is_found_from_inside(tmp_path, git):
    git(tmp_path, "init", "--bare", "b.git")
    found = Repository.discover(tmp_path / "b.git" / "refs" / "heads")
    assert found == Repository(tmp_path / "b.git", tmp_path / "b.git", None)


def test_the_git_directory_of_a_work_tree_leads_to_the_work_tree(top):
    assert Repository.open(top / ".git").work_tree == top


def test_a_symbolic_link_to_a_work_tree_leads_to_it(top, tmp_path):
    (tmp_path / "link").symlink_to(top)
    assert Repository.open(tmp_path / "link").common_dir == top / ".git"


def test_a_git_file_that_leads_nowhere_is_an_error_and_not_skipped(top):
    (top / "sub").mkdir()
    (top / "sub" / ".git").write_text("gitdir: ../nowhere\n")
    with pytest.raises(NotARepository, match="does not point") as caught:
        Repository.discover(top / "sub")
    assert "worktree repair" in caught.value.hint


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("extensions.refstorage", "reftable", "reftable"),
        ("core.repositoryformatversion", "2", "version 2"),
        ("extensions.somethingNew", "true", "somethingnew"),
        ("extensions.compatObjectFormat", "sha256", "compatobjectformat"),
        ("extensions.objectformat", "md5", "md5"),
    ],
)
def test_repositories_of_an_unknown_kind_are_refused_with_the_reason(top, key, value, why):
    with (top / ".git" / "config").open("a") as file:
        section, _, name = key.partition(".")
        file.write(f"[{section}]\n\t{name} = {value}\n")
    with pytest.raises(NotARepository, match=why) as caught:
        Repository.open(top)
    assert caught.value.hint


def test_worktree_config_and_precious_objects_are_accepted(top, git):
    git(top, "config", "core.repositoryformatversion", "1")
    git(top, "config", "extensions.worktreeConfig", "true")
    git(top, "config", "extensions.preciousObjects", "true")
    (top / ".git" / "config.worktree").write_text("[baton]\n\tnamespace = here\n")
    assert Repository.open(top).config().get("baton.namespace") == "here"


def test_create_bare_creates_a_repository_that_git_accepts(tmp_path, git):
    repository = Repository.create_bare(tmp_path / "home" / "state" / "baton.git")
    where = repository.common_dir
    assert git(where, "rev-parse", "--is-bare-repository") == "true"
    assert git(where, "symbolic-ref", "HEAD") == "refs/heads/main"
    assert git(where, "config", "gc.auto") == "0"
    git(where, "fsck", "--strict")
    assert repository == Repository.create_bare(where)


def test_create_bare_fills_an_empty_folder_and_refuses_a_full_one(tmp_path):
    (tmp_path / "empty").mkdir()
    assert Repository.create_bare(tmp_path / "empty").work_tree is None
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter").write_text("dear")
    with pytest.raises(NotARepository, match="not empty"):
        Repository.create_bare(tmp_path / "full")
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["letter"]


def test_processes_that_create_the_same_repository_at_once_all_get_it(tmp_path):
    code = "import sys, pathlib, baton_git.git.store as s; s.Repository.create_bare(pathlib.Path(sys.argv[1]))"
    path = tmp_path / "one.git"
    started = [subprocess.Popen([sys.executable, "-c", code, str(path)]) for _ in range(4)]
    assert [process.wait(30) for process in started] == [0, 0, 0, 0]
    assert sorted(child.name for child in tmp_path.iterdir()) == ["home", "one.git"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to somebody else")
def test_a_repository_of_another_user_is_reported(top):
    assert Repository.open(top).foreign_owner is None
    os.chown(top / ".git", 4321, -1)
    assert Repository.open(top).foreign_owner == 4321


def test_a_sha256_repository_is_read_and_written(tmp_path, git, new_writer):
    git(tmp_path, "init", "--object-format=sha256", "-b", "main", "long")
    writer = new_writer(tmp_path / "long")
    for number in range(40):  # enough for a merge of packs
        writer.commit({f"a/{number % 5}.toml": b"value = %d\n" % number * 20})
    assert len(writer.store.tip(writer.ref)) == 64
    writer.store.pack(everything=True)
    git(tmp_path / "long", "fsck", "--strict")
    assert git(tmp_path / "long", "show", "baton/x:a/4.toml") == "\n".join(["value = 39"] * 20)


def test_two_stores_on_one_repository_see_each_other(top, new_writer):
    one, two = new_writer(top), new_writer(top)
    new = one.commit({"a": b"1"})
    assert two.store.tip(two.ref) == new
    assert two.store.folder(two.store.commit(new).tree).read("a") == b"1"


def test_the_store_of_a_repository_can_be_opened_and_closed(top):
    Store(Repository.open(top)).close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_folders_that_may_not_be_looked_into_are_no_repositories(top, tmp_path):
    inner = tmp_path / "closed" / "inner"
    inner.mkdir(parents=True)
    code = "import os, pathlib; from baton_git.git.store import Repository; os.setuid(65534)\n"
    code += f"print(Repository.discover(pathlib.Path({str(inner)!r})))"
    tmp_path.chmod(0o755)
    (tmp_path / "closed").chmod(0o700)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "None", done.stderr
