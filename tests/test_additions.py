"""The table "Where to add things" of ARCHITECTURE.md: a copy of the package gets the files and lines named there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import baton_git

pytestmark = pytest.mark.slow

KIND = '''
from typing import ClassVar
from pydantic import Field
from baton_git.core.records.base import Record, Text

class Note(Record):
    """Something worth knowing."""
    kind: ClassVar[str] = "note"
    dated: ClassVar[str] = "created_at"
    text: Text = Field(description="What it says.")
    created_at: Text = Field(description="When.")
'''

AGENT = {
    "__init__": """
from baton_git.agents.registry import AgentCLI, AgentMarkers, Hook, HookPackage, HookSettings, SessionSource

CLI = AgentCLI(
    name="toy",
    title="Toy",
    package=HookPackage("plugin", "toy add {0}", "plugins/*/hooks.json", "toy update"),
    source=SessionSource("toy-log", "toy", "toy-cli"),
    mcp_client="toy-client",
    installed="Toy calls baton from now on",
    markers=AgentMarkers(("TOY_SESSION",), ("toy",)),
    hooks=HookSettings(
        program="toy", folder=".toy", file="toy.json", hooks=(Hook("SessionStart", 10), Hook("SessionEnd", 10))
    ),
    session_variables=("TOY_SESSION",),
    empty_reply="nothing",
)
""",
    "transcript": """
from baton_git.agents.events import START_OF_FILE, ModelReply, Prompt, SessionContext, ToolCall, ToolResult
from baton_git.agents.json_lines import read_events, text_at
from baton_git.agents.transcripts import ToolUse, read_other_call, read_other_result

MAKERS = {
    "start": lambda at, record: SessionContext(at, None, record["id"], record["folder"]),
    "asked": lambda at, record: Prompt(at, None, record["text"]),
    "wrote": lambda at, record: ToolCall(at, None, record["id"], "write", {"path": record["text"]}),
    "done": lambda at, record: ToolResult(at, None, record["id"], "", failed=False),
    "said": lambda at, record: ModelReply(at, None, record["text"], final=True),
}

class Reader:
    def events(self, position, record):
        return [MAKERS[record["toy"]](position, record)] if self.understands(record) else []

    def flush(self):
        yield from ()

    def memory(self):
        return {}

    def understands(self, record):
        return recognises(record)

def events(path, since=START_OF_FILE):
    return read_events(path, since, lambda memory: Reader())

def read_call(call):
    return ToolUse("write", files=(call.arguments["path"],)) if call.name == "write" else read_other_call(call.name, {})

def read_result(name, result):
    return read_other_result(name, result)

def recognises(record):
    return text_at(record, "toy") in MAKERS
""",
    "launch": """
from baton_git.agents.launcher import Launch, SessionReport
from baton_git.agents.transcripts import Transcript, find_files, ignore_warning, read_first_records

def launch(start):
    return Launch((start.executable, start.prompt), session=start.session)

def report(output):
    return SessionReport(output)

def sessions(folder, warn=ignore_warning):
    for path in find_files(folder, "logs", "*.jsonl", warn=warn):
        first = next(read_first_records(path), {})
        yield Transcript(path, first.get("id"), first.get("folder"))

def subagents(path, session):
    return iter(())
""",
}

CHECK = '''
from baton_git.checks.outcome import Failed, Passed

def check(spec, world):
    """Whether a file is empty."""
    size = (world.folder / spec.path).stat().st_size
    return Failed(f"{spec.path} has {size} bytes") if size else Passed()
'''

IMPORTER = '''
from datetime import datetime
from pathlib import Path
from pydantic import Field
from baton_git.core.verb import ADDS, Input, Result, verb
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.work_items.followups import add_follow_up

class ImportLines(Input):
    path: Path = Field(description="A file with a follow-up in each line.")

class ImportedLines(Result):
    ids: list[str] = Field(description="The follow-ups.")

@verb("import lines", effect=ADDS, positional=("path",))
def import_lines(ws: Workspace, now: datetime, asked: ImportLines) -> ImportedLines:
    """Take over follow-ups."""
    return ImportedLines(ids=[add_follow_up(ws, now, line).id for line in asked.path.read_text().splitlines()])
'''

VERB = '''
from datetime import datetime
from pydantic import Field
from baton_git.core.verb import READS, Input, Result, Tool, verb
from baton_git.core.view import Reader, ResultView
from baton_git.namespace.workspace import Workspace

class TallyKind(Input):
    kind: str = Field(description="A kind of record.", examples=["follow_up"])
    archived: bool = Field(False, description="Those in the archive.")

class Tally(Result):
    number: int = Field(description="How many there are.")

    def show(self, reader: Reader) -> ResultView:
        return ResultView(f"there are {self.number}", ["counted"])

@verb("tally", "GET /v1/tally/{kind}", effect=READS, positional=("kind",), tool=Tool("How many there are of a kind."))
def tally(ws: Workspace, now: datetime, asked: TallyKind) -> Tally:
    """Count the records of a kind."""
    return Tally(number=len(ws.branch.read().state.ids(asked.kind, archived=asked.archived)))
'''

CALLS = """
import asyncio, json
import baton_git
from httpx2 import ASGITransport, AsyncClient
from mcp.client import Client
from baton_git.interfaces.context.invocation import Call
from baton_git.interfaces.context.settings import CommonOptions, Settings
from baton_git.interfaces.http.app import application
from baton_git.interfaces.http.site import Site
from baton_git.interfaces.mcp.server import make_mcp_server

async def call_servers():
    app = application(Site(CommonOptions()))
    async with AsyncClient(transport=ASGITransport(app), base_url="http://127.0.0.1") as client:
        described = (await client.get("/openapi.json")).json()["paths"]["/v1/tally/{kind}"]["get"]["summary"]
        answer = (await client.get("/v1/tally/follow_up")).json()
    async with Client(make_mcp_server(Call(Settings(CommonOptions())))) as client:
        tools = [tool.description for tool in (await client.list_tools()).tools if tool.name == "tally"]
        called = await client.call_tool("tally", {"kind": "follow_up"})
    return {"http": answer, "openapi": described, "tools": tools, "mcp": called.structured_content}

with baton_git.open(".") as ns:
    result = ns.tally("follow_up")
print(json.dumps({"library": result.as_data(), **asyncio.run(call_servers())}))
"""
"""Call the verb in the interfaces of one process."""

FILES = {
    "core/records/note.py": KIND,
    **{f"agents/toy/{name}.py": text for name, text in AGENT.items()},
    "checks/is_empty.py": CHECK,
    "verbs/lines.py": IMPORTER,
    "verbs/tally.py": VERB,
}
"""The files that are added: one module each, and a folder for the agent's CLI."""

LINES = {
    "core/kinds.py": (
        '        KindInfo(\n            "conflict"',
        'KindInfo("note", load_from("core.records.note", "Note"), "notes", "note", about="text", in_brief=True),\n',
    ),
    "agents/registry.py": (')\n"""All agent CLIs', ', "toy"'),
    "core/records/check_methods.py": ('    "http":', '    "is_empty": "path",\n'),
    "verbs/table.py": ('    "import paif"', '    "import lines": "verbs.lines",\n    "tally": "verbs.tally",\n'),
    "interfaces/cli/__init__.py": ('    "demo":', '    "tally": ("", "Count the records of a kind."),\n'),
}
"""By registry: the text before which the new lines are inserted, and the new lines."""

Command = Callable[..., str]


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with a copy of the package and the additions."""
    folder = tmp_path_factory.mktemp("additions")
    shutil.copytree(Path(baton_git.__file__).parent, folder / "baton_git")
    shutil.copytree(Path(baton_git.__file__).parents[1] / "hooks", folder / "hooks")
    for name, text in FILES.items():
        path = folder / "baton_git" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    for name, (before, line) in LINES.items():
        path = folder / "baton_git" / name
        source = path.read_text()
        assert source.count(before) == 1
        path.write_text(source.replace(before, line + before))
    return folder


@pytest.fixture
def command(package: Path, top: Path) -> Command:
    """Run `baton` of the copy in a repository with a namespace, and return its output."""

    def run(*words: str, code: int = 0, stdin: str = "", **variables: str) -> str:
        environment = {**os.environ, "PYTHONPATH": str(package), **variables}
        done = subprocess.run(
            [sys.executable, "-m", "baton_git", *words],
            cwd=top, env=environment, input=stdin, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == code, done.stderr
        return done.stdout

    run("init")
    return run


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def as_data(text: str) -> Any:
    return json.loads(text)


def test_a_kind_is_added_by_a_module_and_a_line(command: Command, top: Path, tmp_path: Path):
    ref = git(top, "for-each-ref", "--format=%(refname:short)", "refs/heads/baton").strip()
    git(top, "worktree", "add", "-q", str(tmp_path / "state"), ref)
    note = tmp_path / "state" / "notes" / "n1.toml"
    note.parent.mkdir()
    note.write_text('id = "n1"\ntext = "The port is 8081"\ncreated_at = "2026-11-22"\n')
    git(tmp_path / "state", "add", ".")
    git(tmp_path / "state", "commit", "-qm", "A note")
    assert "## Notes\n- n1 [llm_derived] The port is 8081" in command("boot")
    assert as_data(command("status", "--json"))["notes"] == {"live": 1}
    assert "note n1  added  The port is 8081" in command("show", "~1")
    assert as_data(command("schema", "note"))["properties"]["text"]["description"] == "What it says."


def test_an_agent_cli_is_added_by_a_folder_of_three_modules_and_a_line(command: Command, top: Path):
    command("agents", "install", "toy")
    assert "hook --agent toy" in (Path.home() / ".toy" / "toy.json").read_text()
    [status] = as_data(command("agents", "status", "toy", "--json"))
    assert (status["agent"], status["verdict"], status["installed"]) == ("toy", "ok", True)
    start = {"hook_event_name": "SessionStart", "session_id": "s1", "source": "startup", "cwd": str(top)}
    assert command("hook", "--agent", "toy", stdin=json.dumps(start)) == "nothing"
    command("followup", "add", "Write the guide", TOY_SESSION="s1")
    assert "  s1  " in command("log", "--limit", "1")
    end = start | {"hook_event_name": "SessionEnd", "reason": "exit", "transcript_path": write_toy_log(top, "s1")}
    command("hook", "--agent", "toy", stdin=json.dumps(end))
    facts = as_data(command("handoff", "show", "s1", "--json"))["handoff"]["facts"]
    assert (facts["initial_goal"], facts["last_answer"]["text"]) == ("Write down the port", "It is 8081.")
    assert facts["files_modified"] == ["port.txt"]
    write_toy_log(top, "s2")
    command("mine")
    assert "toy/s2" in command("list", "handoffs", "--json")


def write_toy_log(top: Path, session: str) -> str:
    """Write the transcript of a session of the added agent CLI where it keeps them; return its path."""
    lines = [
        {"toy": "start", "id": session, "folder": str(top)}, {"toy": "asked", "text": "Write down the port"},
        {"toy": "wrote", "id": "1", "text": "port.txt"}, {"toy": "done", "id": "1"},
        {"toy": "said", "text": "It is 8081."},
    ]  # fmt: skip
    path = Path.home() / ".toy" / "logs" / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


def test_a_check_is_added_by_a_module_and_a_line(command: Command, top: Path):
    (top / "errors.log").write_text("")
    loop = as_data(command("loop", "add", "Ran", "--expect", "no errors", "--verify-is-empty", "errors.log", "--json"))
    assert "passed" in command("loop", "verify", loop["id"])


def test_a_verb_is_added_by_a_module_and_a_line_of_help(command: Command, package: Path, top: Path):
    command("followup", "add", "Write the guide")
    assert command("tally", "follow_up") == "there are 1\n"
    assert as_data(command("tally", "follow_up", "--json")) == {"number": 1}
    answers = subprocess.run(
        [sys.executable, "-c", CALLS],
        cwd=top, env={**os.environ, "PYTHONPATH": str(package)}, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert as_data(answers) == {
        "library": {"number": 1}, "http": {"number": 1}, "mcp": {"number": 1},
        "openapi": "Count the records of a kind", "tools": ["How many there are of a kind."],
    }  # fmt: skip


def test_an_importer_is_added_by_a_module_and_a_line(command: Command, tmp_path: Path):
    (tmp_path / "todo.txt").write_text("Write the guide\nMeasure it\n")
    assert "lines" in command("import", "--help")
    command("import", "lines", str(tmp_path / "todo.txt"))
    items = as_data(command("read", "--json"))["baton"]["follow_ups"]
    assert {item["item"] for item in items} == {"Write the guide", "Measure it"}
