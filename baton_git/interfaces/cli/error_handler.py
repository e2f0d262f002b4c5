"""Run a command, print its errors, and return its exit status. An unexpected exception is reported as a bug."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from pathlib import Path

import click

from baton_git import __version__
from baton_git.core.errors import (
    BatonError,
    Busy,
    InvalidArgument,
    InvalidName,
    SearchUnavailable,
    Stale,
    StepConflict,
    Unsettled,
    explain_sandbox,
)
from baton_git.git.files.atomic_files import advise_access
from baton_git.interfaces.cli.printing import tell, tell_usage, write_json
from baton_git.interfaces.context.process import find_sandbox_hint

OK, FAILED, USAGE, CONFLICT, BUSY, UNKNOWN, BUG = 0, 1, 2, 3, 4, 5, 70

_STATUS: dict[type[BatonError], int] = {
    Stale: CONFLICT, StepConflict: CONFLICT, Unsettled: CONFLICT, Busy: BUSY,
    InvalidName: USAGE, InvalidArgument: USAGE, SearchUnavailable: UNKNOWN,
}  # fmt: skip

_HINTS = {
    errno.ENOENT: "check the path",
    errno.ENOTDIR: "check the path: a part of it is a file, not a folder",
    errno.EISDIR: "give a file, not a folder",
}
"""The next step after an error of the operating system about a file, by error number."""


def run(command: click.Command, prog: str = "baton") -> int:
    """Run a command with the arguments of this process; return its exit status."""
    printed_to = sys.stdout
    try:
        result = command.main(prog_name=prog, standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        tell_usage(error)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        newline = "\n" if sys.stderr.isatty() else ""  # the terminal has printed ^C on the current line
        tell(f"{newline}baton: interrupted; no write is half done")
        return 130
    except SystemExit:
        if sys.stdout is printed_to:
            raise
        return OK  # click replaced stdout after a broken pipe: the reader of the output has gone
    except BrokenPipeError:
        _drop_output()
        return OK
    except OSError as error:
        _drop_output()
        return _report_os_error(error)
    except BatonError as error:
        return report_error(error)
    except Exception as error:  # noqa: BLE001  the boundary of the program: any other exception is a bug, and reported as one
        return _report_bug(error)
    return result if isinstance(result, int) else OK


def _drop_output() -> None:
    """Redirect standard output to the null device, so that flushing its buffer at exit does not fail."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report_os_error(error: OSError) -> int:
    """Print an error of the operating system; return the exit status."""
    where = f"{error.filename}: " if error.filename is not None else ""
    # an error without a file is one of the output, which is printed after the change is stored
    about_output = "if only the output failed, what the command changed is stored: baton log shows it"
    hint = _HINTS.get(error.errno or 0, "") if error.filename is not None else about_output
    if error.errno == errno.EACCES and isinstance(error.filename, str):
        hint = advise_access(error.filename, error)
    tell(f"baton: {where}{error.strerror or error}", *([f"       {hint}"] if hint else []))
    return FAILED


def report_error(error: BatonError) -> int:
    """Print an error and its hint, also as JSON with --json; return the exit status."""
    hint = explain_sandbox(error, find_sandbox_hint()) or error.hint
    if any(word.partition("=")[0] == "--json" for word in sys.argv):
        write_json({"error": error.code, "message": str(error), "hint": hint, **error.data}, indent=None)
    tell(f"baton: {error}", *([f"       {hint}"] if hint else []))
    return status_of(error)


def status_of(error: BatonError) -> int:
    """Return the exit status of an error."""
    return next((status for kind, status in _STATUS.items() if isinstance(error, kind)), FAILED)


def _report_bug(error: Exception) -> int:
    """Write a bug report with the traceback to a file, and print the path of the file; return the exit status."""
    import tempfile  # both are slow to import, and needed only for a bug
    import traceback

    report = Path(tempfile.gettempdir()) / f"baton-error-{os.getpid()}.txt"
    details = f"baton {__version__}, Python {sys.version.split()[0]}, {sys.platform}\n\n{traceback.format_exc()}"
    try:
        report.write_text(details)
        where = f"the details are in {report}"
    except OSError as failure:
        where = f"the details could not be written to {report}: {failure.strerror or failure}"
    tell(f"baton: a bug in baton itself: {type(error).__name__}: {error}; {where}")
    return BUG
