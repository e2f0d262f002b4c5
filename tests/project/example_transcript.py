"""Write the transcript of a short session of Claude Code in this folder, for the examples of a page."""

from __future__ import annotations

import json
from pathlib import Path

TURNS = [
    ("user", "Why did we drop Kafka? Then write the export of invoices."),
    ("assistant", "Kafka was dropped since nobody wants to run brokers. The export is written; its test is missing."),
]


def make_lines(folder: Path) -> list[str]:
    """Return the lines of the transcript of a session that began in a folder."""
    session = "6f1c2d3e-0000-4000-8000-000000000001"
    return [
        json.dumps(
            {
                "type": role, "uuid": f"u{number}", "timestamp": f"2026-06-17T10:00:0{number}.000Z",
                "sessionId": session, "cwd": str(folder), "version": "2.1.0", "gitBranch": "main", "isSidechain": False,
                "message": {"role": role, "content": text if role == "user" else [{"type": "text", "text": text}]},
            }
        )
        for number, (role, text) in enumerate(TURNS)
    ]  # fmt: skip


if __name__ == "__main__":
    place = Path.home() / ".claude" / "projects" / str(Path.cwd()).replace("/", "-")
    place.mkdir(parents=True)
    (place / "6f1c2d3e-0000-4000-8000-000000000001.jsonl").write_text("\n".join([*make_lines(Path.cwd()), ""]))
