"""Credentials of many kinds in realistic settings, and harmless texts that look like credentials.

The tests generate the values, the same in each run, so no file contains a text that looks like a real secret.
"""

from __future__ import annotations

import random
import re
import string
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

_ALPHABETS = {
    "h": "0123456789abcdef",
    "H": "0123456789ABCDEF",
    "a": string.ascii_letters + string.digits,
    "l": string.ascii_lowercase + string.digits,
    "u": string.ascii_uppercase + string.digits,
    "d": string.digits,
    "w": string.ascii_letters + string.digits + "_-",
    "b": string.ascii_letters + string.digits + "+/",
    "o": string.ascii_lowercase,
    "e": "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
}
_ALONE = ("use {} for it, then go on", '{{"note": "{}"}}', "export SOME_VALUE={}\n", "X-Thing: {}")
_PLACE = re.compile(r"\{(?:([gzkt])|([hHaludwboepmn])(\d+)([ux]?))\}")
_SIGNS = {"z": "\u200b", "k": "\1", "t": "\t"}
_SYLLABLES = (
    "ba",
    "cro",
    "den",
    "fla",
    "gri",
    "hol",
    "jun",
    "kip",
    "lom",
    "mer",
    "nas",
    "pot",
    "rus",
    "tev",
    "wil",
    "zan",
)


class Planted(NamedTuple):
    """A text with a secret in it."""

    kind: str
    text: str
    secret: str


SEEN, HELD_OUT = "", "held_out_"
"""The two parts of the corpus: what the rules were written for, and what is counted only: a third of the kinds of 2026,
chosen by provider before the rules were written."""


def secrets(part: str = SEEN) -> Iterator[Planted]:
    """Return the credentials of a part; those that are recognised without their context are in several settings."""
    for kind, template in _rows(f"{part}secrets.txt"):
        text = _filled(kind, template)
        secret = re.search("‹(.*?)›", text, re.DOTALL)[1]
        whole = text.replace("‹", "").replace("›", "")
        settings = _ALONE if whole == secret and "\n" not in whole else ("{}",)
        for setting in settings:
            yield Planted(kind, setting.format(whole) if setting != "{}" else whole, secret)


def harmless(part: str = SEEN) -> Iterator[str]:
    """Return the texts of a part without a secret."""
    for line in _lines(f"{part}harmless.txt"):
        yield _filled(line, line)


def _rows(name: str) -> Iterator[list[str]]:
    return (line.split(" :: ", 1) for line in _lines(name))


def _lines(name: str) -> list[str]:
    lines = Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("# ")]


def _filled(seed: str, template: str) -> str:
    source = random.Random(seed)
    text = _PLACE.sub(lambda place: _value(source, place), template)
    return text.replace("\\\\n", "\0").replace("\\n", "\n").replace("\0", "\\n").replace("\1", "\\")


def _value(source: random.Random, place: re.Match[str]) -> str:
    sign, alphabet, size, style = place[1], place[2], int(place[3] or 0), place[4]
    if sign == "g":
        return str(UUID(int=source.getrandbits(128), version=4))
    if sign:
        return _SIGNS[sign]
    if alphabet == "m":
        return " ".join("".join(source.choices(_SYLLABLES, k=2)) for _ in range(size))
    if alphabet == "n":
        return ",".join(str(source.randrange(256)) for _ in range(size))
    if alphabet == "p":
        signs = {"u": "-._~!", "x": "!#%*+-_"}.get(style, "!#%*+-_@")
        made = "".join(source.choice(_ALPHABETS["a"] + signs) for _ in range(size - 2))
        return f"{source.choice(string.ascii_letters)}{made}{source.choice(string.digits)}"
    made = "".join(source.choice(_ALPHABETS[alphabet]) for _ in range(size))
    if size >= 12 and alphabet not in "do":  # a long token without a digit, or without a letter, is too rare to matter
        made = f"{made[:3]}{source.choice('abcdef' if alphabet not in 'uH' else 'ABCDEF')}7{made[5:]}"
    return made
