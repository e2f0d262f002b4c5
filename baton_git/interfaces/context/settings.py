"""Read the settings of a call: options, environment variables, git's configuration, the repository and the time.

Only the interfaces read these; they pass them to all other modules.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from baton_git.core.errors import BatonError, InvalidArgument
from baton_git.core.names import AgentId, Namespace, RecordId, SessionId
from baton_git.core.policy import Policy
from baton_git.git.local_git import LocalGit
from baton_git.git.store import Repository, Store
from baton_git.interfaces.context.git_config import WANTED, RepositoryConfig, expand_home, read_config
from baton_git.interfaces.context.process import child_environment, outside_git
from baton_git.interfaces.context.repository_choice import (
    check_owner,
    current_folder,
    is_vacant,
    missing_repository,
    open_named,
    own_store,
)
from baton_git.interfaces.context.setting_registry import CHECKED, FLAG, POLICY_KEYS, SETTINGS, Setting
from baton_git.namespace.ingest.budget import LIMIT_SETTINGS, Limits
from baton_git.namespace.remote_settings import RemoteSettings

if TYPE_CHECKING:
    from baton_git.git.signing import AllowedSigners
    from baton_git.interfaces.context.place import NamespaceChoice
    from baton_git.namespace.branch import Branch
    from baton_git.namespace.local_places import Host, LocalPlaces

Value = TypeVar("Value")

_REMOTE = re.compile(r"remote\.(.+)\.(?:url|pushurl)\Z", re.DOTALL)


class CommonOptions(NamedTuple):
    """The options that all commands have; None if an option is not given."""

    repo: str | None = None
    namespace: str | None = None
    session: str | None = None
    agent: str | None = None
    create: bool = False
    """Whether a write creates the repository and the namespace if they do not exist."""


@dataclass(frozen=True)
class Settings:
    """The settings of one call, each read when it is first needed.

    Attributes:
        options: the options of the command.
        is_lenient: whether invalid settings and variables are only added to `problems`; otherwise an invalid variable
            raises an error, and an invalid setting prevents writes.
        known: the repository, if it is already known.
        problems: messages about invalid settings and variables, each with the value that is used instead.
        faults: the errors of invalid settings.
    """

    options: CommonOptions
    is_lenient: bool = False
    known: Repository | None = None
    problems: list[str] = field(default_factory=list)
    faults: list[BatonError] = field(default_factory=list)

    def add_problem(self, error: BatonError, instead: str) -> None:
        """Add a message about an invalid setting, settings file or variable: what is used instead, and the hint."""
        problem = f"{error}; {instead}{f' ({error.hint})' if error.hint else ''}"
        if problem not in self.problems:
            self.problems.append(problem)

    def _read_variable(self, read: Callable[[], Value], default: Value, instead: str) -> Value:
        """Return the value of `read`; after an error, a lenient call returns the default, and any other raises it."""
        try:
            return read()
        except BatonError as error:
            if not self.is_lenient:
                raise
            self.add_problem(error, instead)
            return default

    def _read_setting(self, read: Callable[[], Value], default: Value, instead: str) -> Value:
        """Return the value of `read`; after an error, add it to `faults` and return the default."""
        try:
            return read()
        except BatonError as error:
            if str(error) not in map(str, self.faults):
                self.faults.append(error)
            self.add_problem(error, instead)
            return default

    @property
    def fault(self) -> BatonError | None:
        """The error of the first invalid setting, which prevents writes; None for a lenient call."""
        _ = (self.remote_settings, [self.read(key) for key in CHECKED])
        return self.faults[0] if self.faults and not self.is_lenient else None

    def read(self, key: str) -> Any:
        """Return the value of a setting of the registry; if it is invalid, add a fault and return `fallback`."""
        setting = SETTINGS[key]
        text = self.config.get(key.lower())
        if text is None:
            return setting.default_value
        instead = "off is used" if setting.fallback in (False, "false") else f"{setting.default} is used"
        return self._read_setting(lambda: self._parse(setting, text), setting.fallback, instead)

    def _read_flag(self, key: str) -> bool:
        return bool(self.read(key))

    def _parse(self, setting: Setting, text: str) -> Any:
        try:
            return setting.type.parse(text)
        except ValueError:
            raise self._invalid_setting(setting, text) from None

    def _invalid_setting(self, setting: Setting, text: str) -> InvalidArgument:
        """Return the error for an invalid setting: the file that sets it, the allowed values, and how to correct it."""
        key, example = setting.key, "true" if setting.type is FLAG else setting.default
        scope, file = self._locate_setting(key)
        place = f" (in {file})" if file else ""
        command = f"git config{f' --{scope}' if scope in ('global', 'system', 'worktree') else ''}"
        return InvalidArgument(
            f"git config {key} is {text[:40]!r}{place}, not {setting.type.allowed}",
            hint=f"{command} {key} {example}, or {command} --unset-all {key}",
        )

    def _locate_setting(self, key: str) -> tuple[str, str]:
        """Return the scope and the file of a setting, as git names them; empty if unknown."""
        if self.found_repository is None:
            return "", ""
        git, folder = LocalGit(self.found_repository.common_dir, outside_git()), self.found_repository.git_dir
        shown = git.ask(f"--git-dir={folder}", "config", "-z", "--show-scope", "--show-origin", "--get-all", key) or ""
        scope, origin, *_ = [*shown.split("\0")[-4:-1], "", ""]
        return scope, origin.removeprefix("file:").removesuffix(":")

    def _read_option(self, name: str) -> str | None:
        """Return the value of an option, or of its variable. An empty variable is ignored.

        Raises:
            InvalidArgument: the option is empty.
        """
        option: str | None = getattr(self.options, name)
        if option == "":
            raise InvalidArgument(f"--{name} is empty", hint="give a value, or leave it out")
        return option or os.environ.get(f"BATON_{name.upper()}") or None

    @staticmethod
    def now() -> datetime:
        return datetime.now().astimezone()

    @functools.cached_property
    def repository(self) -> Repository:
        """The named repository, the one around the current folder, or else the user's own store.

        Raises:
            NotARepository: the repository does not exist, and the call may not create it.
        """
        return self.found_repository or self._create_repository()

    @functools.cached_property
    def found_repository(self) -> Repository | None:
        """The same as `repository`, but None if it does not exist."""
        if self.known is not None:
            return self.known
        named = self._named_repository
        repository = Repository.discover(current_folder()) if named is None else None
        place = own_store() if named is None else named
        if repository is None and not is_vacant(place):
            repository = open_named(place)
        if repository is not None:
            check_owner(repository)
        return repository

    @property
    def is_repository_named(self) -> bool:
        """Whether --repo, BATON_REPO or GIT_DIR names the repository."""
        return self._named_repository is not None

    @property
    def _named_repository(self) -> Path | None:
        """The path of --repo, BATON_REPO or GIT_DIR."""
        named = self._read_option("repo") or os.environ.get("GIT_DIR")
        return Path(named) if named else None

    def _create_repository(self) -> Repository:
        named = self._named_repository
        if not self.options.create:
            raise missing_repository(named)
        return Repository.create_bare(own_store() if named is None else named.absolute())

    @property
    def is_own_store(self) -> bool:
        """Whether the repository is the user's own store, which has no work tree."""
        repository = self.found_repository
        if repository is None:
            return self._named_repository is None
        return repository.common_dir == Path(os.path.realpath(own_store()))

    @functools.cached_property
    def config(self) -> Mapping[str, str]:
        """The values of the keys in git's configuration that are read, by key in lower case."""
        repository = self.found_repository
        return read_config(repository.git_dir if repository is not None else Path(os.devnull), WANTED)

    @property
    def repository_config(self) -> RepositoryConfig:
        return RepositoryConfig(self.repository.common_dir)

    @functools.cached_property
    def namespace(self) -> Namespace:
        return self._choice.namespace

    def choose_branch(self, branch: Branch, namespace: Namespace) -> Branch:
        """Return `branch` for a namespace; set whether a write may create it, and whether the user chose its name."""
        may_begin = self.options.create or namespace == self._configured or self._choice == (namespace, "remote")
        is_named = self._choice != (namespace, "folder")
        return replace(branch, namespace=namespace, may_begin=may_begin, is_named=is_named)

    @property
    def is_chosen(self) -> bool:
        """Whether the namespace is named, or exists here; otherwise a later call may find another one."""
        if self.found_repository is None or self._choice.by in ("option", "setting"):
            return True
        with Store(self.found_repository) as store:
            return store.tip(self.prefix + self.namespace.component) is not None

    @functools.cached_property
    def _configured(self) -> Namespace | None:
        """The namespace of BATON_NAMESPACE or of git's configuration."""
        named = os.environ.get("BATON_NAMESPACE") or self.config.get("baton.namespace")
        return Namespace(named) if named else None

    @functools.cached_property
    def _choice(self) -> NamespaceChoice:
        # slow to import; a server that checks a push chooses no namespace
        from baton_git.interfaces.context.place import NamespaceChoice, find_namespace, find_new_name

        if self.options.namespace is not None:
            return NamespaceChoice(Namespace(self._read_option("namespace") or ""), "option")
        chosen = NamespaceChoice(self._configured, "setting") if self._configured is not None else find_namespace(self)
        renamed = find_new_name(self, chosen.namespace)
        return chosen if renamed is None else NamespaceChoice(renamed, "setting")

    @functools.cached_property
    def folder_outside(self) -> Path:
        """The nearest folder, from the current one upwards, with a namespace in the user's own store.

        If there is none, the current folder.
        """
        from baton_git.interfaces.context.place import find_folder_outside

        return find_folder_outside(self)

    @property
    def prefix(self) -> str:
        prefix: str = self.read("baton.refPrefix")
        return prefix

    @property
    def policy(self) -> Policy:
        """The numeric settings, such as `baton.ttlDays`, with their defaults."""
        return Policy(**{name: self.read(key) for name, key in POLICY_KEYS.items()})

    @property
    def author(self) -> str:
        """The author of commits, `Name <mail>`, from the same settings as git's.

        Without them, git makes an address of the login and the host name; here it names neither.
        """
        name = os.environ.get("GIT_AUTHOR_NAME") or self.config.get("user.name") or "unknown"
        mail = os.environ.get("GIT_AUTHOR_EMAIL") or self.config.get("user.email") or f"unknown@{self.machine}"
        return f"{_plain(name) or 'unknown'} <{_plain(mail)}>"

    @functools.cached_property
    def host(self) -> Host:
        """What this machine is called, with the name that is stored (`baton.machine`)."""
        from baton_git.interfaces.context.place import find_host

        return find_host(self.config.get("baton.machine"))

    @property
    def machine(self) -> str:
        return self.host.machine

    @property
    def places(self) -> LocalPlaces:
        """The places of this machine that are stored in a short form."""
        from baton_git.namespace.local_places import LocalPlaces

        return LocalPlaces(self.repository, self.host, self.folder)

    @property
    def session(self) -> str | None:
        return self._actor("session", SessionId, "this session gets a fresh name")

    @property
    def hooked_session(self) -> str | None:
        """The session of the agent CLI that runs this process, if baton's hooks have seen it."""
        from baton_git.interfaces.context.agent_session import find_hooked_session  # loads the table of agent CLIs

        return find_hooked_session(self.repository.common_dir)

    @property
    def run(self) -> str | None:
        """The protocol run that --session names, if any; BATON_SESSION never names a run."""
        if self.options.session is None:
            return None
        named = self._read_option("session")
        return RecordId(named).text if named else None

    @property
    def agent(self) -> str | None:
        return self._actor("agent", AgentId, "no agent is named")

    def _actor(self, name: str, kind: Callable[[str], SessionId | AgentId], instead: str) -> str | None:
        """Return the acting session or agent. A lenient call ignores an invalid variable, but not an invalid option."""
        named = self._read_option(name)
        if not named:
            return None
        if getattr(self.options, name):
            return kind(named).text
        return self._read_variable(lambda: kind(named).text, None, f"BATON_{name.upper()} is ignored, {instead}")

    @property
    def shares_turns(self) -> bool:
        """Whether prompts and answers of sessions are committed (`baton.shareTurns`)."""
        return self._read_flag("baton.shareTurns")

    @property
    def recalls_at_prompt(self) -> bool:
        """Whether each prompt searches earlier sessions (`baton.recallAtPrompt`)."""
        return self._read_flag("baton.recallAtPrompt")

    @property
    def records_snapshots(self) -> bool:
        """Whether `session inspect` also records the snapshot (`baton.recordSnapshots`)."""
        return self._read_flag("baton.recordSnapshots")

    @property
    def folds_archive(self) -> bool:
        """Whether archived records are moved into bundles (`baton.foldArchive`)."""
        return self._read_flag("baton.foldArchive")

    @property
    def allows_rewrite(self) -> bool:
        """Whether a push may rewrite or delete a branch of a namespace here (`baton.allowRewrite`)."""
        return self._read_flag("baton.allowRewrite")

    @property
    def takes_sessions_from_above(self) -> bool:
        """Whether the words of sessions from folders above the repository are stored (`baton.sessionsFromAbove`)."""
        return self._read_flag("baton.sessionsFromAbove")

    @property
    def private_hosts(self) -> bool:
        return self._read_flag("baton.allowPrivateHosts")

    @property
    def remote_settings(self) -> RemoteSettings:
        """The settings for remotes."""
        policies = {key[len("remote.") : -len(".batonpolicy")]: value for key, value in self.config.items()
                    if key.endswith(".batonpolicy")}  # fmt: skip
        autosync = self.read("baton.autosync")
        remotes = dict.fromkeys(match[1] for key in self.config if (match := _REMOTE.match(key)))
        ssh = (self.config.get("core.sshcommand"), self.config.get("ssh.variant"))
        return RemoteSettings(
            self.config.get("baton.remote"), autosync != "false", tuple(remotes), ssh, policies, self._signers(),
            sends=autosync == "true",
            pushes_at_end=self._read_flag("baton.pushAtEnd"),
            limits=Limits(**{field: self.read(f"baton.{name}") for field, name in LIMIT_SETTINGS.items()}),
            lanes=frozenset(self._list_lanes()),
            git_signers=None if self.config.get("baton.allowedsigners") else self._git_signers(),
        )  # fmt: skip

    def _list_lanes(self) -> Iterator[str]:
        """Yield the remotes whose setting `remote.<name>.batonLanes` is on."""
        for key, text in self.config.items():
            if key.startswith("remote.") and key.endswith(".batonlanes"):
                name = key[len("remote.") : -len(".batonlanes")]
                setting = SETTINGS["remote.<name>.batonLanes"]._replace(key=f"remote.{name}.batonLanes")
                if self._read_setting(functools.partial(self._parse, setting, text), False, "off is used"):
                    yield name

    def _signers(self) -> AllowedSigners | None:
        file = self.config.get("baton.allowedsigners")
        if not file:
            return None
        from baton_git.git.signing import AllowedSigners  # slow to import, and few users set this key

        path = expand_home(file)
        self._read_setting(functools.partial(_check_signers_file, path), None, "nothing counts as signed")
        return AllowedSigners(path, self._keygen, self.environment, self._find_own_file("gpg.ssh.revocationfile"))

    def _git_signers(self) -> AllowedSigners | None:
        """Return the keys that git itself accepts, unless anybody who can push may change them."""
        path = self._find_own_file("gpg.ssh.allowedsignersfile")
        if path is None:
            return None
        from baton_git.git.signing import AllowedSigners  # slow to import, and few users set this key

        return AllowedSigners(path, self._keygen, self.environment, self._find_own_file("gpg.ssh.revocationfile"))

    def _find_own_file(self, key: str) -> Path | None:
        """Return the file that a setting of git names; None if there is none, or if it is in the work tree, whose files
        come from others."""
        text = self.config.get(key)
        path = expand_home(text) if text else None
        if path is None or not path.is_absolute() or not os.path.isfile(path):
            return None
        top = self.repository.work_tree
        inside = top is not None and path.resolve().is_relative_to(top.resolve())
        return None if inside else path

    @property
    def sign(self) -> Callable[[bytes], bytes] | None:
        """The signer of commits; None if no key is set (git config baton.signingKey)."""
        key = self.config.get("baton.signingkey")
        if not key:
            return None
        from baton_git.git.signing import Signer  # slow to import, and few users set this key

        return Signer(key, self._keygen, self.environment).sign

    @property
    def _keygen(self) -> str:
        return self.config.get("gpg.ssh.program") or "ssh-keygen"

    @property
    def folder(self) -> Path | None:
        """The folder in which checks run: the work tree; for the user's own store, the folder of the namespace."""
        return self.folder_outside if self.is_own_store else self.repository.work_tree

    @property
    def handover_file(self) -> Path | None:
        """The handover file of KAIROS clients (git config baton.handoverFile); a relative path starts at `folder`."""
        file = self.config.get("baton.handoverfile")
        if not file:
            return None
        path = expand_home(file)
        if not path.is_absolute() and self.folder is None:
            raise InvalidArgument(
                f"git config baton.handoverFile is {file}, but there is no work tree", hint="set an absolute path"
            )
        return path if self.folder is None else self.folder / path

    @property
    def environment(self) -> dict[str, str]:
        return child_environment()


def _check_signers_file(path: Path) -> None:
    """Raise InvalidArgument if the file of allowed signers is missing."""
    if not path.is_file():
        raise InvalidArgument(
            f"git config baton.allowedSigners: there is no file {path}",
            hint="create it, or run: git config --unset-all baton.allowedSigners",
        )


def _plain(text: str) -> str:
    return re.sub(r"[<>\x00-\x1f\x7f]", "", text).strip()
