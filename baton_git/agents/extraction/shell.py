"""Parse a shell command line into its simple commands and their working directories, without running it.

This covers enough of the grammar to distinguish a command from text that mentions it: quotes, heredocs, `$(…)`,
comments, lists and subshells. A folder that depends on a variable is unknown.
"""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_left
from collections.abc import Generator, Iterator
from typing import NamedTuple

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
