"""Extract prompts and answers, the files used most, and unresolved failures from a transcript."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from transcript_sessions import HERE, Claude, lines

from baton_git.agents.events import BEGINNING, ToolResult
from baton_git.agents.extraction.extracting import Extraction, add_final_answer, extract
from baton_git.agents.extraction.findings import find_file_names, find_names, name_command
from baton_git.agents.extraction.shell import find_removals
from baton_git.agents.registry import AGENTS


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
        ("bash -lc 'cd x && make test'", "make test"), ('git commit -m "a && b; c"', "git commit"),
        ("P=$(go env ROOT)/x && grep -A 3 'func (c | d) e' *.go", None), ('go "test"', "go test"),
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


REFUSAL = "The user doesn't want to proceed with this tool use. The tool use was rejected."


def test_a_refused_call_is_told_as_refused_and_changes_no_file(read: Any) -> None:
    session = Claude("2.1")
    session.user("Fix it")
    session.run("Edit", {"file_path": f"{HERE}/login.py", "old_string": "x", "new_string": "y"}, REFUSAL, failed=True)
    session.run("Bash", {"command": "rm -r build"}, REFUSAL, failed=True)
    session.run("Read", {"file_path": f"{HERE}/a.py"}, "1 x")
    facts = read(session).facts
    assert facts["recent_activity"] == [
        f"Refused: Edit {HERE}/login.py",
        "Refused: run rm -r build",
        f"Read: {HERE}/a.py",
    ]
    assert facts["files_modified"] == []
    assert [use["path"] for use in facts["files_used"] if use.get("changes")] == []


@pytest.mark.parametrize(
    ("agent", "name", "text"),
    [("codex", "apply_patch", "patch rejected by user"), ("codex", "exec_command", "exec command rejected by user"),
     ("gemini", "replace", "[Operation Cancelled] Reason: User did not allow tool call"),
     ("gemini", "run_shell_command", "User cancelled the operation.")],
)  # fmt: skip
def test_each_agent_says_in_its_own_words_that_a_call_was_refused(agent: str, name: str, text: str) -> None:
    read_result = AGENTS[agent].transcript.read_result
    result = ToolResult(BEGINNING, None, "1", text, failed=True)
    assert read_result(name, result).refused
    assert not read_result(name, result._replace(text="rejected by user approval settings")).refused


def test_earlier_prompts_say_that_they_got_no_answer(read: Any) -> None:
    session = Claude("2.1")
    for text, ending in (("one", ""), ("two", "stop"), ("three", "block"), ("four", "lost"), ("five", "done")):
        session.user(text)
        if ending == "stop":
            session.user("[Request interrupted by user]")
        elif ending == "block":
            session.user("Operation stopped by hook: another session is active\nPress the up arrow key")
        elif ending != "lost":
            session.say(f"answer to {text}")
    facts = read(session).facts
    told = [(prompt["text"], prompt.get("status")) for prompt in facts["latest_prompts"]]
    assert told == [("two", "interrupted"), ("three", "failed"), ("four", "ended"), ("five", None)]
    assert read(session).turns[2].reason.startswith("Operation stopped by hook: another session")
    session.user("Operation stopped by hook: why?", promptSource="typed")
    assert read(session).facts["latest_prompts"][-1]["text"] == "Operation stopped by hook: why?"


def test_a_listing_of_any_tool_names_no_file_of_the_session(read: Any) -> None:
    listed = "src/all.py\nsrc/there.py\nsrc/is.py"
    for name, given in (
        ("Bash", {"command": "cd src && ls -R"}), ("Bash", {"command": "git ls-files"}), ("Glob", {"pattern": "**"}),
    ):  # fmt: skip
        session = Claude("2.1")
        session.user("Look at is.py")
        session.run(name, given, listed)
        assert [use["path"] for use in read(session).facts["files_used"]] == ["is.py"]


def test_a_file_that_the_session_removed_is_marked_until_it_is_written_again(read: Any) -> None:
    session = Claude("2.1")
    session.user("Tidy up")
    for name in ("a.py", "b.py", "c.py", "d.py"):
        session.run("Read", {"file_path": f"{HERE}/{name}"}, "x")
    session.run("Bash", {"command": "rm a.py && git mv b.py e.py; git rm --cached c.py"}, "")
    session.run("Bash", {"command": "rm d.py"}, "no", failed=True)
    assert list_gone(read(session)) == ["a.py", "b.py"]
    session.run("Write", {"file_path": f"{HERE}/a.py", "content": "x"}, "ok")
    assert list_gone(read(session)) == ["b.py"]
    session.run("Bash", {"command": "git checkout b.py"}, "")
    assert list_gone(read(session)) == []


def test_names_that_a_later_change_took_out_again_are_not_listed_with_the_file(read: Any) -> None:
    session = Claude("2.1")
    session.user("Find out why it is slow")
    edit = {"file_path": f"{HERE}/a.py", "old_string": "start_it()", "new_string": "print_debug()\nstart_it()"}
    session.run("Edit", edit, "ok")
    session.run(
        "Edit", {**edit, "old_string": "print_debug()\nstart_it()", "new_string": "start_fast()"}, "no", failed=True
    )
    assert read(session).facts["files_used"][0]["names"] == ["print_debug", "start_it"]
    session.run("Edit", {**edit, "old_string": "print_debug()\nstart_it()", "new_string": "start_it()"}, "ok")
    assert read(session).facts["files_used"][0]["names"] == ["start_it"]


def list_gone(found: Extraction) -> list[str]:
    return sorted(use["path"].removeprefix(f"{HERE}/") for use in found.facts["files_used"] if use.get("gone"))


@pytest.mark.parametrize(
    ("line", "paths"),
    [
        ("rm -f x y/z", ("/r/x", "/r/y/z")),
        ("cd a && unlink x", ("/r/a/x",)),
        ("mv x y", ("/r/x",)),
        ("mv x z y", ()),
        ("rm $X *.py a?", ()),
        ("rm x || true", ()),
        ("if ok; then rm x; fi", ()),
        ("rm x; make > x", ()),
        ("git rm x && git commit -m 'Remove x'", ("/r/x",)),
        ("echo 'rm x'", ()),
    ],
)
def test_only_what_a_command_certainly_removed_is_gone(line: str, paths: tuple[str, ...]) -> None:
    assert find_removals(line, "/r").paths == paths


def test_a_file_that_a_search_did_not_find_is_no_file_of_the_session(read: Any) -> None:
    session = Claude("2.1")
    session.user("Look at the linter")
    session.run(
        "Grep", {"pattern": "x", "path": f"{HERE}/lint.yml"}, f"Path does not exist: {HERE}/lint.yml", failed=True
    )
    session.run("Bash", {"command": "make"}, "a.py:3: error", failed=True)
    assert [use["path"] for use in read(session).facts["files_used"]] == ["a.py"]


def test_paths_that_a_shell_completes_are_no_files() -> None:
    text = 'cat $D/a.go "${D}"/b.go $(go env GOMODCACHE)/x/c.go "$D/d.go" ~/e.go "/f/g.go" `${here}/h.ts` i.py'
    assert find_file_names(text) == ["~/e.go", "/f/g.go", "i.py"]


@pytest.mark.parametrize("escape", ["\x1b", "\x9b", ""])
def test_colours_links_and_progress_bars_are_in_no_fact(read: Any, escape: str) -> None:
    sign = {"\x1b": "\x1b[", "\x9b": "\x9b", "": "["}[escape]
    session = Claude("2.1")
    session.user(f"Why {sign}33mwarning{sign}0m in rate(x[5m])?")
    output = f"10%\r50%\r{sign}1;31merror{sign}0m in {sign}33msrc/a.py{sign}39m:3\r\n\x1b]8;;file:///x\x1b\\open\x1b]8;;\x1b\\"
    session.run("Bash", {"command": "make all"}, output, failed=True)
    session.say(f"It {sign}32mfailed{sign}0m.")
    extraction = read(session)
    facts = extraction.facts
    assert facts["initial_goal"] == "Why warning in rate(x[5m])?"
    assert facts["last_answer"]["text"] == extraction.turns[0].answer == "It failed."
    assert facts["errors"][0]["text"] == "error in src/a.py:3\r\nopen"
    assert [use["path"] for use in facts["files_used"]] == ["src/a.py"]


@pytest.mark.parametrize(
    ("end", "is_kept"),
    [
        ("git commit -am merged", False),
        ("git merge --continue", False),
        ("git -C x rebase --abort", False),
        ("git log", True),
    ],
)
def test_a_merge_that_was_brought_to_its_end_is_no_failure(read: Any, end: str, is_kept: bool) -> None:
    session = Claude("2.1")
    session.user("Merge")
    conflict = (
        "CONFLICT (content): Merge conflict in a.go\nAutomatic merge failed; fix conflicts and then commit the result."
    )
    session.run("Bash", {"command": "git fetch && git merge origin/main"}, conflict, failed=True)
    session.run("Bash", {"command": end}, "ok")
    assert ("errors" in read(session).facts) is is_kept
