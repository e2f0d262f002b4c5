"""The next session receives the work of a real CLI's subagent as work of the session that started it."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from agent_clis.agent import Agent
from agent_clis.clis import CLIS, Cli
from agent_clis.model_server import Request
from agent_clis.remembering import briefs, head, prepare, troubles
from agent_clis.wires import Anthropic, Gemini, OpenAI, Say, Shell, Turn, Wire, Write

pytestmark = pytest.mark.agents

GOAL = "Have the door of the shed mended"
TASK = "Mend the door and commit it"


@dataclass(frozen=True)
class Send:
    """The model starts a subagent with `TASK`."""


@dataclass(frozen=True)
class Wait:
    """The model waits for its subagent; `answer` is the result of starting it (Codex)."""

    answer: str = ""


@dataclass(frozen=True)
class Complete:
    """The subagent calls a tool to report that it is done (Gemini)."""

    answer: str


class ClaudesAgents(Anthropic):
    def _block(self, action: Any) -> Any:
        if not isinstance(action, Send):
            return super()._block(action)
        call = {"description": "mend the door", "prompt": TASK, "run_in_background": False}
        start = {"type": "tool_use", "id": "toolu_send", "name": "Agent", "input": {}}
        return start, {"type": "input_json_delta", "partial_json": json.dumps(call)}


class CodexAgents(OpenAI):
    def _item(self, action: Any) -> Any:
        match action:
            case Send():
                return self._call("spawn_agent", {"message": TASK})
            case Wait(answer):
                return self._call("wait_agent", {"targets": re.findall(r'"agent_id":"([^"]+)"', answer)})
        return super()._item(action)

    def _call(self, name: str, arguments: dict[str, Any]) -> Any:
        call = {"type": "function_call", "namespace": "multi_agent_v1", "name": name, "id": f"fc_{name}"}
        return {**call, "call_id": f"call_{name}", "arguments": json.dumps(arguments)}


class GeminisAgents(Gemini):
    def _part(self, action: Any) -> Any:
        match action:
            case Send():
                return {"functionCall": {"name": "invoke_agent", "args": {"agent_name": "generalist", "prompt": TASK}}}
            case Complete(answer):
                return {"functionCall": {"name": "complete_task", "args": {"result": {"response": answer}}}}
        return super()._part(action)


WIRES: dict[str, Callable[[], Wire]] = {"claude": ClaudesAgents, "codex": CodexAgents, "gemini": GeminisAgents}


@pytest.fixture(params=list(WIRES))
def cli(request: pytest.FixtureRequest) -> Cli:
    """Each of the CLIs, with a model that can start a subagent."""
    chosen = CLIS[request.param]()
    chosen.wire = WIRES[request.param]()
    return chosen


def script_subagent(agent: Agent) -> None:
    """Script a session that starts a subagent, which creates and commits a file silently."""
    done = Complete("The door is mended.") if agent.cli.name == "gemini" else Say("The door is mended.")
    write = Write(str(agent.project / "door.py"), "is_open = False\n")
    ours = [Send(), *([Wait()] if agent.cli.name == "codex" else []), Say("The shed can be closed again.")]
    of_session = deque[Any](ours)
    of_subagent = deque[Any]([write, Shell("git add door.py && git commit -q -m 'Mend the door'"), done])

    def play(request: Request) -> Turn:
        script = of_session if GOAL in request.conversation else of_subagent
        scripted = script.popleft()
        action: Any = replace(scripted, answer=request.conversation) if isinstance(scripted, Wait) else scripted
        return Turn((action,))

    for _ in range(len(of_session) + len(of_subagent)):
        agent.model.play_as(play)


def test_the_next_session_gets_the_files_and_commits_of_a_subagent(agent):
    prepare(agent)
    script_subagent(agent)
    agent.run(GOAL)
    (brief,) = briefs(agent.run("What is next?").first)
    assert [text for text in ("door.py", head(agent), "Mend the door") if text not in brief] == []
    assert "The shed can be closed again." in brief
    assert [text for text in (f"| - {TASK}", "The door is mended.") if text in brief] == []
    assert troubles(agent) == ""
