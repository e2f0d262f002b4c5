"""Clones in which something is missing: blobs, trees, history, branches, or objects that git removed."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from machines import INCOMING, REF, Clock, Machine, machine

from baton_git.core.errors import Corrupt, RemoteError
from baton_git.verbs.sharing.auto_sync import sync_at_start

Pair = tuple[Machine, Machine]


@pytest.fixture
def cloned(pair: Pair, bare: Path, tmp_path: Path) -> Iterator[object]:
    """Return a function that makes a machine with a real `git clone` with the given options; its branch is `main`."""
    ada, made = pair[0], []
    ada.git("commit", "-q", "--allow-empty", "-m", "code")
    ada.git("push", "-q", "origin", "HEAD:refs/heads/main")
    subprocess.run(["git", "-C", str(bare), "config", "uploadpack.allowFilter", "true"], check=True)

    def clone(*options: str) -> Machine:
        top = tmp_path / "cara"
        subprocess.run(["git", "clone", "-q", *options, f"file://{bare}", str(top)], check=True, capture_output=True)
        made.append(machine(tmp_path, "cara", Clock()))
        return made[-1]

    yield clone
    for one in made:
        one.store.close()


@pytest.mark.parametrize(
    "options", ["--filter=blob:none", "--filter=tree:0", "--depth=1", "--depth=1 --no-single-branch"]
)
def test_a_session_in_an_odd_clone_begins_with_what_the_remote_has(pair: Pair, cloned, options: str) -> None:
    cara = cloned(*options.split())
    [line] = sync_at_start(cara.ws, cara.clock())
    assert line.endswith("came in from origin")
    assert cara.tip == pair[0].tip
    assert cara.get("open_loop", "OL-1").action == "deployed"
    cara.loop("OL-cara")
    assert cara.sync().sent == 1
    assert pair[1].sync().received == 1


def test_a_partial_clone_fetches_only_what_is_new(cloned) -> None:
    cara = cloned("--filter=blob:none")
    cara.sync()
    packs = sorted((cara.top / ".git/objects/pack").glob("*.pack"))
    cara.sync()
    assert sorted((cara.top / ".git/objects/pack").glob("*.pack")) == packs


def test_a_branch_that_git_created_in_a_partial_clone_is_completed(pair: Pair, cloned) -> None:
    cara = cloned("--filter=blob:none")
    cara.git("branch", "-q", "baton/x", "origin/baton/x")
    sync_at_start(cara.ws, cara.clock())
    assert cara.get("open_loop", "OL-1").action == "deployed"


def test_a_remote_with_another_object_format_is_reported_with_a_hint(ada: Machine, tmp_path: Path) -> None:
    ada.loop("OL-1")
    ada.sync()
    subprocess.run(["git", "init", "-q", "--object-format=sha256", str(tmp_path / "cara")], check=True)
    subprocess.run(["git", "-C", str(tmp_path / "cara"), "remote", "add", "origin", "../origin.git"], check=True)
    cara = machine(tmp_path, "cara", Clock())
    with pytest.raises(RemoteError, match="mismatched algorithms: client sha256; server sha1") as caught:
        cara.run_sync()
    assert "git clone " in caught.value.hint
    assert "<" not in caught.value.hint
    cara.store.close()


# --- objects that are gone


def unpack_objects(one: Machine) -> None:
    """Unpack all objects into loose files."""
    for pack in list((one.top / ".git/objects/pack").glob("*.pack")):
        data = pack.read_bytes()
        for suffix in (".pack", ".idx", ".rev", ".keep"):
            pack.with_suffix(suffix).unlink(missing_ok=True)
        subprocess.run(["git", "-C", str(one.top), "unpack-objects", "-q"], input=data, check=True)
    one.store.close()


def file_of(one: Machine, what: str) -> Path:
    oid = one.git("rev-parse", what)
    return one.top / ".git/objects" / oid[:2] / oid[2:]


def reopen(one: Machine, tmp_path: Path) -> Machine:
    one.store.close()
    return machine(tmp_path, one.name, one.clock)


@pytest.mark.parametrize("what", [f"{REF}:open_loops/OL-1.toml", f"{REF}:open_loops", REF])
def test_a_sync_fetches_again_what_is_gone(pair: Pair, tmp_path: Path, what: str) -> None:
    _, bob = pair
    unpack_objects(bob)
    file_of(bob, what).unlink()
    bob = reopen(bob, tmp_path)
    done = bob.sync()
    assert "fetched again" in done.notes[0]
    assert bob.get("open_loop", "OL-1").action == "deployed"
    bob.git("fsck", "--strict", "--connectivity-only")
    assert bob.sync().notes == ()
    bob.store.close()


def test_a_sync_fetches_again_what_is_damaged(pair: Pair, tmp_path: Path) -> None:
    _, bob = pair
    unpack_objects(bob)
    path = file_of(bob, f"{REF}:open_loops/OL-1.toml")
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:-9] + b"x" * 9)
    bob = reopen(bob, tmp_path)
    with pytest.raises(Corrupt) as caught:
        bob.store.read(bob.store.folder(bob.store.commit(bob.tip).tree).folder("open_loops").entries()["OL-1.toml"].oid)
    assert caught.value.hint.startswith("baton sync fetches it again")
    assert "fetched again" in bob.sync().notes[0]
    assert bob.get("open_loop", "OL-1").action == "deployed"
    bob.store.close()


def test_objects_that_no_remote_has_stay_missing_and_are_named(pair: Pair, tmp_path: Path) -> None:
    _, bob = pair
    bob.loop("OL-2")
    unpack_objects(bob)
    file_of(bob, f"{REF}:open_loops/OL-2.toml").unlink()
    bob = reopen(bob, tmp_path)
    done = bob.try_sync()
    assert "open_loops/OL-2.toml" in str(done.error)
    assert "the remote does not have it" in str(done.error)
    assert bob.store.tip(INCOMING)
    bob.store.close()
