"""Processor time and size of a merge of packs by baton, against `git pack-objects --stdin-packs`, which would do the
same; and processor time of reading the objects, against dulwich."""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

from dulwich.object_store import DiskObjectStore
from dulwich.objects import ObjectID
from measuring import fill, missed, now, report, workspace

from baton_git.core.names import Namespace, Oid
from baton_git.core.progress import ignore_progress
from baton_git.git.objects.pack_merge import merge_packs
from baton_git.git.objects.pack_reader import OpenPack
from baton_git.git.objects.pack_writer import write_kept
from baton_git.git.objects.reader import Objects
from baton_git.git.store import Store
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.work_items.followups import defer_follow_up

WRITES = 440
ROUNDS = 5


def processor_seconds() -> float:
    """Return the processor time of this process and of the git processes that it has waited for."""
    times = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in times)


def median_seconds(*works: Callable[[], object]) -> list[float]:
    """Return the median processor time of each task; the tasks alternate."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(ROUNDS):
        for own, work in zip(times, works, strict=True):
            before = processor_seconds()
            work()
            own.append(processor_seconds() - before)
    return [statistics.median(own) for own in times]


def write(ws: Workspace, namespaces: int) -> None:
    """Change follow-ups of several namespaces in turn, one pack for each write, and never merge."""
    ws.branch.store.housekeeping.enough = 10**9
    places = [
        replace(ws, branch=replace(ws.branch, namespace=Namespace(f"bench{number}"))) for number in range(namespaces)
    ]
    ids = [fill(place) for place in places]
    for number in range(WRITES):
        id_ = ids[number % namespaces][number // namespaces % 20]
        defer_follow_up(places[number % namespaces], now(), id=id_, reason=f"{number}")


def merge_by_baton(store: Store, into: Path) -> None:
    housekeeping = store.housekeeping
    with ExitStack() as opened:
        indexes = [housekeeping.packs / f"pack-{noted.name}.idx" for noted in housekeeping.list_noted()]
        packs = [opened.enter_context(closing(OpenPack(index, housekeeping.form))) for index in indexes]
        result = merge_packs(packs, housekeeping.form, anew=False, progress=ignore_progress)
    write_kept(into, result.body(), result.index(), housekeeping.form)


def merge_by_git(store: Store, into: Path) -> None:
    """Merge in a git directory with links to these packs only: in the repository, git walks the whole history.

    git takes the newest pack first, and those of one second by name; deltas are smallest if they follow each other.
    """
    packs = [store.housekeeping.packs / f"pack-{noted.name}.pack" for noted in store.housekeeping.list_noted()]
    packs.sort(key=lambda path: path.stat().st_mtime_ns, reverse=True)
    names = [f"pack-{number:040x}" for number in range(len(packs))]
    with tempfile.TemporaryDirectory(dir=into) as place:
        for part in ("refs", "objects/pack"):
            Path(place, part).mkdir(parents=True)
        Path(place, "HEAD").write_text("ref: refs/heads/none\n")
        for name, pack in zip(names, packs, strict=True):
            for suffix in (".pack", ".idx"):
                Path(place, "objects", "pack", name + suffix).symlink_to(pack.with_suffix(suffix))
        words = ["git", f"--git-dir={place}", "pack-objects", "-q", "--threads=1", "--stdin-packs"]
        given = "".join(f"{name}.pack\n" for name in names).encode()
        subprocess.run(
            [*words, "--delta-base-offset", str(into / "pack")], input=given, stdout=subprocess.DEVNULL, check=True
        )


def pack_bytes(folder: Path) -> int:
    """Return the size of the newest pack in a folder."""
    return max(folder.glob("*.pack"), key=lambda path: path.stat().st_mtime_ns).stat().st_size


def compare_merges(store: Store, what: str) -> None:
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        ours, gits = Path(one), Path(other)
        own, theirs = median_seconds(lambda: merge_by_baton(store, ours), lambda: merge_by_git(store, gits))
        print(f"{what}: {own:.3f} s and {pack_bytes(ours):,} bytes, git {theirs:.3f} s and {pack_bytes(gits):,} bytes")
        report(f"{what}: the processor time of a merge, against git", own / theirs, 1.1)
        report(f"{what}: its bytes, against git", pack_bytes(ours) / pack_bytes(gits), 1.0)


def compare_readers(store: Store) -> None:
    store.pack(everything=True)
    folder, form = store.repository.common_dir / "objects", store.objects.form
    with closing(OpenPack(next(folder.glob("pack/*.idx")), form)) as pack:
        names = [entry.name.hex() for entry in pack.index.entries()]

    def read_with_baton() -> None:
        with closing(Objects(folder, form)) as objects:
            for name in names:
                objects.get(Oid(name))

    def read_with_dulwich() -> None:
        with closing(DiskObjectStore(str(folder))) as objects:
            for name in names:
                objects[ObjectID(name.encode())]

    own, theirs = median_seconds(read_with_baton, read_with_dulwich)
    print(f"{len(names):,} objects read: {own:.3f} s, dulwich {theirs:.3f} s")
    report("reading all objects of a pack, with their ids verified, against dulwich", own / theirs, 0.6)


def main() -> int:
    for namespaces in (1, 8):
        with workspace() as ws:
            write(ws, namespaces)
            compare_merges(ws.branch.store, f"{WRITES} packs of {namespaces} namespaces")
            compare_readers(ws.branch.store)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
