"""Time `git commit` alternately with and without baton's hooks, when no loop is due."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from measuring import missed, report, time_alternately

ROUNDS = 60
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
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
