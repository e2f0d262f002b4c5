"""All checks side by side, within one budget of time."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from baton_git.checks.all_checks import PROBES
from baton_git.checks.outcome import Outcome, Unknown
from baton_git.checks.specification import CheckSpec, World
from baton_git.core.progress import Progress, ignore_progress


class CheckResult(NamedTuple):
    """What one check found, and how long it took in whole milliseconds."""

    outcome: Outcome
    duration_ms: int


class _Budget(NamedTuple):
    """One span of time for all checks, beginning when it is made."""

    seconds: float
    started: float

    @property
    def seconds_left(self) -> float:
        return self.started + self.seconds - time.monotonic()

    @property
    def used_up(self) -> CheckResult:
        why = f"no answer within the total budget of {self.seconds:g} s"
        return CheckResult(Unknown(why), round(self.seconds * 1000))


def run_all(
    checks: Mapping[str, CheckSpec],
    world: World,
    *,
    budget_seconds: float,
    workers: int = 8,
    progress: Progress = ignore_progress,
) -> dict[str, CheckResult]:
    """One answer per key of `checks`, in their order, not later than the budget allows.

    What has not answered by then is `Unknown`, even where a thread hangs in something that cannot be interrupted
    (looking up a name, a dead network disk): it is left behind as a daemon thread.

    Args:
        budget_seconds: for all checks together, however many.
        workers: how many run at the same time.
        progress: is told of each answer.
    """
    budget = _Budget(budget_seconds, time.monotonic())
    waiting: queue.SimpleQueue[tuple[str, CheckSpec]] = queue.SimpleQueue()
    answers: queue.SimpleQueue[tuple[str, CheckResult]] = queue.SimpleQueue()
    for item in checks.items():
        waiting.put(item)
    # Not a ThreadPoolExecutor: its threads are joined when the interpreter ends, and one that hangs would hold up
    # the end of the session.
    threads = [
        threading.Thread(target=_work, args=(waiting, answers, world, budget), daemon=True)
        for _ in range(min(workers, len(checks)))
    ]
    for thread in threads:
        thread.start()
    try:
        answered = dict(_collect(answers, len(checks), budget, progress))
    except BaseException:
        _abandon(threads, world)
        raise
    return {key: answered.get(key, budget.used_up) for key in checks}


def _abandon(threads: list[threading.Thread], world: World) -> None:
    """Interrupted: the programs that checks have started end now, and not at their own time limits."""
    world.abandoned.set()
    until = time.monotonic() + 0.5
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))


def _collect(
    answers: queue.SimpleQueue[tuple[str, CheckResult]], count: int, budget: _Budget, progress: Progress
) -> Iterator[tuple[str, CheckResult]]:
    for number in range(count):
        try:
            yield answers.get(timeout=max(0.0, budget.seconds_left))
        except queue.Empty:
            return
        progress(number + 1, count)


def _work(
    waiting: queue.SimpleQueue[tuple[str, CheckSpec]],
    answers: queue.SimpleQueue[tuple[str, CheckResult]],
    world: World,
    budget: _Budget,
) -> None:
    """Takes check after check until none is left, or no time."""
    while budget.seconds_left > 0 and not world.abandoned.is_set():
        try:
            key, spec = waiting.get_nowait()
        except queue.Empty:
            return
        answers.put((key, _run_check(spec, world, budget)))


def _run_check(spec: CheckSpec, world: World, budget: _Budget) -> CheckResult:
    started = time.monotonic()
    # A little less than what is left, so that a command is killed before the caller may end and orphan it.
    limit = min(spec.timeout_seconds, budget.seconds_left * 0.9)
    outcome = _outcome(spec._replace(timeout_seconds=limit), world)
    took = time.monotonic() - started
    if isinstance(outcome, Unknown) and limit <= took and limit < spec.timeout_seconds:
        return budget.used_up
    return CheckResult(outcome, round(took * 1000))


def _outcome(spec: CheckSpec, world: World) -> Outcome:
    probe = PROBES.get(spec.method)
    if probe is None:
        return Unknown(f"there is no check of the method {spec.method!r}")
    try:
        return probe(spec, world)
    except Exception as error:  # noqa: BLE001
        # The boundary of a probe: a bug in one (or in a function of `world`) must not take the answers of the others
        # with it, and is reported as what it is, a check that was not made.
        return Unknown(f"the check broke: {type(error).__name__}: {error}")
