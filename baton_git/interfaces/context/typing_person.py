"""Decide whether a person typed the command line that runs: then its words are a person's, without being asked again.

That takes more than an answer to a prompt does, since an agent that baton does not know may run a command at a terminal
without meaning to pass for a person. Input, output and messages must be the terminal, and not one in which agents type
as well. An interactive shell must have started the command itself: no script, no `sh -c`. And no agent may be known to
act (see `person`).
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
"""Terminals of editors, and others, in which agents type into the same shells as people: by variable, its values."""


def is_person_typing(named: str | None = None) -> bool:
    """Return whether a person typed the command line at a terminal.

    Args:
        named: the agent that the command acts for, as its options or BATON_AGENT say.
    """
    if not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)) or is_shared_terminal(os.environ):
        return False
    parent = find_parent()
    return parent is not None and is_interactive_shell(parent) and find_agent(os.environ, named) is None


def is_shared_terminal(environment: Mapping[str, str]) -> bool:
    """Return whether agents may type in the same terminal."""
    return any(environment.get(name) in values for name, values in _SHARED_TERMINALS.items())


def is_interactive_shell(process: Ancestor) -> bool:
    """Return whether a process is a shell in which somebody types: it was given neither a script nor a command."""
    return process.name in _SHELLS and all(map(_is_harmless, process.argv[1:]))


def _is_harmless(word: str) -> bool:
    """Return whether a word is an option that gives a shell nothing to run; a single `-` comes before a script."""
    return word in _HARMLESS_OPTIONS or (len(word) > 1 and word[0] == "-" and set(word[1:]) <= set("il"))
