"""Deltas that find equal content in place restore the content, and are small for small changes; and versions of one
namespace follow each other in a pack."""

from itertools import pairwise

from dulwich.object_format import SHA1
from dulwich.pack import apply_delta
from hypothesis import example, given
from hypothesis import strategies as st

from baton_git.git.objects.pack_merge import encode_in_place, group_into_chains
from baton_git.git.objects.values import BLOB, COMMIT, FILE_MODE, TREE, encode_commit, encode_signature, object_id

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


def test_versions_of_a_namespace_follow_each_other_although_others_are_written_between_them():
    objects, written = {}, {}

    def add(kind, data):
        oid = object_id(kind, data, SHA1)
        objects[oid] = kind, data
        return oid

    tips = dict.fromkeys("abc")
    for time in range(30):
        name = "abc"[time % 3]
        blob = add(BLOB, f"{name} at {time}".encode())
        tree = add(TREE, b"%o item\0" % FILE_MODE + bytes.fromhex(blob))
        parents = [tips[name]] if tips[name] else []
        commit = encode_commit(tree, parents, encode_signature("A <a@b>", time, 0), f"{time}")
        tips[name] = add(COMMIT, commit)
        written |= dict.fromkeys((blob, tree, tips[name]), (name, -time))
    chains = group_into_chains({oid: kind for oid, (kind, _) in objects.items()}, objects.__getitem__, SHA1)
    assert sorted(oid for chain in chains for oid in chain) == sorted(objects)
    assert len(chains) == 3  # of commits, root trees and items
    for chain in chains:
        names = [written[oid][0] for oid in chain]
        assert sum(one != other for one, other in pairwise(names)) == 2
        assert [written[oid] for oid in chain] == sorted((written[oid] for oid in chain), key=_order)


def _order(version):
    """The namespace with the newest commit first, and in each the newest version first."""
    name, minus_time = version
    return "cba".index(name), minus_time
