"""A conflict on the page: the value in use is shown unchanged, and no value is lost or restored unseen."""

from __future__ import annotations

import re
from typing import Any

import pytest
from default_run import slow_after
from test_deciding import create_conflict
from web_world import World, two_machines


@pytest.fixture
def world(baton: Any, git: Any, top: Any) -> World:
    made = two_machines(baton, git, top)
    create_conflict(made)
    return made


def reason(served: Any) -> str:
    """Return the reason of the follow-up as its page shows it."""
    page = served.get("record?kind=follow_up&id=FU-1").text
    found = re.search(r"<bdi>reason</bdi></dt><dd>(.*?)</dd>", page, re.DOTALL | re.IGNORECASE)
    assert found is not None, page
    return re.sub(r"<[^>]+>", "", found[1]).strip()


def test_an_empty_other_value_needs_an_explicit_choice(world: World, serve: Any) -> None:
    served = serve()
    tip = served.site.tip("shop")
    answer = served.send("conflicts", {"choice": "other", "value": ""}, code=422)
    assert "enter the other value" in answer.text.lower()
    assert 'name="choice" value="other" checked' in answer.text
    assert served.site.tip("shop") == tip
    served.send("conflicts", {"choice": "other", "value": "", "empty": "1"})
    assert reason(served) == "empty text"


def test_the_current_value_of_a_changed_conflict_can_be_kept(world: World, serve: Any) -> None:
    served = serve()
    world.here("followup", "defer", "FU-1", "--reason", "a new reason")
    page = served.get("conflicts").text
    assert "a new reason" in page
    assert page.count("in use now</span>") == 1
    served.send("conflicts", {"choice": "now"})
    assert reason(served) == "a new reason"
    assert "There are no conflicts" in served.get("conflicts").text


@pytest.mark.parametrize("side", slow_after(1, ["theirs", "ours"]))
def test_a_chosen_side_is_applied_if_the_current_value_was_shown(side: str, world: World, serve: Any) -> None:
    served = serve()
    before = dict(re.findall(r'value="(ours|theirs)".*?class="text" dir="auto">([^<]*)<', served.get("conflicts").text,
                             re.DOTALL))  # fmt: skip
    world.here("followup", "defer", "FU-1", "--reason", "a new reason")
    served.send("conflicts", {"choice": side})
    assert reason(served) == before[side]


def test_changes_since_the_page_was_shown_are_shown_first(world: World, serve: Any) -> None:
    served = serve()
    fields = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', served.get("conflicts").text))
    world.here("followup", "defer", "FU-1", "--reason", "a new reason")
    tip = served.site.tip("shop")
    answer = served.post("conflicts", {**fields, "choice": "other", "value": "typed <b>long</b>"}, code=409)
    assert "typed &lt;b&gt;long&lt;/b&gt;</textarea>" in answer.text
    assert "a new reason" in answer.text
    assert served.site.tip("shop") == tip


@pytest.mark.slow
def test_a_typed_value_is_used_only_if_no_side_is_chosen(world: World, serve: Any) -> None:
    served = serve()
    answer = served.send("conflicts", {"choice": "ours", "value": "we wait"}, code=422)
    assert "we wait</textarea>" in answer.text
    assert "choose one side" in served.send("conflicts", {"value": ""}, code=422).text.lower()
    served.send("conflicts", {"value": "we wait"})
    assert reason(served) == "we wait"
