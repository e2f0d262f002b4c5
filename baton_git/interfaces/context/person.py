"""Detect whether an agent runs this command, so that an answer at the terminal may not come from a person.

An agent is detected by the variables that its CLI sets, in this process and in each of its ancestors; by its program
among the ancestors; by a session that baton started; or because the command names an agent (`--agent`, BATON_AGENT).
`env -i`, `unset`, `script` and a terminal multiplexer do not hide the ancestors. A prompt of a command whose ancestors
are gone, because it was detached from whatever started it, does not reach a person either. Ancestors that cannot be
read are ignored, because ordinary shells have them too, such as a shell in a container. A program of the same user that
hides itself on purpose is not detected.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from types import MappingProxyType
from typing import Final, NamedTuple

import psutil

from baton_git.agents.registry import AGENTS, SPAWNED
from baton_git.agents.sessions.starting import SUPERVISOR
from baton_git.core.errors import NeedsHuman

HOW_A_PERSON_CONFIRMS = (
    "a person can confirm it at a terminal of their own, on the web page of baton serve with its own token "
    "(BATON_PAGE_TOKEN), in an MCP client that asks its user, or, for a pattern or a decision, with --sign and a key "
    "that needs a touch or a passphrase"
)


OTHER_AGENTS = ("AI_AGENT", "CURSOR_AGENT", "OPENCODE", "COPILOT_CLI")
"""Variables set by agents that baton has no adapter for."""


_INITS = frozenset({"init", "systemd", "launchd", "tini", "dumb-init", "docker-init", "catatonit", "s6-svscan"})
"""Programs that take over the processes whose parent has ended."""


class Ancestor(NamedTuple):
    """An ancestor of this process.

    Attributes:
        name, argv: its name and arguments; empty if they cannot be read.
        environment: the variables that it was started with; empty if they cannot be read, as on systems that show
            only those of the user's own processes, or none.
    """

    name: str
    argv: Sequence[str]
    environment: Mapping[str, str] = MappingProxyType({})


def check_no_agent(named: str | None = None, hint: str = "") -> None:
    """Check that no agent is known to run this command, before a prompt that only a person may answer.

    Args:
        named: the agent named by --agent or BATON_AGENT.
        hint: the hint of the error; by default `HOW_A_PERSON_CONFIRMS`.

    Raises:
        NeedsHuman: an agent is known to run this command.
    """
    parent = find_parent()
    evidence = find_agent(os.environ, named)
    if evidence is None and parent is not None and is_init(parent):  # not so for a server, which a system starts
        evidence = "the command was detached from whatever started it"
    if evidence is not None:
        why = f"an agent is acting here ({evidence}), so an answer at this terminal may not be a person's"
        raise NeedsHuman(why, hint=hint or HOW_A_PERSON_CONFIRMS)


def find_agent(environment: Mapping[str, str], named: str | None = None) -> str | None:
    """Return the evidence that an agent runs this command; None if there is none."""
    variable = _find_variable(environment)
    if variable is not None:
        return f"{variable} is set"
    if named is not None:
        return f"the command acts as agent {named}"
    return next(filter(None, map(describe_agent, _ancestors())), None)


def _find_variable(environment: Mapping[str, str]) -> str | None:
    """Return the first variable of an agent that is set and not empty; None if there is none."""
    variables = (cli.markers.find_variable(environment) for cli in AGENTS.values())
    others = (name for name in (SPAWNED, *OTHER_AGENTS) if environment.get(name))
    return next(filter(None, variables), None) or next(others, None)


def is_init(process: Ancestor) -> bool:
    """Return whether a process is one that takes over the processes whose parent has ended."""
    return process.name in _INITS or bool(process.argv and PurePath(process.argv[0]).name in _INITS)


def describe_agent(process: Ancestor) -> str | None:
    """Return the evidence that a process belongs to an agent; None if there is none."""
    if SUPERVISOR in process.argv:
        return "it runs in a session that baton started"
    starter = next((name for name, cli in AGENTS.items() if cli.markers.is_program(process.name, process.argv)), None)
    if starter is not None:
        return f"this command was started by {starter}"
    variable = _find_variable(process.environment)
    return None if variable is None else f"{variable} is set in {process.name or 'the program'} that started it"


def _ancestors() -> Iterator[Ancestor]:
    """Yield the ancestors of this process, nearest first, as far as the system shows them."""
    process = _parent(psutil.Process())
    while process is not None:
        yield _read(process)
        process = _parent(process)


def list_ancestor_ids() -> set[int]:
    """Return the ids of the ancestors of this process, as far as the system shows them."""
    ids, process = set(), _parent(psutil.Process())
    while process is not None:
        ids.add(process.pid)
        process = _parent(process)
    return ids


def find_parent() -> Ancestor | None:
    """Return the parent process; None if the system does not show it."""
    return next(_ancestors(), None)


def _read(process: psutil.Process) -> Ancestor:
    try:
        name, argv = process.name(), process.cmdline()
    except psutil.Error:  # the process is another user's, or has just ended
        return Ancestor("", ())
    try:
        return Ancestor(name, argv, process.environ())
    except (psutil.Error, OSError):  # another user's, or a system that does not show it
        return Ancestor(name, argv)


def _parent(process: psutil.Process) -> psutil.Process | None:
    try:
        return process.parent()
    except psutil.Error:
        return None


# --- whether a person typed this command, and so vouches for its text without another confirmation
# The conditions are stricter than for an answer to a prompt, because an agent that baton does not know may run a
# command at a terminal. Standard input, output and error must be a terminal, and not one in which agents type too. The
# parent must be an interactive shell, not a script or `sh -c`. No agent may be detected.

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
