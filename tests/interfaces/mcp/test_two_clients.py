"""Two clients at the same time: each acts for the session that it began."""

from __future__ import annotations

import asyncio

import pytest

from baton_git.agents.hook_events.hook_session import HookSession, HookSessionStore
from baton_git.interfaces.cli.app import App
from baton_git.interfaces.context.settings import CommonOptions, Settings

CALLS = {
    "followup_add": {"item": "x"},
    "handover_step": {"run": "R-1", "challenge": "Mend it", "uri": "kairos://x/1"},
}


def use_two_clients(use, *, era="auto", over_http=False):
    """Return the result of `use` for two clients, with a server for each, or with one HTTP server for both."""
    from mcp.client import Client

    from baton_git.interfaces.mcp.server import make_mcp_server

    def make_server():
        return make_mcp_server(App(Settings(CommonOptions()), False), over_http=over_http)

    async def connect():
        first = make_server()
        second = first if over_http else make_server()
        async with Client(first, mode=era) as one, Client(second, mode=era) as two:
            return await use(one, two)

    return asyncio.run(connect())


async def begin(client, **arguments):
    return (await client.call_tool("boot", arguments)).structured_content["session"]


def sessions(baton, count):
    """Return the sessions of the newest commits, oldest first."""
    return [one["session"] for one in reversed(baton("log", "--limit", str(count), "--json").json["commits"])]


def test_each_client_acts_in_its_own_session(here, baton, era):
    async def use(one, two):
        started = [await begin(one), await begin(two)]
        for client in (one, two, one):
            await client.call_tool("pattern_record", {"what": "x"})
        return started

    one, two = use_two_clients(use, era=era)
    assert one != two
    assert sessions(baton, 3) == [one, two, one]


def test_a_client_that_ended_its_session_does_not_act_in_another(here, baton):
    async def use(one, two):
        started = [await begin(one), await begin(two)]
        await one.call_tool("wrap", {"context": "It stands"})
        for client in (one, one, two):
            await client.call_tool("pattern_record", {"what": "x"})
        return started

    first, two = use_two_clients(use)
    *unnamed, last = sessions(baton, 3)
    assert last == two
    assert unnamed == [unnamed[0]] * 2
    assert unnamed[0].startswith("mcp-")  # the name that the SDK's client sends
    assert unnamed[0] != first
    baton("followup", "add", "The command line goes on with it")
    assert sessions(baton, 1) == [two]


def test_a_client_without_a_session_acts_like_the_command_line(here, baton):
    baton("boot", "--session", "of-the-shell")

    async def use(one, _):
        await one.call_tool("pattern_record", {"what": "x"})

    use_two_clients(use)
    assert sessions(baton, 1) == ["of-the-shell"]


def test_a_server_with_many_clients_ignores_the_work_trees_session(here, baton, top, monkeypatch):
    baton("boot", "--session", "of-the-file")
    monkeypatch.setenv("GEMINI_SESSION_ID", "of-the-shell")

    async def use(one, two):
        before = await begin(one)
        await one.call_tool("pattern_record", {"what": "x"})
        await two.call_tool("pattern_record", {"what": "x", "session": before})
        brief = await one.read_resource("baton://brief/work")
        return before, brief.contents[0].text

    own, brief = use_two_clients(use, over_http=True)
    assert own not in ("of-the-file", "of-the-shell")
    assert "of-the-file" not in brief.splitlines()[0]
    assert sessions(baton, 2) == [None, own]
    assert baton("log", "--limit", "1", "--json").json["commits"][0]["agent"] is None
    baton("followup", "add", "The command line goes on with its own")
    assert sessions(baton, 1) == ["of-the-file"]


def test_a_clients_own_session_overrides_the_hook_session_of_the_agent(here, baton, top, monkeypatch):
    monkeypatch.setenv("GEMINI_SESSION_ID", "of-gemini")
    HookSessionStore(str(top / ".git")).save(HookSession("gemini", "of-gemini"))

    async def use(one, two):
        await begin(one, session="own")
        for client in (one, two):
            await client.call_tool("pattern_record", {"what": "x"})

    use_two_clients(use)
    assert sessions(baton, 2) == ["own", "of-gemini"]


@pytest.mark.parametrize("tool", list(CALLS))
def test_writing_tools_accept_a_session(call, tool):
    call(tool, **CALLS[tool], session="named")
    assert call("log", limit=1)["commits"][0]["session"] == "named"
