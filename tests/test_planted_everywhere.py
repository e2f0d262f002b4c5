"""Texts in records, commits, trailers and file names: no output contains a control character from them.

All commands, GET routes and read-only tools are found and called automatically, including new ones.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click
import httpx2
import pytest
from command_tree import RUN_ON, all_commands, arguments, placeholder
from mcp_client import talk
from planting import ID, PLANTED, SESSION, UNSAFE, planted_states
from world import ANYBODY

from baton_git.core.names import Namespace
from baton_git.core.state import State
from baton_git.git.store import ReflogEntry, Repository, Store
from baton_git.interfaces.context.settings import CommonOptions
from baton_git.interfaces.http.app import application
from baton_git.interfaces.http.site import Site
from baton_git.namespace.branch import Branch
from baton_git.namespace.revision import CommitStamp, Revision

EVIL = "\x1b]0;title\x07\x1b[2J\x9b31m\u202egnp\u2066\u200b\u200f\ufeff\u2028\U000e0041\x7f"
MESSAGE = f"""a subject {EVIL}

Baton-Op: op{EVIL}
Baton-Session: s{EVIL}
Baton-Agent: a{EVIL}
Baton-Machine: m{EVIL}
Baton-Confirmed: c{EVIL}
Baton-Revision: {{}}
"""
NOW = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
FILES = {
    "open_loops/OL-1.toml": f'id = "OL-1"\naction = "a{EVIL[0:0]}"\nnot toml {EVIL}'.encode(),
    f"open_loops/{EVIL.replace('/', '')}.toml": b"x",
    "patterns/P-1.toml": b'id = "P-1"\n"\\u202e\\u001b" = 0x' + b"f" * 4000,
    f"rules/{EVIL}.md": b"x",
    f"{EVIL}": b"somebody else's",
}


def _add_all(new: State, tip: Revision) -> State:
    """Return the state of the tip with all records of `new`."""
    return State(tip.state.source, {**tip.state.edits, **new.edits})


def plant(top: Path) -> None:
    """Create a record of every kind, live and archived, unreadable files, and commits with planted texts."""
    with Store(Repository.open(top)) as store:
        branch = Branch(store, Namespace("work"))
        branch.create(CommitStamp("init", NOW, "Ada <ada@example.org>", ANYBODY))
        for state in planted_states():
            stamp = CommitStamp("plant", NOW, "Ada <ada@example.org>", ANYBODY, SESSION)
            branch.update(partial(_add_all, state), stamp)
        for revision, files in ((7, FILES), (8, {"open_loops/OL-1.toml": f"still not {EVIL}".encode()})):
            tip = store.tip(branch.ref)
            assert tip is not None
            draft, seconds, who = store.draft(), int(NOW.timestamp()), f"Eve {EVIL} <eve@example.org>"
            tree = draft.tree(store.commit(tip).tree, files)
            message = MESSAGE.format(revision)
            new = draft.commit(tree, [tip], author=who, time=seconds, timezone=0, message=message)
            entry = ReflogEntry("Eve <eve@example.org>", seconds, 0, message)
            assert store.publish(draft, branch.ref, tip, new, entry)


def assert_safe(text: str, what: object) -> None:
    found = UNSAFE.search(text)
    assert found is None, (what, text[max(0, found.start() - 80) : found.end() + 40])


# --- commands

TEXTS = {"ID": ID, "SESSION": SESSION, "REV": "~0", "A": "~1", "B": "~0", "NAME": "zero", "EVENT": "on_stop"}


GIVEN: dict[tuple[str, ...], list[str]] = {
    ("handoff", "show"): [f"{ID}/1"], ("session", "history"): [f"{ID}/{ID}"], ("todo", "set"): [PLANTED],
    ("decision", "supersede"): [ID, "--by", "DEC-2"], ("todo", "list"): ["--session", SESSION],
}  # fmt: skip
"""Arguments with which a command reaches the planted texts, where those from `word_for` do not suffice."""


def word_for(parameter: click.Parameter, folder: Path) -> list[str]:
    """Return an argument that a parameter accepts."""
    kind = parameter.type
    if isinstance(kind, click.Choice):
        return [str(kind.choices[0])]
    if isinstance(kind, click.IntRange | click.FloatRange):
        return [str(int(kind.min or 1))]
    if isinstance(kind, click.Path) or "FILE" in (parameter.metavar or ""):
        return [str(folder / f"given{EVIL.replace('/', '')}.json")]
    return [TEXTS.get(placeholder(parameter), PLANTED)]


@pytest.mark.parametrize("as_json", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["text", "json"])
def test_no_command_prints_control_characters(baton: Any, top: Path, tmp_path: Path, as_json: bool) -> None:
    plant(top)
    (tmp_path / f"given{EVIL.replace('/', '')}.json").write_text(json.dumps({"session_id": PLANTED, EVIL: [EVIL]}))
    refs = top / ".git" / "refs"
    ref, kept = refs / "heads" / "baton" / "work", refs / "baton-kept" / "heads" / "baton" / "work"
    tip = ref.read_bytes()
    for words, command in sorted(all_commands().items()):
        if isinstance(command, click.Group) or words in RUN_ON:
            continue
        for path in (ref, kept):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(tip)  # without the changes of earlier commands
        rest = GIVEN.get(words) or arguments(command, partial(word_for, folder=tmp_path))
        given = [*words, *(["--json"] if as_json else []), *rest]
        done = baton(*given, code=None, env={"BATON_AGENT": "zero"})
        assert done.code != 70, (given, done)
        assert_safe(done.out + done.err, given)
    if not as_json:
        assert "\\u202egnp" in baton("log").out


# --- routes and tools


def value_for(name: str, schema: Any) -> str:
    known = {"kind": "open_loop", "namespace": "work", "id": ID, "at": "~0", "revision": "~0", "a": "~1", "b": "~0"}
    return str(known.get(name, 1 if schema.get("type") == "integer" else PLANTED))


def requests(document: Any) -> Iterator[str]:
    """Return a path with its query for each GET route."""
    for path, methods in document["paths"].items():
        operation = methods.get("get")
        if operation is None or "text/event-stream" in json.dumps(operation.get("responses", {})):
            continue
        query = []
        for one in operation.get("parameters", ()):
            text = quote(value_for(one["name"], one.get("schema", {})), safe="")
            if one["in"] == "path":
                path = path.replace(f"{{{one['name']}}}", text)
            elif one["in"] == "query" and (one.get("required") or one["name"] == "namespace"):
                query.append(f"{one['name']}={text}")
        yield f"{path}?{'&'.join(query)}"


def test_no_http_response_can_control_a_terminal(top: Path) -> None:
    plant(top)
    site = Site(CommonOptions(str(top), "work", None, None))

    async def ask() -> list[tuple[str, int, str]]:
        transport = httpx2.ASGITransport(application(site))
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            document = (await client.get("/openapi.json")).json()
            found = [(path, await client.get(path)) for path in requests(document)]
        return [(path, answer.status_code, answer.text) for path, answer in found]

    try:
        answers = asyncio.run(ask())
    finally:
        site.close()
    assert len(answers) > 20
    for path, status, text in answers:
        assert status < 500, (path, text)
        assert_safe(text, path)
    assert sum(status == 200 for _, status, _ in answers) > len(answers) // 2
    assert any("\\u202egnp" in text for _, _, text in answers)


def test_no_result_of_a_reading_tool_can_control_a_terminal(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(top)
    monkeypatch.chdir(top)
    monkeypatch.setattr(sys, "argv", ["baton", "mcp"])

    async def use(client: Any) -> list[tuple[str, str]]:
        texts = []
        for tool in (await client.list_tools()).tools:
            if tool.annotations is None or not tool.annotations.read_only_hint:
                continue
            schema = tool.input_schema
            given = {name: value_for(name, schema["properties"][name]) for name in schema.get("required", ())}
            answer = await client.call_tool(tool.name, given)
            texts += [(tool.name, block.text) for block in answer.content]
        for resource in (await client.list_resources()).resources:
            read = await client.read_resource(str(resource.uri))
            texts += [(str(resource.uri), one.text) for one in read.contents]
        return texts

    answers = talk(use, asked=CommonOptions(str(top), "work", None, None))
    assert len(answers) > 8
    for name, text in answers:
        assert_safe(text, name)
    assert any("\\u202egnp" in text for _, text in answers)
