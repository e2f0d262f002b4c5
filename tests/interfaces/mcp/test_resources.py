"""The resources `baton://…` and the prompts."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest
from mcp_client import talk

from baton_git.interfaces.context.settings import CommonOptions

NAMESPACES = ["work", "project:x", "a/b", "..", "/etc", "名前", "é", "100%", "a b?c#d", "A", "a&b=c", "..\\x"]


def failure(uri, era="auto"):
    from mcp.shared.exceptions import MCPError

    async def read(client):
        with pytest.raises(MCPError) as error:
            await client.read_resource(uri)
        return error.value.error

    return talk(read, mode=era)


def test_resources_of_the_namespace_are_listed_and_readable(here, baton, era):
    baton("followup", "add", "Later", "--id", "FU-1")

    async def everything(client):
        listed = (await client.list_resources()).resources
        there = [one for one in listed if one.name != "handoff"]
        return {one.name: (one, (await client.read_resource(one.uri)).contents[0]) for one in there}

    found = talk(everything, mode=era)
    assert found.keys() == {"brief", "state", "log", "rules"}
    assert {name: one.uri for name, (one, _) in found.items()} == {name: f"baton://{name}/work" for name in found}
    for one, content in found.values():
        assert content.mime_type == one.mime_type
        assert one.description
    assert json.loads(found["state"][1].text)["baton"]["follow_ups"][0]["id"] == "FU-1"
    assert "FU-1" in found["brief"][1].text
    assert json.loads(found["log"][1].text)["commits"][0]["changes"][0]["id"] == "FU-1"
    assert found["rules"][1].text == "There are no rules yet."


def test_reading_the_brief_begins_no_session(here, read, git, top):
    before = git(top, "rev-parse", "baton/work")
    assert "baton work · revision 0 · nothing recorded yet" in read("baton://brief/work")
    assert git(top, "rev-parse", "baton/work") == before


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_resources_exist_for_a_namespace_of_any_name(here, read, baton, namespace):
    baton("followup", "add", f"Later in {namespace}", "--id", "FU-1", "--namespace", namespace, "--create")
    encoded = quote(namespace, safe="")
    state = json.loads(read(f"baton://state/{encoded}"))
    assert state["namespace"] == namespace
    assert state["baton"]["follow_ups"][0]["item"] == f"Later in {namespace}"
    assert json.loads(read(f"baton://record/{encoded}/follow_up/FU-1"))["item"] == f"Later in {namespace}"
    listed = talk(lambda client: client.list_resources(), asked=CommonOptions(namespace=namespace)).resources
    assert f"baton://state/{encoded}" in [one.uri for one in listed]


def test_a_record_is_read_live_and_archived(here, read, baton):
    baton("loop", "add", "Did", "--expect", "it", "--id", "OL/1?ü")
    uri = f"baton://record/work/open_loop/{quote('OL/1?ü', safe='')}"
    assert json.loads(read(uri))["action"] == "Did"
    baton("loop", "close", "OL/1?ü", "--reason", "gone")
    archived = json.loads(read(uri))
    assert (archived["reason"], archived["record"]["action"]) == ("gone", "Did")


def test_the_rules_are_read(here, read, baton):
    baton("pattern", "record", "Assumed", "--id", "PAT-1")
    baton("pattern", "propose", "PAT-1", "--rule", "Look first")
    assert read("baton://rules") == read("baton://rules/work") == "There are no rules yet."

    async def person(*_):
        from mcp.types import ElicitResult

        return ElicitResult(action="accept", content={"text": "PAT-1"})

    talk(lambda client: client.call_tool("pattern_graduate", {"id": "PAT-1"}), elicitation_callback=person)
    assert "Look first" in read("baton://rules")


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("baton://nonsense", "there is no resource baton://nonsense"),
        ("baton://state/a/b", "there is no resource baton://state/a/b"),
        ("baton://record/work/open_loop/OL-1", "there is no open loop 'OL-1'"),
        ("baton://record/work/nonsense/OL-1", "there is no kind of record 'nonsense'; the kinds are open-loops"),
        ("baton://handoff/work", "there is no handoff of this work tree"),
        (f"baton://state/{300 * 'x'}", "namespace"),
    ],
)
def test_missing_resources_are_reported_in_one_line(here, era, uri, expected):
    error = failure(uri, era)
    assert expected in error.message
    assert "\n" not in error.message
    assert error.code == -32602


def test_a_bug_while_reading_is_reported_as_a_bug(here, monkeypatch, tmp_path):
    def broken(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr("baton_git.interfaces.mcp.resources.compose_brief", broken)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert "a bug in baton itself: ZeroDivisionError" in failure("baton://brief/work").message


def test_a_namespace_that_does_not_exist_has_no_state(here):
    assert "there is no namespace 'nobody'" in failure("baton://state/nobody").message


def test_the_prompts_describe_how_to_begin_and_end(here, era):
    async def both(client):
        names = [one.name for one in (await client.list_prompts()).prompts]
        return {name: (await client.get_prompt(name)).messages[0] for name in names}

    found = talk(both, mode=era)
    assert found.keys() == {"start", "wrap_up"}
    tools = {one.name for one in talk(lambda client: client.list_tools()).tools}
    named = {"start": ("boot", "loop_verify", "pattern_graduate"), "wrap_up": ("wrap", "loop_add", "log")}
    for name, words in named.items():
        assert found[name].role == "user"
        for word in words:
            assert word in tools
            assert word in found[name].content.text


def test_an_unknown_prompt_is_reported(here, era):
    from mcp.shared.exceptions import MCPError

    async def ask(client):
        with pytest.raises(MCPError) as error:
            await client.get_prompt("nonsense")
        return error.value.error

    assert "nonsense" in talk(ask, mode=era).message
