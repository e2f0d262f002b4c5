"""What the analyser knows after reading part of a transcript, as plain data that can be saved and resumed from.

A mark is `[turn, line, offset, time]`: the turn's number, and the position in the transcript.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

Mark = list[Any]
Table = dict[str, Any]

KEPT_ACTIVITY = 100
KEPT_DECISIONS = 50
KEPT_OPEN = 500
"""Maximum numbers of tool calls, of decisions of each kind, and of calls without a result that are remembered; the
newest are kept. Calls that never get a result are rare."""


@dataclass
class Findings:
    """The state of an analysis.

    Attributes:
        answers: number of replies and calls of the model.
        turn: number of turns so far; a turn is a transcript record that has content.
        at: line and offset of the last event.
        home: the folder in which the session started.
        ended: the time of the last event.
        goal, bare_goal: the first prompt, and the first command without arguments.
        kept_goal: the goal that the agent itself maintains, in its current form.
        open: calls without a result, by id.
        files: the mark of each file's last change, by path, ordered by that change.
        todos: the todo list as last written, each item with the id its tool gave it, or an empty id.
        early: status changes of todo items whose id is not known yet, by id.
        tasks: tasks of gobby-tasks by id, the most recently touched one last.
        tries: folders in which the session created repositories.
        last_shell: the last finished shell command that ran git: the id of its call, and what was kept of it.
        turns, turn_count: turns as `agents.turn_store` keeps them, as lists; and how many there were.
        last_answer: the last reply of the model.
        uses, touches: how much each file was used, by path; and the total number of uses.
        paths: for each file name, the path that was used last.
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
    last_answer: Table | None = None
    uses: dict[str, Table] = field(default_factory=dict)
    paths: dict[str, str] = field(default_factory=dict)
    touches: int = 0
    failures: dict[str, Table] = field(default_factory=dict)
    subagents: dict[str, Table] = field(default_factory=dict)

    def as_data(self) -> Table:
        return asdict(self)
