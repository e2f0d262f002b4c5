"""One call of an interface: its settings, and the workspace in which its verb runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Self

from baton_git.checks.approvals import Approvals
from baton_git.core.child_environment import without_repository
from baton_git.core.errors import InvalidArgument, InvalidName
from baton_git.core.names import Namespace, SessionId
from baton_git.git.store import Repository, Store
from baton_git.interfaces.context.process import child_environment, data_home, find_sandbox_hint, outside_git
from baton_git.interfaces.context.repository_choice import config_home
from baton_git.interfaces.context.settings import Settings
from baton_git.interfaces.hook.asked_remotes import describe_unanswered
from baton_git.namespace.branch import Branch
from baton_git.namespace.machine import Machine
from baton_git.namespace.machine_state import CurrentSession
from baton_git.namespace.workspace import Actor, Background, Workspace


@dataclass(frozen=True)
class Call:
    """One call of an interface."""

    settings: Settings
    may_fetch: ClassVar[bool] = False
    """Whether reading may fetch objects that a partial clone left out; not in a server or a hook, which must not wait
    for a remote."""

    @contextmanager
    def workspace(self, *, may_fetch: bool | None = None) -> Iterator[Workspace]:
        """Yield the namespace of the call, and who acts in it.

        Args:
            may_fetch: overrides the attribute of the same name.

        Raises:
            NotARepository: the repository does not exist, and the call may not create it.
            InvalidArgument, InvalidName: an option or a variable is invalid.
        """
        settings = self.settings
        session = settings.session or settings.hooked_session or self.current.get()
        with Store(settings.repository, environment=settings.environment) as store:
            store.tidied_by = self._merge_packs_in_background
            ws = self.workspace_on(store, settings.namespace)
            if self.may_fetch if may_fetch is None else may_fetch:
                self._fetch_on_demand(ws)
            ws.branch.check_chosen_name()
            named = settings.options.agent is not None
            ended = self.current.get_ended() if session is None else None
            actor = replace(
                ws.actor, session=ws.complete_session(session), agent=settings.agent, is_agent_named=named,
                is_session_named=settings.session is not None, ended=ended,
            )  # fmt: skip
            yield replace(ws, actor=actor)

    def _fetch_on_demand(self, ws: Workspace) -> None:
        """Let the store fetch objects of the namespace that are missing, if this is a partial clone."""
        store, ref = ws.branch.store, ws.branch.ref
        if self.settings.repository.promisors:
            from baton_git.namespace.ingest.promised import PromisedObjects  # slow to load; few clones are partial

            store.objects.supplier = PromisedObjects(store, self.settings.environment, lambda: store.tip(ref))

    @contextmanager
    def workspace_anywhere(self) -> Iterator[Workspace]:
        """Yield the same as `workspace`, in a temporary repository if there is none here and the user has no store."""
        if self.settings.is_repository_named or self.settings.found_repository is not None:
            with self.workspace() as ws:
                yield ws
            return
        with TemporaryDirectory(prefix="baton-") as folder:
            temporary = Repository.create_bare(Path(folder) / "state.git")
            with replace(self, settings=replace(self.settings, known=temporary)).workspace() as ws:
                yield replace(ws, folder=Path.cwd())

    def _merge_packs_in_background(self) -> bool:
        """Start merging packs in the background; return False if this fails, so that the caller must merge."""
        from baton_git.interfaces.background.pack_merge import merge_in_background

        return merge_in_background(self.settings.repository.common_dir, outside_git())

    def workspace_on(self, store: Store, namespace: Namespace) -> Workspace:
        """Return the workspace of a namespace in `store`, in which no session or agent acts."""
        settings = self.settings
        branch = Branch(
            store, namespace, settings.prefix, sign=settings.sign, fault=settings.fault, places=settings.places,
            describe_unanswered=lambda: describe_unanswered(str(store.repository.common_dir)),
        )  # fmt: skip
        return Workspace(
            settings.choose_branch(branch, namespace),
            Actor(settings.author, machine=settings.machine),
            settings.policy,
            settings.folder,
            Approvals(data_home() / "baton" / "approved.json", settings.repository.common_dir),
            settings.private_hosts,
            settings.environment,
            settings.remote_settings,
            problems=settings.problems,
            shares_turns=settings.shares_turns,
            background=Background(lambda task: self.start_work(task, namespace), self.start_work, self.start_work),
            folds_archive=settings.folds_archive,
            find_machine=self.find_machine,
            find_agent=self._find_agent,
            sandbox_hint=find_sandbox_hint(),
        )

    def _find_agent(self) -> str:
        from baton_git.interfaces.context.person import find_agent  # slow to import; few verbs ask

        evidence = find_agent(os.environ, self.settings.agent)
        return f"an agent is acting here ({evidence})" if evidence else ""

    def find_machine(self) -> Machine:
        """Return this machine, for verbs that declare that they need it."""
        return Machine(
            Path.home(), Path.cwd(), config_home(), dict(os.environ), lambda: self.settings.handover_file, self._examine
        )

    def _examine(self) -> Any:
        from baton_git.interfaces.context.installation import (
            examine_machine,  # only doctor needs it
            find_repository,
        )

        return examine_machine(self.settings, find_repository(self.settings), is_broken=False)

    def start_work(self, task: str | None = None, namespace: Namespace | None = None) -> bool:
        """Request background work of a namespace, or resume what was requested; return whether it goes on."""
        from baton_git.interfaces.background.requests import request_work, resume_work  # few calls request anything

        common_dir = Path(os.path.realpath(self.settings.repository.common_dir))
        environment = without_repository(child_environment())
        if task is None or namespace is None:
            return resume_work(common_dir, environment)
        return request_work(common_dir, task, namespace.component, environment)

    @property
    def lenient(self) -> Self:
        """Return the same call, in which invalid settings and variables do not prevent writes."""
        return replace(self, settings=replace(self.settings, is_lenient=True, problems=[]))

    @property
    def creating(self) -> Self:
        """Return the same call, which may create the repository and the namespace."""
        options = self.settings.options._replace(create=True)
        return replace(self, settings=replace(self.settings, options=options))

    def on(self, namespace: Namespace | str) -> Self:
        """Return the same call in a namespace that its verb found."""
        if str(namespace) == str(self.settings.namespace):
            return self
        options = self.settings.options._replace(namespace=str(namespace))
        return replace(self, settings=replace(self.settings, options=options))

    @property
    def for_protocol_run(self) -> Self:
        """Return the call for a command whose --session names a protocol run instead of the acting session.

        The current session acts. Without one, the run itself acts, if its id is a valid session name.
        """
        options = self.settings.options
        sessionless = replace(self, settings=replace(self.settings, options=options._replace(session=None)))
        if options.session is None or sessionless.settings.session or sessionless.current.get():
            return sessionless
        return self if _names_session(options.session) else sessionless

    def sign_as_person(self, ws: Workspace) -> Workspace:
        """Return the workspace in which commits are signed with a key that only a person can use.

        Raises:
            InvalidArgument: no key is configured.
            NeedsHuman: the key needs neither a touch nor a passphrase.
            StoreError: the key cannot be read.
        """
        from baton_git.git.signing import PersonalSigner  # slow to import, and rarely needed

        key = self.settings.config.get("baton.signingkey")
        if not key:
            raise InvalidArgument("no signing key is set", hint="to set one: git config baton.signingKey ~/.ssh/KEY")
        signer = PersonalSigner(key, self.settings.environment)
        signer.check()
        return replace(ws, branch=replace(ws.branch, sign=signer.sign))

    @property
    def now(self) -> datetime:
        return self.settings.now()

    @property
    def current(self) -> CurrentSession:
        return CurrentSession(self.settings.repository.git_dir, self.settings.namespace)

    @property
    def person(self) -> str:
        """The name of the person at the terminal, as git knows it."""
        return self.settings.author.partition(" <")[0]


def _names_session(text: str) -> bool:
    try:
        return SessionId(text).text == text
    except InvalidName:
        return False
