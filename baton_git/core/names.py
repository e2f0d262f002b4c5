"""Names of namespaces, records, sessions and agents, validated when they are constructed.

Parts of ref names and paths are encoded with `encode`, except that a very long namespace has a short form. `encode`
maps text reversibly to one path component over `[a-z0-9._-]` and `%xx`. Two different names never collide, even on file
systems that ignore case or normalise Unicode (`A`/`a`, `a/b`/`a_b`, both forms of `é`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from typing import ClassVar, NewType

from baton_git.core.errors import InvalidName

Oid = NewType("Oid", str)
"""A git object id: 40 or 64 lower-case hex digits. Use `parse_oid` for a text that was not checked."""
SUBMODULE = b"Subproject commit "
"""How git shows a submodule in place of a file: this, and the id of its commit."""

MAX_COMPONENT = 200
"""Maximum bytes of an encoded name: 255 for a file name, less room for `.toml`, `.lock` and the suffixes of git."""

LANES = "refs/baton-lanes/"
"""The prefix of lanes on a remote: `refs/baton-lanes/<namespace>/<lane>`."""

FORMAT_FILE = "format.toml"
"""The file with the layout version, which each tree of a namespace has."""

PACKED = "%u"
"""Prefix of the short form of a namespace's name, which has room for 61 characters of any script."""

_BASE32 = "0123456789abcdefghjkmnpqrstvwxyz"
_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789-_.")
_SIMPLE = re.compile(r"[a-z0-9_][a-z0-9_-]{0,199}")
_SIMPLE_ID = re.compile(r"(?:OL|FU|PAT|DEC|C)-[a-z0-9_-]{1,190}")
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?=\.|$)")
_OID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")
_TOKEN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@+-]{0,127}\Z")
_MINTED = re.compile(r"(?:OL|FU|PAT|DEC|C)(?=-)")
_LANE = re.compile(r"[0-9a-f]{16}\Z")
_ESCAPE = re.compile(rb"%([0-9a-f]{2})")
_LOWER_TWIN = re.compile(r"(?:ol|fu|pat|dec|c)(?=-)")


def encode(text: str, *, keep: int = 0) -> str:
    """Return `text` encoded as one path component; the first `keep` characters are not encoded.

    Raises:
        InvalidName: the text is empty, contains a lone surrogate, or is longer than `MAX_COMPONENT` when encoded.
    """
    encoded = _escape(text, keep=keep)
    if len(encoded) > MAX_COMPONENT:
        raise InvalidName("name", text, f"is too long for a file name ({len(encoded)} > {MAX_COMPONENT} bytes)")
    return encoded


def _escape(text: str, *, keep: int = 0) -> str:
    if not keep and _SIMPLE.fullmatch(text) and not _DEVICES.match(text):
        return text
    if not text:
        raise InvalidName("name", text, "is empty")
    try:
        raw = text[keep:].encode()
    except UnicodeEncodeError:
        raise InvalidName("name", text, "holds half of a surrogate pair, which is not text") from None
    encoded = text[:keep] + "".join(chr(byte) if byte in _PLAIN else f"%{byte:02x}" for byte in raw)
    return _escape_reserved(encoded)


def _pack(text: str) -> str:
    """Return the short form of a name: `%u`, then its UTF-16 (big-endian) in base 32."""
    raw = text.encode("utf-16-be")
    bits = int.from_bytes(raw, "big") << -len(raw) * 8 % 5
    digits = range(-(-len(raw) * 8 // 5))
    return PACKED + "".join(_BASE32[bits >> 5 * place & 31] for place in reversed(digits))


def _unpack(component: str) -> str:
    """Return the name with this short form. Raises InvalidName if the text is not the short form of a name."""
    digits = component.removeprefix(PACKED)
    try:
        bits = sum(_BASE32.index(digit) << 5 * place for place, digit in enumerate(reversed(digits)))
        size = len(digits) * 5 // 8
        return (bits >> len(digits) * 5 % 8).to_bytes(size, "big").decode("utf-16-be")
    except (ValueError, OverflowError):
        raise InvalidName("name", component, "is not the encoded form of a name") from None


def decode(component: str) -> str:
    """Return the text that `encode` maps to this component; each text has exactly one component.

    Raises:
        InvalidName: `encode` never returns this component.
    """
    text = _unescape(component)
    if not component or encode(text) != component:
        raise InvalidName("name", component, "is not the encoded form of a name")
    return text


def _unescape(component: str) -> str:
    try:
        return _ESCAPE.sub(lambda match: bytes([int(match[1], 16)]), component.encode()).decode()
    except UnicodeError:
        raise InvalidName("name", component, "is not the encoded form of a name") from None


def _escape_reserved(encoded: str) -> str:
    """Escape what is special to git or to file systems: leading `.` and `-`, `..`, `.lock`, a final `.`, `con`."""
    encoded = encoded.replace("..", ".%2e").replace("..", ".%2e")
    if encoded[0] in ".-":
        encoded = f"%{ord(encoded[0]):02x}{encoded[1:]}"
    if encoded.endswith(".lock"):
        encoded = f"{encoded[:-5]}%2elock"
    if encoded.endswith("."):
        encoded = f"{encoded[:-1]}%2e"
    if _DEVICES.match(encoded):
        encoded = f"%{ord(encoded[0]):02x}{encoded[1:]}"
    return encoded


@dataclass(frozen=True)
class _Name:
    """Base of the validated names; error messages use `noun` for the kind of name.

    Raises:
        InvalidName: the text is not a valid name.
    """

    noun: ClassVar[str]
    text: str

    def __post_init__(self) -> None:
        try:
            self._check()
        except InvalidName as error:
            raise InvalidName(self.noun, self.text, error.data["why"]) from None

    def _check(self) -> None:
        encode(self.text)

    def __str__(self) -> str:
        return self.text


class Namespace(_Name):
    """The name of a namespace; any text, such as a project or an agent (`project:x`, `a/b`, `名前`)."""

    noun = "namespace"

    def _check(self) -> None:
        self.component  # noqa: B018  raises InvalidName

    @property
    def component(self) -> str:
        """The last component of its ref, such as `project%3ax`; the short form if the name is too long for that."""
        escaped = _escape(self.text)
        packed = _pack(self.text) if len(escaped) > MAX_COMPONENT else escaped
        return packed if len(packed) <= MAX_COMPONENT else encode(self.text)

    @classmethod
    def from_component(cls, component: str) -> Namespace:
        """Return the namespace with this component. Raises InvalidName if there is none."""
        if not component.startswith(PACKED):
            return cls(decode(component))
        namespace = cls(_unpack(component))
        if namespace.component != component:
            raise InvalidName("namespace", component, "is not the encoded form of a name")
        return namespace


class RecordId(_Name):
    """The id of a record: minted by baton (`OL-7k3f9q`) or chosen by a client (`OL-001`, any text)."""

    noun = "id"

    def _check(self) -> None:
        self.component  # noqa: B018  raises InvalidName

    @property
    def component(self) -> str:
        """Its file name without suffix. Prefixes of minted ids keep their capitals, for readability.

        Therefore `ol-1` is written `%6fl-1`, so that it does not collide with `OL-1` where case is ignored.
        """
        if _SIMPLE_ID.fullmatch(self.text):
            return self.text
        minted = _MINTED.match(self.text)
        if minted:
            return encode(self.text, keep=minted.end())
        if _LOWER_TWIN.match(self.text):
            encode(self.text)
            return f"%{ord(self.text[0]):02x}{encode(self.text)[1:]}"
        return encode(self.text)

    @classmethod
    def from_component(cls, component: str) -> RecordId:
        """Return the id with this component. Raises InvalidName if there is none."""
        record_id = cls(_unescape(component))
        if record_id.component != component:
            raise InvalidName("id", component, "is not the encoded form of an id")
        return record_id


def is_plain_id(text: str) -> bool:
    """Return whether a text is the id of a record and at the same time its component, as minted ids are."""
    if _SIMPLE_ID.fullmatch(text):
        return True
    return _SIMPLE.fullmatch(text) is not None and not (_DEVICES.match(text) or _LOWER_TWIN.match(text))


class SessionId(_Name):
    """The name of a session, one run of an agent: one line of printable text, at most 128 characters."""

    noun = "session"

    def _check(self) -> None:
        if not self.text.strip() or not self.text.isprintable() or len(self.text) > 128:
            raise InvalidName(self.noun, self.text, "must be 1 to 128 printable characters on one line")
        encode(self.text)


class AgentId(_Name):
    """The name of an agent: at most 128 letters, digits and `._:@+-`, beginning with a letter or digit."""

    noun = "agent"

    def _check(self) -> None:
        if not _TOKEN.match(self.text):
            why = "must be letters, digits and ._:@+- (at most 128), and begin with a letter or digit"
            raise InvalidName(self.noun, self.text, why)


def parse_oid(text: str) -> Oid:
    """Return `text` as an object id. Raises InvalidName if it is not 40 or 64 lower-case hex digits."""
    if not _OID.match(text):
        raise InvalidName("object id", text, "must be 40 or 64 lower-case hex digits")
    return Oid(text)


def is_submodule(text: bytes) -> bool:
    """Whether a text is what git shows in place of a file for a submodule; that of a rule may begin with the words."""
    id_ = text.removeprefix(SUBMODULE)
    return id_ != text and id_[-1:] == b"\n" and _OID.match(id_[:-1].decode(errors="replace")) is not None


def derive_id(id_: str, suffix: str) -> str:
    """Return `<id>.<suffix>`; if that is too long for an id, the beginning of the id, a digest of it and the suffix."""
    try:
        return RecordId(f"{id_}.{suffix}").text
    except InvalidName:
        return f"{id_[:12]}.{sha256(id_.encode()).hexdigest()[:8]}.{suffix}"


_REPLACED = re.compile(r"(.+)\.[0-9a-f]{6,64}")


def find_replaced_id(id_: str) -> str | None:
    """Return the id that a merge replaced by `id_`; None if a merge did not assign `id_`."""
    match = _REPLACED.fullmatch(id_)
    return match[1] if match else None


def mint_id(prefix: str, random: bytes) -> str:
    """Return a short new id, such as `OL-7k3f9q`: 30 bits of `random` (at least 4 bytes) in Crockford's base 32."""
    number = int.from_bytes(random[:4], "big")
    return f"{prefix}-" + "".join(_BASE32[number >> shift & 31] for shift in range(25, -1, -5))


def is_minted_session(name: str) -> bool:
    """Whether the name of a session was generated: a date and a random id."""
    return re.fullmatch(rf"\d{{4}}-\d\d-\d\d-[{_BASE32}]{{6}}", name) is not None


def is_lane_name(name: str) -> bool:
    """Return whether the last part of a ref below `LANES` is the name of a lane."""
    return _LANE.match(name) is not None
