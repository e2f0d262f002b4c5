"""Determine which transcripts are still being written. The hooks of their sessions save them, so mining does not."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cache

import psutil

from baton_git.agents.hook_events.hook_session import HookSessionStore, is_running
from baton_git.agents.mining.candidates import Candidate
from baton_git.agents.registry import AGENTS, session_variables


def make_running_check(common_dir: str, environment: Mapping[str, str]) -> Callable[[Candidate], bool]:
    """Return a function that returns whether the session of a transcript is running.

    A session is running if this program runs in it, or if the process that its hooks recorded is alive and they
    recorded no end of the session. If its hooks recorded no process, it is running if a process of its CLI in its
    folder is older than the transcript's last change.
    """
    memory = HookSessionStore(common_dir)
    own_sessions = {
        (cli, environment[variable]) for variable, cli in session_variables().items() if variable in environment
    }
    list_running = cache(_list_running)

    def is_being_written(candidate: Candidate) -> bool:
        if (candidate.agent, candidate.session) in own_sessions:
            return True
        seen = memory.get(candidate.agent, candidate.session)
        if seen is not None and seen.pid > 1:
            return not seen.ended and is_running(seen)
        since = list_running().get((candidate.agent, os.path.realpath(candidate.cwd or "/")))
        return since is not None and candidate.mtime_ns / 1e9 >= since

    return is_being_written


def _list_running() -> dict[tuple[str, str], float]:
    """Return the start time of the oldest process of each CLI in each folder, in seconds since 1970."""
    running: dict[tuple[str, str], float] = {}
    for process in psutil.process_iter():
        try:
            with process.oneshot():
                agent = _detect_agent(process.name(), process.cmdline())
                if agent is None:
                    continue
                key = (agent, os.path.realpath(process.cwd()))
                running[key] = min(process.create_time(), running.get(key, process.create_time()))
        except (psutil.Error, OSError):
            continue
    return running


def _detect_agent(name: str, argv: list[str]) -> str | None:
    return next((agent for agent, cli in AGENTS.items() if cli.markers.is_program(name, argv)), None)
