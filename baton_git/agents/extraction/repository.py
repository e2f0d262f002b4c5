"""Complete a session's facts from its repository: uncommitted changes, commits, and what the transcript does not show.

Here git only reads: it does not refresh the index or start a file-system monitor, and it runs without the environment
variables that tie a hook's git to another repository. Facts that cannot be determined are listed under `unknown`, with
the reason.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from baton_git.agents.extraction.extracting import Extraction
from baton_git.core.output import count_noun
from baton_git.core.times import parse_time_or_none, shift
from baton_git.git.local_git import GitUnavailable, SessionRepository

# --- commits and files that only git shows, because a script, a program or a person made them

# A commit counts if the reflog of HEAD in the session's work tree shows that it was made there while the session ran;
# fetched, pulled and checked-out commits do not count. A file counts if it is in such a commit, or if it is uncommitted
# and was written while the session ran.
MAX_COMMITS = 50
MAX_FILES = 60
"""Maximum numbers of commits (the newest are kept) and of files that are found."""
_MAX_MOVES = 300
"""Maximum number of reflog entries that are read, newest first."""
_COMMITTED = re.compile(r"(?:commit(?: \((?:initial|merge|amend|cherry-pick)\))?|cherry-pick|revert):")


class SessionSpan(NamedTuple):
    """When a session ran, in seconds since 1970. `end` is a minute after the last event, for late commands."""

    begin: float
    end: float

    def contains(self, seconds: float) -> bool:
        return self.begin <= seconds <= self.end


def find_span(extraction: Extraction) -> SessionSpan | None:
    """Return when a session ran, according to its transcript; None when the times are missing."""
    began = parse_time_or_none(extraction.started or "")
    ended = parse_time_or_none(extraction.ended or "")
    if began is None or ended is None:
        return None
    return SessionSpan(began.timestamp() // 1, shift(ended, _AROUND).timestamp())


def find_commits(repository: SessionRepository, span: SessionSpan) -> list[tuple[str, str]]:
    """Return the ids and subjects of the commits made in this work tree while the session ran, oldest first.

    Raises:
        GitUnavailable: git does not answer.
    """
    output = repository.run_git(
        "log", "--walk-reflogs", "--date=unix", "--format=%H%x00%gd%x00%gs%x00%s", f"--max-count={_MAX_MOVES}", "HEAD",
        "--",
    )  # fmt: skip
    made: dict[str, str] = {}
    before = ""
    for commit, seconds, action, subject in reversed(list(_parse_moves(output))):
        if span.contains(seconds) and _COMMITTED.match(action):
            if "(amend)" in action:
                made.pop(before, None)
            made[commit] = subject
        before = commit
    return list(made.items())[-MAX_COMMITS:]


def _parse_moves(output: str) -> Iterator[tuple[str, float, str, str]]:
    for line in output.splitlines():
        commit, _, rest = line.partition("\0")
        selector, _, rest = rest.partition("\0")
        action, _, subject = rest.partition("\0")
        seconds = selector.rpartition("{")[2].rstrip("}")
        if seconds.isdecimal():
            yield commit, float(seconds), action, subject


def list_committed_files(repository: SessionRepository, commits: Sequence[str]) -> list[str]:
    """Return the absolute paths of the files in these commits, starting with the last commit.

    Raises:
        GitUnavailable: git does not answer.
    """
    if not commits:
        return []
    output = repository.run_git(
        "log", "--no-walk=unsorted", "--stdin", "--format=", "--name-only", "-z", "--no-renames", "--no-ext-diff",
        "--no-textconv", stdin="\n".join(reversed(commits)),
    )  # fmt: skip
    top = repository.run_git("rev-parse", "--show-toplevel").rstrip("\n")
    names = dict.fromkeys(name.strip("\n") for name in output.split("\0") if name.strip("\n"))
    return [posixpath.join(top, name) for name in names][:MAX_FILES]


def list_written_files(folder: Path, status: str, span: SessionSpan) -> list[str]:
    """Return the absolute paths of the files in `git status --short` output that were written during the session."""
    paths = []
    for line in status.splitlines():
        name = line[3:].rpartition(" -> ")[2].strip('"')
        if name and not name.endswith("/") and "\\" not in name:
            path = folder / name
            try:
                is_new = span.contains(path.stat().st_mtime)
            except OSError:
                continue  # deleted since
            if is_new:
                paths.append(posixpath.normpath(str(path)))
    return paths[:MAX_FILES]


def add_found_files(facts: dict[str, Any], paths: Sequence[str], found: str = "git") -> None:
    """Add to `files_used` the files whose changes only git shows, after those that the transcript shows as changed.

    Args:
        found: `git`, or `left` for those in commits of turns that the conversation left.
    """
    uses: list[dict[str, Any]] = list(facts.get("files_used", ()))
    known = {use["path"]: use for use in uses}
    new = []
    for path in dict.fromkeys(paths):
        use = known.get(path)
        if use is None or not use.get("changes"):
            new.append({**(use or {}), "path": path, "changes": 1, "found": found})
    if new:
        paths_found = {use["path"] for use in new}
        rest = [use for use in uses if use["path"] not in paths_found]
        changed = [use for use in rest if use.get("changes")]
        facts["files_used"] = [*changed, *new, *(use for use in rest if not use.get("changes"))][:MAX_FILES]


def check_removed_files(facts: dict[str, Any]) -> None:
    """Drop the mark of a removed file in `files_used` if the file exists: something that was not seen restored it."""
    uses: list[dict[str, Any]] = list(facts.get("files_used", ()))
    for at, use in enumerate(uses):
        if use.get("gone") and use["path"].startswith("/") and os.path.exists(use["path"]):
            uses[at] = {name: value for name, value in use.items() if name != "gone"}
    if uses:
        facts["files_used"] = uses


# --- the facts of a session

MAX_STATUS = 8192
MAX_STAT = 4096
"""Maximum size in bytes of the status, and of one commit's diffstat."""
_AROUND = timedelta(seconds=60)
"""Allowed difference between the clocks of the transcript and of the repository."""
_LOG_LENGTH = 1000


def add_git_facts(
    extraction: Extraction, now: datetime, environment: Mapping[str, str], folder: Path | None,
    common_dir: Path | None = None,
) -> Extraction:  # fmt: skip
    """Return the extraction completed from the session's repository.

    Args:
        folder: the session's working directory; None: the one in the transcript.
        common_dir: the git directory of its repository, which still has its commits if the folder was removed.
    """
    options, facts = extraction.options, {**extraction.facts, "unknown": dict(extraction.facts.get("unknown", {}))}
    check_removed_files(facts)
    wanted = [name for name in ("git_status", "git_commits") if getattr(options.extract, name)]
    for name in wanted:
        try:
            repository = SessionRepository(_choose_folder(extraction, folder), environment)
            if name == "git_commits" and common_dir is not None and not repository.folder.is_dir():
                if facts.get(name):  # which others were made there, only the reflog of its HEAD showed
                    facts[name] = _check_commits(SessionRepository(common_dir, environment), extraction, now)
            elif name == "git_status":
                facts[name] = _read_status(repository)
            else:
                _add_commits(facts, repository, extraction, now)
        except GitUnavailable as error:
            if name == "git_status" or facts.get(name):
                facts["unknown"][name] = str(error)
    if _wants_changed_files(extraction) and facts.get("git_status") and (span := find_span(extraction)):
        add_found_files(facts, list_written_files(repository.folder, facts["git_status"], span))
    return replace(extraction, facts=facts)


def _wants_changed_files(extraction: Extraction) -> bool:
    wanted = extraction.options.extract
    return wanted.files_used and wanted.files_modified


def _choose_folder(extraction: Extraction, folder: Path | None) -> Path:
    """Return the first existing folder of these: `folder`, the one in which the session started, and its last one.

    If none of them exists, return the first that is known.

    Raises:
        GitUnavailable: no folder is known.
    """
    named = [Path(path) for path in (folder, extraction.home, extraction.cwd) if path and Path(path).is_absolute()]
    if not named:
        raise GitUnavailable("the transcript does not name the session's folder")
    return next((path for path in named if os.path.isdir(path)), named[0])


def _read_status(repository: SessionRepository) -> str:
    return keep_whole_lines(repository.run_git("status", "--short"), MAX_STATUS)


def keep_whole_lines(text: str, most: int) -> str:
    """Return as many whole lines as fit into `most` bytes, and a last line with the number of omitted lines, if any."""
    lines = text.rstrip("\n").split("\n")
    kept: list[str] = []
    for line in lines:
        most -= len(line.encode("utf-8", "replace")) + 1
        if most < 0:
            return "\n".join([*kept, f"… and {count_noun(len(lines) - len(kept), 'more line')}"])
        kept.append(line)
    return "\n".join(kept)


# --- commits


def _add_commits(facts: dict[str, Any], repository: SessionRepository, extraction: Extraction, now: datetime) -> None:
    """Check the commits in the facts against the repository, and add those that only git shows."""
    if facts.get("git_commits"):
        facts["git_commits"] = _check_commits(repository, extraction, now)
    span, limit = find_span(extraction), extraction.options.git.max_commits
    if span is None or not limit or not _list_head(repository):
        return
    commits: list[dict[str, Any]] = list(facts.get("git_commits", ()))
    known = tuple(fact["hash"] for fact in commits if fact["hash"])
    made = [name for name, _ in find_commits(repository, span) if not name.startswith(known)]
    if not made and not extraction.left_commits:
        return
    on_branch = {name: subject for name, _, subject in reversed(_read_log(repository, extraction.started))}
    left = [name for name in on_branch if name.startswith(extraction.left_commits) and not name.startswith(known)]
    for found, new in (("left", left), ("git", [name for name in made if name in on_branch and name not in left])):
        origin = {"verified": True, "on_branch": True, "found": found}
        commits += [{"hash": name[:12], "message": on_branch[name], **origin} for name in new]
        if new and _wants_changed_files(extraction):
            add_found_files(facts, list_committed_files(repository, new), found)
    if len(commits) > len(facts.get("git_commits", ())):
        facts["git_commits"] = sorted(commits, key=lambda fact: _find_index([*on_branch], fact))[-limit:]


def _find_index(oldest_first: list[str], fact: dict[str, Any]) -> int:
    """Return the index of a fact's commit in this list of ids; -1 if the list does not contain it."""
    indexes = (index for index, name in enumerate(oldest_first) if fact["hash"] and name.startswith(fact["hash"]))
    return next(indexes, -1)


def _check_commits(repository: SessionRepository, extraction: Extraction, now: datetime) -> list[dict[str, Any]]:
    """Return the commit facts, checked against the repository; facts without an id are matched by time and subject."""
    facts = [dict(commit) for commit in extraction.facts["git_commits"]]
    known = find_subjects(repository, [fact["hash"] for fact in facts if fact["hash"]])
    for fact in facts:
        if fact["hash"]:
            subject = known.get(fact["hash"])
            fact["verified"] = subject is not None
            fact["message"] = fact["message"] or subject or ""
    log = _read_log(repository, extraction.started)
    without_hash = [pair for pair in zip(facts, extraction.commits, strict=True) if not pair[0]["hash"]]
    if without_hash:
        facts = _match_without_hash(log, facts, without_hash, now)
    if len(log) < _LOG_LENGTH:
        for fact in facts:
            if fact["verified"]:
                fact["on_branch"] = any(name.startswith(fact["hash"]) for name, _, _ in log)
    if extraction.options.git.include_diff_stats:
        for fact in facts:
            if fact["verified"]:
                stat = repository.run_git("show", "--stat", "--format=", "--no-ext-diff", fact["hash"])
                fact["stat"] = keep_whole_lines(stat.strip("\n"), MAX_STAT)
    return facts


def find_subjects(repository: SessionRepository, hashes: list[str]) -> dict[str, str]:
    """Return the subjects of those commits that exist, by id (shortened as in `hashes`)."""
    if not hashes:
        return {}
    lines = repository.run_git(
        "cat-file", "--batch-check=%(objectname) %(objecttype)", stdin="\n".join(hashes)
    ).splitlines()
    ids = {hash_: line.split(" ")[0] for hash_, line in zip(hashes, lines, strict=True) if line.endswith(" commit")}
    if not ids:
        return {}
    output = repository.run_git(
        "log", "--no-walk=unsorted", "--stdin", "--format=%H%x00%s", stdin="\n".join(ids.values())
    )
    subjects = dict(line.split("\0", 1) for line in output.splitlines() if "\0" in line)
    return {hash_: subjects.get(full, "") for hash_, full in ids.items()}


def _match_without_hash(
    log: list[tuple[str, int, str]],
    facts: list[dict[str, Any]],
    without_hash: list[tuple[dict[str, Any], dict[str, Any]]],
    now: datetime,
) -> list[dict[str, Any]]:
    """Return the commit facts, with the ids that were found for those without one.

    A fact of a command that has no result yet is left out if no commit matches it.
    """
    taken = [fact["hash"] for fact in facts if fact["hash"]]
    lost = []
    for fact, more in without_hash:
        free = [entry for entry in log if not any(entry[0].startswith(hash_) for hash_ in taken)]
        match = _find_match(fact, more, free, now)
        if match is not None:
            fact |= {"hash": match[0][:12], "message": match[2], "verified": True}
            taken.append(match[0][:12])
        elif more.get("pending"):
            lost.append(fact)
        else:
            fact["verified"] = False
    return [fact for fact in facts if not any(fact is dropped for dropped in lost)]


def _read_log(repository: SessionRepository, started: str | None) -> list[tuple[str, int, str]]:
    """Return id, time in seconds since 1970 and subject of the commits since the session started, newest first."""
    began = parse_time_or_none(started) if started else None
    since = [f"--since={max(0, int(shift(began, -_AROUND).timestamp()))}"] if began else []
    output = repository.run_git(
        "log", "--format=%H%x00%ct%x00%s", f"--max-count={_LOG_LENGTH}", *since,
        "--exclude=baton/*", "--branches", *_list_head(repository),
    )  # fmt: skip
    parts = (line.split("\0", 2) for line in output.splitlines() if line.count("\0") >= 2)
    return [(name, int(time), subject) for name, time, subject in parts]


def _list_head(repository: SessionRepository) -> Iterable[str]:
    try:
        repository.run_git("rev-parse", "--verify", "--quiet", "HEAD")
    except GitUnavailable:
        return ()  # no commit yet
    return ("HEAD",)


def _find_match(
    fact: dict[str, Any], more: dict[str, Any], log: list[tuple[str, int, str]], now: datetime
) -> tuple[str, int, str] | None:
    """Return the log entry that a command made: matched by subject and time, or the only one in its time span."""
    begin = parse_time_or_none(fact["source"].get("time") or "")
    end = parse_time_or_none(more.get("until") or "") or now
    if begin is None:
        return None
    around = _AROUND if fact["message"] else timedelta(seconds=2)
    first, last = shift(begin, -around).timestamp(), shift(end, around).timestamp()
    near = [entry for entry in log if first <= entry[1] <= last and fact["message"] in ("", entry[2])]
    return near[-1] if fact["message"] and near else (near[0] if len(near) == 1 and not more.get("pending") else None)
