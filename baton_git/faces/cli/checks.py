"""`baton verify` and `baton trust`."""

from __future__ import annotations

from typing import Any

import click

from baton_git.faces.answers import checks as answers
from baton_git.faces.cli.app import SECONDS, App, at_terminal, command, shell_line
from baton_git.faces.cli.failing import FAILED, UNKNOWN
from baton_git.operations.checks import BUDGET, Verified, verify
from baton_git.operations.trust import approvals_of, command_of, distrust, pending_commands, trust


@command("verify")
@click.argument("ids", nargs=-1, metavar="[ID]…")
@click.option("--budget", type=SECONDS, default=BUDGET, show_default=True, help="Seconds for all together.")
def verify_all(app: App, ids: tuple[str, ...], budget: float) -> int | None:
    """Run the checks of open loops, side by side, and keep what they find as evidence.

    Exit status 1 when one failed, 5 when one could not be made.

    \b
    baton verify
    baton verify OL-7k3f9q --budget 3
    """
    with app.workspace() as ws:
        return tell_checks(app, verify(ws, app.now, ids, budget_seconds=budget))


def tell_checks(app: App, verified: Verified) -> int | None:
    """What the checks found, and the exit status that says it."""
    lines = [f"{id_}  {found.result}{f': {found.why}' if found.why else ''}" for id_, found in verified.found.items()]
    app.answer(answers.verified(verified), "\n".join(lines))
    if not verified.found:
        app.say("no open loop has a check that a probe can make")
    results = {found.result for found in verified.found.values()}
    return FAILED if "failed" in results else UNKNOWN if "unknown" in results else None


class _WithDashes(click.Command):
    """Remembers whether `--` was given: what follows it is a command, not an id."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta["is_command"] = "--" in args
        return super().parse_args(ctx, args)


@command("trust", cls=_WithDashes)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[ID | -- COMMAND…]")
@click.option("--revoke", is_flag=True, help="Take the approval back.")
@click.option("--list", "show", is_flag=True, help="What is approved here, and what waits for it.")
def trust_command(app: App, words: tuple[str, ...], revoke: bool, show: bool) -> int | None:
    """Approve a command that a check may run: exactly these arguments, in this repository, on this machine.

    The command of an ID is shown before it is approved; at a terminal you are asked.

    \b
    baton trust OL-7k3f9q
    baton trust -- pytest -q tests/parser
    baton trust --list
    """
    with app.workspace() as ws:
        if show or not words:
            _list(app, ws)
            return None
        is_command = click.get_current_context().meta["is_command"]
        if not is_command and len(words) > 1:
            raise click.UsageError("give one ID, or -- and the command")
        argv = words if is_command else command_of(ws, words[0])
        if not (is_command or revoke or _agreed(app, argv)):
            return _not_approved(app, argv)
        changed = distrust(ws, argv) if revoke else trust(ws, app.now, argv)
    _tell_trust(app, argv, revoke, changed)
    return None


def _agreed(app: App, argv: tuple[str, ...]) -> bool:
    """Shows the command, which somebody else may have written, and at a terminal asks."""
    app.say(f"it would run: {shell_line(argv)}")
    return not at_terminal() or click.confirm("Approve?", err=True)


def _not_approved(app: App, argv: tuple[str, ...]) -> int:
    app.answer({"argv": list(argv), "approved": False}, "")
    app.say("not approved")
    return FAILED


def _tell_trust(app: App, argv: tuple[str, ...], revoke: bool, changed: bool) -> None:
    state = "revoked" if revoke else "approved"
    app.answer({"argv": list(argv), state: changed}, "")
    already = {"revoked": "was not approved", "approved": "was approved already"}
    app.say(f"{state if changed else already[state]}: {shell_line(argv)}")


def _list(app: App, ws: Any) -> None:
    approved = approvals_of(ws).all()
    waiting = pending_commands(ws)
    data = {
        "approved": [{"argv": list(one.argv), "at": one.at} for one in approved],
        "waiting": {id_: list(argv) for id_, argv in waiting.items()},
    }
    lines = [f"approved  {shell_line(one.argv)}  ({one.at})" for one in approved]
    lines += [f"waiting   {shell_line(argv)}  (baton trust {id_})" for id_, argv in waiting.items()]
    app.answer(data, "\n".join(lines))
    if not lines:
        app.say("no command is approved here, and none waits for it")


COMMANDS = {"verify": verify_all, "trust": trust_command}
