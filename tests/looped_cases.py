"""Run one test for many cases, when a test for each case would take longer than the cases do."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

Check = Callable[..., None]
Ids = Iterable[str] | Callable[[Any], str] | None
FAILURES = (Exception, pytest.fail.Exception)


def for_each(names: str | Sequence[str], cases: Iterable[Any], ids: Ids = None) -> Callable[[Check], Check]:
    """Run a test once for every case, with the arguments of `pytest.mark.parametrize`, and name the cases that fail.

    Use it for fast cases that share no state: the fixtures of the test are the same for all cases.
    """
    named = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    rows = [_read_case(case, single=names == named[0]) for case in cases]
    titles = [name or _make_title(values, ids) for name, values in rows]
    if ids is not None and not callable(ids):
        titles = list(ids)

    def decorate(check: Check) -> Check:
        @functools.wraps(check)
        def check_all(**fixtures: Any) -> None:
            failed: dict[str, BaseException] = {}
            for title, (_, values) in zip(titles, rows, strict=True):
                try:
                    check(**fixtures, **dict(zip(named, values, strict=True)))
                except FAILURES as error:
                    failed[title] = error
            if failed:
                lines = [f"{title}: {error!r:.300}" for title, error in failed.items()]
                message = "\n".join([f"{len(failed)} of {len(rows)} cases failed", *lines])
                raise AssertionError(message) from next(iter(failed.values()))

        signature = inspect.signature(check)
        kept = [parameter for parameter in signature.parameters.values() if parameter.name not in named]
        check_all.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        return check_all

    return decorate


def _read_case(case: Any, *, single: bool) -> tuple[str | None, tuple[Any, ...]]:
    """Return the id of a case, if it has one, and its values."""
    if isinstance(case, type(pytest.param())):
        if case.marks:
            raise ValueError("a case with marks is a test of its own: use pytest.mark.parametrize")
        return (case.id if isinstance(case.id, str) else None), tuple(case.values)
    return None, (case,) if single else tuple(case)


def _make_title(values: tuple[Any, ...], ids: Ids) -> str:
    return "-".join(map(ids, values)) if callable(ids) else repr(values)[:200]
