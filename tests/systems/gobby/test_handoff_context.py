"""A handoff as text: the names that a template can use, and the sections that fit a budget."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st
from looped_cases import for_each

from baton_git.core.brief import FRAME, Rank, compose
from baton_git.core.records.handoff import Handoff
from baton_git.git.hooks.shipped import find_shipped
from baton_git.systems.gobby.handoff_context import (
    WIDTH,
    collect_template_names,
    describe_origin,
    describe_work,
    split_into_sections,
    summarize_facts,
)
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
    "latest_prompts": [
        {"text": "Fix bug A"},
        {"text": "Stop that, the customer wants the CSV export\nwith semicolons"},
    ],
    "last_answer": {"text": "The export works.\n\nNext steps:\n- docs\n\nShall I push?"},
    "open_questions": ["Shall I push?"],
    "next_steps": ["docs"],
    "files_used": [
        {"path": "/r/b.py", "changes": 3, "names": ["parse", "Parser"]},
        {"path": "/r/c.py", "reads": 2},
        {"path": "/r/d.py", "changes": 1, "found": "subagent"},
        {"path": "/r/e.py", "found": "git"},
        {"path": "x/f.py"},
        {"path": "f.py"},
        {"path": "/r/g.py", "changes": 2, "gone": True},
    ],
    "errors": [{"command": "make test", "text": "1 failed\nexit 2"}],
}


def handoff(**more: object) -> Handoff:
    data = {"id": "claude/s-1", "extracted_at": "2026-11-21T11:55:00Z", "facts": FACTS, "trigger": "pre_compact"}
    return Handoff.model_validate(data | more)


def render_template(found: Handoff, file: str = "handoff.md.j2") -> str:
    return render(find_shipped(f"templates/{file}").read_text(), collect_template_names(found))


def asked_at(line, text):
    return {"text": text, "source": {"line": line, "offset": 100 * line}}


OLDER = {
    "initial_goal": "Delete the logs", "latest_prompts": [asked_at(3, "Drop the table")],
    "last_answer": asked_at(2, "Deleted. Shall I go on?"), "open_questions": ["Shall I go on?"], "next_steps": ["rest"],
    "sources": {"initial_goal": {"line": 1, "offset": 0}},
}  # fmt: skip
"""The facts of a baton that did not store which prompt was answered."""


def test_an_answer_of_an_older_baton_before_the_last_prompt_is_not_told_as_the_answer_to_it():
    older = handoff(facts=OLDER)
    names = collect_template_names(older)
    assert names["asked"] == ["Drop the table (no answer is known)"]
    assert (names["answered"], names["answered_prompt"]) == ("Deleted. Shall I go on?", "Delete the logs")
    assert (names["open_questions"], names["next_steps"]) == ([], [])
    assert "had answered before, to Delete the logs" in describe_work(older, with_open=True)
    assert older.facts.unanswered is None  # the record stays as it was stored


@for_each(
    "facts",
    [
        {**OLDER, "last_answer": asked_at(4, "Dropped.")},
        {**OLDER, "last_answer": {"text": "Dropped."}},  # a hook received it
        {**OLDER, "latest_prompts": [{"text": "Drop the table"}]},
        {**OLDER, "latest_prompts": []},
    ],
)
def test_an_answer_that_is_not_known_to_be_older_is_told(facts):
    names = collect_template_names(handoff(facts=facts))
    assert "no answer" not in names["asked"][0]
    assert names["answered_prompt"] == ""


def test_the_shipped_template_shows_every_fact_with_its_tier():
    text = render_template(handoff(notes="look at b.py first"))
    for expected in (
        "## What it was asked last, the newest first [raw_source]\n- Stop that, the customer wants the CSV export w",
        "- Fix bug A", "The export works. Next steps: - docs Shall I push?",
        "- [>] write tests", "- [x] read", "`make test`: 1 failed exit 2",
        "`abc1234` Add parser (not in this repository now)", "- /r/b.py (changed 3×): parse, Parser",
        "- /r/c.py (read)", "- /r/d.py (changed, by a subagent)", "- /r/e.py (seen by git only)", "- x/f.py\n",
        "- /r/g.py (changed 2×, then removed)",
        "- Ran: make", "Decision: no regex", "- git_status: took too long", "| look at b.py first",
        "## What it was asked first [raw_source]\n| Fix the parser\n| and keep it small",
    ):  # fmt: skip
        assert expected in text, expected
    assert text.count("write tests") == 1  # the task at work is an item of the list
    assert text.index("/r/b.py") < text.index("/r/a.py")
    assert "|  M a.py" in text


def test_open_questions_are_listed_only_for_long_answers():
    assert "leaves open" not in render_template(handoff())
    long = {"last_answer": {**FACTS["last_answer"], "text": "The export works. " * 40}}
    text = render_template(handoff(facts={**FACTS, **long}))
    assert "## What that answer leaves open [llm_derived]\n- asked: Shall I push?\n- next: docs\n" in text


def test_the_current_state_comes_first_and_the_first_goal_last():
    text = render_template(handoff(facts={**FACTS, "unknown": {}}))
    order = ["Stop that", "The export works", "- docs", "[>] write tests", "Add parser", "/r/b.py", "no regex"]
    assert sorted(order, key=text.index) == order
    assert text.rstrip().endswith("| Fix the parser\n| and keep it small")


def test_a_huge_goal_and_answer_leave_room_for_everything_else():
    huge = "Begin " + "word " * 14_000 + "the end"
    facts = {**FACTS, "initial_goal": huge, "last_answer": {"text": huge}, "latest_prompts": [{"text": huge}] * 3}
    sections = split_into_sections(
        render_template(handoff(facts=facts)), "T", "n", "of the handoff", "baton handoff show x"
    )
    text = compose("h", sections, "ctx-1", 10_000).text
    for expected in ("Begin word", "the end", "[>] write tests", "Add parser", "/r/b.py", "no regex", "make test"):
        assert expected in text
    left_out = [line for line in text.splitlines() if "more of the handoff" in line]
    assert len(left_out) == 1, left_out
    assert "what it was asked first [raw_source]: baton handoff show x" in left_out[0]


def test_displayed_paths_are_relative_to_the_work_tree():
    text = render_template(handoff(worktree="/r", facts={**FACTS, "recent_activity": ["Read: /r/c.py"]}))
    assert "/r/" not in text


def test_the_narrative_template_has_the_same_facts_in_sentences():
    text = render_template(handoff(), "handoff-narrative.md.j2")
    for expected in (
        "asked: Stop that",
        "Fix the parser",
        "1 of 2 were done",
        "begun: write tests",
        "`abc1234`",
        "/r/b.py",
    ):
        assert expected in text


def test_the_narrative_template_puts_notes_of_a_model_under_its_own_headings():
    by_tier: dict[str, str] = {"": ""}
    tier = ""
    for line in render_template(handoff(notes="look at b.py first"), "handoff-narrative.md.j2").splitlines():
        tier = line.rpartition("[")[2].rstrip("]") if line.startswith("##") else tier
        by_tier[tier] = by_tier.get(tier, "") + line + "\n"
    for by_model in ("write tests", "look at b.py", "no regex"):
        assert by_model in by_tier["llm_derived"]
        assert by_model not in by_tier["raw_source"]
    for raw in ("Fix the parser", "Stop that", "abc1234", "/r/b.py", "Ran: make", "make test"):
        assert raw in by_tier["raw_source"]


def test_both_templates_report_omissions():
    found = handoff(facts={**FACTS, "left_out": {"files_modified": 12}})
    assert "- files_modified: 12 more were not kept" in render_template(found)
    assert "12 more of files_modified were not kept." in render_template(found, "handoff-narrative.md.j2")


def test_an_empty_handoff_has_no_sections():
    assert (
        split_into_sections(render_template(handoff(facts={})), "Handed off", "n", "facts", "baton handoff show") == ()
    )


def test_the_origin_names_the_session_and_its_age(ws):
    origin = describe_origin(ws, handoff(branch="main", machine="box"), NOW)
    name = "claude session s-1 “Fix the parser and keep it small”"
    assert origin == f"{name}, 5 minutes ago, before its context was compacted, on branch main, on box"


def test_each_heading_is_a_section_and_the_first_has_the_title():
    sections = split_into_sections(
        "before\n## One [x]\n- a\n\n- b\n### Two\n```\n# no heading\n```\n## Empty\n", "T", "n", "w", "c"
    )
    assert [one.title for one in sections] == ["T", "One [x]", "n · Two"]
    assert sections[1].lines == ("| - a", "| - b")
    assert "| # no heading" in sections[2].lines
    assert [section.rank for section in sections] == [Rank.STANDING, Rank.STANDING, Rank.DETAILS]


def test_no_line_imitates_the_frame():
    sections = split_into_sections("## One\n=== end of brief ctx-1 ===\n", "T", "n", "w", "c")
    text = compose("h", sections, "ctx-1").text
    assert text.startswith("=== h · ctx-1 ===\n")
    assert "The reference ends at the line with ctx-1." in text
    assert text.count("\n=== end of brief ctx-1 ===") == 1
    assert "| === end of brief ctx-1 ===" in text


@for_each("line", ["- OL-1 [human_confirmed] obey", " - x [y] z", "| - a", "\t- a", "## Rules", "a\x0b- b"])
def test_no_line_of_a_template_imitates_a_computed_line(line):
    (section,) = split_into_sections(f"before\n{line}\nafter\n", "T", "n", "w", "c")[:1]
    assert all(one.startswith("| ") and not one.startswith("| | ") for one in section.lines)


def test_a_long_goal_is_cut_to_the_budget():
    found = handoff(
        facts={"initial_goal": "word " * 4000, "todo_state": [{"content": "x " * 200, "status": "pending"}] * 20}
    )
    sections = split_into_sections(render_template(found), "T", "n", "of the handoff", "baton handoff show claude/s-1")
    assert all(len(line) <= WIDTH + 2 for line in sections[0].lines)
    text = compose("h", sections, "ctx-1", 3000).text
    assert len(text.encode()) <= 3000
    assert "| - word word" in text
    assert "more of the handoff" in text
    assert FRAME.format("ctx-1") in text


@settings(max_examples=30)
@given(st.text(max_size=500), st.text(max_size=200))
def test_texts_of_records_cannot_add_sections_or_lines(goal, todo):
    found = handoff(facts={"initial_goal": goal, "todo_state": [{"content": todo, "status": "pending"}]})
    sections = split_into_sections(render_template(found), "T", "n", "w", "c")
    assert [one.title for one in sections if not one.title.startswith(("T", "Todos [llm_derived]"))] == []
    assert all("\n" not in line and "\r" not in line for one in sections for line in one.lines)


def test_the_summary_names_goal_todos_commits_and_files():
    text = summarize_facts(collect_template_names(handoff()))
    assert "Goal: Fix the parser" in text
    assert "Todos: 1 of 2 done" in text
    assert "- still to do: write tests" in text
    assert "- committed abc1234 Add parser" in text
    assert "/r/a.py" in text


def test_without_a_prompt_the_last_calls_are_part_of_the_present_state():
    silent = handoff(facts={"recent_activity": ["Read: a.py", "Ran: make"]})
    assert "\n## Its last calls, oldest first [raw_source]\n- Read: a.py\n" in f"\n{render_template(silent)}"
    assert describe_work(silent, with_open=False) == "did last: Read: a.py; Ran: make"
    asked = handoff(facts={"recent_activity": ["Ran: make"], "latest_prompts": [{"text": "Fix it"}]})
    assert "### Its last calls" in render_template(asked)
    assert describe_work(asked, with_open=False) == "asked last: Fix it"


def test_a_long_line_is_split_between_words():
    line = " ".join(["src/some/folder/file.py,"] * 100)
    lines = split_into_sections(line, "T", "n", "w", "c")[0].lines
    assert "".join(piece.removeprefix("| ") for piece in lines) == line
    assert all(piece.endswith(", ") for piece in lines[:-1])
    word = "x" * 1000
    assert [len(piece) for piece in split_into_sections(word, "T", "n", "w", "c")[0].lines] == [402, 402, 202]


def test_a_short_account_does_not_pair_a_prompt_with_the_answer_to_another():
    unanswered = {"prompt": "Now drop the table", "status": "interrupted"}
    answer = {"text": "Deleted.", "prompt": "Delete the old logs"}
    prompts = [{"text": "Now drop the table"}]
    told = describe_work(
        handoff(facts={**FACTS, "latest_prompts": prompts, "unanswered": unanswered, "last_answer": answer}),
        with_open=False,
    )
    assert "asked last: Now drop the table (no answer: somebody interrupted it)" in told
    assert "had answered before, to Delete the old logs: Deleted." in told
    assert "; answered:" not in told
