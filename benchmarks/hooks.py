"""Time `git commit` with and without hooks, when no loop is due, and a push with and without a server's guard."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from measuring import missed, report, time_alternately

ROUNDS = 60
PUSHES = 20
GUARD_SECONDS = 0.15
"""Goal for the processor time that the guard adds to a push on an idle machine."""
ADDED_MS = 10.0
FACTOR = 1.15


def main() -> int:
    baton = [sys.executable, "-P", "-m", "baton_git"]
    with tempfile.TemporaryDirectory(prefix="baton-bench-") as place:
        environment = {
            "PATH": os.environ["PATH"], "HOME": place, "XDG_DATA_HOME": f"{place}/data", "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "B", "GIT_AUTHOR_EMAIL": "b@b", "GIT_COMMITTER_NAME": "B", "GIT_COMMITTER_EMAIL": "b@b",
        }  # fmt: skip

        def run(folder: Path, *words: str) -> None:
            subprocess.run(words, cwd=folder, env=environment, capture_output=True, check=True)

        def make_commit(folder: Path) -> Callable[[], None]:
            def commit() -> None:
                file = folder / "file"
                file.write_text(f"{file.stat().st_mtime_ns}\n")
                run(folder, "git", "commit", "-q", "-a", "-m", "a change")

            return commit

        folders = [Path(place) / name for name in ("without", "with", "chained")]
        for folder in folders:
            folder.mkdir()
            run(folder, "git", "init", "-q")
            (folder / "file").write_text("")
            run(folder, "git", "add", "file")
            run(folder, "git", "commit", "-q", "-m", "first")
            run(folder, *baton, "init")
            run(folder, *baton, "loop", "add", "Deployed", "--expect", "200", "--verify-http", "http://127.0.0.1:1/")
        hook = folders[-1] / ".git/hooks/post-commit"
        hook.write_text("#!/bin/sh\nexit 0\n")
        hook.chmod(0o755)
        for folder in folders[1:]:
            run(folder, *baton, "hooks", "install")
        without, with_hooks, chained = time_alternately(ROUNDS, *(make_commit(folder) for folder in folders))
        print(f"git commit without hooks: {without * 1e3:.1f} ms (median of {ROUNDS})")
        print(f"with hooks {with_hooks * 1e3:.1f} ms, after another hook {chained * 1e3:.1f} ms")
        report("git commit with hooks, nothing due, less 10 ms", (with_hooks - ADDED_MS / 1e3) / without, FACTOR)
        report("  what the hooks add", (with_hooks - without) * 1e3, ADDED_MS + (FACTOR - 1) * without * 1e3, " ms")
        report("git commit with another hook before ours, less 10 ms", (chained - ADDED_MS / 1e3) / without, FACTOR)
        time_pushes(Path(place), run, baton)
    return 1 if missed else 0


def time_pushes(place: Path, run: Callable[..., None], baton: Sequence[str]) -> None:
    """Measure the processor time of pushes of one new record to bare repositories without and with the guard."""
    client, servers = place / "client", [place / "open.git", place / "guarded.git"]
    client.mkdir()
    run(client, "git", "init", "-q")
    run(client, *baton, "init")
    for server in servers:
        run(place, "git", "init", "-q", "--bare", str(server))
    run(servers[1], *baton, "hooks", "install")
    times: list[list[float]] = [[], []]
    for number in range(PUSHES):
        run(client, *baton, "followup", "add", f"Item {number}", "--reason", "measured")
        for server, spent in zip(servers, times, strict=True):
            before = read_processor_time()
            run(client, "git", "push", "-q", str(server), "baton/client")
            spent.append(read_processor_time() - before)
    without, guarded = map(statistics.median, times)
    print(
        f"a push: {without * 1e3:.0f} ms of processor time, with the guard {guarded * 1e3:.0f} ms (median of {PUSHES})"
    )
    report("  what the guard adds to a push", guarded - without, GUARD_SECONDS, " s")


def read_processor_time() -> float:
    """Return the processor time of all programs that have ended, in seconds."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    sys.exit(main())
