"""A browser sends a cookie to every port of a host. With the cookie alone, another server can read but not write."""

from __future__ import annotations

import re
from typing import Any

import httpx2
import pytest
from web_server import TOKEN, Served, hidden

from baton_git.interfaces.http.limits import FREE

PAGES = ("/", "/login", "board", "timeline", "review", "conflicts", "back?way=undo", "graduate?id=PAT-1", "nothing")


@pytest.fixture
def served(baton: Any, serve: Any) -> Served:
    baton("init", "--namespace", "shop")
    for _ in range(3):
        baton("pattern", "record", "Guessed", "--id", "PAT-1", "--rule", "Look", "--namespace", "shop")
    found: Served = serve(page_token=TOKEN)
    found.log_in()
    return found


def undo_fields(served: Served, **more: str) -> dict[str, str]:
    return {**hidden(served.get("back?way=undo").text, {}), **more}


def test_the_cookie_that_another_port_received_changes_nothing(served: Served, elsewhere: Any) -> None:
    url, received = elsewhere
    served.client.get(url)
    name, _, ticket = received[0].partition("=")
    assert name.startswith("baton_")
    thief = Served(served.url, served.site, served.namespace)
    thief.client.cookies.set(name, ticket)
    tip = str(served.site.tip("shop"))
    shown = "".join(thief.client.get(one if one.startswith("/") else thief.path(one)).text for one in PAGES)
    assert "Board" in shown
    assert served.csrf_token not in shown
    for csrf_token in {"", ticket, *re.findall(r'name="csrf_token" value="([^"]*)"', shown)}:
        thief.post("back?way=undo", {**undo_fields(thief), "csrf_token": csrf_token}, code=403)
        thief.post("graduate?id=PAT-1", {"csrf_token": csrf_token, "typed": "PAT-1"}, code=403)
    thief.client.close()
    assert served.site.tip("shop") == tip
    served.post("back?way=undo", undo_fields(served))
    assert served.site.tip("shop") != tip


def test_without_scripts_each_form_asks_for_the_token_and_wrong_tokens_are_limited(served: Served) -> None:
    served.csrf_token = None
    assert 'name="key" type="password"' in served.get("back?way=undo").text
    for code in [403] * FREE + [429]:
        served.post("back?way=undo", undo_fields(served, key="wrong"), code=code)
    served.post("back?way=undo", undo_fields(served, key=TOKEN))


def test_forms_of_other_origins_are_rejected(served: Served) -> None:
    fields = {**undo_fields(served), "csrf_token": str(served.csrf_token)}
    port = served.url.rpartition(":")[2]
    for headers in (
        {"Origin": "null"}, {"Origin": "http://127.0.0.1:9"}, {"Origin": f"http://localhost:{port}"}, {"Origin": ""},
        {"Sec-Fetch-Site": "same-site"}, {"Sec-Fetch-Site": "none"}, {"Sec-Fetch-Site": "cross-site"},
    ):  # fmt: skip
        served.post("back?way=undo", fields, code=403, headers=headers)
    with httpx2.Client(base_url=served.url, cookies=dict(served.client.cookies)) as silent:
        assert silent.post(served.path("back?way=undo"), data=fields).status_code == 403
    served.post("back?way=undo", fields, headers={"Sec-Fetch-Site": "same-origin"})


@pytest.mark.parametrize(
    ("started", "why"),
    [
        ({"token": TOKEN}, "no token of its own (BATON_PAGE_TOKEN)"),
        ({"page_token": TOKEN, "agent": "CLAUDECODE is set"}, "n agent started this server (CLAUDECODE is set)"),
    ],
    ids=["the server's token", "an agent's server"],
)
def test_a_click_does_not_confirm_for_a_person_if_an_agent_has_the_token(
    served: Served, serve: Any, started: dict[str, str], why: str
) -> None:
    other: Served = serve(**started)
    other.log_in()
    tip = other.site.tip("shop")
    assert why in other.get("graduate?id=PAT-1").text
    page = served.get("graduate?id=PAT-1").text
    fields = {**hidden(page, {"typed": ""}), "typed": "PAT-1", "csrf_token": str(other.csrf_token)}
    assert why in other.post("graduate?id=PAT-1", fields, code=403).text.replace("&#39;", "'")
    assert other.site.tip("shop") == tip
