"""Encode and decode git's objects: trees, commits and their signatures.

tree    ::= (mode " " name NUL id)*            sorted by name, folders as if they ended in "/"
commit  ::= "tree " id NL ("parent " id NL)* "author " who NL "committer " who NL (header NL)* NL message
who     ::= name " <" mail "> " seconds " " ("+"|"-") hhmm
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, cast

from dulwich.object_format import ObjectFormat

from baton_git.core.errors import Corrupt, InvalidArgument
from baton_git.core.names import SUBMODULE, Oid

COMMIT: Final = 1
TREE: Final = 2
BLOB: Final = 3
TYPE_NAMES: Final[Mapping[int, bytes]] = {1: b"commit", 2: b"tree", 3: b"blob", 4: b"tag"}
TYPE_NUMBERS: Final[Mapping[bytes, int]] = {name: number for number, name in TYPE_NAMES.items()}

FOLDER_MODE: Final = 0o040000
FILE_MODE: Final = 0o100644
SUBMODULE_MODE: Final = 0o160000

_WHO = re.compile(r"(?P<who>.*) (?P<time>-?\d{1,99}) (?P<sign>[+-])(?P<zone>\d{1,6})\Z", re.DOTALL)
_HEX = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")
_AUTHOR = re.compile(r"[^<>\n\0]+ <[^<>\n\0]*>\Z")


class PartOid(str):
    """The id that a part of a stored blob would have as a blob of its own, and where that part lies.

    It equals the plain id, and whatever reads objects can read it; the repository need not have such a blob.
    """

    __slots__ = ("container", "end", "start")

    def __new__(cls, oid: str, container: Oid, start: int, end: int) -> PartOid:
        part = super().__new__(cls, oid)
        part.container, part.start, part.end = container, start, end
        return part

    container: Oid
    start: int
    end: int


class SubmoduleOid(str):
    """The id of the commit of a submodule, which another repository has. It reads as the text that git shows for it, so
    that whoever reads all files of a tree takes it for a file that is no record, and not for a damaged one."""

    __slots__ = ()

    @property
    def content(self) -> bytes:
        return SUBMODULE + f"{self}\n".encode()


class TreeEntry(NamedTuple):
    """An entry of a tree: the id of the object, and git's mode (0o40000 is a folder)."""

    oid: Oid
    is_folder: bool
    mode: int


Edit = bytes | Oid | TreeEntry | None
"""New value of a path: content, the id of an existing blob, an entry of another tree, or None to remove the path."""


class CommitInfo(NamedTuple):
    """A commit. `author` is "Name <mail>", `time` seconds since 1970, `timezone` seconds east of UTC.

    Both numbers are taken from the commit unchecked, so they may not be a valid date or time zone.
    `message` has no line breaks at its end.
    """

    oid: Oid
    tree: Oid
    parents: tuple[Oid, ...]
    author: str
    time: int
    timezone: int
    message: str


def object_id(kind: int, data: bytes, form: ObjectFormat) -> Oid:
    """Return git's id for an object of this type and content."""
    digest = form.hash_func()
    digest.update(b"%s %d\0" % (TYPE_NAMES[kind], len(data)))
    digest.update(data)
    return Oid(digest.hexdigest())


def decode_tree(data: bytes, form: ObjectFormat, where: str) -> dict[str, TreeEntry]:
    """Decode the entries of a tree by name; `where` names the tree in errors.

    Raises:
        Corrupt: the bytes are not a tree.
    """
    try:
        return {
            name.decode("utf-8", "surrogateescape"): _decode_entry(mode, oid)
            for mode, name, oid in raw_entries(data, form.oid_length)
        }
    except ValueError as error:
        raise Corrupt(where, f"is not a tree ({error})") from error


def _decode_entry(digits: bytes, oid: bytes) -> TreeEntry:
    mode = int(digits, 8)
    return TreeEntry(name_entry(mode, oid), mode & 0o170000 == FOLDER_MODE, mode)


def name_entry(mode: int, oid: bytes) -> Oid:
    """Return the id of an entry of a tree."""
    return cast("Oid", SubmoduleOid(oid.hex())) if mode == SUBMODULE_MODE else Oid(oid.hex())


class RawEntry(NamedTuple):
    mode: bytes
    name: bytes
    oid: bytes

    @property
    def shown(self) -> str:
        """The name as text for messages; bytes that are not UTF-8 are escaped."""
        return self.name.decode("utf-8", "backslashreplace")


def raw_entries(data: bytes, width: int) -> Iterator[RawEntry]:
    """Yield the undecoded entries of a tree, in stored order; `width` is the length of an id in bytes.

    Raises:
        ValueError: the tree is truncated, or an entry is malformed.
    """
    at = 0
    while at < len(data):
        space = data.index(b" ", at)
        end = data.index(b"\0", space)
        after = end + 1 + width
        if after > len(data):
            raise ValueError("it is truncated")
        yield RawEntry(data[at:space], data[space + 1 : end], data[end + 1 : after])
        at = after


_SMALL_TREE: Final = 100
"""Number of entries up to which a tree is encoded as a whole."""
_SMALL_SHARE: Final = 16
"""A tree is also encoded as a whole if at least one of this many entries changed."""


class EncodedTree(NamedTuple):
    """A tree in both forms: its entries in git's order, and its bytes."""

    entries: Mapping[str, TreeEntry]
    data: bytes


def edit_tree(
    entries: Mapping[str, TreeEntry], read: Callable[[], bytes], edits: Mapping[str, TreeEntry | None]
) -> EncodedTree:
    """Return a tree with some entries changed, added or (None) removed.

    Of a large tree only the changed entries are encoded: otherwise the time of a write would grow with the number of
    files in its folder.

    Args:
        entries: the entries of the tree, in its order.
        read: returns the bytes of the tree; called only for a large tree.
    """
    if len(entries) > _SMALL_TREE and len(edits) * _SMALL_SHARE < len(entries):
        spliced = _splice_tree(EncodedTree(entries, read()), edits)
        if spliced is not None:
            return spliced
    changed = {name: entry for name, entry in {**entries, **edits}.items() if entry is not None}
    changed = dict(sorted(changed.items(), key=_sort_key))
    return EncodedTree(changed, b"".join(_encode_entry(item) for item in changed.items()))


_Item = tuple[str, TreeEntry]


def _splice_tree(tree: EncodedTree, edits: Mapping[str, TreeEntry | None]) -> EncodedTree | None:
    """Return the tree after the edits; None if it is not encoded as git does."""
    items, data = list(tree.entries.items()), tree.data
    for name, entry in edits.items():
        for item, is_added in ((tree.entries.get(name), False), (entry, True)):
            if item is None:
                continue
            at = bisect_left(items, _sort_key((name, item)), key=_sort_key)
            if not is_added and items[at : at + 1] != [(name, item)]:
                return None
            start = data.find(_encode_entry(items[at])) if at < len(items) else len(data)
            if start < 0:
                return None
            end = start if is_added else start + len(_encode_entry(items[at]))
            new = [(name, item)] if is_added else []
            items[at : at + 1 - is_added] = new
            data = data[:start] + b"".join(map(_encode_entry, new)) + data[end:]
    return EncodedTree(dict(items), data)


def _sort_key(item: _Item) -> bytes:
    name = item[0].encode("utf-8", "surrogateescape")
    return name + b"/" if item[1].is_folder else name


def _encode_entry(item: _Item) -> bytes:
    name, entry = item
    return b"%o %s\0%s" % (entry.mode, name.encode("utf-8", "surrogateescape"), bytes.fromhex(entry.oid))


def decode_commit(name: Oid, data: bytes) -> CommitInfo:
    """Decode a commit; bytes that do not fit its text encoding are replaced.

    Raises:
        Corrupt: the bytes are not a commit.
    """
    head, _, body = data.partition(b"\n\n")
    fields = _headers(head.split(b"\n"))
    codec = fields.get(b"encoding", [b"utf-8"])[0].decode("ascii", "replace")
    who = _WHO.match(_text(fields.get(b"author", [b""])[0], codec))
    names = [*fields.get(b"tree", ()), *fields.get(b"parent", ())]
    if who is None or len(fields.get(b"tree", ())) != 1 or not all(map(_HEX.match, names)):
        raise Corrupt(f"commit {name}", "is not in the form of a commit")
    tree, *parents = (Oid(name_bytes.decode()) for name_bytes in names)
    hours, minutes = divmod(int(who["zone"]), 100)
    offset = hours * 3600 + minutes * 60
    return CommitInfo(
        oid=name,
        tree=tree,
        parents=tuple(parents),
        author=who["who"],
        time=int(who["time"]),
        timezone=-offset if who["sign"] == "-" else offset,
        message=_text(body, codec).rstrip("\n"),
    )


def _headers(lines: Iterable[bytes]) -> dict[bytes, list[bytes]]:
    """Return the values of header lines by key; continuation lines (of signatures) are skipped."""
    fields: dict[bytes, list[bytes]] = {}
    for line in lines:
        key, _, value = line.partition(b" ")
        if key:
            fields.setdefault(key, []).append(value)
    return fields


def _text(data: bytes, codec: str) -> str:
    try:
        return data.decode(codec, "replace")
    except (LookupError, ValueError):  # the codec is unknown or does not decode to text
        return data.decode("utf-8", "replace")


def encode_signature(author: str, time: int, timezone: int) -> bytes:
    """Encode `Name <mail> seconds +hhmm`, the form used in commits and reflogs.

    Raises:
        InvalidArgument: the author is not "Name <mail>" on one line, or the time or time zone is out of range.
    """
    if not _AUTHOR.match(author):
        raise InvalidArgument(f"author {author!r} is not of the form 'Name <mail>'")
    if abs(timezone) >= 24 * 3600 or time < 0:
        raise InvalidArgument(f"time {time} with time zone {timezone} s cannot be written in a commit")
    minutes = abs(timezone) // 60
    sign = "-" if timezone < 0 else "+"
    return f"{author} {time} {sign}{minutes // 60:02d}{minutes % 60:02d}".encode("utf-8", "surrogateescape")


def encode_commit(tree: Oid, parents: Sequence[Oid], who: bytes, message: str) -> bytes:
    """Encode a commit whose committer is its author; the message will end with exactly one line break.

    Raises:
        InvalidArgument: the message contains a NUL character.
    """
    if "\0" in message:
        raise InvalidArgument("a commit message cannot hold a NUL character")
    lines = [b"tree " + tree.encode(), *(b"parent " + parent.encode() for parent in parents)]
    lines += [b"author " + who, b"committer " + who, b"", message.rstrip("\n").encode("utf-8", "replace"), b""]
    return b"\n".join(lines)


def count_equal(left: bytes, right: bytes) -> int:
    """Return how many bytes at the beginning are equal."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


# --- signatures, byte for byte like git
#
# signed ::= header* key " " line NL (" " line NL)* NL message       key: "gpgsig"; "gpgsig-sha256" if ids are SHA-256
#
# The signed bytes are the commit without these lines and without the signature for the other hash function.

_LINE = re.compile(rb"[^\n]*\n|[^\n]+")
_LONG_IDS = re.compile(rb"tree [0-9a-f]{64}\n")
_PREFIX: Final = b"gpgsig"


def with_signature(payload: bytes, signature: bytes) -> bytes:
    """Return the commit `payload` with its armored signature as the last header."""
    head, _, message = payload.partition(b"\n\n")
    folded = signature.rstrip(b"\n").replace(b"\n", b"\n ")
    return b"%s\n%s %s\n\n%s" % (head, _key(payload), folded, message)


def without_signature(raw: bytes) -> tuple[bytes, bytes | None]:
    """Return the signed bytes of a commit, and its armored signature or None if it has none for its hash function."""
    head, blank, message = raw.partition(b"\n\n")
    key = _key(raw) + b" "
    payload: list[bytes] = []
    signature: list[bytes] = []
    other_signature: list[bytes] = []
    into = payload
    for line in _LINE.findall(head + blank[:1]):
        if line.startswith(key):
            into = signature
        elif not line.startswith(b" "):
            into = other_signature if line.startswith(_PREFIX) else payload
        into.append(line.removeprefix(key).removeprefix(b" ") if into is signature else line)
    return b"".join(payload) + blank[1:] + message, b"".join(signature) or None


def _key(commit: bytes) -> bytes:
    return b"gpgsig-sha256" if _LONG_IDS.match(commit) else b"gpgsig"
