"""Check that the default tests fail when a rule is broken: apply one mutant after the other and run its tests.

    python tests/mutation/run.py              # every mutant of mutants.toml
    python tests/mutation/run.py merge locks  # only mutants whose names contain one of the words
    python tests/mutation/run.py --whole      # a mutant that its own tests miss gets the whole default run

A mutant names a file, a text that occurs in it once, what to put there instead, and the test paths (of the default run)
that should fail. The project is copied to a temporary directory first; the checkout is never changed. Exits with 1 if
fewer than 95 % of the mutants die, or if a mutant no longer applies: its text is gone, or the tests cannot even be
collected with it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", ".hypothesis", "*.egg-info")
GOAL = 0.95
SECONDS = 900
"""Time limit in seconds for one run of tests. A mutant that hangs counts as detected."""
DIED, SURVIVED, NO_MUTANT = "died", "survived", "does not apply"


class Mutant(NamedTuple):
    """One change of the code that the tests must detect."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


class MutantResult(NamedTuple):
    """The result of a mutant, and the test that killed it, or the reason why none did."""

    mutant: Mutant
    outcome: str
    why: str


def load_mutants(words: list[str]) -> list[Mutant]:
    """Return the mutants of mutants.toml whose names contain one of `words`; all of them without words."""
    entries = tomllib.loads(Path(__file__).with_name("mutants.toml").read_text())["mutant"]
    mutants = [Mutant(**{**entry, "tests": tuple(entry["tests"])}) for entry in entries]
    return [mutant for mutant in mutants if not words or any(word in mutant.name for word in words)]


def run_tests(copy: Path, words: tuple[str, ...]) -> tuple[str, str]:
    """Run pytest with these arguments on a mutant in the copy; return the outcome and its reason."""
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "--tb=no", "-rfE", "-p", "no:cacheprovider", *words]
    try:
        done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return DIED, "timed out"
    if done.returncode == 0:
        return SURVIVED, ""
    failed = re.search(r"^(?:FAILED|ERROR) (\S+::\S+)", done.stdout, re.MULTILINE)
    if failed is None:
        return NO_MUTANT, (done.stdout + done.stderr).strip()[-1000:]
    return DIED, failed[1]


def try_mutant(copy: Path, mutant: Mutant, *, whole: bool) -> MutantResult:
    """Test a mutant in a copy of the project, and restore the copy; return the result."""
    path = copy / mutant.file
    source = path.read_text() if path.exists() else ""
    if source.count(mutant.old) != 1:
        return MutantResult(mutant, NO_MUTANT, "its text does not occur exactly once")
    path.write_text(source.replace(mutant.old, mutant.new))
    try:
        found = run_tests(copy, ("-n", "0", *mutant.tests))
        return MutantResult(mutant, *(run_tests(copy, ()) if whole and found[0] == SURVIVED else found))
    finally:
        path.write_text(source)


def try_all(copies: list[Path], mutants: list[Mutant], *, whole: bool) -> Iterator[MutantResult]:
    """Yield the results of the mutants, in their order, testing one at a time in each copy."""
    free: SimpleQueue[Path] = SimpleQueue()
    for copy in copies:
        free.put(copy)

    def try_one(mutant: Mutant) -> MutantResult:
        copy = free.get()
        try:
            return try_mutant(copy, mutant, whole=whole)
        finally:
            free.put(copy)

    with ThreadPoolExecutor(len(copies)) as pool:
        yield from pool.map(try_one, mutants)


def main() -> int:
    whole, words = "--whole" in sys.argv, [word for word in sys.argv[1:] if word != "--whole"]
    mutants = load_mutants(words)
    counts = dict.fromkeys((DIED, SURVIVED, NO_MUTANT), 0)
    with tempfile.TemporaryDirectory(prefix="baton-mutants-") as folder:
        copies = [Path(folder) / str(number) for number in range(os.cpu_count() or 1)]
        for copy in copies:
            shutil.copytree(ROOT, copy, ignore=LEFT_OUT)
        began = time.monotonic()
        for mutant, outcome, why in try_all(copies, mutants, whole=whole):
            counts[outcome] += 1
            print(
                f"{time.monotonic() - began:6.0f} s  {outcome:<14}  {mutant.name}  ({why or mutant.file})", flush=True
            )
    share = counts[DIED] / len(mutants) if mutants else 0.0
    print(f"{counts[DIED]} of {len(mutants)} mutants died ({share:.0%}, goal {GOAL:.0%})")
    return 0 if share >= GOAL and not counts[NO_MUTANT] else 1


if __name__ == "__main__":
    sys.exit(main())
