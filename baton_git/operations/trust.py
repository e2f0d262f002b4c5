"""Which commands may run as checks on this machine."""

from __future__ import annotations

from datetime import datetime

from baton_git.approvals import Approvals
from baton_git.errors import InvalidArgument
from baton_git.operations.workspace import Workspace
from baton_git.records.baton import OpenLoop
from baton_git.times import iso


def approvals_of(ws: Workspace) -> Approvals:
    if ws.approvals is None:
        raise InvalidArgument("there is no place for approvals here", hint="work in a repository")
    return ws.approvals


def command_of(ws: Workspace, id_: str) -> tuple[str, ...]:
    """The argv that the check of an open loop would run."""
    loop = ws.branch.read().state.find(OpenLoop, id_)
    if loop.verify is None or loop.verify.method != "command" or not loop.verify.argv:
        raise InvalidArgument(f"open loop {loop.id} runs no command")
    return loop.verify.argv


def trust(ws: Workspace, now: datetime, argv: tuple[str, ...]) -> bool:
    """Approves exactly `argv` for this repository on this machine; False when it was approved already."""
    if not argv or not argv[0]:
        raise InvalidArgument("no command to approve", hint="baton trust ID, or baton trust -- PROGRAM ARGUMENT…")
    if any("\ud800" <= character <= "\udfff" for word in argv for character in word):
        raise InvalidArgument("the command is not UTF-8 text", hint="no record could hold it")
    return approvals_of(ws).add(argv, iso(now))


def distrust(ws: Workspace, argv: tuple[str, ...]) -> bool:
    """Takes an approval back; False when there was none."""
    return approvals_of(ws).revoke(argv)


def pending_commands(ws: Workspace) -> dict[str, tuple[str, ...]]:
    """By loop id, the commands that wait for approval."""
    approvals = approvals_of(ws)
    commands = {
        loop.id: loop.verify.argv
        for loop in ws.branch.read().state.records(OpenLoop)
        if loop.verify and loop.verify.method == "command" and loop.verify.argv
    }
    return {id_: argv for id_, argv in commands.items() if not approvals.holds(argv)}
