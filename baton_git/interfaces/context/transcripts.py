"""Find transcripts of agent CLIs in the home directory, and extract the facts of their sessions."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from baton_git.agents.registry import AGENTS, session_variables
from baton_git.agents.transcripts import Transcript
from baton_git.core.errors import BatonError, NotFound
from baton_git.interfaces.context.handoff import read_handoff_options
from baton_git.interfaces.context.invocation import Call
from baton_git.namespace.workspace import Workspace
from baton_git.systems.gobby.doubtful_sessions import find_session_doubt
from baton_git.systems.gobby.extraction_verb import ExtractedHandoff, ExtractHandoff, extract_handoff
from baton_git.systems.gobby.mining import Mine, keep_local_turns
from baton_git.verbs.revisions.recall import RecallQuestion, RecallResult, recall

READING_SECONDS = 3.0
"""Time limit in seconds for reading new transcripts before a question is answered."""


def find_newest_transcript(agent: str | None, ws: Workspace) -> tuple[Path, str, str | None]:
    """Find the newest transcript of a session in the current folder, or in one above or below it; else of any session.

    Sessions in this folder that probably worked in another project are skipped.

    Args:
        agent: the agent CLI; None for any.

    Returns:
        The path of the transcript, the agent CLI, and the folder in which the session worked, if known.

    Raises:
        NotFound: there is no transcript.
    """
    here = os.path.realpath(Path.cwd())
    newest: list[tuple[bool, float, Transcript, str]] = []
    for name in [agent] if agent else AGENTS:
        for number, transcript in enumerate(AGENTS[name].find_sessions(Path.home(), dict(os.environ))):
            is_here = transcript.cwd is not None and _is_around(here, os.path.realpath(transcript.cwd))
            if is_here and find_session_doubt(ws, name, transcript.session or "", transcript.path, transcript.cwd):
                continue
            if number == 0 or is_here:
                newest.append((is_here, transcript.path.stat().st_mtime, transcript, name))
            if is_here:
                break
    if not newest:
        whose = AGENTS[agent].title if agent else "any agent CLI"
        raise NotFound(f"transcript of {whose} on this machine", hint="give the path of a transcript")
    _, _, transcript, name = max(newest, key=lambda entry: entry[:2])
    return transcript.path, name, transcript.cwd


def fill_home(call: Call, fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of an input, with the home directory and the environment variables of agent CLIs: those that
    set their folders, and those that hold a session's id.
    """
    settings = [AGENTS[name].hooks for name in AGENTS]
    names = {name for item in settings for name in (item.folder_variable, item.home_variable)} | set(
        session_variables()
    )
    variables = {name: os.environ[name] for name in names if os.environ.get(name)}
    return {"home": str(Path.home()), "variables": variables, **fields}


def _is_around(folder: str, cwd: str) -> bool:
    return os.path.commonpath([folder, cwd]) in (folder, cwd) and min(folder, cwd) != "/"


def extract_with_settings(
    call: Call, ws: Workspace, verb_input: ExtractHandoff, agent: str | None, file: Path | None = None
) -> ExtractedHandoff:
    """Extract the facts of a session with the options of `read_handoff_options`, by default from the newest transcript.

    Args:
        agent: the agent CLI whose newest transcript is used; None for any.
        file: the file with the settings, as for `read_handoff_options`.
    """
    newest: dict[str, Any] = {}
    if verb_input.transcript is None:
        path, cli, cwd = find_newest_transcript(agent, ws)
        folder = verb_input.folder or (Path(cwd).absolute() if cwd else None)
        newest = {"transcript": path, "cli": cli, "folder": folder}
    settings = {"options": read_handoff_options(call, file), "session": call.settings.session}
    return extract_handoff(ws, call.now, verb_input.model_copy(update={**newest, **settings}))


def _extract_for_client(call: Call, ws: Workspace, verb_input: ExtractHandoff) -> ExtractedHandoff:
    return extract_with_settings(call, ws, verb_input, ws.actor.agent if ws.actor.agent in AGENTS else None)


def read_new_transcripts(call: Call, ws: Workspace) -> str:
    """Read new transcripts in the home directory, so that recall can search them.

    Returns:
        A message if some transcripts are not read yet or reading failed; else an empty text.
    """
    if ws.branch.read().commit is None:
        return ""
    try:
        unread = keep_local_turns(ws, call.now, Mine(**fill_home(call, {})), READING_SECONDS)
    except BatonError as error:
        return f"transcripts of earlier sessions: {error}"
    return f"{unread} transcripts of earlier sessions are not read yet; ask again, or run baton mine" if unread else ""


def _recall(call: Call, ws: Workspace, verb_input: RecallQuestion) -> RecallResult:
    read_new_transcripts(call, ws)
    return recall(ws, call.now, verb_input)


RUNS: Mapping[str, Callable[[Call, Workspace, Any], Any]] = {"handoff extract": _extract_for_client, "recall": _recall}
"""The verbs that run with the settings and transcripts of this machine."""
