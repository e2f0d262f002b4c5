"""The line that a CLI runs for a hook: it starts baton, and ends well whatever became of baton.

    exec /bin/sh -c '<script>' baton-hook SECONDS PROGRAM… hook --agent NAME # baton-git

Gemini CLI blocks every prompt when a hook exits with 2 or more, and shows its stderr. So the script always exits 0,
prints nothing to stderr, ends within SECONDS, and passes baton's stdout on only when baton exited 0. It needs no file
of its own that could be missing. It is quoted once for whichever shell the CLI uses, so it has no single quote, `!`,
backslash or `${`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence

from baton_git.agents.hook_events.session_folder import PARENT
from baton_git.agents.settings.entries import MARK

_SCRIPT = " ".join(
    (
        '{ n=$1; shift; command -v "$1" >/dev/null && {',
        'sleep "$n" 3<&- >/dev/null & s=$!;',
        # the worker: it reads all of baton's output, passes it on, and ends the sleep
        f'{{ o=$({PARENT}=$PPID "$@" <&3 3<&-) && trap "" PIPE && printf %s "$o"; kill -9 $s; }} & w=$!;',
        # a sleep that ended by itself: the worker and all of its descendants are killed
        "wait $s && ps -A -o ppid= -o pid= | {",
        't=$w; while read -r p c; do case " $t " in *" $p "*) t="$t $c";; esac; done; kill -9 $t; };',
        "wait $w; }; } 2>/dev/null 3<&0; exit 0",
    )
)
_PLUGIN = '[ -n "$PLUGIN_ROOT" ] && set -- "$@" codex || set -- "$@" claude; '
"""The plugin serves two CLIs; only Codex sets PLUGIN_ROOT."""

_PROGRAM = re.compile(r"' baton-hook [\d.]+ (.+) hook --agent ")
_OLDER_PROGRAM = re.compile(r"! command -v \S.* >/dev/null 2>&1 \|\| (?:\{ .*?&& )?exec (.+?) hook --agent ")

HookLine = Callable[[float], str]
"""From the seconds that a hook has, the line for it."""


def hook_line(agent: str, program: Sequence[str]) -> HookLine:
    """The lines that start `program` for an agent."""
    return lambda seconds: _line(_SCRIPT, seconds, [*program, "hook", "--agent", agent])


def plugin_line() -> HookLine:
    """The lines of the plugin, which names the agent when it runs."""
    return lambda seconds: _line(_PLUGIN + _SCRIPT, seconds, ["baton", "hook", "--agent"])


def _line(script: str, seconds: float, words: Sequence[str]) -> str:
    return f"exec /bin/sh -c {shlex.quote(script)} baton-hook {seconds:g} {shlex.join(words)} {MARK}"


def program_in(command: str) -> list[str]:
    """The words that start baton in a line of this or an older version; empty for any other line."""
    match = _PROGRAM.search(command) or _OLDER_PROGRAM.match(command)
    try:
        return shlex.split(match[1]) if match else []
    except ValueError:
        return []


def is_older(command: str) -> bool:
    """Whether a line is of an older version, with which a broken baton blocked Gemini CLI."""
    return _OLDER_PROGRAM.match(command) is not None
