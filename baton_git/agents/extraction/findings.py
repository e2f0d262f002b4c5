"""What the analyser knows after reading a part of a transcript, as plain data that can be saved and loaded.

A mark is the list `[turn, line, offset, time]`: the number of a turn, and its position and time in the transcript. A
mark in a subagent's transcript has that file's name as a fifth item.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from baton_git import __version__
from baton_git.agents.events import EndReached, Position, Tally
from baton_git.agents.json_lines import open_transcript
from baton_git.agents.turn_store import keep_ends
from baton_git.core.errors import BatonError
from baton_git.core.redaction import redact
from baton_git.git.files.atomic_files import read_bytes, write_all

Mark = list[Any]
Table = dict[str, Any]

KEPT_ACTIVITY = 100
KEPT_DECISIONS = 50
KEPT_OPEN = 500
"""Maximum numbers of items that are remembered; the newest are kept. `KEPT_DECISIONS` applies separately to decisions
that were found by their wording and to all others; `KEPT_OPEN` applies to calls without a result."""


@dataclass
class Findings:
    """The state of an analysis.

    Attributes:
        answers: number of replies and calls of the model.
        turn: number of records with content so far, which Gobby calls turns.
        at: line and offset of the last event.
        home: the folder in which the session started.
        ended: the time of the last event.
        goal, bare_goal: the first prompt, and the first command without arguments.
        kept_goal: the current goal that the agent itself stores.
        open: calls without a result, by id.
        files: the mark of each file's last change, by path, ordered by that change.
        todos: the current todo list, each item with the id that its tool gave it, or an empty id.
        todos_at: the mark of the last change of the todo list; empty before the first one.
        early: changes of todo items that came before the result of the call that created the item, by id.
        tasks: tasks of gobby-tasks by id, the one that was used last at the end.
        tries: folders in which the session created repositories.
        last_shell: the last finished shell command with commits or new repositories: the id and the data of its call.
        turns, turn_count: the turns as `agents.turn_store` defines them, as lists; and how many there were in all.
        answer_marks: the mark of the last reply in a turn, by the number of the turn.
        left_subagents: the ids of the subagents of turns that are no longer on the path of the conversation.
        uses, touches: how much each file was used, by path; and the total number of uses.
        paths: for each file name without its folder, the path that was used last.
        subagents: findings of each subagent, by the name of its transcript.
        failures: the latest failure of each command, by the command's name.
    """

    session: str | None = None
    cwd: str | None = None
    home: str | None = None
    branch: str | None = None
    started: str | None = None
    ended: str | None = None
    answers: int = 0
    turn: int = 0
    at: tuple[int, ...] = (0, -1)
    goal: Table | None = None
    bare_goal: Table | None = None
    kept_goal: Table | None = None
    open: dict[str, Table] = field(default_factory=dict)
    activity: list[Table] = field(default_factory=list)
    files: dict[str, Mark] = field(default_factory=dict)
    todos: list[Table] = field(default_factory=list)
    todos_at: Mark = field(default_factory=list)
    early: dict[str, Table] = field(default_factory=dict)
    tasks: dict[str, Table] = field(default_factory=dict)
    commits: list[Table] = field(default_factory=list)
    tries: list[str] = field(default_factory=list)
    last_shell: Table = field(default_factory=dict)
    decisions: list[Table] = field(default_factory=list)
    compactions: int = 0
    turns: list[list[Any]] = field(default_factory=list)
    turn_count: int = 0
    answer_marks: dict[str, Mark] = field(default_factory=dict)
    left_subagents: list[str] = field(default_factory=list)
    uses: dict[str, Table] = field(default_factory=dict)
    paths: dict[str, str] = field(default_factory=dict)
    touches: int = 0
    failures: dict[str, Table] = field(default_factory=dict)
    subagents: dict[str, Table] = field(default_factory=dict)

    def as_data(self) -> Table:
        return asdict(self)


# --- commands that failed and did not succeed later: the next session probably has the same problem

MAX_FAILURES = 3
"""Maximum number of failures in a digest; the newest are kept."""
_KEPT = 20
_OUTPUT = 600
"""Maximum size in bytes of a failed command's output; `_COMMAND` is that of the command itself."""
_COMMAND = 200

_PARTS = re.compile(r"&&|\|\||[;|\n]")
_ASSIGNMENT = re.compile(r"\w+=\S*\Z")
_SHELL = re.compile(r"\s*(?:ba|z|da)?sh\s+-l?c\s+(['\"])(.*)\1\s*\Z", re.DOTALL)
_SUBSTITUTION = re.compile(r"\$\([^()]*\)")
_QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"")
_PLAIN = re.compile(r"[\w./@:=+-]+")
_CONFLICT = re.compile(
    r"^CONFLICT \(|Automatic merge failed|[Rr]esolve all conflicts|after resolving the conflicts", re.M
)
_CONCLUDING = re.compile(r"\bgit\b[^|;&\n]*\s(?:commit\b|--continue\b|--abort\b|--skip\b)")
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
    command = command[:2000]
    inner = _SHELL.match(command)
    if inner is not None:
        return name_command(inner[2])
    command = _QUOTED.sub(_hide_separators, _SUBSTITUTION.sub("_", command))
    for part in _PARTS.split(command):
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


def _hide_separators(quoted: re.Match[str]) -> str:
    """Return a quoted text if it is one plain word, else a word that stands for it."""
    return quoted[0][1:-1] if _PLAIN.fullmatch(quoted[0][1:-1]) else "_"


def note_outcome(known: Findings, name: str, command: str, output: str, mark: Mark, *, failed: bool) -> None:
    """Remove the earlier failure of a command of this name, and record the new failure if it `failed`."""
    known.failures.pop(name, None)
    if not failed and _CONCLUDING.search(command):  # a merge that stopped at a conflict was brought to its end
        for other in [other for other, failure in known.failures.items() if _CONFLICT.search(failure["text"])]:
            del known.failures[other]
    if failed:
        texts = {"command": keep_ends(command, _COMMAND), "text": keep_ends(output.strip(), _OUTPUT)}
        known.failures[name] = {**texts, "mark": mark}
        if len(known.failures) > _KEPT:
            del known.failures[next(iter(known.failures))]


# --- the file with the findings, so that the next reading continues where this one stopped

# A damaged file counts as missing. The file belongs to one transcript, identified by its path, its first bytes, and the
# bytes before the position that was reached. Secrets are redacted before the file is written.
VERSION = 8
_SAMPLE_SIZE = 4096
"""Number of bytes at the start and before the saved position that identify a transcript."""


_IDENTIFIER = re.compile(r"(?:result of )?(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|toolu_\w{1,40})\Z", re.ASCII)


class _Identifiers:
    """Ids of records and calls. They are not searched for secrets, as a long session has tens of thousands of them."""

    def __contains__(self, text: object) -> bool:
        return isinstance(text, str) and _IDENTIFIER.match(text) is not None


class ResumeState(NamedTuple):
    """The position that an earlier reading reached, and its findings."""

    end: EndReached
    known: Findings


def load_resume_state(file: Path, transcript: Path, agent: str) -> ResumeState | None:
    """Return the saved state of a transcript; None when it is missing, damaged, or of another transcript or version."""
    try:
        text = read_bytes(file)
        check, _, body = text.partition(b"\n")
        if check != sha256(body).hexdigest().encode():
            return None
        data = json.loads(body)
        if data["program"] != [VERSION, __version__] or [data["path"], data["agent"]] != [str(transcript), agent]:
            return None
        position = Position(*data["place"])
        if data["digest"] != _compute_digest(transcript, position.offset):
            return None
        return ResumeState(
            EndReached(position, data["unread"], data["reader"], Tally(*data["tally"])),
            Findings(**{**data["known"], "at": tuple(data["known"]["at"])}),
        )
    except (BatonError, ValueError, KeyError, TypeError):
        return None


def save_resume_state(file: Path, transcript: Path, agent: str, end: EndReached, known: dict[str, Any]) -> None:
    """Save the state of a reading, with secrets redacted. Raises WriteFailed when the file cannot be written."""
    reader, _ = redact(dict(end.memory), known=_Identifiers())
    known, _ = redact(known)
    data = {
        "program": [VERSION, __version__],
        "path": str(transcript),
        "agent": agent,
        "place": list(end.position),
        "unread": end.unread,
        "tally": list(end.tally),
        "digest": _compute_digest(transcript, end.position.offset),
        "reader": reader,
        "known": known,
    }
    body = json.dumps(data).encode()
    write_all({file: sha256(body).hexdigest().encode() + b"\n" + body}, mode=0o600)


def _compute_digest(transcript: Path, offset: int) -> str:
    with open_transcript(transcript) as file:
        first = file.read(min(_SAMPLE_SIZE, offset))
        file.seek(max(0, offset - _SAMPLE_SIZE))
        return sha256(first + file.read(min(_SAMPLE_SIZE, offset))).hexdigest()
