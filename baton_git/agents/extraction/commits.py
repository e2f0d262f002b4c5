"""Find the commits that a shell command made, from the command and from git's output.

Of 241 calls with `git commit` in 650 real transcripts, 210 show git's own line (`[branch hash] subject`), 13 failed, 17
contain the words only as text, and one was quiet. 17 of the 210 ran in a scratch repository that the command itself had
created; such commits are not part of the session's work.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from baton_git.agents.events import ReportedCommit, ToolResult
from baton_git.agents.extraction.findings import Findings, Table
from baton_git.agents.extraction.shell import ParsedScript, SimpleCommand, join_folder, parse_script
from baton_git.agents.tool_use import ToolOutcome

_LINE = re.compile(r"^\[(?:[^\]\s]+(?: \(root-commit\))?|detached HEAD) ([0-9a-f]{7,64})\] (.*?)\r?$", re.MULTILINE)
_HASH = re.compile(r"^([0-9a-f]{7,64})\r?$", re.MULTILINE)
_LOGGED = re.compile(r"^(?:\* )?([0-9a-f]{7,64}) (?:\([^)\n]*\) )?(.*?)\r?$", re.MULTILINE)
_REFUSED = re.compile(
    r"nothing (?:added )?to commit|no changes added to commit|^(?:error|fatal): |^Aborting commit", re.MULTILINE
)
_CHANGED = re.compile(r"^ \d+ files? changed", re.MULTILINE)
_WITH_VALUE = ("-c", "--namespace", "--super-prefix", "--config-env", "--attr-source")
_COMMITTING = ("commit", "cherry-pick", "revert")
_CREATING = ("init", "clone")


class CommitCommand(NamedTuple):
    """A command that makes a commit.

    Attributes:
        folder: the working directory; None when unknown.
        subject: the commit's subject, if the command names it.
        is_quiet: git's output was suppressed.
        amends: the commit replaces the one before it.
    """

    folder: str | None
    subject: str | None = None
    is_quiet: bool = False
    amends: bool = False


class GitWork(NamedTuple):
    """The commands of a shell script that make commits, and the folders in which it creates repositories."""

    commit_commands: tuple[CommitCommand, ...] = ()
    repositories: tuple[str | None, ...] = ()

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> GitWork:
        """Restore the work from the plain data that is stored until the call's result arrives."""
        commit_commands = tuple(CommitCommand(*commit_command) for commit_command in data.get("makings", ()))
        return cls(commit_commands, tuple(data.get("repositories", ())))

    @property
    def creates_repository(self) -> bool:
        """Whether the command creates a repository of its own."""
        return bool(self.repositories)


class MadeCommit(NamedTuple):
    """A commit that a command made; `hash` is empty when the transcript does not show it."""

    hash: str
    subject: str
    commit_command: CommitCommand


def find_git_work(command: str, folder: str | None) -> GitWork:
    """Return the commits and repositories that the shell script `command` makes when it runs in `folder`."""
    if "git" not in command or not any(word in command for word in (*_COMMITTING, *_CREATING, "mktemp")):
        return GitWork()
    script = parse_script(command, folder)
    commit_commands: list[CommitCommand] = []
    repositories: list[str | None] = []
    for command_ in script.commands:
        if command_.words[0].rpartition("/")[2] == "git":
            verb, rest, git_folder = parse_git_words(command_)
            if verb in _COMMITTING and not {"--dry-run", "--abort", "--quit", "-n" if verb != "commit" else ""} & set(
                rest
            ):
                commit_commands.append(_parse_commit_command(script, rest, git_folder))
            elif verb in _CREATING:
                repositories.append(_find_new_repository(rest, git_folder))
    if "mktemp" in command and any(commit_command.folder is None for commit_command in commit_commands):
        repositories.append(None)
    return GitWork(tuple(commit_commands), tuple(repositories))


def parse_git_words(command: SimpleCommand) -> tuple[str, tuple[str, ...], str | None]:
    """Return git's subcommand, its arguments, and the folder in which it works, or None if that is unknown."""
    words, folder, at = command.words, command.folder, 1
    while at < len(words) and words[at].startswith("-"):
        name, _, value = words[at].partition("=")
        if name in ("-C", "--work-tree", "--git-dir") and (value or at + 1 < len(words)):
            path = value or words[at + 1]
            folder = join_folder(folder, posixpath.dirname(path) or "." if name == "--git-dir" else path)
            at += 0 if value else 1
        elif name in _WITH_VALUE and not value:
            at += 1
        at += 1
    return (words[at] if at < len(words) else ""), words[at + 1 :], folder


def _find_new_repository(rest: tuple[str, ...], folder: str | None) -> str | None:
    paths = [word for word in rest if not word.startswith("-") and "://" not in word]
    return join_folder(folder, paths[-1]) if paths else folder


def _parse_commit_command(script: ParsedScript, rest: tuple[str, ...], folder: str | None) -> CommitCommand:
    quiet, amends, subject = False, False, None
    for at, word in enumerate(rest):
        following = rest[at + 1] if at + 1 < len(rest) else ""
        cluster = re.fullmatch(r"-([a-zA-Z]*?)([mF])(.*)", word, re.DOTALL) if not word.startswith("--") else None
        if cluster:
            quiet = quiet or "q" in cluster[1]
            message = cluster[3] or following
            subject = (
                subject if subject is not None else _find_subject(script, message, is_file=cluster[2] == "F", rest=rest)
            )
        elif word.startswith("--message"):
            subject = _find_subject(script, word.partition("=")[2] or following) if subject is None else subject
        elif word in ("--amend", "--quiet") or re.fullmatch(r"-[a-z]*q[a-z]*", word):
            amends, quiet = amends or word == "--amend", quiet or word != "--amend"
        elif re.fullmatch(r"(?:1|&)?>(?:/dev/null)?", word) and (word.endswith("null") or following == "/dev/null"):
            quiet = True
    return CommitCommand(folder, subject, quiet, amends)


def _find_subject(
    script: ParsedScript, message: str, *, is_file: bool = False, rest: tuple[str, ...] = ()
) -> str | None:
    """Return the first line of a commit message; None when the message is in a file or computed by the shell."""
    if is_file:
        message = next((word for word in rest if script.text(word) != word), "") if message == "-" else ""
    text = script.text(message)
    if not text.strip() or (text == message and "$(" in text):
        return None
    return text.strip().split("\n")[0].strip()


# --- git's output


def find_made_commits(work: GitWork, output: str) -> tuple[MadeCommit, ...]:
    """Return the commits that a successful command made according to its output, in order."""
    lines = [(match[1], match[2]) for match in _LINE.finditer(output)]
    if not work.commit_commands:
        return ()
    refused = bool(_REFUSED.search(output))
    made: list[MadeCommit | None] = [_match_line(commit_command, lines) for commit_command in work.commit_commands]
    for at, commit_command in enumerate(work.commit_commands):
        if made[at] is None and (commit_command.is_quiet or (_CHANGED.search(output) and not lines)) and not refused:
            made[at] = MadeCommit(
                _find_printed_hash(commit_command, output, made), commit_command.subject or "", commit_command
            )
    rest = [MadeCommit(hash_, subject, work.commit_commands[-1]) for hash_, subject in lines]
    return tuple(commit for commit in (*made, *rest) if commit is not None)


def _match_line(commit_command: CommitCommand, lines: list[tuple[str, str]]) -> MadeCommit | None:
    """Return the commit that git's own line for a command describes, and remove the line; None without a line."""
    if commit_command.is_quiet or not lines:
        return None
    at = next((at for at, (_, subject) in enumerate(lines) if subject == commit_command.subject), 0)
    return MadeCommit(*lines.pop(at), commit_command)


def _find_printed_hash(commit_command: CommitCommand, output: str, others: list[MadeCommit | None]) -> str:
    """Return the id of a quiet commit if the script printed it, with `git log` for example; else an empty text."""
    known = {commit.hash for commit in others if commit}
    logged = (
        match[1] for match in _LOGGED.finditer(output) if commit_command.subject and match[2] == commit_command.subject
    )
    alone = (match[1] for match in _HASH.finditer(output))
    return next((hash_ for hash_ in (*logged, *alone) if hash_ not in known), "")


def is_elsewhere(work: GitWork, commit_command: CommitCommand, home: str | None, created_folders: list[str]) -> bool:
    """Whether a command committed in a repository other than the session's.

    Args:
        home: the session's folder; None when unknown.
        created_folders: folders in which the session created repositories.
    """
    folder = commit_command.folder
    if any(_is_in(folder, folder_) for folder_ in created_folders if folder_ != home):
        return True
    if folder is None or home is None:
        return work.creates_repository or (folder is not None and _is_temporary(folder) and home is not None)
    if folder == home:
        return False
    is_near = _is_in(folder, home) or (_is_in(home, folder) and folder.count("/") > 1)
    return work.creates_repository or not is_near


def _is_in(folder: str | None, parent: str) -> bool:
    return folder is not None and (folder == parent or folder.startswith(parent.rstrip("/") + "/"))


def _is_temporary(folder: str) -> bool:
    return any(_is_in(folder, parent) for parent in ("/tmp", "/var/tmp", "/private/tmp"))  # noqa: S108  only compared


# --- the commits of a session


def add_git_work(known: Findings, waiting: Table, event: ToolResult, outcome: ToolOutcome) -> None:
    """Record a command's commits, and the folders of the repositories that it created."""
    work = GitWork.from_data(waiting)
    if not outcome.failed:
        known.tries += [
            folder for folder in work.repositories if folder and folder not in known.tries and folder != known.home
        ]
    made = find_made_commits(work, event.text) if not outcome.failed else _find_despite_failure(work, event.text)
    known.last_shell = {"id": event.id, "waiting": waiting}
    for commit in made:
        if not is_elsewhere(work, commit.commit_command, known.home, known.tries):
            _add_commit(known, commit, waiting, event)


def _add_commit(known: Findings, made: MadeCommit, waiting: Table, event: Any) -> None:
    if made.commit_command.amends and known.commits:
        known.commits.pop()
    if made.hash and any(commit["hash"] and _is_same_commit(commit["hash"], made.hash) for commit in known.commits):
        return
    known.commits.append(
        {
            "hash": made.hash, "message": made.subject, "mark": waiting["mark"], "until": event.time,
            "call": event.id, "folder": made.commit_command.folder,
        }
    )  # fmt: skip


def add_reported_commit(known: Findings, event: ReportedCommit) -> None:
    """Record a commit that the agent itself reports for the command that has just ended."""
    last = known.last_shell
    own = [commit for commit in known.commits if commit["call"] == event.id]
    if (
        any(_is_same_commit(commit["hash"], event.sha) for commit in own if commit["hash"])
        or last.get("id") != event.id
    ):
        return
    without_hash = next((commit for commit in own if not commit["hash"]), None)
    if without_hash is not None:
        without_hash["hash"] = event.sha
        return
    work = GitWork.from_data(last["waiting"])
    commit_command = work.commit_commands[-1] if work.commit_commands else CommitCommand(known.cwd)
    if not own and not is_elsewhere(work, commit_command, known.home, known.tries):
        amends = commit_command._replace(amends=event.kind == "amended")
        _add_commit(known, MadeCommit(event.sha, commit_command.subject or "", amends), last["waiting"], event)


def _find_despite_failure(work: GitWork, output: str) -> tuple[MadeCommit, ...]:
    """Return the commits that a failed command made before it failed, as git's own lines prove."""
    loud = work._replace(
        commit_commands=tuple(commit_command._replace(is_quiet=False) for commit_command in work.commit_commands)
    )
    return tuple(commit for commit in find_made_commits(loud, output) if commit.hash and f" {commit.hash}] " in output)


def _is_same_commit(left: str, right: str) -> bool:
    return left.startswith(right) or right.startswith(left)
