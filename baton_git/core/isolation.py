"""Handle records one by one, so that one that fails is named and does not take the others away.

Decoding has the same rule: a file that cannot be decoded is an `Unreadable` entry. Here the record is valid but showing
it fails, which is a bug in baton. One time near year 9999 used to end every list, brief and page east of UTC with an
OverflowError.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import PurePath
from typing import NamedTuple, TypeVar

from baton_git.core.errors import BatonError, Busy, RemoteError, StoreError
from baton_git.core.layout import path_of
from baton_git.core.output import one_line
from baton_git.core.records.base import Record
from baton_git.core.state import key_of

Result = TypeVar("Result")
Model = TypeVar("Model", bound=Record)

_OF_ALL = (StoreError, Busy, RemoteError, OSError, MemoryError)
"""Errors that are not about one record, so that the others would fail as well."""


class Failure(NamedTuple):
    """Why something failed for one record, session or check."""

    why: str

    def describe(self) -> str:
        """Return why a record could not be shown, as the end of a line that begins with its name."""
        return f"cannot be shown: {self.why}"


class UnshownRecord(NamedTuple):
    """A record that could not be shown: the path of its file, and why."""

    path: str
    why: str

    def __str__(self) -> str:
        return f"{self.path}: {self.why}"


def isolate(action: Callable[[], Result]) -> Result | Failure:
    """Return what `action` returns, or why it failed for what it is about.

    Raises:
        StoreError, Busy, RemoteError, OSError: the state could not be read, so that others would fail as well.
    """
    try:
        return action()
    except _OF_ALL:
        raise
    except BatonError as error:
        return Failure(one_line(str(error), 200))
    except Exception as error:  # noqa: BLE001  the caller reports it, with the name of what it is about
        return Failure(describe_bug(error))


def show_line(id_: str, line: Callable[[], str]) -> str:
    """Return the line of a record; if that fails, a line with the record's id that says so."""
    shown = isolate(line)
    return f"{id_}: {shown.describe()}" if isinstance(shown, Failure) else shown


def describe_bug(error: Exception) -> str:
    """Return an unexpected exception, and the line that raised it, as one line."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    name = f"{type(error).__name__}: {error} ({PurePath(where.filename).name}:{where.lineno})"
    return f"a bug in baton itself: {one_line(name, 200)}"


def show_each(
    records: Iterable[Model], show: Callable[[Model], Result]
) -> tuple[tuple[Result, ...], tuple[UnshownRecord, ...]]:
    """Return what `show` returns for each record, and the records for which it failed."""
    shown: list[Result] = []
    failed: list[UnshownRecord] = []
    for record in records:
        result = isolate(partial(show, record))
        if isinstance(result, Failure):
            failed.append(UnshownRecord(path_of(key_of(record)), result.describe()))
        else:
            shown.append(result)
    return tuple(shown), tuple(failed)
