"""A server that other people may reach tells them what baton has stored, and reads none of the user's transcripts."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from mcp_client import talk
from test_serve import request_json, serving
from world import begin

from baton_git.interfaces.context.settings import CommonOptions
from baton_git.interfaces.http.site import Site
from baton_git.verbs.revisions.recall import recall

SESSION = "11111111-2222-4333-8444-555555555555"
QUESTION, ANSWER = "zeppelin cache eviction", "90 seconds"
REFUSED = "transcripts that nothing has stored yet are not read"


@pytest.fixture
def project(top: Path) -> CommonOptions:
    """Return the options of a namespace in a repository with a transcript that no hook and no `mine` has read."""
    about = {"sessionId": SESSION, "cwd": str(top), "version": "2.0.0", "isSidechain": False, "userType": "external"}
    said = (("user", f"tune the {QUESTION}"), ("assistant", [{"type": "text", "text": f"It is {ANSWER} now."}]))
    lines = [
        {
            **about, "type": kind, "uuid": f"u{number}", "parentUuid": f"u{number - 1}" if number else None,
            "timestamp": f"2026-11-20T10:00:0{number}.000Z", "message": {"role": kind, "content": text, "model": "m"},
        }
        for number, (kind, text) in enumerate(said)
    ]  # fmt: skip
    path = Path(os.environ["HOME"]) / ".claude" / "projects" / "-x" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    os.utime(path, (1_795_000_000, 1_795_000_000))  # long ago, so that no agent is writing it
    options = CommonOptions(str(top), "shop", None, None, create=True)
    with Site(options).work() as ws:
        begin(ws.branch)
    return options


def ask(site: Site) -> Any:
    with site.work() as ws:
        return recall(ws, site.now(), QUESTION)


def test_recall_reads_new_transcripts_for_the_user_of_this_machine_only(project: CommonOptions) -> None:
    token = "a-long-secret"
    words = ("--host", "0.0.0.0", "--port", "0", "-n", "shop")
    with serving(*words, cwd=Path(str(project.repo)), BATON_API_TOKEN=token) as (_, url):
        url = f"http://127.0.0.1:{urlsplit(url).port}"
        path = f"/v1/recall?question={QUESTION.replace(' ', '+')}"
        found = request_json(url, path, Authorization=f"Bearer {token}")
    assert ANSWER not in found["text"]
    assert found["unread_sessions"].startswith(REFUSED)
    assert ask(Site(project, is_shared=True)).unread_sessions.startswith(REFUSED)
    alone = ask(Site(project))
    assert (ANSWER in alone.text, alone.unread_sessions) == (True, "")


@pytest.mark.parametrize("is_shared", [True, False])
def test_recall_over_mcp_reads_them_unless_others_reach_the_server(project: CommonOptions, is_shared: bool) -> None:
    async def use(client: Any) -> Any:
        return await client.call_tool("recall", {"question": QUESTION})

    done = talk(use, asked=project, is_shared=is_shared)
    assert (ANSWER in str(done)) is not is_shared
    assert (REFUSED in str(done)) is is_shared
