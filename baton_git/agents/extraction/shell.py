"""What the shell commands of a session did: the files they removed, and the commits they made.

A command line is parsed into its simple commands and their working directories, without running it. This covers enough
of the grammar to distinguish a command from text that mentions it: quotes, heredocs, `$(…)`, comments, lists and
subshells. A folder that depends on a variable is unknown.
"""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_left
from collections.abc import Generator, Iterator, Mapping
from typing import Any, NamedTuple

from baton_git.agents.events import ReportedCommit, ToolResult
from baton_git.agents.extraction.findings import Findings, Table
from baton_git.agents.transcripts import ToolOutcome

MAX_LENGTH = 65536
"""Maximum number of characters that are parsed."""
_DEPTH = 5

_HEREDOC = re.compile(r"<<-?[ \t]*(?:'([^'\n]+)'|\"([^\"\n]+)\"|\\?([A-Za-z_][A-Za-z0-9_]*))")
_BODY = re.compile("\0([0-9]+)\0")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_PREFIXES = ("sudo", "command", "env", "time", "nohup", "exec", "then", "do", "else", "!", "if", "while", "{")
_SHELLS = ("sh", "bash", "zsh", "dash")
_MAY_REMOVE = re.compile(r"\b(?:rm|mv|unlink|git)\b")
_RESTORING = frozenset(("checkout", "restore", "reset", "stash", "switch", "revert", "pull", "merge", "rebase", "am"))
_CONDITION = re.compile(r"\|\||\b(?:if|for|while|until|case)\b")
_UNCERTAIN = re.compile(r"[?\[\]{}<>\0]")
_SHOW_TOPLEVEL = re.compile(r"\$\(\s*git rev-parse --show-toplevel\s*\)")


class SimpleCommand(NamedTuple):
    """A command: its words without quotes, and the folder in which it runs (None when unknown)."""

    words: tuple[str, ...]
    folder: str | None


class Removals(NamedTuple):
    """The absolute paths of the files that a script removes or renames, and whether git may bring files back in it."""

    paths: tuple[str, ...] = ()
    restores: bool = False


class ParsedScript(NamedTuple):
    """The commands of a command line in order, and the bodies of its heredocs."""

    commands: tuple[SimpleCommand, ...]
    bodies: tuple[str, ...] = ()

    def text(self, word: str) -> str:
        """Return the heredoc that a word stands for, or the word itself."""
        match = _BODY.search(word)
        return self.bodies[int(match[1])] if match and int(match[1]) < len(self.bodies) else word


def parse_script(line: str, folder: str | None) -> ParsedScript:
    """Return the commands of `line` when it runs in `folder`."""
    text, bodies = _replace_heredocs(line[:MAX_LENGTH].replace("\0", ""))
    return ParsedScript(tuple(_parse_commands(text, folder, _DEPTH)), tuple(bodies))


def find_removals(line: str, folder: str | None) -> Removals:
    """Return the files that are gone after `line` has succeeded in `folder`.

    A command whose words decide whether it runs (`||`, `if`), and a path that the shell completes, tell nothing. Nor
    does a path that a later command names, which may write it anew.
    """
    if not _MAY_REMOVE.search(line):
        return Removals()
    commands = parse_script(line, folder).commands
    restores = any(command.words[:1] == ("git",) and not _RESTORING.isdisjoint(command.words) for command in commands)
    if restores or _CONDITION.search(line):
        return Removals((), restores)
    removed: list[str] = []
    for at, command in enumerate(commands):
        later = [word for other in commands[at + 1 :] if other.words[:1] != ("git",) for word in other.words]
        names = [name for name in _list_removed(command.words) if not any(name in word for word in later)]
        paths = (None if _UNCERTAIN.search(name) else join_folder(command.folder, name) for name in names)
        removed += [path for path in paths if path is not None]
    return Removals(tuple(removed))


def _list_removed(words: tuple[str, ...]) -> list[str]:
    """Return the paths that a command removes; of `mv`, only with one source and no option."""
    own = words[1:] if words[:1] == ("git",) else words
    if not own or own[0] not in ("rm", "mv", "unlink") or "--cached" in own:
        return []
    names = [word for word in own[1:] if not word.startswith("-")]
    if own[0] == "mv":
        return names[:1] if len(own) == 3 else []
    return names


def join_folder(folder: str | None, path: str) -> str | None:
    """Return the folder to which `cd path` leads from `folder`; None when unknown."""
    if _SHOW_TOPLEVEL.fullmatch(path):
        return folder
    if any(mark in path for mark in "$`*~") or path == "-":
        return None
    if path.startswith("/"):
        return posixpath.normpath(path)
    return None if folder is None else posixpath.normpath(posixpath.join(folder, path))


def _replace_heredocs(text: str) -> tuple[str, list[str]]:
    """Replace the body of each heredoc with a placeholder (its number between NULs); return the text and the bodies."""
    if "<<" not in text:
        return text, []
    bodies: list[str] = []
    lines, kept = text.split("\n"), []
    numbers_of: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        numbers_of.setdefault(line.strip(), []).append(number)
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        for match in list(_HEREDOC.finditer(line)):
            ends = numbers_of.get(match[1] or match[2] or match[3], [])
            if (first := bisect_left(ends, at)) < len(ends):
                end = ends[first]
                line = line.replace(match[0], f"{match[0]}\0{len(bodies)}\0", 1)
                bodies.append("\n".join(lines[at:end]))
                at = end + 1
        kept.append(line)
    return "\n".join(kept), bodies


def _parse_commands(text: str, folder: str | None, depth: int) -> Iterator[SimpleCommand]:
    outer: list[str | None] = []
    words: list[str] = []
    for piece, is_word in _split_tokens(text):
        if is_word:
            words.append(piece)
            continue
        command = SimpleCommand(_strip_prefixes(words), folder)
        words = []
        if command.words:
            folder = yield from _expand_shell(command, depth)
        if piece == "(":
            outer.append(folder)
        elif piece == ")" and outer:
            folder = outer.pop()


def _expand_shell(command: SimpleCommand, depth: int) -> Generator[SimpleCommand, None, str | None]:
    """Yield a command, or those of the script if it is a shell with `-c`; return the folder of the next command."""
    name, folder = command.words[0].rpartition("/")[2], command.folder
    inner = _find_shell_script(command.words) if name in _SHELLS else None
    if inner is not None and depth:
        yield from _parse_commands(inner, folder, depth - 1)
        return folder
    yield command
    if name in ("cd", "pushd"):
        target = next((word for word in command.words[1:] if not word.startswith("-") or word == "-"), None)
        return None if target is None else join_folder(folder, target)
    return folder


def _find_shell_script(words: tuple[str, ...]) -> str | None:
    for at, word in enumerate(words[1:-1], 1):
        if re.fullmatch(r"-[a-z]*c", word):
            return words[at + 1]
    return None


def _strip_prefixes(words: list[str]) -> tuple[str, ...]:
    """Return the words without prefixes such as `sudo` and variable assignments."""
    at = 0
    while at < len(words) and (words[at] in _PREFIXES or _ASSIGNMENT.match(words[at])):
        at += 1
    return tuple(words[at:])


def _split_tokens(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the words (with True) and the separators of commands (with False); the last token is always a separator."""
    at, word, quoted = 0, "", False
    while at < len(text):
        char = text[at]
        if char in " \t\n;&|()" and not (char == "&" and word.endswith(">")):
            if word or quoted:
                yield word, True
            word, quoted = "", False
            if char not in " \t":
                yield char, False
            at += 1
        elif char == "#" and not word and not quoted:
            at = _find_line_end(text, at)
        else:
            part, at = _read_part(text, at)
            word += part
            quoted = quoted or char in "'\""
    if word or quoted:
        yield word, True
    yield "\n", False


def _find_line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _read_part(text: str, at: int) -> tuple[str, int]:
    """Return the part of a word that begins at `at`, without its quotes, and the position after it."""
    char = text[at]
    if char == "'":
        end = text.find("'", at + 1)
        return (text[at + 1 :], len(text)) if end < 0 else (text[at + 1 : end], end + 1)
    if char == '"':
        return _read_double_quoted(text, at + 1)
    if char == "\\":
        return text[at + 1 : at + 2].replace("\n", ""), at + 2
    if text.startswith("$(", at):
        end = _find_closing(text, at + 2)
        return text[at:end], end
    return char, at + 1


def _read_double_quoted(text: str, at: int) -> tuple[str, int]:
    quoted = ""
    while at < len(text) and text[at] != '"':
        if text.startswith("$(", at):
            end = _find_closing(text, at + 2)
            quoted, at = quoted + text[at:end], end
        elif text[at] == "\\" and text[at + 1 : at + 2] in ('"', "\\", "$", "`", "\n"):
            quoted, at = quoted + text[at + 1], at + 2
        else:
            quoted, at = quoted + text[at], at + 1
    return quoted, at + 1


def _find_closing(text: str, at: int) -> int:
    """Return the position after the parenthesis that closes the one opened before `at`."""
    depth = 1
    while at < len(text) and depth:
        if text[at] in "'\"":
            _, at = _read_part(text, at)
            continue
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return at


# --- the commits that a command made
# Of 241 calls with `git commit` in 650 real transcripts, 210 show git's own line (`[branch hash] subject`), 13 failed,
# 17 contain the words only as text, and one was quiet. 17 of the 210 ran in a scratch repository that the command
# itself had created; such commits are not part of the session's work.

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
