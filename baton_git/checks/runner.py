"""Run checks in parallel within a total time budget. Method `x` is the function `check` of the module `checks.x`."""

from __future__ import annotations

import importlib
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import NamedTuple, cast

from baton_git.checks.outcome import CheckSpec, Outcome, Unknown, World
from baton_git.core.progress import Progress, ignore_progress
from baton_git.core.records.check_methods import CHECK_METHODS

Probe = Callable[[CheckSpec, World], Outcome]


def _probe(name: str, spec: CheckSpec, world: World) -> Outcome:
    # Imported with its first check: most commands make none, and importing urllib3 takes 100 ms, psutil 20 ms.
    return cast(Probe, importlib.import_module(f"baton_git.checks.{name}").check)(spec, world)


PROBES: dict[str, Probe] = {method: partial(_probe, method) for method in CHECK_METHODS}


class CheckResult(NamedTuple):
    """The outcome of a check, and how long the check took in milliseconds."""

    outcome: Outcome
    duration_ms: int


class _Budget(NamedTuple):
    """The time budget for all checks: its length in seconds, and its start on the clock `time.monotonic`."""

    seconds: float
    started: float

    @property
    def seconds_left(self) -> float:
        return self.started + self.seconds - time.monotonic()

    @property
    def used_up(self) -> CheckResult:
        """The result of a check that did not finish within the budget."""
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
    """Return one result per key of `checks`, in the same order, within the time budget.

    A check that does not finish in time is `Unknown`. If its thread is blocked in a call that cannot be interrupted
    (a name lookup, an unavailable network disk), it continues as a daemon thread.

    Args:
        budget_seconds: time for all checks together.
        workers: maximum number of checks that run in parallel.
        progress: called after each result.
    """
    budget = _Budget(budget_seconds, time.monotonic())
    waiting: queue.SimpleQueue[tuple[str, CheckSpec]] = queue.SimpleQueue()
    answers: queue.SimpleQueue[tuple[str, CheckResult]] = queue.SimpleQueue()
    for item in checks.items():
        waiting.put(item)
    # Not a ThreadPoolExecutor: the interpreter joins its threads at exit, so a blocked one would delay the exit.
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
    """After an interrupt, end the programs that checks have started, without waiting for their time limits."""
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
    """Run waiting checks until none is left or the budget is used up."""
    while budget.seconds_left > 0 and not world.abandoned.is_set():
        try:
            key, spec = waiting.get_nowait()
        except queue.Empty:
            return
        answers.put((key, _run_check(spec, world, budget)))


def _run_check(spec: CheckSpec, world: World, budget: _Budget) -> CheckResult:
    started = time.monotonic()
    # 90 % of the remaining time, so that a command is killed before the caller exits and leaves it running.
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
        # A bug in one check (or in a function of `world`) must not prevent the results of the others. It is reported as
        # a check that could not be made.
        return Unknown(f"the check crashed: {type(error).__name__}: {error}")
