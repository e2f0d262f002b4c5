"""The pages on which a person begins a review, trusts a remote, works on todos, and sees the doctor's findings."""

from __future__ import annotations

import re
from typing import Any

import pytest
from test_acting import follow
from web_server import TOKEN
from web_world import CLAUDE, GEMINI, NS, World, two_machines


@pytest.fixture
def world(baton: Any, git: Any, top: Any) -> World:
    return two_machines(baton, git, top)


def test_a_review_is_begun_done_and_finished_on_the_page(world: World, serve: Any) -> None:
    world.there("followup", "add", "Ask for fonts", "--id", "FU-fonts", *GEMINI)
    world.there("sync")
    served = serve(page_token=TOKEN)
    served.log_in()
    assert "commits are merged automatically" in served.get("review").text
    page = follow(served, served.send("do/begin-review?next=/n/shop/review", {"remote": "origin"}))
    assert "now wait for review" in page
    assert "1 record from" in page
    served.send("review", {"choice.follow_up.FU-fonts": "accept"})
    assert "New commits of a remote whose policy is review appear here" in served.get("review").text
    served.send("do/remote-policy", {"remote": "origin", "policy": "auto"})
    assert world.git(world.top, "config", "remote.origin.batonPolicy") == "auto"


def test_without_a_token_of_its_own_the_page_cannot_loosen_a_policy_or_trust(world: World, serve: Any) -> None:
    world.git(world.top, "config", "remote.origin.batonPolicy", "review")
    served = serve()
    refused = served.send("do/remote-policy", {"remote": "origin", "policy": "auto"}, code=403)
    assert "only a person may choose it" in refused.text
    line = "baton trust --from origin --namespace shop"
    assert line in served.get("trust-remote?remote=origin").text
    csrf_token = re.findall(r'name="csrf_token" value="([^"]+)"', served.get("do/sync").text)[0]
    refused = served.post("trust-remote?remote=origin", {"csrf_token": csrf_token}, code=403)
    assert f"in a terminal: {line}" in refused.text
    served.get("trust-remote?remote=nowhere", code=404)


def test_a_remote_is_trusted_at_the_address_that_was_shown(world: World, serve: Any) -> None:
    served = serve(page_token=TOKEN)
    served.log_in()
    path = "trust-remote?remote=origin"
    changed = served.send(path, {"shown": "0" * 32}, code=409)
    assert "The remote is not trusted" in changed.text
    assert "is trusted on this machine" in follow(served, served.send(path, {}))
    assert "; trusted" in served.get("review").text
    assert "no longer trusted" in follow(served, served.send(path, {}))


def test_todos_are_added_started_finished_and_cancelled(baton: Any, serve: Any) -> None:
    baton("init", *NS)
    baton("boot", *CLAUDE, *NS)
    served = serve()
    session = CLAUDE[1]
    assert "No session has open todos" not in served.get("todos").text
    for text in ("Write <it>", "Test it"):
        served.send("todos", {"session": session, "text": text})
    served.send("todos", {"session": session, "start": "Write <it>"})
    page = follow(served, served.send("todos", {"session": session, "done": "Write <it>"}))
    assert "The to-do list is changed" in page
    assert "Write &lt;it&gt;" in served.get(f"session?id={session}").text
    served.send("todos", {"session": session, "cancel": "Test it"})
    again = served.send("todos", {"session": session, "text": "Test it"}, code=422)
    assert "is in the list already" in again.text
    served.send("todos", {"session": session, "text": " "}, code=422)
    served.send("todos", {"session": session, "done": "No such item"}, code=404)
    statuses = {
        todo["content"]: todo["status"] for todo in baton("todo", "list", "--all", "--json", *CLAUDE, *NS).json["todos"]
    }
    assert statuses == {"Write <it>": "completed", "Test it": "cancelled"}


def test_the_doctor_page_shows_passed_checks_only_on_request(baton: Any, serve: Any) -> None:
    baton("init", *NS)
    served = serve()
    assert 'class="problem"' not in served.get("/").text
    assert "all settings are valid" in served.get("/doctor?all=1").text
    default = served.get("/doctor").text
    assert "all settings are valid" not in default
    assert "other users can read" not in default, "the server's own files are private"


def test_the_events_of_the_inbox_start_at_its_state(baton: Any, serve: Any) -> None:
    baton("init", *NS)
    served = serve()
    (state,) = re.findall(r'data-events="/events\?since=([0-9a-f]{40})"', served.get("/").text)
    assert served.get("/events?now").json() == {"commit": state, "revision": 0}
    baton("followup", "add", "Later", *NS)
    assert served.get("/events?now").json()["commit"] != state
    with served.client.stream("GET", f"/events?since={state}") as stream:
        lines = iter(stream.iter_lines())
        assert "event: change" in (next(lines) for _ in range(20))
