"""What is known of a session after a part of its transcript: plain data, so that it can be kept and gone on with.

A mark is `[turn, line, offset, time]`: where something stands, and in the how-manieth turn.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

Mark = list[Any]
Table = dict[str, Any]

KEPT_ACTIVITY = 100
KEPT_DECISIONS = 50
KEPT_OPEN = 500
"""The newest that are remembered; calls that never got a result are few."""


@dataclass
class Findings:
    """Everything that is known.

    Attributes:
        answers: replies and calls of the model.
        turn: how many there were; a turn is a record with something in it.
        at: line and offset of the last event.
        home: the folder that the session began in.
        ended: when the last event was, as far as the transcript goes.
        goal, bare_goal: the first prompt, and the first command without arguments.
        kept_goal: what the agent itself keeps as the aim, as it is now.
        open: by id, calls without a result.
        files: by path, the mark of the last change, in the order of these.
        todos: the list as it was written whole, each item with the id of its keeper, or empty.
        tasks: by id, tasks of gobby-tasks, the one touched last at the end.
        tries: folders in which the session made repositories.
        last_shell: the makings of the last command that has ended, by the id of its call.
        turns, turn_count: what `agents.turn_store` keeps of each turn, as lists; and how many there were.
        last_answer: the last reply of the model.
        uses, touches: by path, how much each file was used; and how many uses there were.
        paths: by the name of a file, the path of the one that was used last.
        subagents: by the name of its transcript, what is known of each subagent.
        failures: by the name of a command, how it failed the last time that it ran.
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
