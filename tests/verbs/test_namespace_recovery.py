"""Restoring and accepting a branch that another program moved: what a person confirmed is not given up by an agent."""

from __future__ import annotations

import subprocess
from dataclasses import replace

import pytest
from world import NOW, acting

from baton_git.core.errors import BranchMoved, Protected
from baton_git.namespace.caller import Vouched
from baton_git.verbs.upkeep.namespace_moves import accept_namespace, delete_namespace, restore_namespace
from baton_git.verbs.work_items.decisions import add_decision


@pytest.fixture
def person(ws):
    return replace(acting(ws, "ada"), confirmed=Vouched("Ada", "typed"))


@pytest.fixture
def tip(ws, person):
    add_decision(ws, NOW, what="Names are in ASCII", why="an old printer", id="DEC-agent")
    add_decision(person, NOW, what="Prices are in cents", why="floats rounded", id="DEC-1")
    return ws.branch.tip()


def _git(ws, *words):
    subprocess.run(["git", "-C", str(ws.branch.store.repository.common_dir), *words], check=True)


def test_an_agent_cannot_accept_that_what_a_person_confirmed_is_gone(ws, person, tip):
    name = ws.branch.namespace.text
    _git(ws, "update-ref", ws.branch.ref, f"{tip}~1")
    with pytest.raises(Protected):
        accept_namespace(ws, NOW, name, yes=True)
    _git(ws, "update-ref", "-d", ws.branch.ref)
    with pytest.raises(Protected):
        delete_namespace(ws, NOW, name, yes=True)
    with pytest.raises(BranchMoved):
        ws.branch.read()
    assert restore_namespace(ws, NOW, name).commit == tip
    _git(ws, "update-ref", ws.branch.ref, f"{tip}~1")
    assert accept_namespace(person, NOW, name, yes=True).backup is not None


def test_an_agent_may_accept_a_move_that_takes_away_its_own_records(ws):
    add_decision(ws, NOW, what="Names are in ASCII", why="an old printer")
    _git(ws, "update-ref", ws.branch.ref, f"{ws.branch.tip()}~1")
    assert accept_namespace(ws, NOW, ws.branch.namespace.text, yes=True).records == 0


def test_a_preview_changes_nothing(ws, tip):
    name = ws.branch.namespace.text
    _git(ws, "update-ref", ws.branch.ref, f"{tip}~1")
    assert restore_namespace(ws, NOW, name, dry_run=True).commit == tip
    assert accept_namespace(ws, NOW, name, dry_run=True).records == 1
    with pytest.raises(BranchMoved):
        ws.branch.read()
