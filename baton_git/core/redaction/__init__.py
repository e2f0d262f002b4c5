r"""Redact secrets before they are stored: replace them with `[redacted: kind]` and report where they were.

State is committed, pushed and kept forever, so a stored secret could not be withdrawn. Secrets are:

- formats that providers document, and credentials on command lines, in URLs, headers and configuration files;
- blocks of private keys, including blocks split over the items of a list;
- values assigned to a name such as `password`, `api_key` or `token`.

Text is not redacted only because it looks random: records are full of commit ids, UUIDs, hashes and addresses, which a
detector based on entropy would redact. Therefore a secret is not found if it has neither a known format nor such a
name before it, or if it is split over several strings (except for a private key).

All searches take linear time. A regular expression is compiled only when a text contains one of its signs (see
`finding`).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Container, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from baton_git.core.redaction import finding
from baton_git.core.redaction.assigned import KIND as _KEYWORD
from baton_git.core.redaction.assigned import is_assigned
from baton_git.core.redaction.finding import Span, find_spans

__all__ = ["Redaction", "find_secret_kind", "redact", "redact_text"]

_ROUNDS = 6
_REMEMBERED = 4096
"""Maximum length of a cached text, in characters. The same texts are searched repeatedly: keys, and prompts, which are
stored both in the turns of a session and among its facts."""


class Redaction(NamedTuple):
    """One redacted secret: its path (`recent_occurrences[2].context`) and its kind (`github token`)."""

    path: str
    kind: str


def redact(value: Any, *, known: Container[str] = frozenset()) -> tuple[Any, tuple[Redaction, ...]]:
    """Replace the secrets in all strings of a value, including mapping keys, and return it with the redactions.

    A string under a key that names a secret (`{"db_password": "…"}`) counts as assigned to that name. If there is no
    secret, the result is `value` itself. Redacting a result again changes nothing.

    Args:
        value: nested dicts, lists, tuples and scalars; the caller limits the depth.
        known: strings that are already stored and are not searched again.
    """
    walk = _Walk(known)
    return walk.clean(value, None, ""), tuple(walk.found)


def redact_text(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the text with its secrets replaced, and the kinds of the secrets in the order found."""
    kinds: list[str] = []
    for _ in range(_ROUNDS):
        spans = find_spans(text)
        if not spans:
            return text, tuple(kinds)
        kinds += [span.kind for span in spans]
        text = _replace(text, spans)
    # Not expected, because each round should find fewer secrets. The whole text is replaced, so that no secret leaks.
    return _mark(kinds[0]), tuple(kinds)


_redact_remembered = lru_cache(maxsize=1024)(redact_text)


def _redact_again(text: str) -> tuple[str, tuple[str, ...]]:
    """Like `redact_text`, with a cache for short texts."""
    return _redact_remembered(text) if len(text) <= _REMEMBERED else redact_text(text)


def find_secret_kind(text: str) -> str | None:
    """Return the kind of the first secret in `text`, or None. For ids and names, which cannot be redacted."""
    return next((span.kind for span in find_spans(text)), None)


_Path = tuple[Any, Any] | None
"""The parent's path and the last step. Converted to text only for redactions, because keys can be long."""


class _Walk:
    """One pass over a value. Parts without secrets remain the same objects."""

    def __init__(self, known: Container[str]) -> None:
        self._known = known
        self.found: list[Redaction] = []

    def clean(self, value: Any, path: _Path, name: str) -> Any:
        """Return `value` without secrets; `name` is the key of the value, or empty."""
        if isinstance(value, str):
            return value if value in self._known else self._clean_string(value, path, name)
        if isinstance(value, Mapping):
            return self._clean_mapping(value, path)
        if isinstance(value, list | tuple):
            return self._clean_list(value, path, name)
        return value

    def _report(self, path: _Path, kind: str) -> None:
        self.found.append(Redaction(_write_path(path), kind))

    def _clean_string(self, text: str, path: _Path, name: str) -> str:
        if name and is_assigned(name, text):
            self._report(path, _KEYWORD)
            return _mark(_KEYWORD)
        clean, kinds = _redact_again(text)
        for kind in kinds:
            self._report(path, kind)
        return clean if kinds else text

    def _clean_list(self, value: list[Any] | tuple[Any, ...], path: _Path, name: str) -> Any:
        blocks = _split_blocks(value)
        items = []
        for number, item in enumerate(value):
            spans = blocks.get(number, [])
            for span in spans:
                self._report((path, number), span.kind)
            items.append(self.clean(_replace(item, spans) if spans else item, (path, number), name))
        same = all(new is old for new, old in zip(items, value, strict=True))
        return value if same else type(value)(items)

    def _clean_mapping(self, value: Mapping[Any, Any], path: _Path) -> Any:
        result: dict[Any, Any] = {}
        changed = False
        numbers: Counter[str] = Counter()
        for key, item in value.items():
            if key in self._known and isinstance(item, str) and item in self._known:  # true for most fields
                result[key] = item
                continue
            new_key = self._clean_key(key, path, numbers, value, result)
            name = key if isinstance(key, str) else ""
            result[new_key] = self.clean(item, (path, new_key), name)
            changed |= new_key is not key or result[new_key] is not item
        return result if changed else value

    def _clean_key(self, key: Any, path: _Path, numbers: Counter[str], *taken: Container[Any]) -> Any:
        """Return the redacted key, with a number if it is now equal to another key, so that no value is lost."""
        if not isinstance(key, str) or key in self._known:
            return key
        clean, kinds = _redact_again(key)
        if not kinds:
            return key
        unique = clean
        while any(unique in names for names in taken):
            numbers[clean] += 1
            unique = f"{clean} {numbers[clean] + 1}"
        for kind in kinds:
            self._report((path, unique), kind)
        return unique


def _split_blocks(items: list[Any] | tuple[Any, ...]) -> dict[int, list[Span]]:
    """Return the parts of private keys that span several items of a list, by the index of the item."""
    texts = [item if isinstance(item, str) else "" for item in items]
    if len(texts) < 2 or not any("PRIVATE KEY" in text or "PuTTY-User-Key" in text for text in texts):
        return {}
    spans_by_item: dict[int, list[Span]] = {}
    blocks = list(finding.find_blocks("\n".join(texts), is_list=True))
    at = 0
    for number, text in enumerate(texts):
        end = at + len(text)
        inside = [(max(start, at) - at, min(stop, end) - at) for start, stop in blocks if start < end and stop > at]
        spans_by_item[number] = [Span(start, stop, finding.KIND) for start, stop in inside if start < stop]
        at = end + 1
        blocks = [block for block in blocks if block[1] > at]
    return spans_by_item


_WORD = re.compile(r"[\w-]+")
_STEP = 200
"""Maximum characters of a key in a path: many secrets may be nested below a key of megabytes."""


def _write_path(path: _Path) -> str:
    """Return a path as text: `a.b[2]`, or `a["b c"]` if a key is not a word."""
    steps: list[str] = []
    while path is not None:
        path, step = path
        step = step[:_STEP] if isinstance(step, str) else step
        if isinstance(step, int):
            steps.append(f"[{step}]")
        elif isinstance(step, str) and _WORD.fullmatch(step):
            steps.append(f".{step}" if path is not None else step)
        else:
            steps.append(f"[{json.dumps(step, ensure_ascii=False)}]")
    return "".join(reversed(steps))


def _mark(kind: str) -> str:
    return f"[redacted: {kind}]"


def _replace(text: str, spans: list[Span]) -> str:
    pieces, at = [], 0
    for span in spans:
        pieces += [text[at : span.start], _mark(span.kind)]
        at = span.end
    return "".join([*pieces, text[at:]])
