"""The verbs `init` and `boot`: make a namespace, and begin a session."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any, ClassVar, Self

from pydantic import Field, PrivateAttr

from baton_git.core.brief import BUDGET, MIN_BUDGET
from baton_git.core.names import Namespace
from baton_git.core.verb import SETTLES, Input, Option, Tool, verb
from baton_git.namespace.results import AtNamespace, full_position
from baton_git.namespace.workspace import Workspace
from baton_git.systems.session_hooks import run_start_hooks
from baton_git.verbs.sessions.auto_sync import AT_START
from baton_git.verbs.sessions.session_start import (
    CHECK_BUDGET,
    BegunSession,
    StartOptions,
    begin_session,
    make_session_id,
)


class NewNamespace(Input):
    """A namespace to be made."""

    namespace: str | None = Field(
        None, min_length=1, description="Any text; the namespace of the call unless given.",
        examples=["project:memory-hall"],
    )  # fmt: skip


class InitResult(AtNamespace):
    """A namespace, and where it is kept."""

    created: bool = Field(description="Whether it was made just now.")
    ref: str = Field(description="Its branch.", examples=["refs/heads/baton/project%3amemory-hall"])
    repository: str = Field(description="Where that is kept.", examples=["/srv/state.git"])

    @property
    def http_status(self) -> int | None:
        return None if self.created else 200


@verb(
    "init",
    "POST /v1/namespaces",
    effect=SETTLES,
    status=201,
    anywhere=True,
    other_status={200: "It was there already."},
    tag="state",
    options={"namespace": Option(hidden=True)},
    examples=("baton init", "baton init --namespace project:memory-hall"),
)
def init(ws: Workspace, now: datetime, asked: NewNamespace) -> InitResult:
    """Make a namespace in this repository; one that exists stays as it is.

    It is a branch of its own, baton/NAME. Your files, index and other branches are not touched.

    Raises:
        InvalidName: the namespace cannot be called that.
    """
    branch = ws.branch
    if asked.namespace is not None:
        branch = replace(branch, namespace=Namespace(asked.namespace))
        branch.check_name()
    created = branch.read().commit is None
    version = branch.create(ws.stamp("init", now))
    repository = str(branch.store.repository.common_dir)
    return InitResult(**full_position(version), created=created, ref=branch.ref, repository=repository)


class SessionStart(Input):
    """How a session begins."""

    budget: int = Field(BUDGET, ge=MIN_BUDGET, le=1_000_000, description="Bytes of the brief.")
    check_seconds: float = Field(
        CHECK_BUDGET, ge=0, le=60, description="Seconds that all checks together may take; 0 runs none."
    )
    sync_seconds: float = Field(
        AT_START, ge=0, le=60, description="Seconds that asking the remote may take; 0 does not ask it."
    )


class BootResult(AtNamespace):
    """What a session starts with."""

    session: str = Field(
        description="Its name, for the header Baton-Session and the variable BATON_SESSION.",
        examples=["2026-06-17-003"],
    )
    parent: str | None = Field(description="The session it follows.")
    checks: dict[str, dict[str, Any]] = Field(description="By loop, what its check found.")
    archived: list[str] = Field(description="Loops that earlier sessions verified, archived now.")
    problems: list[str] = Field(description="What is missing or broken; it stops nothing.")
    news: list[str] = Field(description="What came from other machines, or waits.")
    left_out: dict[str, int] = Field(description="How many lines of each kind the brief had no room for.")
    brief: str = Field(description="What the session must know, as Markdown.")
    verbose: ClassVar[frozenset[str]] = frozenset({"namespace", "commit", "checks", "archived", "left_out"})

    _is_new: bool = PrivateAttr(False)

    @property
    def is_new(self) -> bool:
        """Whether this start made the namespace."""
        return self._is_new

    @classmethod
    def of(cls, begun: BegunSession) -> Self:
        """Return the result for a session that has begun."""
        result = cls(
            **full_position(begun.version),
            session=begun.session,
            parent=begun.parent,
            checks={id_: check.as_data() for id_, check in begun.checks.items()},
            archived=list(begun.closed),
            problems=list(begun.problems),
            news=list(begun.news),
            left_out=begun.brief.left_out,
            brief=begun.brief.text,
        )
        result._is_new = begun.is_new
        return result


@verb(
    "boot",
    "POST /v1/boot",
    effect=SETTLES,
    session="begins",
    tag="sessions",
    options={
        "check_seconds": Option(names=("--check-budget",)),
        "sync_seconds": Option(names=("--sync-budget",)),
    },
    tool=Tool("Begin a session: get its brief.", hidden=("budget", "check_seconds", "sync_seconds")),
    examples=("baton boot", "baton boot --session 2026-06-17-003 --agent claude --budget 4000"),
)
def boot(ws: Workspace, now: datetime, asked: SessionStart) -> BootResult:
    """Begin a session: take over what other machines sent, settle what is due, run the checks, archive what was
    verified, and return the brief.

    Nothing stops it: what is missing or broken is named in the brief.

    Raises:
        InvalidName, InvalidDocument: the session's name cannot be one.
        NotFound: the namespace does not exist here, and nobody chose to create it.
    """
    session = ws.actor.session or make_session_id(now).text
    ws = replace(ws, actor=replace(ws.actor, session=session))
    hooks = run_start_hooks(ws, now)
    options = StartOptions(
        asked.budget, asked.check_seconds, asked.sync_seconds, hooks.agent, hooks.restored,
        problems=[*ws.problems, *hooks.problems], ends_left=True,
    )  # fmt: skip
    return BootResult.of(begin_session(ws, now, options))
