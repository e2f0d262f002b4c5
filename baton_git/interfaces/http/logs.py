"""The server's log, on standard error: what a request or a record says cannot steer the terminal that shows it."""

from __future__ import annotations

import logging

from baton_git.core.output import terminal

LOGGER = "baton.http"


class SafeFormatter(logging.Formatter):
    """Escapes what is unsafe on a terminal, in tracebacks too."""

    def format(self, record: logging.LogRecord) -> str:
        return terminal(super().format(record))


def log_to_stderr() -> None:
    """Sends the server's log to standard error."""
    log = logging.getLogger(LOGGER)
    if not log.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(SafeFormatter("%(message)s"))
        log.addHandler(handler)
        log.propagate = False
