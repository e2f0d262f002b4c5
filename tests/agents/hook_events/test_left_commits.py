"""A commit stays in the repository when the person takes back the turn in which it was made."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hooked_sessions import NEW, OLD, Session, context


class TreeSession(Session):
    """A session whose records name the record before them."""

    def add(self, kind: str, content: Any, parent: str | None) -> str:
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self.say(kind, content, parentUuid=parent, timestamp=now)
        return f"{self.session}-{self.number}"

    def commit(self, git: Callable[..., str], name: str, parent: str) -> str:
        """Commit a file in a turn of its own; return its last record."""
        (self.repo / name).write_text("x = 1\n")
        git(self.repo, "add", name)
        git(self.repo, "commit", "-qm", f"Add {name}")
        made = git(self.repo, "rev-parse", "--short=7", "HEAD")
        asked = self.add("user", f"Write {name}", parent)
        call = {
            "type": "tool_use",
            "id": f"toolu_{name}",
            "name": "Bash",
            "input": {"command": f"git commit -m {name}"},
        }
        called = self.add("assistant", [call], asked)
        output = f"[main {made}] Add {name}\n 1 file changed"
        result = self.add("user", [{"type": "tool_result", "tool_use_id": call["id"], "content": output}], called)
        return self.add("assistant", [{"type": "text", "text": "Written."}], result)


@pytest.mark.parametrize("saved_before", [False, True])
@pytest.mark.parametrize("is_reset", [False, True])
def test_a_commit_of_a_turn_that_was_taken_back_is_told_as_that(
    hook, git, repo: Path, tmp_path, saved_before, is_reset
):
    session = TreeSession(tmp_path, repo)
    hook("SessionStart", source="startup")
    planned = session.add("assistant", [{"type": "text", "text": "Planned."}], session.add("user", "Plan it", None))
    kept = session.commit(git, "kept.py", planned)
    session.commit(git, "left.py", kept)
    if saved_before:
        hook("PreCompact", trigger="manual")
    if is_reset:
        git(repo, "reset", "-q", "--hard", "HEAD~1")
    asked = session.add("user", "Explain it instead", kept)
    session.add("assistant", [{"type": "text", "text": "Explained."}], asked)
    hook("SessionEnd", reason="other")
    told = context(hook("SessionStart", NEW, source="startup"))
    assert "Add kept.py\n" in told
    assert ("Add left.py (made in a turn that was taken back)\n" in told) == (not is_reset)
    assert ("left.py (changed, in a turn that was taken back)" in told) == (not is_reset)
    assert "left.py (seen by git only)" not in told
    assert OLD[:8] in told
