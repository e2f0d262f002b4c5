"""Check method `process_running`: is a process with this name running?"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

import psutil

from baton_git.checks.outcome import CheckSpec, Failed, Outcome, Passed, Unknown, World

_INTERPRETER = re.compile(r"(?:python|pypy|node|bun|deno|ruby|perl|php|bash|dash|zsh|sh)[\d.]*\Z")
_TAKES_VALUE = frozenset({"-W", "-X", "-r", "--require", "--import", "--loader"})
_INLINE = frozenset({"-c", "-e", "-p", "--eval", "--print"})


def check(spec: CheckSpec, world: World) -> Outcome:
    """Look for a process whose name, program, or (for an interpreter) script is exactly the given name.

    Other arguments are not compared, because `grep app.py` or an editor also has the name as an argument. The current
    process and zombies are ignored. `Failed` if no process matches; processes that this user cannot see count as not
    running.
    """
    if not spec.process_name:
        return Unknown("no process name is given")
    if any(spec.process_name in names for names in _list_running_names()):
        return Passed()
    return Failed(f"no process {spec.process_name} is running")


def _list_running_names() -> Iterator[set[str]]:
    """Yield the names of each running process."""
    # psutil returns None for values that cannot be read, and skips processes that end meanwhile.
    for process in psutil.process_iter(["name", "cmdline", "status"]):
        if process.pid == os.getpid() or process.info["status"] == psutil.STATUS_ZOMBIE:
            continue
        yield {process.info["name"], *list_names(process.info["cmdline"] or [])}


def list_names(argv: Sequence[str]) -> Iterator[str]:
    """Yield the names for a command line: the program and, for an interpreter, the script (or `-m` module)."""
    if not argv:
        return
    program = os.path.basename(argv[0])  # noqa: PTH119  `Path.name` ignores a final slash
    yield program
    if _INTERPRETER.match(program):
        yield from _list_script_names(argv[1:])


def _list_script_names(arguments: Sequence[str]) -> Iterator[str]:
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
