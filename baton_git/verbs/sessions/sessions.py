"""The verbs `init` and `boot`: create a namespace, and start a session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import Field, PrivateAttr

from baton_git.agents.mining.evidence import store_addresses
from baton_git.core.brief import BUDGET, MIN_BUDGET
from baton_git.core.names import Namespace
from baton_git.core.verb import SETTLES, Input, Option, Tool, verb
from baton_git.core.view import Reader, ResultView
from baton_git.namespace.results import AtNamespace, describe_new_namespace, full_position
from baton_git.namespace.workspace import Workspace
from baton_git.systems import run_start_hooks
from baton_git.verbs.sessions.session_start import (
    CHECK_BUDGET,
    BegunSession,
    StartOptions,
    begin_session,
    make_session_id,
)
from baton_git.verbs.sharing.auto_sync import AT_START, meet_at_start, receive_at_start


class NewNamespace(Input):
    """The namespace to create."""

    namespace: str | None = Field(
        None, min_length=1, description="The name, which may be any text. Default: the namespace of the call.",
        examples=["project:memory-hall"],
    )  # fmt: skip
    sync_seconds: float = Field(
        AT_START, ge=0, le=60, description="Seconds for asking the remote, which may have it; 0 does not ask."
    )


class InitResult(AtNamespace):
    """A namespace and its repository."""

    created: bool = Field(description="Whether this call created it.")
    ref: str = Field(description="Its branch.", examples=["refs/heads/baton/project%3amemory-hall"])
    repository: str = Field(description="Path of the repository.", examples=["/srv/state.git"])
    news: list[str] = Field(description="What came in from the remote, or why nothing did.")

    @property
    def http_status(self) -> int | None:
        return None if self.created else 200


@verb(
    "init",
    "POST /v1/namespaces",
    usage=(
        "This also sets git config baton.namespace and a merge driver in the repository, so that git merge "
        "merges the branch like baton sync."
    ),
    effect=SETTLES,
    status=201,
    anywhere=True,
    other_status={200: "The namespace exists already."},
    tag="state",
    options={"namespace": Option(hidden=True), "sync_seconds": Option(names=("--sync-budget",))},
    examples=("baton init", "baton init --namespace project:memory-hall"),
)
def init(ws: Workspace, now: datetime, verb_input: NewNamespace) -> InitResult:
    """Create a namespace in this repository; an existing one is left unchanged.

    A namespace is a branch of its own, baton/NAME. Your files, index and other branches are not touched. If the remote
    has the namespace, or only one under another name, it is fetched from there; nothing is sent.

    Raises:
        InvalidName: the name is not valid for a namespace.
    """
    branch = ws.branch
    if verb_input.namespace is not None:
        branch = replace(branch, namespace=Namespace(verb_input.namespace), is_named=True)
        branch.check_chosen_name()
    created = not branch.exists
    news: Sequence[str] = ()
    if branch.may_be_fetched:
        meeting = meet_at_start(ws.on(branch), now, verb_input.sync_seconds)
        branch = meeting.ws.branch
        news = receive_at_start(meeting.ws, now, meeting)
    revision = branch.create(ws.stamp("init", now))
    store_addresses(branch.store.repository)
    repository = str(branch.store.repository.common_dir)
    return InitResult(
        **full_position(revision), created=created, ref=branch.ref, repository=repository, news=list(news)
    )


class SessionStart(Input):
    """Options for starting a session."""

    budget: int = Field(BUDGET, ge=MIN_BUDGET, le=1_000_000, description="Maximum size of the brief in bytes.")
    check_seconds: float = Field(CHECK_BUDGET, ge=0, le=60, description="Seconds for all checks together; 0 runs none.")
    sync_seconds: float = Field(
        AT_START, ge=0, le=60, description="Seconds for fetching from the remote; 0 does not fetch."
    )


class BootResult(AtNamespace):
    """A started session and its brief."""

    session: str = Field(
        description="The session's name, for the header Baton-Session and the variable BATON_SESSION.",
        examples=["2026-06-17-003"],
    )
    parent: str | None = Field(description="The session that this one continues.")
    checks: dict[str, dict[str, Any]] = Field(description="The result of each check, by loop id.")
    archived: list[str] = Field(description="Loops verified by earlier sessions and now archived.")
    problems: list[str] = Field(description="Missing or broken records and settings; the call succeeds nevertheless.")
    news: list[str] = Field(description="Changes from other machines, and what waits for review.")
    left_out: dict[str, int] = Field(description="How many lines of each kind did not fit into the brief.")
    brief: str = Field(description="The brief, as Markdown.")
    verbose: ClassVar[frozenset[str]] = frozenset({"namespace", "commit", "checks", "archived", "left_out"})

    _is_new: bool = PrivateAttr(False)
    _is_readable: bool = PrivateAttr(True)
    _common_dir: Path = PrivateAttr(Path())

    @property
    def is_new(self) -> bool:
        """Whether this start created the namespace."""
        return self._is_new

    @property
    def is_readable(self) -> bool:
        """Whether the namespace's newest commit could be read; if not, the brief and `problems` say why."""
        return self._is_readable

    @classmethod
    def of(cls, begun: BegunSession) -> Self:
        """Return the result for a started session."""
        result = cls(
            **full_position(begun.revision),
            session=begun.session,
            parent=begun.parent,
            checks={id_: check.as_data() for id_, check in begun.checks.items()},
            archived=list(begun.closed),
            problems=list(begun.problems),
            news=list(begun.news),
            left_out=begun.brief.left_out,
            brief=begun.brief.text,
        )
        result._is_new, result._is_readable = begun.is_new, begun.is_readable
        return result

    def show(self, reader: Reader) -> ResultView:
        """Return the brief; the status says if the newest revision cannot be read."""
        new = [describe_new_namespace(self.namespace, self._common_dir)] if self.is_new else []
        return ResultView(self.brief, new, "ok" if self.is_readable else "failed")

    def at(self, common_dir: Path) -> Self:
        """Keep the folder of the repository, and return this result."""
        self._common_dir = common_dir
        return self


@verb(
    "boot",
    "POST /v1/boot",
    usage=(
        "Later commands in this work tree act in this session until baton wrap. If several agents work in one "
        "work tree at the same time, each must set BATON_SESSION.\n\n"
        "Exit status: 1 if the newest revision cannot be read."
    ),
    effect=SETTLES,
    session="begins",
    tag="sessions",
    options={
        "check_seconds": Option(
            names=("--check-budget",), flags={"no-verify": "Run no checks."}, values={"no-verify": 0}
        ),
        "sync_seconds": Option(
            names=("--sync-budget",), flags={"no-sync": "Do not fetch from the remote."}, values={"no-sync": 0}
        ),
    },
    tool=Tool("Start a session: get its brief.", hidden=("budget", "check_seconds", "sync_seconds")),
    examples=("baton boot", "baton boot --session 2026-06-17-003 --agent claude --budget 4000"),
)
def boot(ws: Workspace, now: datetime, verb_input: SessionStart) -> BootResult:
    """Start a session: fetch changes of other machines, escalate overdue loops, run the checks, archive verified loops,
    and return the brief.

    Missing or broken records do not stop it; the brief names them.

    Raises:
        InvalidName, InvalidDocument: the session's name is invalid.
        NotFound: the namespace does not exist here, and the call does not create it.
    """
    session = ws.actor.session or make_session_id(now).text
    ws = replace(ws, actor=replace(ws.actor, session=session))
    meeting = meet_at_start(ws, now, verb_input.sync_seconds)
    problems = [*ws.problems, *meeting.ws.catch_up(meeting.ws, now)]
    options = StartOptions(
        verb_input.budget, verb_input.check_seconds, verb_input.sync_seconds, partial(run_start_hooks, now=now),
        problems=problems, ends_abandoned=True, meeting=meeting,
    )  # fmt: skip
    begun = BootResult.of(begin_session(meeting.ws, now, options))
    return begun.at(ws.branch.store.repository.common_dir)
