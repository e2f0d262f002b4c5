"""Time one write and one read in a warm process, against bare dulwich with the same disk operations."""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
import tomllib
from collections.abc import Callable
from pathlib import Path

import tomli_w
from dulwich.objects import Blob, Commit, Tree
from dulwich.repo import Repo
from measuring import fill, missed, now, report, time_alternately, workspace

from baton_git.core.records.work_items import FollowUp
from baton_git.git.store import Store
from baton_git.namespace.branch import Branch
from baton_git.namespace.workspace import Workspace
from baton_git.systems.session_baton.documents import read_document

REF = b"refs/heads/baton/bench"
FOLDER = b"follow_ups"


def write_with_dulwich(repo: Repo, name: bytes, record: dict[str, object], number: int) -> None:
    """Make the same blob, trees, commit and ref move with dulwich alone; sync the objects and the ref."""
    tip = repo.refs[REF]
    commit = repo[tip]
    root = repo[commit.tree]
    folder = repo[root[FOLDER][1]]
    blob = Blob.from_string(tomli_w.dumps({**record, "reason": f"later {number}"}).encode())
    inner, outer = Tree(), Tree()
    for entry in folder.iteritems():
        inner.add(entry.path, entry.mode, entry.sha)
    inner.add(name, 0o100644, blob.id)
    for entry in root.iteritems():
        outer.add(entry.path, entry.mode, entry.sha)
    outer.add(FOLDER, 0o040000, inner.id)
    new = Commit()
    new.tree, new.parents = outer.id, [tip]
    new.author = new.committer = b"Bench <bench@localhost>"
    new.author_time = new.commit_time = 1_800_000_000 + number
    new.author_timezone = new.commit_timezone = 0
    new.message = b"later\n"
    for one in (blob, inner, outer, new):
        repo.object_store.add_object(one)
    assert repo.refs.set_if_equals(REF, tip, new.id)


def copy_repository(ws: Workspace, place: str) -> Repo:
    """Return a second repository with the same state, in which dulwich syncs objects like baton."""
    source = ws.branch.store.repository.common_dir
    os.system(f"git clone -q --bare {source} {place}/peer.git")
    repo = Repo(f"{place}/peer.git")
    config = repo.get_config()
    config.set((b"core",), b"fsyncObjectFiles", b"true")
    config.write_to_path()
    repo.close()
    return Repo(f"{place}/peer.git")


def without_last_tip(write: Callable[[], None]) -> None:
    """Write without the kept ref, and without comparing the branch with it."""
    publish, tip = Store.publish, Branch.tip
    Store.publish = lambda *words, **named: publish(*words, **{**named, "keep": False})  # type: ignore[method-assign]
    Branch.tip = lambda branch: branch.store.tip(branch.ref)  # type: ignore[method-assign]
    write()
    Store.publish, Branch.tip = publish, tip  # type: ignore[method-assign]


def main() -> int:
    with workspace() as ws, tempfile.TemporaryDirectory() as place:
        ids = fill(ws)
        peer = copy_repository(ws, place)
        records = {one.id: one.as_data() for one in ws.branch.read().state.records(FollowUp)}
        numbers = itertools.count()

        def ours() -> None:
            number = next(numbers)
            id_ = ids[number % len(ids)]
            ws.update(
                "bench", now(), lambda v: v.state.put(v.state.get(FollowUp, id_).replace(reason=f"later {number}"))
            )

        def theirs() -> None:
            number = next(numbers)
            id_ = ids[number % len(ids)]
            write_with_dulwich(peer, f"{id_}.toml".encode(), records[id_], number)

        ours_time, peer_time = time_alternately(150, ours, theirs)
        print(f"one write: ours {ours_time * 1e3:.2f} ms, bare dulwich {peer_time * 1e3:.2f} ms")
        report("a changed record, validated, redacted, committed durably", ours_time / peer_time, 2)
        kept_time, unkept_time = time_alternately(300, ours, lambda: without_last_tip(ours))
        report("a write with the last known tip: kept ref and comparison", kept_time / unkept_time, 1.05)

        def read_with_dulwich() -> None:
            repo = Repo(f"{place}/peer.git")
            root = repo[repo[repo.refs[REF]].tree]
            for entry in repo[root[FOLDER][1]].iteritems():
                tomllib.loads(repo[entry.sha].data.decode())
            repo.close()

        def read_with_baton() -> None:
            with Store(ws.branch.store.repository) as store:
                branch = type(ws.branch)(store, ws.branch.namespace)
                read_document(Workspace(branch, ws.actor))

        os.system(f"git -C {Path(place) / 'peer.git'} repack -adq")
        ws.branch.store.pack(everything=True)
        ours_time, peer_time = time_alternately(100, read_with_baton, read_with_dulwich)
        print(f"one read: ours {ours_time * 1e3:.2f} ms, bare dulwich and tomllib {peer_time * 1e3:.2f} ms")
        report("the state of 20 records read, from a fresh store", ours_time / peer_time, 2)
        peer.close()
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
