"""The workspace of a verb: the branch it works on, who acts, and the settings."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from baton_git.checks.approvals import Approvals
from baton_git.core.errors import InvalidArgument, StoreError
from baton_git.core.lifecycle import Confirmed
from baton_git.core.local_names import NOTHING, LocalNames
from baton_git.core.names import Namespace, Oid, mint_id
from baton_git.core.policy import Policy
from baton_git.core.progress import Progress, ignore_progress
from baton_git.core.proposals import Proposals, find_proposals
from baton_git.core.records.base import Record, value_at
from baton_git.core.records.work_items import ActiveDecision, OpenLoop, Pattern, Rule
from baton_git.core.sessions import complete_session, is_short_name
from baton_git.core.state import Key, State, key_of
from baton_git.core.times import iso
from baton_git.git.rewritten import MIN_HASH, find_newest, load_rewritten
from baton_git.git.store import CommitInfo
from baton_git.namespace.branch import Branch
from baton_git.namespace.caller import ChangeCaller, Vouched, Vouching
from baton_git.namespace.commit_log import UNAUTHENTICATED, UNAUTHENTICATED_AUTHOR
from baton_git.namespace.machine import Machine
from baton_git.namespace.provenance.judgement import Judgement
from baton_git.namespace.provenance.labels import Labels, Patience
from baton_git.namespace.remote_settings import RemoteSettings
from baton_git.namespace.results import Changed
from baton_git.namespace.revision import CommitStamp, ProposedState, Revision, WriteResult

if TYPE_CHECKING:
    from baton_git.core.records.work_items import Anchor
    from baton_git.git.source_files import SourceFiles
    from baton_git.namespace.aging import AnchorJudge, AnchorState, Implementation

Model = TypeVar("Model", bound=Record)


@dataclass(frozen=True)
class Actor:
    """The author, session, agent and machine on whose behalf a verb runs.

    Attributes:
        author: `Name <mail>`; the other fields may be unknown.
        is_agent_named: whether the call names the agent. If only the environment does, the settings of the work tree
            take precedence.
        is_session_named: whether the call names the session, as `is_agent_named`.
        follows: the session in this work tree that a session replaces if it begins now.
        ended: without a session, the one that ended last in this work tree, if it is known.
        is_unauthenticated: whether the caller reached a server that asks for no token, so that nobody knows who it is.
    """

    author: str
    session: str | None = None
    agent: str | None = None
    machine: str | None = None
    is_agent_named: bool = False
    is_session_named: bool = False
    follows: str | None = None
    ended: str | None = None
    is_unauthenticated: bool = False

    @property
    def person(self) -> str | None:
        """The name of the person whose machine this is, as commits have it; None if nobody knows it: git has no name
        (the author is then `unknown`), or the caller has no token."""
        name = "" if self.is_unauthenticated else self.author.partition("<")[0].strip()
        return name if name not in ("", "unknown") else None

    @property
    def named_agent(self) -> str | None:
        """The agent, if the call names it; otherwise None."""
        return self.agent if self.is_agent_named else None

    @property
    def named_session(self) -> str | None:
        """The session, if the call or BATON_SESSION names it; otherwise None."""
        return self.session if self.is_session_named else None


class Background(NamedTuple):
    """Starts work of the namespace that goes on after the process has ended.

    Attributes:
        request: requests a task; returns whether it goes on.
        resume: goes on with what a killed process left, of all namespaces; returns whether there was anything.
        of: requests a task for another namespace; None if nothing can go on.
    """

    request: Callable[[str], bool] = lambda _: False
    resume: Callable[[], bool] = lambda: False
    of: Callable[[str, Namespace], bool] | None = None

    def move_to(self, namespace: Namespace) -> Background:
        """Return the same for another namespace."""
        of = self.of
        return self if of is None else self._replace(request=lambda task: of(task, namespace))


NO_BACKGROUND = Background()
"""For callers that start no other processes, such as the library."""


@dataclass(frozen=True)
class Workspace:
    """One namespace with everything a verb needs.

    Attributes:
        branch: the branch of the namespace.
        actor: the author, session, agent and machine on whose behalf the verb runs.
        policy: the parameters of the rules for records, such as limits and thresholds.
        folder: the work tree that checks refer to; None outside a work tree.
        approvals: what the user allowed on this machine.
        private_hosts: whether checks may reach private addresses other than loopback.
        environment: the environment of the programs that baton starts.
        remote_settings: the settings for remotes.
        confirmed: the confirmation that a person gave for this call; set only by an interface that observed it.
        find_agent: returns why the caller is, or may be, an agent, from which unreviewed changes are withheld; empty if
            there is no sign of one.
        problems: the settings of this machine that are invalid; their defaults are used instead.
        shares_turns: whether the turns of sessions are committed and so shared with other machines.
        progress: called with the progress of long work.
        calls_tools: whether the verb is called as an MCP tool.
        background: starts background work.
        folds_archive: whether archived records are moved into bundles (git config baton.foldArchive).
        find_machine: returns this machine, for verbs that declare that they need it.
        tell: called with a line about what was done beside the result; a command prints it to stderr.
        sandbox_hint: what to do if the sandbox of an agent CLI makes the repository read-only; empty elsewhere.
        send_cached: sends what waits in the cache of this machine's clients, within some seconds, and returns lines for
            a person; does nothing for callers that act for others, such as a server.
        catch_up: saves the facts of sessions that were killed on this machine, and returns lines about those that it
            could not save; does nothing for such callers either, nor in a hook, which has done it before.
    """

    branch: Branch
    actor: Actor
    policy: Policy = field(default_factory=Policy)
    folder: Path | None = None
    approvals: Approvals | None = None
    private_hosts: bool = False
    environment: dict[str, str] = field(default_factory=dict)
    remote_settings: RemoteSettings = field(default_factory=RemoteSettings)
    confirmed: Confirmed | Vouched | None = None
    find_agent: Callable[[], str] = lambda: ""
    problems: Sequence[str] = ()
    shares_turns: bool = False
    progress: Progress = ignore_progress
    calls_tools: bool = False
    background: Background = NO_BACKGROUND
    folds_archive: bool = True
    find_machine: Callable[[], Machine] | None = None
    tell: Callable[[str], None] = lambda line: None
    sandbox_hint: str = ""
    send_cached: Callable[[float], Sequence[str]] = lambda seconds: ()
    catch_up: Callable[[Workspace, datetime], Sequence[str]] = lambda ws, now: ()

    @property
    def session(self) -> str:
        """The session's name, or `none` for records that must name one."""
        return self.actor.session or "none"

    def complete_session(self, text: str | None) -> str | None:
        """Return the id of the session with this id or short name; any other text, a new session, unchanged.

        Raises:
            Ambiguous: several sessions have this short name.
        """
        if text is None or not is_short_name(text):
            return text
        return complete_session(self.branch.read().state, text)

    @property
    def machine(self) -> Machine | None:
        """This machine; None if the caller is none of the interfaces."""
        return self.find_machine() if self.find_machine is not None else None

    @property
    def required_machine(self) -> Machine:
        """The same as `machine`.

        Raises:
            InvalidArgument: there is none.
        """
        machine = self.machine
        if machine is None:
            raise InvalidArgument("this caller gives no access to the machine")
        return machine

    @property
    def unauthenticated(self) -> Workspace:
        """The same workspace for a caller without a token: its commits have neither the name of this machine's person
        as their author nor that person's signature."""
        actor = replace(self.actor, author=UNAUTHENTICATED_AUTHOR, is_unauthenticated=True)
        return replace(self, actor=actor, branch=replace(self.branch, sign=None))

    def on(self, branch: Branch) -> Workspace:
        """Return the same workspace on the branch of another namespace, whose background work it then requests."""
        return replace(self, branch=branch, background=self.background.move_to(branch.namespace))

    @property
    def signature_check(self) -> Callable[[CommitInfo], bool] | None:
        """A function that tells whether a commit is signed by an allowed key; None if no keys are configured."""
        return self.remote_settings.signature_check(self.branch.store)

    def labels(self, revision: Revision | None = None) -> Labels:
        """Return the labels of the records at a revision, by default the newest.

        Raises:
            Corrupt: the tip of the branch cannot be read.
        """
        return Labels(self.branch, self._commit_of(revision), self.vouching)

    def judgement(self, revision: Revision | None = None) -> Judgement:
        """Return the judgement of the records at a revision, by default the newest.

        Raises:
            Corrupt: the tip of the branch cannot be read.
        """
        return Judgement(self.labels(revision), RecordAging(self, revision).describe)

    def shown_judgement(
        self, revision: Revision | None = None, patience: Patience | None = None,
        waits: Callable[[OpenLoop], bool] | None = None,
    ) -> Judgement:  # fmt: skip
        """Return the same as `judgement`, to show records: if older revisions cannot be read, or there is no time to
        read many new ones, all labels are unknown.

        Args:
            waits: tells whether the check of a loop waits for a person's approval, for callers that show loops.

        Raises:
            Corrupt: the tip of the branch cannot be read.
        """
        labels = Labels(self.branch, self._commit_of(revision), self.vouching, is_tolerant=True, patience=patience)
        return Judgement(labels, RecordAging(self, revision).describe, waits)

    def _commit_of(self, revision: Revision | None) -> Oid | None:
        return revision.commit if revision is not None else self.branch.tip()

    @property
    def source_files(self) -> SourceFiles | None:
        """The source files of the work tree and its history; None outside a work tree."""
        top = self.branch.store.repository.work_tree
        if top is None:
            return None
        from baton_git.git.source_files import SourceFiles  # most verbs do not need source files

        return SourceFiles(self.branch.store, top, self.environment, self.branch.prefix)

    @property
    def vouching(self) -> Vouching:
        """The signature check and the trusted remotes whose confirmations count besides those made on this machine."""
        signed = self.remote_settings.signature_check(self.branch.store, with_git=True)
        return Vouching(signed, self._trusts_remote)

    @property
    def caller(self) -> ChangeCaller:
        """Who asks for the changes of the verb: the person who confirmed this call, or anybody else."""
        return ChangeCaller(self.confirmed, self.vouching)

    def _trusts_remote(self, url: str) -> bool:
        """Return whether the user trusts the remote at `url`; False if the approvals cannot be read."""
        try:
            return self.approvals is not None and self.approvals.trusts_remote(url)
        except StoreError:
            return False

    @property
    def names(self) -> LocalNames:
        """The names of this machine that are not stored, for texts written in the current work tree."""
        return self.branch.places.names if self.branch.places is not None else NOTHING

    def names_for(self, work_tree: str | Path | None, *spellings: str | None) -> LocalNames:
        """Return the names that are not stored, for texts written in a work tree (None: in the current one).

        Args:
            spellings: other paths of that work tree, such as its path in a container.
        """
        places = self.branch.places
        return places.names_for(work_tree, *spellings) if places is not None else NOTHING

    def label_work_tree(self, work_tree: str | Path) -> str:
        """Return what is stored in place of a work tree's path."""
        return self.branch.places.label(work_tree) if self.branch.places is not None else str(work_tree)

    def find_top(self, folder: str) -> str:
        """Return the known work tree that a folder is in, or else the folder itself."""
        return self.branch.places.find_top(folder) if self.branch.places is not None else folder

    def remember_work_tree(self, work_tree: str | Path | None) -> None:
        """Record the path of a work tree on this machine, because its label is stored."""
        if self.branch.places is not None and work_tree is not None:
            self.branch.places.remember(work_tree)

    def list_known_work_trees(self) -> list[str]:
        """Return the paths of the work trees that exist, or that were recorded before they were removed."""
        return list(self.names.labels)

    def show_work_tree(self, stored: str) -> str:
        """Return the path on this machine of a stored work tree, or what is stored if it is elsewhere."""
        return self.names.find_work_tree(stored) or stored

    def is_own_machine(self, machine: str | None) -> bool:
        """Return whether a stored name of a machine is, or was, the one of this machine."""
        places = self.branch.places
        return machine == self.actor.machine or (places is not None and places.is_own(machine))

    def is_in_work_tree(self, machine: str | None, work_tree: str | None) -> bool:
        """Return whether a record's machine and work tree, a label or a path, are the current work tree."""
        if self.branch.places is not None:
            return self.branch.places.is_here(machine, work_tree)
        here = os.path.realpath(self.folder) if self.folder is not None else None
        return machine == self.actor.machine and bool(work_tree) and os.path.realpath(work_tree or "") == here

    def stamp(self, op: str, now: datetime) -> CommitStamp:
        actor = self.actor
        client = UNAUTHENTICATED if actor.is_unauthenticated else None
        return CommitStamp(op, now, actor.author, self.caller, actor.session, actor.agent, actor.machine, client)

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
        """Return the result that `update` would have now, without writing."""
        return self.branch.preview(change)

    def edit(
        self,
        op: str,
        now: datetime,
        model: type[Model],
        id_: str,
        change: Callable[[State, Model], State | ProposedState],
    ) -> Changed:
        """Change the live record with the id `id_`, which may be a unique prefix.

        Raises:
            NotFound, Ambiguous: no live record has such an id, or several have.
            BatonError: under the same conditions as `Branch.update`.
        """
        record = self.branch.read().state.find(model, id_)

        def on(tip: Revision) -> State | ProposedState:
            return change(tip.state, tip.state.get(model, record.id))

        return Changed.of(self.update(op, now, on), id=record.id)


class RecordAging:
    """Compares the records of a workspace with the current source code, and decisions with the proposals that wait."""

    def __init__(self, ws: Workspace, revision: Revision | None = None) -> None:
        self._ws = ws
        self._revision = revision

    @cached_property
    def proposals(self) -> Proposals:
        """The decisions that are proposed to replace others."""
        revision = self._revision or self._ws.branch.read()
        return find_proposals(revision.state, self._ws.shown_judgement(revision))

    def describe(self, record: Record) -> str:
        """Describe in a few words which anchored code changed; empty if none did or the record has no anchors."""
        states = self.judge(record)
        if not states:
            return ""
        from baton_git.namespace.aging import describe_aging  # few records have anchors

        return describe_aging(states)

    def judge(self, record: Record) -> list[AnchorState]:
        """Return the current state of each anchor of a record; empty outside a work tree."""
        anchors: Sequence[Anchor] = getattr(self._holder(record), "anchors", ())
        judge = self._judge if anchors else None
        if judge is None:
            return []
        made = self._find_implementation(record, {anchor.session for anchor in anchors if anchor.session})
        return [judge.judge(anchor, made) for anchor in anchors]

    def _find_implementation(self, record: Record, sessions: Collection[str]) -> Implementation:
        """Return which commits carry a decision out; a pattern or a rule is carried out by none."""
        from baton_git.namespace.aging import NOT_CARRIED_OUT, Implementation  # few records have anchors

        if not isinstance(record, ActiveDecision):
            return NOT_CARRIED_OUT
        return Implementation(
            (record.id, record.what), lambda: [*self._list_commits(sessions)],
            lambda path: self._has_changed(sessions, path),
        )  # fmt: skip

    def _has_changed(self, sessions: Collection[str], path: str) -> bool:
        """Return whether one of these sessions is the acting one, or changed the file as its digest says."""
        if self._ws.actor.session in sessions:
            return True
        files, state = self._ws.source_files, (self._revision or self._ws.branch.read()).state
        of_sessions = (id_ for id_ in state.ids("handoff") if id_.partition("/")[2] in sessions)
        changed = (value_at(state.entry(Key("handoff", id_)), "facts.files_modified") or () for id_ in of_sessions)
        names = (self._ws.names.resolve(name) for paths in changed for name in paths)
        return files is not None and any(files.top / name == files.top / path for name in names)

    def _list_commits(self, sessions: Collection[str]) -> Iterator[str]:
        """Yield the commits that the digests of these sessions name, and those that replaced them in a rebase."""
        state = (self._revision or self._ws.branch.read()).state
        rewritten = load_rewritten(self._ws.branch.store.repository.common_dir)
        for id_ in state.ids("handoff"):
            if id_.partition("/")[2] in sessions:
                commits = value_at(state.entry(Key("handoff", id_)), "facts.git_commits") or ()
                hashes = [commit.hash for commit in commits if len(commit.hash) >= MIN_HASH]
                yield from (*hashes, *(find_newest(rewritten, hash_) for hash_ in hashes))

    def _holder(self, record: Record) -> object:
        """Return the record that holds the anchors: for a rule, the pattern from which it was graduated."""
        if record.kind != Rule.kind:
            return record
        revision = self._revision or self._ws.branch.read()
        return revision.state.entry(Key(Pattern.kind, record.id))

    @cached_property
    def _judge(self) -> AnchorJudge | None:
        files = self._ws.source_files
        if files is None:
            return None
        from baton_git.namespace.aging import AnchorJudge  # few records have anchors

        return AnchorJudge(files)


def fresh_id(prefix: str) -> str:
    """Return a random id, such as `OL-7k3f9q`. If the id is taken, adding a record with it fails."""
    return mint_id(prefix, os.urandom(4))


def fresh_mark() -> str:
    """Return a random mark for the frame around a text, so that the author of the text cannot forge the frame."""
    return mint_id("ctx", os.urandom(4))


def check_not_empty(text: str, name: str) -> None:
    """Raise InvalidArgument if `text` is blank."""
    if not text.strip():
        raise InvalidArgument(f"the {name} is empty", hint="describe it in a sentence")


def archive_record(ws: Workspace, now: datetime, op: str, model: type[Model], id_: str, reason: str) -> Changed:
    """Archive a live work item that is settled, with a reason."""

    def change(state: State, record: Model) -> ProposedState:
        archived = state.archive(record, at=iso(now), reason=reason, session=ws.actor.session)
        return ProposedState(archived, settled=frozenset({key_of(record)}))

    return ws.edit(op, now, model, id_, change)
