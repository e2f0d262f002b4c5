"""The pages of `baton help`, and the fields that `--json` selects."""

from __future__ import annotations

import re

import pytest
from click.shell_completion import ShellComplete
from command_tree import leaves
from looped_cases import for_each

from baton_git.core.errors import InvalidArgument
from baton_git.interfaces.cli import COMMANDS, SECTIONS
from baton_git.interfaces.cli import baton as root
from baton_git.interfaces.cli.field_selection import select_fields
from baton_git.interfaces.cli.machine.help import TOPICS

LISTED = {"revision": 1, "records": [{"id": "A", "at": {"by": "x"}}, {"id": "B", "why": "y"}], "notes": []}


def test_every_command_is_in_one_section_of_the_help():
    unlisted = {"dashboard", "record"}  # `baton` without a command shows the dashboard, and `show` a record
    assert sorted(name for names in SECTIONS.values() for name in names) == sorted(COMMANDS.keys() - unlisted)


@for_each("topic", TOPICS)
def test_a_topic_fits_80_columns(baton, topic):
    lines = baton("help", topic).out.splitlines()
    assert len(lines) > 5
    assert max(map(len, lines)) <= 80


@for_each("command", leaves(), ids=" ".join)
def test_the_help_of_a_command_lists_common_options_last_and_fits(baton, command):
    text = baton("help", *command).out
    own, _, common = text.partition("Options of every command:")
    assert not common or not re.search(r"^  (-h, --help|--json \[)", own, re.MULTILINE)
    assert text.count("  -h, --help") == 1
    assert all(len(line) <= 80 or not re.search(r"\s--\w", line[9:]) for line in text.splitlines())


def test_only_commands_that_can_write_something_new_offer_to_create_a_namespace(baton):
    for command in ("edit", "forget", "reopen", "undo", "redo", "loop verify", "todo done", "import discard"):
        assert "--create " not in baton("help", *command.split()).out
    assert "--create " in baton("help", "loop", "add").out


@for_each(
    ("fields", "answer"),
    [
        (["revision"], {"revision": 1}),
        (["id"], [{"id": "A"}, {"id": "B"}]),
        (["id", "at.by", "why"], [{"id": "A", "at.by": "x", "why": None}, {"id": "B", "at.by": None, "why": "y"}]),
        ([], LISTED),
    ],
)
def test_json_fields_select_from_a_result_or_its_items(fields, answer):
    assert select_fields(LISTED, fields) == answer


def test_an_error_names_an_unknown_field_and_the_existing_fields():
    with pytest.raises(InvalidArgument, match="no field 'colour'") as caught:
        select_fields(LISTED, ["id", "colour"])
    assert "revision, records, notes, id, at, why" in caught.value.hint
    assert select_fields({"records": []}, ["id"], ["id"]) == []
    with pytest.raises(InvalidArgument, match="no field 'colour'"):
        select_fields({"records": []}, ["id", "at", "why", "colour"], ["id", "at", "why"])
    with pytest.raises(InvalidArgument, match="revision, id are not all of the same object"):
        select_fields(LISTED, ["revision", "id"])


def test_json_takes_the_next_word_only_if_it_names_fields(baton, filled):
    assert {"id", "title"} == set(baton("list", "--json", "id,title").json[0])
    for words in (["--json=revision"], ["--json", "revision"]):
        assert set(baton("status", *words).json) == {"revision"}
    assert baton("list", "--json", "id", "--limit", "1").json == [{"id": "OL-1"}]
    assert {record["kind"] for record in baton("list", "--json", "loops").json["records"]} == {"open_loop"}
    before = baton("status", "--json=revision").json
    assert "no field 'colour'" in baton("followup", "add", "later", "--json=colour", code=2).err
    assert baton("status", "--json=revision").json == before


@for_each(
    ("line", "offered"),
    [
        ("baton followup done FU-", {"FU-1"}),
        ("baton loop close ", {"OL-1"}),
        ("baton status --namespace w", {"work"}),
        ("baton list open", {"open-loops"}),
        ("baton show 1", {"1"}),
        ("baton log --agent cl", {"claude"}),
        ("baton list decisions --status ", {"active", "monitoring", "superseded"}),
        ("baton edit FU-1 --priority e", {"elevated", "escalated"}),
        ("baton list --sort n", {"newest"}),
        ("baton log --since y", {"yesterday"}),
        ("baton followup add x --pattern PAT", {"PAT-1"}),
        ("baton record FU-", {"FU-1"}),
        ("baton record open", {"open-loops"}),
        ("baton record follow-up FU-", {"FU-1"}),
        ("baton help date", {"dates"}),
        ("baton help loop c", {"close"}),
    ],
)
def test_completion_offers_existing_values(filled, top, monkeypatch, line, offered):
    words = line.split(" ")
    monkeypatch.chdir(top)
    completed = ShellComplete(root, {}, "baton", "_BATON_COMPLETE").get_completions(words[1:-1], words[-1])
    assert {item.value for item in completed} >= offered
    assert all(item.value.startswith(words[-1]) for item in completed)


def test_outside_a_repository_baton_first_says_why_it_shows_its_help(baton, tmp_path):
    done = baton(code=2, cwd=tmp_path)
    assert done.err.startswith("This folder is in no git repository")


@pytest.mark.parametrize(("id_", "option"), [("OL-1abcde", "--action"), ("FU-1abcde", "--item")])
def test_an_edit_without_a_field_names_one_of_the_kind(baton, id_, option):
    assert f"for example {option} TEXT" in baton("edit", id_, code=2).err


def test_completion_creates_nothing(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert ShellComplete(root, {}, "baton", "_BATON_COMPLETE").get_completions(["loop", "close"], "") == []
    assert list(tmp_path.iterdir()) == []
