"""Errors are shown next to the field, the input is kept, and commands are safe to copy."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest
from default_run import slow_after
from test_deciding import queue
from test_pages import some_work
from web_server import TOKEN, hidden
from web_world import World, two_machines

ODD = "x; touch HACK $(id)"


@pytest.fixture
def world(baton: Any, git: Any, top: Any) -> World:
    return two_machines(baton, git, top)


def find_command(text: str, start: str) -> str:
    """Return the command on a page that begins with `start`."""
    found = re.search(rf">({start}[^<]*)<", text)
    assert found is not None, text
    return found[1].replace("&#39;", "'").replace("&amp;", "&")


def test_a_command_to_copy_quotes_the_namespace(baton: Any, serve: Any) -> None:
    baton("init", f"--namespace={ODD}")
    for _ in range(3):
        baton("pattern", "record", "Guessed", "--id", "PAT-1", "--rule", "Read", f"--namespace={ODD}")
    served = serve(namespace=ODD)
    command = find_command(served.get("graduate?id=PAT-1").text, "baton pattern graduate")
    assert shlex.split(command) == ["baton", "pattern", "graduate", "PAT-1", "--namespace", ODD]
    baton("init", "--namespace=a;b")
    assert "baton boot --namespace &#39;a;b&#39;" in served.get("/").text


def test_an_invalid_rollback_form_keeps_its_input(baton: Any, serve: Any) -> None:
    some_work(baton)
    served = serve()
    answer = served.get("back?way=session&session=nobody", code=404).text
    assert 'name="session" value="nobody"' in answer
    assert 'role="alert"' in answer
    answer = served.get("back?way=revision&revision=~999", code=422).text
    assert "~999 is before the first revision" in answer
    assert 'value="~999"' in answer


def test_a_form_of_one_rollback_cannot_execute_another(baton: Any, serve: Any) -> None:
    some_work(baton)
    served = serve()
    tip = served.site.tip("shop")
    fields = hidden(served.get("back?way=record&record=FU-1").text, {})
    answer = served.post("back?way=revision&revision=1", fields, code=409)
    assert "The plan has changed since it was shown" in answer.text
    assert served.site.tip("shop") == tip


def test_only_the_content_type_of_forms_is_accepted(baton: Any, serve: Any) -> None:
    some_work(baton)
    served = serve()
    fields = hidden(served.get("back?way=undo").text, {})
    for content_type in ("text/plain", "application/json", ""):
        headers = {"content-type": content_type} if content_type else {}
        body = "&".join(f"{name}={value}" for name, value in fields.items()).encode()
        assert served.client.post(served.path("back?way=undo"), content=body, headers=headers).status_code == 415


def test_a_rule_is_not_created_twice(baton: Any, serve: Any) -> None:
    some_work(baton)
    served = serve(page_token=TOKEN)
    served.log_in()
    fields = hidden(served.get("graduate?id=PAT-1").text, {"typed": ""})
    served.post("graduate?id=PAT-1", {**fields, "typed": "PAT-1"})
    tip = served.site.tip("shop")
    answer = served.post("graduate?id=PAT-1", {**fields, "typed": "PAT-1"}, code=409)
    assert "PAT-1 is already a rule" in answer.text
    assert "Make it a rule" not in served.get("graduate?id=PAT-1").text
    assert served.site.tip("shop") == tip


def test_a_page_beyond_the_end_reports_it(baton: Any, serve: Any) -> None:
    some_work(baton)
    assert "Page 99 is empty" in serve().get("timeline?page=99").text


def test_a_history_with_a_missing_commit_is_shown_up_to_it(baton: Any, git: Any, top: Any, serve: Any) -> None:
    some_work(baton)
    text = git(top, "cat-file", "commit", "refs/heads/baton/shop")
    orphan = re.sub(r"(?m)^parent [0-9a-f]{40}", "parent " + "1" * 40, text, count=1)
    commit = git(top, "hash-object", "-t", "commit", "-w", "--literally", "--stdin", text=orphan)
    git(top, "update-ref", "refs/heads/baton/shop", commit)
    baton("followup", "add", "After the gap", "--namespace", "shop")
    served = serve()
    for page in ("timeline", "lineage"):
        assert "Older history cannot be read" in served.get(page).text
    assert "After the gap" in served.get("timeline").text


@pytest.mark.slow  # two machines
def test_an_ambiguous_revision_number_is_refused_with_both_commits(world: World, serve: Any) -> None:
    world.here("followup", "add", "Here", "--id", "FU-here")
    world.there("followup", "add", "There", "--id", "FU-there")
    world.there("sync")
    world.here("sync")
    served = serve()
    number = "1"
    answer = served.get(f"compare?a={number}&b=0", code=409).text
    commits = re.findall(r"([0-9a-f]{10}) \(", answer)
    assert len(set(commits)) == 2
    assert f'name="a" value="{number}"' in answer
    for one in commits:
        served.get(f"compare?a={one}&b=0")
    served.get("back?way=revision&revision=1", code=409)
    timeline = served.get("timeline").text
    assert all(f'<code class="id">{one}</code>' in timeline for one in commits)


@pytest.mark.slow  # two machines
def test_a_rejected_review_form_keeps_its_choices(world: World, serve: Any) -> None:
    queue(world)
    served = serve(page_token=TOKEN)
    served.log_in()
    page = served.get("review").text
    for link in re.findall(r'href="(/n/[^"]+/record\?[^"]+)"', page):
        served.get(link.replace("&amp;", "&"))
    fields = hidden(page, {})
    choice = {"choice.follow_up.FU-fonts": "reject"}
    answer = served.post("review", {**fields, **choice, "shown": "0" * 40}, code=409).text
    assert 'name="choice.follow_up.FU-fonts" value="reject" checked' in answer
    for wrong in ({"choice.follow_up.NOPE": "accept"}, {"choice.follow_up.FU-fonts": "maybe"}, {"every": "all"}):
        assert "Nothing was decided" in served.post("review", {**fields, **wrong}, code=422).text
    served.post("review", {**fields, **choice, "remote": "nowhere"}, code=409)
    served.send("review", choice)
    assert "1 record from" in served.get("review").text


@pytest.mark.parametrize("deleted", slow_after(1, [True, False]))
def test_a_branch_that_another_program_moved_is_reported_on_every_page(
    baton: Any, git: Any, top: Any, serve: Any, *, deleted: bool
) -> None:
    some_work(baton)
    served = serve()
    tip = git(top, "rev-parse", "refs/heads/baton/shop")
    git(top, "update-ref", *(("-d", "refs/heads/baton/shop") if deleted else ("refs/heads/baton/shop", f"{tip}~1")))
    for page in ("/", served.path("board"), served.path("timeline"), served.path("conflicts")):
        text = served.client.get(page, follow_redirects=True).text
        assert tip[:10] in text, page
        assert "baton namespace restore" in text


@pytest.mark.parametrize("lost", slow_after(1, ["both", "branch"]))
def test_a_deleted_branch_is_an_item_of_the_inbox(baton: Any, git: Any, top: Any, serve: Any, *, lost: str) -> None:
    some_work(baton)
    baton("init", "--namespace", "quiet")
    served = serve(namespace="quiet")
    quiet = served.client.get("/?q=quiet").text
    assert "Nothing needs your attention" in quiet
    for ref in ("refs/heads/baton/quiet", "refs/baton-kept/heads/baton/quiet")[: 1 if lost == "branch" else 2]:
        git(top, "update-ref", "-d", ref)
    text = served.client.get("/?q=quiet").text
    assert "all clear" not in text
    assert "Nothing needs your attention" not in text
    [item] = re.findall(r'<li class="item bad">\s*<p class="mark">.*?</li>', text, re.DOTALL)
    assert "its branch baton/quiet was deleted by another program" in item
    assert 'href="/doctor"' in item
    board = served.client.get(served.path("board")).text
    assert "Changed in the meantime" not in board
    assert "<h1>Another program moved or deleted the branch</h1>" in board
    assert ">quiet: its branch baton/quiet was deleted" in board
