"""What the repository of a session says: what is not committed, and which of its commits are really there.

git is only asked, never let write: no index is refreshed, no monitor started, and none of the variables that bind a
hook's git to another repository reach it. What cannot be found out is said, with the reason.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from baton_git.agents.extraction.extracting import Extraction
from baton_git.core.times import parse_time_or_none

TIMEOUT = 5.0
"""Seconds that git may take for one answer."""
MAX_STATUS = 8192
MAX_STAT = 4096
"""Bytes that are kept of a status, and of what one commit changed."""
_AROUND = timedelta(seconds=60)
"""How far the clock of a transcript and the repository's may be apart."""
_LOG_LENGTH = 1000

_BINDING = re.compile(
    r"GIT_(?:DIR|WORK_TREE|COMMON_DIR|INDEX_FILE|INDEX_VERSION|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|NAMESPACE"
    r"|PREFIX|GRAFT_FILE|SHALLOW_FILE|QUARANTINE_PATH|REFLOG_ACTION|IMPLICIT_WORK_TREE|INTERNAL_\w+|REPLACE_REF_BASE"
    r"|NO_REPLACE_OBJECTS|CONFIG|TRACE\w*|EXTERNAL_DIFF|PUSH_OPTION_\w+)\Z"
)
_QUIET = {
    "LC_ALL": "C",
    "LANGUAGE": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "BATON_HOOK": "1",
}
_ALWAYS = ("--no-optional-locks", "--no-pager", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false")


class GitUnavailable(Exception):
    """Why git could not be asked."""


@dataclass(frozen=True)
class SessionRepository:
    """A folder and the environment that git sees there."""

    folder: Path
    environment: Mapping[str, str]

    def run_git(self, *arguments: str, given: str = "") -> str:
        """What git prints. Raises Unanswered when it does not start, fails, or takes too long."""
        environment = {name: text for name, text in self.environment.items() if not _BINDING.match(name)} | _QUIET
        try:
            done = subprocess.run(  # noqa: S603  the arguments are ours
                ["git", *_ALWAYS, *arguments],  # noqa: S607  the user's git is meant
                cwd=self.folder, env=environment, input=given.encode("utf-8", "replace"), capture_output=True,
                timeout=TIMEOUT, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise GitUnavailable(f"git {arguments[0]} gave no answer within {TIMEOUT:g} seconds") from None
        except OSError as error:
            if not self.folder.is_dir():
                raise GitUnavailable(f"the folder {self.folder} is gone") from None
            raise GitUnavailable(f"the git program does not start: {error.strerror}") from None
        if done.returncode != 0:
            lines = done.stderr.decode("utf-8", "replace").strip().splitlines() or [f"exit status {done.returncode}"]
            raise GitUnavailable(f"git {arguments[0]}: {lines[0][:200]}")
        return done.stdout.decode("utf-8", "replace")


def with_git(extraction: Extraction, now: datetime, environment: Mapping[str, str], folder: Path | None) -> Extraction:
    """The extraction with what its repository says.

    Args:
        folder: where the session works; None: where its transcript says.
    """
    options, facts = extraction.options, {**extraction.facts, "unknown": dict(extraction.facts.get("unknown", {}))}
    wanted = [name for name in ("git_status", "git_commits") if getattr(options.extract, name)]
    if options.extract.git_commits and not facts.get("git_commits"):
        wanted.remove("git_commits")
    for name in wanted:
        try:
            asked = SessionRepository(_place(extraction, folder), environment)
            facts[name] = _status(asked) if name == "git_status" else _commits(asked, extraction, now)
        except GitUnavailable as error:
            facts["unknown"][name] = str(error)
    return replace(extraction, facts=facts)


def _place(extraction: Extraction, folder: Path | None) -> Path:
    """Where the session began to work, or where it went when that is gone. Raises Unanswered when nothing tells."""
    named = [Path(path) for path in (folder, extraction.home, extraction.cwd) if path and Path(path).is_absolute()]
    if not named:
        raise GitUnavailable("nothing says in which folder the session worked")
    return next((path for path in named if path.is_dir()), named[0])


def _status(repository: SessionRepository) -> str:
    return keep_whole_lines(repository.run_git("status", "--short"), MAX_STATUS)


def keep_whole_lines(text: str, most: int) -> str:
    """As many whole lines as fit into `most` bytes, and how many were left out."""
    lines = text.rstrip("\n").split("\n")
    kept: list[str] = []
    for line in lines:
        most -= len(line.encode("utf-8", "replace")) + 1
        if most < 0:
            return "\n".join([*kept, f"… and {len(lines) - len(kept)} more lines"])
        kept.append(line)
    return "\n".join(kept)


# --- commits


def _commits(repository: SessionRepository, extraction: Extraction, now: datetime) -> list[dict[str, Any]]:
    """The commits as the repository knows them; those without an id are looked for by time and subject."""
    facts = [dict(commit) for commit in extraction.facts["git_commits"]]
    known = find_subjects(repository, [fact["hash"] for fact in facts if fact["hash"]])
    for fact in facts:
        if fact["hash"]:
            subject = known.get(fact["hash"])
            fact["verified"] = subject is not None
            fact["message"] = fact["message"] or subject or ""
    log = _log(repository, extraction.started)
    nameless = [pair for pair in zip(facts, extraction.commits, strict=True) if not pair[0]["hash"]]
    if nameless:
        facts = _match_nameless(log, facts, nameless, now)
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
    """By id as it was given, the subjects of the commits that are there."""
    if not hashes:
        return {}
    lines = repository.run_git(
        "cat-file", "--batch-check=%(objectname) %(objecttype)", given="\n".join(hashes)
    ).splitlines()
    ids = {given: line.split(" ")[0] for given, line in zip(hashes, lines, strict=True) if line.endswith(" commit")}
    if not ids:
        return {}
    output = repository.run_git(
        "log", "--no-walk=unsorted", "--stdin", "--format=%H%x00%s", given="\n".join(ids.values())
    )
    subjects = dict(line.split("\0", 1) for line in output.splitlines() if "\0" in line)
    return {given: subjects.get(full, "") for given, full in ids.items()}


def _match_nameless(
    log: list[tuple[str, int, str]],
    facts: list[dict[str, Any]],
    nameless: list[tuple[dict[str, Any], dict[str, Any]]],
    now: datetime,
) -> list[dict[str, Any]]:
    """The commits with the ids that were found; a command without a result of which nothing is found made none."""
    taken = [fact["hash"] for fact in facts if fact["hash"]]
    lost = []
    for fact, more in nameless:
        free = [entry for entry in log if not any(entry[0].startswith(hash_) for hash_ in taken)]
        match = _match(fact, more, free, now)
        if match is not None:
            fact |= {"hash": match[0][:12], "message": match[2], "verified": True}
            taken.append(match[0][:12])
        elif more.get("pending"):
            lost.append(fact)
        else:
            fact["verified"] = False
    return [fact for fact in facts if not any(fact is dropped for dropped in lost)]


def _log(repository: SessionRepository, started: str | None) -> list[tuple[str, int, str]]:
    """Id, time in seconds, and subject of the commits since the session began."""
    began = parse_time_or_none(started) if started else None
    since = [f"--since={int((began - _AROUND).timestamp())}"] if began else []
    output = repository.run_git(
        "log", "--format=%H%x00%ct%x00%s", f"--max-count={_LOG_LENGTH}", *since,
        "--exclude=baton/*", "--branches", *_head(repository),
    )  # fmt: skip
    parts = (line.split("\0", 2) for line in output.splitlines() if line.count("\0") >= 2)
    return [(name, int(time), subject) for name, time, subject in parts]


def _head(repository: SessionRepository) -> Iterable[str]:
    try:
        repository.run_git("rev-parse", "--verify", "--quiet", "HEAD")
    except GitUnavailable:
        return ()  # no commit yet
    return ("HEAD",)


def _match(
    fact: dict[str, Any], more: dict[str, Any], log: list[tuple[str, int, str]], now: datetime
) -> tuple[str, int, str] | None:
    """The commit that a command made: of its subject and time; without a subject, the only one of its time."""
    begin = parse_time_or_none(fact["source"].get("time") or "")
    end = parse_time_or_none(more.get("until") or "") or now
    if begin is None:
        return None
    around = _AROUND if fact["message"] else timedelta(seconds=2)
    first, last = (begin - around).timestamp(), (end + around).timestamp()
    near = [entry for entry in log if first <= entry[1] <= last and fact["message"] in ("", entry[2])]
    return near[-1] if fact["message"] and near else (near[0] if len(near) == 1 and not more.get("pending") else None)
