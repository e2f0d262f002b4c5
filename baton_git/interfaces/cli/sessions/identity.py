"""Command-line additions to the verbs of identities (PAIF): a file, the exit status of a check, and the output."""

from __future__ import annotations

import functools
from typing import Any

import click

from baton_git.core.errors import BatonError, StoreError
from baton_git.interfaces.cli.app import group
from baton_git.interfaces.cli.error_handler import FAILED, UNKNOWN, report_error
from baton_git.interfaces.cli.lazy import make_list_command
from baton_git.interfaces.cli.verb_command import verb_command
from baton_git.verbs.table import verbs_of


def exit_unknown_on_errors(check: click.Command) -> click.Command:
    """Make a command exit with 5 instead of 1 after an error, because status 1 means that its check failed."""
    run = check.callback
    assert run is not None

    @functools.wraps(run)
    def run_check(**values: Any) -> int | None:
        try:
            return run(**values)  # type: ignore[no-any-return]  # a callback of click
        except BatonError as error:
            status = report_error(error)
            return UNKNOWN if status == FAILED else status
        except OSError as error:
            report_error(StoreError(f"{error.filename or 'the repository'}: {error.strerror or error}"))
            return UNKNOWN

    check.callback = run_check
    return check


DERIVED = {name: verb_command(verb) for name, verb in verbs_of("identity").items()}
exit_unknown_on_errors(DERIVED["identity check"])
COMMANDS = {
    "identity": group(
        "identity",
        "Set an agent's identity, and check whether texts drift from it.",
        [make_list_command("identity"), *DERIVED.values()],
    )
}
