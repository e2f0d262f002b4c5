"""What a sync would send: the texts in the commits that a remote lacks, by kind of content.

All of it is read from the local repository; the remote is as it was last seen. A file counts once, at the oldest commit
that has its content.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args
from urllib.parse import urlsplit

from baton_git.core import layout
from baton_git.core.errors import BatonError
from baton_git.core.kinds import ALL_KINDS, CLOSED
from baton_git.core.local_names import NOTHING, LocalNames
from baton_git.core.names import Oid
from baton_git.git.store import CommitInfo, Store
from baton_git.git.store.folder import Folder
from baton_git.git.store.stored_views import list_parts
from baton_git.namespace.branch import Branch
from baton_git.namespace.commit_log import load_entry
from baton_git.namespace.sync.tracking_refs import list_tracked_lanes, tracking_refs_of

Content = Literal["prompts", "answers", "commands", "paths", "host names", "people", "machines", "other texts"]
CONTENTS: tuple[Content, ...] = get_args(Content)

_FIELDS: dict[str, Content] = {
    **dict.fromkeys(("initial_goal", "prompt", "topic", "latest_prompts"), "prompts"),
    **dict.fromkeys(("answer", "said", "last_answer", "open_questions", "next_steps", "key_decisions"), "answers"),
    **dict.fromkeys(("command", "argv", "recent_activity", "errors"), "commands"),
    **dict.fromkeys(("path", "files_modified", "files_used", "open_files", "git_status", "worktree", "cwd"), "paths"),
    **dict.fromkeys(("host",), "host names"),
    **dict.fromkeys(("graduated_by", "author", "person"), "people"),
    **dict.fromkeys(("machine",), "machines"),
    **dict.fromkeys(("names", "branch"), "other texts"),
}  # fmt: skip
"""The content of a field, by its name or the name of a field around it; the innermost decides."""
_SKIPPED = frozenset(
    {
        "agent", "by", "commit", "digest", "format", "found", "hash", "id", "kind", "method", "of_kind", "origin",
        "parent", "priority", "record_kind", "result", "session", "session_id", "source_tier", "status", "trigger",
        "version", "was",
    }
)  # fmt: skip
"""Fields with ids and fixed words."""
_DATE = re.compile(r"\d{4}-\d\d-\d\d[T ]?[\d:.+Z-]*")
_PATH = re.compile(
    r"(?:(?<![\w.~/\\:-])/[\w.@+-]+|(?<![\w~/])~|(?<!\w)[A-Za-z]:[\\/]{1,2}[\w.@+-]+)(?:[/\\][\w.@+-]+)+"
)
_URL = re.compile(r"(?<![A-Za-z0-9+.\-])[A-Za-z][A-Za-z0-9+.\-]{1,20}://[^\s\"'<>`\\]{1,2000}")
_AT_HOST = re.compile(r"(?<![\w.-])[\w.-]{1,64}@([A-Za-z0-9](?:[\w.-]{0,250}[A-Za-z0-9])?)")
_AROUND = 40
MAX_HELD = 100
"""Maximum number of places with names of this machine that are listed."""


class SentText(NamedTuple):
    """A text that would be sent: in which file of which commit, and the dotted name of its field."""

    text: str
    file: str
    field: str
    commit: Oid


class HeldName(NamedTuple):
    """A place in the history with a path or name of this machine, which is not rewritten."""

    commit: Oid
    file: str
    text: str


@dataclass
class SentContent:
    """What would be sent to one remote.

    Attributes:
        files, size: the number of new versions of files, and their bytes.
        kinds: the number of new versions of files by kind of record.
        texts: the texts by kind of content.
    """

    commits: int = 0
    files: int = 0
    size: int = 0
    kinds: dict[str, int] = field(default_factory=dict)
    texts: dict[Content, list[SentText]] = field(default_factory=lambda: {content: [] for content in CONTENTS})


@dataclass
class History:
    """What the commits of a namespace would send, by remote, and the names of this machine in them."""

    sent: dict[str, SentContent]
    held: list[HeldName] = field(default_factory=list)
    held_count: int = 0
    held_commits: set[Oid] = field(default_factory=set)

    def hold(self, name: HeldName) -> None:
        self.held_count += 1
        self.held_commits.add(name.commit)
        if len(self.held) < MAX_HELD:
            self.held.append(name)


def find_known_tips(branch: Branch, remote: str) -> list[Oid]:
    """Return the tips of the branch that the remote is known to have: from syncs, and from git's own fetch or push."""
    tracked = f"refs/remotes/{remote}/{branch.ref.removeprefix('refs/heads/')}"
    refs = (tracking_refs_of(branch, remote).seen, tracked)
    tips = (*(branch.store.tip(ref) for ref in refs), *list_tracked_lanes(branch, remote).values())
    return list(dict.fromkeys(tip for tip in tips if tip is not None and branch.store.has(tip)))


def read_outgoing(branch: Branch, known_by_remote: Mapping[str, Sequence[Oid]]) -> History:
    """Read the whole history once, and return what each remote lacks of it.

    Args:
        known_by_remote: for each remote, the commits that it has, with all their ancestors.

    Raises:
        Corrupt: an object cannot be read.
    """
    store, tip = branch.store, branch.store.tip(branch.ref)
    history = History({remote: SentContent() for remote in known_by_remote})
    if tip is None:
        return history
    lacking = {remote: {info.oid for info in store.only_in(tip, *known)} for remote, known in known_by_remote.items()}
    names = branch.places.names if branch.places is not None else NOTHING
    host_names = branch.places.host.former_host_names if branch.places is not None else frozenset()
    seen: set[Oid] = set()
    for info in reversed(list(store.only_in(tip))):
        receivers = [history.sent[remote] for remote, commits in lacking.items() if info.oid in commits]
        for sent in receivers:
            sent.commits += 1
        _read_commit(store, info, host_names, receivers, history)
        root = store.folder(info.tree)
        for path, oid in _list_new_files(root, root.stored(), "", seen):
            _read_file(store, info, path, oid, names, receivers, history)
    return history


def _read_commit(
    store: Store, info: CommitInfo, host_names: frozenset[str], receivers: Iterable[SentContent], history: History
) -> None:
    entry = load_entry(store, info)
    if not info.parents:
        return  # the root commit, which is the same in all namespaces
    for content, text in (("people", entry.author), ("machines", entry.machine or "")):
        for sent in receivers if text else ():
            if all(text != other.text for other in sent.texts[content]):  # type: ignore[index]  # few distinct ones
                sent.texts[content].append(SentText(text, "", "commit", info.oid))  # type: ignore[index]
    domain = entry.author.rpartition("@")[2].rstrip(">").partition(".")[0]
    if entry.machine in host_names or domain in host_names:
        history.hold(
            HeldName(info.oid, "", entry.author if domain in host_names else f"Baton-Machine: {entry.machine}")
        )


def _list_new_files(root: Folder, folder: Folder, prefix: str, seen: set[Oid]) -> Iterator[tuple[str, Oid]]:
    """Yield the files of a stored folder below `root` that no earlier commit has, with their ids."""
    for name, entry in folder.entries().items():
        if entry.oid in seen:
            continue
        seen.add(entry.oid)
        if entry.is_folder:
            yield from _list_new_files(root, folder.folder(name), f"{prefix}{name}/", seen)
            continue
        for path, oid in list_parts(root, prefix + name, entry.oid):
            if oid == entry.oid or oid not in seen:
                seen.add(oid)
                yield path, oid


def _read_file(
    store: Store,
    info: CommitInfo,
    path: str,
    oid: Oid,
    names: LocalNames,
    receivers: Sequence[SentContent],
    history: History,
) -> None:
    data = store.read(oid)
    key = layout.key_at(path)
    for sent in receivers:
        sent.files += 1
        sent.size += len(data)
        sent.kinds[key.kind if key else ""] = sent.kinds.get(key.kind if key else "", 0) + 1
    for name, content, text in _list_texts(path, data):
        for sent in receivers:
            sent.texts[content].append(SentText(text, path, name, info.oid))
            for mentioned, part in _find_mentions(text) if content not in ("paths", "host names") else ():
                sent.texts[mentioned].append(SentText(part, path, name, info.oid))
        held = _find_held(names, text)
        if held:
            history.hold(HeldName(info.oid, path, held))


def _list_texts(path: str, data: bytes) -> Iterator[tuple[str, Content, str]]:
    """Yield the texts of a file, with the name of the field and the kind of content."""
    if path in layout.ROOT_FILES:
        return
    key = layout.key_at(path)
    info = None if key is None else (CLOSED if key.archived else ALL_KINDS)[key.kind]
    try:
        value: Any = data.decode("utf-8", "replace") if info is None or key is None else info.codec.decode(key.id, data)
    except (BatonError, ValueError):
        value = data.decode("utf-8", "replace")
    yield from _walk(value, "", "other texts")


def _walk(value: Any, name: str, content: Content) -> Iterator[tuple[str, Content, str]]:
    if isinstance(value, str):
        if value and not _DATE.fullmatch(value):
            if content == "other texts" and name.endswith("url") and (host := _find_host(value)):
                yield name, "host names", host
            yield name, content, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if key not in _SKIPPED:
                yield from _walk(item, f"{name}.{key}" if name else str(key), _FIELDS.get(str(key), content))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _walk(item, name, content)


def _find_mentions(text: str) -> Iterator[tuple[Content, str]]:
    """Yield the absolute paths and the hosts that a text names."""
    if "/" in text or "\\" in text:
        yield from (("paths", match[0]) for match in _PATH.finditer(text))
    if "://" in text:
        yield from (("host names", host) for match in _URL.finditer(text) if (host := _find_host(match[0])))
    if "@" in text:
        yield from (("host names", match[1]) for match in _AT_HOST.finditer(text))


def _find_host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _find_held(names: LocalNames, text: str) -> str:
    """Return the part of a text around the first path or name of this machine; empty if there is none."""
    short = names.shorten_text(text, from_transcript=True)
    if short == text:
        return ""
    at = next((at for at, pair in enumerate(zip(text, short, strict=False)) if pair[0] != pair[1]), len(short))
    return text[max(0, at - _AROUND // 4) : at + 2 * _AROUND]
