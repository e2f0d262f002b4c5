"""Access to the pages, and which forms are accepted."""

from __future__ import annotations

import re
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from looped_cases import for_each
from web_server import TOKEN, hidden

from baton_git.core.errors import StoreError
from baton_git.interfaces.http.limits import ADDRESSES, FREE, LONGEST, Attempts
from baton_git.interfaces.web.routes import PAGES
from baton_git.interfaces.web.session_cookie import PERSON, PageAccess, load_key
from baton_git.interfaces.web.texts import next_page

PATHS = ("/", "/n/shop/board", "/n/shop/review", "/n/shop/nothing", "/n/nowhere/board")


@pytest.fixture
def locked(baton: Any, serve: Any) -> Any:
    baton("init", "--namespace", "shop")
    return serve(token=TOKEN)


def test_with_a_token_every_page_asks_for_it_first(locked: Any) -> None:
    for path in PATHS:
        answer = locked.get(path, code=303)
        assert answer.headers["location"].startswith("/login?next=")
        assert answer.text == ""
    assert locked.post("conflicts", {"csrf_token": "x"}).headers["location"].startswith("/login")
    assert "BATON_API_TOKEN" in locked.get("/login").text


def test_the_right_token_logs_in_and_redirects_to_the_page(locked: Any) -> None:
    locked.get("board", code=303)
    answer = locked.log_in(page="/login?next=%2Fn%2Fshop%2Fboard")
    assert 'data-next="/n/shop/board"' in answer.text
    cookie = answer.headers["set-cookie"].lower()
    for words in ("httponly", "samesite=strict", "path=/", "max-age=43200"):
        assert words in cookie
    assert "secure" not in cookie
    assert "Board" in locked.get("board").text
    assert locked.get("/login", code=303).headers["location"] == "/"


def test_a_login_without_origin_or_cookie_says_what_is_missing(locked: Any) -> None:
    fields = {"token": TOKEN, **hidden(locked.get("/login").text, {"token": ""})}
    origin = {"Origin": locked.client.headers.pop("Origin")}
    answer = locked.post("/login", fields, code=403)
    assert "has no Origin header" in answer.text
    assert f"send Origin: {locked.url}" in answer.text
    answer = locked.post("/login", fields, code=403, headers={"Sec-Fetch-Site": "none"})
    assert "Sec-Fetch-Site is &#39;none&#39;" in answer.text
    answer = locked.post("/login", {"token": TOKEN}, code=403, headers=origin)
    assert "no valid csrf_token" in answer.text
    locked.client.cookies.clear()
    answer = locked.post("/login", fields, code=403, headers=origin)
    assert "without the cookie of this page" in answer.text


def test_behind_tls_the_cookie_is_secure(locked: Any) -> None:
    answer = locked.get("/login", headers={"X-Forwarded-Proto": "https"})
    assert "secure" in answer.headers["set-cookie"].lower()


def test_wrong_tokens_are_limited_and_the_right_one_always_gets_in(locked: Any) -> None:
    for _ in range(FREE):
        assert "That is not the server" in locked.log_in("wrong", code=403).text
    answer = locked.log_in("wrong", code=429)
    assert int(answer.headers["retry-after"]) >= 1
    assert "Too many attempts" in answer.text
    locked.get("board", code=303)
    locked.log_in(TOKEN)
    assert "Board" in locked.get("board").text


def test_after_logging_out_pages_need_a_login(locked: Any) -> None:
    locked.log_in()
    locked.post("/logout", {"csrf_token": ""})
    locked.get("board", code=303)


def test_a_form_without_its_csrf_token_does_nothing(baton: Any, locked: Any) -> None:
    locked.log_in()
    baton("followup", "add", "x", "--namespace", "shop", "--id", "FU-1")
    tip = locked.site.tip("shop")
    locked.csrf_token = None
    for token in ("", "x", "ü" * 40):
        answer = locked.post("back?way=undo", {"csrf_token": token, "tip": str(tip)}, code=403)
        assert "has no valid csrf_token" in answer.text
    assert locked.site.tip("shop") == tip


def test_the_csrf_token_of_another_browser_is_rejected(baton: Any, serve: Any) -> None:
    baton("init", "--namespace", "shop")
    baton("followup", "add", "x", "--namespace", "shop")
    served = serve()
    csrf_token = hidden(served.get("back?way=undo").text, {})["csrf_token"]
    assert csrf_token
    served.client.cookies.clear()
    served.get("board")
    served.post("back?way=undo", {"csrf_token": csrf_token, "tip": "0" * 40}, code=403)


def test_another_site_cannot_send_a_form(locked: Any) -> None:
    locked.log_in()
    for headers in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        locked.post("/logout", {}, code=403, headers=headers)
    locked.get("board")


def test_a_ticket_is_valid_in_every_server_with_the_same_token_and_in_no_other(locked: Any, serve: Any) -> None:
    locked.log_in()
    name, ticket = next(iter(locked.client.cookies.items()))
    again, other = serve(token=TOKEN), serve(token="another")
    for served in (again, other):
        served.client.cookies.set(name, ticket)
    assert "Board" in again.get("board").text
    other.get("board", code=303)


def test_a_ticket_is_bound_to_its_kind_and_expires(locked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    access = PageAccess(locked.site)
    guest, person = access.make_visitor(), access.make_visitor(PERSON)
    assert access.allows(person)
    assert not access.allows(guest)
    kind, until, nonce, signature = guest.ticket.split(".")
    forged = (f"person.{until}.{nonce}.{signature}", f"{kind}.9{until}.{nonce}.{signature}", "a.b.c.d", "", "é.1.2.3")
    assert [access.visitor(one) for one in (*forged, None)] == [None] * 6
    assert access.visitor(guest.ticket) == guest
    monkeypatch.setattr("time.time", lambda: int(until) + 1)
    assert access.visitor(guest.ticket) is None


def test_the_key_is_private_and_created_once(tmp_path: Path) -> None:
    path = tmp_path / "baton" / "page.key"
    key = load_key(path)
    assert load_key(path) == key
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [one.name for one in path.parent.iterdir()] == ["page.key"]
    path.chmod(0o640)
    with pytest.raises(StoreError, match="other users can read it"):
        load_key(path)


@for_each("text", ["//evil.example", "//evil.example/doctor", "///doctor", "//[", "/\\evil.example", " //evil.example",
                   "https://evil.example", "https://evil.example/search", "/n/\n", "javascript:x", "/v1/x",
                   "/doctor.evil.example", "/login"])  # fmt: skip
def test_the_login_redirects_only_to_our_own_pages(text: str) -> None:
    assert next_page(text) == "/"


@for_each("page", [path.format(component="shop", action="sync", revision="1") for path in PAGES])
def test_the_login_redirects_to_every_page(page: str) -> None:
    for text in (page, f"{page}?q=a%20b"):
        assert next_page(text, "fallback") == text


def test_a_login_that_began_at_the_doctor_or_the_search_returns_there(locked: Any) -> None:
    for page in ("/doctor", "/search?q=shop"):
        login = locked.get(page, code=303).headers["location"]
        assert f'data-next="{page}"' in locked.log_in(page=login).text
        locked.post("/logout", {"csrf_token": ""})


def test_an_old_cookie_is_invalid_after_logging_out(locked: Any) -> None:
    locked.log_in()
    name, ticket = next(iter(locked.client.cookies.items()))
    locked.post("/logout", {"csrf_token": ""})
    locked.client.cookies.set(name, ticket)
    locked.get("board", code=303)


def test_waiting_times_and_remembered_addresses_are_limited() -> None:
    seconds = [0.0]
    attempts = Attempts(clock=lambda: seconds[0])
    for _ in range(100):
        wait = attempts.note_wrong("proxy")
        seconds.append(seconds.pop() + wait)
        assert wait <= LONGEST
    assert seconds[0] > 40 * LONGEST
    for number in range(ADDRESSES + 5):
        attempts.note_wrong(str(number))
    assert len(attempts) == ADDRESSES


def test_the_page_token_opens_only_the_pages_and_the_servers_token_does_not_open_them(baton: Any, serve: Any) -> None:
    baton("init", "--namespace", "shop")
    for token in (TOKEN, None):
        served = serve(token=token, page_token="for people", whole=True)
        assert "BATON_PAGE_TOKEN" in served.get("/login").text
        served.log_in(TOKEN, code=403)
        served.log_in("for people")
        assert "Board" in served.get("board").text
        for bearer, code in ((TOKEN, 200 if token else 401), ("for people", 401)):
            served.get("/v1/status", code=code, headers={"Authorization": f"Bearer {bearer}".encode()})


def test_a_ticket_is_bound_to_the_page_token(locked: Any) -> None:
    site = locked.site
    person = PageAccess(replace(site, page_token="for people")).make_visitor(PERSON)
    for access in (PageAccess(site), PageAccess(replace(site, page_token="another"))):
        assert access.visitor(person.ticket) is None
    assert PageAccess(replace(site, page_token="for people")).visitor(person.ticket) == person


def test_the_login_loads_its_files_without_a_login_and_nothing_else_does(locked: Any) -> None:
    files = re.findall(r'(?:href|src)="(/[^"]+\?v=[^"]+)"', locked.get("/login").text)
    assert {file.partition("?")[0] for file in files} == {"/login/page.css", "/login/page.js", "/login/icon.svg"}
    for file in files:
        locked.get(file)
        locked.get(file.replace("/login/", "/static/"), code=401)
    locked.log_in(TOKEN)
    for file in files:
        locked.get(file.replace("/login/", "/static/"))
