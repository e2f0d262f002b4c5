"""Extract prompts and answers, the files used most, and unresolved failures from a transcript."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from transcript_sessions import HERE, Claude, lines

from baton_git.agents.extraction import Extraction, extract
from baton_git.agents.extraction.extracting import add_final_answer
from baton_git.agents.extraction.file_uses import find_file_names, find_names
from baton_git.agents.extraction.findings import name_command


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def reading(session: Claude, **more: Any) -> Extraction:
        path = tmp_path / "session.jsonl"
        path.write_bytes(lines(session.records))
        return extract(path, folder=Path(HERE), **more)

    return reading


def make_pivot() -> Claude:
    session = Claude("2.1")
    session.user("Fix bug A")
    session.say("Looking.")
    session.say("Bug A is in a.py.")
    session.user("Stop that, the customer wants the CSV export with semicolons")
    session.say("Done.\n\nNext steps:\n- docs\n\nShall I push?")
    return session


def test_the_latest_prompt_and_the_last_answer_are_facts(read: Any) -> None:
    facts = read(make_pivot()).facts
    assert facts["initial_goal"] == "Fix bug A"
    assert [prompt["text"] for prompt in facts["latest_prompts"]] == [
        "Stop that, the customer wants the CSV export with semicolons"
    ]
    assert facts["last_answer"]["text"].startswith("Done.")
    assert facts["last_answer"]["source"]["line"] == 5
    assert facts["open_questions"] == ["Shall I push?"]
    assert facts["next_steps"] == ["docs"]


def test_a_turn_is_a_prompt_with_its_last_answer(read: Any) -> None:
    first, second = read(make_pivot()).turns
    assert (first.number, first.prompt, first.answer, first.line) == (1, "Fix bug A", "Bug A is in a.py.", 1)
    assert second.number == 2
    assert second.answer.endswith("Shall I push?")


def test_reading_in_pieces_gives_the_same_turns(read: Any, tmp_path: Path) -> None:
    whole = make_pivot()
    piece, memory = Claude("2.1"), tmp_path / "memory"
    for record in whole.records:
        piece.records.append(record)
        pieced = read(piece, memory=memory)
    assert pieced.turns == read(whole).turns
    assert pieced.facts == read(whole).facts


def test_the_answer_in_a_hook_event_counts_before_the_transcript_has_it(read: Any) -> None:
    session = make_pivot()
    session.user("And the header?")
    extraction = add_final_answer(read(session), "Kept. Is that right?")
    assert extraction.facts["last_answer"] == {"text": "Kept. Is that right?"}
    assert extraction.facts["open_questions"] == ["Is that right?"]
    assert "next_steps" not in extraction.facts
    assert extraction.turns[-1].answer == "Kept. Is that right?"
    session.say("Kept. Is that right?")
    complete = read(session)
    assert add_final_answer(complete, "Kept. Is that right?\n") is complete
    assert add_final_answer(complete, "") is complete


def test_files_used_often_and_recently_come_first(read: Any) -> None:
    session = Claude("2.1")
    session.user("Refactor")
    session.run("Read", {"file_path": f"{HERE}/old.py"}, "text")
    for _ in range(3):
        edit = {"file_path": f"{HERE}/main.py", "old_string": "x", "new_string": "class Shop:\n    def sell(self):"}
        session.run("Edit", edit, "ok")
    session.run("Edit", {"file_path": f"{HERE}/refused.py", "old_string": "x", "new_string": "y"}, "no", failed=True)
    session.run("Bash", {"command": "pytest test_shop.py"}, "lib/price.py:3: AssertionError in main.py")
    uses = read(session).facts["files_used"]
    assert [use["path"] for use in uses] == [f"{HERE}/main.py", f"{HERE}/old.py", "test_shop.py"]
    assert uses[0] == {"path": f"{HERE}/main.py", "changes": 3, "names": ["Shop", "sell"]}
    assert uses[1] == {"path": f"{HERE}/old.py", "reads": 1}


def test_a_failure_without_a_later_success_of_the_command_is_kept(read: Any) -> None:
    session = Claude("2.1")
    session.user("Test it")
    session.run("Bash", {"command": "cd x && go test ./..."}, "FAIL: TestA", failed=True)
    session.run("Bash", {"command": "npm run lint"}, "3 errors", failed=True)
    session.run("Bash", {"command": "go test ./... -run TestA"}, "ok")
    session.run("Bash", {"command": "grep nothing a.py"}, "", failed=True)
    session.run("Bash", {"command": "rm -r x"}, "The user doesn't want to proceed with this tool use.", failed=True)
    assert [(error["command"], error["text"]) for error in read(session).facts["errors"]] == [
        ("npm run lint", "3 errors")
    ]


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("cd a && FOO=1 go test ./...", "go test"), ("git commit -m x", "git commit"), ("git status", None),
        ("ls", None), ("sudo make -j2 all", "make all"), ("./run.sh | tail -3", "./run.sh"), ("", None),
    ],
)  # fmt: skip
def test_a_command_is_named_by_what_it_runs(command: str, name: str | None) -> None:
    assert name_command(command) == name


def test_files_are_found_in_texts_by_their_endings() -> None:
    text = "cli/reset.go:12:3 see ./a/b.test.ts, README.md and http://x.y/z.html; os.path fmt.Println v1.2.3 (main.py)"
    assert find_file_names(text) == ["cli/reset.go", "./a/b.test.ts", "README.md", "main.py"]
    assert find_file_names("diff --git a/lib/csv.py b/lib/csv.py\n--- a/lib/csv.py") == ["lib/csv.py"]


def test_files_that_were_only_named_come_after_used_files(read: Any) -> None:
    session = Claude("2.1")
    session.user("See docs/export.md and shop/main.py")
    session.run("Edit", {"file_path": f"{HERE}/shop/main.py", "old_string": "x", "new_string": "y"}, "ok")
    session.run("Bash", {"command": "make"}, "lib/csv.py:1: error", failed=True)
    paths = [use["path"] for use in read(session).facts["files_used"]]
    assert paths == [f"{HERE}/shop/main.py", "lib/csv.py", "shop/main.py", "docs/export.md"]


def test_files_that_only_an_output_lists_were_not_worked_with(read: Any) -> None:
    session = Claude("2.1")
    session.user("Which files parse carts?")
    session.run("Grep", {"pattern": "parse_cart"}, "shop/cart.py\nshop/order.py\nshop/report.py")
    listed = "\n".join(f"FAIL tests/test_{number}.py" for number in range(9))
    session.run("Bash", {"command": "pytest"}, listed, failed=True)
    session.say("It is in `order.py`.")
    assert [use["path"] for use in read(session).facts["files_used"]] == ["shop/order.py"]


def test_a_file_that_was_changed_often_has_more_names(read: Any) -> None:
    session = Claude("2.1")
    session.user("Refactor")
    for number in range(40):
        edit = {"file_path": f"{HERE}/main.py", "old_string": "x", "new_string": f"def step_{number}(): ..."}
        session.run("Edit", edit, "ok")
        if number in (0, 5):
            uses = read(session).facts["files_used"]
            assert len(uses[0]["names"]) == number + 1
    names = read(session).facts["files_used"][0]["names"]
    assert names == [f"step_{number}" for number in range(39, 7, -1)]


def test_names_are_definitions_and_frequent_words_of_several_parts() -> None:
    code = "def a(): ...\nasync def b(): ...\nfunc (s *Store) Get() {}\nexport class D {}\npub fn e() {}\nx = 1\n"
    assert find_names(code) == ["a", "b", "Get", "D", "e"]
    assert find_names("x = to_csv(rowItem)\ny = to_csv(HTTPServer)") == ["to_csv", "rowItem", "HTTPServer"]
