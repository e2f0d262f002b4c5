"""What the command says when something goes wrong, and its exit status. The one place that catches everything."""

from __future__ import annotations

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
)
from baton_git.interfaces.cli.printing import tell, tell_usage, write_json

OK, FAILED, USAGE, CONFLICT, BUSY, UNKNOWN, BUG = 0, 1, 2, 3, 4, 5, 70

_STATUS: dict[type[BatonError], int] = {
    Stale: CONFLICT, StepConflict: CONFLICT, Unsettled: CONFLICT, Busy: BUSY,
    InvalidName: USAGE, InvalidArgument: USAGE, SearchUnavailable: UNKNOWN,
}  # fmt: skip


def run(command: click.Command, prog: str = "baton") -> int:
    """Runs the command of this process and gives its exit status."""
    printed_to = sys.stdout
    try:
        result = command.main(prog_name=prog, standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        tell_usage(error)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        newline = "\n" if sys.stderr.isatty() else ""  # the terminal has put ^C where we write
        tell(f"{newline}baton: interrupted; nothing was left half done")
        return 130
    except SystemExit:
        if sys.stdout is printed_to:
            raise
        return OK  # click has exchanged it: the reader has gone
    except BrokenPipeError:
        _drop_output()
        return OK
    except OSError as error:
        _drop_output()
        return _report_os_error(error)
    except BatonError as error:
        return report_error(error)
    except Exception as error:  # noqa: BLE001  the boundary of the program: what comes here is a bug, and is reported as one
        return _report_bug(error)
    return result if isinstance(result, int) else OK


def _drop_output() -> None:
    """Discard buffered output, so that Python does not fail to flush it at exit."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report_os_error(error: OSError) -> int:
    """Report an error of the operating system; return the exit status."""
    where = f"{error.filename}: " if error.filename is not None else ""
    tell(f"baton: {where}{error.strerror or error}")
    return FAILED


def report_error(error: BatonError) -> int:
    """Report an error and its hint, as JSON too with --json; return the exit status."""
    if any(word.partition("=")[0] == "--json" for word in sys.argv):
        write_json({"error": error.code, "message": str(error), "hint": error.hint, **error.data}, indent=None)
    tell(f"baton: {error}", *([f"       {error.hint}"] if error.hint else []))
    return status_of(error)


def status_of(error: BatonError) -> int:
    """Return the exit status of an error."""
    return next((status for kind, status in _STATUS.items() if isinstance(error, kind)), FAILED)


def _report_bug(error: Exception) -> int:
    """Write a bug report with the traceback to a file and say where it is; return the exit status."""
    import tempfile  # only here: every start of a command would pay for them
    import traceback

    report = Path(tempfile.gettempdir()) / f"baton-error-{os.getpid()}.txt"
    details = f"baton {__version__}, Python {sys.version.split()[0]}, {sys.platform}\n\n{traceback.format_exc()}"
    try:
        report.write_text(details)
        where = f"the details are in {report}"
    except OSError:
        where = "the details could not be written anywhere"
    said_shortly = f"{type(error).__name__}: {error}; {where}"
    tell(f"baton: a bug in baton itself: {said_shortly}")
    return BUG
