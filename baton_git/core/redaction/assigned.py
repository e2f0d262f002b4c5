"""Find values that are assigned to a name such as `password`, `api_key` or `token`, in any language.

Values that are prose (`the password: must be rotated`), placeholders (`secret=none`), references (`$TOKEN`,
`os.environ[…]`) or paths are not secrets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from baton_git.core.redaction.values import is_placeholder, is_value, lazy_regex

KIND = "keyword secret"
STEMS = ("pass", "pwd", "secret", "contrase", "credential", "key", "token", "_auth", "_pat", "cookie", "dsn", "_pw")
"""Case-folded stems of the names; a text that contains none of them is not searched."""

_NAMES = (
    r"passw(?:or)?d|pass[_-]?phrase|passcode|pwd|secret|contrase[ñn]a"
    r"|(?:db|database|key|user|root|admin|store)_?pass(?![a-z])|_pass(?![a-z])"
    r"|(?:api|app|application|auth|service|account|db|database|priv|private|client|access|encryption|signing|master"
    r"|storage|license|licence|consumer|shared|subscription|webhook|hmac|admin|deploy|integration|server|write|ingest"
    r"|insert|platform|publish|project|user|verification|global)[_-]?key"
)
_RANDOM_NAMES = (
    r"token(?![a-z])|credential|_auth(?![a-z])|_pat(?![a-z])|(?-i:[A-Z0-9]_KEY(?![A-Za-z]))|_pw(?![a-z])"
    r"|(?<![a-z])dsn(?![a-z])"
)
"""Names whose values count as secrets only if they look random."""
NAME = rf"(?i:(?P<token>{_RANDOM_NAMES})|{_NAMES})(?P<suffix>[\w-]{{0,20}})"
_NAMED = (
    rf"{NAME}(?:\\{{0,8}}[\"'`]?\]?\)?(?:\??: ?[A-Za-z]{{1,20}}(?= =))?[ \t]{{0,40}}"
    r"(?P<sign>:=|=>|->|={1,3}|!==?|:(?!:)|,(?=[ ]?[\"']))(?P<gap>[ \t]{0,40})"
    r"|(?P<call>\()(?=[\"'])|(?P<space>[ \t]{1,40}))"
)
"""A name and the operator after it. Spaces alone count if the name is an option (`--password …`), or if a quoted value
and a `;` follow."""

_QUOTED = (
    r"\"(?P<double>[^\"\\\n]*+(?:\\.[^\"\\\n]*+)*+)\"|'(?P<single>[^'\\\n]*+(?:\\.[^'\\\n]*+)*+)'|`(?P<back>[^`\n]*+)`"
    r"|\\++\"(?P<escaped>[^\"\n]*+)(?<=\\)\"|\\++'(?P<escaped1>[^'\n]*+)(?<=\\)'"
)
_BARE = r"\\{0,8}[\"'`]?(?P<bare>[^\s\"'`]{1,500})"
_MARK = "[redacted: "
_COMPARED = (
    r"(?:\"(?P<double>[^\"\n]{4,200})\"|'(?P<single>[^'\n]{4,200})')[ \t]{0,8}[!=]{2,3}[ \t]{0,8}\w{0,40}?"
    rf"(?i:{_NAMES})"
)

_OTHER_THING = (
    r"(?i)[_-]?(?:file|path|s?manager|encrypt|names?\b|id(?:s|entifier)?\b|len|policy|hint|field|counts?|type|ur[li]|env|version"
    r"|ref|label|title|prompt|provider|store|reset|expir|rotat|requir|protect|strength|min|max|usage|limit|budget|less"
    r"|ary|ion|izer|helper|mode|input|form|box|change|class|format|algorithm|hash|ttl|scope|validator|valid|regex|alias"
    r"|placeholder|source|from|prefix|header|status|length|rules?|mutation|visible|toggle|endpoint|arn|vault|engine)"
)
"""Suffixes after which a name no longer names a secret itself: `password_policy`, `secretary`."""


def find_assigned(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each value that is assigned to, or compared with, the name of a secret."""
    yield from _find_compared(text)
    done = 0
    for name in lazy_regex(_NAMED).finditer(text):
        if name.start() < done or lazy_regex(_OTHER_THING).match(name["suffix"]):
            continue
        span = _find_quoted(text, name) or _find_bare(text, name)
        if span is not None:
            done = span[1]
            yield span


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
    if name["space"] and not _is_option(name) and text[value.end() : value.end() + 1] != ";":
        return None
    start, end = value.span(value.lastgroup or 0)
    if (value.lastgroup or "").startswith("escaped"):
        end = start + len(text[start:end].rstrip("\\"))
    return (start, end) if is_value(text[start:end], is_token=bool(name["token"])) else None


def _find_bare(text: str, name: re.Match[str]) -> tuple[int, int] | None:
    value = lazy_regex(_BARE).match(text, name.end())
    if (
        value is None
        or is_placeholder(value["bare"])
        or name["call"]
        or name["sign"] == ","
        or (name["space"] and not _is_option(name))
    ):
        return None
    start = value.start("bare")
    bare = _strip_punctuation(value["bare"].partition(_MARK)[0])
    if not is_value(bare, is_token=bool(name["token"])):
        return None
    if not (_is_tight(name) or _fills_line(name, start + len(bare)) or lazy_regex(r"[\d@#$%^&*!+=~|\\?]").search(bare)):
        return None
    run = lazy_regex(r"[^\s\"'`]+").match(text, start)  # may be longer than `bare`
    return start, start + len(_strip_punctuation(run[0].partition(_MARK)[0])) if run else start


def _is_tight(name: re.Match[str]) -> bool:
    """Whether the operator is `=` or `:=` without spaces around it, as in settings, URLs and command lines."""
    sign = name.start("sign")
    return name["sign"] in ("=", ":=") and not name["gap"] and name.string[sign - 1] not in " \t"


def _is_option(name: re.Match[str]) -> bool:
    """Whether the name is an option: `--password …`."""
    return lazy_regex(r"(?<![\w-])--[\w-]*\Z").search(name.string[max(0, name.start() - 40) : name.start()]) is not None


def _fills_line(name: re.Match[str], end: int) -> bool:
    """Whether the line contains only the name and the value (`  password: …`), as in YAML, unlike in prose."""
    first = max(0, name.start() - 80)
    newline = name.string.rfind("\n", first, name.start())
    if not name["sign"] or (newline < 0 and first):
        return False
    begins = lazy_regex(r"[ \t>-]*+(?:export[ \t]++)?[\"']?[\w.-]*+").fullmatch(
        name.string, max(newline + 1, first), name.start()
    )
    return begins is not None and lazy_regex(r"[ \t\r,;]*+(?:\n|\Z)").match(name.string, end) is not None


def _strip_punctuation(bare: str) -> str:
    """Remove trailing punctuation of the surrounding sentence or call."""
    return bare.rstrip(".,;:!?)]}>")


@lru_cache(maxsize=1024)
def _name_of_secret(key: str) -> re.Match[str] | None:
    folded = key.casefold()
    if not any(stem in folded for stem in STEMS):
        return None
    match = lazy_regex(rf"[\w.-]*?{NAME}").fullmatch(key)
    return None if match is None or lazy_regex(_OTHER_THING).match(match["suffix"]) else match


def is_assigned(key: str, text: str) -> bool:
    """Whether a text is a secret because of its key: `{"db_password": "…"}`."""
    name = _name_of_secret(key) if len(key) <= 120 else None
    return name is not None and is_value(text, is_token=bool(name["token"]))
