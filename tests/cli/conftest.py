"""What the tests of the command share: a repository with one record of each kind."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from baton_git.branch import Branch, Stamp
from baton_git.names import Namespace
from baton_git.records.conflict import Conflict
from baton_git.store import Repository, Store

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
        fill(baton, top)
        shutil.copytree(top, template, symlinks=True)
    folder = top.parent / "in"
    folder.mkdir()
    (folder / "baton.json").write_text('{"session_id": "doc", "context": "from a file"}')
    Repository.create_bare(folder / "remote.git")
    for side, status in (("base", "open"), ("ours", "verified"), ("theirs", "open")):
        (folder / side).write_text(LOOP.format(status))
    return folder


LOOP = 'id = "OL-1"\naction = "a"\nexpected_outcome = "b"\ncreated_at = "2026-11-21"\nstatus = "{}"\n'


def fill(baton: Baton, top: Path) -> None:
    baton("init")
    baton("boot", "--session", "s1", "--no-verify")
    baton("loop", "add", "Deployed it", "--expect", "it answers", "--id", "OL-1", "--verify-file", "readme")
    baton("followup", "add", "Refactor", "--id", "FU-1")
    baton("pattern", "record", "Assumed", "--id", "PAT-1", "--rule", "Look first")
    baton("pattern", "propose", "PAT-1", "--rule", "Look first")
    for number in ("1", "2"):
        baton("decision", "add", f"Use {number}", "--why", "because", "--id", f"DEC-{number}", "--tier", "raw_source")
    contest(top)


def contest(top: Path) -> None:
    """Makes the conflict C-1, about a field of the loop."""
    data = {"id": "C-1", "record_kind": "open_loop", "record_id": "OL-1", "field": "action", "winner": "ours"}
    conflict = Conflict.model_validate({**data, "ours": "Deployed it", "theirs": "Sent it"})
    with Store(Repository.open(top)) as store:
        stamp = Stamp("test", datetime(2026, 11, 21, tzinfo=UTC), "Ada <ada@example.org>")
        Branch(store, Namespace("work")).update(lambda tip: tip.state.put(conflict), stamp)
