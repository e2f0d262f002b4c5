"""Fixtures for the tests of the doctor: the findings of its checks, and a repository to break."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Findings = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def findings(baton: Any) -> Findings:
    """Return a function that runs checks by name, expects the exit status `code`, and returns the findings."""

    def run(*names: str, code: int = 0, **more: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = baton("doctor", *names, "--json", code=code, **more).json["findings"]
        return found

    return run


@pytest.fixture
def made(baton: Any, top: Path) -> Path:
    """Return the git directory of a repository with a namespace and a follow-up."""
    baton("init")
    baton("followup", "add", "Later")
    return top / ".git"


@pytest.fixture
def make_older() -> Callable[[Path, float], None]:
    """Return a function that makes a file older by a number of hours."""

    def change(path: Path, hours: float) -> None:
        seconds = path.lstat().st_mtime - hours * 3600
        os.utime(path, (seconds, seconds))

    return change
