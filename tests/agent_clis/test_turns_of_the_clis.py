"""Conversations in which turns end in every way, with the real CLIs: what is told of each turn is so."""

from __future__ import annotations

import pytest
from turn_truths import tell_turns, truths_of

from agent_clis.agent import Agent
from agent_clis.clis import CLIS
from agent_clis.conversations import CONVERSATIONS, WITHOUT
from agent_clis.remembering import briefs, prepare, troubles
from baton_git.agents.extraction.extracting import extract

pytestmark = pytest.mark.agents

ALL = [(cli, name) for cli in CLIS for name in CONVERSATIONS if (cli, name) not in WITHOUT]


@pytest.mark.parametrize(("cli", "name"), ALL, indirect=["cli"], ids=lambda value: value)
def test_the_next_session_is_told_each_turn_as_it_was(agent: Agent, name: str) -> None:
    prepare(agent)
    CONVERSATIONS[name](agent)
    truths = truths_of(agent.cli.name, name)
    transcript = agent.cli.transcripts(agent.place.home)[-1]
    assert tell_turns(extract(transcript, has_ended=True).turns) == [truth for truth in truths if truth.on_path]
    (brief,) = briefs(agent.run("What is next?").first)
    assert [truth.prompt for truth in truths if truth.on_path and truth.prompt not in brief] == []
    assert [truth.prompt for truth in truths if not truth.on_path and truth.prompt in brief] == []
    if truths[-1].status == "answered":
        assert truths[-1].answer in brief
        assert "no answer:" not in brief
    else:
        assert f"| - {truths[-1].prompt} (no answer:" in brief
    assert troubles(agent) == ""
