"""Derive which commit replaced which from git's reflogs, for when the post-rewrite hook was not run or got no input.

An amended commit is one line of a reflog. A rebase is a line of the branch's reflog, or several lines of HEAD's if HEAD
was detached. Its commits are paired by what git keeps (author and time), then by subject and by patch. A commit that
was melded into another one (`fixup!`, squash) is paired with that one, as git does in the input of post-rewrite.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice, pairwise
from pathlib import Path
from typing import NamedTuple

from baton_git.core.errors import Corrupt
from baton_git.core.names import Oid
from baton_git.git.objects.values import CommitInfo, TreeEntry
from baton_git.git.rewritten import find_newest
from baton_git.git.store import Repository, Store

MAX_REWRITES = 200
"""Maximum number of amended commits and rebases that are looked at, newest first."""
MAX_COMMITS = 500
"""Maximum number of commits of one rebase."""
MAX_LOGS = 200
"""Maximum number of branches whose reflogs are read, the last changed first."""
MAX_LOG_BYTES = 1 << 20
MAX_PATCH_BYTES = 1 << 20
"""Maximum size of a file that is compared line by line."""

_LINE = re.compile(rb"([0-9a-f]{40,64}) ([0-9a-f]{40,64}) [^\t]*> (\d+) [+-]\d{4}\t([^\n]*)")
_AMENDED = re.compile(r"(?!checkout:|reset:|branch:|merge |pull|clone|rebase|Branch:)")
_FINISHED = re.compile(r"(?:\(finish\)|^rebase finished): \S+ onto ([0-9a-f]{40,64})$")
_STARTED = re.compile(r"\(start\): checkout ")
_STEP = re.compile(r"\((pick|reword|edit|squash|fixup|continue|merge|label|reset)\)")
_MELDED = re.compile(r"(?:(?:fixup|squash|amend)! )+")


class LogLine(NamedTuple):
    """A line of a reflog; `time` in seconds since 1970."""

    old: Oid
    new: Oid
    time: int
    message: str


class Rebase(NamedTuple):
    """A finished rebase: the commits of `old` that are not in `new` were replaced by those after `onto`.

    Attributes:
        melded: the number of commits that were melded into their predecessor, as far as HEAD's reflog shows.
    """

    old: Oid
    new: Oid
    onto: Oid
    time: int
    melded: int = 0


def derive_rewritten(store: Store) -> dict[str, str]:
    """Return the newest known rewrites as a mapping of old to new commit ids, without those that cannot be decided."""
    common = store.repository.common_dir  # each work tree has a HEAD with a reflog of its own
    heads = [
        line
        for folder in (common, *sorted((common / "worktrees").glob("*")))
        for line in read_log(folder / "logs" / "HEAD")
    ]
    branches = [line for log in _list_branch_logs(store.repository) for line in read_log(log)]
    steps = list(_read_steps(heads))
    melded = {rebase.new: rebase.melded for rebase, _ in steps}
    rebases = [rebase for rebase, is_detached in steps if is_detached]
    for line in branches:
        match = _FINISHED.search(line.message)
        if match is not None and line.old != line.new:
            rebases.append(Rebase(line.old, line.new, Oid(match[1]), line.time, melded.get(line.new, 0)))
    amended = [line for line in heads if line.old != line.new and _AMENDED.match(line.message)]
    events: list[Rebase | LogLine] = [*rebases, *amended]
    between: dict[str, str] = {line.old: line.new for line in amended if line.message.startswith("commit (amend)")}
    pairs: dict[str, str] = {}
    for event in sorted(events, key=lambda event: event.time)[-MAX_REWRITES:]:
        with suppress(Corrupt):  # a commit of a reflog may have been removed by gc
            pairs |= pair_rebase(store, event, between) if isinstance(event, Rebase) else _pair_amended(store, event)
    return pairs


# --- reflogs


def read_log(path: Path) -> list[LogLine]:
    """Return the last lines of a reflog, oldest first; empty if it cannot be read."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - MAX_LOG_BYTES))
            data = file.read()
    except OSError:
        return []
    matches = (_LINE.fullmatch(line) for line in data.splitlines())
    return [
        LogLine(Oid(match[1].decode()), Oid(match[2].decode()), int(match[3]), match[4].decode("utf-8", "replace"))
        for match in matches
        if match is not None
    ]


def _list_branch_logs(repository: Repository) -> list[Path]:
    logs: list[tuple[float, Path]] = []
    for path in (repository.common_dir / "logs" / "refs" / "heads").rglob("*"):
        with suppress(OSError):
            if path.is_file():
                logs.append((path.stat().st_mtime, path))
    return [path for _, path in sorted(logs, reverse=True)[:MAX_LOGS]]


def _read_steps(lines: Sequence[LogLine]) -> Iterator[tuple[Rebase, bool]]:
    """Yield the rebases in a reflog of HEAD, and whether HEAD was detached: then no line says that it finished.

    An aborted rebase is left out.
    """
    starts = [number for number, line in enumerate(lines) if _STARTED.search(line.message)]
    for number in starts[-MAX_REWRITES:]:
        last, melded, end = lines[number], 0, ""
        for line in lines[number + 1 :]:
            step = _STEP.search(line.message)
            if line.old != last.new or (step is None and not line.message.startswith("commit")):
                end = line.message if line.old == last.new else ""
                break
            melded += step is not None and step[1] in ("squash", "fixup")
            last = line
        if "(abort)" not in end:
            yield Rebase(lines[number].old, last.new, lines[number].new, last.time, melded), "(finish)" not in end


# --- pairs


def _pair_amended(store: Store, line: LogLine) -> dict[str, str]:
    """Return the pair of an amended commit: git keeps the parents, the author and the author's time.

    `git commit` has the message `commit (amend)`, unless GIT_REFLOG_ACTION is set or another program did it.
    """
    if line.message.startswith("commit (amend)"):
        return {line.old: line.new}
    if line.message.startswith(("commit:", "commit (", "cherry-pick", "revert", "am:")):
        return {}
    old, new = store.commit(line.old), store.commit(line.new)
    return {old.oid: new.oid} if old.parents == new.parents and _author(old) == _author(new) else {}


def pair_rebase(store: Store, rebase: Rebase, amended: Mapping[str, str]) -> dict[str, str]:
    """Return the pairs of a rebase.

    Args:
        amended: the pairs of amended commits, some of them during the rebase.

    Raises:
        Corrupt: a commit is missing.
    """
    old = list(islice(store.only_in(rebase.old, rebase.new), MAX_COMMITS))[::-1]
    new = list(islice(store.only_in(rebase.new, rebase.onto, rebase.old), MAX_COMMITS))[::-1]
    known, names = ({str(commit.oid) for commit in commits} for commits in (new, old))
    between = [store.commit(Oid(one)) for one in amended if find_newest(amended, one) in known and one not in names]
    pairs: dict[str, str] = {}
    for commit in old:
        match = _find_match(store, commit, old, new) or _find_match(store, commit, old, between)
        if match is not None:
            pairs[commit.oid] = find_newest(amended, match)
    left = [commit for commit in old if commit.oid not in pairs]
    marked = [(commit.oid, _find_target(commit, old, pairs)) for commit in left]
    pairs |= {oid: target for oid, target in marked if target is not None}
    if len(left) == rebase.melded:  # none was dropped: each was melded into the one before
        for before, commit in pairwise(old):
            if commit.oid not in pairs and before.oid in pairs:
                pairs[commit.oid] = pairs[before.oid]
    return pairs


def _author(commit: CommitInfo) -> tuple[str, int, int]:
    return commit.author, commit.time, commit.timezone


def _subject(commit: CommitInfo) -> str:
    return commit.message.partition("\n")[0].strip()


def _find_match(store: Store, commit: CommitInfo, old: Sequence[CommitInfo], new: Iterable[CommitInfo]) -> Oid | None:
    """Return the new commit with the author, the time, and the subject or the patch of an old one.

    Subject and patch are not needed if the author and the time are unique. None if there is not exactly one.
    """
    candidates = [one for one in new if _author(one) == _author(commit)]
    same = [one for one in old if _author(one) == _author(commit)]
    if len(candidates) == 1 and len(same) == 1:
        return candidates[0].oid
    fitting = [one for one in candidates if _subject(one) == _subject(commit)]
    if len(fitting) == 1 and sum(_subject(one) == _subject(commit) for one in same) == 1:
        return fitting[0].oid
    patch = find_patch(store, commit) if candidates else None
    fitting = [one for one in candidates if patch is not None and find_patch(store, one) == patch]
    return fitting[0].oid if len(fitting) == 1 else None


def _find_target(commit: CommitInfo, old: Sequence[CommitInfo], pairs: Mapping[str, str]) -> str | None:
    """Return what replaced the commit that a `fixup!` or `squash!` commit names."""
    match = _MELDED.match(commit.message)
    if match is None:
        return None
    wanted = _subject(commit)[match.end() :]
    targets = [pairs[one.oid] for one in old if one.oid in pairs and _subject(one) == wanted]
    return targets[0] if targets else None


Patch = tuple[tuple[str, tuple[bytes, ...], tuple[bytes, ...]], ...]


def find_patch(store: Store, commit: CommitInfo) -> Patch | None:
    """Return what a commit changes, without line numbers and white space, like `git patch-id`.

    Returns:
        For each changed file, in order, its path, the removed and the added lines; None if the commit changes nothing,
        is a merge, or a file is too large to compare.

    Raises:
        Corrupt: an object is missing.
    """
    if len(commit.parents) > 1:
        return None
    before = store.commit(commit.parents[0]).tree if commit.parents else None
    changes = []
    for path, old, new in sorted(_list_changes(store, before, commit.tree)):
        texts = [store.read(Oid(oid)) if oid else b"" for oid in (old, new)]
        if max(map(len, texts)) > MAX_PATCH_BYTES:
            return None
        changes.append((path, *_compare_lines(*texts)))
    return tuple(changes) or None


def _compare_lines(old: bytes, new: bytes) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
    from difflib import SequenceMatcher  # slow to load, and rarely needed

    before, after = ([b"".join(line.split()) for line in text.splitlines()] for text in (old, new))
    parts = [part for part in SequenceMatcher(None, before, after).get_opcodes() if part[0] != "equal"]
    removed = tuple(line for _, start, end, _, _ in parts for line in before[start:end])
    return removed, tuple(line for _, _, _, start, end in parts for line in after[start:end])


def _list_changes(store: Store, old: Oid | None, new: Oid | None, path: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield the path and both blob ids of the files that differ; an id is empty if the file does not exist."""
    if old == new:
        return
    before, after = store.folder(old).entries(), store.folder(new).entries()
    for name in before.keys() | after.keys():
        sides = before.get(name), after.get(name)
        if sides[0] == sides[1]:
            continue
        folders = [side.oid if side is not None and side.is_folder else None for side in sides]
        yield from _list_changes(store, folders[0], folders[1], f"{path}{name}/")
        files = [_blob_of(side) for side in sides]
        if files[0] != files[1]:
            yield f"{path}{name}", files[0], files[1]


def _blob_of(entry: TreeEntry | None) -> str:
    """Return the id of a file or symbolic link; empty for a folder, a submodule, or nothing."""
    return entry.oid if entry is not None and entry.mode & 0o170000 in (0o100000, 0o120000) else ""


# --- without a reflog


def find_replacement(store: Store, commit: CommitInfo, searched: Iterable[CommitInfo]) -> Oid | None:
    """Return the only commit with the author, the time and the patch of a commit that is on no branch; else None.

    Raises:
        Corrupt: an object is missing.
    """
    alike = [one for one in searched if _author(one) == _author(commit)]
    patch = find_patch(store, commit) if alike and not _is_on_a_branch(store, commit.oid) else None
    fitting = [one.oid for one in alike if patch is not None and find_patch(store, one) == patch]
    return fitting[0] if len(fitting) == 1 and not store.is_ancestor(fitting[0], commit.oid) else None


def _is_on_a_branch(store: Store, commit: Oid) -> bool:
    tips = {**store.refs("refs/heads/"), **store.refs("refs/remotes/")}
    return len(tips) > MAX_LOGS or any(store.is_ancestor(commit, tip) for tip in set(tips.values()))
