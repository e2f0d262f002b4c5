"""Find the commits that a shell command made, from the command and from git's output.

Of 241 calls with `git commit` in 650 real transcripts, 210 show git's own line (`[branch hash] subject`), 13 failed,
17 only mention the words, and one was quiet. 17 of the 210 ran in a scratch repository that the command had created;
those commits do not belong to the session's work.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from baton_git.agents.extraction.shell import ParsedScript, SimpleCommand, join_folder, parse_script

_LINE = re.compile(r"^\[(?:[^\]\s]+(?: \(root-commit\))?|detached HEAD) ([0-9a-f]{7,64})\] (.*?)\r?$", re.MULTILINE)
_HASH = re.compile(r"^([0-9a-f]{7,64})\r?$", re.MULTILINE)
_LOGGED = re.compile(r"^(?:\* )?([0-9a-f]{7,64}) (?:\([^)\n]*\) )?(.*?)\r?$", re.MULTILINE)
_REFUSED = re.compile(
    r"nothing (?:added )?to commit|no changes added to commit|^(?:error|fatal): |^Aborting commit", re.MULTILINE
)
_CHANGED = re.compile(r"^ \d+ files? changed", re.MULTILINE)
_WITH_VALUE = ("-c", "--namespace", "--super-prefix", "--config-env", "--attr-source")
_MAKES = ("commit", "cherry-pick", "revert")
_MAKES_REPOSITORY = ("init", "clone")


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
    """The commits and repositories that a shell command makes."""

    makings: tuple[CommitCommand, ...] = ()
    repositories: tuple[str | None, ...] = ()

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> GitWork:
        """Restore the work from the plain data that is stored until the call's result arrives."""
        makings = tuple(CommitCommand(*making) for making in data.get("makings", ()))
        return cls(makings, tuple(data.get("repositories", ())))

    @property
    def is_try(self) -> bool:
        """Whether the command creates a repository of its own."""
        return bool(self.repositories)


class MadeCommit(NamedTuple):
    """A commit that was made; `hash` is empty when the transcript does not show it."""

    hash: str
    subject: str
    making: CommitCommand


def find_git_work(command: str, folder: str | None) -> GitWork:
    """Return what `command` does with git when started in `folder`."""
    if "git" not in command or not any(word in command for word in (*_MAKES, *_MAKES_REPOSITORY, "mktemp")):
        return GitWork()
    read = parse_script(command, folder)
    makings: list[CommitCommand] = []
    repositories: list[str | None] = []
    for command_ in read.commands:
        if command_.words[0].rpartition("/")[2] == "git":
            verb, rest, where = _git(command_)
            if verb in _MAKES and not {"--dry-run", "--abort", "--quit", "-n" if verb != "commit" else ""} & set(rest):
                makings.append(_parse_commit_command(read, rest, where))
            elif verb in _MAKES_REPOSITORY:
                repositories.append(_repository(rest, where))
    if "mktemp" in command and any(making.folder is None for making in makings):
        repositories.append(None)
    return GitWork(tuple(makings), tuple(repositories))


def _git(command: SimpleCommand) -> tuple[str, tuple[str, ...], str | None]:
    """Return git's subcommand, its arguments, and the directory it works in."""
    words, folder, at = command.words, command.folder, 1
    while at < len(words) and words[at].startswith("-"):
        name, _, value = words[at].partition("=")
        if name in ("-C", "--work-tree", "--git-dir") and (value or at + 1 < len(words)):
            place = value or words[at + 1]
            folder = join_folder(folder, posixpath.dirname(place) or "." if name == "--git-dir" else place)
            at += 0 if value else 1
        elif name in _WITH_VALUE and not value:
            at += 1
        at += 1
    return (words[at] if at < len(words) else ""), words[at + 1 :], folder


def _repository(rest: tuple[str, ...], folder: str | None) -> str | None:
    places = [word for word in rest if not word.startswith("-") and "://" not in word]
    return join_folder(folder, places[-1]) if places else folder


def _parse_commit_command(read: ParsedScript, rest: tuple[str, ...], folder: str | None) -> CommitCommand:
    quiet, amends, subject = False, False, None
    for at, word in enumerate(rest):
        following = rest[at + 1] if at + 1 < len(rest) else ""
        cluster = re.fullmatch(r"-([a-zA-Z]*?)([mF])(.*)", word, re.DOTALL) if not word.startswith("--") else None
        if cluster:
            quiet = quiet or "q" in cluster[1]
            message = cluster[3] or following
            subject = subject if subject is not None else _subject(read, message, is_file=cluster[2] == "F", rest=rest)
        elif word.startswith("--message"):
            subject = _subject(read, word.partition("=")[2] or following) if subject is None else subject
        elif word in ("--amend", "--quiet") or re.fullmatch(r"-[a-z]*q[a-z]*", word):
            amends, quiet = amends or word == "--amend", quiet or word != "--amend"
        elif re.fullmatch(r"(?:1|&)?>(?:/dev/null)?", word) and (word.endswith("null") or following == "/dev/null"):
            quiet = True
    return CommitCommand(folder, subject, quiet, amends)


def _subject(read: ParsedScript, message: str, *, is_file: bool = False, rest: tuple[str, ...] = ()) -> str | None:
    """Return the first line of a commit message; None when it is in a file or computed by the shell."""
    if is_file:
        message = next((word for word in rest if read.text(word) != word), "") if message == "-" else ""
    text = read.text(message)
    if not text.strip() or (text == message and "$(" in text):
        return None
    return text.strip().split("\n")[0].strip()


# --- git's output


def find_made_commits(work: GitWork, output: str) -> tuple[MadeCommit, ...]:
    """Return the commits that a successful command made, in order, judging by its output."""
    lines = [(match[1], match[2]) for match in _LINE.finditer(output)]
    if not work.makings:
        return ()
    refused = bool(_REFUSED.search(output))
    made: list[MadeCommit | None] = [_match_line(making, lines) for making in work.makings]
    for at, making in enumerate(work.makings):
        if made[at] is None and (making.is_quiet or (_CHANGED.search(output) and not lines)) and not refused:
            made[at] = MadeCommit(_printed_hash(making, output, made), making.subject or "", making)
    rest = [MadeCommit(hash_, subject, work.makings[-1]) for hash_, subject in lines]
    return tuple(commit for commit in (*made, *rest) if commit is not None)


def _match_line(making: CommitCommand, lines: list[tuple[str, str]]) -> MadeCommit | None:
    """Return the commit that git's own line describes, and remove the line from `lines`."""
    if making.is_quiet or not lines:
        return None
    at = next((at for at, (_, subject) in enumerate(lines) if subject == making.subject), 0)
    return MadeCommit(*lines.pop(at), making)


def _printed_hash(making: CommitCommand, output: str, others: list[MadeCommit | None]) -> str:
    """Return the id that the command line printed after a quiet commit; empty if it printed none."""
    known = {commit.hash for commit in others if commit}
    logged = (match[1] for match in _LOGGED.finditer(output) if making.subject and match[2] == making.subject)
    alone = (match[1] for match in _HASH.finditer(output))
    return next((hash_ for hash_ in (*logged, *alone) if hash_ not in known), "")


def is_elsewhere(work: GitWork, making: CommitCommand, home: str | None, tries: list[str]) -> bool:
    """Whether a commit was made in another repository than the session's.

    Args:
        home: the session's folder; None when unknown.
        tries: folders in which the session created repositories.
    """
    folder = making.folder
    if any(_is_in(folder, folder_) for folder_ in tries if folder_ != home):
        return True
    if folder is None or home is None:
        return work.is_try or (folder is not None and _is_temporary(folder) and home is not None)
    if folder == home:
        return False
    is_near = _is_in(folder, home) or (_is_in(home, folder) and folder.count("/") > 1)
    return work.is_try or not is_near


def _is_in(folder: str | None, parent: str) -> bool:
    return folder is not None and (folder == parent or folder.startswith(parent.rstrip("/") + "/"))


def _is_temporary(folder: str) -> bool:
    return any(_is_in(folder, parent) for parent in ("/tmp", "/var/tmp", "/private/tmp"))  # noqa: S108  only compared
