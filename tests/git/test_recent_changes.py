"""The files of the newest commits, as git lists them whatever the user set, and the file that saves the list."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from baton_git.git import source_commits
from baton_git.git.source_commits import MAX_FILES, ChangedFiles, list_recent_changes
from baton_git.git.store import Repository, Store

AT = 1_700_000_000


def import_commits(git, top: Path, commits: Iterable[tuple[int, Iterable[str]]]) -> None:
    """Add commits to `main` that change files at a time, and check the last one out."""
    stream = ["reset refs/heads/main\nfrom refs/heads/main^0\n\n"]
    for number, (time, files) in enumerate(commits):
        stream.append(f"commit refs/heads/main\ncommitter c <c@x> {time} +0000\ndata 1\nx\n")
        names = [name.replace("\n", "\\n") for name in files]
        stream += [f'M 100644 inline "{name}"\ndata {len(str(number))}\n{number}\n' for name in names]
    git(top, "fast-import", "--quiet", "--force", text="".join(stream))
    git(top, "reset", "-q", "--hard")


def list_in(top: Path) -> list[ChangedFiles]:
    with Store(Repository.discover(top)) as store:
        return list_recent_changes(store, os.environ)


def test_the_newest_commits_come_first_without_merges_and_sweeping_commits(git, top):
    import_commits(git, top, [
        (AT, ["a", "ü \n"]), (AT + 1, [f"many/{number}" for number in range(MAX_FILES + 1)]), (AT + 2, ["b c"]),
    ])  # fmt: skip
    git(top, "checkout", "-q", "-b", "topic", "HEAD~2")
    git(top, "merge", "-q", "--no-ff", "-m", "merged", "main")
    changes = list_in(top)
    assert changes[:2] == [(AT + 2, ("b c",)), (AT, ("a", "ü \n"))]
    assert [files for _, files in changes[2:]] == [("readme",)]


def test_settings_of_the_user_change_nothing_and_run_nothing(git, top, tmp_path):
    import_commits(git, top, [(AT, ["src/a", "z"]), (AT + 1, ["src/b"])])
    git(top, "mv", "z", "moved")
    git(top, "commit", "-q", "-m", "moved")
    lines = git(top, "cat-file", "commit", "HEAD").split("\n\n", 1)
    signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n -----END PGP SIGNATURE-----"
    signed = git(top, "hash-object", "-t", "commit", "-w", "--stdin", text=f"{lines[0]}\n{signature}\n\n{lines[1]}\n")
    git(top, "reset", "-q", "--hard", signed)
    plain = list_in(top)
    assert plain[0].files == ("moved", "z")
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    program.chmod(0o755)
    (top / ".gitattributes").write_text("* diff=own\n")
    for name, value in {
        "diff.renames": "copies", "diff.orderFile": "/nowhere", "diff.relative": "true", "diff.external": str(program),
        "diff.own.textconv": str(program), "log.showSignature": "true", "gpg.program": str(program), "log.follow": "on",
        "core.pager": str(program), "log.diffMerges": "separate", "format.pretty": "oneline", "log.decorate": "full",
        "color.ui": "always", "core.quotePath": "true", "core.fsmonitor": str(program), "log.showRoot": "true",
    }.items():  # fmt: skip
        git(top, "config", name, value)
    (top / ".git/baton/recent-changes.json").unlink()
    assert list_in(top) == plain
    assert not (tmp_path / "ran").exists()


def test_the_list_is_saved_until_head_moves_and_made_again_when_it_is_lost(git, top, monkeypatch):
    import_commits(git, top, [(AT, ["a"])])
    saved = top / ".git/baton/recent-changes.json"
    whole = list_in(top)
    content = saved.read_bytes()
    monkeypatch.setenv("PATH", "/nowhere")
    assert list_in(top) == whole  # without git
    for damaged in (b"", content[:-1], content.replace(b'"a"', b'"b"'), b"0" + content[1:], b"\n[[[[" * 9):
        saved.write_bytes(damaged)
        assert list_in(top) == []
    monkeypatch.undo()
    assert list_in(top) == whole
    assert saved.read_bytes() == content
    import_commits(git, top, [(AT + 1, ["b"])])
    assert list_in(top)[0].files == ("b",)


def test_each_work_tree_has_its_own_list(git, top, tmp_path):
    import_commits(git, top, [(AT, ["a"]), (AT + 1, ["b"])])
    git(top, "worktree", "add", "-q", str(tmp_path / "linked"), "HEAD~1")
    assert list_in(top)[0].files == ("b",)
    assert list_in(tmp_path / "linked")[0].files == ("a",)
    assert (top / ".git/worktrees/linked/baton/recent-changes.json").exists()


def test_a_list_that_cannot_be_saved_is_made_again_and_leaves_nothing(git, top):
    import_commits(git, top, [(AT, ["a"])])
    (top / ".git/baton/recent-changes.json").mkdir()
    assert list_in(top)[0].files == ("a",)
    assert [path.name for path in (top / ".git/baton").glob("recent*")] == ["recent-changes.json"]


def test_a_shallow_clone_lists_what_it_has_and_more_after_a_fetch(git, top, tmp_path):
    import_commits(git, top, [(AT + number, [f"f{number}"]) for number in range(5)])
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--depth=2", f"file://{top}", str(clone))
    assert [files for _, files in list_in(clone)][:1] == [("f4",)]
    git(clone, "fetch", "-q", "--unshallow")
    assert [files for _, files in list_in(clone)] == [*((f"f{number}",) for number in (4, 3, 2, 1, 0)), ("readme",)]


@pytest.mark.parametrize("missing", ["blob:none", "tree:0"])
def test_a_partial_clone_fetches_nothing(git, top, tmp_path, missing):
    import_commits(git, top, [(AT + number, [f"src/f{number}"]) for number in range(5)])
    git(top, "config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", f"--filter={missing}", f"file://{top}", str(clone))
    packs = sorted((clone / ".git/objects").rglob("*"))
    changes = list_in(clone)
    assert sorted((clone / ".git/objects").rglob("*")) == packs
    assert len(changes) == (6 if missing == "blob:none" else 0)


def test_what_git_printed_in_time_counts_but_its_last_commit_may_be_cut(git, top, tmp_path, monkeypatch):
    slow = tmp_path / "bin" / "git"
    slow.parent.mkdir()
    slow.write_text(f"#!/bin/sh\nprintf '//{AT}\\0\\na\\0b\\0//{AT}\\0\\ncu'\nexec sleep 30\n")
    slow.chmod(0o755)
    monkeypatch.setattr(source_commits, "MAX_SECONDS", 0.15)
    monkeypatch.setenv("PATH", str(slow.parent), prepend=os.pathsep)
    assert list_in(top) == [(AT, ("a", "b"))]
    assert not (top / ".git/baton/recent-changes.json").exists()  # too few to do with until the next commit
    monkeypatch.setattr(source_commits, "ENOUGH", 1)
    list_in(top)
    assert (top / ".git/baton/recent-changes.json").exists()


def test_a_repository_without_commits_or_work_tree_has_no_changes(git, top, tmp_path):
    git(tmp_path, "init", "-q", "empty")
    git(tmp_path, "clone", "-q", "--bare", str(top), "bare")
    assert list_in(tmp_path / "empty") == list_in(tmp_path / "bare") == []
