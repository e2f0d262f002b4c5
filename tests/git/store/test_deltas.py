"""Deltas that find equal content in place restore the content, and are small for small changes."""

from dulwich.pack import apply_delta
from hypothesis import example, given
from hypothesis import strategies as st

from baton_git.git.objects.deltas import encode_in_place

LARGEST = 1 << 16


@st.composite
def versions(draw):
    """Return two versions of a content: parts of the first are replaced, often by others of the same length."""
    base = draw(st.binary(max_size=300)) * draw(st.sampled_from([1, 1, 200]))
    data = bytearray(base[:LARGEST])
    for _ in range(draw(st.integers(0, 4))):
        place = draw(st.integers(0, len(data)))
        new = draw(st.binary(max_size=200))
        data[place : place + draw(st.sampled_from([0, len(new), len(new), 7]))] = new
    return base[:LARGEST], bytes(data[:LARGEST])


@given(versions())
@example((bytes(range(100)), bytes([*range(10), 0, *range(11, 50), 0, *range(51, 100)])))
@example((b"", b""))
@example((b"", b"x" * LARGEST))
@example((b"x" * LARGEST, b"x" * (LARGEST - 1)))
@example((b"x" * (LARGEST - 1) + b"y", b"x" * LARGEST))
@example((b"x" * 300 + b"\0" * 20 + b"y", b"z" + b"x" * 299 + b"\0" * 20 + b"z"))
def test_a_delta_restores_the_content(pair):
    base, data = pair
    assert b"".join(apply_delta(base, encode_in_place(base, data))) == data


@given(st.binary(min_size=2000, max_size=3000), st.sets(st.integers(0, 1999), max_size=5))
def test_a_delta_of_a_few_changed_bytes_is_small(base, places):
    data = bytearray(base)
    for place in places:
        data[place] ^= 0xFF
    assert len(encode_in_place(base, bytes(data))) <= 10 + 40 * (len(places) + 1)
