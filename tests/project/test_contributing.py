"""The tasks, groups of tests and files that CONTRIBUTING.md, pre-commit and CI name exist."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

TOP = Path(__file__).parents[2]
PAGE = (TOP / "CONTRIBUTING.md").read_text()
TASKS = (TOP / "noxfile.py").read_text()


def test_every_named_task_is_a_session_of_nox() -> None:
    named = [*re.findall(r"nox -s ([a-z ]+)", PAGE)]
    for file in (".ci/run", ".pre-commit-config.yaml"):
        named += re.findall(r"nox -s ([a-z ]+)", (TOP / file).read_text())
    tasks = {task for line in named for task in line.split()}
    assert len(tasks) > 5
    assert tasks <= set(re.findall(r"@nox\.session.*\n(?:@nox.*\n)*def (\w+)\(", TASKS))


def test_every_group_of_tests_is_on_the_page_and_in_the_tasks_of_nox() -> None:
    markers = tomllib.loads((TOP / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]["markers"]
    groups = {marker.partition(":")[0] for marker in markers} - {"lint"}  # which the task of that name runs
    assert groups == set(re.findall(r"pytest -m (\w+)", PAGE))
    [in_nox] = re.findall(r"^GROUPS = \((.*)\)$", TASKS, re.MULTILINE)
    assert groups == set(re.findall(r"\w+", in_nox))


def test_every_file_on_the_page_exists() -> None:
    files = set(re.findall(r"(?:tests|benchmarks|docs|\.ci)/[\w/.]*\w|[A-Z]+\.md", PAGE))
    assert len(files) > 5
    assert {file for file in files if not (TOP / file).exists()} == set()
