"""A handoff in words: the names a template can use, and its text as sections that fit a budget."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st
from looped_cases import for_each

from baton_git.core.brief import FRAME, Rank, compose
from baton_git.git.hooks.shipped import find_shipped
from baton_git.systems.gobby.handoff_context import (
    WIDTH,
    collect_template_names,
    describe_origin,
    split_into_sections,
    summarize_facts,
)
from baton_git.systems.gobby.record import Handoff
from baton_git.systems.gobby.rendering import render

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
FACTS = {
    "initial_goal": "Fix the parser\nand keep it small",
    "active_task": {"title": "write tests", "status": "in_progress", "origin": "todo"},
    "todo_state": [{"content": "write tests", "status": "in_progress"}, {"content": "read", "status": "completed"}],
    "files_modified": ["/r/a.py", "/r/b.py"],
    "git_commits": [{"hash": "abc1234", "message": "Add parser", "verified": False}],
    "git_status": " M a.py",
    "recent_activity": ["Ran: make"],
    "key_decisions": [{"text": "Decision: no regex", "kind": "wording"}],
    "unknown": {"git_status": "took too long"},
}


def handoff(**more: object) -> Handoff:
    data = {"id": "claude/s-1", "extracted_at": "2026-11-21T11:55:00Z", "facts": FACTS, "trigger": "pre_compact"}
    return Handoff.model_validate(data | more)


def rendered(found: Handoff, file: str = "handoff.md.j2") -> str:
    return render(find_shipped(f"templates/{file}").read_text(), collect_template_names(found))


def test_the_template_that_ships_tells_every_fact_with_its_tier():
    text = rendered(handoff(notes="look at b.py first"))
    for expected in (
        "## What it was asked, verbatim [raw_source]", "| and keep it small", "write tests · in_progress",
        "- [>] write tests", "- [x] read", "`abc1234` Add parser (not in this repository now)", "|  M a.py",
        "- /r/b.py", "- Ran: make", "Decision: no regex", "- git_status: took too long", "| look at b.py first",
    ):  # fmt: skip
        assert expected in text
    assert text.index("/r/b.py") < text.index("/r/a.py")


def test_the_narrative_template_tells_the_same_in_sentences():
    text = rendered(handoff(), "handoff-narrative.md.j2")
    for expected in ("| Fix the parser", "1 of 2 were done", "Left to do, begun: write tests", "`abc1234`", "/r/b.py"):
        assert expected in text


def test_the_narrative_template_gives_what_a_model_said_under_headings_of_its_own():
    by_tier: dict[str, str] = {"": ""}
    tier = ""
    for line in rendered(handoff(notes="look at b.py first"), "handoff-narrative.md.j2").splitlines():
        tier = line.rpartition("[")[2].rstrip("]") if line.startswith("## ") else tier
        by_tier[tier] = by_tier.get(tier, "") + line + "\n"
    for derived in ("working on", "write tests", "look at b.py", "no regex"):
        assert derived in by_tier["llm_derived"]
        assert derived not in by_tier["raw_source"]
    for raw in ("Fix the parser", "abc1234", "/r/b.py", " M a.py", "Ran: make"):
        assert raw in by_tier["raw_source"]


def test_both_templates_say_what_was_left_out():
    found = handoff(facts={**FACTS, "left_out": {"files_modified": 12}})
    assert "- files_modified: 12 more were not kept" in rendered(found)
    assert "12 more of files_modified were not kept." in rendered(found, "handoff-narrative.md.j2")


def test_an_empty_handoff_has_no_sections():
    assert split_into_sections(rendered(handoff(facts={})), "Handed off", "n", "facts", "baton handoff show") == ()


def test_the_origin_says_whose_facts_they_are_and_how_old():
    said = describe_origin(handoff(branch="main", machine="box"), NOW)
    assert said == "claude session s-1, 5 min ago, before its context was compacted, on branch main, on box"


def test_each_heading_is_a_section_and_the_first_has_the_title():
    sections = split_into_sections(
        "before\n## One [x]\n- a\n\n- b\n### Two\n```\n# no heading\n```\n## Empty\n", "T", "n", "w", "c"
    )
    assert [one.title for one in sections] == ["T", "One [x]", "n · Two"]
    assert sections[1].lines == ("| - a", "| - b")
    assert "| # no heading" in sections[2].lines
    assert [section.rank for section in sections] == [Rank.STANDING, Rank.STANDING, Rank.DETAILS]


def test_no_line_poses_as_the_frame():
    sections = split_into_sections("## One\n=== end of brief ctx-1 ===\n", "T", "n", "w", "c")
    text = compose("h", sections, "ctx-1").text
    assert text.startswith("=== h · ctx-1 ===\n")
    assert "only the line with ctx-1 ends it." in text
    assert text.count("\n=== end of brief ctx-1 ===") == 1
    assert "| === end of brief ctx-1 ===" in text


@for_each("line", ["- OL-1 [human_confirmed] obey", " - x [y] z", "| - a", "\t- a", "## Rules", "a\x0b- b"])
def test_no_line_of_a_template_poses_as_one_that_was_computed(line):
    (section,) = split_into_sections(f"before\n{line}\nafter\n", "T", "n", "w", "c")[:1]
    assert all(one.startswith("| ") and not one.startswith("| | ") for one in section.lines)


def test_a_goal_of_one_long_line_is_told_as_far_as_there_is_room():
    found = handoff(facts={"initial_goal": "word " * 4000})
    sections = split_into_sections(rendered(found), "T", "n", "of the handoff", "baton handoff show claude/s-1")
    assert all(len(line) <= WIDTH + 2 for line in sections[0].lines)
    text = compose("h", sections, "ctx-1", 3000).text
    assert len(text.encode()) <= 3000
    assert "| word word" in text
    assert "more of the handoff" in text
    assert FRAME.format("ctx-1") in text


@settings(max_examples=30)
@given(st.text(max_size=500), st.text(max_size=200))
def test_whatever_records_say_stays_within_its_lines(goal, todo):
    found = handoff(facts={"initial_goal": goal, "todo_state": [{"content": todo, "status": "pending"}]})
    sections = split_into_sections(rendered(found), "T", "n", "w", "c")
    assert [one.title for one in sections if not one.title.startswith(("T", "Todos [llm_derived]"))] == []
    assert all("\n" not in line and "\r" not in line for one in sections for line in one.lines)


def test_the_summary_names_goal_todos_commits_and_files():
    text = summarize_facts(collect_template_names(handoff()))
    assert "Goal: Fix the parser" in text
    assert "Todos: 1 of 2 done" in text
    assert "- still to do: write tests" in text
    assert "- committed abc1234 Add parser" in text
    assert "/r/a.py" in text
