"""Command-line additions to the verbs of open loops: options that describe the check."""

from __future__ import annotations

from typing import Any

import click

from baton_git.core.records.check_methods import CHECK_METHODS
from baton_git.interfaces.cli.app import App, WholeNumber, path_from_top
from baton_git.interfaces.cli.verb_command import Addition, Values

WORDED_METHODS = ("http", "file_exists", "process_running", "port_open", "git_commit", "manual", "command")
"""The check methods whose options are declared in `CHECKS`."""
PLAIN_METHODS = tuple(method for method in CHECK_METHODS if method not in WORDED_METHODS)
"""All other check methods. Their options `--verify-METHOD` are generated from the registry."""


CHECKS = (
    click.argument("argv", nargs=-1, type=click.UNPROCESSED),
    click.option("--verify-http", metavar="URL", help="Check: a GET request to the URL succeeds."),
    click.option(
        "--status", type=WholeNumber(100, 599), help="With --verify-http: the HTTP status of success.  [200]"
    ),
    click.option("--verify-file", type=click.Path(readable=False), metavar="PATH", help="Check: the file exists."),
    click.option("--verify-process", metavar="NAME", help="Check: a process with this name is running."),
    click.option("--verify-port", metavar="HOST:PORT", help="Check: the port accepts TCP connections."),
    click.option(
        "--verify-commit", metavar="REV", help="Check: HEAD (or --branch) contains this commit, by id or subject."
    ),
    click.option("--branch", metavar="NAME", help="With --verify-commit: the branch to look in."),
    click.option("--verify-manual", metavar="NOTE", help="Check: a person does what this note says."),
    click.option(
        "--verify-command", is_flag=True, default=None,
        help="Check: the command after -- exits with 0. It runs only after baton trust.",
    ),
    *(
        click.option(f"--verify-{method.replace('_', '-')}", metavar=CHECK_METHODS[method].upper(), help="Check.")
        for method in PLAIN_METHODS
    ),
    click.option("--timeout", type=WholeNumber(1, 3600), help="Time limit of the check in seconds.  [5]"),
)  # fmt: skip
OPTIONS = (
    "status", "verify_http", "verify_file", "verify_process", "verify_port", "verify_commit", "branch", "verify_manual",
    "verify_command", "timeout", *(f"verify_{method}" for method in PLAIN_METHODS),
)  # fmt: skip


def _fill_check(app: App, values: Values) -> Values:
    """Add the field `verify` with the check that the options describe, if any."""
    options: dict[str, Any] = dict.fromkeys(OPTIONS) | {name: values[name] for name in OPTIONS if name in values}
    _refuse_empty(options)
    options["verify_file"] = path_from_top(app, options["verify_file"])
    spec = _verify_spec(values.get("argv", ()), options)
    return values | ({"verify": spec} if spec else {})


def _refuse_empty(options: dict[str, Any]) -> None:
    """Refuse an empty value of an option. It usually comes from an unset shell variable, and the check would pass."""
    for name, value in options.items():
        if name.startswith("verify_") and isinstance(value, str) and not value.strip():
            raise click.UsageError(f"--{name.replace('_', '-')} is empty")


def _verify_spec(argv: tuple[str, ...], options: dict[str, Any]) -> dict[str, Any]:
    """Return the check that the options describe; empty if they describe none.

    Raises:
        UsageError: the options describe several checks, or do not go together.
    """
    if bool(argv) != bool(options["verify_command"]):
        raise click.UsageError(
            "--verify-command needs a command after --, for example --verify-command -- pytest -q"
            if not argv
            else f"unexpected argument {argv[0]!r}"
        )
    specs = [
        {"method": "http", "url": options["verify_http"], "expected_status": options["status"]},
        {"method": "file_exists", "path": options["verify_file"]},
        {"method": "process_running", "process_name": options["verify_process"]},
        {"method": "port_open", **_host_and_port(options["verify_port"])},
        {"method": "git_commit", "commit": options["verify_commit"], "branch": options["branch"]},
        {"method": "manual", "note": options["verify_manual"]},
        {"method": "command", "argv": list(argv) or None},
        *({"method": method, CHECK_METHODS[method]: options[f"verify_{method}"]} for method in PLAIN_METHODS),
    ]
    chosen = [{name: value for name, value in spec.items() if value is not None} for spec in specs]
    chosen_specs = [
        spec for spec, full in zip(chosen, specs, strict=True) if full[CHECK_METHODS[str(full["method"])]] is not None
    ]
    if len(chosen_specs) > 1:
        raise click.UsageError("give one --verify-… option, not several")
    _check_goes_with(options, "status", "verify_http")
    _check_goes_with(options, "branch", "verify_commit")
    if not chosen_specs:
        _check_goes_with(options, "timeout", "verify")
        return {}
    return chosen_specs[0] | ({"timeout_seconds": options["timeout"]} if options["timeout"] else {})


def _check_goes_with(options: dict[str, Any], option: str, other: str) -> None:
    if options[option] is not None and options.get(other) is None:
        raise click.UsageError(f"--{option} goes with --{other.replace('_', '-')}{'-…' if other == 'verify' else ''}")


def _host_and_port(text: str | None) -> dict[str, Any]:
    if text is None:
        return {"port": None}
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or len(port) > 5 or not 0 < int(port) < 65536:
        raise click.UsageError(f"--verify-port {text!r}: give HOST:PORT, for example localhost:5432")
    return {"host": host.strip("[]") or "127.0.0.1", "port": int(port)}


ADDITIONS = {
    "loop add": Addition(CHECKS, fill=_fill_check),
}
