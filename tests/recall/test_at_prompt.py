"""Recall at the prompt: when it speaks, what it quotes, and that nothing is told twice."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton_git.agents.turn_store import SessionTurns, Turn, TurnStore, turns_folder
from baton_git.recall.at_prompt import BUDGET, Asked, recall_for_prompt
from baton_git.recall.index import RecallIndex
from baton_git.recall.passages import Passage, split_turns
from baton_git.recall.turn_sources import TURNS, list_files, put_changed

OLDER, LAST, ELSEWHERE = (f"{digit}c9f4c2e-0000-4000-8000-000000000001" for digit in "123")
BRANCH = "refunds"
Ask = Callable[..., str]

PARTIAL = (
    "Refund single items.",
    "I write `refund_item` entries to the ledger now. Partial refunds keep their tax rate.",
)
LIMIT = ("And the limit?", "Refunds above 500 euros wait for a second signature, in `approve_refund`.")
TIDES = ("Read the tides.", "The tide reader asks the harbour office each hour, and keeps 14 days of heights.")


def keep(top: Path, session: str, *texts: tuple[str, str], branch: str = BRANCH, day: int = 1, **turn: str) -> None:
    """Store the turns of a session: prompts with their answers."""
    time = f"2026-11-{day:02}T10:00:00Z"
    turns = tuple(Turn(number, time, *text, number, 0, **turn) for number, text in enumerate(texts, 1))
    TurnStore(turns_folder(top)).save(SessionTurns("claude", session, time, None, branch, "x", turns))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a common directory with sessions: two of a branch, and one of another branch."""
    keep(tmp_path, OLDER, PARTIAL, day=1)
    keep(tmp_path, LAST, LIMIT, day=3)
    keep(tmp_path, ELSEWHERE, TIDES, day=9, branch="tides")
    keep(
        tmp_path,
        "on-main",
        ("Which Python?", "Python 3.12 in the image, and 3.11 at the kiosks, until spring."),
        branch="main",
    )
    return tmp_path


@pytest.fixture
def ask(place: Path) -> Ask:
    def call(prompt: str, *told: str, branch: str = BRANCH, session: str = "now", **more: Any) -> str:
        asked = Asked(prompt, "x", session, branch, told, more.pop("is_first", True), more.pop("vouch", lambda _: ""))
        return recall_for_prompt(place, asked, "ctx-1")

    return call


@pytest.mark.parametrize(
    "prompt",
    [
        "continue",
        "fix the tests",
        "Continue with the vouchers",
        "mise run lint fails",
        "Let's respond to the PR comments",
    ],
)
def test_a_prompt_that_says_little_gets_the_end_of_the_last_session_of_its_branch(ask: Ask, prompt: str) -> None:
    text = ask(prompt)
    assert f"## {LAST[:8]} claude 2026-11-03 [agent]\n> user: And the limit?\n> agent: Refunds above 500" in text
    assert [name for name in (OLDER, ELSEWHERE) if name[:8] in text] == []
    assert len(text.encode()) <= BUDGET
    assert ask(prompt, branch="main") == ask(prompt, branch="") == ask(prompt, branch="unknown") == ""
    assert ask(prompt, is_first=False) == ""


def test_of_what_was_told_nothing_is_told_again_but_what_is_before_it(ask: Ask) -> None:
    brief = f"## Handed off by claude session {LAST[:8]}\n| {LIMIT[0]}\n## What it answered last\n| {LIMIT[1]}"
    text = ask("continue", brief)
    assert f"## {OLDER[:8]}" in text
    assert "approve_refund" not in text
    assert ask("continue", brief, text) == ""
    assert ask(f"continue; {LIMIT[1]} {PARTIAL[1]}") == ""  # the person knows it


def test_a_prompt_is_answered_from_the_sessions_of_its_branch_that_match(ask: Ask) -> None:
    text = ask("Does the ledger keep the tax rate of partial refunds of items?")
    assert "Partial refunds keep their tax rate." in text
    assert "harbour" not in text


@pytest.mark.parametrize(
    "prompt",
    ["write a haiku about the sea", "add dark mode to the settings screen", "hi", "Set up Kubernetes with Terraform"],
)
def test_an_unrelated_prompt_gets_nothing(ask: Ask, prompt: str) -> None:
    assert ask(prompt) == ask(prompt, branch="main") == ""


def test_a_clear_match_is_quoted_on_every_branch_and_at_every_prompt(ask: Ask) -> None:
    clear = "How many days of heights does the tide reader keep?"
    for more in ({"branch": "main"}, {"is_first": False}, {}):
        assert "keeps 14 days of heights" in ask(clear, **more)
    assert ask("The harbour of the booking page needs heights in feet for old ships", branch="main") == ""


def test_a_session_gets_nothing_of_its_own_and_nothing_of_removed_turns(ask: Ask, place: Path) -> None:
    assert LAST[:8] not in ask("continue", session=LAST)
    assert LAST[:8] in ask("continue")
    TurnStore(turns_folder(place)).delete("claude", LAST)
    assert LAST[:8] not in ask("continue")


def test_turns_of_another_namespace_are_not_quoted(ask: Ask, place: Path) -> None:
    turns = TurnStore(turns_folder(place)).load("claude", LAST)
    assert turns is not None
    TurnStore(turns_folder(place)).save(turns._replace(namespace="y"))
    assert LAST[:8] not in ask("continue")


def test_sessions_of_other_machines_are_quoted_only_if_somebody_here_vouches_for_them(ask: Ask, place: Path) -> None:
    there = "5c9f4c2e-0000-4000-8000-000000000001"
    said = "user: Ship it.\n\nagent: Refunds were shipped with version 7, but for gift cards, which wait."
    shared = Passage(
        said, "turn", "x", there, "claude", "2026-11-20T10:00:00Z", "1", "turns/there", "b", "c" * 40, BRANCH
    )  # fmt: skip
    record = shared._replace(kind="active_decision", path="decisions/1", record="1")
    with RecallIndex.open(place / "baton" / "recall") as index, index.changing():
        index.put_source("records of x", "turns", "b", [shared])
    assert there[:8] not in ask("continue")
    assert f"## {there[:8]} claude 2026-11-20 [from origin]" in ask("continue", vouch=lambda passage: "from origin")
    with RecallIndex.open(place / "baton" / "recall") as index, index.changing():
        index.put_source("records of x", "decision", "b", [record])
    assert "decision" not in ask("continue", vouch=lambda passage: "confirmed")


@pytest.mark.parametrize(
    ("status", "asked", "said"),
    [
        ("interrupted", "(interrupted)", "(interrupted)"), ("failed", "(failed)", "(failed)"),
        ("ended", "(not answered)", "(unfinished)"),
    ],
)  # fmt: skip
def test_a_quote_says_that_its_turn_was_interrupted_or_failed(
    ask: Ask, place: Path, status: str, asked: str, said: str
) -> None:
    keep(
        place,
        LAST,
        ("Drop the limit.", "I begin with `approve_refund`. " + "It has callers. " * 60),
        day=3,
        status=status,
    )
    quoted = [line for line in ask("continue").splitlines() if line.startswith("> ")]
    assert quoted[0].startswith(f"> user {asked}: Drop the limit.") or quoted[0].startswith(f"> agent {said}: ")
    (session,) = [TurnStore(turns_folder(place)).load("claude", LAST)]
    assert session is not None
    passages = [passage.text for passage in split_turns(session)]
    assert passages[0].startswith(f"user {asked}: Drop the limit.\n\nagent {said}: I begin")
    assert {text.startswith(f"agent {said}: ") for text in passages[1:]} == {True}


def test_new_turns_are_indexed_newest_first_within_a_limit(place: Path) -> None:
    folder = turns_folder(place)
    marks = {name: f"{100} {at}" for at, (name, _) in enumerate(sorted(list_files(folder)))}
    with RecallIndex.open(place / "baton" / "recall") as index, index.changing():
        assert not put_changed(index, folder, marks, most=350)
        assert sorted(index.source_marks(TURNS)) == sorted(marks)[1:]
        assert put_changed(index, folder, marks)


def test_another_process_that_updates_the_index_is_not_waited_for(ask: Ask, place: Path) -> None:
    ask("continue")
    keep(place, "new", ("Round it.", "Totals are rounded half up, as the tax office wants it in its letter."), day=20)
    with RecallIndex.open(place / "baton" / "recall") as index, index.changing():
        assert f"## {LAST[:8]}" in ask("continue")
    assert "## new " in ask("continue")


WORDS = st.lists(st.sampled_from(["the", "ledger", "keeps", "each", "refund", "tax"]), min_size=1, max_size=30)


@given(st.lists(WORDS, min_size=1, max_size=6), st.data())
def test_no_sentence_is_told_that_was_told(tmp_path_factory: pytest.TempPathFactory, texts: Any, data: Any) -> None:
    place = tmp_path_factory.mktemp("law")
    turns = [("Go on", f"{' '.join(words)} {number}.") for number, words in enumerate(texts)]
    keep(place, LAST, *turns)
    told = data.draw(st.lists(st.sampled_from([answer for _, answer in turns]), unique=True))
    text = recall_for_prompt(place, Asked("continue", "x", "now", BRANCH, told, True, lambda _: ""), "ctx-1")
    flat = " ".join(re.sub(r"\W+", " ", text.lower()).split())
    for answer in told:
        words = re.findall(r"\w+", answer.lower())
        assert len(words) < 5 or f" {' '.join(words)} " not in f" {flat} "
