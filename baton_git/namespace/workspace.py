"""The workspace of a verb: the branch it works on, who acts, and the settings."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

from baton_git.checks.approvals import Approvals
from baton_git.core.errors import InvalidArgument, StoreError
from baton_git.core.lifecycle import Confirmed, Policy
from baton_git.core.names import mint_id
from baton_git.core.progress import Progress, ignore_progress
from baton_git.core.records.base import Record
from baton_git.core.records.rule import Rule
from baton_git.core.records.work_items import Pattern
from baton_git.core.state import Key, State
from baton_git.core.times import iso
from baton_git.git.store import CommitInfo, Store
from baton_git.namespace.branch import Branch
from baton_git.namespace.provenance.judgement import Judgement
from baton_git.namespace.provenance.labels import Labels, Vouching
from baton_git.namespace.results import Changed
from baton_git.namespace.revision import CommitStamp, ProposedState, Revision, WriteResult

if TYPE_CHECKING:
    from baton_git.core.records.anchor import Anchor
    from baton_git.git.signing import AllowedSigners
    from baton_git.git.source_files import SourceFiles
    from baton_git.namespace.aging import AnchorJudge, AnchorState

Model = TypeVar("Model", bound=Record)


@dataclass(frozen=True)
class Actor:
    """Who acts. `author` is `Name <mail>`; the other fields may be unknown.

    Attributes:
        is_agent_named: whether the call names the agent; one that only the environment names counts less than the
            settings of the work tree.
        follows: the session whose place in this work tree the one takes that begins now.
    """

    author: str
    session: str | None = None
    agent: str | None = None
    machine: str | None = None
    is_agent_named: bool = False
    follows: str | None = None

    @property
    def named_agent(self) -> str | None:
        """The agent, where the call names it."""
        return self.agent if self.is_agent_named else None


class Vouched(NamedTuple):
    """A person vouches for what a command does, on this machine, just now."""

    by: str
    how: Literal["terminal", "typed", "page", "signature", "client"]


class RemoteSettings(NamedTuple):
    """The user's settings for remotes.

    Attributes:
        remote: the one to sync with where none is named (git config baton.remote).
        automatic: whether sessions sync by themselves (baton.autosync).
        remotes: the names of those that are configured; None: they are looked up where they are needed.
        ssh: core.sshCommand and ssh.variant, where `remotes` is given.
        policies: by name of a remote, what its setting says (remote.<name>.batonPolicy).
        signers: whose signatures count (baton.allowedSigners); None where that is not configured.
        progress: is told what git says while it works.
    """

    remote: str | None = None
    automatic: bool = True
    remotes: tuple[str, ...] | None = None
    ssh: tuple[str | None, str | None] = (None, None)
    policies: Mapping[str, str] = MappingProxyType({})
    signers: AllowedSigners | None = None
    progress: Callable[[str], None] | None = None

    def signature_check(self, store: Store) -> Callable[[CommitInfo], bool] | None:
        """Whether a commit in `store` is signed by an allowed key; None where no keys are configured."""
        signers = self.signers
        if signers is None:
            return None
        from baton_git.git.signing import Signed  # few have it, and every start would pay for it

        return lambda info: isinstance(signers.verify(store.raw_commit(info.oid)), Signed)


@dataclass(frozen=True)
class Workspace:
    """One namespace with everything a verb needs.

    Attributes:
        folder: the work tree that checks refer to; None outside of one.
        approvals: what the user allowed on this machine.
        private_hosts: whether checks may reach private addresses other than loopback.
        environment: of the programs that we start.
        reach: the settings for remotes.
        confirmed: what a person confirmed just now; only an interface that saw it happen gives it.
        problems: what is wrong with the settings of this machine, where their defaults are used instead.
        shares_turns: whether the turns of sessions are committed, and so shared with other machines.
        progress: is told how far long work has come.
        calls_tools: whether who acts calls the verbs as tools of MCP.
    """

    branch: Branch
    actor: Actor
    policy: Policy = field(default_factory=Policy)
    folder: Path | None = None
    approvals: Approvals | None = None
    private_hosts: bool = False
    environment: dict[str, str] = field(default_factory=dict)
    reach: RemoteSettings = field(default_factory=RemoteSettings)
    confirmed: Confirmed | Vouched | None = None
    problems: Sequence[str] = ()
    shares_turns: bool = False
    progress: Progress = ignore_progress
    calls_tools: bool = False

    @property
    def session(self) -> str:
        """The session's name, or `none` for records that must name one."""
        return self.actor.session or "none"

    @property
    def signature_check(self) -> Callable[[CommitInfo], bool] | None:
        """Whether a commit is signed by an allowed key; None where no keys are configured."""
        return self.reach.signature_check(self.branch.store)

    def labels(self, version: Revision | None = None) -> Labels:
        """Return the labels of the records at a revision, by default the newest.

        Raises:
            Corrupt: the tip cannot be read.
        """
        commit = version.commit if version is not None else self.branch.store.tip(self.branch.ref)
        return Labels(self.branch, commit, self.vouching)

    def judgement(self, version: Revision | None = None) -> Judgement:
        """Return the judgement of the records at a revision, by default the newest.

        Raises:
            Corrupt: the tip cannot be read.
        """
        return Judgement(self.labels(version), RecordAging(self, version).describe)

    @property
    def source_files(self) -> SourceFiles | None:
        """The code around the namespace; None where there is no work tree."""
        top = self.branch.store.repository.work_tree
        if top is None:
            return None
        from baton_git.git.source_files import SourceFiles  # most verbs do not look at the code

        return SourceFiles(self.branch.store, top, self.environment)

    @property
    def vouching(self) -> Vouching:
        """Whose confirmations count besides those made on this machine."""
        return Vouching(self.signature_check, self._trusts_remote)

    def _trusts_remote(self, url: str) -> bool:
        """Whether the user trusts the remote at an address; False when the approvals cannot be read."""
        try:
            return self.approvals is not None and self.approvals.trusts_remote(url)
        except StoreError:
            return False

    def stamp(self, op: str, now: datetime) -> CommitStamp:
        actor = self.actor
        return CommitStamp(op, now, actor.author, actor.session, actor.agent, actor.machine)

    def update(
        self,
        op: str,
        now: datetime,
        change: Callable[[Revision], State | ProposedState],
        *,
        expected_revision: int | None = None,
    ) -> WriteResult:
        return self.branch.update(change, self.stamp(op, now), expected_revision=expected_revision)

    def preview(self, change: Callable[[Revision], State | ProposedState]) -> WriteResult:
        """Return what `update` would do now; nothing is written."""
        return self.branch.preview(change)

    def edit(
        self,
        op: str,
        now: datetime,
        model: type[Model],
        id_: str,
        change: Callable[[State, Model], State | ProposedState],
    ) -> Changed:
        """Change the live record that `id_` (or a unique prefix of its id) names."""
        record = self.branch.read().state.find(model, id_)

        def on(tip: Revision) -> State | ProposedState:
            return change(tip.state, tip.state.get(model, record.id))

        return Changed.of(self.update(op, now, on), id=record.id)


class RecordAging:
    """Says of the records of a workspace what changed of the code that they are about."""

    def __init__(self, ws: Workspace, version: Revision | None = None) -> None:
        self._ws = ws
        self._version = version

    def describe(self, record: Record) -> str:
        """Return what changed, in a few words; empty where nothing did, or the record has no anchors."""
        states = self.judge(record)
        if not states:
            return ""
        from baton_git.namespace.aging import describe_aging  # few records have anchors

        return describe_aging(states)

    def judge(self, record: Record) -> list[AnchorState]:
        """Return how the anchors of a record are now; none where there is no work tree."""
        anchors: Sequence[Anchor] = getattr(self._holder(record), "anchors", ())
        judge = self._judge if anchors else None
        return [judge.judge(anchor) for anchor in anchors] if judge is not None else []

    def _holder(self, record: Record) -> object:
        """The record that has the anchors: of a rule the pattern that it was."""
        if record.kind != Rule.kind:
            return record
        version = self._version or self._ws.branch.read()
        return version.state.entry(Key(Pattern.kind, record.id))

    @cached_property
    def _judge(self) -> AnchorJudge | None:
        files = self._ws.source_files
        if files is None:
            return None
        from baton_git.namespace.aging import AnchorJudge  # few records have anchors

        return AnchorJudge(files)


def fresh_id(prefix: str) -> str:
    """Return a random id; a collision is rejected when the record is added."""
    return mint_id(prefix, os.urandom(4))


def fresh_mark() -> str:
    """Return a random word for the frame around a text, which the author of the text cannot have known."""
    return mint_id("ctx", os.urandom(4))


def check_not_empty(text: str, name: str) -> None:
    """Raise InvalidArgument when `text` is blank."""
    if not text.strip():
        raise InvalidArgument(f"the {name} is empty", hint="say in a sentence what it is")


def archive_record(ws: Workspace, now: datetime, op: str, model: type[Model], id_: str, reason: str) -> Changed:
    """Archive a live record with a reason."""
    return ws.edit(
        op, now, model, id_,
        lambda state, record: state.archive(record, at=iso(now), reason=reason, session=ws.actor.session),
    )  # fmt: skip
