"""Write transcripts of Claude Code in this folder for the examples of a page: one session, or with `all` several."""

from __future__ import annotations

import json
import sys
from pathlib import Path

SESSIONS = {
    "6f1c2d3e-0000-4000-8000-000000000001": (
        "2026-06-17",
        "Why did we drop Kafka? Then write the export of invoices.",
        "Kafka was dropped since nobody wants to run brokers. The export is written; its test is missing.",
    ),
    "0c9d8e7f-0000-4000-8000-000000000002": (
        "2026-05-04",
        "The checkout takes two seconds with a full cart.",
        (
            "It asked for the price of each line by itself. One query for the whole cart takes 40 ms. Fixed in "
            "`cart.py`, with a test that counts the queries."
        ),
    ),
    "1b8c7d6e-0000-4000-8000-000000000003": (
        "2026-05-12",
        "The totals of some receipts are wrong by a cent.",
        "VAT was rounded for each line; it has to be rounded once for the receipt. I printed the 12 wrong ones again.",
    ),
    "2a7b6c5d-0000-4000-8000-000000000004": (
        "2026-05-20",
        "I never want floats for money, always use Decimal. Please remember that.",
        "Replaced in prices and discounts. A lint rule now refuses `float(` in these two modules.",
    ),
    "3f6a5b4c-0000-4000-8000-000000000005": (
        "2026-06-02",
        "The build works here and fails in CI.",
        (
            "Your settings had NODE_ENV=development, so the build kept code that needs a package CI does not install. "
            "The build settings are in `build.toml` now, and nothing is taken from the environment."
        ),
    ),
    "4e5f4a3b-0000-4000-8000-000000000006": (
        "2026-06-09",
        "I'd rather review one commit per idea, so don't squash them.",
        "Split into three commits: the move, the new name, and the change of the discount.",
    ),
}
"""Sessions by id: the day, the prompt and the answer."""


def make_lines(session: str, folder: Path) -> list[str]:
    """Return the lines of the transcript of a session that began in a folder."""
    day, prompt, answer = SESSIONS[session]
    return [
        json.dumps(
            {
                "type": role, "uuid": f"{session[:8]}-u{number}", "timestamp": f"{day}T10:00:0{number}.000Z",
                "sessionId": session, "cwd": str(folder), "version": "2.1.0", "gitBranch": "main", "isSidechain": False,
                "message": {"role": role, "content": text if role == "user" else [{"type": "text", "text": text}]},
            }
        )
        for number, (role, text) in enumerate((("user", prompt), ("assistant", answer)))
    ]  # fmt: skip


def main() -> None:
    place = Path.home() / ".claude" / "projects" / str(Path.cwd()).replace("/", "-")
    place.mkdir(parents=True, exist_ok=True)
    for session in list(SESSIONS)[: None if sys.argv[1:] == ["all"] else 1]:
        (place / f"{session}.jsonl").write_text("\n".join([*make_lines(session, Path.cwd()), ""]))


if __name__ == "__main__":
    main()
