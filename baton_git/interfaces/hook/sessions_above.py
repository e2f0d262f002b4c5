"""Sessions that were started in a plain folder above several repositories with namespaces.

Each repository whose files the session changed or read gets its own files and commits, and the fact of the session.
Prompts, answers and everything else can be about the other repositories, whose remotes have other readers. So a
repository gets them only with `git config baton.sessionsFromAbove true`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from baton_git.agents.extraction.extracting import Extraction, extract
from baton_git.agents.extraction.repository import find_subjects
from baton_git.agents.hook_events.payloads import END, Payload
from baton_git.agents.sessions.handoff_store import complete_facts, store_handoff, store_turns
from baton_git.core.redaction import redact_text
from baton_git.git.local_git import GitUnavailable, SessionRepository
from baton_git.interfaces.context.invocation import Call
from baton_git.interfaces.context.process import hide_tokens
from baton_git.interfaces.context.settings import CommonOptions, Settings
from baton_git.interfaces.context.system_settings import read_call_options
from baton_git.interfaces.hook.event_runner import HookReply
from baton_git.interfaces.hook.session_facts import attempt
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.sharing.auto_sync import send_in_background


def save_below(payload: Payload, tops: Sequence[str]) -> HookReply:
    """Save a session in each of the repositories with these work trees that it worked in."""
    hide_tokens()
    problems: list[str] = []
    for top in tops:
        attempt(partial(_save, payload, top, problems), top, problems)
    return HookReply(problems=tuple(redact_text(problem)[0] for problem in problems))


def _save(payload: Payload, top: str, problems: list[str]) -> None:
    os.chdir(top)  # the settings are those of the repository around the current folder
    call = Call(Settings(CommonOptions(), is_lenient=True))
    options = read_call_options(call)
    if not options.enabled:
        return
    extraction = extract(
        Path(payload.transcript), payload.agent, options=options, folder=Path(payload.cwd),
        has_ended=payload.kind == END,
    )  # fmt: skip
    own = select_own(replace(extraction, session=payload.session), top, call.settings.takes_sessions_from_above)
    if own is None:
        return
    with call.workspace() as ws:
        ws = replace(ws, actor=replace(ws.actor, session=payload.session, agent=payload.agent))
        if not ws.branch.has_begun:
            return
        own = complete_facts(ws, call.now, _drop_commits_elsewhere(ws, own, top), folder=Path(top))
        store_handoff(
            ws, call.now, own, trigger="session_end" if payload.kind == END else "stop", worktree=Path(top)
        )  # fmt: skip
        if own.turns:
            store_turns(ws, own, top)
        if payload.kind == END:
            send_in_background(ws)
    problems += call.settings.problems


def select_own(extraction: Extraction, top: str, keeps_words: bool) -> Extraction | None:
    """Return the part of the facts that belongs to one work tree; None if the session did nothing there.

    Args:
        keeps_words: whether prompts, answers and everything else that names no file are kept.
    """
    facts, cwd = extraction.facts, extraction.home or extraction.cwd or os.sep
    modified = [path for path in facts.get("files_modified", ()) if _is_inside(path, cwd, top)]
    used = [use for use in facts.get("files_used", ()) if _is_inside(use["path"], cwd, top)]
    if not modified and not used:
        return None
    kept: dict[str, Any] = {"unknown": {}, "sources": {}, "git_commits": facts.get("git_commits", [])}
    if keeps_words:
        kept = {**facts, "sources": {
            name: value for name, value in facts.get("sources", {}).items() if name != "files_modified"
        }}  # fmt: skip
    own = {**kept, "files_modified": modified, "files_used": used}
    return replace(extraction, facts=own, turns=extraction.turns if keeps_words else (), branch=None)


def _is_inside(path: str, cwd: str, top: str) -> bool:
    full = os.path.realpath(os.path.join(cwd, path))  # noqa: PTH118  the path may be absolute
    return full.startswith(os.path.realpath(top).rstrip("/") + "/")


def _drop_commits_elsewhere(ws: Workspace, extraction: Extraction, top: str) -> Extraction:
    """Return the facts with only those commits that this repository has."""
    commits: list[dict[str, Any]] = extraction.facts.get("git_commits", [])
    try:
        git = SessionRepository(Path(top), ws.environment)
        known = find_subjects(git, [commit["hash"] for commit in commits if commit["hash"]])
    except GitUnavailable:
        known = {}
    kept = [number for number, commit in enumerate(commits) if commit["hash"] in known]
    own = [commits[number] for number in kept]
    details = tuple(extraction.commits[number] for number in kept if number < len(extraction.commits))
    return replace(extraction, facts={**extraction.facts, "git_commits": own}, commits=details)
