"""The words of texts and questions, by the same rules for both.

The index splits a text into words and stems them; `searchable_text` prepares what it does not know: a compound name
(`maxConnections`) is found whole and by its parts, text in scripts without spaces between words by pairs of characters,
and a symbol by its number.

To compare two short texts without an index, `extract_terms` returns their terms: the stem of each word, numbers,
symbols, and compound names without punctuation.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from baton_git.recall.common_words import OVERVIEW_WORDS, STOP_WORDS, WEAK_WORDS

MAX_QUESTION = 5_000
"""Maximum length of a question in characters; the rest is ignored. In a URL, 12 bytes stand for a character of four
bytes, and llhttp, the parser of the server, takes no URL of more than 65,535 bytes."""
MAX_WORDS = 48
"""Maximum number of words of a question that are searched, the first ones."""
_MAX_NAME = 80
_TOKEN = re.compile(r"[^\W_]+(?:[._/:@-]+[^\W_]+)*|[\u2190-\u2bff\U0001f000-\U0001faff]")
_PART = re.compile(r"[^\W\d_]+|\d+(?:\.\d+)*")
_CAPITAL = re.compile(r"(?<![.!?:])[ ]([A-Z][^\W\d_]{2,})")
_CAMEL = re.compile(r"(?<=[a-z\d])(?=[A-Z])")
_INSIDE = re.compile(r"[A-Z](?<=[a-z\d][A-Z])[^ ]*")
"""A capital letter within a word, and the rest of the word. Beginning with the capital, it skips other text fast."""
_CAMEL_NAME = re.compile(r"(?<![^\W_])[A-Z]*[a-z\d]++[A-Z][^\W_]*")
_SYMBOL = re.compile(r"[\u2190-\u2bff\U0001f000-\U0001faff]")
_NAMED = r"(?:user|agent|another agent|a schedule|of unknown origin)(?: \([a-z ]+\))?: "
SPEAKER = re.compile(f"^{_NAMED}", re.MULTILINE)
"""What stands before a prompt, and before what the agent said: who it is, and why the prompt has no answer."""
_SPEAKER_LINE = re.compile(f"\n{_NAMED}")  # a line feed is found in a fifth of the time of a beginning of a line
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"
)
_UNSPACED_RUN = re.compile(f"{_UNSPACED.pattern}+")
_ALNUM = re.compile(r"[^\W_]+")
_ENDINGS = (
    ("ies", "y"), ("sses", "ss"), ("ations", "ate"), ("ation", "ate"), ("izing", "iz"), ("ized", "iz"), ("ize", "iz"),
    ("ings", ""), ("ing", ""), ("edly", ""), ("ed", ""), ("ely", ""), ("ly", ""), ("ments", ""), ("ment", ""),
    ("ness", ""), ("ers", ""), ("er", ""), ("es", ""), ("s", ""), ("e", ""),
)  # fmt: skip


class Query(NamedTuple):
    """What to search for a question: expressions of FTS5.

    Attributes:
        words: the expression for each word of the question, in order.
        beginnings: for some words, the expression for words that begin with it.
        names: the expressions for compound names.
        strong: the words that say most about the subject.
        proper: the strong words that have a capital letter within a sentence of the question (`Kafka`).
        terms: the stems of the words, to choose sentences.
        compounds: the compound names as they were typed, each with its words.
        signs: if the question is for a class of things, expressions for words of texts about one, with their weights.
        class_words: the words that name this class.
        class_kinds: the kinds of records that are such things.
        class_statuses: the statuses of such records that come before others; empty: all of live records.
        is_list: whether the answer should have a line of each thread.
    """

    words: dict[str, str]
    beginnings: dict[str, str]
    names: frozenset[str]
    strong: frozenset[str]
    proper: frozenset[str]
    terms: frozenset[str]
    compounds: tuple[tuple[str, frozenset[str]], ...] = ()
    signs: Mapping[str, float] = MappingProxyType({})
    class_words: frozenset[str] = frozenset()
    class_kinds: tuple[str, ...] = ()
    class_statuses: frozenset[str] = frozenset()
    is_list: bool = False


def searchable_text(text: str) -> str:
    """Return a text as the index gets it: see above. The speakers of turns are left out."""
    text = _SPEAKER_LINE.sub("\n", f"\n{text}")[1:]
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        text = _UNSPACED_RUN.sub(lambda run: f" {' '.join(_pairs(run[0]))} ", text)
        text = _SYMBOL.sub(lambda symbol: f" {_code(symbol[0])} ", text)
    return _add_parts(text)


def _add_parts(text: str) -> str:
    """Return a text with the parts of its names like `maxConnections` at its end.

    A search for whole names looks at each word of the text, which takes a fifth of the time of a build.
    """
    flat = text.replace("\n", " ")
    parts = [_parts_of(flat[flat.rfind(" ", 0, at.start()) + 1 : at.end()]) for at in _INSIDE.finditer(flat)]
    return f"{text}{''.join(parts)}" if parts else text


@lru_cache(maxsize=16_384)
def _parts_of(word: str) -> str:
    """Return the parts of the names in a word of a text, each after a space."""
    names = (_CAMEL.split(name) for name in _ALNUM.findall(word))
    return "".join(f" {' '.join(parts)}" for parts in names if len(parts) > 1)


def extract_terms(text: str) -> list[str]:
    """Return the terms of a text in order."""
    terms: list[str] = []
    for token in _TOKEN.findall(text if text.isascii() else _fold(text)):
        terms += _terms_of(token)
    return terms


_SO_FAR = re.compile(r"\b(?:so far|until now|up to now|by now)\b", re.IGNORECASE)
"""Phrases that say nothing about the subject, though one of their words can."""


def parse_question(question: str) -> Query:
    """Return what to search for a question: its words without function words, unless it has no others."""
    question = _SO_FAR.sub(" ", unicodedata.normalize("NFKC", question[:MAX_QUESTION]))
    tokens = _TOKEN.findall(question)
    listed = [(word, token) for token in tokens for word in _searched_words(token)]
    used = list(dict.fromkeys((word, token) for word, token in listed if word not in STOP_WORDS)) or listed
    capital = {name.lower() for name in _CAPITAL.findall(question)}
    used = used[:MAX_WORDS]
    shown = {word: token if _SYMBOL.match(token) else word for word, token in used}
    words = {shown[word]: f'"{word}"' for word, _ in used}
    names = frozenset(f'"{name}"' for _, token in used for name in _names_of(token)) - set(words.values())
    beginnings = {shown[word]: f'"{word}" *' for word, _ in used if _can_begin(word)}
    strong = frozenset(word for word in words if word not in WEAK_WORDS and (len(word) > 1 or not word.isascii()))
    terms = frozenset(stem(word) for word in words)
    parts = ((token, frozenset(_searched_words(token))) for token in dict.fromkeys(tokens))
    compounds = tuple((token, some) for token, some in parts if len(some) > 1 and some <= words.keys())
    return Query(words, beginnings, names, strong, strong & capital, terms, compounds)


def _can_begin(word: str) -> bool:
    """Whether words that begin with this one probably mean the same; of unspaced scripts, a single character does."""
    return (len(word) >= 4 and word.isalpha()) if word.isascii() else len(word) == 1


def is_overview(question: str, query: Query) -> bool:
    """Whether a question is about the progress of the work as a whole.

    The question must have at least two of `OVERVIEW_WORDS`, and no other strong words.
    """
    words = {word for token in _TOKEN.findall(_fold(question[:MAX_QUESTION])) for word in _words_of(token)}
    return len(words & OVERVIEW_WORDS) >= 2 and not query.strong - OVERVIEW_WORDS


def _searched_words(token: str) -> list[str]:
    """Return the words of a token, as the index splits it."""
    if not token.isascii():
        if _SYMBOL.match(token):
            return [_code(token)]
        token = _UNSPACED_RUN.sub(lambda run: f" {' '.join(_pairs(run[0]))} ", token)
    return [part.lower() for word in _ALNUM.findall(token) for part in _CAMEL.split(word)]


def _names_of(token: str) -> list[str]:
    """Return the compound names in a token: the whole as a sequence of its parts, and parts like `maxConnections`."""
    if len(token) > _MAX_NAME or not token.isascii():
        return []
    parts = [part.lower() for word in _ALNUM.findall(token) for part in _CAMEL.split(word)]
    return [*([" ".join(parts)] if len(parts) > 1 else []), *(name.lower() for name in _CAMEL_NAME.findall(token))]


@lru_cache(maxsize=65_536)
def _terms_of(token: str) -> tuple[str, ...]:
    """Return the terms of a token's parts, followed by the whole name if there are several parts."""
    if not token.isascii() and _UNSPACED.search(token):
        return tuple(_pairs_of(token))
    words = _words_of(token)
    if not words:
        return (_code(token[0]),)
    whole = _whole_name(token)
    return (*map(stem, words), *([whole] if len(words) > 1 and len(whole) <= _MAX_NAME else []))


def _words_of(token: str) -> list[str]:
    return [word.lower() for part in _PART.findall(token) for word in _CAMEL.split(part)]


def _whole_name(token: str) -> str:
    return "".join(_PART.findall(token)).lower()


def _pairs_of(token: str) -> list[str]:
    """Return the pairs of characters (or single characters) of unspaced scripts, and the stems of words in between."""
    terms: list[str] = []
    for run in re.findall(f"{_UNSPACED.pattern}+|[^\\W_]+?(?={_UNSPACED.pattern}|$|[\\W_])", token):
        if _UNSPACED.match(run):
            terms += _pairs(run)
        else:
            terms += [stem(word) for word in _words_of(run)]
    return terms


def _pairs(run: str) -> list[str]:
    return [run] if len(run) == 1 else [run[at : at + 2] for at in range(len(run) - 1)]


def _code(symbol: str) -> str:
    return f"u{ord(symbol):x}"


def _fold(text: str) -> str:
    """Return the text without accents, and with full-width letters converted to plain ones."""
    if text.isascii():
        return text
    plain = "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))
    return unicodedata.normalize("NFC", plain)


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Return the approximate stem of a lower-case English word."""
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)] + instead
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
        word = word[:-1]
    return word[:-1] if word.endswith("e") and len(word) > 4 else word
