"""The pages in chromium: every action of a person, also without a mouse, without scripts, and on a phone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from browser import MISSING, Browser, browser, is_installed
from selenium.webdriver.common.keys import Keys
from test_planted import plant
from web_server import TOKEN, Served
from web_world import CLAUDE, World, rich, two_machines

pytestmark = [pytest.mark.browser, pytest.mark.skipif(not is_installed(), reason=MISSING)]

PAGES = {
    "inbox": "/", "board": "board", "add": "do/add-loop", "supersede": "do/supersede?id=DEC-001",
    "trust": "trust?id=OL-stage", "search": "recall?q=rounding", "edit": "edit?kind=open_loop&id=OL-stage",
    "timeline": "timeline", "commit": "commit/5", "compare": "compare?a=3&b=9",
    "lineage": "lineage", "session": "session?id=2026-11-20-claude-1", "quarantine": "quarantine", "handed": "handed",
    "records": "records?kind=open_loop",
    "record": "record?kind=open_loop&id=OL-stage", "review": "review", "conflicts": "conflicts",
    "graduate": "graduate?id=PAT-schema", "todos": "todos", "doctor": "/doctor", "begin": "do/begin-review",
    "trust-remote": "trust-remote?remote=origin", "back": "back", "preview": "back?way=revision&revision=4",
}  # fmt: skip

PAGE_CHECKS = (Path(__file__).parent / "looking.js").read_text()

Opened = Callable[..., Browser]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    """Return a function that opens a browser on a server, and logs in if it gets a token.

    Messages in its console and requests to other hosts fail the test.
    """
    with ExitStack() as stack:
        browsers: list[Browser] = []

        def start(served: Served, *, token: str | None = None, scripts: bool = True) -> Browser:
            one = stack.enter_context(browser(served.url, tmp_path / f"profile{len(browsers)}", scripts=scripts))
            browsers.append(one)
            one.open("/")
            if token is not None:
                one.one("#token").send_keys(token + Keys.ENTER)
                one.until(lambda: one.all(".leave"))
            return one

        yield start
        for one in browsers:
            assert one.complaints() == []
            assert one.hosts() == {one.url.removeprefix("http://")}


@pytest.fixture
def world(baton: Any, git: Any, top: Path) -> World:
    return rich(two_machines(baton, git, top))


def test_all_decisions_can_be_made_by_clicks(world: World, serve: Any, opened: Opened) -> None:
    """Resolve, review, edit, graduate, roll back with a preview, undo: clicks have the same effects as the commands."""
    served = serve(page_token=TOKEN, whole=True)
    page = opened(served, token=TOKEN)
    _settle_the_conflict(page, served)
    _decide_the_review(page, served)
    _edit_a_record(page, served)
    _make_the_rule(page, served)
    _go_back_and_forth(page, served)
    assert "Baton-Confirmed: page, by Ada" in world.git(world.top, "log", "--format=%B", "refs/heads/baton/shop")


def _settle_the_conflict(page: Browser, served: Served) -> None:
    page.open(served.path("conflicts"))
    assert page.reads("a mail with the secret")
    page.one(".other textarea").send_keys("the secret is set")
    page.press("Resolve")
    assert page.reads("The conflict is resolved")
    assert page.reads("There are no conflicts")
    page.open(served.path("record?kind=open_loop&id=OL-secret"))
    assert page.reads("the secret is set")


def _decide_the_review(page: Browser, served: Served) -> None:
    page.open(served.path("review"))
    page.click("input[name='choice.follow_up.FU-fonts'][value=accept]")
    page.click("input[name='choice.active_decision.DEC-002'][value=reject]")
    page.press("Apply these choices")
    assert page.reads("Your choices are saved")
    assert page.reads("FU-receipt")
    page.press("Accept all others")
    assert page.reads("Nothing waits for your review")
    page.open(served.path("board"))
    assert page.reads("Ask for the fonts of the receipt")


def _edit_a_record(page: Browser, served: Served) -> None:
    page.open(served.path("record?kind=follow_up&id=FU-fonts"))
    page.press("Edit…")
    page.one("#field-reason").send_keys("the designer knows")
    page.press("Save")
    assert page.reads("FU-fonts is changed")
    assert page.reads("the designer knows")


def _make_the_rule(page: Browser, served: Served) -> None:
    page.open(served.path("board"))
    page.click("main .items a[href*=graduate]")
    page.one("#typed").send_keys("PAT-schema")
    page.press("Make it a rule")
    assert page.reads("The pattern is now a rule")
    assert page.reads("Rules 1")


def _go_back_and_forth(page: Browser, served: Served) -> None:
    page.open(served.path("record?kind=follow_up&id=FU-fonts"))
    page.open(served.path("back?way=undo"))
    assert page.reads("Nothing is written yet")
    page.press("Go back")
    assert page.reads("A new revision was written")
    page.press("Undo…")
    assert page.reads("back as a rule")
    page.one("#typed").send_keys("PAT-schema" + Keys.ENTER)
    assert page.reads("A new revision was written")
    page.open(served.path("board"))
    assert page.reads("Rules 1")


def test_one_click_on_the_board_acts_in_place_and_can_be_undone(world: World, serve: Any, opened: Opened) -> None:
    served = serve(page_token=TOKEN)
    page = opened(served, token=TOKEN)
    page.size(1440, 500)
    page.open(served.path("board"))
    page.run("scrollTo(0, 100)")
    page.click("[formaction*='defer?id=FU-receipt']")
    page.until(lambda: "FU-receipt is deferred" in page.text("#live"))
    assert page.run("return location.pathname") == served.path("board")
    assert page.run("return scrollY") >= 100
    assert "Defer" in page.run("return document.activeElement.textContent")
    assert "put off 4×" in page.text()
    page.click("#live a")
    assert page.reads("Nothing is written yet")
    page.press("Go back")
    assert page.reads("A new revision was written")


def test_a_record_is_added_from_the_menu_by_keys_alone(world: World, serve: Any, opened: Opened) -> None:
    served = serve()
    page = opened(served)
    page.open(served.path("timeline"))
    page.one(".add summary").send_keys(Keys.ENTER)
    page.one(".add summary").send_keys(Keys.ESCAPE)
    assert page.run("return document.querySelector('.add').open") is False
    page.one(".add summary").send_keys(Keys.ENTER)
    page.one(".add a[href*=add-decision]").send_keys(Keys.ENTER)
    page.one("#field-what").send_keys("Prices are rounded")
    page.one("#field-why").send_keys("the books do it" + Keys.CONTROL + Keys.ENTER)
    assert page.reads("is added")
    assert page.run("return location.pathname") == served.path("timeline")


def test_a_laptop_shows_fifteen_records_and_a_phone_the_first_in_its_upper_third(
    world: World, serve: Any, opened: Opened
) -> None:
    for number in range(12):
        world.here("loop", "add", f"Deployed part {number}", "--expect", "it answers", *CLAUDE)
    served = serve(page_token=TOKEN)
    page = opened(served, token=TOKEN)
    page.size(1440, 900)
    page.open(served.path("board"))
    visible = "[...document.querySelectorAll('.item')].filter((one) => one.getBoundingClientRect().bottom <= 900)"
    assert page.run(f"return {visible}.length") >= 15
    page.size(390, 844)
    for path in ("/", served.path("board")):
        page.open(path)
        top = page.run("return document.querySelector('.item').getBoundingClientRect().top")
        assert top < 844 / 3, path


def test_no_page_is_wider_than_a_phone_and_each_is_readable_in_both_schemes(
    world: World, baton: Any, serve: Any, opened: Opened
) -> None:
    baton("init", "--namespace", "名前")
    served = serve(page_token=TOKEN)
    page = opened(served, token=TOKEN)
    for width, scheme in ((1280, "light"), (360, "light"), (360, "dark"), (1280, "dark")):
        page.size(width, 800)
        page.scheme(scheme)
        for name, path in PAGES.items():
            page.open(path if path.startswith("/") else served.path(path))
            assert page.run("return document.documentElement.scrollWidth <= innerWidth"), f"{name} at {width}"
            faint = page.run(f"{PAGE_CHECKS}; return faint()")
            assert faint == [], f"{name}, {scheme}: {faint}"
            assert page.run(f"{PAGE_CHECKS}; return unnamed()") == [], name
            if width == 360:
                assert page.run(f"{PAGE_CHECKS}; return small()") == [], name
            page.shot(f"{name}-{width}-{scheme}")


def test_scripts_planted_in_records_do_not_run(baton: Any, serve: Any, opened: Opened) -> None:
    baton("init", "--namespace", "shop")
    served = serve(page_token=TOKEN)
    page = opened(served, token=TOKEN)
    page.size(360, 800)
    for path in plant(served):
        page.open(path)
        page.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        found = page.run(f"{PAGE_CHECKS}; return strange()")
        assert found == {"inside": 0, "loaded": 2, "focused": 0, "handlers": 0, "outward": 0, "fits": True}, path
    page.open(served.path("record?kind=pattern&id=" + "%22%3E%3Cimg%20src%3Dx%20onerror%3Dalert(7)%3E%7B%7B7*7%7D%7D"))
    assert page.reads("<script>alert(1)</script>")
    assert page.reads("{{7*7}}")


def test_a_change_of_another_process_appears_on_the_open_board(baton: Any, serve: Any, opened: Opened) -> None:
    baton("init", "--namespace", "shop")
    served = serve()
    page = opened(served)
    page.open(served.path("board"))
    baton("followup", "add", "Something new", "--namespace", "shop", *CLAUDE)
    page.until(lambda: "Something new" in page.text())
    assert "Updated: 1 new change" in page.text("#live")
    page.one(".find input").send_keys("half a word")
    baton("followup", "add", "Something newer", "--namespace", "shop", *CLAUDE)
    page.until(lambda: "1 new change" in page.text("#live") and "reload" in page.text("#live"))
    assert "Something newer" not in page.text()
    assert page.one(".find input").get_attribute("value") == "half a word"
    page.click("#live a")
    page.until(lambda: "Something newer" in page.text())


def test_the_open_inbox_follows_every_namespace_and_a_todo_is_done_with_one_click(
    world: World, serve: Any, opened: Opened
) -> None:
    served = serve()
    page = opened(served)
    world.baton("loop", "add", "Somewhere else", "--expect", "it works", "--namespace", "other", "--create")
    page.until(lambda: "Somewhere else" in page.text())
    assert page.run("return scrollY") == 0
    page.open(served.path("session?id=2026-11-20-codex-7"))
    page.one("form.search input[name=text]").send_keys("Write it" + Keys.ENTER)
    assert page.reads("The to-do list is changed")
    page.click("button[name=done]")
    page.until(lambda: "completed" in page.text())


def test_other_pages_only_announce_a_change(baton: Any, serve: Any, opened: Opened) -> None:
    baton("init", "--namespace", "shop")
    served = serve()
    page = opened(served)
    page.open(served.path("back"))
    baton("followup", "add", "One", "--namespace", "shop", *CLAUDE)
    baton("followup", "add", "Two", "--namespace", "shop", *CLAUDE)
    page.until(lambda: page.text("#live") == "2 new changes — reload")
    assert page.one("#live").get_attribute("aria-live") == "polite"


def test_eight_windows_get_events_and_a_hidden_one_gets_them_when_it_is_shown(
    baton: Any, serve: Any, opened: Opened
) -> None:
    baton("init", "--namespace", "shop")
    served = serve()
    page = opened(served)
    page.open(served.path("back"))
    windows = [page.driver.current_window_handle]
    for _ in range(7):
        page.driver.switch_to.new_window("window")
        page.open(served.path("back"))
        windows.append(page.driver.current_window_handle)
    page.driver.switch_to.new_window("window")
    page.open(served.path("timeline"))
    assert page.reads("Timeline")
    baton("followup", "add", "One", "--namespace", "shop", *CLAUDE)
    for one in windows:
        page.driver.switch_to.window(one)
        page.until(lambda: page.text("#live") == "1 new change — reload")
    hide = "Object.defineProperty(document, 'hidden', {value: arguments[0], configurable: true});"
    page.run(hide + "document.dispatchEvent(new Event('visibilitychange'))", True)
    baton("followup", "add", "Two", "--namespace", "shop", *CLAUDE)
    page.run("const end = Date.now() + 1500; while (Date.now() < end);")
    assert page.text("#live") == "1 new change — reload"
    page.run(hide + "document.dispatchEvent(new Event('visibilitychange'))", False)
    page.until(lambda: page.text("#live") == "2 new changes — reload")


def test_a_conflict_can_be_resolved_without_a_mouse(world: World, serve: Any, opened: Opened) -> None:
    """The skip link comes first; a conflict can be resolved with the keyboard only; the focus is visible."""
    served = serve()
    page = opened(served)
    page.open(served.path("conflicts"))
    page.driver.switch_to.active_element.send_keys(Keys.TAB)
    assert page.driver.switch_to.active_element.text == "Skip to the content"
    assert page.driver.switch_to.active_element.rect["y"] >= 0
    page.driver.switch_to.active_element.send_keys(Keys.ENTER)
    seen = _tab_until(page, "radio")
    assert "none" not in seen
    page.driver.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    assert page.run("return document.activeElement.value + document.activeElement.checked") == "theirstrue"
    _tab_until(page, "submit")
    page.driver.switch_to.active_element.send_keys(Keys.ENTER)
    page.until(lambda: "There are no conflicts" in page.text())


def _tab_until(page: Browser, kind: str) -> list[str]:
    """Press Tab until a control of this kind has the focus; return the outline of each control on the way."""
    outlines = []
    for _ in range(20):
        page.driver.switch_to.active_element.send_keys(Keys.TAB)
        outlines.append(page.run("return getComputedStyle(document.activeElement).outlineStyle"))
        if page.run("return document.activeElement.type") == kind:
            return outlines
    raise AssertionError(f"no {kind} is reached by the Tab key")


def test_revisions_are_compared_and_a_pattern_graduates_without_scripts(
    world: World, serve: Any, opened: Opened
) -> None:
    served = serve(page_token=TOKEN)
    page = opened(served, token=TOKEN, scripts=False)
    page.open(served.path("timeline"))
    page.all("input[name=a]")[4].click()
    page.press("Compare")
    assert page.reads("Compare")
    page.open(served.path("graduate?id=PAT-schema"))
    page.one(".key input").send_keys(TOKEN)
    page.one("#typed").send_keys("PAT-schema" + Keys.ENTER)
    page.until(lambda: "The pattern is now a rule" in page.text())


def test_another_port_receives_the_cookie_but_not_the_csrf_token(
    world: World, serve: Any, elsewhere: tuple[str, list[str]], tmp_path: Path
) -> None:
    served, (url, received) = serve(page_token=TOKEN), elsewhere
    with browser(served.url, tmp_path / "profile") as page:
        page.open("/login")
        page.one("#token").send_keys(TOKEN + Keys.ENTER)
        page.until(lambda: page.run("return location.pathname") == "/")
        assert page.run("return localStorage.length") == 1
        page.driver.get(url)
        assert "baton_" in received[0]
        assert page.run("return localStorage.length") == 0
        page.driver.switch_to.new_window("tab")
        page.open(served.path("back?way=undo"))
        assert page.all(".key") == []
        page.press("Go back")
        assert page.reads("A new revision was written")
        page.run("localStorage.clear()")
        page.open(served.path("back?way=undo"))
        page.one(".key input").send_keys(TOKEN)
        page.press("Go back")
        assert page.reads("A new revision was written")
