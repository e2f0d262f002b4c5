"""Time a sync against the `git fetch` and `git push` that it needs, with a bare repository on the same disk."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from measuring import fill, missed, now, report, time_prepared

from baton_git.core.names import Namespace
from baton_git.git.store import Repository, Store
from baton_git.namespace.branch import Branch
from baton_git.namespace.remote_settings import RemoteSettings
from baton_git.namespace.workspace import Actor, Workspace
from baton_git.verbs.sharing.sync import sync
from baton_git.verbs.work_items.followups import add_follow_up

ROUNDS = 30
REF = "refs/heads/baton/bench"
TRACKING = "refs/remotes/origin/baton/bench"


class Machine(NamedTuple):
    """A clone of a bare repository, and the environment of programs in it."""

    folder: Path
    environment: dict[str, str]

    def git(self, *words: str) -> None:
        subprocess.run(["git", *words], cwd=self.folder, env=self.environment, check=True, capture_output=True)

    @contextmanager
    def workspace(self) -> Iterator[Workspace]:
        """Open everything anew, as a command does."""
        repository = Repository.discover(self.folder)
        assert repository is not None
        with Store(repository) as store:
            branch = Branch(store, Namespace("bench"))
            settings = RemoteSettings(remotes=("origin",))
            yield Workspace(
                branch,
                Actor("Bench <bench@localhost>", "bench"),
                environment=self.environment,
                remote_settings=settings,
            )

    def sync(self) -> None:
        with self.workspace() as ws:
            done = sync(ws, now())
            assert not done.errors
            assert done.offline is None

    def write(self) -> None:
        with self.workspace() as ws:
            add_follow_up(ws, now(), item="One more", reason="later")

    def fetch(self) -> None:
        self.git("fetch", "-q", "--no-tags", "origin", f"+{REF}:{TRACKING}")

    def push(self) -> None:
        self.git("push", "-q", "origin", f"{REF}:{REF}")


def clone(place: Path, name: str, remote: Path) -> Machine:
    environment = {"PATH": os.environ["PATH"], "HOME": str(place), "XDG_DATA_HOME": f"{place}/data"}
    machine = Machine(place / name, environment)
    subprocess.run(["git", "clone", "-q", str(remote), str(place / name)], check=True, capture_output=True)
    return machine


def make_pair(place: Path, name: str) -> tuple[Machine, Machine]:
    """Return two machines that share a namespace of 20 records through a remote."""
    remote = place / f"{name}.git"
    subprocess.run(["git", "init", "-q", "--bare", str(remote)], check=True)
    one, other = (clone(place, f"{name}-{part}", remote) for part in ("here", "there"))
    with one.workspace() as ws:
        fill(ws)
    for each in (one, other):
        each.sync()
    return one, other


def nothing() -> None:
    pass


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="baton-bench-") as place:
        here, there = make_pair(Path(place), "ours")
        peer, beyond = make_pair(Path(place), "git")
        ours, theirs = time_prepared(ROUNDS, (nothing, here.sync), (nothing, peer.fetch))
        print(f"nothing to do: ours {ours * 1e3:.1f} ms, git fetch {theirs * 1e3:.1f} ms")
        report("a sync with nothing to do", ours / theirs, 1.5)

        def fetch_and_push() -> None:
            peer.fetch()
            peer.push()

        ours, theirs = time_prepared(ROUNDS, (here.write, here.sync), (peer.write, fetch_and_push))
        print(f"one commit to send: ours {ours * 1e3:.1f} ms, git fetch and git push {theirs * 1e3:.1f} ms")
        report("a sync that sends a commit", ours / theirs, 1.5)

        def send_commit(machine: Machine) -> None:
            machine.sync()
            machine.write()
            machine.sync()

        def receive_commit(*settings: str) -> None:
            peer.git(*settings, "fetch", "-q", "--no-tags", "origin", f"+{REF}:{TRACKING}")
            peer.git(*settings, "update-ref", REF, TRACKING)

        ours, synced, theirs = time_prepared(
            ROUNDS,
            (lambda: send_commit(there), here.sync),
            (lambda: send_commit(beyond), lambda: receive_commit("-c", "core.fsync=all")),
            (lambda: send_commit(beyond), receive_commit),
        )  # fmt: skip
        print(
            f"one commit received: ours {ours * 1e3:.1f} ms, git fetch and git update-ref that sync what they write "
            f"{synced * 1e3:.1f} ms, and that do not {theirs * 1e3:.1f} ms"
        )
        report("a sync that receives a commit, durable on both sides", ours / synced, 1.5)
        measure_commands(here, peer)
    return 1 if missed else 0


def measure_commands(here: Machine, peer: Machine) -> None:
    """Time whole commands: how much longer `baton sync` takes than `baton read`, which opens the same branch."""
    baton = str(Path(sys.executable).with_name("baton"))

    def run(*words: str) -> None:
        subprocess.run(
            [baton, *words, "--namespace", "bench"], cwd=here.folder, env=here.environment, check=True,
            capture_output=True,
        )  # fmt: skip

    whole, start, least, theirs = time_prepared(
        ROUNDS // 2,
        (nothing, lambda: run("sync")), (nothing, lambda: run("read")),
        (nothing, lambda: subprocess.run([baton, "--version"], check=True, capture_output=True)), (nothing, peer.fetch),
    )  # fmt: skip
    print(
        f"baton sync with nothing to do: {whole * 1e3:.0f} ms; baton read {start * 1e3:.0f} ms, "
        f"baton --version {least * 1e3:.0f} ms"
    )
    print(f"  so beyond the start of `read` {(whole - start) * 1e3:.1f} ms, git fetch {theirs * 1e3:.1f} ms")


if __name__ == "__main__":
    sys.exit(main())
