"""The first commit of every namespace, computed without baton's code. Other implementations must get the same ids."""

from __future__ import annotations

import hashlib
import json as plain
from typing import Any

import pytest
from regenerate import FORMATS

from baton_git.namespace import history
from baton_git.core import layout

ROOT: dict[str, Any] = plain.loads((FORMATS / "root.json").read_bytes())


def object_id(form: str, kind: str, data: bytes) -> str:
    return hashlib.new(form, f"{kind} {len(data)}\0".encode() + data).hexdigest()


def test_the_golden_first_commit_equals_the_written_one() -> None:
    assert {name: text.encode() for name, text in ROOT["files"].items()} == layout.ROOT_FILES
    older = tuple({name: text.encode() for name, text in root["files"].items()} for root in ROOT["older"])
    assert older == layout.OLDER_ROOTS
    assert ROOT["who"] == f"{history.ROOT_AUTHOR} 0 +0000"
    assert ROOT["message"] == history.ROOT_MESSAGE


@pytest.mark.parametrize("root", [ROOT, *ROOT["older"]], ids=["newest", "with-an-address", "without-handovers"])
@pytest.mark.parametrize("form", ["sha1", "sha256"])
def test_the_first_commits_bytes_have_the_golden_ids(form: str, root: dict[str, Any]) -> None:
    ids = root[form]
    for name, text in root["files"].items():
        assert object_id(form, "blob", text.encode()) == ids[name]
    names = sorted(root["files"])
    tree = b"".join(b"100644 " + name.encode() + b"\0" + bytes.fromhex(ids[name]) for name in names)
    assert object_id(form, "tree", tree) == ids["tree"]
    commit = f"tree {ids['tree']}\nauthor {ROOT['who']}\ncommitter {ROOT['who']}\n\n{ROOT['message']}"
    assert object_id(form, "commit", commit.encode()) == ids["commit"]


def test_the_page_shows_the_same_ids() -> None:
    page = (FORMATS / "README.md").read_text(encoding="utf-8")
    for form in ("sha1", "sha256"):
        assert all(one in page for one in ROOT[form].values())
    assert history.PREFIX in page
