"""`baton trust`, and the output of `baton verify`."""

from __future__ import annotations

from typing import Any

import click

from baton_git.core.errors import NeedsHuman
from baton_git.core.output import flat, shell_line, terminal_line
from baton_git.core.records.work_items import VerifySpec
from baton_git.git.remotes.error_messages import mask_logins
from baton_git.interfaces.cli.app import App, at_terminal, command
from baton_git.interfaces.cli.common_command import CommonCommand, find_completer
from baton_git.interfaces.cli.error_handler import FAILED
from baton_git.interfaces.cli.printing import agrees
from baton_git.namespace.remote_selection import find_remote_url
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.verification.consent import approve_check, find_loop_with_check, list_waiting_checks, revoke_check
from baton_git.verbs.verification.trust import distrust, distrust_remote, require_approvals, trust, trust_remote


class _WithDashes(CommonCommand):
    """A command that records whether `--` was given: the words after it are a command, not an id."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta["is_command"] = "--" in args
        return super().parse_args(ctx, args)


@command("trust", cls=_WithDashes)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[ID | -- COMMAND…]")
@click.option(
    "--from", "remote", metavar="REMOTE", shell_complete=find_completer("remote", "trust"),
    help="Approve this remote. The approval ends when its URL changes.",
)  # fmt: skip
@click.option("--yes", is_flag=True, help="Approve without asking; required without a terminal.")
@click.option("--revoke", is_flag=True, help="Withdraw the approval.")
@click.option("--list", "show", is_flag=True, help="List what is approved, and what is waiting for approval.")
def trust_command(
    app: App, words: tuple[str, ...], remote: str | None, yes: bool, revoke: bool, show: bool
) -> int | None:
    """Approve a check, a command or a remote, for this repository on this machine.

    A command, and a check that was written elsewhere, run here only after you approve them. ID approves the check of
    that open loop, and -- COMMAND a command with exactly these arguments. --from accepts the checks from a remote, and
    the confirmations that people gave there; its commands still need an approval.

    Except for -- COMMAND, baton trust asks for confirmation at a terminal. Without a terminal, it needs --yes.

    \b
    baton trust OL-7k3f9q
    baton trust -- pytest -q tests/parser
    baton trust --from origin
    baton trust --list
    """
    is_command = click.get_current_context().meta["is_command"]
    if (remote is not None and words) or (not is_command and len(words) > 1):
        raise click.UsageError("give one ID, or -- and the command, or --from REMOTE")
    if (yes or revoke) and not (show or words or remote is not None):
        raise click.UsageError(
            "give an ID, -- and a command, or --from REMOTE; to list all of them: baton trust --list"
        )
    with app.workspace() as ws:
        if show or (remote is None and not words):
            _list_approvals(app, ws)
            return None
        if remote is not None:
            return _trust_remote(app, ws, remote, yes=yes, revoke=revoke)
        if is_command:
            return _trust_command(app, ws, words, yes=yes, revoke=revoke)
        return _trust_check(app, ws, words[0], yes=yes, revoke=revoke)


def _trust_command(app: App, ws: Workspace, argv: tuple[str, ...], *, yes: bool, revoke: bool) -> int | None:
    if not (revoke or _confirm_approval(app, f"the command: {shell_line(argv)}", yes=yes, typed=True)):
        return _answer_not_approved(app, {"argv": list(argv), "approved": False})
    changed = distrust(ws, argv) if revoke else trust(ws, app.now, argv)
    _tell_trust(app, {"argv": list(argv)}, shell_line(argv), revoke, changed)
    return None


def _trust_check(app: App, ws: Workspace, id_: str, *, yes: bool, revoke: bool) -> int | None:
    """Approve the check of an open loop, or withdraw its approval. If the check runs a command, approve the command."""
    loop, verify = find_loop_with_check(ws, id_)
    data = {"argv": list(verify.argv)} if verify.argv else {"id": loop.id, "check": verify.as_data()}
    if not (revoke or _confirm_approval(app, f"the check of {flat(loop.id)} would {_describe_check(verify)}", yes=yes)):
        return _answer_not_approved(app, {**data, "approved": False})
    changed = revoke_check(ws, loop.id) if revoke else approve_check(ws, app.now, loop.id, verify)
    _tell_trust(app, data, _describe_waiting(verify), revoke, changed)
    return None


def _describe_check(verify: VerifySpec) -> str:
    """Return a check on one line: `run: COMMAND`, or `check: http url=…`."""
    if verify.argv:
        return f"run: {shell_line(verify.argv)}"
    details = {name: value for name, value in verify.as_data().items() if name != "method"}
    return (
        f"check: {verify.method} {' '.join(f'{name}={terminal_line(str(value))}' for name, value in details.items())}"
    )


def _trust_remote(app: App, ws: Workspace, remote: str, *, yes: bool, revoke: bool) -> int | None:
    shown = (
        flat(mask_logins(remote))
        if revoke
        else f"{flat(mask_logins(remote))} ({flat(mask_logins(find_remote_url(ws, remote)))})"
    )
    data = {"remote": mask_logins(remote)}
    if not (
        revoke
        or _confirm_approval(
            app,
            f"confirmations and checks from {shown} would be accepted here; commands from it still need an approval",
            yes=yes,
        )
    ):
        return _answer_not_approved(app, {**data, "approved": False})
    changed = distrust_remote(ws, remote) if revoke else trust_remote(ws, app.now, remote)
    _tell_trust(app, data, shown, revoke, changed)
    return None


def _confirm_approval(app: App, subject: str, *, yes: bool, typed: bool = False) -> bool:
    """Show what would be approved, and ask a person to confirm it.

    Args:
        yes: whether `--yes` is given.
        typed: whether the arguments contain all of what is approved, so that a person at a terminal is not asked.

    Returns:
        Whether it is confirmed.

    Raises:
        NeedsHuman: there is no terminal and no `--yes`, or an agent is known to be acting.
    """
    app.say(subject)
    app.refuse_agents("a person must approve it, with the same command at a terminal of their own")
    if yes:
        return True
    if not at_terminal():
        raise NeedsHuman(
            "there is no terminal for the confirmation, so nothing was approved",
            hint="read what would be approved, then add --yes",
        )
    return typed or agrees("Approve?")


def _answer_not_approved(app: App, data: dict[str, Any]) -> int:
    app.answer(data, "")
    app.say("not approved")
    return FAILED


def _tell_trust(app: App, data: dict[str, Any], subject: str, revoke: bool, changed: bool) -> None:
    state = "revoked" if revoke else "approved"
    app.answer({**data, state: changed}, "")
    already = {"revoked": "was not approved", "approved": "already approved"}
    app.say(f"{state if changed else already[state]}: {subject}")


def _list_approvals(app: App, ws: Workspace) -> None:
    approvals = require_approvals(ws)
    approved, remotes, earlier = approvals.commands(), approvals.remotes(), approvals.earlier_commands()
    checks = [check for check in approvals.checks() if check.namespace == str(ws.branch.namespace)]
    waiting = list_waiting_checks(ws)
    data = {
        "approved": [{"argv": list(approval.argv), "at": approval.at} for approval in approved],
        "checks": [{"id": check.id, "at": check.at} for check in checks],
        "remotes": [{"name": remote.name, "url": mask_logins(remote.url), "at": remote.at} for remote in remotes],
        "waiting": {id_: list(verify.argv) for id_, (verify, _) in waiting.items() if verify.argv},
        "waiting_checks": {id_: {"check": verify.as_data(), "why": why} for id_, (verify, why) in waiting.items()},
        "earlier": [list(argv) for argv in earlier],
    }
    lines = [f"approved  {shell_line(approval.argv)}  ({approval.at})" for approval in approved]
    lines += [f"approved  check of {terminal_line(check.id)}  ({check.at})" for check in checks]
    lines += [
        f"approved  remote {flat(remote.name)}  {flat(mask_logins(remote.url))}  ({remote.at})" for remote in remotes
    ]
    lines += [
        f"waiting   {_describe_waiting(verify)}  (baton trust {terminal_line(id_)})"
        for id_, (verify, _) in waiting.items()
    ]
    lines += [f"earlier   {shell_line(argv)}  (baton trust -- {shell_line(argv)})" for argv in earlier]
    app.answer(data, "\n".join(lines))
    if not lines:
        app.say("nothing is approved here, and nothing waits for approval")
    if earlier:
        app.say("earlier: approved by an older version of baton, no longer valid; approve again what you still need")


def _describe_waiting(verify: VerifySpec) -> str:
    return shell_line(verify.argv) if verify.argv else _describe_check(verify)


COMMANDS = {"trust": trust_command}
