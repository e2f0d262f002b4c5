"""The server's log on standard error, with control characters from requests and records escaped."""

from __future__ import annotations

import logging

from baton_git.core.output import terminal

LOGGER = "baton.http"


class SafeFormatter(logging.Formatter):
    """Formatter that escapes characters unsafe on a terminal, also in tracebacks."""

    def format(self, record: logging.LogRecord) -> str:
        return terminal(super().format(record))


def log_to_stderr() -> None:
    """Send the server's log to standard error."""
    log = logging.getLogger(LOGGER)
    if not log.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(SafeFormatter("%(message)s"))
        log.addHandler(handler)
        log.propagate = False
