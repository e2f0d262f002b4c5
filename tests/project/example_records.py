"""Print a document with records of these ids, for the examples of a page: `example_records.py OL-7k3f9q DEC-042`."""

from __future__ import annotations

import json
import sys

CHECK = {"method": "http", "url": "http://localhost:9/health"}
FIELDS: dict[str, tuple[str, dict[str, object]]] = {
    "OL": (
        "open_loops",
        {"action": "Deployed X", "expected_outcome": "its health is 200", "status": "open", "verify": CHECK},
    ),
    "FU": ("follow_ups", {"item": "Refactor the scoring formula", "reason": "the release comes first"}),
    "PAT": ("patterns", {"what": "Assumed Docker without reading compose.yaml", "count": 3, "threshold": 3}),
    "DEC": ("active_decisions", {"what": "Always use --update-env-vars", "why": "--set-env-vars clears the others"}),
}
"""The list of the document and the fields of a record, by the letters with which the ids begin."""


def make_document(ids: list[str]) -> dict[str, object]:
    """Return a document of session-baton; records of a kind differ in their text."""
    document: dict[str, list[dict[str, object]]] = {}
    for id_ in ids:
        name, fields = FIELDS[id_.partition("-")[0]]
        first, text = next(iter(fields.items()))
        document.setdefault(name, []).append({"id": id_, **fields, first: f"{text} ({id_})"})
    return {"session_id": "2026-06-17-001", **document}


if __name__ == "__main__":
    print(json.dumps(make_document(sys.argv[1:])))
