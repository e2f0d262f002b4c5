"""Merging texts by lines keeps each side's changes, and gives the same result on every machine."""

from __future__ import annotations

from hashlib import sha256
from random import Random

from hypothesis import given
from hypothesis import strategies as st
from looped_cases import for_each
from strategies import laws

from baton_git.core.merge import merge_lines

Text = list[bytes]
texts = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"\n", b"d\r\n", b"e"]), max_size=12)

CASES = [
    ("both sides change a line of their own", "abcde", "aBcde", "abcDe", "aBcDe"),
    ("both make the same change", "abc", "aXc", "aXc", "aXc"),
    ("one removes, the other adds elsewhere", "abcd", "acd", "abcdE", "acdE"),
    ("both remove the same line", "abc", "ac", "ac", "ac"),
    ("both add to nothing what is the same", "", "ab", "ab", "ab"),
    ("both change one line", "abc", "aXc", "aYc", None),
    ("changed lines touch each other", "abcd", "aBcd", "abCd", None),
    ("one removes what the other changes", "abc", "ac", "aXc", None),
    ("both add at one place", "ab", "aXb", "aYb", None),
]


@for_each(("case", "base", "ours", "theirs", "expected"), CASES)
def test_changes_are_combined_unless_they_touch(
    case: str, base: str, ours: str, theirs: str, expected: str | None
) -> None:
    sides = [[letter.encode() for letter in text] for text in (base, ours, theirs)]
    merged = merge_lines(*sides)
    assert merged == (None if expected is None else [letter.encode() for letter in expected]), case


@laws
@given(texts, texts, texts)
def test_merging_texts_is_symmetric(base: Text, ours: Text, theirs: Text) -> None:
    assert merge_lines(base, ours, theirs) == merge_lines(base, theirs, ours)


@laws
@given(texts, texts)
def test_an_unchanged_side_takes_the_changes_of_the_other(base: Text, side: Text) -> None:
    assert merge_lines(base, base, side) == merge_lines(base, side, side) == side


def test_many_recorded_merges_have_the_recorded_results() -> None:
    """A merge commit is the same on every machine, so also with every version of Python and of its difflib."""
    random = Random(13)
    digest = sha256()
    for _ in range(300):
        base, ours, theirs = _versions(random)
        merged = merge_lines(base, ours, theirs)
        digest.update(b"conflict" if merged is None else b"".join(merged))
        digest.update(b"\0")
    assert digest.hexdigest() == "4bc91a4a99a1ebd2e6bb3afee980bb93a35a0ed5d5d7f1b9d4a77cc42d7f8328"


def _versions(random: Random) -> tuple[Text, Text, Text]:
    """Draw a text with lines repeated so often that difflib ignores them, and two edited copies."""
    words = [b"line %d\n" % number for number in range(random.randrange(3, 300))] + [b"\n"] * 5
    base = [words[random.randrange(len(words))] for _ in range(random.randrange(300))]
    return base, _edit(random, base, words), _edit(random, base, words)


def _edit(random: Random, base: Text, words: Text) -> Text:
    side = list(base)
    for _ in range(random.randrange(4)):
        start = random.randrange(len(side) + 1)
        end = start + random.randrange(4)
        side[start:end] = [words[random.randrange(len(words))] for _ in range(random.randrange(4))]
    return side
