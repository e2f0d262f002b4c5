"""Recent problems in the logs of hooks and of background processes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from baton_git.core.output import count_noun, one_line
from baton_git.core.times import parse_time_or_none
from baton_git.verbs.doctor.diagnostic import Diagnostic
from baton_git.verbs.doctor.examination import Examination

LOG_AGE = timedelta(days=7)
"""Older problems are not reported."""
LOG_LINES = 2000
"""Maximum number of lines that are read, from the end of a log."""


def read_log(examination: Examination, name: str, who: str = "hooks") -> Iterator[Diagnostic]:
    """Report the recent problems in a log; `who` wrote it."""
    path = examination.common_dir / "baton" / name
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_LINES:]
    except OSError:
        return
    recent = [line for line in lines if _is_recent(line, examination.now)]
    if recent:
        yield Diagnostic(
            "warning", f"{who} logged {count_noun(len(recent), 'problem')} in the last {LOG_AGE.days} days",
            f"the last: {one_line(recent[-1], 200)}", f"see {path}",
        )  # fmt: skip


def _is_recent(line: str, now: datetime) -> bool:
    moment = parse_time_or_none(line.split(" ")[0])
    return moment is not None and now - LOG_AGE < moment
