"""`git filter-repo` beside baton: a purged secret stays gone, and branches that a filter removed come back."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from default_run import slow_after

from baton_git.namespace import folding

Baton = Callable[..., Any]
Git = Callable[..., str]
SECRET, LOCAL = "ZEBRA-4471", "YAK-2203"
PAGE = Path(__file__).parents[3] / "docs" / "purging.md"
PROGRAM = Path(sys.executable).parent / "git-filter-repo"
WITHOUT = pytest.mark.skipif(not (PROGRAM.exists() or shutil.which("git-filter-repo")), reason="needs git-filter-repo")
pytestmark = WITHOUT


def filter_repo(top: Path, *words: str) -> None:
    program = str(PROGRAM) if PROGRAM.exists() else "git-filter-repo"
    done = subprocess.run([program, "--force", *words], cwd=top, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def purge(top: Path, *words: str) -> None:
    rules = top.parent / "rules"
    rules.write_text(f"{SECRET}==>REMOVED\n{LOCAL}==>REMOVED\n")
    filter_repo(top, "--replace-text", str(rules), "--replace-message", str(rules), *words)


def find_secret(git: Git, top: Path, secret: str = SECRET) -> list[str]:
    """Return the objects (packed and loose) and the files of the git directory that contain the secret."""
    directory = top if (top / "objects").is_dir() else top / ".git"
    names = git(top, "cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)").splitlines()
    found = [name for name in names if secret in git(top, "cat-file", "-p", name.split()[0])]
    files = (path for path in directory.rglob("*") if path.is_file() and "objects" not in path.parts)
    return [*found, *(str(path) for path in files if secret.encode() in path.read_bytes())]


@pytest.fixture
def hub(baton: Baton, git: Git, top: Path, tmp_path: Path) -> Path:
    """A remote that has the namespace `work` with the secret, in a record and in the subject of a commit."""
    hub = tmp_path / "hub.git"
    git(tmp_path, "init", "-q", "--bare", "hub.git")
    git(top, "remote", "add", "origin", str(hub))
    git(top, "push", "-q", "origin", "main")
    baton("followup", "add", f"the door code is {SECRET}", "--id", "FU-1")
    baton("followup", "add", "Ask Bo", "--id", "FU-2")
    baton("sync")
    return hub


def readd(git: Git, top: Path, hub: Path) -> None:
    """Add the remote again, which git filter-repo removes."""
    git(top, "remote", "add", "origin", str(hub))


def list_items(baton: Baton, **more: Any) -> dict[str, str]:
    return {row["id"]: row["item"] for row in baton("read", "--json", **more).json["baton"]["follow_ups"]}


def test_the_purged_bytes_are_in_no_object_and_the_kept_ref_follows(baton, git, top, hub):
    purge(top)
    assert list_items(baton) == {"FU-1": "the door code is REMOVED", "FU-2": "Ask Bo"}
    baton("followup", "add", "later", "--id", "FU-3")
    git(top, "gc", "-q", "--prune=now")
    assert find_secret(git, top) == []
    tips = {git(top, "rev-parse", ref) for ref in ("refs/heads/baton/work", "refs/baton-kept/heads/baton/work")}
    assert len(tips) == 1
    assert "checks passed" in baton("doctor", "refs", "objects").out


@pytest.mark.slow
def test_a_secret_in_a_bundle_and_in_the_files_before_it_is_purged(baton, git, top, hub, tmp_path, monkeypatch):
    """The records of a changed bundle are read as before, and the clones follow."""
    monkeypatch.setattr(folding, "FIRST", 3)
    other = tmp_path / "other" / "work"
    git(tmp_path, "clone", "-q", str(hub), str(other))
    baton("boot", cwd=other)
    baton("sync")
    for id_ in ("FU-1", "FU-2", "FU-3"):
        baton("followup", "add", f"port {SECRET}", "--id", id_) if id_ == "FU-3" else None
        baton("followup", "done", id_)
    baton("gc")
    bundle = git(top, "ls-tree", "-r", "--name-only", "baton/work", "archive/")
    assert bundle.startswith("archive/follow_ups/=")
    assert SECRET in git(top, "show", f"baton/work:{bundle}")
    baton("sync")
    baton("sync", cwd=other)
    baton("sync")
    purge(top)
    baton("validate")
    for id_, text in (("FU-1", "the door code is REMOVED"), ("FU-3", "port REMOVED")):
        shown = baton("show", id_, "--json").json
        assert (shown["record"]["item"], shown["archived"]) == (text, True)
        assert shown["provenance"]["kind"] != "received"
        assert len(baton("log", "--record", id_, "--json").json["commits"]) == 2
    shutil.rmtree(top / ".git/baton/recall", ignore_errors=True)
    shutil.rmtree(top / ".git/baton/outlines", ignore_errors=True)
    git(top, "reflog", "expire", "--expire=now", "--all")
    git(top, "gc", "-q", "--prune=now")
    batch = ["git", "-C", str(top), "cat-file", "--batch-all-objects", "--batch"]
    assert SECRET.encode() not in subprocess.run(batch, capture_output=True, check=True).stdout
    readd(git, top, hub)
    baton("sync", "--settle", "ours", "--yes")
    baton("sync", "--settle", "theirs", "--yes", cwd=other)
    assert "port REMOVED" in baton("show", "FU-3", cwd=other).out
    baton("undo", "--yes", code=None)
    assert SECRET not in baton("log").out


def test_refs_that_a_run_did_not_rewrite_follow_its_map(baton, git, top, hub):
    git(top, "update-ref", "refs/baton-backup/work/20260101T000000Z-00000000", "refs/heads/baton/work")
    git(top, "update-ref", "refs/baton-incoming/origin/work", "refs/heads/baton/work")
    purge(top, "--refs", "refs/heads/baton/work")
    assert find_secret(git, top) != []
    assert list_items(baton)["FU-1"] == "the door code is REMOVED"
    git(top, "reflog", "expire", "--expire=now", "--all")
    git(top, "gc", "-q", "--prune=now")
    assert find_secret(git, top) == []
    new = git(top, "rev-parse", "refs/heads/baton/work")
    refs = git(top, "for-each-ref", "--format=%(objectname) %(refname)").splitlines()
    names = [line for line in refs if " refs/baton-" in line]
    assert len(names) == 4
    assert {name.split()[0] for name in names} == {new}


def test_what_was_made_here_still_counts_as_made_here_but_a_confirmation_ends(baton, git, top, hub):
    sources = {row["id"]: row.get("provenance") for row in baton("list", "followups", "--json").json["records"]}
    purge(top)
    rows = baton("list", "followups", "--json").json["records"]
    assert {row["id"]: row.get("provenance") for row in rows} == sources
    baton("followup", "add", "x", "--id", "FU-3")
    git(top, "update-ref", "-d", "refs/baton-remotes/origin/work")
    shutil.rmtree(top / ".git" / "filter-repo")
    assert {row["id"]: row.get("provenance") for row in baton("list", "followups", "--json").json["records"]} == {
        **sources, "FU-3": sources["FU-2"]
    }  # fmt: skip


@pytest.mark.parametrize("is_branch_purged", slow_after(1, [False, True]))
def test_a_lane_with_purged_commits_comes_back_neither_here_nor_there(baton, git, top, hub, is_branch_purged):
    lane = "refs/baton-lanes/work/0123456789abcdef"
    git(top, "push", "-q", "origin", f"baton/work:{lane}")
    purge(top)
    readd(git, top, hub)
    git(top, "config", "remote.origin.batonLanes", "true")
    if not is_branch_purged:
        git(top, "push", "-q", "-f", "origin", "baton/work")
        assert "commits that were purged here" in baton("sync").err
        assert git(hub, "for-each-ref", lane)
    baton("sync", "--settle", "ours", "--yes")
    assert git(hub, "for-each-ref", lane) == ""
    assert find_secret(git, top) == [] if is_branch_purged else True
    assert list_items(baton)["FU-1"] == "the door code is REMOVED"


def test_sync_says_that_the_history_was_rewritten_here_and_takes_nothing_back(baton, git, top, hub):
    purge(top)
    readd(git, top, hub)
    for _ in range(2):
        refused = baton("sync", code=3).err
        assert "the history was rewritten here, and origin still has the removed commits" in refused
        assert "on the remote, without" not in refused
        for way, what in {
            "ours": "replaces the branch there, which removes those commits there",
            "theirs": "brings them back here, and keeps the rewritten history in a backup ref",
            "merge": "brings them back here and joins both histories",
        }.items():
            assert f"--settle {way} {what}" in " ".join(refused.split())
        baton("boot", code=None)
        shutil.rmtree(top / ".git" / "filter-repo", ignore_errors=True)  # it is remembered
    git(top, "gc", "-q", "--prune=now")
    assert find_secret(git, top) == []
    assert "origin still has commits that were removed here" in baton("doctor", "remotes", code=1).out


@pytest.mark.slow
def test_ours_replaces_the_branch_of_the_remote(baton, git, top, hub):
    purge(top)
    readd(git, top, hub)
    baton("followup", "add", "later", "--id", "FU-3")
    assert "there is no terminal" in baton("sync", "--settle", "ours", code=2).err
    assert "is replaced by the history that was rewritten here" in baton("sync", "--settle", "ours", "--dry-run").err
    baton("sync", "--settle", "ours", "--yes")
    assert git(hub, "rev-parse", "baton/work") == git(top, "rev-parse", "baton/work")
    git(hub, "gc", "-q", "--prune=now")
    assert (find_secret(git, hub), find_secret(git, top)) == ([], [])
    assert "up to date" in baton("sync").out + baton("sync").err


@pytest.mark.slow
@pytest.mark.parametrize("way", ["theirs", "merge"])
def test_theirs_and_merge_bring_the_purged_commits_back(baton, git, top, hub, way):
    purge(top)
    baton("followup", "add", "later", "--id", "FU-3")
    readd(git, top, hub)
    baton("sync", "--settle", way, "--yes")
    items = list_items(baton)
    assert set(items) >= {"FU-1", "FU-2", "FU-3"}
    assert SECRET in items["FU-1"] or way == "merge"
    assert find_secret(git, top) != []
    assert bool(git(top, "for-each-ref", "refs/baton-backup/")) is (way == "theirs")
    baton("sync")


@pytest.mark.slow
def test_commits_of_others_on_top_of_purged_ones_are_not_lost(baton, git, top, hub, tmp_path):
    other = tmp_path / "other" / "work"
    git(tmp_path, "clone", "-q", str(hub), str(other))
    baton("boot", cwd=other)
    purge(top)
    readd(git, top, hub)
    baton("followup", "add", "from the other machine", "--id", "FU-9", cwd=other)
    baton("sync", cwd=other)
    assert "commits of others are on top of them" in baton("sync", code=3).err
    assert "--settle ours would lose those" in baton("sync", "--settle", "ours", "--yes", code=3).err
    git(top, "gc", "-q", "--prune=now")
    assert find_secret(git, top) == []
    baton("sync", "--settle", "theirs", "--yes")
    purge(top)
    readd(git, top, hub)
    baton("sync", "--settle", "ours", "--yes")
    assert set(list_items(baton)) == {"FU-1", "FU-2", "FU-9"}
    # the other machine takes the purged history, and removes the backup that still has the old one
    assert "rewritten on the remote" in baton("sync", cwd=other, code=3).err
    baton("sync", "--settle", "theirs", "--yes", cwd=other)
    git(other, "fetch", "-q", "--prune")
    for ref in git(other, "for-each-ref", "--format=%(refname)", "refs/baton-backup/").split():
        git(other, "update-ref", "-d", ref)
    git(other, "reflog", "expire", "--expire=now", "--all")
    git(other, "gc", "-q", "--prune=now")
    assert find_secret(git, other) == []
    assert list_items(baton, cwd=other) == list_items(baton)


@pytest.mark.usefixtures("short_parts")
def test_a_purge_before_the_older_history_has_come_does_not_replace_the_history_of_the_remote(
    baton, git, top, hub, tmp_path
):
    """git filter-repo 2.47 makes the oldest commit of a shallow repository a first commit, and removes the boundary."""
    for number in range(12):
        baton("followup", "add", f"item {number}", "--id", f"FU-n{number}")
    baton("sync")
    late = tmp_path / "late"
    git(tmp_path, "init", "-q", "-b", "main", "late")
    git(late, "remote", "add", "origin", str(hub))
    git(late, "config", "baton.namespace", "work")
    baton("boot", cwd=late)
    baton("followup", "add", "mine", "--id", "FU-mine", cwd=late)
    assert (late / ".git/shallow").exists()
    purge(late)
    readd(git, late, hub)
    before = git(hub, "rev-parse", "baton/work")
    said = baton("sync", cwd=late, code=3).err
    assert "older ones that were not here" in said
    assert "baton sync --settle theirs brings them all here; then purge again" in said
    assert "older ones that were not here" in baton("sync", "--settle", "ours", "--yes", cwd=late, code=3).err
    assert "--settle theirs, then purge again" in baton("doctor", "remotes", cwd=late, code=1).out
    assert git(hub, "rev-parse", "baton/work") == before
    baton("sync", "--settle", "theirs", "--yes", cwd=late)
    baton("sync", cwd=late)
    assert list_items(baton, cwd=late)["FU-mine"] == "mine"
    purge(late)
    readd(git, late, hub)
    baton("sync", "--settle", "ours", "--yes", cwd=late)
    assert int(git(hub, "rev-list", "--count", "baton/work")) > 15
    for folder in (late, hub):
        git(folder, "gc", "-q", "--prune=now")
        assert find_secret(git, folder) == []


def test_ours_without_a_purge_is_an_ordinary_sync(baton, git, top, hub, tmp_path):
    other = tmp_path / "other" / "work"
    git(tmp_path, "clone", "-q", str(hub), str(other))
    baton("followup", "add", "x", "--id", "FU-8", cwd=other)
    baton("sync", cwd=other)
    baton("followup", "add", "y", "--id", "FU-9")
    baton("sync", "--settle", "ours", "--yes")
    assert set(list_items(baton)) == {"FU-1", "FU-2", "FU-8", "FU-9"}


def test_packs_that_baton_holds_in_a_partial_clone_keep_no_purged_bytes(baton, git, hub, tmp_path):
    """Git's own gc removes nothing that came from the promisor remote, so only what was written here can go."""
    git(hub, "config", "uploadpack.allowFilter", "true")
    top = tmp_path / "partial" / "work"
    git(tmp_path, "clone", "-q", "--filter=blob:none", "-b", "main", f"file://{hub}", str(top))
    baton("boot", cwd=top)
    baton("followup", "add", f"again {LOCAL}", "--id", "FU-4", cwd=top)
    assert list((top / ".git" / "objects" / "pack").glob("*.keep"))
    purge(top)
    assert set(list_items(baton, cwd=top)) == {"FU-1", "FU-2", "FU-4"}
    git(top, "gc", "-q", "--prune=now")
    assert find_secret(git, top, LOCAL) == []
    assert set(list_items(baton, cwd=top)) == {"FU-1", "FU-2", "FU-4"}


def test_an_accepted_rewrite_by_another_tool_is_not_taken_back_by_a_sync(baton, git, top, hub, monkeypatch):
    monkeypatch.setenv("FILTER_BRANCH_SQUELCH_WARNING", "1")
    remove = "git ls-files -s follow_ups | cut -f2 | grep FU-1 | xargs -r git rm -q --cached"
    rename = ("--msg-filter", f"sed s/{SECRET}/REMOVED/")
    git(top, "filter-branch", "-f", *rename, "--index-filter", remove, "--", "baton/work")
    assert "namespace accept work" in baton("list", code=3).err
    baton("namespace", "accept", "work", "--yes")
    for _ in range(2):
        assert "the history was rewritten here" in baton("sync", code=3).err
    baton("sync", "--settle", "ours", "--yes")
    assert set(list_items(baton)) == {"FU-2"}
    for ref in git(top, "for-each-ref", "--format=%(refname)", "refs/baton-backup/", "refs/original/").split():
        git(top, "update-ref", "-d", ref)
    git(top, "fetch", "-q", "--prune")
    git(top, "reflog", "expire", "--expire=now", "--all")
    git(top, "gc", "-q", "--prune=now")
    assert find_secret(git, top) == []


# --- filters of paths


def test_a_filter_of_paths_that_removed_the_branches_is_noticed_and_a_remote_restores_them(baton, git, top, hub):
    (top / "src").mkdir()
    (top / "src" / "a").write_text("x")
    git(top, "add", "src")
    git(top, "commit", "-q", "-m", "src")
    filter_repo(top, "--path", "src/")
    assert git(top, "for-each-ref", "--format=%(refname)") == "refs/heads/main"
    for words in (("list",), ("boot",), ("followup", "add", "x")):
        told = " ".join(baton(*words, code=3).err.split())
        assert "git filter-repo removed its branch" in told
        assert "git remote add origin URL" in told
    assert "git filter-repo removed its branch" in baton("doctor", "refs", code=1).out
    readd(git, top, hub)
    baton("sync", code=3)
    baton("namespace", "restore", "work")
    assert set(list_items(baton)) == {"FU-1", "FU-2"}
    baton("sync")


def test_the_kept_ref_restores_a_branch_that_a_filter_removed(baton, git, top, hub):
    (top / "src").mkdir()
    (top / "src" / "a").write_text("x")
    git(top, "add", "src")
    git(top, "commit", "-q", "-m", "src")
    filter_repo(top, "--path", "src/", "--refs", "main", "baton/work")
    told = " ".join(baton("list", code=3).err.split())
    assert "git filter-repo removed its branch" in told
    assert "baton namespace restore work" in told
    git(top, "gc", "-q", "--prune=now")
    baton("doctor", "refs", "--fix", "--yes")
    assert set(list_items(baton)) == {"FU-1", "FU-2"}


def test_a_damaged_or_newer_file_of_purged_commits_is_made_again(baton, git, top, hub):
    purge(top)
    readd(git, top, hub)
    file = top / ".git" / "baton" / "purged"
    for text in ("", "{", '{"format": 9}', "[]"):
        baton("list")
        assert json.loads(file.read_text())["format"] == 1
        file.write_text(text)
        assert "rewritten here" in baton("sync", code=3).err
        os.utime(file)


def test_the_mode_for_sensitive_data_of_filter_repo_is_noticed_if_it_drops_what_was_not_sent(baton, git, top, hub):
    """`--sensitive-data-removal` of git-filter-repo 2.47 first makes all refs equal to those of origin."""
    rules = top.parent / "rules"
    rules.write_text(f"{SECRET}==>REMOVED\n")
    mode = ("--sensitive-data-removal", "--replace-text", str(rules), "--replace-message", str(rules))
    copy = shutil.copytree(top, top.parent / "sent" / "work")
    filter_repo(copy, *mode)
    assert list_items(baton, cwd=copy) == {"FU-1": "the door code is REMOVED", "FU-2": "Ask Bo"}
    assert "the history was rewritten here" in baton("sync", cwd=copy, code=3).err
    assert find_secret(git, copy) == []
    baton("followup", "add", "not sent", "--id", "FU-3")
    filter_repo(top, *mode)
    told = " ".join(baton("list", code=3).err.split())
    assert "which does not contain the last known" in told
    assert "its commits are no longer here" in told


# --- the page


def read_blocks(heading: str) -> list[str]:
    """Return the shell blocks below a heading of docs/purging.md."""
    section = PAGE.read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return [part.split("```")[0] for part in section.split("```sh\n")[1:]]


def run_block(block: str, folder: Path, address: Path) -> str:
    """Run a block of the page in a shell; confirm what it would ask a person at a terminal."""
    for old, new in {"ADDRESS": str(address), "--settle ours": "--settle ours --yes",
                     "--settle theirs": "--settle theirs --yes"}.items():  # fmt: skip
        block = block.replace(old, new)
    program = f'baton() {{ "{sys.executable}" -m baton_git "$@"; }}\n'
    path = f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(["bash", "-c", program + block], cwd=folder, capture_output=True, text=True, timeout=120,
                          env={**os.environ, "PATH": path})  # fmt: skip
    return done.stdout + done.stderr


def test_the_steps_of_the_page_remove_a_secret_everywhere(baton, git, top, hub, tmp_path):
    other = tmp_path / "other" / "work"
    git(tmp_path, "clone", "-q", str(hub), str(other))
    baton("boot", cwd=other)
    assert SECRET in baton("recall", "door code").out, "the index of recall has the secret"
    run_block(read_blocks("Prepare")[1], top, hub)
    shutil.rmtree(tmp_path / "shop-backup")
    rewrite, delete, check = read_blocks("Purge")
    assert "door code is REMOVED" in run_block(rewrite, top, hub)
    run_block(delete, top, hub)
    assert run_block(check, top, hub).strip() == "0"
    assert "the history was rewritten here" in run_block(read_blocks("The remote")[0], top, hub)
    run_block(read_blocks("The remote")[1], top, hub)
    git(hub, "gc", "-q", "--prune=now")
    assert "rewritten on the remote" in baton("sync", cwd=other, code=3).err
    run_block(read_blocks("The other clones")[0], other, hub)
    run_block(delete, other, hub)
    assert [find_secret(git, folder) for folder in (top, hub, other)] == [[], [], []]
    assert list_items(baton) == list_items(baton, cwd=other) == {"FU-1": "the door code is REMOVED", "FU-2": "Ask Bo"}
