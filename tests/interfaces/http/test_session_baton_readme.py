"""The requests of session-baton's README, unchanged, against our server."""

from __future__ import annotations

import http.client
import json
import re
import shutil
import subprocess
from typing import Any
from urllib.parse import urlsplit

import pytest

READ = r"""
curl -X POST http://localhost:9101/v1/baton/read \
  -H "Content-Type: application/json" \
  -d '{"namespace": "my-project"}'
"""

WRITE = r"""
curl -X POST http://localhost:9101/v1/baton/write \
  -H "Content-Type: application/json" \
  -d '{
    "namespace": "my-project",
    "baton": {
      "schema_version": 1,
      "session_id": "2026-06-17-001",
      "open_loops": [
        {
          "id": "OL-001",
          "action": "Deployed service X",
          "expected_outcome": "Health endpoint returns 200",
          "verify": {
            "method": "http",
            "url": "https://service-x.example.com/health",
            "expected_status": 200
          },
          "created_at": "2026-06-17",
          "status": "open",
          "source_tier": "llm_derived"
        }
      ],
      "follow_ups": [],
      "patterns": [],
      "active_decisions": [],
      "context": "Deployed service X, pending verification."
    }
  }'
"""

START = r"""
# Read baton at session start
BATON=$(curl -s -X POST http://localhost:9101/v1/baton/read \
  -H "Content-Type: application/json" \
  -d '{"namespace": "my-project"}')
"""

WRAP_UP = r"""
# Write baton at session end
curl -s -X POST http://localhost:9101/v1/baton/write \
  -H "Content-Type: application/json" \
  -d "{\"namespace\": \"my-project\", \"baton\": $BATON_JSON}"
"""

DOCUMENTED = json.loads(WRITE.partition("-d '")[2].rpartition("'")[0])["baton"]


SCHEMA: dict[str, Any] = {
    "schema_version": 1,
    "session_id": "2026-06-17-001",
    "parent_session": None,
    "open_loops": [
        {
            "id": "OL-001", "action": "Deployed X", "status": "open", "source_tier": "llm_derived",
            "verify": {"method": "http", "url": "https://...", "expected_status": 200},
        }
    ],
    "follow_ups": [
        {
            "id": "FU-001", "item": "Refactor scoring formula", "defer_count": 5, "priority": "escalated",
            "source_tier": "llm_derived",
        }
    ],
    "patterns": [
        {
            "id": "PAT-001", "what": "Assumed Docker architecture without reading compose", "count": 3,
            "recent_occurrences": ["..."], "status": "rule_candidate", "source_tier": "llm_derived",
        }
    ],
    "active_decisions": [
        {
            "id": "DEC-001", "what": "Always use --update-env-vars", "why": "--set-env-vars clears existing variables",
            "evidence": ["2026-06-12 incident"], "status": "active", "source_tier": "human_confirmed",
        }
    ],
    "context": "Free-form session narrative.",
}  # fmt: skip
"""The README's block "Baton Schema", which lacks what its own models require."""


def test_the_readmes_example_document_is_accepted_and_completed(api):
    def write(document: dict[str, Any]) -> Any:
        return api.post("/v1/baton/write", {"namespace": api.namespace, "baton": document}).json()

    done = write(SCHEMA)
    day, context = "2026-06-17", [{"session": "2026-06-17-001", "context": "..."}]
    filled = {
        "open_loops[0].created_at": day, "open_loops[0].expected_outcome": "https://... answers 200",
        "follow_ups[0].first_seen": day, "patterns[0].first_seen": day, "patterns[0].last_seen": day,
        "patterns[0].recent_occurrences": context, "active_decisions[0].created_at": day,
    }  # fmt: skip
    assert {field["path"]: field["value"] for field in done["filled"]} == filled
    found = api.post("/v1/baton/read", {"namespace": api.namespace}).json()["baton"]
    assert {**found["patterns"][0], "recent_occurrences": ["..."]}.items() >= SCHEMA["patterns"][0].items()
    assert found["open_loops"][0].items() >= SCHEMA["open_loops"][0].items()
    later = write({**SCHEMA, "session_id": "2026-06-20-001"})
    assert later["filled"][0]["value"] == day, "a known value is kept"
    assert "filled" not in write(found)


METHODS = ("http", "file_exists", "process_running", "manual")


def test_a_document_begun_by_a_command_fits_the_original_models(api, baton):
    """The original's models require a head with all fields, know four check methods, and ignore other keys."""
    for words in (("--verify-port", "80"), ("--verify-file", "a"), ("--verify-command", "--", "pytest")):
        where = ("-n", api.namespace, "--create")
        baton("loop", "add", f"for {words[-1]}", "--expect", "b", *where, *words, cwd=api.folder)
    found = api.post("/v1/baton/read", {"namespace": api.namespace}).json()
    baton_read = found["baton"]
    assert (baton_read["schema_version"], baton_read["updated_at"]) == (1, found["updated_at"])
    assert isinstance(baton_read["session_id"], str)
    assert baton_read["parent_session"] is None
    checks = [loop["verify"] for loop in baton_read["open_loops"]]
    assert {check["method"] for check in checks} <= set(METHODS)
    assert "command: pytest" in [check.get("note") for check in checks]
    assert api.post("/v1/baton/write", {"namespace": api.namespace, "baton": baton_read}).json()["ok"]
    own = baton("read", "-n", api.namespace, cwd=api.folder).json["baton"]
    checks = [loop["verify"] for loop in own["open_loops"]]
    assert {check["method"] for check in checks} == {"command", "port_open", "file_exists"}
    assert [check for check in checks if "note" in check] == []


@pytest.fixture
def api(wire):
    """Return a client of a namespace that does not exist yet: in the original, the first write creates it."""
    return wire


@pytest.fixture
def shell(api):
    """Return a function that runs a snippet of the README in a shell, with our server's port and namespace."""

    def run(snippet: str, **variables: str) -> str:
        here = snippet.replace("localhost:9101", urlsplit(api.url).netloc.replace("127.0.0.1", "localhost"))
        here = here.replace("my-project", api.namespace)
        done = subprocess.run(
            ["sh", "-c", here + '\nprintf %s "$BATON"'], capture_output=True, text=True, timeout=30,
            env={"PATH": "/usr/local/bin:/usr/bin:/bin", "no_proxy": "*", **variables}, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done
        return done.stdout

    return run


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
def test_the_calls_of_the_readme_work_unchanged(shell, api):
    assert json.loads(shell(READ)) == {
        "baton": None, "namespace": api.namespace, "updated_at": None, "revision": None, "commit": None,
    }  # fmt: skip
    written = json.loads(shell(WRITE))
    assert written["ok"] is True
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00", written["updated_at"])
    found = json.loads(shell(READ))
    assert found["baton"] == DOCUMENTED
    assert found["updated_at"] == written["updated_at"]


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
def test_the_readmes_skills_read_at_the_start_and_write_at_the_end(shell):
    assert shell(WRITE)
    begun = json.loads(shell(START))["baton"]
    begun |= {"session_id": "2026-06-18-001", "parent_session": begun["session_id"], "context": "Verified it."}
    begun["open_loops"][0]["status"] = "verified"
    assert json.loads(shell(WRAP_UP, BATON_JSON=json.dumps(begun)))["ok"] is True
    assert json.loads(shell(START))["baton"] == begun


def test_the_documented_requests_work_with_another_client_than_curl(api):
    connection = http.client.HTTPConnection(urlsplit(api.url).netloc, timeout=30)

    def send(snippet: str) -> Any:
        path = re.search(r"localhost:9101(\S+)", snippet)
        assert path is not None
        body = snippet.partition("-d '")[2].rpartition("'")[0].replace("my-project", api.namespace).encode()
        connection.request("POST", path[1], body, {"Content-Type": "application/json", "Accept": "*/*"})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())

    assert send(READ)[1]["baton"] is None
    assert send(WRITE)[0] == 200
    assert send(READ)[1]["baton"] == DOCUMENTED
    connection.close()
