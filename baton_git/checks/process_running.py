"""`process_running`: does a process of this name live?"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

import psutil

from baton_git.checks.outcome import Failed, Outcome, Passed, Unknown
from baton_git.checks.specification import CheckSpec, World

_INTERPRETER = re.compile(r"(?:python|pypy|node|bun|deno|ruby|perl|php|bash|dash|zsh|sh)[\d.]*\Z")
_TAKES_VALUE = frozenset({"-W", "-X", "-r", "--require", "--import", "--loader"})
_INLINE = frozenset({"-c", "-e", "-p", "--eval", "--print"})


def check(spec: CheckSpec, world: World) -> Outcome:
    """Compares exactly: with the process name, the program in argv[0], or the script that an interpreter runs.

    Other arguments never count: `grep app.py`, an editor, and our own `baton` call mention the name without
    being it. Our own process and zombies are no match. `Failed` when none is seen; processes that may not be
    read are passed over, so one that is hidden from this user counts as absent.
    """
    if not spec.process_name:
        return Unknown("no process name is given")
    if any(spec.process_name in names for names in _living()):
        return Passed()
    return Failed(f"no process {spec.process_name} is running")


def _living() -> Iterator[set[str]]:
    # What may not be read arrives as None; a process that ends meanwhile is left out by psutil.
    for process in psutil.process_iter(["name", "cmdline", "status"]):
        if process.pid == os.getpid() or process.info["status"] == psutil.STATUS_ZOMBIE:
            continue
        yield {process.info["name"], *names_of(process.info["cmdline"] or [])}


def names_of(argv: Sequence[str]) -> Iterator[str]:
    """What a command line goes by: its program, and the script (or `-m` module) when that is an interpreter."""
    if not argv:
        return
    program = os.path.basename(argv[0])  # noqa: PTH119  a Path would drop a final slash and choke on nothing
    yield program
    if _INTERPRETER.match(program):
        yield from _script(argv[1:])


def _script(arguments: Sequence[str]) -> Iterator[str]:
    rest = iter(arguments)
    for argument in rest:
        if argument in _INLINE:
            return
        if argument in _TAKES_VALUE:
            next(rest, None)
        elif not argument.startswith("-"):
            yield argument
            yield os.path.basename(argument)  # noqa: PTH119
            return
