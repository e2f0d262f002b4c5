"""Files that a session did not use but that belong to its work: those that changed in the same commits as its files,
and the modules whose names it used in code."""

from __future__ import annotations

import math
import posixpath
import re
import stat
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from baton_git.core.output import is_safe
from baton_git.core.records.handoff import Handoff
from baton_git.git.source_commits import ChangedFiles, list_recent_changes
from baton_git.namespace.workspace import Workspace
from baton_git.systems.gobby.handoff_context import relative_to

MAX_BYTES, MAX_LINE = 410, 395
"""Maximum size of all lines and of each line, in bytes. With its title, the section has at most 500 bytes."""
HALF_LIFE = 14 * 86400
"""Age in seconds, counted from the newest commit, at which a commit weighs half."""
CHANGED, READ, NAMED = 1.0, 0.5, 0.125
"""Weights of a file that the session changed, only read or only named."""
MIN_SCORE = 0.05
LATELY = 0.1
"""Weight of a file's share of all commits, by their weight, beside its share of the commits of the session's files. Of
two files that changed with them alike, the one that is changed more is the more probable: in 193 commits of a real
history it finds 24.7 % instead of 23.4 % of the files of the next two commits, with as many listed."""
_DOUBT = 2.0
"""Weight of the commits without a companion that are assumed besides those that are known, so that a file with one
commit does not count as sure to change with all others in it."""
_FEW = 5.0
"""Weight of the commits that are assumed besides all known ones, so that a short history says little."""
_QUALIFIED = re.compile(r"(?<![\w./])([a-z][a-z0-9_]{2,40})\.[A-Za-z_]\w{2,}")
"""A name in code with its module before it (`trailers.Parse`)."""
_CODE = (".go", ".js", ".jsx", ".py", ".rb", ".rs", ".ts", ".tsx")
_MAX_TEXT, _MAX_MODULES = 16_384, 6
"""Maximum length in characters of a text that is searched for modules, and maximum number of their files listed."""


class Companion(NamedTuple):
    """A file that changed in the same commits as the files `beside`, of which the one that adds most comes first."""

    path: str
    beside: tuple[str, ...]
    score: float


class RelatedFiles(NamedTuple):
    """Files of this work tree that a session did not use: `together`, lines that each name a file of the session and
    the files that changed with it, the most probable first, and `modules`, the files of modules that it named."""

    together: list[str]
    modules: list[str]


def list_related(ws: Workspace, now: datetime, handoff: Handoff) -> RelatedFiles:
    """Return the files of this work tree that belong to a session's work although it did not use them."""
    top = ws.branch.store.repository.work_tree
    weights, texts = weigh_files(handoff), _list_texts(handoff)
    if ws.folder is None or top is None or not (weights or texts):
        return RelatedFiles([], [])
    changes = list_recent_changes(ws.branch.store, ws.environment)
    ranked = rank_companions(changes, weights, now.timestamp())
    lines = write_lines(one for one in ranked if is_safe_path(one.path) and _is_file(top, one.path))
    modules = find_modules(texts, dict.fromkeys(file for change in changes for file in change.files))
    known = {*weights, *(path for path in modules if path.rpartition("/")[2] in weights)}  # a bare name may mean it
    fresh = (path for path in modules if path not in known and is_safe_path(path) and _is_file(top, path))
    return RelatedFiles(lines, list(fresh)[:_MAX_MODULES])


def _list_texts(handoff: Handoff) -> list[str]:
    """Return what the session was asked and what it answered last, the latest first."""
    facts = handoff.facts.told
    asked = [prompt.text for prompt in reversed(facts.latest_prompts)]
    return list(filter(None, [facts.last_answer.text if facts.last_answer else "", *asked, facts.initial_goal]))


def find_modules(texts: Iterable[str], files: Iterable[str]) -> list[str]:
    """Return the files of the modules that stand before names in code (`trailers.Parse` is in trailers.go), with their
    tests in the same folder. A name that modules in several folders have is ambiguous, and left out."""
    named = dict.fromkeys(name for text in texts for name in _QUALIFIED.findall(text[:_MAX_TEXT]))
    if not named:
        return []
    by_stem: defaultdict[str, list[str]] = defaultdict(list)
    for path in files:
        stem, ending = posixpath.splitext(path.rpartition("/")[2])
        if ending in _CODE:
            by_stem[stem.removesuffix("_test").removesuffix(".test").removeprefix("test_")].append(path)
    found = (sorted(by_stem[name]) for name in named if name in by_stem)
    return [path for paths in found if len({path.rpartition("/")[0] for path in paths}) == 1 for path in paths]


def weigh_files(handoff: Handoff) -> dict[str, float]:
    """Return the weight of each file that a session used, by its path in the work tree."""
    facts = handoff.facts
    weights = {
        use.path: CHANGED if use.changes or use.found == "git" else READ if use.reads else NAMED
        for use in facts.files_used
    } | dict.fromkeys(facts.files_modified, CHANGED)
    return {relative_to(handoff.worktree, path): weight for path, weight in weights.items()}


def rank_companions(changes: Sequence[ChangedFiles], weights: Mapping[str, float], now: float) -> list[Companion]:
    """Return the files with a score of at least `MIN_SCORE` that changed with files of `weights`, the highest first.

    The score is the sum, over the session's files, of their weight times the share of their commits that also changed
    the other file, and of a small part for how often that file changed at all. A commit weighs half after `HALF_LIFE`,
    and less the more files it changed.
    """
    newest = max((change.time for change in changes if change.time <= now), default=now)
    total = 0.0
    alone: defaultdict[str, float] = defaultdict(float)
    together: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    for time, files in changes:
        own = [file for file in files if file in weights]
        weight = 0.5 ** (max(newest - time, 0) / HALF_LIFE)  # clocks can be wrong
        total += weight
        for file in files:
            alone[file] += weight
        for other in files if own else ():
            for file in own if other not in weights else ():
                together[other][file] += weight / math.log2(1 + len(files))
    companions = []
    for path, beside in together.items():
        parts = {file: weights[file] * shared / (alone[file] + _DOUBT) for file, shared in beside.items()}
        by_part = sorted(parts, key=lambda file: (-parts[file], file))
        lately = LATELY * alone[path] / (total + _FEW)
        companions.append(Companion(path, tuple(by_part), sum(parts.values()) + lately))
    likely = (one for one in companions if one.score >= MIN_SCORE)
    return sorted(likely, key=lambda one: (-one.score, one.path))


def write_lines(companions: Iterable[Companion]) -> list[str]:
    """Return a line for each file beside which companions changed, in at most `MAX_BYTES` bytes altogether.

    A companion stands in an earlier line if it also changed beside the file of that line, which needs less room.
    """
    groups: dict[str, list[str]] = {}
    lines: list[str] = []
    for path, besides, _ in companions:
        beside = next((file for file in groups if file in besides), besides[0])
        longer = {**groups, beside: [*groups.get(beside, []), path]}
        written = [f"with {_name(file, longer)}: {_join_paths(paths)}" for file, paths in longer.items()]
        sizes = [len(f"| - {line}\n".encode()) for line in written]
        if sum(sizes) > MAX_BYTES or max(sizes) > MAX_LINE:
            break
        groups, lines = longer, written
    return lines


def _name(file: str, files: Collection[str]) -> str:
    """Return the file's name without its folder, unless another one of `files` has the same."""
    name = file.rpartition("/")[2]
    return file if sum(other.rpartition("/")[2] == name for other in files) > 1 else name


def _join_paths(paths: Sequence[str]) -> str:
    """Return paths as a list: `in src: main.py, core/{state.py, names.py}` are three files."""
    top = posixpath.commonpath([path.rpartition("/")[0] for path in paths]) if len(paths) > 1 else ""
    folders: dict[str, list[str]] = {}
    for path in paths:
        folder, slash, name = (path[len(top) + 1 :] if top else path).rpartition("/")
        folders.setdefault(f"{folder}{slash}", []).append(name)
    listed = ", ".join(
        f"{folder}{{{', '.join(names)}}}" if folder and len(names) > 1 else ", ".join(folder + name for name in names)
        for folder, names in folders.items()
    )
    return f"in {top}: {listed}" if top else listed


def is_safe_path(path: str) -> bool:
    """Whether a path can stand in a line as it is. A commit may come from anybody."""
    return is_safe(path) and path == path.strip() and not set(path) & set("{},`")


def _is_file(top: Path, path: str) -> bool:
    try:
        return not stat.S_ISDIR((top / path).lstat().st_mode)
    except OSError:  # it was deleted or moved
        return False
