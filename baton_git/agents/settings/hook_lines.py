"""Make the command line that a CLI runs for a hook: it starts baton, and exits with 0 even when baton fails.

    exec /bin/sh -c '<script>' baton-hook SECONDS PROGRAM… hook --agent NAME # baton-git

Gemini CLI blocks every prompt when a hook exits with 2 or more, and shows the hook's stderr. So the script always exits
with 0, prints nothing to stderr, ends within SECONDS, and passes on baton's stdout only when baton exited with 0. The
script is in the line itself, so it needs no file that could be missing. It contains no single quote, `!`, backslash or
`${`, so that the same quoting works in every shell that a CLI may use.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence

from baton_git.agents.hook_events.repository_lookup import PARENT
from baton_git.agents.settings.entries import MARK

_SCRIPT = " ".join(
    (
        '{ n=$1; shift; command -v "$1" >/dev/null && {',
        'sleep "$n" 3<&- >/dev/null & s=$!;',
        # the worker reads all of baton's output, passes it on, and kills the sleep
        f'{{ o=$({PARENT}=$PPID "$@" <&3 3<&-) && trap "" PIPE && printf %s "$o"; kill -9 $s; }} & w=$!;',
        # if nobody killed the sleep, the time is up: kill the worker and all its descendants
        "wait $s && ps -A -o ppid= -o pid= | {",
        't=$w; while read -r p c; do case " $t " in *" $p "*) t="$t $c";; esac; done; kill -9 $t; };',
        "wait $w; }; } 2>/dev/null 3<&0; exit 0",
    )
)
_PLUGIN = '[ -n "$PLUGIN_ROOT" ] && set -- "$@" codex || set -- "$@" claude; '
"""Appends the agent's name: two CLIs use the plugin, and only Codex sets PLUGIN_ROOT."""

_PROGRAM = re.compile(r"' baton-hook [\d.]+ (.+) hook --agent ")
_OLDER_PROGRAM = re.compile(r"! command -v \S.* >/dev/null 2>&1 \|\| (?:\{ .*?&& )?exec (.+?) hook --agent ")

HookLine = Callable[[float], str]
"""A function that returns the command line of a hook that may take the given number of seconds."""


def make_hook_line(agent: str, program: Sequence[str]) -> HookLine:
    """Return the function that makes the lines with which hooks of an agent start `program`."""
    return lambda seconds: _make_line(_SCRIPT, seconds, [*program, "hook", "--agent", agent])


def make_plugin_line() -> HookLine:
    """Return the function that makes the lines of the plugin's hooks, which determine the agent when they run."""
    return lambda seconds: _make_line(_PLUGIN + _SCRIPT, seconds, ["baton", "hook", "--agent"])


def _make_line(script: str, seconds: float, words: Sequence[str]) -> str:
    return f"exec /bin/sh -c {shlex.quote(script)} baton-hook {seconds:g} {shlex.join(words)} {MARK}"


def extract_program(command: str) -> list[str]:
    """Return the words that start baton in a line of this or an older version; an empty list for any other line."""
    match = _PROGRAM.search(command) or _OLDER_PROGRAM.match(command)
    try:
        return shlex.split(match[1]) if match else []
    except ValueError:
        return []


def is_older(command: str) -> bool:
    """Whether an older version wrote the line. With such a line, a broken baton blocks Gemini CLI."""
    return _OLDER_PROGRAM.match(command) is not None
