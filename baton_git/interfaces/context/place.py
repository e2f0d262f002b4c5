"""Find where a call acts: on which machine, and in which namespace.

This is slow to import, and a server that checks a push needs neither.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from baton_git.core.errors import BatonError, Corrupt, InvalidName
from baton_git.core.names import Namespace, Oid, mint_id
from baton_git.core.output import is_safe
from baton_git.git.store import Repository, Store
from baton_git.interfaces.context.repository_choice import current_folder
from baton_git.namespace.last_tip import was_here
from baton_git.namespace.local_places import Host
from baton_git.namespace.machine_state import GoneNamespaces, HookMarkers
from baton_git.namespace.namespaces import find_other_prefix, is_namespace_tip

# --- the machine, with the name that is stored instead of the host name

_MACHINE_ID = Path("/etc/machine-id")
"""An id that systemd asks to keep private, so only a digest of it may leave the machine (see its `machine-id(5)`)."""


def find_host(chosen: str | None) -> Host:
    """Return what this machine is called.

    Args:
        chosen: the name of the machine that the user chose (git config baton.machine); None for a derived one.
    """
    host = os.uname().nodename.split(".")[0]
    key = f"{_read_machine_id()}\0{host}"
    derived = mint_id("machine", sha256(f"baton machine\0{key}".encode("utf-8", "replace")).digest())
    as_before = _make_name(host)
    return Host(
        str(_find_home()), host, find_login(), _make_name(chosen or "") or derived, key, frozenset((derived, as_before))
    )


def find_login() -> str:
    """Return the login name; empty if no variable has it."""
    return os.environ.get("USER") or os.environ.get("LOGNAME") or ""


def _make_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9.-]", "-", text.strip())


def _read_machine_id() -> str:
    with suppress(OSError):
        return _MACHINE_ID.read_text(encoding="ascii", errors="replace").strip()
    return ""


def _find_home() -> Path | str:
    with suppress(RuntimeError):  # no variable has it, and the user is unknown to the system
        return Path.home()
    return ""


# --- the namespace of a call that names none: from the folder, the repository and its remotes

_HEADS = "refs/heads/"


class NamespaceChoice(NamedTuple):
    """The namespace of a call, and how it was chosen."""

    namespace: Namespace
    by: Literal["option", "setting", "folder", "remote"]


class NamespaceSettings(Protocol):
    """The settings of a call on which its namespace depends."""

    @property
    def repository(self) -> Repository: ...
    @property
    def found_repository(self) -> Repository | None: ...
    @property
    def is_own_store(self) -> bool: ...
    @property
    def prefix(self) -> str: ...
    @property
    def folder_outside(self) -> Path: ...


def find_new_name(settings: NamespaceSettings, namespace: Namespace) -> Namespace | None:
    """Return the current name of a namespace that was renamed in this repository; None if it was not renamed."""
    if settings.found_repository is None:
        return None
    gone = GoneNamespaces(settings.found_repository.common_dir)
    names = [namespace]
    while (step := gone.find(names[-1])) and step.renamed_to and step.renamed_to not in names:
        with Store(settings.found_repository) as store:
            if store.tip(settings.prefix + names[-1].component) is not None:
                break
        names.append(step.renamed_to)
    return names[-1] if len(names) > 1 else None


def find_namespace(settings: NamespaceSettings) -> NamespaceChoice:
    """Return the namespace with the folder's name or, if it does not exist here, the only namespace of the remotes.

    If the remotes have several namespaces or none, the namespace with the folder's name is returned. A namespace that
    was synced before remains the default after it is deleted on the remote. No remote is asked: what counts is what git
    has fetched (`meet_remotes` asks, at the start of a session).
    """
    own = NamespaceChoice(Namespace(_name_folder(settings)), "folder")
    if settings.found_repository is None:
        return own
    own_ref = settings.prefix + own.namespace.component
    with Store(settings.found_repository) as store:
        # Another program may have deleted its branch: no other namespace takes its place.
        if settings.is_own_store or store.tip(own_ref) or was_here(store, own_ref):
            return own
        is_fetched = settings.prefix.startswith(_HEADS)  # a clone fetches only branches
        middle, tips = "/" + settings.prefix.removeprefix(_HEADS), store.refs("refs/remotes/") if is_fetched else {}
        remote = {ref.partition(middle)[2]: tip for ref, tip in tips.items() if middle in ref}
        shared = _list_synced(settings, store) | remote
        only = _find_only(store, shared)
    # a name that is not safe was written for terminals and agents
    return NamespaceChoice(only, "remote") if only is not None and is_safe(only.text) else own


def _list_synced(settings: NamespaceSettings, store: Store) -> dict[str, Oid]:
    """Return the tips of the namespaces that were synced before, by the last part of their refs."""
    tips: dict[str, Oid] = {}
    for component in HookMarkers(settings.repository.common_dir).synced.all():
        with suppress(BatonError):  # not the name of a namespace
            namespace = Namespace.from_component(component)
            prefix = find_other_prefix(store, settings.prefix, namespace) or settings.prefix
            tip = store.tip(settings.prefix + component) or store.tip(prefix + component)
            tips |= {component: tip} if tip is not None else {}
    return tips


def find_folder_outside(settings: NamespaceSettings) -> Path:
    """Return the nearest folder, from the current one upwards, with a namespace in the user's own store.

    If there is none, return the current folder.
    """
    here = current_folder()
    if settings.found_repository is None:
        return here
    with Store(settings.found_repository) as store:
        refs = {*store.refs(settings.prefix), *store.kept_refs.below(settings.prefix)}
    around = (here, *here.parents)
    return next(
        (place for place in around if settings.prefix + Namespace(_name_outside(place)).component in refs), here
    )


def _name_folder(settings: NamespaceSettings) -> str:
    """Return the name of the repository's folder: that of the main work tree, also in a linked one."""
    if settings.is_own_store:
        return _name_outside(settings.folder_outside)
    common = settings.repository.common_dir
    if common.name == ".git":
        return common.parent.name or "default"
    if settings.repository.work_tree is not None:
        return settings.repository.work_tree.name or "default"
    return common.name.removesuffix(".git") or "default"


def _find_only(store: Store, tips: Mapping[str, Oid]) -> Namespace | None:
    """Return the only namespace among fetched branches, by the last parts of their refs; None if there are several, or
    none. A branch of code may have such a name, too; one of several that cannot be read counts as a namespace.

    Raises:
        Corrupt: there is one branch, and it cannot be read.
    """
    found: list[Namespace] = []
    for component, tip in tips.items():
        with suppress(InvalidName):
            namespace = Namespace.from_component(component)
            try:
                is_one = is_namespace_tip(store, tip)
            except Corrupt:
                if len(tips) == 1:
                    raise
                is_one = True
            found += [namespace] if is_one else []
        if len(found) > 1:
            break
    return found[0] if len(found) == 1 else None


def _name_outside(folder: Path) -> str:
    """Return the name of the namespace for a folder outside of repositories: its name and a digest of its path."""
    digest = sha256(os.fsencode(os.path.realpath(folder))).hexdigest()
    return f"{folder.name or 'default'}-{digest[:6]}"
