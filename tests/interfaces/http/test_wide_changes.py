"""A wide change needs the same confirmation over every interface: what the command's `--yes` says."""

from __future__ import annotations

from typing import Any

import pytest

import baton_git
from baton_git.core.errors import Unconfirmed
from baton_git.verbs.table import all_verbs

ROWS: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {
    "rollback": ("/v1/rollback", {"revision": "0"}, ("rollback", "0")),
    "undo": ("/v1/undo", {"revision": "1"}, ("undo", "1")),
    "delete": ("/v1/namespaces/shop/delete", {}, ("namespace", "delete", "shop")),
    "rename": (
        "/v1/namespaces/shop/rename",
        {"new_name": "store", "remote": "origin"},
        ("namespace", "rename", "shop", "store", "--remote", "origin"),
    ),
}


@pytest.fixture
def shop(baton: Any, git: Any, top: Any) -> None:
    """Create a namespace with a revision of 12 records, and a remote."""
    git(top.parent, "init", "-q", "--bare", "there.git")
    git(top, "remote", "add", "origin", str(top.parent / "there.git"))
    items = [{"id": f"FU-{number}", "item": f"item {number}"} for number in range(12)]
    with baton_git.open(top, namespace="shop", create=True) as namespace:
        namespace.write({"session_id": "s-1", "follow_ups": items})


@pytest.mark.parametrize(("path", "body", "words"), ROWS.values(), ids=ROWS)
def test_a_wide_change_is_refused_without_the_confirmation(shop, serve, baton, git, top, path, body, words):
    server = serve(namespace="shop")
    before = git(top, "for-each-ref")
    problem = server.problem("POST", path, 403, body)
    assert problem["error"] == "unconfirmed"
    assert "which must be confirmed" in problem["detail"]
    assert "set yes" in problem["hint"]
    done = baton(*words, "--namespace", "shop", code=2)
    assert "there is no terminal for the confirmation: add --yes" in done.err
    assert git(top, "for-each-ref") == before
    assert server.post(path, {**body, "dry_run": True}).json()["dry_run"] is True
    assert git(top, "for-each-ref") == before
    server.post(path, {**body, "yes": True})
    assert git(top, "for-each-ref") != before


def test_the_library_needs_it_too(shop, top):
    with baton_git.open(top, namespace="shop") as namespace:
        for change in (lambda **yes: namespace.rollback("0", **yes), lambda **yes: namespace.redo(**yes)):
            with pytest.raises(Unconfirmed):
                change()
            change(yes=True)
            namespace.undo(yes=True)
        with pytest.raises(Unconfirmed):
            namespace.delete_namespace("shop")
        assert namespace.delete_namespace("shop", yes=True).backup is not None


def test_a_small_change_needs_no_confirmation(shop, serve):
    server = serve(namespace="shop")
    server.post("/v1/follow-ups/FU-1/defer", {})
    server.post("/v1/undo")
    server.post("/v1/rollback", {"record": "FU-1", "revision": "2"})


def test_every_verb_that_the_command_asks_for_declares_it():
    asking = {name for name, verb in all_verbs().items() if "yes" in verb.input_model.model_fields}
    assert {"rollback", "undo", "redo", "namespace delete", "namespace rename"} <= asking
