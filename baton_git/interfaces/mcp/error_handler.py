"""Turn exceptions into one-line errors for the model, each with the next step. An unknown exception counts as a bug."""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError, UnexpectedToolError
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS
from pydantic import ValidationError

from baton_git import __version__
from baton_git.core.errors import BatonError, InvalidArgument, InvalidName, NotFound
from baton_git.core.output import one_line, terminal
from baton_git.core.records.base import faults_of_input, format_path
from baton_git.interfaces.context.hint_words import say_for_mcp

NO_ANSWER = "the person did not answer, so nothing was changed; ask the person to do this in a terminal"


def make_call_error(tool: str, error: ToolError | MCPError, known: Iterable[str]) -> ToolError:
    """Return the error that the model gets for a failed call.

    Args:
        known: the names of the tool's arguments.
    """
    cause = error.__cause__
    if isinstance(error, UnexpectedToolError) and cause is not None:
        return ToolError(format_error(cause))
    if isinstance(cause, ValidationError):
        return ToolError(_line(f"{tool}: {_describe_faults(cause, known)}"))
    if cause is None and isinstance(error, ToolError):
        return ToolError(_line(f"{error}; see the list of tools"))
    return ToolError(NO_ANSWER)


def make_read_error(uri: str, error: ResourceError) -> ResourceError:
    """Return the error that a client gets for a resource that could not be read."""
    cause = error.__cause__
    if isinstance(error, ResourceNotFoundError):
        return ResourceNotFoundError(
            _line(f"there is no resource {uri}; see the lists of resources and resource templates")
        )
    message = format_error(cause if cause is not None else error)
    if isinstance(cause, NotFound | InvalidName | InvalidArgument):
        return ResourceNotFoundError(message)
    return ResourceError(message)


def make_prompt_error(name: str, known: Iterable[str]) -> MCPError:
    """Return the error that a client gets for an unknown prompt."""
    return MCPError(INVALID_PARAMS, _line(f"there is no prompt {name}; there are {', '.join(known)}"))


def format_error(error: BaseException) -> str:
    """Return an error as one line, with the next step; for a bug, with the path of its report."""
    if isinstance(error, BatonError):
        return _line(f"{error}; {say_for_mcp(error.hint)}" if error.hint else str(error))
    if isinstance(error, OSError):
        return _line(f"{error.filename or 'the system'}: {error.strerror or error}")
    return _line(f"a bug in baton itself: {type(error).__name__}; nothing is lost; {_write_report(error)}")


def _line(text: str) -> str:
    return one_line(terminal(text), len(text) * 10)


def _describe_faults(error: ValidationError, known: Iterable[str]) -> str:
    """Name the invalid and unknown arguments, and the expected ones."""
    unknown = [format_path(fault["loc"]) for fault in error.errors() if fault["type"] == "extra_forbidden"]
    faults = [fault for fault in faults_of_input(error) if fault.path not in unknown]
    lines = [
        f"the argument {fault.path} {fault.message}" if fault.message in ("is missing", "is empty") else str(fault)
        for fault in faults
    ]
    if unknown:
        lines.append(f"there is no argument {', '.join(unknown)}; the arguments are {', '.join(known)}")
    return "; ".join(lines[:4])


def _write_report(error: BaseException) -> str:
    """Write a report of a bug to a temporary file and return a clause that names the file."""
    report = Path(tempfile.gettempdir()) / f"baton-error-{os.getpid()}.txt"
    about: Any = f"baton {__version__}, Python {sys.version.split()[0]}, {sys.platform}, mcp"
    try:
        report.write_text(f"{about}\n\n{''.join(traceback.format_exception(error))}")
    except OSError:
        return "the details could not be written anywhere"
    return f"the details are in {report}"
