"""`baton loop`: add, verify, close."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from baton_git.interfaces.cli.app import App, command, group
from baton_git.interfaces.cli.checks import tell_checks
from baton_git.verbs.checks import verify
from baton_git.verbs.loops import add_loop, close_loop, settle_loop


@command("add", short_help="Note something done whose outcome must be checked.")
@click.argument("action")
@click.argument("argv", nargs=-1, type=click.UNPROCESSED)
@click.option("--expect", required=True, metavar="OUTCOME", help="What must be true if it worked.")
@click.option("--ttl-days", type=click.IntRange(0), help="Days until it is escalated if nobody could verify it.  [7]")
@click.option("--verify-http", metavar="URL", help="Check: GET the address.")
@click.option(
    "--status", type=click.IntRange(100, 599), help="With --verify-http: the status that means success.  [200]"
)
@click.option("--verify-file", metavar="PATH", help="Check: the file exists.")
@click.option("--verify-process", metavar="NAME", help="Check: a process of this name runs.")
@click.option("--verify-port", metavar="HOST:PORT", help="Check: something listens there.")
@click.option("--verify-commit", metavar="REV", help="Check: a commit, by id or subject, is on HEAD (or --branch).")
@click.option("--branch", metavar="NAME", help="With --verify-commit: the branch it must be on.")
@click.option("--verify-manual", metavar="NOTE", help="Check: a person looks at this.")
@click.option("--verify-command", is_flag=True, help="Check: the command after -- exits with 0; needs baton trust.")
@click.option("--timeout", type=click.IntRange(1, 3600), help="Seconds that the check may take.  [5]")
@click.option("--decision", metavar="ID", help="The decision that this follows from.")
@click.option("--id", "id_", metavar="ID", help="An id of your own instead of a fresh one.")
def add(app: App, action: str, argv: tuple[str, ...], expect: str, **options: Any) -> None:
    """Note something done whose outcome must be checked.

    \b
    baton loop add "Deployed X" --expect "health is 200" --verify-http http://localhost:8080/health
    baton loop add "Fixed the parser" --expect "tests pass" --verify-command -- pytest -q tests/parser
    """
    _refuse_empty(options)
    options["verify_file"] = _from_the_top(app, options["verify_file"])
    verify_spec = _verify_spec(argv, options)
    with app.workspace() as ws:
        made = add_loop(
            ws, app.now, action=action, expect=expect, verify=verify_spec,
            ttl_days=options["ttl_days"], decision=options["decision"], id_=options["id_"],
        )  # fmt: skip
    app.made(made)
    if argv:
        app.say(f"the command runs only after: baton trust {made.id}")


def _refuse_empty(options: dict[str, Any]) -> None:
    """An empty value is a variable that was not set: it asks for no check, and must not pass one."""
    for name, value in options.items():
        if name.startswith("verify_") and isinstance(value, str) and not value.strip():
            raise click.UsageError(f"--{name.replace('_', '-')} is empty")


def _from_the_top(app: App, path: str | None) -> str | None:
    """A path as it is from the top of the work tree, where checks look, and not from where we stand."""
    top = app.settings.folder
    if path is None or top is None or Path(path).is_absolute():
        return path
    return os.path.relpath(Path.cwd() / path, top)


def _verify_spec(argv: tuple[str, ...], options: dict[str, Any]) -> dict[str, Any]:
    """The check that the options ask for; at most one."""
    if bool(argv) != options["verify_command"]:
        raise click.UsageError(
            "--verify-command needs the command after --" if not argv else f"unexpected argument {argv[0]!r}"
        )
    specs = [
        {"method": "http", "url": options["verify_http"], "expected_status": options["status"]},
        {"method": "file_exists", "path": options["verify_file"]},
        {"method": "process_running", "process_name": options["verify_process"]},
        {"method": "port_open", **_host_and_port(options["verify_port"])},
        {"method": "git_commit", "commit": options["verify_commit"], "branch": options["branch"]},
        {"method": "manual", "note": options["verify_manual"]},
        {"method": "command", "argv": list(argv) or None},
    ]
    chosen = [{name: value for name, value in spec.items() if value is not None} for spec in specs]
    asked = [spec for spec, full in zip(chosen, specs, strict=True) if full[_MAIN[str(full["method"])]] is not None]
    if len(asked) > 1:
        raise click.UsageError("give one --verify-… option, not several")
    _need(options, "status", "verify_http")
    _need(options, "branch", "verify_commit")
    if not asked:
        _need(options, "timeout", "verify")
        return {}
    return asked[0] | ({"timeout_seconds": options["timeout"]} if options["timeout"] else {})


_MAIN = {
    "http": "url",
    "file_exists": "path",
    "process_running": "process_name",
    "port_open": "port",
    "git_commit": "commit",
    "manual": "note",
    "command": "argv",
}


def _need(options: dict[str, Any], option: str, other: str) -> None:
    if options[option] is not None and options.get(other) is None:
        raise click.UsageError(f"--{option} goes with --{other.replace('_', '-')}{'-…' if other == 'verify' else ''}")


def _host_and_port(text: str | None) -> dict[str, Any]:
    if text is None:
        return {"port": None}
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or len(port) > 5 or not 0 < int(port) < 65536:
        raise click.UsageError(f"--verify-port {text!r}: give HOST:PORT, for example localhost:5432")
    return {"host": host.strip("[]") or "127.0.0.1", "port": int(port)}


@command("verify", short_help="Check one loop, or say what you found.")
@click.argument("id_", metavar="ID")
@click.option("--passed", is_flag=True, help="You looked, and the outcome is as expected.")
@click.option("--failed", is_flag=True, help="You looked, and it is not.")
@click.option("--note", metavar="TEXT", help="With --passed or --failed: what you saw.")
def verify_one(app: App, id_: str, passed: bool, failed: bool, note: str | None) -> int | None:
    """Run the check of one loop; or say what a person or agent found out.

    \b
    baton loop verify OL-7k3f9q
    baton loop verify OL-7k3f9q --passed --note "page loads"
    """
    if passed and failed:
        raise click.UsageError("give --passed or --failed, not both")
    if note is not None and not (passed or failed):
        raise click.UsageError("--note goes with --passed or --failed")
    with app.workspace() as ws:
        if not (passed or failed):
            return tell_checks(app, verify(ws, app.now, [id_]))
        app.made(settle_loop(ws, app.now, id_, "passed" if passed else "failed", note=note))
    return None


@command("close", short_help="Put a loop into the archive.")
@click.argument("id_", metavar="ID")
@click.option("--reason", default="closed", metavar="TEXT", help="Why; kept with it.")
def close(app: App, id_: str, reason: str) -> None:
    """Put a loop into the archive, whatever its status.

    \b
    baton loop close OL-7k3f9q --reason "the service is gone"
    """
    with app.workspace() as ws:
        app.made(close_loop(ws, app.now, id_, reason=reason))


COMMANDS = {"loop": group("loop", "Open loops: things done whose outcome must be checked.", [add, verify_one, close])}
