"""What the analyser knows after reading a part of a transcript, as plain data that can be saved and loaded.

A mark is the list `[turn, line, offset, time]`: the number of a turn, and its position and time in the transcript. A
mark in a subagent's transcript has that file's name as a fifth item.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from baton_git import __version__
from baton_git.agents.events import EndReached, Position, Tally
from baton_git.agents.json_lines import open_transcript
from baton_git.agents.transcripts import CLOSED_STATUSES, TodoChange, ToolOutcome, ToolTodo
from baton_git.agents.turn_store import keep_ends
from baton_git.core.errors import BatonError
from baton_git.core.redaction import redact
from baton_git.git.files.atomic_files import read_bytes, write_all

Mark = list[Any]
Table = dict[str, Any]

KEPT_ACTIVITY = 100
KEPT_DECISIONS = 50
KEPT_LEFT = 50
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
        left_commits: the ids of the commits that were known before such turns were left, those on the path included.
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
    left_commits: list[str] = field(default_factory=list)
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
VERSION = 9
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


# --- files, ranked by how much and how recently they were used
# Each use adds a weight, and a weight halves after every `_HALF_LIFE` uses of any file. So a file that was edited
# often or just now ranks above one that was read once, long ago.

CHANGED, READ, NAMED = 4.0, 2.0, 0.5
"""Weights of a successful change, of reading the file, and of its name in a text."""
MAX_USES = 40
"""Maximum number of files in a digest."""
MAX_NAMES = 16
"""Maximum number of identifiers that characterise one piece of code."""
_NAMES, _NAMES_PER_CHANGE, _MOST_NAMES = 8, 2, 32
"""Maximum number of identifiers listed with one file: this many, as many more for each change, at most so many. Of a
file that was changed 14 times, the names in the last two changes do not say what was done."""
_MOST_DROPPED = 64
_HALF_LIFE = 40.0
"""Number of later uses after which a use counts half."""
_KEPT_USES = 200
_KEPT_PATHS = 500
_MOST_FAILED = 8
"""Maximum number of names in the output of a failed command that count; more are a list, such as one of all tests."""
_SCANNED = 1000
"""Number of characters at each end of a text that are searched for file names."""

_ENDINGS = (
    "c|cc|cfg|conf|cpp|cs|css|cue|dart|ex|exs|go|gradle|h|hpp|hs|htm|html|ini|java|js|json|jsx|kt|kts|lua|m|md|mjs|mk|ml"
    "|nix|php|pl|proto|ps1|py|pyi|r|rb|rs|rst|sass|scala|scss|sh|sol|sql|svelte|swift|tf|toml|ts|tsx|txt|vue|xml|yaml"
    "|yml|zig|zsh"
)
_FILE = re.compile(rf"(?<![\w./@~-])((?:~?/|\.{{1,2}}/)?(?:[\w.@+-]+/)*[\w.@+-]*\w\.(?:{_ENDINGS}))(?![\w/-]|\.\w)")
_WORD = re.compile(r"""[^ \t\r\n:;,'"()\[\]{}<>|=*&^%$#!?`\\]+""")
"""A word that may contain a file name. Searching each distinct word takes a third of the time
that searching the text takes."""
_EXPANSION = re.compile(r"""["']?\$(?:\{[^{}\n]{0,200}\}|\([^()\n]{0,200}\)|\w+)["']?[\w./@+*-]*""")
_DEFINED = re.compile(
    r"^[ \t+]*(?:(?:export|default|public|private|protected|internal|static|async|abstract|final|pub(?:\([a-z]+\))?"
    r"|unsafe|override|open|suspend|inline)[ \t]+)*(?:def|class|func(?:[ \t]*\([^)\n]*\))?|function\*?|fn|fun|interface"
    r"|struct|trait|enum|type|module|impl)[ \t]+([A-Za-z_][\w.]*)",
    re.MULTILINE,
)

_ABSENT = re.compile(
    r"^.*(?:\b(?:Path|File|Directory) does not exist\b|\bNo such file or directory\b).*$", re.MULTILINE
)
"""A line of a failed call that names a file because there is none: a wrong guess is no file of the session."""
_NAME = re.compile(r"\b(?:[A-Za-z][a-z0-9]*(?:[A-Z]+[a-z0-9]+)+|[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+)\b")


def use_file(
    known: Findings, path: str, weight: float, *, found: str = "transcript", names: Iterable[str] = ()
) -> None:
    """Count one use of a file.

    Args:
        found: where the use was found: in the session's own `transcript`, or in the work of a `subagent`.
        names: identifiers to list with the file.
    """
    known.touches += 1
    use = known.uses.pop(path, None) or {"score": 0.0, "at": known.touches, "changes": 0, "reads": 0, "names": []}
    use["score"] = _compute_score(use, known.touches) + weight
    use["at"] = known.touches
    use["changes"] += weight == CHANGED
    use["reads"] += weight == READ
    use.setdefault("found", found)
    if found == "transcript" and weight > NAMED:
        use["found"] = found
    use["gone"] = bool(use.get("gone")) and weight <= NAMED
    most = min(_NAMES + _NAMES_PER_CHANGE * use["changes"], _MOST_NAMES)
    use["names"] = list(dict.fromkeys([*names, *use["names"]]))[:most]
    known.uses[path] = use
    known.paths[path.rpartition("/")[2]] = path
    if len(known.uses) > 2 * _KEPT_USES:
        ranked = sorted(known.uses, key=lambda path: -_compute_score(known.uses[path], known.touches))
        kept = set(ranked[:_KEPT_USES])
        known.uses = {path: use for path, use in known.uses.items() if path in kept}
        known.paths = {name: path for name, path in known.paths.items() if path in kept}


def note_removals(known: Findings, removed: Iterable[str]) -> None:
    """Remember that files are gone, until a later change or reading of them; other paths than used ones are ignored."""
    for path in removed:
        if path in known.uses:
            known.uses[path]["gone"] = True


def note_restoring(known: Findings) -> None:
    """Forget which files are gone, because git may have brought any of them back."""
    for use in known.uses.values():
        use["gone"] = False


def name_files(known: Findings, text: str, found: str = "transcript") -> None:
    """Count one use of each file named in a text. A relative name means the last used path that ends with it."""
    for name in find_file_names(text):
        use_file(known, _resolve_name(known, name), NAMED, found=found)


def name_printed_files(known: Findings, text: str, found: str = "transcript", *, failed: bool = False) -> None:
    """Count one use of each file named in the output of a command, if the session named or used it before, or if the
    command failed and its output is no long list.

    Other files were not worked with: of 206 files that only outputs named in 24 real sessions, the next session used
    two. Their paths are remembered, in case that a later text names them.
    """
    names = find_file_names(_ABSENT.sub("", text) if failed else text)
    counts_all = failed and len(names) <= _MOST_FAILED
    for name in names:
        path = _resolve_name(known, name)
        if counts_all or path in known.uses:
            use_file(known, path, NAMED, found=found)
        else:
            known.paths.setdefault(path.rpartition("/")[2], path)
            if len(known.paths) > _KEPT_PATHS:
                del known.paths[next(iter(known.paths))]


def find_file_names(text: str) -> list[str]:
    """Return the distinct file names in the first and last `_SCANNED` characters of a text.

    A path that a shell completes (`$DIR/a.py`) names no file.
    """
    if len(text) > 2 * _SCANNED:
        text = f"{text[:_SCANNED]}\n{text[-_SCANNED:]}"
    if "$" in text:
        text = _EXPANSION.sub(" ", text)
    words = (word for word in dict.fromkeys(_WORD.findall(text)) if "." in word)
    names = dict.fromkeys(name for word in words for name in _FILE.findall(word))
    if "diff --git " in text:  # a diff names each file twice, below `a/` and `b/`
        names = dict.fromkeys(name[2:] if name[:2] in ("a/", "b/") else name for name in names)
    return list(names)


def find_names(text: str) -> list[str]:
    """Return the identifiers that characterise a piece of code.

    They are the functions and types that it defines, then its most frequent compound names (`parse_line`, `parseLine`).
    """
    text = text[: 16 * _SCANNED]
    most_often = [name for name, _ in Counter(_NAME.findall(text)).most_common(MAX_NAMES)]
    return list(dict.fromkeys([*_DEFINED.findall(text), *most_often]))[:MAX_NAMES]


def find_dropped_names(replaced: str, written: str) -> list[str]:
    """Return the identifiers in the replaced text that are not in the text written instead, at most `_MOST_DROPPED`."""
    if not replaced:
        return []
    before = [*_DEFINED.findall(replaced[: 16 * _SCANNED]), *_NAME.findall(replaced[: 16 * _SCANNED])]
    after = {*_DEFINED.findall(written), *_NAME.findall(written)}
    return [name for name in dict.fromkeys(before) if name not in after][:_MOST_DROPPED]


def forget_names(known: Findings, path: str, dropped: Collection[str]) -> None:
    """Do not list with a file the identifiers that a later change took out again, such as those of debug output."""
    use = known.uses.get(path)
    if use is not None and dropped:
        use["names"] = [name for name in use["names"] if name not in dropped]


def rank_uses(known: Findings, uses: Mapping[str, Table] | None = None) -> list[tuple[str, Table]]:
    """Return the files of `uses` (by default those of `known`) with their uses, the highest ranked first."""
    now = known.touches
    items = (known.uses if uses is None else uses).items()
    return sorted(items, key=lambda item: (-_compute_score(item[1], now), -item[1]["at"]))


def _compute_score(use: Table, touches: int) -> float:
    score: float = use["score"] * 0.5 ** ((touches - use["at"]) / _HALF_LIFE)
    return score


def _resolve_name(known: Findings, name: str) -> str:
    """Return the last used path that ends with `name`, or `name` itself when there is none."""
    if name.startswith("/") or name in known.uses:
        return name
    path = known.paths.get(name.rpartition("/")[2], "")
    return path if path.endswith("/" + name.removeprefix("./")) else name


# --- the todo list and the tasks, which calls replace as a whole or change item by item


def update_lists(known: Findings, waiting: Table, outcome: ToolOutcome) -> None:
    """Apply the todo list, todo change or task of a call (as kept in `waiting`), or the list in its result."""
    if outcome.todos is not None:
        _replace_todos(known, outcome.todos, waiting["mark"])
    elif "todos" in waiting:
        _replace_todos(known, [ToolTodo(*todo) for todo in waiting["todos"]], waiting["mark"])
    elif "change" in waiting:
        change = TodoChange(*waiting["change"])
        _change_todo(known, change._replace(id=change.id or outcome.id), waiting, is_new=change.id is None)
    elif "task" in waiting:
        action, number, title, status, description = waiting["task"]
        number = number or outcome.id or title
        before = known.tasks.pop(number, {})
        fields = {"title": title, "status": status, "description": description}
        new = {name: text for name, text in fields.items() if text is not None}
        known.tasks[number] = {**before, **new, "action": action, "mark": waiting["mark"]}


def _replace_todos(known: Findings, todos: Any, mark: Mark) -> None:
    """Replace the whole todo list. Unchanged items keep their marks."""
    marks = {(todo["id"], todo["content"], todo["status"]): todo["mark"] for todo in known.todos}
    known.todos = [{**todo._asdict(), "mark": marks.get((todo.id, todo.content, todo.status), mark)} for todo in todos]
    known.todos_at = list(mark)


def _change_todo(known: Findings, change: TodoChange, waiting: Table, *, is_new: bool) -> None:
    number, order = change.id or "", waiting["mark"][0]
    item = next((todo for todo in known.todos if todo["id"] == number), None) if number else None
    if item is None and is_new:
        item = {"id": number, "content": "", "status": "pending", "mark": []}
        known.todos.append(item)
    if item is None:
        # The change came before the result of the call that created the item.
        known.early[number] = {"content": change.content, "status": change.status, "mark": waiting["mark"]}
        return
    _set_todo(known, item, change.content, change.status, waiting["mark"])
    early = known.early.pop(number, None)
    if early:
        _set_todo(known, item, early["content"], early["status"], early["mark"])
    if is_new:
        item["order"] = order
        item["made"] = waiting["mark"]
    known.todos.sort(key=_get_todo_order)
    known.todos_at = max(known.todos_at, list(waiting["mark"]), key=lambda mark: mark[:1])


def _set_todo(known: Findings, item: Table, content: str | None, status: str | None, mark: Mark) -> None:
    item["content"] = content or item["content"]
    item["status"] = status or item["status"]
    item["mark"] = list(mark)
    if item["status"] == "deleted":
        known.todos.remove(item)


def _get_todo_order(item: Table) -> tuple[int, float]:
    """Return the sort key of a todo item: its numeric id, or else the turn in which it was created."""
    number = item["id"]
    return (0, int(number)) if number.isdecimal() and len(number) < 10 else (1, item.get("order", 0))


def is_closed(task: Table) -> bool:
    return task.get("status") in CLOSED_STATUSES
