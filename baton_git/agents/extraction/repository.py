"""Complete a session's facts from its repository: uncommitted changes, and which of the session's commits exist.

Here git only reads: it does not refresh the index or start a file-system monitor, and it runs without the environment
variables that tie a hook's git to another repository. Facts that cannot be determined are listed under `unknown`, with
the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from baton_git.agents.extraction.extracting import Extraction
from baton_git.agents.extraction.git_findings import (
    add_found_files,
    find_commits,
    find_span,
    list_committed_files,
    list_written_files,
)
from baton_git.core.output import count_noun
from baton_git.core.times import parse_time_or_none, shift
from baton_git.git.session_repository import GitUnavailable, SessionRepository

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
    return next((path for path in named if path.is_dir()), named[0])


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
    new = [
        (name, subject) for name, subject in find_commits(repository, span)
        if not any(fact["hash"] and name.startswith(fact["hash"]) for fact in commits)
    ]  # fmt: skip
    if new:
        on_branch = [name for name, _, _ in reversed(_read_log(repository, extraction.started))]
        new = [(name, subject) for name, subject in new if name in on_branch]
    if new:
        origin = {"verified": True, "on_branch": True, "found": "git"}
        commits += [{"hash": name[:12], "message": subject, **origin} for name, subject in new]
        facts["git_commits"] = sorted(commits, key=lambda fact: _find_index(on_branch, fact))[-limit:]
        if _wants_changed_files(extraction):
            add_found_files(facts, list_committed_files(repository, [name for name, _ in new]))


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
