"""Every page loads with the same layout, without inline scripts, and without anything from other servers."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from baton_git.interfaces.web.pages import inbox, records, timeline
from baton_git.namespace.import_quarantine import ImportQuarantine, RefusedRow
from baton_git.verbs.work_items.followups import add_follow_up

PAGES = ("board", "timeline", "lineage", "handed", "review", "conflicts", "back", "compare", "compare?a=1&b=~0",
         "commit/1", "back?way=undo", "records?kind=open_loop", "records?kind=follow_up&archived=1",
         "record?kind=open_loop&id=OL-1", "record?kind=follow_up&archived=1&id=FU-1",
         "graduate?id=PAT-1", "back?way=revision&revision=2", "back?way=session&session=s1",
         "back?way=record&record=OL-1", "recall", "recall?q=shop",
         "do/add-loop", "do/merge-patterns?id=PAT-1", "do/sync", "session?id=s1", "quarantine")  # fmt: skip
"""The pages of a namespace with the records of `some_work`."""


def some_work(baton: Any, *more: str) -> None:
    """Write two sessions: a loop, a follow-up that is done, a rule candidate, and a decision."""

    def shop(*words: str) -> None:
        baton(*words, "--namespace", "shop", *more)

    shop("init")
    shop("loop", "add", "Deployed the shop", "--id", "OL-1", "--expect", "it answers", "--session", "s1")
    shop("followup", "add", "Translate", "--id", "FU-1", "--session", "s1")
    shop("followup", "done", "FU-1", "--session", "s2")
    for _ in range(3):
        shop("pattern", "record", "Guessed", "--id", "PAT-1", "--rule", "Read first", "--session", "s2")
    shop("decision", "add", "Half to even", "--why", "books", "--id", "DEC-1", "--session", "s1")


def test_every_page_loads_and_has_no_inline_script_or_style(baton: Any, serve: Any) -> None:
    some_work(baton)
    served = serve()
    for page in ("/", "/search", "/search?q=shop", *PAGES):
        _check_page(served.get(page))


def _check_page(answer: Any) -> None:
    text = answer.text
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["cache-control"] == "private, no-store"
    assert "<h1" in text
    assert not re.search(r"<style|\sstyle=|\son[a-z]+=|<script(?![^>]*\ssrc=)", text)
    assert not re.search(r'(?:src|href|action)="(?:[a-z]+:)?//', text)
    assert text.count("<h1") == text.count("<main") == 1


def test_the_board_shows_the_records_and_the_search_finds_them(baton: Any, serve: Any) -> None:
    some_work(baton)
    served = serve()
    board = served.get("board").text
    for words in (
        "Deployed the shop",
        "it answers",
        "Half to even",
        "seen 3×",
        "1 rule to decide on",
        "1 follow-up</a>",
    ):
        assert words in board
    found = served.get("recall?q=DEPLOYED").text
    assert "Deployed the shop" in found
    assert "Half to even" not in found
    assert "Nothing found" in served.get("recall?q=zzzz").text


def test_a_namespace_of_any_name_is_reached_by_the_links_of_the_page(baton: Any, serve: Any) -> None:
    names = ["a/b", "名前", "..", "A", "x.lock", "a?b#c%20", "-n"]
    for name in names:
        baton("init", f"--namespace={name}")
    served = serve()
    links = re.findall(r'<h3><a href="([^"]+)"><bdi>([^<]+)</bdi>', served.get("/").text)
    assert sorted(name for _, name in links) == sorted([*names, "shop", "work"])
    for link, name in links:
        assert f'<bdi class="name">{name}</bdi>' in served.get(link).text
        assert served.path("board", name) == link


def test_an_empty_repository_has_a_page_with_the_first_step(serve: Any, baton: Any) -> None:
    served = serve(whole=True)
    for name in ("shop", "work"):
        baton("namespace", "delete", name, "--yes")
    text = served.get("/").text
    assert "baton init" in text
    assert "baton boot" in text


NOT_THERE = ("/n/nowhere/board", "/n/shop/nothing", "/n/%25zz/board", "/n/shop/record?kind=open_loop&id=nope", "/n",
             "/n/shop/records?kind=nope", "/n/shop/commit/99999", "/n/shop/board/deeper")  # fmt: skip


def test_an_address_that_does_not_exist_has_an_error_page(baton: Any, serve: Any) -> None:
    baton("init", "--namespace", "shop")
    served = serve()
    for path in NOT_THERE:
        answer = served.get(path, code=404)
        assert "Not found" in answer.text
        assert "content-security-policy" in answer.headers


def test_the_error_page_of_a_missing_thing_shows_a_hint_unless_it_names_a_command(baton: Any, serve: Any) -> None:
    baton("init", "--namespace", "shop")
    served = serve()
    for path, hint in (
        ("/n/shop/nothing", "all pages can be reached from the start page"),
        ("/n/shop/record?kind=open_loop&id=nope", "the timeline may still show its changes"),
        ("/n/shop/do/passed?id=nope", "it may be closed by now"),
    ):
        assert f">{hint}</span></p>" in served.get(path, code=404).text
    assert "baton init" not in served.get("/n/nowhere/board", code=404).text


def test_pages_load_only_the_servers_own_files_which_browsers_may_cache(serve: Any) -> None:
    served = serve()
    found = re.findall(r'(?:href|src)="(/static/[^"]+)"', served.get("/").text)
    assert {one.partition("?")[0] for one in found} == {"/static/page.css", "/static/page.js", "/static/icon.svg"}
    for one in found:
        assert "immutable" in served.get(one).headers["cache-control"]
    served.get("/static/../routes.py", code=404)
    served.get("/static/..%2froutes.py", code=404)
    assert "http" not in served.get("/static/page.css").text


def test_the_timeline_has_pages_and_filters(baton: Any, serve: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(timeline, "COMMITS_SHOWN", 25)
    some_work(baton)
    served = serve()
    with served.site.work("shop", session="s3", agent="codex") as ws:
        for number in range(30):
            add_follow_up(ws, served.site.now(), f"number {number}")
    first, second = served.get("timeline").text, served.get("timeline?page=2").text
    assert "number 29" in first
    assert "number 1<" not in first
    assert "number 1<" in second
    assert "Older" in first
    assert served.get("timeline?session=s1").text.count('class="moment"') == 3
    assert served.get("timeline?record=FU-1").text.count('class="moment"') == 2
    assert served.get("timeline?agent=nobody").text.count('class="moment"') == 0


def test_a_list_of_records_continues_on_the_next_page_and_finds_the_same_as_the_verb(
    baton: Any, serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "RECORDS_SHOWN", 2)
    baton("init", "--namespace", "shop")
    served = serve()
    with served.site.work("shop") as ws:
        for number in range(5):
            add_follow_up(ws, served.site.now(), f"number {number}", id=f"FU-{number}")
    page, seen = "records?kind=follow_up&q=number", []
    while page:
        text = unescape(served.get(page).text)
        seen.append(re.findall(r"number \d", text))
        page = next((f"records{link}" for link in re.findall(r'href="(\?[^"]+)" rel="next"', text)), "")
    assert seen == [["number 0", "number 1"], ["number 2", "number 3"], ["number 4"]]
    assert 'href="?kind=follow_up" rel="prev"' in unescape(
        served.get("records?kind=follow_up&after=follow_up/FU-1").text
    )
    assert '<span class="number">5</span>' in served.get("records?kind=follow_up").text
    served.get("records?kind=follow_up&after=FU-1", code=404)


def test_a_page_beyond_the_end_of_the_quarantine_shows_its_last_rows(
    baton: Any, serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox, "ROWS_SHOWN", 2)
    baton("init", "--namespace", "shop")
    served = serve()
    assert "Imports left out no rows" in served.get("quarantine?page=99").text
    rows = [RefusedRow(f"row {number}", "no id", {}) for number in range(3)]
    with served.site.work("shop") as ws:
        store = ImportQuarantine(ws.branch.store.repository.common_dir, ws.branch.namespace)
        store.replace("document.json", rows, "2026-06-17T12:30:00Z")
    text = served.get("quarantine?page=99").text
    assert text.count('<li class="row">') == 1
    assert "row 2" in text


def test_the_page_of_a_session_shows_its_brief_changes_and_digest(baton: Any, serve: Any, top: Path) -> None:
    baton("init", "--namespace", "shop")
    baton("decision", "add", "Half to even", "--why", "books", "--namespace", "shop")
    baton("boot", "--namespace", "shop", "--session", "s9", "--agent", "claude")
    baton("followup", "add", "Translate", "--namespace", "shop", "--session", "s9", "--agent", "claude")
    prompt = {"type": "user", "sessionId": "s9", "cwd": str(top), "timestamp": "2026-06-17T12:30:00Z",
              "uuid": "1", "message": {"role": "user", "content": "Export it with semicolons"}}  # fmt: skip
    (top / "t.jsonl").write_text(json.dumps(prompt) + "\n")
    who = ("--namespace", "shop", "--agent", "claude", "--session", "s9")
    baton("handoff", "extract", str(top / "t.jsonl"), "--keep", *who)
    served = serve()
    page = served.get("session?id=s9").text
    brief = page.partition("Brief")[2]
    assert "Half to even" in brief
    assert "Translate" not in brief, "the brief contains only what was known when the session began"
    assert "Translate" in page
    assert "Export it with semicolons" in page
    assert "no session" in served.get("session?id=s77", code=404).text


def test_two_revisions_are_compared_in_the_given_order(baton: Any, serve: Any) -> None:
    some_work(baton)
    served = serve()
    forward = served.get("compare?a=1&b=3").text
    backward = served.get("compare?a=3&b=1").text
    assert 'From <span class="chip note">revision 1</span>' in forward
    assert 'From <span class="chip note">revision 3</span>' in backward
    assert 'name="a" value="3"' in backward
    assert "Translate" in forward
    assert "FU-1" in backward
    assert 'value="nonsense"' in served.get("compare?a=nonsense", code=422).text


def test_an_unreadable_file_is_reported_with_the_reason(baton: Any, git: Any, top: Path, serve: Any) -> None:
    some_work(baton)
    blob = git(top, "hash-object", "-w", "--stdin", text='action = "half')
    ref = "refs/heads/baton/shop"
    env_index = ["-c", "core.bare=false"]
    git(top, *env_index, "read-tree", f"--index-output={top / '.git' / 'other'}", ref)
    (top / ".git" / "index").rename(top / ".git" / "kept")
    (top / ".git" / "other").rename(top / ".git" / "index")
    git(top, "update-index", "--add", "--cacheinfo", f"100644,{blob},open_loops/OL-bad.toml")
    tree = git(top, "write-tree")
    (top / ".git" / "kept").rename(top / ".git" / "index")
    commit = git(top, "commit-tree", tree, "-p", ref, "-m", "by hand")
    git(top, "update-ref", ref, commit)
    served = serve()
    board = served.get("board").text
    assert "open_loops/OL-bad.toml" in board
    assert "1 file cannot be read" in board
    assert "1 file cannot be read" in served.get("/").text
    assert '<a href="/doctor">Show the problems' in served.get("/").text
    doctor = served.get("/doctor").text
    assert "open_loops/OL-bad.toml" in doctor
    assert '<h2 id="group-2"><bdi>shop</bdi></h2>' in doctor or '<h2 id="group-1"><bdi>shop</bdi></h2>' in doctor
    assert "This file cannot be read" in served.get("record?kind=open_loop&id=OL-bad").text
    git(top, "config", "baton.ttlDays", "abc")
    for page in ("/", "/doctor"):
        assert "git config baton.ttlDays is &#39;abc&#39;" in served.get(page).text
    refused = served.send("do/add-follow-up", {"item": "x"}, code=422)
    assert "not a whole number from 1 to 1000000" in refused.text


def test_changes_are_sent_as_they_happen(baton: Any, serve: Any) -> None:
    some_work(baton)
    served = serve()
    served.get("board")
    with served.client.stream("GET", served.path("events")) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = answer.iter_lines()
        assert next(lines) == "retry: 2000"
        baton("followup", "add", "Something new", "--namespace", "shop")
        assert next(line for line in lines if line.startswith("event")) == "event: change"


def test_events_need_a_login(baton: Any, serve: Any) -> None:
    baton("init", "--namespace", "shop")
    assert "log in at /login" in serve(token="secret").get("events", code=401).text
