"""A file where baton keeps a folder, and objects that are gone: one clear line, and what to do."""

from __future__ import annotations

import shutil

import pytest

COMMANDS = (("followup", "add", "B"), ("gc",), ("wrap", "--context", "c"), ("list",))


@pytest.fixture
def folder(baton, top):
    """Remove the local folder of a repository that has a record; return its path."""
    baton("followup", "add", "A")
    shutil.rmtree(top / ".git/baton")
    return top / ".git/baton"


@pytest.mark.parametrize("is_link", [False, True])
def test_what_is_in_the_way_of_the_local_folder_is_named(baton, top, folder, *, is_link):
    if is_link:
        folder.symlink_to("nowhere")
    else:
        folder.write_text("mine\n")
    for words in COMMANDS:
        done = baton(*words, code=None)
        if done.code:
            assert f"{folder} is a " in done.err, words
            assert "move it away" in done.err, words
    assert baton("followup", "add", "B", code=1)
    start = baton("boot", code=None).out
    assert start.count(str(folder)) <= 3  # in one problem: what failed, why, and the command
    assert "move it away" in start
    assert "Errno" not in start
    for line in baton("doctor", code=None).out.splitlines():
        assert "Errno" not in line
        assert "do: baton gc" not in line
    assert "move it away" in baton("doctor", code=None).out
    shutil.move(folder, top / "elsewhere")
    baton("followup", "add", "B")


@pytest.mark.parametrize("lost", ["all", "blobs"])
def test_uninstall_says_what_to_do_if_objects_are_gone(baton, git, top, lost):
    baton("followup", "add", "A")
    refs = git(top, "for-each-ref", "--format=%(refname)", "refs/heads/baton", "refs/baton-kept").split()
    if lost == "all":
        shutil.rmtree(top / ".git/objects")
        (top / ".git/objects/info").mkdir(parents=True)
        (top / ".git/objects/pack").mkdir()
    else:
        _lose_blobs(git, top)
    done = baton("uninstall", "--yes", code=1)
    said = done.out + done.err
    assert "cannot be read, so nothing was removed" in said
    assert "baton doctor refs objects" in said
    for ref in refs:
        assert f"update-ref -d {ref}" in said.replace("'", "")
        git(top, "update-ref", "-d", ref)
    assert (top / ".git/baton").is_dir()
    baton("uninstall", "--yes")
    assert not (top / ".git/baton").exists()


def _lose_blobs(git, top):
    """Remove the files of all revisions, but neither commits nor folders."""
    listed = git(top, "cat-file", "--batch-check", "--batch-all-objects", "--unordered").splitlines()
    kept = [line.split()[0] for line in listed if line.split()[1] != "blob"]
    git(top, "pack-objects", "-q", str(top / "new"), text="\n".join(kept) + "\n")
    shutil.rmtree(top / ".git/objects")
    (top / ".git/objects/pack").mkdir(parents=True)
    for path in top.glob("new-*"):
        shutil.move(path, top / ".git/objects/pack" / f"pack-{path.name.removeprefix('new-')}")
