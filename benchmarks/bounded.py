"""Time the processing of untrusted text of doubling sizes: JSON up to 16 MiB, redaction up to 4 MiB (minutes).

Processor time is measured, because it depends less on other programs. Each figure is the mean ratio between the times
for a size and for half of it: 2 for linear work, 4 for quadratic work. The time for the longest text and the largest
ratio are printed too; a single ratio exceeds 2 where the data no longer fits into a cache of the processor.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from itertools import pairwise

from measuring import missed, report

from baton_git.core.codecs import json
from baton_git.core.errors import BatonError
from baton_git.core.redaction import redact_text

MIB = 1 << 20
JSON_SIZES = [MIB, 2 * MIB, 4 * MIB, 8 * MIB, 16 * MIB]
REDACTION_SIZES = [MIB // 4, MIB // 2, MIB, 2 * MIB, 4 * MIB]
GOAL = 2.3
LEAST = 0.004
"""Seconds. A shorter time counts as this value, because it is mostly noise."""


def keys(size: int) -> str:
    """Return an object with very many keys, the last of which occurs twice."""
    count = size // 12
    return "{" + ",".join(f'"{number:07}":0' for number in range(count)) + f',"{count - 1:07}":0}}'


JSON: dict[str, Callable[[int], str]] = {
    "a key twice among very many": keys,
    "objects with a key twice": lambda size: "[" + ",".join(['{"a":1,"b":{}}'] * (size // 15)) + ',{"a":1,"a":1}]',
    "one string of escapes": lambda size: '{"a":"' + "\\\\" * (size // 2) + '"}',
    "a string without an end": lambda size: '{"a":"' + "a" * size,
    "faults below a long key": lambda size: '{"' + "k" * (size // 2) + '":[' + '"\\ud800",' * (size // 18) + "0]}",
    "opening brackets": lambda size: "[" * size,
    "numbers": lambda size: "[" + "1," * (size // 2) + "1]",
}
"""Functions that return a text of about the given size."""

REDACTED = {
    "keykeykey": "key",
    "names with a sign": "token=",
    "names with a value": "password: a1b2c3 ",
    "one letter": "a",
    "quotes": "key='",
    "escaped quotes": 'key=\\"',
    "backslashes": "\\",
    "tokens that are too long": "AKIA" + "A1" * 8,
    "tokens that do not end": "eyJaaaaaaaaaaaa.",
    "key blocks that do not begin": "A" * 40 + "\n-----END PRIVATE KEY-----",
    "key blocks that do not end": "-----BEGIN PRIVATE KEY-----\n",
    "command lines": "mysql -pa1 ",
    "addresses": "://a:b@",
    "tags": "<password>a",
    "marks": "[redacted: ",
    "invisible characters": "a\u200b",
    "names in other languages": "mot de passe : a",
    "sentences": "the password is now ",
    "bodies of keys": "MIIEpAIBAAKCAQEA\n",
    "tuples": "auth=('a', ",
    "lines": "\n",
    "prose": "The deploy failed because the token ran out. ",
}
"""Texts that are repeated until the size is reached."""


def measure(what: str, work: Callable[[str], object], sizes: list[int], text_of: Callable[[int], str]) -> None:
    """Report the mean and the largest ratio between the times for a size and for half of it."""
    work(text_of(1000))
    times = [max(best_of(1 if size == sizes[-1] else 2, work, text_of(size)), LEAST) for size in sizes]
    ratios = [later / earlier for earlier, later in pairwise(times)]
    figure = f"{what} ({times[-1]:.2f} s for {sizes[-1] // MIB} MiB, at most {max(ratios):.2f}×)"
    report(figure, statistics.geometric_mean(ratios), GOAL)


def best_of(runs: int, work: Callable[[str], object], text: str) -> float:
    return min(seconds(work, text) for _ in range(runs))


def seconds(work: Callable[[str], object], text: str) -> float:
    started = time.process_time()
    work(text)
    return time.process_time() - started


def repeated(unit: str) -> Callable[[int], str]:
    return lambda size: unit * (size // len(unit))


def read_json(text: str) -> None:
    try:
        json.loads(text)
    except BatonError:
        return


def main() -> None:
    for what, text_of in JSON.items():
        measure(f"JSON, {what}", read_json, JSON_SIZES, text_of)
    for what, unit in REDACTED.items():
        measure(f"redaction, {what}", redact_text, REDACTION_SIZES, repeated(unit))
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
