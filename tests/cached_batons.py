"""Documents for the tests of the cache, and a URL without a server."""

from __future__ import annotations

from typing import Any

NOWHERE = "http://127.0.0.1:9"
"""No server listens at this address."""


def a_loop(number: int, **fields: Any) -> dict[str, Any]:
    given = {"id": f"OL-{number:03d}", "action": "Deployed", "expected_outcome": "200", "created_at": "2026-11-20"}
    return {**given, **fields}


def a_baton(context: str = "", *loops: dict[str, Any], session: str = "2026-11-21-001") -> dict[str, Any]:
    return {"schema_version": 1, "session_id": session, "open_loops": list(loops), "context": context}
