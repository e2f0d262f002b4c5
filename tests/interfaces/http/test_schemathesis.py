"""Requests generated from the OpenAPI document: no response has status 5xx or is undocumented."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
TOKEN = "a-long-secret"
STREAM = ("--exclude-path", "/v1/events")
"""A stream has no end of its own; test_events.py listens to it."""


def hunt(server: Any, where: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run schemathesis against the server."""
    document = where / "openapi.json"
    document.write_text(server.get("/openapi.json").text)
    argv = [sys.executable, "-m", "schemathesis.cli", "run", str(document), "--url", server.url, *STREAM, *options]
    argv += ["--checks", CHECKS, "--seed", "1", "--generation-deterministic", "--suppress-health-check", "all"]
    return subprocess.run(
        [*argv, "--continue-on-failure"], cwd=where, env=dict(os.environ), capture_output=True, text=True, timeout=290
    )


@pytest.mark.slow
def test_every_response_matches_the_openapi_document(server: Any, tmp_path: Path) -> None:
    phases = ("--phases", "examples,coverage,fuzzing", "--max-time", "120")
    done = hunt(server, tmp_path, "--max-examples", "4", *phases)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert " generated" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("headers", [(), ("--header", f"Authorization: Bearer {TOKEN}")])
def test_responses_to_requests_with_and_without_a_token_match_the_openapi_document(
    guarded: Any, tmp_path: Path, headers: tuple[str, ...]
) -> None:
    done = hunt(guarded, tmp_path, *headers, "--max-examples", "1", "--phases", "examples,fuzzing")
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert " generated" in done.stdout
