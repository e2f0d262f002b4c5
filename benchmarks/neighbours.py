"""Time storing items and printing them for the next session: baton, a Markdown file and git notes.

All three get the same items. For 20 and for 200 items, the benchmark prints the processor time of a process that stores
one item, that of a process that prints all of them, and the number of printed bytes. The figures are in
docs/comparison.md.

Run by hand: `python benchmarks/neighbours.py`.
"""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import baton_git

ROUNDS, COUNTS = 9, (20, 200)
BATON = (sys.executable, "-P", "-m", "baton_git")
SYLLABLES = ("ba", "ce", "di", "fo", "gu", "la", "me", "ni", "po", "ru", "sa", "te", "vi", "zo")


class Notebook(NamedTuple):
    """A way to store items in a repository and to print them, each by a command; `fill` stores many at once."""

    name: str
    folder: Path
    note: Callable[[str], list[str]]
    print_all: list[str]
    fill: Callable[[Path, list[str]], None]


def make_items(count: int) -> list[str]:
    """Return items of about 150 bytes with different words, so that no two are similar."""
    chance = random.Random(count)
    return [" ".join("".join(chance.choices(SYLLABLES, k=4)) for _ in range(16)) for _ in range(count)]


def fill_file(folder: Path, items: list[str]) -> None:
    """Append items to CLAUDE.md."""
    with (folder / "CLAUDE.md").open("a") as file:
        file.writelines(f"- {item}\n" for item in items)


def fill_notes(folder: Path, items: list[str]) -> None:
    """Append items to the note of HEAD."""
    run(["git", "notes", "append", "-m", "\n\n".join(items), "HEAD"], folder)


def fill_baton(folder: Path, items: list[str]) -> None:
    """Add items as follow-ups."""
    with baton_git.open(str(folder)) as namespace:
        for item in items:
            namespace.add_follow_up(item, reason="later")


def run(command: list[str], folder: Path) -> tuple[float, str]:
    """Return the processor time in seconds of a command and its children, and what it prints."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("BATON_", "GIT_"))}
    env |= {f"GIT_{who}_{field}": "bench" for who in ("AUTHOR", "COMMITTER") for field in ("NAME", "EMAIL")}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        command, cwd=folder, env=env | {"HOME": str(folder)}, capture_output=True, text=True, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def make_notebooks(top: Path) -> list[Notebook]:
    """Return the three ways, each in a repository with one commit."""
    append = ["sh", "-c", 'echo "- $1" >> CLAUDE.md', "sh"]
    notebooks = [
        Notebook("a file (CLAUDE.md)", top / "file", lambda text: [*append, text], ["cat", "CLAUDE.md"], fill_file),
        Notebook("git notes", top / "notes", lambda text: ["git", "notes", "append", "-m", text, "HEAD"],
                 ["git", "notes", "show", "HEAD"], fill_notes),
        Notebook("baton", top / "baton", lambda text: [*BATON, "followup", "add", text, "--reason", "later"],
                 [*BATON, "boot"], fill_baton),
    ]  # fmt: skip
    for notebook in notebooks:
        notebook.folder.mkdir()
        run(["git", "init", "-q"], notebook.folder)
        run(["git", "commit", "-q", "--allow-empty", "-m", "begin"], notebook.folder)
    run([*BATON, "init"], notebooks[-1].folder)
    return notebooks


def main() -> None:
    """Print a row for each number of items and each way."""
    print(f"{'':<22}{'items':>6}{'store one':>12}{'print all':>12}{'bytes printed':>15}")
    stored = 0
    with tempfile.TemporaryDirectory(prefix="baton-bench-") as folder:
        notebooks = make_notebooks(Path(folder))
        for count in COUNTS:
            items = make_items(count - stored)
            for notebook in notebooks:
                notebook.fill(notebook.folder, items[ROUNDS:])
                storing = min(run(notebook.note(item), notebook.folder)[0] for item in items[:ROUNDS])
                printings = [run(notebook.print_all, notebook.folder) for _ in range(ROUNDS)]
                printing, size = min(seconds for seconds, _ in printings), len(printings[-1][1].encode())
                print(f"{notebook.name:<22}{count:>6}{storing * 1e3:>9.0f} ms{printing * 1e3:>9.0f} ms{size:>15,}")
            stored = count


if __name__ == "__main__":
    main()
