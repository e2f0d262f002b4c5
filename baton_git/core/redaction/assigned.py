"""Find values that are assigned to a name such as `password`, `api_key` or `token`, in any language.

Values that are prose (`the password: must be rotated`), placeholders (`secret=none`), references (`$TOKEN`,
`os.environ[…]`) or paths are not secrets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from baton_git.core.redaction.secret_names import NAME, OTHER_THING, PASSWORD, find_stems
from baton_git.core.redaction.values import (
    has_digit_and_letter,
    is_placeholder,
    is_random,
    is_value,
    lazy_regex,
)

KIND = "keyword secret"

_QUOTE = r"&quot;|\\{1,4}u0022|%22"
"""A quotation mark in HTML, in escaped JSON and in a URL."""
_NAMED = (
    rf"{NAME}(?:\\{{0,8}}(?:[\"'`]|{_QUOTE})?[*_]{{0,3}}(?:\[\d{{0,4}}\])?\]?\)?"
    r"(?:\??:? ?[&A-Za-z][A-Za-z<>\[\]?|.,&' ]{0,40}(?= =))?[ \t]{0,40}"
    r"(?P<sign>:=|=>|->|<-|={1,3}|!==?|:-|:(?!:)|：|＝|→|\|{1,2}|\?\?|%3[aAdD]|,(?=[ ]{0,20}[\"']))"
    rf"(?P<gap>\*{{0,3}}[ \t]{{0,40}}(?:\\?\n[ \t]{{1,40}}|(?:{_QUOTE})?(?=\S)))"
    r"(?:[\[({][ \t]{0,4}(?:[\"'](?:value|secret|key|token|data)[\"'][ \t]{0,4}:[ \t]{0,4})?(?=[\"']))?"
    r"|(?P<call>\((?:b(?=[\"']))?)(?=[\"'])|(?P<space>[ \t]{1,40}(?:\\\n[ \t]{0,40})?))"
)
"""A name and the operator after it. Spaces alone count if the name is an option (`--password …`), if a command sets it
(`ENV PASSWORD …`), or if a quoted value and a `;` follow. The gap can be a line break with an indented value."""

_QUOTED = (
    r"[brfuN]?\"(?P<double>[^\"\\\n]*+(?:\\.[^\"\\\n]*+)*+)\"|[brfuN]?'(?P<single>[^'\\\n]*+(?:\\.[^'\\\n]*+)*+)'"
    r"|`(?P<back>[^`\n]*+)`"
    r"|\\++\"(?P<escaped>[^\"\n]*+)(?<=\\)\"|\\++'(?P<escaped1>[^'\n]*+)(?<=\\)'"
)
_BARE = r"\\{0,8}[\"'`]?(?P<bare>[^\s\"'`]{1,500})"
_MARK = "[redacted: "
_COMPARED = (
    r"(?:\"(?P<double>[^\"\n]{4,200})\"|'(?P<single>[^'\n]{4,200})')[ \t]{0,8}[!=]{2,3}[ \t]{0,8}\w{0,40}?"
    rf"{PASSWORD}"
)
_SETTER = (
    r"(?:^|[\s\"'(;&|])(?i:ENV|ARG|set(?:env)?|SetEnv|config(?:[ \t]+set)?|secrets?[ \t]+(?:set|put|add)"
    r"|(?:set|add)-secret|\#define|const|proxy_set_header|header|export)"
    r"(?:[ \t]+-{1,2}[\w-]{1,20})?[ \t]+[\"']?[\w./:@$-]{0,80}\Z"
)
"""What precedes the name of a setting that a command sets: `ENV `, `set -x `, `config set //host/:_`."""
_LONGEST_NAME = 40
"""More characters than a name can have after the end of its stem."""
_LOOSE = frozenset({"|", "||", "??", ":-"})


def find_assigned(text: str, folded: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each value that is assigned to, or compared with, the name of a secret.

    Args:
        text: the text to search.
        folded: the same text, case-folded.
    """
    stems = find_stems(folded)
    if not stems:
        return
    if len(folded) != len(text):  # a letter such as ß has two when it is folded, so positions differ
        stems = [(0, len(text))]
    yield from _find_compared(text)
    done = 0
    for name in _find_names(text, stems):
        if name.start() < done or lazy_regex(OTHER_THING).match(name["suffix"]):
            continue
        span = _find_quoted(text, name) or _find_bare(text, name)
        if span is not None:
            done = span[1]
            yield span


def _find_names(text: str, stems: list[tuple[int, int]]) -> Iterator[re.Match[str]]:
    """Yield the names of secrets with the operator after them.

    The expression has dozens of alternatives, so it is tried only around the stems of the names.
    """
    at = 0
    for start, end in stems:
        at = max(at, start)
        while name := lazy_regex(NAME).search(text, at, min(len(text), end + _LONGEST_NAME)):
            if name.start() > end:
                break
            match = lazy_regex(_NAMED).match(text, name.start())
            if match:
                yield match
            at = match.end() if match else name.start() + 1


def _find_compared(text: str) -> Iterator[tuple[int, int]]:
    """Yield the values that are compared with a name: `"…" == password`."""
    if "==" in text or "!=" in text:
        for match in lazy_regex(_COMPARED).finditer(text):
            if is_value(match[match.lastgroup or 0]):
                yield match.span(match.lastgroup or 0)


def _find_quoted(text: str, name: re.Match[str]) -> tuple[int, int] | None:
    value = lazy_regex(_QUOTED).match(text, name.end())
    if value is None:
        return None
    if name["space"] and not _takes_next_word(name) and text[value.end() : value.end() + 1] != ";":
        return None
    start, end = value.span(value.lastgroup or 0)
    if (value.lastgroup or "").startswith("escaped"):
        end = start + len(text[start:end].rstrip("\\"))
    return (start, end) if _is_secret(name, text[start:end]) else None


def _find_bare(text: str, name: re.Match[str]) -> tuple[int, int] | None:
    value = lazy_regex(_BARE).match(text, name.end())
    if (
        value is None
        or is_placeholder(value["bare"])
        or name["call"]
        or name["sign"] == ","
        or (name["space"] and not _takes_next_word(name) and "\t" not in name["space"])
    ):
        return None
    start = value.start("bare")
    bare = _strip_punctuation(value["bare"].partition(_MARK)[0])
    if not _is_secret(name, bare):
        return None
    if not (_is_tight(name) or _fills_line(name, start + len(bare)) or lazy_regex(r"[\d@#$%^&*!+=~|\\?]").search(bare)):
        return None
    run = lazy_regex(r"[^\s\"'`]+").match(text, start)  # may be longer than `bare`
    return start, start + len(_strip_punctuation(run[0].partition(_MARK)[0])) if run else start


def _is_secret(name: re.Match[str], value: str) -> bool:
    """Whether a value can be the secret that the name announces."""
    if not is_value(value) or (name["random"] and not is_random(value)):
        return False
    sign, gap = name["sign"], name["gap"] or name["space"] or ""
    is_weak = bool(name["short"]) or sign in _LOOSE or "\n" in gap or "\t" in (name["space"] or "")
    return not is_weak or (len(value) >= 6 and has_digit_and_letter(value) and not lazy_regex(r"\s").search(value))


def _is_tight(name: re.Match[str]) -> bool:
    """Whether the operator is `=` or `:=` without spaces around it, as in settings, URLs and command lines."""
    sign = name.start("sign")
    return name["sign"] in ("=", ":=") and not name["gap"] and name.string[sign - 1] not in " \t"


def _takes_next_word(name: re.Match[str]) -> bool:
    """Whether the next word is the value.

    The name is an option (`--password …`), a keyword of Clojure (`:password "…"`), or a command sets it (`ENV NAME …`).
    """
    before = name.string[max(0, name.start() - 120) : name.start()]
    return (
        lazy_regex(r"(?<![\w-])--?[\w-]*\Z|[({\s]:[\w-]*\Z").search(before[-40:]) is not None
        or lazy_regex(_SETTER).search(before.rpartition("\n")[2]) is not None
    )


def _fills_line(name: re.Match[str], end: int) -> bool:
    """Whether the line contains only the name and the value (`  password: …`), as in YAML, unlike in prose."""
    first = max(0, name.start() - 80)
    newline = name.string.rfind("\n", first, name.start())
    if not name["sign"] or (newline < 0 and first):
        return False
    begins = lazy_regex(r"[ \t>*-]*+(?:export[ \t]++)?[\"']?[\w.-]*+").fullmatch(
        name.string, max(newline + 1, first), name.start()
    )
    return begins is not None and lazy_regex(r"[ \t\r,;*]*+(?:\n|\Z)").match(name.string, end) is not None


def _strip_punctuation(bare: str) -> str:
    """Remove trailing punctuation of the surrounding sentence or call."""
    return bare.rstrip(".,;:!?)]}>*").removesuffix("&quot")


@lru_cache(maxsize=1024)
def _name_of_secret(key: str) -> re.Match[str] | None:
    if not find_stems(key.casefold()):
        return None
    match = lazy_regex(rf"[\w.-]*?{NAME}").fullmatch(key)
    return None if match is None or lazy_regex(OTHER_THING).match(match["suffix"]) else match


def is_assigned(key: str, text: str) -> bool:
    """Whether a text is a secret because of its key: `{"db_password": "…"}`."""
    name = _name_of_secret(key) if len(key) <= 120 else None
    if name is None or not is_value(text):
        return False
    if name["random"]:
        return is_random(text)
    return not name["short"] or (len(text) >= 6 and has_digit_and_letter(text))
