"""Any damaged bytes: reading returns the right content or raises `Corrupt`, never another error or wrong content."""

from __future__ import annotations

import random

import pytest
from dulwich.object_format import SHA1
from hypothesis import given, settings
from hypothesis import strategies as st

from baton_git.core.errors import Corrupt
from baton_git.core.names import Oid
from baton_git.git.objects.values import decode_commit, decode_tree
from baton_git.git.store import Store

_HEADERS = st.sampled_from(
    [b"tree " + b"1" * 40, b"tree x", b"parent " + b"2" * 40, b"parent \xff", b"author A <a@b> 1 +0000", b"author x",
     b"author A <a@b> 99999999999999999999999 +0000", b"author A <a@b> 1 +9", b"encoding idna", b"encoding zip",
     b"encoding punycode", b"encoding \xff\0", b"encoding latin-1", b" more", b"gpgsig x", b""]
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(lines=st.lists(_HEADERS | st.binary(max_size=20), max_size=8), body=st.binary(max_size=20))
def test_any_bytes_are_a_commit_or_corrupt(lines, body):
    data = b"\n".join(lines) + b"\n\n" + body
    try:
        commit = decode_commit(Oid("1" * 40), data)
    except Corrupt:
        return
    assert commit.tree == "1" * 40
    commit.message.encode()


@settings(max_examples=150, deadline=None)
@given(data=st.binary(max_size=60) | st.binary(min_size=20, max_size=20).map(lambda name: b"100644 a\0" + name))
def test_any_bytes_are_a_tree_or_corrupt(data):
    try:
        entries = decode_tree(data, SHA1, "t")
    except Corrupt:
        return
    assert all(len(entry.oid) == 40 for entry in entries.values())


def _damaged(data: bytes, rng: random.Random) -> bytes:
    how = rng.randrange(4)
    at = rng.randrange(len(data))
    if how == 0:
        return data[:at]
    if how == 1:
        return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]
    if how == 2:
        return data[:at] + bytes(min(8, len(data) - at)) + data[at + 8 :]
    return data[:at] + b"\xff" * min(8, len(data) - at) + data[at + 8 :]


@pytest.mark.parametrize("suffix", [".pack", ".idx"])
def test_a_damaged_pack_or_index_never_gives_wrong_content(store, writer, top, suffix):
    for number in range(24):
        writer.commit({f"a/{number % 4}": b"line\n" * 30 + b"%d" % number, "b": b"%d" % number})
    store.pack(everything=True)
    tip = store.tip(writer.ref)
    commits = [commit.oid for commit in store.log(tip)]
    truth = {oid: (store.commit(oid), store.folder(store.commit(oid).tree).read("b")) for oid in commits}
    (path,) = (top / ".git/objects/pack").glob(f"*{suffix}")
    whole = path.read_bytes()
    path.chmod(0o644)
    rng = random.Random(suffix)
    damaged = 0
    for _ in range(150):
        path.write_bytes(_damaged(whole, rng))
        with Store(store.repository) as fresh:
            for oid in rng.sample(commits, 4):
                try:
                    commit = fresh.commit(oid)
                    assert (commit, fresh.folder(commit.tree).read("b")) == truth[oid]
                except Corrupt:
                    damaged += 1
    assert damaged
