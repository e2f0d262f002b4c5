"""The verbs as forms and buttons: the effects of clicks, refused input, and rejected requests."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from test_pages import some_work
from web_server import TOKEN, Served
from web_world import World, two_machines

from baton_git.interfaces.web.actions.table import ACTIONS, ANY_KIND


@pytest.fixture
def work(baton: Any) -> None:
    some_work(baton)


def add_second_records(baton: Any) -> None:
    """Add two follow-ups, and a second pattern and decision."""
    for words in (
        ("followup", "add", "Later", "--id", "FU-2"),
        ("followup", "add", "Much later", "--id", "FU-3"),
        ("pattern", "record", "Assumed", "--id", "PAT-2"),
        ("decision", "add", "Half up", "--why", "law", "--id", "DEC-2"),
    ):
        baton(*words, "--namespace", "shop")


def click(served: Served, page: str, words: str, **more: Any) -> Any:
    """Press the button with this label in a list; return the response."""
    text = served.get(page).text
    buttons = re.findall(r'<button[^>]*form="acts" formaction="([^"]+)">([^<]+)', text)
    address = next(unescape(url) for url, name in buttons if name == words)
    csrf_token = re.findall(r'<form id="acts"[^>]*><input type="hidden" name="csrf_token" value="([^"]*)">', text)[0]
    return served.post(address, {"csrf_token": csrf_token}, **more)


def follow(served: Served, answer: Any) -> str:
    """Return the page to which a response redirects."""
    return served.get(answer.headers["location"]).text


def test_every_action_has_a_form_with_a_label_for_each_field(
    work: None, baton: Any, serve: Any, git: Any, top: Path
) -> None:
    add_second_records(baton)
    git(top, "remote", "add", "origin", "../origin.git")
    served = serve()
    ids = {"open_loop": "OL-1", "follow_up": "FU-2", "pattern": "PAT-1", "active_decision": "DEC-1"}
    for name, action in ACTIONS.items():
        id_ = {**ids, ANY_KIND: "PAT-1&kind=pattern", "": ""}[action.kind]
        text = served.get(f"do/{name}?id={id_}").text
        fields = set(re.findall(r'<(?:input|textarea|select) id="([^"]+)"', text))
        assert fields == {one for one in re.findall(r'<label[^>]* for="([^"]+)"', text) if one.startswith("field-")}
        assert text.count('type="submit"') == 1, name
    served.get("do/loop-add", code=404)
    served.get("do/passed?id=OL-none", code=404)


def test_a_loop_is_added_checked_and_closed_and_the_last_step_undone(work: None, baton: Any, serve: Any) -> None:
    served = serve()
    fields = {"action": "Wrote the readme", "expect": "it is there", "decision": "DEC-1", "ttl_days": "3",
              "verify.method": "file_exists", "verify.target": "readme"}  # fmt: skip
    page = follow(served, served.send("do/add-loop", fields))
    (id_,) = re.findall(r'class="id">(OL-\w+)</bdi> is added', page)
    loops = json.loads(baton("read", "--json", "--namespace", "shop").out)["baton"]["open_loops"]
    stored = next(loop for loop in loops if loop["id"] == id_)
    assert (stored["ttl_days"], stored["verify"]["path"], stored["decision_ref"]) == (3, "readme", "DEC-1")
    assert f'The check of <bdi class="id">{id_}</bdi> passed' in follow(served, click(served, "board", "Check"))
    closed = follow(served, served.send(f"do/close-loop?id={id_}", {"reason": "as planned"}))
    (undo,) = re.findall(r'<a href="([^"]+)">Undo…', closed)
    assert "as planned" in served.get(unescape(undo)).text
    served.send(unescape(undo), {"tip": str(served.site.tip("shop"))})
    assert id_ in served.get("board").text
    served.send("back?way=redo", {"tip": str(served.site.tip("shop"))})
    assert id_ not in served.get("board").text
    assert "nothing" in served.get("back?way=redo", code=403).text.casefold()


def test_one_click_on_the_board_defers_an_item_and_another_marks_it_as_done(work: None, baton: Any, serve: Any) -> None:
    baton("followup", "add", "Later", "--id", "FU-2", "--namespace", "shop")
    served = serve()
    assert "is deferred" in follow(served, click(served, "board", "Defer"))
    assert "put off 1×" in served.get("board").text
    page = follow(served, click(served, "/", "Mark as passed"))
    assert "<h1>Inbox</h1>" in page
    assert "OL-1</bdi> passed" in page
    assert "is done" in follow(served, click(served, "board", "Done"))
    assert "Later" not in served.get("board").text


def test_a_pattern_is_counted_again_and_decisions_are_monitored_and_merged(work: None, serve: Any) -> None:
    served = serve()
    served.send("do/add-decision", {"what": "Half up", "why": "law", "evidence": "a mail\n\na law"})
    assert "was counted again" in follow(served, served.send("do/seen-again?id=PAT-1", {"context": "again"}))
    assert "seen 4×" in served.get("board").text
    assert "being watched" in follow(
        served, served.send("do/monitor?id=DEC-1", {"csrf_token": read_csrf_token(served)})
    )
    page = served.get("do/merge-decisions?id=DEC-1").text
    (other,) = re.findall(r'<option value="(DEC-(?!1")[^"]*)">Half up', page)
    assert "is merged" in follow(served, served.send("do/merge-decisions?id=DEC-1", {"into": other}))
    record = served.get(f"record?kind=active_decision&id={other}").text
    assert "a law" in record


def test_a_record_is_not_offered_as_the_target_of_its_own_merge(work: None, baton: Any, serve: Any) -> None:
    add_second_records(baton)
    served = serve()
    for name, id_, other in (
        ("merge-follow-ups", "FU-2", "FU-3"),
        ("merge-patterns", "PAT-1", "PAT-2"),
        ("merge-decisions", "DEC-1", "DEC-2"),
        ("supersede", "DEC-1", "DEC-2"),
    ):
        text = served.get(f"do/{name}?id={id_}").text
        assert re.findall(r'<option value="([^"]*)"', text) == ["", other], name


def test_a_form_that_needs_another_record_says_if_there_is_none(work: None, serve: Any) -> None:
    served = serve()
    for name, id_, kind in (
        ("merge-patterns", "PAT-1", "pattern"),
        ("merge-decisions", "DEC-1", "decision"),
        ("supersede", "DEC-1", "decision"),
    ):
        text = served.get(f"do/{name}?id={id_}").text
        assert f"There is no other {kind}." in text
        assert "<select" not in text
        assert 'type="submit"' not in text


def test_a_form_about_a_remote_says_so_if_the_repository_has_none(work: None, serve: Any, git: Any, top: Path) -> None:
    served = serve()
    for name in ("begin-review", "remote-policy"):
        text = served.get(f"do/{name}").text
        assert "This repository has no remote. To add one: git remote add NAME URL" in text
        assert "<select" not in text
    git(top, "remote", "add", "origin", "../origin.git")
    assert '<option value="origin">' in serve().get("do/remote-policy").text


def read_csrf_token(served: Served) -> str:
    return str(re.findall(r'name="csrf_token" value="([^"]*)"', served.get("do/verify").text)[0])


def test_only_records_added_behind_the_page_token_are_confirmed_by_a_person(baton: Any, serve: Any) -> None:
    baton("init", "--namespace", "shop")
    for token, words in ((None, "written by an agent"), (TOKEN, "confirmed by a person")):
        served = serve(page_token=token)
        if token is not None:
            served.log_in()
        made = served.send("do/add-decision", {"what": f"Half up {words}", "why": "law"})
        (id_,) = re.findall(r"about=(DEC-\w+)", made.headers["location"])
        assert words in served.get(f"record?kind=active_decision&id={id_}").text


REFUSED = (
    ("do/add-loop", {"action": "Did it", "expect": " "}, "What must be true if it worked"),
    ("do/add-loop", {"action": "Did it", "expect": "yes", "verify.method": "http"}, "the target of the check"),
    ("do/add-loop", {"action": "Did it", "expect": "yes", "verify.method": "port_open", "verify.target": "x:y"},
     "HOST:PORT"),
    ("do/add-loop", {"action": "Did it", "expect": "yes", "verify.method": "command", "verify.target": "'a"},
     "no closing quotation"),
    ("do/add-loop", {"action": "Did it", "expect": "yes", "verify.method": "command", "verify.target": "a \\"},
     "no escaped character"),
    ("do/add-loop", {"action": "Did it", "expect": "yes", "ttl_days": "soon"}, "Days until an unverified loop"),
    ("do/add-follow-up", {"item": "Did it", "priority": "huge"}, "How urgent it is"),
    ("do/supersede?id=DEC-1", {"by": ""}, "The id of the decision that replaces it"),
)  # fmt: skip


def test_an_invalid_form_shows_its_errors_and_keeps_the_input(work: None, baton: Any, serve: Any) -> None:
    add_second_records(baton)
    served = serve()
    tip = served.site.tip("shop")
    for path, fields, words in REFUSED:
        text = served.send(path, fields, code=422).text
        assert re.search(rf'role="alert"[^>]*>[^/]*{words}', text), (path, fields)
        assert ("Did it</textarea>" in text) == ("Did it" in fields.values())
    assert served.site.tip("shop") == tip


def test_a_click_without_the_csrf_token_needs_the_page_token(work: None, serve: Any) -> None:
    served = serve(page_token=TOKEN)
    served.log_in()
    token, served.csrf_token = served.csrf_token, None
    tip = served.site.tip("shop")
    form = click(served, "board", "Mark as passed", code=403).text
    assert 'name="key"' in form
    assert served.site.tip("shop") == tip
    served.post("do/passed?id=OL-1", {"csrf_token": "", "key": "guess"}, code=403)
    served.post(
        "do/passed?id=OL-1", {"csrf_token": token or ""}, code=403, headers={"Origin": "http://elsewhere.example"}
    )
    assert served.site.tip("shop") == tip
    served.post("do/passed?id=OL-1&next=//elsewhere.example", {"csrf_token": "", "key": TOKEN})
    assert served.site.tip("shop") != tip


def test_sync_reports_its_changes(baton: Any, git: Any, top: Path, serve: Any) -> None:
    two_machines(baton, git, top)
    served = serve()
    assert "Everything was up to date already" in served.send("do/sync", {"remote": "origin"}, code=200).text
    served.send("do/add-follow-up", {"item": "Later"})
    answer = served.send("do/sync", {"remote": "origin"}, code=200).text
    assert "1 commit sent to origin" in answer
    assert "There is no remote" in served.send("do/sync", {"remote": "nobody"}, code=404).text


def test_a_check_from_a_remote_waits_for_the_approval_of_a_person(baton: Any, git: Any, top: Path, serve: Any) -> None:
    world: World = two_machines(baton, git, top)
    world.there("loop", "add", "Deployed", "--id", "OL-far", "--expect", "it is there", "--verify-file", "readme")
    world.there("sync")
    world.here("sync")
    served = serve(page_token=TOKEN)
    served.log_in()
    assert "Approve its check" in served.get("record?kind=open_loop&id=OL-far").text
    assert '/trust?id=OL-far">Approve<' in served.get("/").text
    page = served.get("trust?id=OL-far").text
    assert "came from origin" in page
    shown = re.findall(r'name="shown" value="([^"]+)"', page)[0]
    served.post("trust?id=OL-far", {"csrf_token": "", "shown": "x" + shown[1:]}, code=409)
    assert "is approved on this machine" in follow(served, served.send("trust?id=OL-far", {"shown": shown}))
    assert "passed" in follow(served, click(served, "record?kind=open_loop&id=OL-far", "Check"))


def test_without_a_token_of_its_own_the_page_approves_no_check(baton: Any, git: Any, top: Path, serve: Any) -> None:
    baton("init", "--namespace", "shop")
    baton("loop", "add", "Ran", "--id", "OL-run", "--expect", "0", "--namespace", "shop", "--verify-command", "--",
          "true")  # fmt: skip
    served = serve()
    assert "baton trust OL-run" in served.get("trust?id=OL-run").text
    served.post("trust?id=OL-run", {"csrf_token": read_csrf_token(served), "shown": "x"}, code=403)


def test_a_namespace_is_made_renamed_and_deleted(baton: Any, serve: Any) -> None:
    baton("init", "--namespace", "shop")
    served = serve()
    made = served.send("do/new-namespace?next=/", {"namespace": "ledger"})
    assert "<bdi>ledger</bdi>" in follow(served, made)
    ledger = served.path("do/rename-namespace", "ledger")
    page = follow(served, served.send(ledger, {"new_name": "books"}))
    assert "<bdi>books</bdi>" in page
    assert "<bdi>ledger</bdi>" not in page
    delete = served.path("do/delete-namespace", "books")
    assert "<bdi>books</bdi>" not in follow(served, served.send(delete, {"csrf_token": read_csrf_token(served)}))


# --- edit, forget, reopen


def test_a_record_is_edited_by_field_only_if_it_is_unchanged_since_it_was_shown(
    work: None, baton: Any, serve: Any
) -> None:
    baton("loop", "add", "Watched it", "--id", "OL-2", "--expect", "calm", "--verify-port", "localhost:5432",
          "--namespace", "shop")  # fmt: skip
    served = serve()
    page = served.get("edit?kind=open_loop&id=OL-2").text
    assert "Watched it</textarea>" in page
    assert 'value="localhost:5432"' in page
    same = {"action": "Watched it", "expected_outcome": "calm", "verify.method": "port_open", "ttl_days": "7"}
    entered = same | {"verify.target": "localhost:5432", "decision_ref": ""}
    tip = served.site.tip("shop")
    assert "Nothing changed" in follow(served, served.send("edit?kind=open_loop&id=OL-2", entered))
    assert served.site.tip("shop") == tip
    changed = served.send("edit?kind=open_loop&id=OL-2", entered | {"action": "Watched all of it", "ttl_days": "9"})
    text = follow(served, changed)
    assert "OL-2</bdi> is changed" in text
    assert "Watched all of it" in text
    refused = served.send("edit?kind=open_loop&id=OL-2", entered | {"expected_outcome": ""}, code=422).text
    assert "this is missing" in refused.casefold()
    stale = served.post(
        "edit?kind=open_loop&id=OL-2", {**entered, "csrf_token": read_csrf_token(served), "shown": "x"}, code=409
    )
    assert "has changed since it was shown" in stale.text
    served.get("edit?kind=rule&id=PAT-1", code=404)


def test_a_record_is_forgotten_with_a_reason_and_reopened(work: None, serve: Any) -> None:
    served = serve()
    assert "this is missing" in served.send("do/forget?kind=pattern&id=PAT-1", {"reason": ""}, code=422).text.casefold()
    text = follow(served, served.send("do/forget?kind=pattern&id=PAT-1", {"reason": "a guess"}))
    assert "PAT-1</bdi> is archived" in text
    assert "a guess" in text
    (link,) = re.findall(r'href="([^"]+)">Reopen…', text)
    assert "PAT-1</bdi> is open again" in follow(
        served, served.send(unescape(link), {"csrf_token": read_csrf_token(served)})
    )
    assert "Guessed" in served.get("board").text
