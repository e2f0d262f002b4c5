"""What the tests of the command share: a repository with one record of each kind."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Baton = Callable[..., Any]


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the filled repository is kept for the next test, once one was made."""
    return tmp_path_factory.mktemp("template") / "work"


@pytest.fixture
def filled(baton: Baton, top: Path, template: Path) -> Path:
    """The repository `top` with a namespace that has one record of each kind; gives a folder with `baton.json`."""
    if template.exists():
        shutil.rmtree(top)
        shutil.copytree(template, top, symlinks=True)
    else:
        fill(baton)
        shutil.copytree(top, template, symlinks=True)
    folder = top.parent / "in"
    folder.mkdir()
    (folder / "baton.json").write_text('{"session_id": "doc", "context": "from a file"}')
    return folder


def fill(baton: Baton) -> None:
    baton("init")
    baton("boot", "--session", "s1", "--no-verify")
    baton("loop", "add", "Deployed it", "--expect", "it answers", "--id", "OL-1", "--verify-file", "readme")
    baton("followup", "add", "Refactor", "--id", "FU-1")
    baton("pattern", "record", "Assumed", "--id", "PAT-1", "--rule", "Look first")
    baton("pattern", "propose", "PAT-1", "--rule", "Look first")
    for number in ("1", "2"):
        baton("decision", "add", f"Use {number}", "--why", "because", "--id", f"DEC-{number}", "--tier", "raw_source")
