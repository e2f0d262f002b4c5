"""Read the settings of a call: options, environment variables, git's configuration, the repository and the time.

Only this folder reads them.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shlex
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

from baton_git.core.errors import BatonError, InvalidArgument, InvalidName, NotARepository, StoreError
from baton_git.core.lifecycle import Policy
from baton_git.core.names import AgentId, Namespace, Oid, RecordId, SessionId
from baton_git.core.suggestions import find_near_names
from baton_git.git.files.ref_locks import until
from baton_git.git.local_git import LocalGit
from baton_git.git.store import Repository, Store
from baton_git.interfaces.context.agent_session import find_hooked_session
from baton_git.interfaces.context.process import child_environment
from baton_git.namespace.branch import Branch
from baton_git.namespace.machine_state import GoneNamespaces, HookMarkers
from baton_git.namespace.workspace import RemoteSettings

if TYPE_CHECKING:
    from baton_git.git.signing import AllowedSigners

HEADS = "refs/heads/"
PREFIX = "refs/heads/baton/"

Answer = TypeVar("Answer")

_LOCAL_GIT = re.compile(r"GIT_(?!CONFIG_(GLOBAL|SYSTEM|NOSYSTEM|COUNT|KEY_\d+|VALUE_\d+)$)")
"""Variables by which a git hook or command binds child processes to its own repository."""

WANTED = (
    r"^(baton|user)\.|^remote\..*\.(batonpolicy|url|pushurl|fetch)$|^(gpg\.ssh\.program|core\.sshcommand|ssh\.variant)$"
)
"""The keys of git's configuration that are read."""

MOST = 1_000_000
"""Maximum of a numeric setting."""

FLAGS = ("autosync", "shareTurns", "recallAtPrompt", "recordSnapshots", "allowPrivateHosts", "allowRewrite")
"""The boolean settings."""
ON, OFF = ("true", "yes", "on", "1"), ("false", "no", "off", "0", "")

CONFIG_LOCK_SECONDS = 1.0
"""Seconds to wait for another process that changes git's configuration; git itself does not wait."""

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
        is_lenient: whether invalid settings and variables neither prevent writes nor raise errors.
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
        """Add a message about an invalid setting, settings file or variable, and what is used instead."""
        problem = f"{error}; {instead}"
        if problem not in self.problems:
            self.problems.append(problem)

    def _read_variable(self, read: Callable[[], Answer], default: Answer, instead: str) -> Answer:
        """Return the value of `read`; after an error, a lenient call returns the default, and any other raises it."""
        try:
            return read()
        except BatonError as error:
            if not self.is_lenient:
                raise
            self.add_problem(error, instead)
            return default

    def _read_setting(self, read: Callable[[], Answer], default: Answer, instead: str) -> Answer:
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
        _ = (self.prefix, self.policy, self.reach, [self._read_flag(name) for name in FLAGS])
        return self.faults[0] if self.faults and not self.is_lenient else None

    def _read_flag(self, name: str, default: str = "false") -> bool:
        """Return the value of a boolean setting."""
        text = self.config.get(f"baton.{name.lower()}", default).lower()
        return self._read_setting(lambda: self._parse_flag(name, text), False, "off is used")

    def _parse_flag(self, name: str, text: str) -> bool:
        if text not in (*ON, *OFF):
            raise self._invalid_setting(name, text, "true or false", "true")
        return text in ON

    def _invalid_setting(self, name: str, text: str, allowed: str, example: str) -> InvalidArgument:
        """Return the error for an invalid setting: the file that sets it, the allowed values, and how to correct it."""
        key = f"baton.{name}"
        scope, file = self._locate_setting(key)
        place = f" (in {file})" if file else ""
        command = f"git config{f' --{scope}' if scope in ('global', 'system', 'worktree') else ''}"
        return InvalidArgument(
            f"git config {key} is {text[:40]!r}{place}, not {allowed}",
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
        repository = Repository.discover(_here()) if named is None else None
        place = own_store() if named is None else named
        if repository is None and not is_vacant(place):
            repository = _open(place)
        if repository is not None:
            self._check_owner(repository)
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
            raise _missing_repository(named)
        return Repository.create_bare(own_store() if named is None else named.absolute())

    def _check_owner(self, repository: Repository) -> None:
        owner = repository.foreign_owner
        if owner is None or str(owner) == os.environ.get("SUDO_UID"):
            return
        safe = read_user_config("safe.directory")
        place = repository.work_tree or repository.git_dir
        if not is_safe_place(place, safe):
            raise NotARepository(
                f"{repository.git_dir} belongs to another user",
                hint=f"if you trust it: git config --global --add safe.directory {place}",
            )

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
        return _git_config(repository.git_dir if repository is not None else Path(os.devnull), WANTED)

    def set_config(self, key: str, value: str) -> None:
        """Set a key in the repository's own git configuration. Raises StoreError if git cannot."""
        folder = self.repository.common_dir
        git = LocalGit(folder, outside_git())
        words = ("config", "--file", f"{folder / 'config'}", "--replace-all", key, value)
        if not until(lambda: git.ask(*words) is not None, CONFIG_LOCK_SECONDS):
            git.do(*words)

    @functools.cached_property
    def namespace(self) -> Namespace:
        return self._choice.namespace

    def choose_branch(self, branch: Branch, namespace: Namespace) -> Branch:
        """Return `branch` for a namespace, with whether a write may create it, and whether the user named it."""
        may_begin = self.options.create or namespace == self._configured or self._choice == (namespace, "remote")
        is_named = self._choice != (namespace, "folder")
        return replace(branch, namespace=namespace, may_begin=may_begin, is_named=is_named)

    @functools.cached_property
    def _configured(self) -> Namespace | None:
        """The namespace of BATON_NAMESPACE or of git's configuration."""
        named = os.environ.get("BATON_NAMESPACE") or self.config.get("baton.namespace")
        return Namespace(named) if named else None

    @functools.cached_property
    def _choice(self) -> _Choice:
        if self.options.namespace is not None:
            return _Choice(Namespace(self._read_option("namespace") or ""), "option")
        chosen = _Choice(self._configured, "setting") if self._configured is not None else self._find_namespace()
        renamed = self._find_new_name(chosen.namespace)
        return chosen if renamed is None else _Choice(renamed, "setting")

    def _find_new_name(self, namespace: Namespace) -> Namespace | None:
        """Return the current name of a namespace that was renamed in this repository; None if it was not renamed."""
        if self.found_repository is None:
            return None
        gone = GoneNamespaces(self.found_repository.common_dir)
        names = [namespace]
        while (step := gone.find(names[-1])) and step.renamed_to and step.renamed_to not in names:
            with Store(self.found_repository) as store:
                if store.tip(self.prefix + names[-1].component) is not None:
                    break
            names.append(step.renamed_to)
        return names[-1] if len(names) > 1 else None

    def _find_namespace(self) -> _Choice:
        """Return the namespace with the folder's name, or if it does not exist here, the only one of the remotes.

        A namespace that was synced before remains the default after it is deleted on the remote.
        """
        own = _Choice(Namespace(self._folder_name()), "folder")
        if self.found_repository is None:
            return own
        with Store(self.found_repository) as store:
            if (
                self.is_own_store
                or not self.prefix.startswith(HEADS)
                or store.tip(self.prefix + own.namespace.component)
            ):
                return own
            middle = "/" + self.prefix.removeprefix(HEADS)
            there = store.refs("refs/remotes/").items()
            shared = self._list_synced(store) | {ref.partition(middle)[2]: tip for ref, tip in there if middle in ref}
            only = _find_only(shared)
            is_namespace = only is not None and Branch(store, only, self.prefix).is_namespace(shared[only.component])
        if not shared:
            only, is_namespace = self.namespace_there, True
        return _Choice(only, "remote") if only is not None and is_namespace else own

    @functools.cached_property
    def namespace_there(self) -> Namespace | None:
        """The only namespace of the remote, for a clone that fetches only some branches, such as a single-branch clone.

        This contacts the remote. None if no remote or several are fetched like this, or if the remote has several
        namespaces or none, or does not answer.
        """
        fetched = {key[len("remote.") : -len(".fetch")]: value for key, value in self.config.items()
                   if key.startswith("remote.") and key.endswith(".fetch")}  # fmt: skip
        narrow = [remote for remote, refspec in fetched.items() if "refs/heads/*" not in refspec]
        if len(narrow) != 1 or not self.reach.automatic:
            return None
        from baton_git.git.remotes import open_remote
        from baton_git.verbs.sessions.auto_sync import AT_START  # slow to import, and rarely needed

        wanted = f"{self.prefix}*"
        try:
            remote = open_remote(self.repository, narrow[0], self.environment)
            return _find_only(ref.removeprefix(self.prefix) for ref in remote.tips({wanted: wanted}, seconds=AT_START))
        except BatonError:  # the sync at the start of a session reports it
            return None

    def _list_synced(self, store: Store) -> dict[str, Oid]:
        """Return the tips of the namespaces that were synced before, by the last part of their refs."""
        tips: dict[str, Oid] = {}
        for component in HookMarkers(self.repository.common_dir).synced.all():
            with contextlib.suppress(BatonError):  # not the name of a namespace
                tip = store.tip(self.prefix + Namespace.from_component(component).component)
                tips |= {component: tip} if tip is not None else {}
        return tips

    @functools.cached_property
    def _folder_outside(self) -> Path:
        """The current folder or its nearest parent with a namespace in the user's own store, else the current one."""
        here = _here()
        if self.found_repository is None:
            return here
        with Store(self.found_repository) as store:
            refs = store.refs(self.prefix)
        around = (here, *here.parents)
        return next(
            (place for place in around if self.prefix + Namespace(_name_outside(place)).component in refs), here
        )

    def _folder_name(self) -> str:
        """Return the name of the repository's folder: that of the main work tree, also in a linked one."""
        if self.is_own_store:
            return _name_outside(self._folder_outside)
        common = self.repository.common_dir
        if common.name == ".git":
            return common.parent.name or "default"
        if self.repository.work_tree is not None:
            return self.repository.work_tree.name or "default"
        return common.name.removesuffix(".git") or "default"

    @property
    def prefix(self) -> str:
        return self._read_setting(self._prefix, PREFIX, f"{PREFIX} is used")

    def _prefix(self) -> str:
        prefix = self.config.get("baton.refprefix", PREFIX)
        if not re.fullmatch(r"refs/(?:[A-Za-z0-9_-]+/)+", prefix):
            raise self._invalid_setting("refPrefix", prefix, "a folder of refs such as refs/baton/", PREFIX)
        return prefix

    @property
    def policy(self) -> Policy:
        """The numeric settings, such as `baton.ttlDays`, with their defaults."""
        chosen: dict[str, int] = {}
        for name, default in Policy._field_defaults.items():
            text = self.config.get(f"baton.{name.replace('_', '')}")
            if text is not None:
                read = functools.partial(self._parse_number, name, text, default)
                chosen[name] = self._read_setting(read, default, f"{default} is used")
        return Policy(**chosen)

    def _parse_number(self, field_name: str, text: str, default: int) -> int:
        if text.isdecimal() and len(text) < 10 and 1 <= int(text) <= MOST:
            return int(text)
        first, *rest = field_name.split("_")
        name = first + "".join(word.title() for word in rest)
        raise self._invalid_setting(name, text, f"a whole number from 1 to {MOST}", str(default))

    @property
    def author(self) -> str:
        """The author of commits, `Name <mail>`, from the same settings as git's."""
        name = os.environ.get("GIT_AUTHOR_NAME") or self.config.get("user.name") or _login()
        mail = os.environ.get("GIT_AUTHOR_EMAIL") or self.config.get("user.email") or f"{_login()}@{self.machine}"
        return f"{_plain(name) or 'unknown'} <{_plain(mail)}>"

    @property
    def machine(self) -> str:
        return re.sub(r"[^A-Za-z0-9.-]", "-", os.uname().nodename.split(".")[0]) or "unknown"

    @property
    def session(self) -> str | None:
        return self._actor("session", SessionId, "this session gets a fresh name")

    @property
    def hooked_session(self) -> str | None:
        """The session of the agent CLI that runs this process, if baton's hooks have seen it."""
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
        return self._read_variable(lambda: kind(named).text, None, f"BATON_{name.upper()} is passed over, {instead}")

    @property
    def shares_turns(self) -> bool:
        """Whether prompts and answers of sessions are committed (`baton.shareTurns`)."""
        return self._read_flag("shareTurns")

    @property
    def recalls_at_prompt(self) -> bool:
        """Whether each prompt searches earlier sessions (`baton.recallAtPrompt`)."""
        return self._read_flag("recallAtPrompt")

    @property
    def records_snapshots(self) -> bool:
        """Whether `session inspect` also records the snapshot (`baton.recordSnapshots`)."""
        return self._read_flag("recordSnapshots")

    @property
    def allows_rewrite(self) -> bool:
        """Whether a push may rewrite or delete a branch of a namespace here (`baton.allowRewrite`)."""
        return self._read_flag("allowRewrite")

    @property
    def private_hosts(self) -> bool:
        return self._read_flag("allowPrivateHosts")

    @property
    def reach(self) -> RemoteSettings:
        """The settings for remotes."""
        policies = {key[len("remote.") : -len(".batonpolicy")]: value for key, value in self.config.items()
                    if key.endswith(".batonpolicy")}  # fmt: skip
        automatic = self._read_flag("autosync", "true")
        remotes = dict.fromkeys(match[1] for key in self.config if (match := _REMOTE.match(key)))
        ssh = (self.config.get("core.sshcommand"), self.config.get("ssh.variant"))
        return RemoteSettings(
            self.config.get("baton.remote"), automatic, tuple(remotes), ssh, policies, self._signers()
        )

    def _signers(self) -> AllowedSigners | None:
        file = self.config.get("baton.allowedsigners")
        if not file:
            return None
        from baton_git.git.signing import AllowedSigners  # few have it, and every start would pay for it

        path = _at_home(file)
        self._read_setting(functools.partial(_there, path), None, "nothing counts as signed")
        return AllowedSigners(path, self._keygen, self.environment)

    @property
    def sign(self) -> Callable[[bytes], bytes] | None:
        """The signer of commits; None if no key is set (git config baton.signingKey)."""
        key = self.config.get("baton.signingkey")
        if not key:
            return None
        from baton_git.git.signing import Signer  # as above

        return Signer(key, self._keygen, self.environment).sign

    @property
    def _keygen(self) -> str:
        return self.config.get("gpg.ssh.program") or "ssh-keygen"

    @property
    def folder(self) -> Path | None:
        """The folder in which checks run: the work tree; for the user's own store, the folder of the namespace."""
        return self._folder_outside if self.is_own_store else self.repository.work_tree

    @property
    def handover_file(self) -> Path | None:
        """The handover file of KAIROS clients (git config baton.handoverFile), relative to the top of the work tree."""
        file = self.config.get("baton.handoverfile")
        if not file:
            return None
        path = _at_home(file)
        if not path.is_absolute() and self.folder is None:
            raise InvalidArgument(
                f"git config baton.handoverFile is {file}, but there is no work tree", hint="set an absolute path"
            )
        return path if self.folder is None else self.folder / path

    @property
    def environment(self) -> dict[str, str]:
        return child_environment()


class _Choice(NamedTuple):
    """The namespace of a call, and how it was chosen."""

    namespace: Namespace
    by: Literal["option", "setting", "folder", "remote"]


def _find_only(components: Iterable[str]) -> Namespace | None:
    """Return the only namespace among the last parts of refs; None if there are several, or none."""
    namespaces = []
    for component in components:
        with contextlib.suppress(InvalidName):
            namespaces.append(Namespace.from_component(component))
    return namespaces[0] if len(namespaces) == 1 else None


def _there(path: Path) -> None:
    """Raise InvalidArgument if the file of allowed signers is missing."""
    if not path.is_file():
        raise InvalidArgument(
            f"git config baton.allowedSigners: there is no file {path}",
            hint="make it, or git config --unset-all baton.allowedSigners",
        )


def _here() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise NotARepository("the current folder does not exist any more", hint="change to another folder") from None


def outside_git() -> dict[str, str]:
    """Return the environment for a child process, without the variables that bind git to the repository of a hook."""
    return {name: value for name, value in child_environment(os.environ).items() if not _LOCAL_GIT.match(name)}


def data_home() -> Path:
    named = os.environ.get("XDG_DATA_HOME", "")
    return Path(named) if named.startswith("/") else Path.home() / ".local" / "share"


def own_store() -> Path:
    """Return the path of the user's own store, which has the namespaces of folders outside of repositories."""
    return data_home() / "baton" / "state.git"


def is_vacant(path: Path) -> bool:
    """Return whether a repository can be created at a path: it does not exist, or is an empty folder."""
    return not path.exists() or (path.is_dir() and not any(path.iterdir()))


def _open(path: Path) -> Repository:
    """Open a repository; if GIT_DIR names it, its work tree is GIT_WORK_TREE, if set."""
    repository = Repository.open(path)
    top = os.environ.get("GIT_WORK_TREE")
    is_bound = bool(top) and path == Path(os.environ.get("GIT_DIR", os.devnull))
    return replace(repository, work_tree=Path(os.path.realpath(top or ""))) if is_bound else repository


def _missing_repository(named: Path | None) -> NotARepository:
    """Return the error for a repository that does not exist, with the command that creates it."""
    if named is None:
        return NotARepository(
            "not in a git repository, and your own store is empty",
            hint="to create a namespace for this folder: baton init; for a git repository, change to it first",
        )
    siblings = (
        sorted(path.name for path in named.absolute().parent.glob("*")) if named.absolute().parent.is_dir() else ()
    )
    close = find_near_names(named.name, siblings)
    meant = f"did you mean {named.with_name(close[0])}? " if close and close[0] != named.name else ""
    what = "is an empty folder" if named.exists() else "does not exist"
    command = f"baton init --repo {shlex.quote(str(named))}"
    return NotARepository(f"{named} {what}", hint=f"{meant}to create a repository there: {command}")


def _name_outside(folder: Path) -> str:
    """Return the name of the namespace for a folder outside of repositories: its name and a digest of its path."""
    digest = sha256(os.fsencode(os.path.realpath(folder))).hexdigest()
    return f"{folder.name or 'default'}-{digest[:6]}"


def is_safe_place(place: Path, values: Iterable[str | None]) -> bool:
    """Return whether the values of git's `safe.directory` contain a folder; an empty value clears those before."""
    safe = False
    for value in values:
        safe = bool(value) and (safe or _covers(value or "", Path(os.path.realpath(place))))
    return safe


def _covers(value: str, place: Path) -> bool:
    if value == "*":
        return True
    named = _at_home(value.removesuffix("/*") or "/")
    if not named.is_absolute():
        return False
    real = Path(os.path.realpath(named))
    return real in place.parents if value.endswith("/*") else real == place


def _at_home(value: str) -> Path:
    try:
        return Path(value).expanduser()
    except RuntimeError:  # there is no such user
        return Path(value)


def _git_config(folder: Path, pattern: str) -> dict[str, str]:
    """Return the values that `git config` prints; without a git program, those in the repository's config file."""
    entries = _run_git_config(folder, pattern)
    if entries is None:
        return _file_config(folder)
    return {name: "true" if value is None else value for name, value in entries}


def read_user_config(key: str) -> list[str | None]:
    """Return the values of a key in the user's own git configuration, ignoring that of repositories.

    Raises:
        StoreError: git cannot read its configuration.
    """
    return [value for _, value in _run_git_config(Path(os.devnull), f"^{re.escape(key)}$") or []]


def _run_git_config(folder: Path, pattern: str) -> list[tuple[str, str | None]] | None:
    """Return keys (in lower case, except subsections) with their values, in git's order; None without a git program.

    Raises:
        StoreError: git cannot read its configuration.
    """
    try:
        completed = subprocess.run(  # noqa: S603  the arguments are ours
            ["git", f"--git-dir={folder}", "config", "-z", "--get-regexp", pattern],  # noqa: S607  the user's git is meant
            capture_output=True, env=outside_git(), timeout=10, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise StoreError("git config gave no answer within 10 seconds", hint="try: git config --list") from None
    except OSError:
        return None
    if completed.returncode not in (0, 1):  # 1: there is no such key
        raise _unreadable(completed.stderr)
    lines = completed.stdout.decode("utf-8", "replace").split("\0")
    pairs = (line.partition("\n") for line in lines if line)
    return [(name, value if newline else None) for name, newline, value in pairs]


def _unreadable(stderr: bytes) -> StoreError:
    lines = stderr.decode("utf-8", "replace").strip().splitlines() or ["it failed without a message"]
    return StoreError(f"git config: {lines[0]}", hint="fix the git configuration; git config --list shows the location")


def _file_config(folder: Path) -> dict[str, str]:
    config = Repository.open(folder).config()
    remotes = [
        f"remote.{name}" for name in config.keys("remote") if name.endswith((".batonpolicy", ".url", ".pushurl"))
    ]
    keys = [f"baton.{name}" for name in config.keys("baton")] + [
        "user.name",
        "user.email",
        "gpg.ssh.program",
        "core.sshCommand",
        "ssh.variant",
        *remotes,
    ]
    return {key: value for key in keys if (value := config.get(key)) is not None}


def _plain(text: str) -> str:
    return re.sub(r"[<>\x00-\x1f\x7f]", "", text).strip()


def _login() -> str:
    return os.environ.get("USER") or os.environ.get("LOGNAME") or "unknown"
