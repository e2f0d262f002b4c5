"""Extract the terms of texts and questions, by the same rules for both.

A term is the stem of a word, a number or a symbol. A compound name (`max_connections`, `app/models/user.py`) yields the
terms of its parts and the whole name without punctuation. Text in scripts without spaces between words yields pairs of
characters.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

from baton_git.recall.common_words import OVERVIEW_WORDS, STOP_WORDS, WEAK_WORDS

MAX_QUESTION = 8_192
"""Maximum length of a question in characters; the rest is ignored."""
MAX_QUERY_TERMS = 64
_MAX_NAME = 80
_WEAK = 0.5
"""The weight of a weak word; other terms have the weight 1."""

_TOKEN = re.compile(r"[^\W_]+(?:[._/:@-]+[^\W_]+)*|[\u2190-\u2bff\U0001f000-\U0001faff]")
_PART = re.compile(r"[^\W\d_]+|\d+(?:\.\d+)*")
_CAPITAL = re.compile(r"(?<![.!?:])[ ]([A-Z][^\W\d_]{2,})")
_CAMEL = re.compile(r"(?<=[a-z\d])(?=[A-Z])")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"
)
_ENDINGS = (
    ("ies", "y"), ("sses", "ss"), ("ations", "ate"), ("ation", "ate"), ("izing", "iz"), ("ized", "iz"), ("ize", "iz"),
    ("ings", ""), ("ing", ""), ("edly", ""), ("ed", ""), ("ely", ""), ("ly", ""), ("ments", ""), ("ment", ""),
    ("ness", ""), ("ers", ""), ("er", ""), ("es", ""), ("s", ""), ("e", ""),
)  # fmt: skip


class Query(NamedTuple):
    """The terms of a question.

    Attributes:
        weights: the weight of each term.
        names: the terms that are whole compound names. They affect the ranking, but are no evidence of a match.
        strong: the significant terms, which name the subject of the question. They are evidence of a match.
        proper: the significant terms that have a capital letter within a sentence of the question (`Kafka`).
    """

    weights: dict[str, float]
    names: frozenset[str]
    strong: frozenset[str]
    proper: frozenset[str]


def extract_terms(text: str) -> list[str]:
    """Return the terms of a text in order."""
    terms: list[str] = []
    for token in _TOKEN.findall(text if text.isascii() else _fold(text)):
        terms += _terms_of(token)
    return terms


def parse_question(question: str) -> Query:
    """Return the terms of a question, without stop words unless it has nothing else."""
    weights: dict[str, float] = {}
    names: set[str] = set()
    tokens = _TOKEN.findall(_fold(question[:MAX_QUESTION]))
    for token in tokens:
        for word in _words_of(token) if token.isascii() else _terms_of(token):
            if word not in STOP_WORDS:
                is_weak = word in WEAK_WORDS or (len(word) < 2 and word.isascii())
                weights.setdefault(stem(word), _WEAK if is_weak else 1.0)
        if len(_words_of(token)) > 1 and token.isascii():
            names.add(_terms_of(token)[-1])
            weights.setdefault(_terms_of(token)[-1], 1.0)
    if not weights:
        weights = {term: _WEAK for token in tokens for term in _terms_of(token)}
    weights = dict(sorted(weights.items(), key=lambda item: -item[1])[:MAX_QUERY_TERMS])
    strong = {term for term, weight in weights.items() if weight == 1.0} - names
    return Query(
        weights, frozenset(names & weights.keys()), frozenset(strong), frozenset(strong & _proper_names(question))
    )


def _proper_names(question: str) -> set[str]:
    """Return the stems of capitalised words that do not begin a sentence."""
    words = _CAPITAL.findall(_fold(question[:MAX_QUESTION]))
    return {stem(word.lower()) for word in words}


def is_overview(question: str, query: Query) -> bool:
    """Whether a question is about the progress of the work as a whole.

    The question must have at least two of `OVERVIEW_WORDS`, and no other significant terms.
    """
    words = {word for token in _TOKEN.findall(_fold(question[:MAX_QUESTION])) for word in _words_of(token)}
    about = {stem(word) for word in words - OVERVIEW_WORDS}
    return len(words & OVERVIEW_WORDS) >= 2 and not query.strong & about


@lru_cache(maxsize=65_536)
def _terms_of(token: str) -> tuple[str, ...]:
    """Return the terms of a token's parts, followed by the whole name if there are several parts."""
    if not token.isascii() and _UNSPACED.search(token):
        return tuple(_pairs_of(token))
    words = _words_of(token)
    if not words:
        return (f"u{ord(token[0]):x}",)
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
            terms += run if len(run) == 1 else [run[at : at + 2] for at in range(len(run) - 1)]
        else:
            terms += [stem(word) for word in _words_of(run)]
    return terms


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
