"""How a page escapes, links and shortens the texts of records."""

from __future__ import annotations

import pytest
from jinja2 import UndefinedError
from looped_cases import for_each

from baton_git.core.output import html
from baton_git.interfaces.web.notices import read_notice
from baton_git.interfaces.web.templating import environment
from baton_git.interfaces.web.texts import address, cut, is_link, quote_value


def test_unprintable_and_bidi_characters_are_escaped() -> None:
    assert html("a\u202eb\x07\x00\ud800\u2066") == "a\\u202eb\\x07\\x00\\ud800\\u2066"
    assert html("two\r\nlines\tand 名前 \u200dé👩\u200d💻") == "two\nlines\tand 名前 \u200dé👩\u200d💻"
    assert html(None) == ""


@for_each("text", ["javascript:alert(1)", "data:text/html,x", "//x", "http://", "https://a b", "ftp://x",
                                  'https://x"onclick=', "HTTP://x", "https://x\n", "https://é",
                                  "\x01https://x"])  # fmt: skip
def test_only_plain_web_addresses_are_links(text: str) -> None:
    assert not is_link(text)
    assert is_link("https://example.org/a?b=c#d")


def test_every_text_is_escaped_also_in_attributes_and_a_missing_name_is_an_error() -> None:
    template = environment().from_string('<p title="{{ x }}">{{ x }}</p>')
    assert template.render(x='"><b>\u202e') == '<p title="&#34;&gt;&lt;b&gt;\\u202e">&#34;&gt;&lt;b&gt;\\u202e</p>'
    with pytest.raises(UndefinedError):
        template.render()


def test_addresses_are_quoted_for_any_name() -> None:
    assert (
        address("a%2fb", "record", id="x&y=\u202e/ü", archived="") == "/n/a%252fb/record?id=x%26y%3D%E2%80%AE%2F%C3%BC"
    )
    assert quote_value("../x") == "..%2Fx"
    assert cut("x" * 700) == "x" * 599 + "…"


@pytest.mark.parametrize("digits", [40, 64], ids=["sha1", "sha256"])
def test_a_notice_links_to_the_undo_of_a_commit_of_either_object_format(digits: int) -> None:
    notice = read_notice({"done": "edited", "about": "FU-1", "commit": "0a" * (digits // 2), "in": "shop"})
    assert notice is not None
    assert "0a" * (digits // 2) in notice.undo
    cut_short = read_notice({"done": "edited", "about": "FU-1", "commit": "0a", "in": "shop"})
    assert cut_short is not None
    assert cut_short.undo == ""
