"""How layout 2 stores the records that layout 1 stores as one file each. Everything else sees the paths of layout 1.

    open_loops/=3/=f/<id>.toml               live records, fanned out by the first digits of the SHA-256 of the id
    handoffs/=3/=f/<agent>%2f<name>.toml     an id of two parts is one file name there
    archive/open_loops/=2026-03/=3f.toml     a bundle: archived records whose SHA-256 begins with 3f, closed in 2026-03

No encoded name begins with `=`. A bundle is the exact texts of the files one after another, each below a separator
line with the name of its file. A file of its own takes precedence over a copy in a bundle.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import sha256
from itertools import islice
from typing import Final, NamedTuple

from baton_git.core.codecs import toml
from baton_git.core.errors import BrokenFormat, InvalidDocument, InvalidName, NewerLayout, shorten
from baton_git.core.kinds import ARCHIVE, CLOSED, KIND_OF_FOLDER, KINDS, KindInfo
from baton_git.core.names import FORMAT_FILE, RecordId

FORMAT: Final = 1
"""The layout version with which a namespace begins. The schemas of records have this number, too."""
NEWEST_FORMAT: Final = 2
"""The newest layout version that this program knows."""
FAN_FROM: Final = 1_000
"""A folder with more live records than this is fanned out by the next write to it."""
BUNDLE_BYTES: Final = 64 * 1024
"""A bundle with more bytes than this, and more than one record, is split by the next digit."""
MAX_BUNDLE_BYTES: Final = 4 * 1024 * 1024
"""A larger bundle is not read. The largest archived record has half of this."""
MAX_BUNDLED: Final = 4_096
"""A bundle with more records than this is not read."""
MAX_DIGITS: Final = 8
"""Maximum number of digits in the name of a bundle."""

_SEPARATOR: Final = b"=== "
_SEPARATORS: Final = re.compile(rb"^=== ([^\n]*)\n", re.MULTILINE)
_FAN: Final = re.compile(r"=([0-9a-f])/=([0-9a-f])/([^/=][^/]*)")
_BUNDLE: Final = re.compile(rf"=\d{{4}}-\d{{2}}/=([0-9a-f]{{0,{MAX_DIGITS}}})\.toml")
_MONTH: Final = re.compile(r"=\d{4}-\d{2}")
_VERSION: Final = re.compile(rb"^version *= *1[ \t]*$", re.MULTILINE)


def read_version(text: bytes) -> object:
    """Return the layout version in the text of `format.toml`; None if it cannot be read."""
    try:
        return toml.loads(text).get("version")
    except InvalidDocument:
        return None


def check_format(text: bytes | None) -> None:
    """Check the text of `format.toml`; None, if there is no such file, is not checked.

    Raises:
        NewerLayout: it names no version that this program knows.
        BrokenFormat: it cannot be read, or its version is not a number.
    """
    if text is None:
        return
    try:
        version = toml.loads(text).get("version")
    except InvalidDocument as error:
        raise BrokenFormat(FORMAT_FILE, str(error)) from error
    if not isinstance(version, int) or isinstance(version, bool) or version < FORMAT:
        found = "it names no version" if version is None else f"its version is {shorten(str(version))}, no layout"
        raise BrokenFormat(FORMAT_FILE, found)
    if version > NEWEST_FORMAT:
        raise NewerLayout(
            FORMAT_FILE,
            f"the branch has layout version {version!r}, this program knows {NEWEST_FORMAT}",
            hint="upgrade baton-git",
        )


def raise_version(text: bytes) -> bytes:
    """Return the text of `format.toml` with version 2 in place of version 1."""
    return _VERSION.sub(b"version = 2", text)


# --- fanned out folders


@lru_cache(maxsize=16_384)
def digits_of(id_: str) -> str:
    """Return the hex digits of the SHA-256 of an id."""
    return sha256(id_.encode()).hexdigest()


@lru_cache(maxsize=16_384)
def find_fanned_path(kind: str, path: str) -> str | None:
    """Return where a fanned out folder of a kind stores the live record at `path`; both are relative to that folder.

    Returns:
        None if no record can have this path, or if its whole id is too long for one file name.
    """
    row = KINDS[kind]
    id_ = row.id_of(path)
    if id_ is None:
        return None
    try:
        name = RecordId(id_).component
    except InvalidName:
        return None
    digits = digits_of(id_)
    return f"={digits[0]}/={digits[1]}/{name}{row.suffix}"


def restore_fanned_path(kind: str, path: str) -> str:
    """Return the path that a file of a fanned out folder has in layout 1; the same path if it is no record."""
    match = _FAN.fullmatch(path)
    id_ = _id_of_name(KINDS[kind], match[3]) if match is not None else None
    if match is None or id_ is None or digits_of(id_)[:2] != match[1] + match[2]:
        return path
    try:
        plain = KINDS[kind].path(id_)
    except InvalidName:
        return path
    return plain if KINDS[kind].id_of(plain) == id_ else path


def _id_of_name(row: KindInfo, name: str) -> str | None:
    """Return the id of which a file name is the encoded form, as a whole."""
    try:
        return RecordId.from_component(name.removesuffix(row.suffix)).text if name.endswith(row.suffix) else None
    except InvalidName:
        return None


# --- bundles

CLOSED_ROW: Final = next(iter(CLOSED.values()))
"""The row of a kind in the archive, where the names of all kinds are alike."""


class BundledFile(NamedTuple):
    """Where the text of a file lies in a bundle, and its path in layout 1, relative to the folder of its kind."""

    start: int
    end: int
    path: str


class Bundle(NamedTuple):
    """The files in a bundle by name, in the order of the text, and what is wrong with the rest of the text.

    A name that occurs twice counts once, for the first text below it.
    """

    sections: Mapping[str, BundledFile]
    faults: tuple[str, ...] = ()


def read_bundle_digits(path: str) -> str | None:
    """Return the digits in the path of a bundle, relative to the folder of its kind; None for any other path."""
    match = _BUNDLE.fullmatch(path)
    return None if match is None else match[1]


def is_month(name: str) -> bool:
    """Whether this is the name of a folder of bundles, such as `=2026-03`."""
    return _MONTH.fullmatch(name) is not None


def name_bundle(digits: str) -> str:
    return f"={digits}.toml"


def split_bundle(text: bytes, digits: str) -> Bundle:
    """Split a bundle. `digits` are those in its name: each id in it begins with them."""
    if len(text) > MAX_BUNDLE_BYTES:
        return Bundle({}, (f"has {len(text):,} bytes, the limit of a bundle is {MAX_BUNDLE_BYTES:,}",))
    found = list(islice(_SEPARATORS.finditer(text), MAX_BUNDLED + 1))
    if len(found) > MAX_BUNDLED:
        return Bundle({}, (f"has more than {MAX_BUNDLED:,} records, the limit of a bundle",))
    faults = [] if not text or (found and not found[0].start()) else ["does not begin with a separator line"]
    sections: dict[str, BundledFile] = {}
    ends = [*(match.start() for match in found[1:]), len(text)]
    for match, end in zip(found, ends, strict=True) if found else ():
        name = match[1].decode("utf-8", "backslashreplace")
        own = _find_digits(name)
        if not own:
            faults.append(f"names {name[:80]!r}, which is not the file name of an archived record")
        elif not own.startswith(digits):
            faults.append(f"names {name[:80]}, which belongs to another bundle")
        elif name in sections:
            faults.append(f"names {name[:80]} twice")
        else:
            sections[name] = BundledFile(match.end(), end, f"{own[:2]}/{name}")
    if text and not text.endswith(b"\n"):
        faults.append("does not end with a line break")
    return Bundle(sections, tuple(faults))


def _find_digits(name: str) -> str:
    """Return the digits of the id of an archived record by its file name; empty for any other name.

    Not cached: the files of 100,000 archived records pass once each.
    """
    id_ = CLOSED_ROW.id_of(name)
    return "" if id_ is None else sha256(id_.encode()).hexdigest()


@lru_cache(maxsize=16_384)
def find_archived_id(name: str) -> str | None:
    """Return the id of an archived record by its file name; None for any other name."""
    return CLOSED_ROW.id_of(name)


def mentions_file(text: bytes, name: str) -> bool:
    """Whether a bundle has a separator line with this name."""
    line = _SEPARATOR + name.encode("utf-8", "surrogateescape") + b"\n"
    return text.startswith(line) or b"\n" + line in text


def join_bundle(files: Mapping[str, bytes]) -> bytes:
    """Return the bundle of some files, by name. Each must be one that `can_bundle`."""
    return b"".join(_SEPARATOR + name.encode() + b"\n" + files[name] for name in sorted(files))


def can_bundle(text: bytes) -> bool:
    """Whether a bundle with this file can be split again: it ends with a line break and has no separator line."""
    return text.endswith(b"\n") and _SEPARATORS.search(text) is None and len(text) < MAX_BUNDLE_BYTES // 2


def remove_sections(text: bytes, bundle: Bundle, names: Iterable[str]) -> bytes:
    """Return a bundle without some files; all other bytes are kept, also those that are no valid part of it."""
    gone = {name.encode() for name in names if name in bundle.sections}
    found = list(_SEPARATORS.finditer(text))
    ends = [*(match.start() for match in found[1:]), len(text)]
    kept = [text[: found[0].start()]] if found else [text]
    kept += [text[match.start() : end] for match, end in zip(found, ends, strict=True) if match[1] not in gone]
    return b"".join(kept)


def find_month(text: bytes) -> str | None:
    """Return the name of the folder for an archived record: the month of its `at`; None if it has none."""
    try:
        at = toml.loads(text).get("at")
    except InvalidDocument:
        return None
    month = f"={at[:7]}" if isinstance(at, str) else ""
    return month if is_month(month) else None


# --- whole paths


class StoredPlace(NamedTuple):
    """The folder of a kind, with or without the archive, and a path in it."""

    kind: str
    archived: bool
    path: str


def find_place(path: str) -> StoredPlace | None:
    """Return the folder of records that contains a path; None if it is in none."""
    archived = path.startswith(f"{ARCHIVE}/")
    folder, _, rest = path.removeprefix(f"{ARCHIVE}/").partition("/")
    kind = KIND_OF_FOLDER.get(folder)
    return None if kind is None or not rest else StoredPlace(kind, archived, rest)


def restore_path(path: str) -> str:
    """Return the path in layout 1 of the file at a stored path of layout 2; bundles and other files keep theirs."""
    place = find_place(path)
    if place is None or place.archived:
        return path
    return f"{KINDS[place.kind].folder}/{restore_fanned_path(place.kind, place.path)}"


def find_bundle_digits(path: str) -> str | None:
    """Return the digits in the whole path of a bundle; None for any other path."""
    place = find_place(path)
    return read_bundle_digits(place.path) if place is not None and place.archived else None
