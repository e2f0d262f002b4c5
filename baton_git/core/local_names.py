"""The names of this machine that are not stored: where its work trees and its home are, and what its host is called.

State is sent as it is stored. Before baton stores a text, an absolute path below the work tree becomes a relative one,
the home becomes `~`, another work tree of the repository becomes its label (`wt-7k3f9q`), and, in texts taken from
transcripts, a distinctive host name becomes the name of the machine. `resolve` returns the absolute path again.

A path is replaced only as a whole: it begins where no other path or word goes on, and ends at the end of a name. An
address (`https://…`) is never changed. All searches take linear time.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

HOME = "~"
LABEL = re.compile(r"wt-[0-9a-hjkmnp-tv-z]{6}")
"""The form of a label, whose letters are those of minted ids."""

_PATH_KEYS = frozenset({"path", "files_modified", "open_files", "worktree", "cwd", "folder"})
"""Keys whose strings are paths as a whole, so that a space does not end them."""
_EXACT_KEYS = frozenset({"id", "url", "hash", "commit", "branch"})
"""Keys whose strings name something elsewhere, and are never changed."""

_NAME_END = r"(?=\Z|[/\\]|[^\w.\-+@%~#]|\.+(?:\Z|[\s\"')\]}>,;:]))"
"""What follows a folder's whole name: `/home/ada` ends before `/x`, a space or a full stop, but not before `-2`."""
_PATH_START = (
    r"(?:(?<![\w.~/\\\-])|(?<=[\s\"'=:]-[A-Za-z])|(?<=^-[A-Za-z])|(?<=\\[ntr])|(?<=\x1b\[[0-9]m)|(?<=\x1b\[[0-9]{2}m))"
)
"""Where a path may begin: not within a word or another path, but after an option such as `-I`, after an escaped
line end (`\\n` in JSON) and after a colour of the terminal."""
_URL = r"(?<![A-Za-z0-9+.\-])[A-Za-z][A-Za-z0-9+.\-]{0,30}://[^\s\"'<>`\\]*"
_LOCAL_DOMAINS = r"(?:\.(?:local|lan|home|localdomain))?"
_OPTION = re.compile(r"--?[\w-]+=")
_CUT = re.compile(r"(…|\.{3})")
_MAX_CUT = 4096
_ROUNDS = 4
"""Maximum number of searches. A second one finds a path that began only where the first one replaced something."""
_LEAST_CUT = 3
"""Number of characters after the first folder's name from which a path that was cut off is recognised."""


class _Folder(NamedTuple):
    """A folder and what is stored in its place: `~`, a label, or an empty text for the work tree."""

    path: str
    short: str


@dataclass(frozen=True)
class LocalNames:
    """Names of this machine, and what is stored in their place.

    Attributes:
        work_tree: the work tree below which paths become relative; empty if there is none.
        labels: the label of each known work tree of the repository, by path.
        home: the home of the user; empty if unknown.
        aliases: other spellings of these folders: for a symbolic link, its target or the link; each maps to a path in
            `work_tree`, `labels` or `home`.
        ignores_case: whether the file system of these folders ignores case.
        host: the host name, without its domain.
        login: the login name, which is recognised only before the host name (`ada@laptop`).
        machine: the name of the machine that is stored in place of the host name.
    """

    work_tree: str = ""
    labels: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    home: str = ""
    aliases: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    ignores_case: bool = False
    host: str = ""
    login: str = ""
    machine: str = ""

    def at(self, work_tree: str | None, *spellings: str | None) -> LocalNames:
        """Return these names for a text that was written in another work tree.

        Args:
            spellings: other paths of that work tree, such as its path in a container.
        """
        if not work_tree:
            return self
        more = {path: work_tree for path in spellings if path and path != work_tree and path not in self.labels}
        if not more and work_tree == self.work_tree:
            return self
        return replace(self, work_tree=work_tree, aliases={**self.aliases, **more})

    def label_of(self, work_tree: str) -> str:
        """Return the label of a work tree; if it is unknown, its path with the home as `~`."""
        return self.labels.get(work_tree) or self.labels.get(self.aliases.get(work_tree, "")) or (
            _join(HOME, work_tree[len(self.home) :]) if _is_below(work_tree, self.home) else work_tree
        )  # fmt: skip

    def find_work_tree(self, label: str) -> str | None:
        """Return the path of the work tree with this label; None if it is unknown here."""
        return self._paths_by_label.get(label)

    # --- shortening

    def shorten_path(self, path: str) -> str:
        """Return a path as it is stored. A path elsewhere is returned unchanged."""
        if path.startswith("//"):
            return path
        shown = self._fold(path)
        for folder in self._folders:
            if shown.startswith(self._fold(folder.path)):
                rest = path[len(folder.path) :]
                if not rest or rest[0] == "/":
                    if _replace_names(rest, self._restored) != rest:
                        # A folder has the name that is stored for another one; `//` keeps `resolve` from changing it.
                        return f"/{path}"
                    return _join(folder.short, _replace_names(rest, self._reversible))
        if self._windows is not None and (match := self._windows.match(path)) and _is_name_end(path[match.end() :]):
            return _join(self._shorts[match.lastgroup or ""], re.sub(r"[\\/]+", "/", path[match.end() :]))
        return _replace_names(path, self._reversible)

    def shorten_text(self, text: str, *, from_transcript: bool = False) -> str:
        """Return a text with the paths in it as they are stored.

        Args:
            from_transcript: also replace the host name.
        """
        for _ in range(_ROUNDS):
            if not self._mentions_folder(text):
                break
            before = text
            text = self._pattern.sub(self._shorten_match, self._shorten_cut(text))
            if text == before:
                break
        if from_transcript and self._host is not None and self.host.lower() in text.lower():
            text = self._host.sub(self._shorten_host, text)
        return text

    def shorten_argument(self, argument: str, *, is_program: bool = False) -> str:
        """Return an argument of a command as it is stored, if it is a path or `--option=path`.

        Paths within a longer text (`sh -c '…'`) stay: only the program knows what they mean.

        Args:
            is_program: whether it names the program; a relative program needs a slash, or it would be searched.
        """
        option = match[0] if (match := _OPTION.match(argument)) else ""
        short = self.shorten_path(argument[len(option) :])
        if is_program and short != argument and "/" not in short:
            short = f"./{short}"
        return option + short

    def shorten(self, value: Any, *, known: Container[str] = frozenset(), from_transcript: bool = False) -> Any:
        """Return a value with all its strings shortened; the value itself if nothing changes.

        Args:
            value: nested dicts, lists, tuples and scalars; the caller limits the depth.
            known: strings that are already stored, and stay.
        """
        return self._walk(value, "", known, from_transcript)

    def _walk(self, value: Any, name: str, known: Container[str], from_transcript: bool) -> Any:
        if isinstance(value, str):
            return value if value in known else self._shorten_named(value, name, from_transcript)
        if isinstance(value, Mapping):
            table = {
                key: item if key in _EXACT_KEYS else self._walk(item, str(key), known, from_transcript)
                for key, item in value.items()
            }
            return table if any(table[key] is not value[key] for key in table) else value
        if isinstance(value, list | tuple):
            if name == "argv":
                new = self.shorten_arguments(value)
                return value if new == tuple(value) else type(value)(new)
            items = [self._walk(item, name, known, from_transcript) for item in value]
            return value if all(a is b for a, b in zip(items, value, strict=True)) else type(value)(items)
        return value

    def _shorten_named(self, text: str, name: str, from_transcript: bool) -> str:
        if name == "worktree":
            return self.label_of(text) if text in self.labels or text in self.aliases else self.shorten_path(text)
        if name in _PATH_KEYS and text.startswith("/"):
            return self.shorten_path(text)
        return self.shorten_text(text, from_transcript=from_transcript)

    # --- resolving

    def resolve(self, path: str, work_tree: str | None = None) -> str:
        """Return the absolute path on this machine of a path as it is stored.

        Args:
            work_tree: the stored label, or path, of the work tree that the path is relative to; by default the current
                one. If it is unknown here, a relative path is returned unchanged.
        """
        if path.startswith("//"):
            return path[1:]
        path = _replace_names(path, self._restored)
        first, _, rest = path.partition("/")
        tail = path[len(first) :]
        if first == HOME:
            return self.home + tail if self.home else path
        if first in self._paths_by_label:
            return self._paths_by_label[first] + tail
        if path.startswith("/") or re.match(r"[A-Za-z]:[\\/]", path):
            return path
        base = self._find_base(work_tree)
        if not base:
            return path
        if first == ".":
            return base if not tail else f"{base}/{rest}"
        return f"{base}/{path}"

    def expand(self, path: str) -> str:
        """Return a stored path with `~` or a label replaced by the path on this machine; others stay relative."""
        first = path.partition("/")[0]
        return self.resolve(path) if first == HOME or first in self._paths_by_label else path

    def expand_arguments(self, argv: Sequence[str]) -> tuple[str, ...]:
        """Return a stored command as it is run on this machine."""
        options = [match[0] if (match := _OPTION.match(argument)) else "" for argument in argv]
        return tuple(
            option + self.expand(argument[len(option) :]) for option, argument in zip(options, argv, strict=True)
        )

    def shorten_arguments(self, argv: Sequence[str]) -> tuple[str, ...]:
        """Return a command as it is stored."""
        return tuple(self.shorten_argument(item, is_program=not at) for at, item in enumerate(argv))

    def _find_base(self, work_tree: str | None) -> str:
        if work_tree is None:
            return self.work_tree
        known = self._paths_by_label.get(work_tree)
        if known is not None:
            return known
        path = self.resolve(work_tree) if work_tree.startswith((f"{HOME}/", "/")) else ""
        return path.rstrip("/")

    # --- what is searched for

    def _fold(self, text: str) -> str:
        return text.lower() if self.ignores_case else text

    @cached_property
    def _paths_by_label(self) -> dict[str, str]:
        return {label: path for path, label in self.labels.items()}

    @cached_property
    def _folders(self) -> list[_Folder]:
        """All folders in all spellings, the longest first. Of the same folder, the work tree comes before the home."""
        shorts: dict[str, str] = {}
        for path, short in ((self.work_tree, ""), *self.labels.items(), (self.home, HOME)):
            shorts.setdefault(path, short)
        for alias, path in self.aliases.items():
            if path in shorts:
                shorts.setdefault(alias, shorts[path])
        usable = [_Folder(path, short) for path, short in shorts.items() if len(path) > 1 and path.startswith("/")]
        return sorted(usable, key=lambda folder: -len(folder.path))

    @cached_property
    def _windows_folders(self) -> list[_Folder]:
        r"""The same folders as Windows names them: `C:\Users\ada` for the home, and `D:\x` for `/mnt/d/x`."""
        found = [
            _Folder(f"{match[1]}:{folder.path[6:]}", folder.short)
            for folder in self._folders if (match := re.match(r"/mnt/([a-z])(?=/)", folder.path))
        ]  # fmt: skip
        shorts = dict(self._folders)
        found += [
            _Folder(f"{path[0]}:/{path[3:].lstrip('/')}", short)
            for path, short in ((alias.replace("\\", "/"), shorts.get(to)) for alias, to in self.aliases.items())
            if short is not None and re.match(r"[A-Za-z]:/.", path)
        ]  # fmt: skip
        name = self.home.rpartition("/")[2]
        if name:
            top = self.work_tree[len(self.home) :] if _is_below(self.work_tree, self.home) else ""
            found += [_Folder(f"*:/Users/{name}{top}", "")] if top else []
            found.append(_Folder(f"*:/Users/{name}", HOME))
        return sorted(found, key=lambda folder: -len(folder.path))

    @cached_property
    def _shorts(self) -> dict[str, str]:
        """What is stored in place of each group of the patterns."""
        folders = {f"p{number}": folder.short for number, folder in enumerate(self._folders)}
        windows = {f"w{number}": folder.short for number, folder in enumerate(self._windows_folders)}
        return {**folders, **windows, **{f"e{number}": short for number, (_, short) in enumerate(self._encoded)}}

    @cached_property
    def _windows(self) -> re.Pattern[str] | None:
        if not self._windows_folders:
            return None
        return re.compile("|".join(self._list_windows_patterns()), re.IGNORECASE)

    def _list_windows_patterns(self) -> list[str]:
        patterns = []
        for number, (path, _) in enumerate(self._windows_folders):
            drive, *names = path.split("/")
            start = "[A-Za-z]:" if drive == "*:" else re.escape(drive)
            patterns.append(
                rf"(?P<w{number}>{start}" + "".join(rf"[\\/]{{1,2}}{re.escape(name)}" for name in names) + ")"
            )
        return patterns

    @cached_property
    def _encoded(self) -> list[tuple[str, str]]:
        """The folders as agent CLIs write them into a folder's name (`-home-ada-shop`), and what is stored."""
        pairs = dict(self._reversible)
        for alias, path in self.aliases.items():
            if alias.startswith("/") and _encode_folder(path) in pairs:
                pairs.setdefault(_encode_folder(alias), pairs[_encode_folder(path)])
        return sorted(pairs.items(), key=lambda pair: -len(pair[0]))

    @cached_property
    def _reversible(self) -> list[tuple[str, str]]:
        """The same, without the aliases, so that each stored name has one meaning."""
        pairs = {_encode_folder(path): f"-{label}" for path, label in self.labels.items() if len(path) > 1}
        if len(self.home) > 1:
            pairs.setdefault(_encode_folder(self.home), f"-{HOME}")
        return sorted(pairs.items(), key=lambda pair: -len(pair[0]))

    @cached_property
    def _restored(self) -> list[tuple[str, str]]:
        return [(short, name) for name, short in self._reversible]

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        plain = "|".join(f"(?P<p{number}>{re.escape(path)})" for number, (path, _) in enumerate(self._folders))
        windows = "|".join(self._list_windows_patterns())
        encoded = "|".join(f"(?P<e{number}>{re.escape(name)})" for number, (name, _) in enumerate(self._encoded))
        parts = [
            rf"{_PATH_START}(?:file:(?://(?:localhost)?)?)?(?:{plain}){_NAME_END}/?" if plain else "",
            rf"(?P<url>{_URL})",
            rf"(?<![\w])(?i:{windows}){_NAME_END}(?P<rest>[\\/][^\s\"'<>|*?:…]*)?" if windows else "",
            rf"(?<=[/\\])(?:{encoded})(?=-|\Z|[/\\\s\"'])" if encoded else "",
        ]
        return re.compile("|".join(filter(None, parts)), re.IGNORECASE if self.ignores_case else 0)

    @cached_property
    def _needles(self) -> tuple[str, ...]:
        encoded = (name for name, _ in self._encoded)
        return tuple(self._fold(text) for text in (*(folder.path for folder in self._folders), *encoded))

    @cached_property
    def _windows_needles(self) -> tuple[str, ...]:
        return tuple({folder.path.rpartition("/")[2].lower() for folder in self._windows_folders})

    def _mentions_folder(self, text: str) -> bool:
        """Return whether a text may name one of the folders. Most texts do not, and are not searched further."""
        shown = self._fold(text)
        if any(needle in shown for needle in self._needles):
            return True
        if "/" in text and ("…" in text or "..." in text):
            return True
        if ":\\" in text or ":/" in text:
            lower = text.lower()
            return any(needle in lower for needle in self._windows_needles)
        return False

    def _shorten_match(self, match: re.Match[str]) -> str:
        if match["url"] is not None:
            return match[0]
        group = next(name for name, text in match.groupdict().items() if text is not None and name != "rest")
        short = self._shorts[group]
        if group.startswith("e"):
            return short
        if group.startswith("w"):
            return _join(short, re.sub(r"[\\/]+", "/", match["rest"] or ""))
        if not match[0].endswith("/"):
            return short or "."
        if short:
            return f"{short}/"
        following = match.string[match.end() : match.end() + 10]
        return "./" if _needs_dot(following) else ""

    def _shorten_cut(self, text: str) -> str:
        """Return a text in which a path to a folder that is cut off before `…` or `...` is shortened too."""
        pieces = _CUT.split(text)
        for number in range(0, len(pieces) - 1, 2):
            if "/" not in pieces[number]:
                continue
            shown = self._fold(pieces[number][-_MAX_CUT:])
            for path, least, short in self._cut_folders:
                at = shown.rfind(path[:least])
                if at >= 0 and path.startswith(shown[at:]):
                    pieces[number] = pieces[number][: at - len(shown)] + short
                    break
        return "".join(pieces)

    @cached_property
    def _cut_folders(self) -> list[tuple[str, int, str]]:
        """The folders, with the number of characters from which a path that was cut off is recognised."""
        paths = [self._fold(folder.path) for folder in self._folders]
        found = []
        for path, folder in zip(paths, self._folders, strict=True):
            above = max((len(other) for other in paths if _is_below(path, other)), default=0)
            least = min(len(path), (above or path.find("/", 1)) + 1 + _LEAST_CUT)
            found.append((path, least, folder.short or "."))
        return found

    @cached_property
    def _host(self) -> re.Pattern[str] | None:
        """The pattern for the host name; None if there is nothing to replace.

        A host can be called `server` or `web`, so the name alone is replaced only if it has at least six characters,
        with a digit or hyphen among them. After the login (`ada@web`), any name is.
        """
        if not self.host or not self.machine or self.host.lower() in (self.machine.lower(), "localhost"):
            return None
        name = re.escape(self.host) + _LOCAL_DOMAINS
        end = r"(?![\w/\\\-]|\.\w)"
        login = rf"(?<![\w.\-]){re.escape(self.login)}@{name}{end}" if self.login else ""
        is_distinctive = len(self.host) >= 6 and re.search(r"[\d-]", self.host)
        alone = rf"(?<![\w./\\@\-]){name}{end}" if is_distinctive else ""
        parts = [part for part in (rf"(?P<url>{_URL})", f"(?P<login>{login})" if login else "", alone) if part]
        return re.compile("|".join(parts), re.IGNORECASE) if len(parts) > 1 else None

    def _shorten_host(self, match: re.Match[str]) -> str:
        if match["url"] is not None:
            return match[0]
        is_after_login = "login" in match.re.groupindex and match["login"] is not None
        return f"user@{self.machine}" if is_after_login else self.machine


NOTHING = LocalNames()
"""No names: nothing is shortened."""


def may_have_paths(value: Any) -> bool:
    """Return whether any string of a value has a character that paths have."""
    if isinstance(value, str):
        return "/" in value or "\\" in value
    if isinstance(value, Mapping):
        return any(map(may_have_paths, value.values()))
    return isinstance(value, list | tuple) and any(map(may_have_paths, value))


def _is_below(path: str, folder: str) -> bool:
    return len(folder) > 1 and path.startswith(f"{folder}/")


def _is_name_end(rest: str) -> bool:
    return not rest or rest[0] in "/\\"


def _join(short: str, rest: str) -> str:
    """Return what is stored for a folder's `short` and the rest of a path, which is empty or begins with `/`."""
    if short:
        return short + rest
    if not rest:
        return "."
    return f"./{rest[1:]}" if _needs_dot(rest[1:]) else rest[1:]


def _needs_dot(relative: str) -> bool:
    """Return whether a relative path needs `./`: it would be empty, absolute, an option, a home or a label."""
    first = re.split(r"[/\s]", relative, maxsplit=1)[0]
    return not first or first[0] in "~-\"'`)" or LABEL.fullmatch(first) is not None


def _encode_folder(path: str) -> str:
    return re.sub(r"[^A-Za-z0-9]", "-", path)


def _replace_names(path: str, names: list[tuple[str, str]]) -> str:
    """Return a path in which the folders' names that begin with one of `names` begin with its other form."""
    if "/-" not in path:
        return path
    parts = path.split("/")
    for number, part in enumerate(parts[1:], 1):
        for name, other in names:
            if part == name or part.startswith(f"{name}-"):
                parts[number] = other + part[len(name) :]
                break
    return "/".join(parts)
