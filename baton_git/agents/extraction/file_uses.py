"""Rank the files of a session by how much and how recently they were used.

Each use adds a weight, and a weight halves after every `_HALF_LIFE` uses of any file. So a file that was edited often
or just now ranks above one that was read once, long ago.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from baton_git.agents.extraction.findings import Findings, Table

CHANGED, READ, NAMED = 4.0, 2.0, 0.5
"""Weights of a successful change, of reading the file, and of its name in a text."""
MAX_USES = 40
"""Maximum number of files in a digest."""
MAX_NAMES = 16
"""Maximum number of identifiers that characterise one piece of code."""
_NAMES, _NAMES_PER_CHANGE, _MOST_NAMES = 8, 2, 32
"""Maximum number of identifiers listed with one file: this many, as many more for each change, at most so many. Of a
file that was changed 14 times, the names in the last two changes do not say what was done."""
_MOST_DROPPED = 64
_HALF_LIFE = 40.0
"""Number of later uses after which a use counts half."""
_KEPT_USES = 200
_KEPT_PATHS = 500
_MOST_FAILED = 8
"""Maximum number of names in the output of a failed command that count; more are a list, such as one of all tests."""
_SCANNED = 1000
"""Number of characters at each end of a text that are searched for file names."""

_ENDINGS = (
    "c|cc|cfg|conf|cpp|cs|css|cue|dart|ex|exs|go|gradle|h|hpp|hs|htm|html|ini|java|js|json|jsx|kt|kts|lua|m|md|mjs|mk|ml"
    "|nix|php|pl|proto|ps1|py|pyi|r|rb|rs|rst|sass|scala|scss|sh|sol|sql|svelte|swift|tf|toml|ts|tsx|txt|vue|xml|yaml"
    "|yml|zig|zsh"
)
_FILE = re.compile(rf"(?<![\w./@~-])((?:~?/|\.{{1,2}}/)?(?:[\w.@+-]+/)*[\w.@+-]*\w\.(?:{_ENDINGS}))(?![\w/-]|\.\w)")
_WORD = re.compile(r"""[^ \t\r\n:;,'"()\[\]{}<>|=*&^%$#!?`\\]+""")
"""A word that may contain a file name. Searching each distinct word takes a third of the time
that searching the text takes."""
_EXPANSION = re.compile(r"""["']?\$(?:\{[^{}\n]{0,200}\}|\([^()\n]{0,200}\)|\w+)["']?[\w./@+*-]*""")
_DEFINED = re.compile(
    r"^[ \t+]*(?:(?:export|default|public|private|protected|internal|static|async|abstract|final|pub(?:\([a-z]+\))?"
    r"|unsafe|override|open|suspend|inline)[ \t]+)*(?:def|class|func(?:[ \t]*\([^)\n]*\))?|function\*?|fn|fun|interface"
    r"|struct|trait|enum|type|module|impl)[ \t]+([A-Za-z_][\w.]*)",
    re.MULTILINE,
)

_ABSENT = re.compile(
    r"^.*(?:\b(?:Path|File|Directory) does not exist\b|\bNo such file or directory\b).*$", re.MULTILINE
)
"""A line of a failed call that names a file because there is none: a wrong guess is no file of the session."""
_NAME = re.compile(r"\b(?:[A-Za-z][a-z0-9]*(?:[A-Z]+[a-z0-9]+)+|[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+)\b")


def use_file(
    known: Findings, path: str, weight: float, *, found: str = "transcript", names: Iterable[str] = ()
) -> None:
    """Count one use of a file.

    Args:
        found: where the use was found: in the session's own `transcript`, or in the work of a `subagent`.
        names: identifiers to list with the file.
    """
    known.touches += 1
    use = known.uses.pop(path, None) or {"score": 0.0, "at": known.touches, "changes": 0, "reads": 0, "names": []}
    use["score"] = _compute_score(use, known.touches) + weight
    use["at"] = known.touches
    use["changes"] += weight == CHANGED
    use["reads"] += weight == READ
    use.setdefault("found", found)
    if found == "transcript" and weight > NAMED:
        use["found"] = found
    use["gone"] = bool(use.get("gone")) and weight <= NAMED
    most = min(_NAMES + _NAMES_PER_CHANGE * use["changes"], _MOST_NAMES)
    use["names"] = list(dict.fromkeys([*names, *use["names"]]))[:most]
    known.uses[path] = use
    known.paths[path.rpartition("/")[2]] = path
    if len(known.uses) > 2 * _KEPT_USES:
        ranked = sorted(known.uses, key=lambda path: -_compute_score(known.uses[path], known.touches))
        kept = set(ranked[:_KEPT_USES])
        known.uses = {path: use for path, use in known.uses.items() if path in kept}
        known.paths = {name: path for name, path in known.paths.items() if path in kept}


def note_removals(known: Findings, removed: Iterable[str]) -> None:
    """Remember that files are gone, until a later change or reading of them; other paths than used ones are ignored."""
    for path in removed:
        if path in known.uses:
            known.uses[path]["gone"] = True


def note_restoring(known: Findings) -> None:
    """Forget which files are gone, because git may have brought any of them back."""
    for use in known.uses.values():
        use["gone"] = False


def name_files(known: Findings, text: str, found: str = "transcript") -> None:
    """Count one use of each file named in a text. A relative name means the last used path that ends with it."""
    for name in find_file_names(text):
        use_file(known, _resolve_name(known, name), NAMED, found=found)


def name_printed_files(known: Findings, text: str, found: str = "transcript", *, failed: bool = False) -> None:
    """Count one use of each file named in the output of a command, if the session named or used it before, or if the
    command failed and its output is no long list.

    Other files were not worked with: of 206 files that only outputs named in 24 real sessions, the next session used
    two. Their paths are remembered, in case that a later text names them.
    """
    names = find_file_names(_ABSENT.sub("", text) if failed else text)
    counts_all = failed and len(names) <= _MOST_FAILED
    for name in names:
        path = _resolve_name(known, name)
        if counts_all or path in known.uses:
            use_file(known, path, NAMED, found=found)
        else:
            known.paths.setdefault(path.rpartition("/")[2], path)
            if len(known.paths) > _KEPT_PATHS:
                del known.paths[next(iter(known.paths))]


def find_file_names(text: str) -> list[str]:
    """Return the distinct file names in the first and last `_SCANNED` characters of a text.

    A path that a shell completes (`$DIR/a.py`) names no file.
    """
    if len(text) > 2 * _SCANNED:
        text = f"{text[:_SCANNED]}\n{text[-_SCANNED:]}"
    if "$" in text:
        text = _EXPANSION.sub(" ", text)
    words = (word for word in dict.fromkeys(_WORD.findall(text)) if "." in word)
    names = dict.fromkeys(name for word in words for name in _FILE.findall(word))
    if "diff --git " in text:  # a diff names each file twice, below `a/` and `b/`
        names = dict.fromkeys(name[2:] if name[:2] in ("a/", "b/") else name for name in names)
    return list(names)


def find_names(text: str) -> list[str]:
    """Return the identifiers that characterise a piece of code.

    They are the functions and types that it defines, then its most frequent compound names (`parse_line`, `parseLine`).
    """
    text = text[: 16 * _SCANNED]
    most_often = [name for name, _ in Counter(_NAME.findall(text)).most_common(MAX_NAMES)]
    return list(dict.fromkeys([*_DEFINED.findall(text), *most_often]))[:MAX_NAMES]


def find_dropped_names(replaced: str, written: str) -> list[str]:
    """Return the identifiers in the replaced text that are not in the text written instead, at most `_MOST_DROPPED`."""
    if not replaced:
        return []
    before = [*_DEFINED.findall(replaced[: 16 * _SCANNED]), *_NAME.findall(replaced[: 16 * _SCANNED])]
    after = {*_DEFINED.findall(written), *_NAME.findall(written)}
    return [name for name in dict.fromkeys(before) if name not in after][:_MOST_DROPPED]


def forget_names(known: Findings, path: str, dropped: Collection[str]) -> None:
    """Do not list with a file the identifiers that a later change took out again, such as those of debug output."""
    use = known.uses.get(path)
    if use is not None and dropped:
        use["names"] = [name for name in use["names"] if name not in dropped]


def rank_uses(known: Findings, uses: Mapping[str, Table] | None = None) -> list[tuple[str, Table]]:
    """Return the files of `uses` (by default those of `known`) with their uses, the highest ranked first."""
    now = known.touches
    items = (known.uses if uses is None else uses).items()
    return sorted(items, key=lambda item: (-_compute_score(item[1], now), -item[1]["at"]))


def _compute_score(use: Table, touches: int) -> float:
    score: float = use["score"] * 0.5 ** ((touches - use["at"]) / _HALF_LIFE)
    return score


def _resolve_name(known: Findings, name: str) -> str:
    """Return the last used path that ends with `name`, or `name` itself when there is none."""
    if name.startswith("/") or name in known.uses:
        return name
    path = known.paths.get(name.rpartition("/")[2], "")
    return path if path.endswith("/" + name.removeprefix("./")) else name
