"""The section of the brief that lists KAIROS' protocol runs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from baton_git.core.brief import CLAIMED_TIER, Rank, Section, list_newest_first, tier_line
from baton_git.core.isolation import show_each
from baton_git.core.times import describe_age
from baton_git.systems import BriefRequest
from baton_git.systems.kairos.record import Handover, compute_age


def make_sections(request: BriefRequest) -> Iterator[Section]:
    """Yield a section with the runs that can be resumed, newest first."""
    runs = list_newest_first(request.state, Handover, request.problems)
    lines, unshown = show_each(runs, lambda run: _format_run(run, request.now))
    title = "Protocol runs to continue (baton handover resume --session ID)"
    yield Section(title, lines, "handovers", all="baton status", rank=Rank.STANDING, unshown=unshown)


def _format_run(run: Handover, now: datetime) -> str:
    step, age = run.step, compute_age(run, now)
    number = f"step {step.step_index} " if step.step_index else "at "
    since = describe_age(run.updated_at, now) if run.updated_at and age.stale is not None else "no valid time"
    known = f" · known: {', '.join(run.state)}" if run.state else ""
    mark = "" if age.stale is False else "STALE: " if age.stale else "age unknown: "
    text = f"{mark}{number}{step.current_challenge or '?'} · {step.chain_uri or 'no URI'} · {since}{known}"
    return tier_line(run.id, CLAIMED_TIER, text)
