"""How much a session used each file, recent uses counting more: what the next session is told first.

Each use adds a weight, and what was added before halves with every so many uses of any file since. So a file that was
edited often, or a moment ago, stands before one that was looked at once, long ago.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from baton_git.agents.extraction.findings import Findings, Table

CHANGED, READ, NAMED = 4.0, 2.0, 0.5
"""Weights: a change that worked, a look into the file, its name in a command or in what one printed."""
MAX_USES = 40
"""Files that a digest names."""
MAX_NAMES = 8
"""Functions, types and other names that are told of one file."""
_FREQUENT = 6
"""Names up to which frequent ones are added to those that a text defines."""
_HALF_LIFE = 40.0
"""Uses after which a use counts half."""
_KEPT = 200
_SCANNED = 1000
"""Characters at either end of a text in which files are looked for."""

_ENDINGS = (
    "c|cc|cfg|conf|cpp|cs|css|cue|dart|ex|exs|go|gradle|h|hpp|hs|htm|html|ini|java|js|json|jsx|kt|kts|lua|m|md|mjs|mk|ml"
    "|nix|php|pl|proto|ps1|py|pyi|r|rb|rs|rst|sass|scala|scss|sh|sol|sql|svelte|swift|tf|toml|ts|tsx|txt|vue|xml|yaml"
    "|yml|zig|zsh"
)
_FILE = re.compile(rf"(?<![\w./@~-])((?:~?/|\.{{1,2}}/)?(?:[\w.@+-]+/)*[\w.@+-]*\w\.(?:{_ENDINGS}))(?![\w/-]|\.\w)")
_WORD = re.compile(r"""[^ \t\r\n:;,'"()\[\]{}<>|=*&^%$#!?`\\]+""")
"""What a name stands in: no name has any of these characters. To look into each word once takes a third of the time."""
_DEFINED = re.compile(
    r"^[ \t+]*(?:(?:export|default|public|private|protected|internal|static|async|abstract|final|pub(?:\([a-z]+\))?"
    r"|unsafe|override|open|suspend|inline)[ \t]+)*(?:def|class|func(?:[ \t]*\([^)\n]*\))?|function\*?|fn|fun|interface"
    r"|struct|trait|enum|type|module|impl)[ \t]+([A-Za-z_][\w.]*)",
    re.MULTILINE,
)

_NAME = re.compile(r"\b(?:[A-Za-z][a-z0-9]*(?:[A-Z]+[a-z0-9]+)+|[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+)\b")


def use_file(
    known: Findings, path: str, weight: float, *, found: str = "transcript", names: Iterable[str] = ()
) -> None:
    """Count one use of a file."""
    known.touches += 1
    use = known.uses.pop(path, None) or {"score": 0.0, "at": known.touches, "changes": 0, "reads": 0, "names": []}
    use["score"] = _score_now(use, known.touches) + weight
    use["at"] = known.touches
    use["changes"] += weight == CHANGED
    use["reads"] += weight == READ
    use.setdefault("found", found)
    if found == "transcript" and weight > NAMED:
        use["found"] = found
    use["names"] = list(dict.fromkeys([*names, *use["names"]]))[:MAX_NAMES]
    known.uses[path] = use
    known.paths[path.rpartition("/")[2]] = path
    if len(known.uses) > 2 * _KEPT:
        ranked = sorted(known.uses, key=lambda path: -_score_now(known.uses[path], known.touches))
        kept = set(ranked[:_KEPT])
        known.uses = {path: use for path, use in known.uses.items() if path in kept}
        known.paths = {name: path for name, path in known.paths.items() if path in kept}


def name_files(known: Findings, text: str, found: str = "transcript") -> None:
    """Count the files that a text names, once each; a name without its folder is the file that ends so."""
    for name in find_file_names(text):
        use_file(known, _known_path(known, name), NAMED, found=found)


def find_file_names(text: str) -> list[str]:
    """Return the names of files in a text, once each; only both ends of the text are looked at."""
    if len(text) > 2 * _SCANNED:
        text = f"{text[:_SCANNED]}\n{text[-_SCANNED:]}"
    words = (word for word in dict.fromkeys(_WORD.findall(text)) if "." in word)
    names = dict.fromkeys(name for word in words for name in _FILE.findall(word))
    if "diff --git " in text:  # a diff names each file twice, below `a/` and `b/`
        names = dict.fromkeys(name[2:] if name[:2] in ("a/", "b/") else name for name in names)
    return list(names)


def find_names(text: str) -> list[str]:
    """Return the names of what a piece of code is about: the functions and types that it defines, then the names of
    several words (`parse_line`, `parseLine`) that are in it most often."""
    text = text[: 16 * _SCANNED]
    defined = list(dict.fromkeys(_DEFINED.findall(text)))[:MAX_NAMES]
    most_often = [name for name, _ in Counter(_NAME.findall(text)).most_common(MAX_NAMES) if name not in defined]
    return defined + most_often[: max(0, _FREQUENT - len(defined))]


def rank_uses(known: Findings, uses: Mapping[str, Table] | None = None) -> list[tuple[str, Table]]:
    """Return the files with their uses, those of `known` or `uses`, the one that was used most and last first."""
    now = known.touches
    items = (known.uses if uses is None else uses).items()
    return sorted(items, key=lambda item: (-_score_now(item[1], now), -item[1]["at"]))


def _score_now(use: Table, touches: int) -> float:
    score: float = use["score"] * 0.5 ** ((touches - use["at"]) / _HALF_LIFE)
    return score


def _known_path(known: Findings, name: str) -> str:
    """Return the path of the file of that name that was used last, if it ends with `name`."""
    if name.startswith("/") or name in known.uses:
        return name
    path = known.paths.get(name.rpartition("/")[2], "")
    return path if path.endswith("/" + name.removeprefix("./")) else name
