"""Show long output in a pager, as git does."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import click

from baton_git.core.output import terminal
from baton_git.interfaces.cli.printing import shows_styles, write
from baton_git.interfaces.context.git_config import read_user_config

COMMAND_NOT_FOUND = 127
"""The exit status of a shell that cannot find a program."""
DEFAULTS = {"LESS": "FRX", "LV": "-c"}
"""Options for pagers, as git sets them, unless the user sets others. For less: quit if all fits on the screen, show
styles, do not clear the screen."""


def write_paged(text: str) -> None:
    """Print a text, in the pager if stdout is a terminal on which it does not fit.

    The pager is BATON_PAGER, GIT_PAGER, `core.pager` of the user's own git configuration, PAGER, or `less`. `cat` or an
    empty value means no pager.
    """
    pager = find_pager() if sys.stdout.isatty() and _is_long(text) else ""
    if not pager or not _run_pager(pager, text):
        write(text)


def find_pager() -> str:
    """Return the command of the pager; empty for none."""
    named = [os.environ.get("BATON_PAGER"), os.environ.get("GIT_PAGER")]
    if named == [None, None]:
        named = [*read_user_config("core.pager")[-1:], os.environ.get("PAGER")]
    default = "less" if shutil.which("less") else ""
    pager = next((value for value in named if value is not None), default)
    return "" if pager == "cat" else pager


def _is_long(text: str) -> bool:
    return text.count("\n") + 2 > shutil.get_terminal_size().lines


def _run_pager(pager: str, text: str) -> bool:
    """Show a text in the pager; return False if it cannot be started. Quitting the pager early is not an error."""
    sys.stdout.flush()
    environment = {**DEFAULTS, **os.environ}
    try:
        process = subprocess.Popen(  # noqa: S602  a command line of the user's own configuration, as git runs it
            pager, shell=True, stdin=subprocess.PIPE, env=environment
        )
    except OSError:
        return False
    shown = terminal(text) if shows_styles() else click.unstyle(terminal(text))
    process.communicate(f"{shown}\n".encode())  # ignores a broken pipe
    return process.returncode != COMMAND_NOT_FOUND
