"""Decide whether an answer at a terminal can be a person's word: not while an agent is known to be acting.

An agent is known by the variables that its CLI sets, by its process among our ancestors, by a session that baton
started, or because the command names one (`--agent`, BATON_AGENT). Ancestors that cannot be read say nothing: a shell
in a container, or below another user's login, has no more than its own. None of this stops another program of the same
user that hides itself on purpose.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import psutil

from baton_git.agents.registry import AGENTS
from baton_git.agents.sessions.launchers import SPAWNED
from baton_git.agents.sessions.starting import SUPERVISOR
from baton_git.core.errors import NeedsHuman

HOW_A_PERSON_CONFIRMS = (
    "a person confirms it at a terminal of their own, on the page of baton serve with its own token "
    "(BATON_PAGE_TOKEN), in an MCP client that asks its user, or, for a pattern or a decision, with --sign and a key "
    "that needs a touch or a passphrase"
)


OTHER_AGENTS = ("AI_AGENT", "CURSOR_AGENT", "OPENCODE", "COPILOT_CLI")
"""Variables that agents set which baton knows nothing else about."""


class Ancestor(NamedTuple):
    """A process that started us, directly or not; empty where it cannot be read."""

    name: str
    argv: Sequence[str]


def check_no_agent(named: str | None = None, hint: str = "") -> None:
    """Lets a prompt go ahead whose answer counts as a person's word.

    Args:
        named: the agent that the command acts for, as its options or BATON_AGENT say.
        hint: how a person can do it instead, where there is more to say than `HOW_A_PERSON_CONFIRMS`.

    Raises:
        NeedsHuman: an agent is known to be acting.
    """
    evidence = find_agent(os.environ, named)
    if evidence is not None:
        why = f"an agent is acting here ({evidence}), so an answer at this terminal is no person's word"
        raise NeedsHuman(why, hint=hint or HOW_A_PERSON_CONFIRMS)


def find_agent(environment: Mapping[str, str], named: str | None = None) -> str | None:
    """Return how an acting agent is known; None if none is known."""
    variables = (cli.acting.find_variable(environment) for cli in AGENTS.values())
    others = (name for name in (SPAWNED, *OTHER_AGENTS) if environment.get(name))
    variable = next(filter(None, variables), None) or next(others, None)
    if variable is not None:
        return f"{variable} is set"
    if named is not None:
        return f"the command acts as agent {named}"
    return next(filter(None, map(_describe_agent, _ancestors())), None)


def _describe_agent(process: Ancestor) -> str | None:
    if SUPERVISOR in process.argv:
        return "it runs in a session that baton started"
    starters = (name for name, cli in AGENTS.items() if cli.acting.is_program(process.name, process.argv))
    return next((f"this command was started by {name}" for name in starters), None)


def _ancestors() -> Iterator[Ancestor]:
    """Yield the processes that started us, nearest first, as far as they can be seen."""
    process = _parent(psutil.Process())
    while process is not None:
        yield _read(process)
        process = _parent(process)


def list_ancestor_ids() -> set[int]:
    """Return the numbers of the processes that started us, as far as they can be seen."""
    ids, process = set(), _parent(psutil.Process())
    while process is not None:
        ids.add(process.pid)
        process = _parent(process)
    return ids


def find_parent() -> Ancestor | None:
    """Return the process that started us; None if nothing can be said about it."""
    return next(_ancestors(), None)


def _read(process: psutil.Process) -> Ancestor:
    try:
        return Ancestor(process.name(), process.cmdline())
    except psutil.Error:  # another user's, or it ended just now
        return Ancestor("", ())


def _parent(process: psutil.Process) -> psutil.Process | None:
    try:
        return process.parent()
    except psutil.Error:
        return None
