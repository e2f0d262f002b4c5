"""Decide whether a person typed this command, so that the person vouches for its text without another confirmation.

The conditions are stricter than for an answer to a prompt, because an agent that baton does not know may run a command
at a terminal. Standard input, output and error must be a terminal, and not one in which agents type too. The parent
must be an interactive shell, not a script or `sh -c`. No agent may be detected (see `person`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Final

from baton_git.interfaces.context.person import Ancestor, find_agent, find_parent

_SHELLS: Final = frozenset({"bash", "zsh", "fish", "sh", "dash", "ksh", "mksh", "tcsh", "csh", "ash", "nu", "elvish"})
_HARMLESS_OPTIONS: Final = frozenset({"--login", "--interactive", "--norc", "--noprofile", "--posix"})
_SHARED_TERMINALS: Final = {
    "TERM_PROGRAM": ("vscode", "zed", "WarpTerminal"),
    "TERMINAL_EMULATOR": ("JetBrains-JediTerm",),
}
"""Variables and values that identify terminals, such as those of editors, in which agents type into the same shells as
people."""


def is_person_typing(named: str | None = None) -> bool:
    """Return whether a person typed this command at a terminal.

    Args:
        named: the agent named by --agent or BATON_AGENT.
    """
    if not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)) or is_shared_terminal(os.environ):
        return False
    parent = find_parent()
    return parent is not None and is_interactive_shell(parent) and find_agent(os.environ, named) is None


def is_shared_terminal(environment: Mapping[str, str]) -> bool:
    """Return whether agents may type into this terminal too."""
    return any(environment.get(name) in values for name, values in _SHARED_TERMINALS.items())


def is_interactive_shell(process: Ancestor) -> bool:
    """Return whether a process is an interactive shell: a shell without a script or a command in its arguments."""
    return process.name in _SHELLS and all(map(_is_harmless, process.argv[1:]))


def _is_harmless(word: str) -> bool:
    """Return whether an argument of a shell is an option that runs nothing; a script may follow a single `-`."""
    return word in _HARMLESS_OPTIONS or (len(word) > 1 and word[0] == "-" and set(word[1:]) <= set("il"))
