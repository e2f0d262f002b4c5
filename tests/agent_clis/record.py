"""Hold the conversations of `conversations.py` with the installed CLIs, and store their transcripts.

    BATON_AGENT_CLIS=DIR python tests/agent_clis/record.py [CLI [NAME]]

The transcripts are stored without what is long and says nothing about turns (system prompts, requests, figures), and
with made-up folders, in `tests/agents/recorded/CLI/NAME/`. An offset in a record is that in the whole file.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from agent_clis.agent import Agent
from agent_clis.clis import CLIS, Place
from agent_clis.conversations import CONVERSATIONS, WITHOUT
from agent_clis.model_server import serving

RECORDED = Path(__file__).parent.parent / "agents/recorded"
DROPPED = {
    "api-request", "api-request-shape", "api-request-blob", "atis-latch", "cost-state", "tools-used",
    "file-history-snapshot", "token_usage_record", "world_state",
}  # fmt: skip
"""Types of records that are not stored."""
DROPPED_EVENTS = {"token_count"}
DROPPED_KEYS = {
    "usage", "base_instructions", "tokens", "thread_settings", "rendered", "collaboration_mode", "retained_source",
    "history_sequence", "sampled_through_sequence", "turn_attribution", "truncation_policy", "permission_profile",
    "compactMetadata", "content_item_metadata", "create_time", "replacement_history", "slug", "effort",
    "perTurnEffort", "requestRef", "requestedModel", "promptCacheRequested", "stop_details", "text_elements",
    "thoughts", "userType", "entrypoint", "renderedRole",
}  # fmt: skip


def record(cli_name: str, name: str) -> None:
    """Hold one conversation and store its transcripts."""
    clis = Path(os.environ["BATON_AGENT_CLIS"]).resolve()
    cli = CLIS[cli_name]()
    with tempfile.TemporaryDirectory(prefix="ada") as scratch, serving(cli.wire) as model:
        project = Path(scratch, "shop")
        subprocess.run(["git", "init", "-q", "-b", "main", str(project)], check=True)
        place = Place(Path(scratch, "home"), project, model.url)
        place.home.mkdir()
        cli.configure(place)
        agent = Agent(cli, place, model, clis)
        path = agent.environment["PATH"]
        (place.home / ".profile").write_text(f"export PATH='{path}'\n")
        CONVERSATIONS[name](agent)
        folder = RECORDED / cli_name / name.replace(" ", "-")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for file in cli.transcripts(place.home):
            lines = (json.dumps(item, separators=(",", ":"), ensure_ascii=False) + "\n" for item in shorten(file))
            text = "".join(lines)
            text = text.replace(str(place.home), "/home/ada").replace(str(project), "/home/ada/shop")
            (folder / file.name).write_text(text)


def shorten(file: Path) -> Iterator[Any]:
    """Yield the records to be stored, without their long values."""
    for line in file.read_text().splitlines():
        item = json.loads(line)
        if item.get("type") in DROPPED or item.get("payload", {}).get("type") in DROPPED_EVENTS:
            continue
        attachment = item.get("attachment", {})
        if attachment and attachment["type"] != "queued_command":
            item["attachment"] = {"type": attachment["type"]}
        if item.get("payload", {}).get("role") == "developer":
            continue
        yield empty(item)


def empty(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: empty(item) for key, item in value.items() if key not in DROPPED_KEYS}
    if isinstance(value, list):
        return [empty(item) for item in value]
    is_context = isinstance(value, str) and value.startswith(("<session_context>", "<environment_context>"))
    return value.split("\n")[0] if is_context else value


if __name__ == "__main__":
    chosen = sys.argv[1:]
    for cli_name in chosen[:1] or CLIS:
        for name in chosen[1:] or CONVERSATIONS:
            if (cli_name, name) not in WITHOUT:
                print(cli_name, name, flush=True)
                record(cli_name, name)
