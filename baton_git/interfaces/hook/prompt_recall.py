"""Add quotes of earlier sessions to a prompt; see `recall.at_prompt`.

With most prompts a hook does nothing else, and the agent waits for it. So this imports neither the records nor the
settings: what it needs is in the session's file and in the index.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

from baton_git.agents.hook_events.hook_session import HookSession, HookSessionStore, ToldText, note_told, read_told
from baton_git.agents.hook_events.payloads import Payload, fits
from baton_git.agents.hook_events.planner import REPEAT_SECONDS, identify_event
from baton_git.agents.hook_events.repository_lookup import RepositoryPaths, read_branch
from baton_git.git.files.ref_locks import hold_flock
from baton_git.recall.at_prompt import Asked, recall_for_prompt
from baton_git.recall.passages import ON_THIS_MACHINE, Passage

LOCK_SECONDS = 2.0
"""Maximum seconds to wait for another hook of the same session; then nothing is added."""


def has_settings(repository: RepositoryPaths, session: HookSession) -> bool:
    """Whether no file of git's settings changed since the session's file was written, which has what they say."""
    home = os.path.expanduser("~")
    shared = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    files = (
        os.path.join(repository.common_dir, "config"), os.path.join(repository.git_dir, "config.worktree"),
        os.environ.get("GIT_CONFIG_GLOBAL") or os.path.join(home, ".gitconfig"), os.path.join(shared, "git", "config"),
    )  # fmt: skip
    written = _changed_at(HookSessionStore(repository.common_dir).path(session.cli, session.session))
    return all(_changed_at(file) < written for file in files)


def _changed_at(path: str) -> int:
    """Return when a file changed, in nanoseconds; 0 without one."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def answer_prompt(payload: Payload, repository: RepositoryPaths, session: HookSession) -> str:
    """Return the text for a prompt, and remember it; empty if nothing helps, or another hook answers the same prompt.

    Raises:
        StoreError: the index cannot be searched.
    """
    memory = HookSessionStore(repository.common_dir)
    with hold_flock(memory.path(payload.agent, payload.session, ".lock"), LOCK_SECONDS) as is_alone:
        told, event, now = read_told(memory, payload.agent, payload.session), identify_event(payload), time.time()
        is_repeated = bool(told) and told[-1].event == event and 0 <= now - told[-1].at < REPEAT_SECONDS
        if is_alone is False or is_repeated:
            return ""
        text = recall(payload, repository, session.namespace, told, f"ctx-{os.urandom(4).hex()}")
        note_told(memory, payload.agent, payload.session, ToldText(now, event, text))
        return text


def recall(
    payload: Payload, repository: RepositoryPaths, namespace: str, told: list[ToldText], mark: str, context: str = ""
) -> str:
    """Return the text for a prompt, if there is room for it beside other context; empty if nothing helps.

    Args:
        told: what the session was told before.
        context: what this hook tells it as well.

    Raises:
        StoreError: the index cannot be searched.
    """
    common_dir = Path(repository.common_dir)
    asked = Asked(
        payload.prompt, namespace, payload.session, read_branch(repository.git_dir),
        [*(one.text for one in told), context], not any(one.event for one in told), make_vouch(common_dir),
    )  # fmt: skip
    text = recall_for_prompt(common_dir, asked, mark)
    return text if not text or fits(payload, f"{context}\n\n{text}" if context else text) else ""


def make_vouch(common_dir: Path) -> Callable[[Passage], str]:
    """Return a function that returns the label of a passage of a record: see `Asked.vouch`."""

    @cache
    def label_of_commit(commit: str) -> str:
        from baton_git.checks.approvals import Approvals  # only sessions without turns on this machine need these
        from baton_git.core.errors import StoreError
        from baton_git.core.names import Oid
        from baton_git.interfaces.context.process import data_home
        from baton_git.namespace.provenance.ledger import find_ledger

        approvals, ledger = Approvals(data_home() / "baton" / "approved.json", common_dir), find_ledger(common_dir)
        try:
            if ledger.is_made_here(Oid(commit)):
                return ON_THIS_MACHINE
            sources = ledger.sources_of(Oid(commit))
            return next((f"from {source.name}" for source in sources if approvals.trusts_remote(source.url)), "")
        except StoreError:  # nobody knows where it came from, or whom the user trusts
            return ""

    return lambda passage: label_of_commit(passage.commit) if passage.commit else ""
