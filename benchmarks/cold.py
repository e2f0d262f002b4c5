"""Time whole processes against `python -c "import click"`, and the imports of a command."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from measuring import missed, report

ROUNDS = 15
COMMANDS = {
    "baton --version": (["--version"], 1.3),
    "baton read": (["read"], 5.5),
    "baton boot (no checks)": (["boot", "--no-verify"], 5.5),
}


def cpu_seconds(argv: list[str], folder: Path, environment: dict[str, str]) -> float:
    """Return the processor time of a process and its children; wall time would depend more on other programs."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(argv, cwd=folder, env=environment, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    baton = [str(Path(sys.executable).with_name("baton"))]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "project"
        folder.mkdir()
        environment = {"PATH": os.environ["PATH"], "HOME": place, "XDG_DATA_HOME": f"{place}/data"}
        subprocess.run(["git", "init", "-q", str(folder)], check=True)
        for words in (
            ["init"], ["boot"],
            *(["followup", "add", f"Item {n}"] for n in range(3)),
            *(["loop", "add", f"Action {n}", "--expect", "it works"] for n in range(3)),
            ["pattern", "record", "Oops"], ["decision", "add", "A", "--why", "B"], ["wrap", "--context", "Here"],
        ):  # fmt: skip
            subprocess.run([*baton, *words], cwd=folder, env=environment, capture_output=True, check=True)
        works = {"click": [sys.executable, "-c", "import click"]}
        works |= {name: [*baton, *words] for name, (words, _) in COMMANDS.items()}
        times: dict[str, list[float]] = {name: [] for name in works}
        for _ in range(ROUNDS):
            for name, argv in works.items():
                times[name].append(cpu_seconds(argv, folder, environment))
        peer = min(times["click"])
        print(f'python -c "import click": {peer * 1e3:.0f} ms of processor time (the minimum of {ROUNDS} runs)')
        for name, (_, goal) in COMMANDS.items():
            report(name, min(times[name]) / peer, goal)
        print_imports(baton, folder, environment)
    return 1 if missed else 0


def print_imports(baton: list[str], folder: Path, environment: dict[str, str]) -> None:
    """Print the twelve most expensive packages that `baton read` imports, each without its own imports."""
    import_times = subprocess.run(
        [sys.executable, "-X", "importtime", *baton, "read"],
        cwd=folder, env=environment, capture_output=True, text=True, check=True,
    ).stderr  # fmt: skip
    costs: dict[str, int] = {}
    for own, name in re.findall(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)", import_times):
        package = ".".join(name.split(".")[: 2 if name.startswith("baton_git") else 1])
        costs[package] = costs.get(package, 0) + int(own)
    print("\nimports of baton read, in ms:")
    for package, cost in sorted(costs.items(), key=lambda item: -item[1])[:12]:
        print(f"  {package:<28}{cost / 1000:6.1f}")


if __name__ == "__main__":
    sys.exit(main())
