"""Record the commands that failed and did not succeed later: the next session probably has the same problem."""

from __future__ import annotations

import re

from baton_git.agents.extraction.findings import Findings, Mark
from baton_git.agents.turn_store import keep_ends

MAX_FAILURES = 3
"""Maximum number of failures in a digest; the newest are kept."""
_KEPT = 20
_OUTPUT = 600
"""Maximum size in bytes of a failed command's output; `_COMMAND` is that of the command itself."""
_COMMAND = 200

_PARTS = re.compile(r"&&|\|\||[;|\n]")
_ASSIGNMENT = re.compile(r"\w+=\S*\Z")
_INSPECTING_PROGRAMS = frozenset(
    {
        "[", "[[", "ag", "awk", "basename", "baton", "cat", "cd", "command", "cut", "diff", "dirname", "du", "echo",
        "env", "export", "false", "file", "find", "grep", "head", "jq", "kill", "ls", "ps", "pwd", "read", "realpath",
        "rg", "sed", "sleep", "sort", "stat", "tail", "test", "tree", "true", "type", "uniq", "wc", "which", "xargs",
    }
)  # fmt: skip
"""Programs whose failure says little; most of them only inspect something, and fail if nothing is found."""
_INSPECTING_GIT_COMMANDS = frozenset(
    {
        "blame", "branch", "cat-file", "check-ignore", "diff", "grep", "log", "ls-files", "merge-base", "rev-parse",
        "show", "status",
    }
)  # fmt: skip


def name_command(command: str) -> str | None:
    """Return program and first argument of a command line (`go test`); None when it only inspects something.

    Programs that only inspect something are skipped, and so are options before the argument.
    """
    for part in _PARTS.split(command[:2000]):
        words = part.split()
        while words and (_ASSIGNMENT.match(words[0]) or words[0] in ("sudo", "time", "(", "timeout")):
            words.pop(0)
        if not words or words[0].rpartition("/")[2] in _INSPECTING_PROGRAMS:
            continue
        follower = next((word for word in words[1:] if not word.startswith("-")), "")
        if words[0] == "git" and follower in _INSPECTING_GIT_COMMANDS:
            continue
        return f"{words[0]} {follower}".rstrip()
    return None


def note_outcome(known: Findings, name: str, command: str, output: str, mark: Mark, *, failed: bool) -> None:
    """Remove the earlier failure of a command of this name, and record the new failure if it `failed`."""
    known.failures.pop(name, None)
    if failed:
        texts = {"command": keep_ends(command, _COMMAND), "text": keep_ends(output.strip(), _OUTPUT)}
        known.failures[name] = {**texts, "mark": mark}
        if len(known.failures) > _KEPT:
            del known.failures[next(iter(known.failures))]
