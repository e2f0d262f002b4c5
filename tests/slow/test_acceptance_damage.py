"""On a full disk, in a read-only repository, or with damaged files, each command prints one clear line, and nothing is
lost."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import contextmanager, suppress

import pytest

pytestmark = pytest.mark.slow

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounting a file system needs root")

READS = [("read",), ("status",), ("log",), ("show",), ("diff", "1"), ("validate",)]
WRITES = [
    ("loop", "add", "a", "--expect", "b"), ("loop", "close", "OL-1"), ("followup", "defer", "FU-1"),
    ("followup", "done", "FU-1"), ("pattern", "record", "Assumed"), ("decision", "monitor", "DEC-1"),
    ("wrap", "--context", "c"), ("rollback", "2"), ("undo",), ("write", "--file", "-"),
]  # fmt: skip
DOCUMENT = '{"session_id": "doc", "context": "new"}'


@contextmanager
def mounted(*arguments, at):
    at.mkdir(exist_ok=True)
    done = subprocess.run(["mount", *arguments, str(at)], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"this machine does not let us mount: {done.stderr.strip()}")
    try:
        yield at
    finally:
        subprocess.run(["umount", "-l", str(at)], check=True)


def fill(baton, *more):
    """Create a namespace with a record of each kind."""
    baton("init", *more)
    baton("loop", "add", "Deployed it", "--expect", "it answers", "--id", "OL-1", "--verify-file", "readme", *more)
    baton("followup", "add", "Refactor", "--id", "FU-1", *more)
    baton("pattern", "record", "Assumed", "--id", "PAT-1", *more)
    baton("decision", "add", "Use it", "--why", "because", "--id", "DEC-1", *more)


def fill_up(path):
    """Write to `path` until the disk is full."""
    with path.open("wb", buffering=0) as filler, suppress(OSError):
        while True:
            filler.write(b"x" * 4096)


def check_clear_error(done, *codes):
    """Check that a command failed with one of these codes and one clear line of error; return the line."""
    assert done.code in codes, done
    assert "Traceback" not in done.err
    assert "a bug" not in done.err
    lines = done.err.splitlines()
    assert lines[0].startswith("baton: "), done
    assert len(lines) <= 2
    return lines[0]


@needs_root
def test_a_full_disk_is_one_clear_line_and_loses_nothing(baton, git, tmp_path):
    with mounted("-t", "tmpfs", "-o", "size=2m", "tmpfs", at=tmp_path / "small") as small:
        repo = str(small / "state.git")
        fill(baton, "--repo", repo)
        before = baton("read", "--repo", repo).json
        fill_up(small / "filler")
        for words in WRITES:
            line = check_clear_error(baton(*words, "--repo", repo, given=DOCUMENT, code=None), 1)
            assert "space" in line.lower()
        for words in READS:
            baton(*words, "--repo", repo)
        booted = baton("boot", "--repo", repo)
        assert "Deployed it" in booted.out
        assert "not recorded" in booted.out
        assert baton("read", "--repo", repo).json == before
        git(small / "state.git", "fsck", "--strict")
        (small / "filler").unlink()
        baton("followup", "defer", "FU-1", "--repo", repo)
        git(small / "state.git", "fsck", "--strict")


@needs_root
def test_a_disk_that_fills_up_bit_by_bit_loses_nothing_that_was_acknowledged(baton, git, tmp_path):
    with mounted("-t", "tmpfs", "-o", "size=600k", "tmpfs", at=tmp_path / "small") as small:
        repo, acknowledged, refused = str(small / "state.git"), [], 0
        for number in range(400):
            done = baton(
                "followup", "add", f"{number} " + os.urandom(3000).hex(), "--repo", repo, "--create", code=None
            )
            if done.code == 0:
                acknowledged.append(done.id)
            else:
                check_clear_error(done, 1)
                refused += 1
            if refused == 5:
                break
        found = {one["id"] for one in baton("read", "--repo", repo).json["baton"]["follow_ups"]}
        assert refused == 5
        assert set(acknowledged) == found
        git(small / "state.git", "fsck", "--strict")


@needs_root
def test_on_a_full_disk_recall_answers_and_says_that_its_index_is_not_stored(baton, tmp_path):
    with mounted("-t", "tmpfs", "-o", "size=3m", "tmpfs", at=tmp_path / "small") as small:
        repo = str(small / "state.git")
        fill(baton, "--repo", repo)
        for number in range(20):
            baton("followup", "add", f"{number} " + os.urandom(8000).hex(), "--repo", repo)
        fill_up(small / "filler")
        os.truncate(small / "filler", (small / "filler").stat().st_size - 150_000)  # enough to begin an index
        answer = baton("recall", "why use it", "--repo", repo)
        assert "because" in answer.out
        (line,) = answer.err.splitlines()
        assert line.startswith("the index of recall is not stored: database or disk is full")
        (small / "filler").unlink()
        assert not baton("recall", "why use it", "--repo", repo).err


@needs_root
def test_a_read_only_repository_is_one_clear_line_and_can_be_read(baton, top, tmp_path):
    fill(baton)
    before = baton("read").json
    with mounted("--bind", "-o", "ro", str(top), at=tmp_path / "ro") as place:
        env = {"BATON_NAMESPACE": "work"}
        for words in WRITES:
            line = check_clear_error(baton(*words, cwd=place, given=DOCUMENT, env=env, code=None), 1)
            assert "read-only" in line.lower()
        for words in READS:
            baton(*words, cwd=place, env=env)
        booted = baton("boot", cwd=place, env=env)
        assert "Deployed it" in booted.out
        assert baton("read", cwd=place, env=env).json == before


def test_a_corrupted_record_is_named_kept_and_can_be_rolled_back(baton, git, top):
    fill(baton)
    blob = git(top, "hash-object", "-w", "--stdin", text="id = [torn")
    tree = _with_blob(git, top, "open_loops/OL-1.toml", blob)
    commit = git(top, "commit-tree", tree, "-p", "baton/work", "-m", "torn by hand")
    git(top, "update-ref", "refs/heads/baton/work", commit)
    done = baton("read")
    assert "open_loops/OL-1.toml cannot be read" in done.err
    assert done.json["unreadable"][0]["path"] == "open_loops/OL-1.toml"
    assert "cannot be read: open_loops/OL-1.toml" in baton("status").out
    assert "open_loops/OL-1.toml" in baton("boot").out
    assert "open_loops/OL-1.toml" in baton("validate", code=1).out
    for words in (("loop", "close", "OL-1"), ("loop", "verify", "OL-1", "--passed")):
        assert "open_loops/OL-1.toml" in check_clear_error(baton(*words, code=None), 1)
    baton("write", "--file", "-", given=DOCUMENT)
    assert git(top, "show", "baton/work:open_loops/OL-1.toml") == "id = [torn"
    baton("rollback", "--record", "OL-1")
    assert baton("read").json["baton"]["open_loops"][0]["action"] == "Deployed it"
    git(top, "fsck", "--strict")


def _with_blob(git, top, path, blob):
    """Return the tree of the tip with another blob at `path`, made in a separate index."""
    index = ["-c", f"core.worktree={top}"]
    env = {**os.environ, "GIT_INDEX_FILE": str(top / ".git/scratch-index")}
    for words in (["read-tree", "baton/work"], ["update-index", "--cacheinfo", f"100644,{blob},{path}"]):
        subprocess.run(["git", "-C", str(top), *index, *words], env=env, check=True)
    done = subprocess.run(["git", "-C", str(top), "write-tree"], env=env, check=True, capture_output=True, text=True)
    (top / ".git/scratch-index").unlink()
    return done.stdout.strip()


def test_a_truncated_pack_is_one_clear_line_and_unchanged(baton, git, top):
    fill(baton)
    baton("gc")
    packs = sorted((top / ".git/objects/pack").glob("*.pack"))
    whole = {pack: pack.read_bytes() for pack in packs}
    for pack in packs:
        pack.chmod(0o644)
        pack.write_bytes(whole[pack][: len(whole[pack]) // 3])
    for words in (*READS, *WRITES):
        done = baton(*words, given=DOCUMENT, code=None)
        check_clear_error(done, 1)
    booted = baton("boot", code=1)
    assert "Problems" in booted.out
    for pack in packs:
        assert pack.read_bytes() == whole[pack][: len(whole[pack]) // 3]
        pack.write_bytes(whole[pack])
    assert baton("read").json["baton"]["open_loops"][0]["id"] == "OL-1"
    git(top, "fsck", "--strict")


@pytest.mark.parametrize("text", ["", "\n", "\x00" * 41, "0123456789abcdef\n", "not a ref\n"])
def test_a_broken_ref_file_is_one_clear_line_and_not_overwritten(baton, git, top, text):
    fill(baton)
    ref = top / ".git/refs/heads/baton/work"
    good = ref.read_text()
    ref.write_text(text)
    for words in (*READS, *WRITES):
        line = check_clear_error(baton(*words, given=DOCUMENT, code=None), 1)
        assert "baton/work" in line
    assert "Problems" in baton("boot", code=1).out
    assert ref.read_text() == text
    ref.write_text(good)
    baton("followup", "defer", "FU-1")
    git(top, "fsck", "--strict")


def test_a_symbolic_ref_is_never_written_through(baton, git, top):
    fill(baton)
    git(top, "symbolic-ref", "refs/heads/baton/work", "refs/heads/main")
    before = git(top, "rev-parse", "main")
    for words in WRITES:
        baton(*words, given=DOCUMENT, code=None)
        assert git(top, "rev-parse", "main") == before
    assert "is not a branch of baton-git" in check_clear_error(baton("followup", "add", "x", code=None), 1)


def test_a_ref_that_leads_to_nothing_is_one_clear_line(baton, git, top):
    fill(baton)
    ref = top / ".git/refs/heads/baton/work"
    good = ref.read_text()
    ref.write_text("1" * 40 + "\n")
    for words in (*READS, *WRITES):
        check_clear_error(baton(*words, given=DOCUMENT, code=None), 1)
    assert ref.read_text() == "1" * 40 + "\n"
    ref.write_text(good)
    baton("read")


def test_a_lock_of_a_killed_process_does_not_block_for_long(baton_process, git, top):
    baton_process("followup", "add", "x", "--id", "FU-1")
    lock = top / ".git/refs/heads/baton/work.lock"
    lock.touch()
    long_ago = lock.stat().st_mtime - 3600
    os.utime(lock, (long_ago, long_ago))
    baton_process("followup", "defer", "FU-1")
    assert not lock.exists()


def test_removing_the_local_data_of_baton_loses_no_records(baton, git, top):
    fill(baton)
    baton("boot")
    before = baton("read").json
    shutil.rmtree(top / ".git/baton")
    assert baton("read").json == before
    baton("followup", "defer", "FU-1")
    git(top, "fsck", "--strict")
