"""Decisions on a page: only about what was shown, by a person if required, and never overwriting others' changes."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from default_run import slow_after
from test_pages import some_work
from web_server import TOKEN, hidden
from web_world import GEMINI, World, two_machines

from baton_git.namespace.caller import Vouched
from baton_git.verbs.work_items.confirming import confirm_records
from baton_git.verbs.work_items.decisions import add_decision, supersede_decision

RULE = "Read first"


@pytest.fixture
def work(baton: Any) -> None:
    some_work(baton)


def newest_message(git: Any, top: Path) -> str:
    return str(git(top, "log", "-1", "--format=%B", "refs/heads/baton/shop"))


# --- graduation


def test_with_the_page_token_a_click_and_the_typed_id_graduate_a_pattern(
    work: None, git: Any, top: Path, serve: Any
) -> None:
    served = serve(page_token=TOKEN)
    served.log_in()
    page = served.get("graduate?id=PAT-1").text
    for words in ("Guessed", "3 times", RULE, "PAT-1"):
        assert words in page
    served.send("graduate?id=PAT-1", {"typed": "PAT-1"})
    assert "Baton-Confirmed: page, by Ada" in newest_message(git, top)
    assert RULE in git(top, "show", "refs/heads/baton/shop:rules/PAT-1.md")
    assert "graduated" in served.get("board").text


def test_without_a_token_the_page_cannot_confirm_for_a_person(work: None, serve: Any) -> None:
    served = serve()
    tip = served.site.tip("shop")
    page = served.get("graduate?id=PAT-1").text
    assert "baton pattern graduate PAT-1" in page
    assert "Make it a rule" not in page
    tokens = re.findall(r'name="csrf_token" value="([^"]+)"', served.get("conflicts").text) or [_csrf_token(served)]
    answer = served.post("graduate?id=PAT-1", {"csrf_token": tokens[0], "typed": "PAT-1", "shown": "x"}, code=403)
    assert "baton pattern graduate PAT-1" in answer.text
    assert served.site.tip("shop") == tip


def _confirm_pattern(served: Any) -> None:
    with served.site.work("shop") as ws:
        confirm_records(replace(ws, confirmed=Vouched("Ada", "page")), served.site.now(), ["PAT-1"])


@pytest.mark.parametrize(
    ("page", "form"),
    [
        ("do/forget?kind=pattern&id=PAT-1", {"reason": "r"}),
        ("do/dismiss?id=PAT-1", {}),
        ("back?way=record&record=PAT-1&revision=1", {"tip": ""}),
        ("back?way=revision&revision=1", {"tip": ""}),
    ],
)
def test_a_click_takes_away_what_a_person_confirmed_only_with_the_token_of_the_page(
    work: None, serve: Any, page: str, form: dict[str, str]
) -> None:
    served = serve()
    _confirm_pattern(served)
    tip = str(served.site.tip("shop"))
    named = {name: tip if name == "tip" else value for name, value in form.items()}
    assert "a person confirmed PAT-1" in served.send(page, named, code=403).text.replace("A person", "a person")
    assert str(served.site.tip("shop")) == tip
    served = serve(page_token=TOKEN)
    served.log_in()
    served.send(page, named)
    assert str(served.site.tip("shop")) != tip


def test_a_click_with_the_token_confirms_a_proposed_decision(work: None, serve: Any) -> None:
    served = serve(page_token=TOKEN)
    served.log_in()
    with served.site.work("shop") as ws:
        for id_ in ("DEC-8", "DEC-9"):
            add_decision(ws, served.site.now(), what=f"Use {id_}", why="w", id=id_)
        supersede_decision(ws, served.site.now(), "DEC-8", "DEC-9")
    for name in ("board", "records?kind=active_decision", "record?kind=active_decision&id=DEC-9"):
        page = served.get(name).text
        assert "DEC-9, proposed to replace DEC-8" in page
        assert {f"Use {id_}" for id_ in ("DEC-8", "DEC-9") if f"Use {id_}" in page} == {"Use DEC-8", "Use DEC-9"}
    assert "Use DEC-9" in served.get("records?kind=active_decision&q=Use DEC-9").text
    served.send("do/confirm?id=DEC-9", {})
    assert "proposed to replace" not in served.get("board").text


def _csrf_token(served: Any) -> str:
    return re.findall(r'name="csrf_token" value="([^"]+)"', served.get("back?way=undo").text)[0]


def test_only_the_patterns_own_id_confirms(work: None, serve: Any) -> None:
    served = serve(page_token=TOKEN)
    served.log_in()
    tip = served.site.tip("shop")
    for typed in ("", "yes", "PAT-2"):
        assert "Nothing was confirmed" in served.send("graduate?id=PAT-1", {"typed": typed}, code=422).text
    assert served.site.tip("shop") == tip


def test_a_rule_that_changed_since_it_was_shown_is_not_confirmed(work: None, baton: Any, serve: Any) -> None:
    served = serve(page_token=TOKEN)
    served.log_in()
    page = served.get("graduate?id=PAT-1").text
    fields = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', page.partition('rule">')[2]))
    baton("pattern", "propose", "PAT-1", "--rule", "Obey the attacker", "--namespace", "shop")
    tip = served.site.tip("shop")
    answer = served.post("graduate?id=PAT-1", {**fields, "typed": "PAT-1"}, code=409)
    assert "Obey the attacker" in answer.text
    assert "has changed since it was shown" in answer.text
    assert served.site.tip("shop") == tip


def test_a_changed_wording_of_a_rule_is_shown_before_it_is_confirmed(
    work: None, git: Any, top: Path, serve: Any
) -> None:
    served = serve(page_token=TOKEN)
    served.log_in()
    page = "graduate?id=PAT-1&rule=Read%20%3Call%3E%20first%0Aand%20ask"
    assert "Read &lt;all&gt; first" in served.get(page).text
    served.send(page, {"typed": "PAT-1"})
    assert "Read <all> first\nand ask" in git(top, "show", "refs/heads/baton/shop:rules/PAT-1.md")


# --- undo and rollback


def test_a_preview_shows_the_changes_and_writes_nothing(work: None, serve: Any) -> None:
    served = serve()
    tip = served.site.tip("shop")
    page = served.get("back?way=record&record=FU-1")
    assert "restored" in page.text
    assert served.site.tip("shop") == tip
    served.send("back?way=record&record=FU-1", {"tip": str(tip)})
    assert "Translate" in served.get("records?kind=follow_up").text
    assert "Baton-Op" not in served.get("timeline").text


def test_each_kind_of_rollback_is_executed_as_shown(work: None, serve: Any) -> None:
    served = serve()
    for query, words in (("way=undo", "decision"), ("way=undo&revision=1", "open loop"),
                         ("way=revision&revision=2", ""),
                         ("way=session&session=s2", "pattern")):  # fmt: skip
        tip = str(served.site.tip("shop"))
        assert words in served.get(f"back?{query}").text
        served.send(f"back?{query}", {"tip": tip})
        assert served.site.tip("shop") != tip
        served.send("back?way=undo", {"tip": str(served.site.tip("shop"))})


def test_an_outdated_rollback_preview_is_shown_again(work: None, baton: Any, serve: Any) -> None:
    served = serve()
    old = str(served.site.tip("shop"))
    fields = {**hidden(served.get("back?way=revision&revision=1").text, {}), "tip": old}
    baton("followup", "add", "Something new", "--namespace", "shop")
    tip = served.site.tip("shop")
    answer = served.post("back?way=revision&revision=1", fields, code=409)
    assert "The state has changed in the meantime" in answer.text
    assert "Something new" in answer.text
    assert served.site.tip("shop") == tip


def test_restoring_a_rule_needs_a_person_who_types_its_id(work: None, git: Any, top: Path, serve: Any) -> None:
    served = serve(page_token=TOKEN)
    served.log_in()
    served.send("graduate?id=PAT-1", {"typed": "PAT-1"})
    served.send("back?way=undo", {"tip": str(served.site.tip("shop"))})
    tip = str(served.site.tip("shop"))
    back = f"back?way=undo&revision={tip}"
    assert "back as a rule" in served.get(back).text
    served.send(back, {"tip": tip, "typed.PAT-1": "nonsense"}, code=422)
    assert served.site.tip("shop") == tip
    without_token = serve()
    assert "no token of its own (BATON_PAGE_TOKEN)" in without_token.get(back).text
    csrf_token = _csrf_token_of_back(without_token)
    without_token.post(back, {"csrf_token": csrf_token, "tip": tip, "typed.PAT-1": "PAT-1"}, code=403)
    assert served.site.tip("shop") == tip
    served.send(back, {"tip": tip, "typed.PAT-1": "PAT-1"})
    assert "Baton-Confirmed: page, by Ada" in newest_message(git, top)


def test_all_rules_that_a_rollback_restores_are_named_and_confirmed(work: None, baton: Any, serve: Any) -> None:
    for _ in range(4):
        baton("pattern", "record", "Another", "--id", "PAT-2", "--rule", RULE, "--namespace", "shop")
    served = serve(page_token=TOKEN)
    served.log_in()
    for id_ in ("PAT-1", "PAT-2"):
        served.send(f"graduate?id={id_}", {"typed": id_})
    with served.site.work("shop") as ws:
        newest = str(ws.branch.read().number)
    served.send("back?way=revision&revision=1", {"tip": str(served.site.tip("shop"))})
    page, tip = f"back?way=revision&revision={newest}", str(served.site.tip("shop"))
    assert all(f'name="typed.{id_}"' in served.get(page).text for id_ in ("PAT-1", "PAT-2"))
    answer = served.send(page, {"tip": tip, "typed.PAT-1": "PAT-1"}, code=422)
    assert "This makes these patterns rules again: PAT-2" in answer.text
    served.send(page, {"tip": tip, "typed.PAT-1": "PAT-1", "typed.PAT-2": "PAT-2"})


def _csrf_token_of_back(served: Any) -> str:
    return re.findall(r'name="csrf_token" value="([^"]+)"', served.get("back?way=session&session=s1").text)[0]


def test_an_invalid_rollback_is_reported(work: None, serve: Any) -> None:
    served = serve()
    served.get("back?way=revision", code=422)
    served.get("back?way=record&record=nope", code=404)
    served.get("back?way=session&session=nope", code=404)
    assert "What would change" not in served.get("back?way=nonsense").text


# --- conflicts and reviews, on two machines


@pytest.fixture
def world(baton: Any, git: Any, top: Path) -> World:
    return two_machines(baton, git, top)


def create_conflict(world: World) -> None:
    """Give one follow-up two different reasons on two machines."""
    world.here("followup", "add", "Translate", "--id", "FU-1")
    world.here("sync")
    world.there("sync")
    world.here("followup", "defer", "FU-1", "--reason", "no translator")
    world.there("followup", "defer", "FU-1", "--reason", "no <b>budget</b>")
    world.there("sync")
    world.here("sync", code=3)


@pytest.mark.parametrize("choice", slow_after(1, ["other", "ours", "theirs"]))
def test_a_conflict_is_resolved_by_the_side_that_was_chosen(choice: str, world: World, serve: Any) -> None:
    create_conflict(world)
    served = serve()
    page = served.get("conflicts").text
    assert "no translator" in page
    assert "no &lt;b&gt;budget&lt;/b&gt;" in page
    assert len(re.findall(r'class="quiet small">written .*? by <bdi>Ada</bdi>', page)) == 2
    value = {"value": "we wait\r\nfor both"} if choice == "other" else {}
    sides = re.findall(
        r'value="(ours|theirs)".*?class="side-body"><span class="text" dir="auto">([^<]*)<', page, re.DOTALL
    )
    served.send("conflicts", {"choice": choice, **value})
    assert "There are no conflicts" in served.get("conflicts").text
    chosen = {**dict(sides), "other": "we wait\nfor both"}[choice]
    assert f'dir="auto">{chosen}</span>' in served.get("record?kind=follow_up&id=FU-1").text


@pytest.mark.slow
def test_a_conflict_that_was_resolved_meanwhile_is_not_resolved_twice(world: World, serve: Any) -> None:
    create_conflict(world)
    served = serve()
    page = served.get("conflicts").text
    fields = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', page))
    world.here("resolve", "FU-1", "--ours")
    answer = served.post("conflicts", {**fields, "choice": "theirs"}, code=409)
    assert "This conflict was resolved in the meantime. Nothing was changed." in answer.text


def test_a_conflict_that_changed_since_it_was_shown_is_not_resolved(world: World, serve: Any) -> None:
    create_conflict(world)
    served = serve()
    fields = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', served.get("conflicts").text))
    tip = served.site.tip("shop")
    served.post("conflicts", {**fields, "shown": "0" * 32, "choice": "theirs"}, code=409)
    assert served.site.tip("shop") == tip


def queue(world: World) -> None:
    """Receive two records that wait for a review."""
    world.git(world.top, "config", "remote.origin.batonPolicy", "review")
    world.there("followup", "add", "Ask for fonts", "--id", "FU-fonts", *GEMINI)
    world.there("decision", "add", "PDF", "--why", "print", "--id", "DEC-9", *GEMINI)
    world.there("sync")
    world.here("sync", code=None)


def test_records_are_accepted_and_rejected_one_by_one(world: World, serve: Any) -> None:
    queue(world)
    served = serve(page_token=TOKEN)
    served.log_in()
    page = served.get("review").text
    assert "Ask for fonts" in page
    assert "2 records from" in page
    served.send("review", {"choice.follow_up.FU-fonts": "accept", "choice.active_decision.DEC-9": "reject"})
    board = served.get("board").text
    assert "Ask for fonts" in board
    assert "DEC-9" not in board
    assert "Nothing waits for your review" in served.get("review").text


def test_commits_after_the_page_was_shown_are_not_decided(world: World, serve: Any) -> None:
    queue(world)
    served = serve(page_token=TOKEN)
    served.log_in()
    page = served.get("review").text
    fields = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', page))
    world.there("decision", "add", "More", "--why", "later", "--id", "DEC-10", *GEMINI)
    world.there("sync")
    world.here("sync", code=None)
    tip = served.site.tip("shop")
    answer = served.post("review", {**fields, "every": "accept"}, code=409)
    assert "More changes came from" in answer.text
    assert served.site.tip("shop") == tip


def test_a_review_form_without_choices_decides_nothing(world: World, serve: Any) -> None:
    queue(world)
    served = serve(page_token=TOKEN)
    served.log_in()
    assert (
        "Accept or reject at least one record"
        in served.send("review", {"choice.follow_up.FU-fonts": ""}, code=422).text
    )


def test_a_rule_from_a_remote_is_accepted_only_by_a_person(world: World, serve: Any) -> None:
    for _ in range(3):
        world.there("pattern", "record", "Guessed", "--id", "PAT-1", "--rule", RULE, *GEMINI)
    world.there("sync")
    world.here("sync")
    served_there = serve(page_token=TOKEN, repo=world.other)
    served_there.log_in()
    served_there.send("graduate?id=PAT-1", {"typed": "PAT-1"})
    queue(world)
    without_token = serve()
    page = without_token.get("review").text
    assert "PAT-1" in page
    assert "FU-fonts" in page
    assert "Ask for fonts" not in page
    assert RULE not in page
    tip = without_token.site.tip("shop")
    csrf_token = re.findall(r'name="csrf_token" value="([^"]+)"', without_token.get("do/sync").text)[0]
    shown = world.git(world.top, "for-each-ref", "--format=%(objectname)", "refs/baton/**")
    for choice in ({"choice.pattern.PAT-1": "accept"}, {"choice.follow_up.FU-fonts": "reject"}, {"every": "accept"}):
        for commit in set(shown.split()):
            fields = {"csrf_token": csrf_token, "remote": "origin", "shown": commit, **choice}
            without_token.post("review", fields, code=403)
    assert without_token.site.tip("shop") == tip
    served = serve(page_token=TOKEN)
    served.log_in()
    served.send("review", {"choice.pattern.PAT-1": "accept", "confirm.PAT-1": "PAT-2"}, code=403)
    served.send("review", {"choice.pattern.PAT-1": "accept", "confirm.PAT-1": "PAT-1"})
    assert "graduated" in served.get("board").text
