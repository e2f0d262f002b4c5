"""The Markdown that agents write: sections, bullets, placeholders."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from looped_cases import for_each
from strategies import laws

from baton_git.systems.ecc.adapters.markdown import (
    is_placeholder,
    join_prose,
    parse_bullets,
    parse_fenced,
    parse_sections,
    parse_tasks,
)


@for_each(
    "text", ["", " ", "-", "Pending", "pending.", "`Pending`", "[relevant files]", "[Relevant files]", "TBD", "[ ]"]
)
def test_placeholders_are_not_data(text):
    assert is_placeholder(text)


@for_each("text", ["Pending review by Bea", "- x", "[slug].tsx", "0", "no"])
def test_filled_in_template_lines_are_data(text):
    assert not is_placeholder(text)


def test_a_section_ends_at_the_next_heading_of_its_depth():
    found = parse_sections("# T\n## A\none\n\n### B\ntwo\n## C\nthree\n")
    assert found["a"] == ["one", "", "### B", "two"]
    assert found["b"] == ["two"]
    assert found["c"] == ["three", ""]


def test_a_heading_inside_of_a_fence_is_text():
    assert parse_sections("## A\n```sh\n# no heading\n```\n~~~\n## nor this\n~~~\n## B\nx")["a"] == [
        "```sh", "# no heading", "```", "~~~", "## nor this", "~~~",
    ]  # fmt: skip


def test_bold_lines_are_headings_only_on_request():
    text = "**Summary**\n- a\n**Next:**\n- b\n"
    assert parse_sections(text) == {}
    assert parse_sections(text, bold=True) == {"summary": ["- a"], "next": ["- b", ""]}


def test_a_repeated_heading_has_the_lines_of_both():
    assert parse_sections("## A\n- 1\n## B\n## A\n- 2")["a"] == ["- 1", "- 2"]


def test_the_markers_of_the_stop_hook_end_a_section_and_notes_of_compactions_are_left_out():
    text = "### Notes\nmine\n<!-- ECC:SUMMARY:START -->\n### Tasks\n- t\n<!-- ECC:SUMMARY:END -->\nafter\n"
    assert parse_sections(text)["notes"] == ["mine"]
    assert parse_sections(text)["tasks"] == ["- t"]
    compacted = "### Notes\nmine\n\n---\n**[Compaction occurred at 10:00]** - Context was summarized\n"
    assert join_prose(parse_sections(compacted)["notes"]) == "mine"


def test_bullets_are_read_without_placeholders_and_with_their_indented_lines():
    lines = ["- one", "", "  goes on", "* two", "- Pending", "-", "+ three", "loose text"]
    assert parse_bullets(lines) == ["one goes on", "two", "three"]
    assert parse_tasks(["- [x] a", "- [ ] b", "- [X] c", "- [ ]", "- d"], done=True) == ["a", "c"]
    assert parse_tasks(["- [x] a", "- [ ] b", "- [ ]", "- d"], done=False) == ["b"]


def test_the_lines_of_a_fence_are_read_or_without_one_those_of_the_section():
    assert parse_fenced(["", "```text", " a ", "", "b", "```", "after"]) == [" a ", "", "b"]
    assert parse_fenced(["```", "~~~", "a", "~~~", "```", "b"]) == ["~~~", "a", "~~~"]
    assert parse_fenced(["a", "[relevant files]"]) == ["a", "[relevant files]"]
    assert parse_fenced(["", "```", "[relevant files]", "", "```"]) == []
    assert parse_fenced(["```", "never closed"]) == ["never closed"]


@laws
@given(st.text(st.sampled_from("#*-[]x` \n~<!>aE:"), max_size=60))
def test_any_text_is_read_and_no_placeholder_is_returned(text):
    for lines in parse_sections(text, bold=True).values():
        assert not any(map(is_placeholder, [*parse_bullets(lines), *parse_tasks(lines, done=True)]))
        join_prose(lines)
        parse_fenced(lines)
