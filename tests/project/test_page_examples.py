"""The examples of the documentation do what the pages say: each page is run in one shell and one repository."""

from __future__ import annotations

import io
import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from page_examples import AGENT_PROGRAMS, Call, find_examples, find_unmarked, find_words, run_page

from baton_git.interfaces.cli import baton as command
from baton_git.interfaces.cli.error_handler import run

TOP = Path(__file__).parents[2]
TUTORIAL = TOP / "docs" / "tutorial.md"
PAGES = [
    page
    for page in sorted((TOP / "docs").rglob("*.md"))
    if page != TUTORIAL and any(find_examples(page.read_text(encoding="utf-8")))
]


def find_wrong(page: Path, folder: Path, call: Call | None = None) -> list[str]:
    """Return the faults of a page's examples, one text per example."""
    tries = run_page(page.read_text(encoding="utf-8"), folder, call)
    return [f"{tried.command}: {fault}\n{output}" for tried, output, fault in tries if fault]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Run `baton` in this process, which takes a tenth of the time of a new one."""
    monkeypatch.setenv("HOME", str(tmp_path / "ada"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'ada' / AGENT_PROGRAMS}{os.pathsep}{os.environ['PATH']}")
    for name in [name for name in os.environ if name.startswith(("GIT_", "XDG_"))]:
        monkeypatch.delenv(name)

    def call_baton(words: list[str], folder: str) -> tuple[str, int]:
        output = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
        with monkeypatch.context() as here, redirect_stdout(output), redirect_stderr(output):
            here.setattr(sys, "argv", ["baton", *words])
            here.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(), "utf-8"))
            here.chdir(folder)
            status = run(command)
        return output.buffer.getvalue().decode(), status  # type: ignore[attr-defined]

    return call_baton


def test_the_tutorial_works_as_written(tmp_path: Path, call: Call) -> None:
    wrong = find_wrong(TUTORIAL, tmp_path, call)
    assert wrong == [], "generate it again: python tests/project/page_examples.py docs/tutorial.md"


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(TOP)))
def test_the_examples_of_a_page_run(page: Path, tmp_path: Path) -> None:
    wrong = find_wrong(page, tmp_path)
    assert wrong == [], f"generate it again: python tests/project/page_examples.py {page.relative_to(TOP)}"


def test_an_example_that_is_not_run_has_a_reason() -> None:
    pages = [*(TOP / "docs").rglob("*.md")]
    assert [page.name for page in pages if find_unmarked(page.read_text(encoding="utf-8"))] == []
    assert find_unmarked("<!-- not run: later -->\n```sh\nls\n```") == ["<!-- not run: later -->"]


def test_examples_are_found() -> None:
    page = """\
<!-- first: mkdir a -->
<!-- may exit: 5 -->
```console
$ ls
a
$ false  # exit 1
```
<!-- not run: it needs a network -->
```sh
curl https://e.org
```
```toml
x = 1
```
"""
    found = [(example.command, example.output, example.statuses) for example in find_examples(page)]
    assert found == [("mkdir a", None, (0,)), ("ls", "a\n", (0, 5)), ("false  # exit 1", "", (1, 5))]
    assert [example.command for example in find_examples("```sh\na \\\n  b\n  # d\nc\n```")] == ["a \\\n  b", "c"]
    assert [page[example.start : example.end] for example in find_examples(page) if example.output] == ["a\n"]


def test_printed_output_is_compared(tmp_path: Path) -> None:
    page = """\
```console
$ echo OL-b0xxzy; echo OL-c1yyzz
OL-7k3f9q
…
$ echo OL-7k3f9q OL-c1yyzz just now
OL-7k3f9q OL-c1yyzz 3 minutes ago
$ echo OL-c1yyzz
OL-7k3f9q
$ false
```
"""
    faults = [(tried.command, fault) for tried, _, fault in run_page(page, tmp_path) if fault]
    assert faults == [("echo OL-c1yyzz", "prints something else"), ("false", "ends with 1 in place of 0")]
    assert find_words('baton add "a b"  # c') == ["baton", "add", "a b"]
    assert [find_words(line) for line in ("baton a | b", "baton $x", "cd ~/x", "x=$(baton a)")] == [[], [], [], []]
