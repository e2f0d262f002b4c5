"""`baton uninstall`: remove what baton left in a repository, or what it left on this machine for all repositories."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import click

from baton_git.agents.registry import AGENTS
from baton_git.agents.settings.agent_tools import AgentTools
from baton_git.agents.settings.settings_file import SettingsFile
from baton_git.core.errors import NeedsHuman, NotAllowed, NotARepository
from baton_git.core.output import count_noun, flat
from baton_git.git.files.atomic_files import show_path
from baton_git.git.hooks.installing import Move, Remove, Say, Unconfigure, plan_uninstall, uninstall
from baton_git.git.hooks.location import EVENTS, HookLocation
from baton_git.git.local_git import LocalGit
from baton_git.git.store import Repository, Store
from baton_git.interfaces.cli.app import App, at_terminal, command
from baton_git.interfaces.cli.machine.agents import find_trusted, forget_trust
from baton_git.interfaces.cli.printing import ask
from baton_git.interfaces.context.installation import (
    find_project_tools,
    find_repository,
    find_tools,
    open_project_settings,
    open_settings,
    state_home,
)
from baton_git.interfaces.context.process import data_home, outside_git
from baton_git.interfaces.context.repository_choice import config_home, own_store
from baton_git.interfaces.context.running_servers import list_servers
from baton_git.namespace.removal import (
    PREFIXES,
    RemoteBranch,
    Removal,
    Staying,
    check_remote_branches,
    count_unique,
    delete_refs,
    delete_remote_branches,
    find_holds,
    find_on_remotes,
    list_restoring_refspecs,
    plan_removal,
    remove_config,
    remove_files,
    write_bundle,
)
from baton_git.namespace.workspace import Workspace

BUNDLES = "baton-uninstalled"
"""The folder of the bundles, beside baton's own folder of data, which goes too."""
_ONLY_PEOPLE = "a person runs the same command at a terminal of their own; --dry-run shows what it would remove"


_PROGRAM = Staying("the program", "whatever installed it removes it, such as: pipx uninstall baton-git")


class Going(NamedTuple):
    """Something that is removed: its sort, and its name."""

    what: str
    name: str


class AgentPart(NamedTuple):
    """What baton installed for one agent CLI in the user's settings or in those of a work tree."""

    agent: str
    file: SettingsFile
    tools: AgentTools

    def list_installed(self) -> list[Path]:
        has_entries = self.file.was_installed() or bool(self.file.entries_or_none())
        return [*([self.file.path] if has_entries else []), *self.tools.list_installed()]


@command("uninstall", short_help="Remove baton from a repository, or from this machine.")
@click.option("--machine", is_flag=True, help="Remove what all repositories share, and not this repository's part.")
@click.option("--remote", is_flag=True, help="Also delete the namespaces of this repository on its remotes.")
@click.option("--dry-run", is_flag=True, help="Only list what would be removed, and what would stay.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask; an agent and --remote always need a person at a terminal.")
def uninstall_command(app: App, machine: bool, remote: bool, dry_run: bool, yes: bool) -> int | None:
    """Remove what baton left in this repository: its branches and other refs, git hooks, settings, local data, and the
    hooks and skills of agent CLIs in its work trees.

    Settings of agent CLIs and earlier git hooks are restored. If commits exist nowhere else, they are written to a
    bundle first. With --machine, it removes what all repositories of this user share instead: hooks, skills and MCP
    servers of agent CLIs, approvals, and your own store.

    A person must confirm it. If it is interrupted, run it again.

    \b
    baton uninstall --dry-run
    baton uninstall --remote
    baton uninstall --machine
    """
    if machine and remote:
        raise click.UsageError("--remote goes with the part of the repository, not with --machine")
    if not dry_run:
        app.refuse_agents(_ONLY_PEOPLE)
    if machine:
        return _uninstall_from_machine(app, dry_run=dry_run, yes=yes)
    return _uninstall_from_repository(app, remote=remote, dry_run=dry_run, yes=yes)


# --- the repository


class RepositoryPart(NamedTuple):
    """What is removed from a repository, and from its remotes.

    Attributes:
        remotes: the namespaces that remotes have now.
        silent: the remotes that could not be asked.
        unique: the number of commits that no remote has now.
    """

    location: HookLocation
    removal: Removal
    agents: list[AgentPart]
    remotes: list[RemoteBranch]
    silent: list[Staying]
    unique: int
    stays: list[Staying]

    def list_going(self, *, remote: bool) -> list[Going]:
        hooks = [going for step in plan_uninstall(self.location) if (going := _describe_step(step)) is not None]
        files = [Going("agent settings", str(path)) for part in self.agents for path in part.list_installed()]
        refs = [Going("ref", ref) for ref in self.removal.refs]
        config = [Going("setting", key) for _, key in self.removal.config if not key.startswith("hook.baton-")]
        holds = [Going("hold on a pack", str(path)) for path in self.removal.holds]
        folders = [Going("folder", str(path)) for path in self.removal.folders]
        there = [Going("remote branch", f"{found.ref} on {found.remote}") for found in self.remotes if remote]
        return [*there, *files, *hooks, *refs, *config, *holds, *folders]


def _uninstall_from_repository(app: App, *, remote: bool, dry_run: bool, yes: bool) -> int | None:
    repository = find_repository(app.settings)
    if repository is None:
        hint = "change to a repository; for what all repositories share: baton uninstall --machine"
        raise NotARepository("there is no repository here", hint=hint)
    git = LocalGit(repository.common_dir, outside_git())
    with app.lenient.workspace() as ws:
        part = _plan_repository(app, ws, repository, git)
        going = part.list_going(remote=remote)
        stays = [*part.stays, *_describe_remotes(part.remotes, remote=remote)]
        needs_bundle = bool(part.removal.refs) and (part.unique > 0 or (remote and bool(part.remotes)))
        bundles = data_home() / BUNDLES
        why = f"{count_noun(part.unique, 'commit')} would be nowhere else"
        planned = [Staying(f"a bundle in {bundles}", why)] if needs_bundle and going else []
        if dry_run or not going:
            _tell(app, going, [*stays, *planned], None, is_done=False)
            return None
        _refuse_while_serving(repository)
        if remote and part.silent:  # without the refs here, a later --remote would not know the namespaces
            raise NotAllowed(f"{part.silent[0].what}: {part.silent[0].why}; so nothing was removed")
        _confirm(app, going, [*stays, *planned], f"baton from {repository.common_dir}", yes=yes and not remote)
        if remote:
            check_remote_branches(ws.branch, part.remotes, ws.environment)
        bundle = write_bundle(git, part.removal.refs, bundles, _name_of(repository)) if needs_bundle else None
        if remote:
            delete_remote_branches(ws.branch, part.remotes, ws.environment)
        for agent in part.agents:
            _remove_agent(app, agent)
        uninstall(part.location)
        delete_refs(repository, git, part.removal.refs)
        remove_config(git, part.removal.config)
        prefix = ws.branch.prefix
    remove_files([*find_holds(repository), *part.removal.folders])
    _tell(app, going, [*stays, *_describe_bundle(bundle, part.removal.refs, prefix)], bundle, is_done=True)
    return None


def _plan_repository(app: App, ws: Workspace, repository: Repository, git: LocalGit) -> RepositoryPart:
    removal = plan_removal(ws.branch, git)
    tops = [repository.work_tree, *_list_work_trees(git)]
    agents = [
        AgentPart(agent, open_project_settings(agent, top), find_project_tools(agent, top))
        for top in dict.fromkeys(top for top in tops if top is not None)
        for agent in AGENTS
    ]
    location = HookLocation.of(repository, LocalGit(repository.work_tree or repository.git_dir, outside_git()))
    names = ws.remote_settings.remotes or ()
    remotes, silent = find_on_remotes(ws.branch, names, removal.refs, ws.environment)
    unique = count_unique(ws.branch, git, removal.refs, remotes)
    notes = [Staying(note, "you changed it") for note in _list_notes(location)]
    stays = [*removal.stays, *silent, *notes, *_find_lines_by_hand(location), *_describe_objects(removal)]
    return RepositoryPart(location, removal, agents, remotes, silent, unique, [*stays, *_describe_machine(app)])


def _list_work_trees(git: LocalGit) -> Iterator[Path]:
    for line in (git.ask("worktree", "list", "--porcelain") or "").splitlines():
        if line.startswith("worktree ") and (Path(line[9:]) / ".git").exists():
            yield Path(line[9:])


def _describe_step(step: object) -> Going | None:
    if isinstance(step, Move):
        return Going("git hook", f"{step.to} (the hook that was there before comes back)")
    if isinstance(step, Remove):
        return Going("git hook", str(step.path))
    return Going("git hook", f"the setting {step.section}") if isinstance(step, Unconfigure) else None


def _list_notes(location: HookLocation) -> list[str]:
    return [step.text for step in plan_uninstall(location) if isinstance(step, Say)]


def _find_lines_by_hand(location: HookLocation) -> Iterator[Staying]:
    """Yield the hooks of other tools to which somebody added a line that calls baton's scripts."""
    for event in EVENTS:
        file = location.file_for(event)
        with suppress(OSError):
            if location.mode == "external" and f"/baton/hooks/{event}".encode() in file.read_bytes():
                yield Staying(str(file), "you added the line that calls baton; it does nothing from now on")


def _describe_objects(removal: Removal) -> Iterator[Staying]:
    if removal.refs:
        yield Staying("the objects of the removed commits", "git removes what no ref reaches: git gc --prune=now")


def _describe_remotes(found: Sequence[RemoteBranch], *, remote: bool) -> list[Staying]:
    why = "other clones use it; a person deletes it with: baton uninstall --remote"
    return [] if remote else [Staying(f"{each.ref} on {each.remote}", why) for each in found]


def _describe_bundle(bundle: Path | None, refs: Iterable[str], prefix: str) -> list[Staying]:
    if bundle is None:
        return []
    restore = shlex.join(["git", "fetch", str(bundle), *list_restoring_refspecs(refs, prefix)])
    return [Staying(str(bundle), f"it has the commits that were nowhere else; to get them back: {restore}")]


def _refuse_while_serving(repository: Repository) -> None:
    """Raise NotAllowed while a server of this user serves the repository: it would write the removed data again."""
    for server in list_servers():
        if server.repository == str(repository.common_dir):
            raise NotAllowed(
                f"a server serves this repository (process {server.pid}), so nothing was removed",
                hint=f"stop it first: kill {server.pid}",
            )


def _name_of(repository: Repository) -> str:
    folder = repository.common_dir.parent if repository.common_dir.name == ".git" else repository.common_dir
    return folder.name.removesuffix(".git") or "repository"


# --- the machine


def _uninstall_from_machine(app: App, *, dry_run: bool, yes: bool) -> int | None:
    agents = _list_user_parts(app)
    needed = _find_needed_copies(agents)
    candidates = (data_home() / "baton", *(() if needed else (state_home() / "baton",)))
    folders = [folder for folder in candidates if folder.exists()]
    git = LocalGit(Path.home(), outside_git())
    keys = _list_global_keys(git)
    refs = _list_own_refs()
    going = [
        *(Going("agent settings", str(path)) for part in agents for path in part.list_installed()),
        *(Going("setting", f"{key} in your own git configuration") for key in keys),
        *(Going("folder", str(folder)) for folder in folders),
    ]
    others = Staying("what baton left in each repository", "baton uninstall removes it there")
    stays = [*needed, *_describe_own_files(), others, _PROGRAM]
    bundles = data_home() / BUNDLES
    planned = [Staying(f"a bundle in {bundles}", "it gets the commits of your own store")] if refs else []
    if dry_run or not going:
        _tell(app, going, [*stays, *planned], None, is_done=False)
        return None
    servers = list_servers()
    if servers:
        raise NotAllowed(
            f"a server of baton runs (process {servers[0].pid}), so nothing was removed",
            hint=f"stop it first: kill {servers[0].pid}",
        )
    _confirm(app, going, [*stays, *planned], "baton from this machine", yes=yes)
    bundle = None
    if refs:
        bundle = write_bundle(LocalGit(own_store(), outside_git()), refs, bundles, "own-store")
    for part in agents:
        _remove_agent(app, part)
    for key in keys:
        git.do("config", "--global", "--unset-all", key)
    remove_files(folders)
    _tell(app, going, [*stays, *_describe_bundle(bundle, refs, PREFIXES[0])], bundle, is_done=True)
    return None


def _list_user_parts(app: App) -> list[AgentPart]:
    return [
        AgentPart(agent, open_settings(app.settings, agent, "user"), find_tools(app.settings, agent, "user"))
        for agent in AGENTS
    ]


def _find_needed_copies(agents: Sequence[AgentPart]) -> list[Staying]:
    """Return the original texts of settings in work trees, which the removal from those repositories still needs."""
    users = {show_path(path) for part in agents for path in part.list_installed()}
    notes = {note for part in agents for note in part.tools.list_notes()}
    why = "baton uninstall in the work tree of another repository needs it, to restore {}"
    found = []
    for copy in sorted((state_home() / "baton" / "agents").glob("*.json")):
        path = _read_path(copy)
        if path is None:
            found += [Staying(str(copy), why.format("a file"))] if copy not in notes else []
        elif path not in users and Path(path).exists():
            found.append(Staying(str(copy), why.format(path)))
    return found


def _read_path(copy: Path) -> str | None:
    """Return the path of the settings file of which this is a copy; None if it is another kind of note."""
    try:
        data = json.loads(copy.read_bytes())
        return str(data["path"])
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _list_own_refs() -> dict[str, Any]:
    """Return the refs of the user's own store; empty if there is none."""
    if not own_store().is_dir():
        return {}
    with Store(Repository.open(own_store())) as store:
        return dict(store.refs("refs/"))


def _list_global_keys(git: LocalGit) -> list[str]:
    listed = git.ask("config", "--global", "--name-only", "--list") or ""
    return [key for key in dict.fromkeys(listed.splitlines()) if key.startswith(("baton.", "merge.baton."))]


def _describe_own_files() -> Iterator[Staying]:
    config = config_home() / "baton"
    if config.exists():
        yield Staying(str(config), "you wrote these workflows and settings")


def _describe_machine(app: App) -> Iterator[Staying]:
    """Yield what all repositories of this user share, which the removal from one repository leaves."""
    why = "other repositories may use it; to remove it: baton uninstall --machine"
    files = [path for part in _list_user_parts(app) for path in part.list_installed()]
    folders = [folder for folder in (data_home() / "baton", state_home() / "baton") if folder.exists()]
    yield from (Staying(str(path), why) for path in [*files, *folders])
    yield _PROGRAM


# --- both


def _remove_agent(app: App, part: AgentPart) -> None:
    """Remove what baton installed for an agent CLI; a file that cannot be edited stays, and the error says which."""
    trusted = find_trusted(app, part.file) if part.agent == "codex" else []
    part.tools.uninstall()
    if part.file.was_installed() or part.file.entries_or_none():
        part.file.uninstall()
    if trusted:
        forget_trust(app, trusted)


def _confirm(app: App, going: Sequence[Going], stays: Sequence[Staying], subject: str, *, yes: bool) -> None:
    """Show what is removed and what stays, and ask a person.

    Raises:
        NeedsHuman: there is no terminal.
        NotAllowed: the person did not confirm.
    """
    if yes:
        return
    app.say(*(f"remove  {each.what}: {flat(each.name)}" for each in going))
    app.say(*(f"keep    {flat(each.what)}: {flat(each.why)}" for each in stays))
    if not at_terminal():
        raise NeedsHuman("a person must confirm it, and there is no terminal", hint=_ONLY_PEOPLE)
    if ask(f"Type yes to remove {subject}").strip().lower() not in ("y", "yes"):
        raise NotAllowed("not confirmed, so nothing was removed")


def _tell(app: App, going: Sequence[Going], stays: Sequence[Staying], bundle: Path | None, *, is_done: bool) -> None:
    data = {
        "removed": [each._asdict() for each in going],
        "stays": [each._asdict() for each in stays],
        "bundle": None if bundle is None else str(bundle),
        "dry_run": not is_done,
    }
    words = "removed" if is_done else "would be removed"
    lines = [f"{words}  {each.what}: {flat(each.name)}" for each in going]
    kept = [f"stays  {flat(each.what)}: {flat(each.why)}" for each in stays]
    app.answer(data, "\n".join([*lines, *kept]))
    if not going:
        app.say("nothing of baton is left here to remove")


COMMANDS = {"uninstall": uninstall_command}
