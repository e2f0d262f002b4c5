"""Visitors of pages: a signed cookie identifies the browser, and a CSRF token shows that a form is from our page."""

from __future__ import annotations

import base64
import hmac
import os
import secrets
import time
from contextlib import suppress
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from baton_git.core.errors import StoreError, WriteFailed
from baton_git.git.files.durable_files import make_folder, write_new, writing
from baton_git.interfaces.http.guard import is_token
from baton_git.interfaces.http.limits import Attempts
from baton_git.interfaces.http.site import Site

LOGIN_SECONDS = 12 * 3600
KEY_BYTES = 32
GUEST, PERSON = "guest", "person"


class Visitor(NamedTuple):
    """A browser with a cookie: a guest, or a person who logged in with the token of the page.

    Attributes:
        kind: `guest` or `person`.
        ticket: the value of the cookie: the kind, when it expires, a random text, and the signature of these.
    """

    kind: str
    ticket: str


class PageAccess:
    """Issues and checks cookies and CSRF tokens. Several processes on one repository share the key.

    Attributes:
        is_apart: whether the page has its own token, which gives access only to the page. If not, the server's token is
            valid for the page too.
    """

    def __init__(self, site: Site, attempts: Attempts | None = None) -> None:
        self._site = site
        self._token = site.page_token or site.token or ""
        self.is_apart = bool(site.page_token)
        # Only in this process: another process on this repository, or a later one, accepts the ticket until it expires.
        self._refused: dict[str, int] = {}
        self._lock = Lock()
        self._attempts = attempts or Attempts()

    @property
    def requires_token(self) -> bool:
        """Whether a visitor must log in with a token."""
        return bool(self._token)

    @cached_property
    def _secret(self) -> bytes:
        try:
            return load_key(self._site.folder / "page.key")
        except WriteFailed:  # a read-only repository: logins are valid until this process ends
            return secrets.token_bytes(KEY_BYTES)

    @cached_property
    def _key(self) -> bytes:
        """The key, derived from the token: a new token ends all logins."""
        return _mac(self._secret, "page token" if self.is_apart else "token", self._token)

    @cached_property
    def cookie(self) -> str:
        """The name of the cookie. It differs for each repository, because servers on one host share their cookies."""
        return "baton_" + _mac(self._secret, "cookie").hex()[:10]

    def visitor(self, ticket: str | None) -> Visitor | None:
        """Return the visitor of a cookie; None if it was not issued here, has expired or was logged out."""
        parts = (ticket or "").split(".")
        if ticket is None or len(parts) != 4 or not ticket.isascii():
            return None
        kind, until, nonce, signature = parts
        if not hmac.compare_digest(signature, self._sign(kind, until, nonce)):
            return None
        return Visitor(kind, ticket) if int(until) > time.time() and nonce not in self._refused else None

    def make_visitor(self, kind: str = GUEST) -> Visitor:
        """Return a visitor with a new ticket."""
        until, nonce = str(int(time.time()) + LOGIN_SECONDS), secrets.token_urlsafe(18)
        return Visitor(kind, f"{kind}.{until}.{nonce}.{self._sign(kind, until, nonce)}")

    def revoke(self, visitor: Visitor) -> None:
        """Revoke the ticket of a person who logs out. A guest's ticket gives no access, so it is not stored."""
        if visitor.kind != PERSON:
            return
        _, until, nonce, _ = visitor.ticket.split(".")
        with self._lock:
            now = time.time()
            self._refused = {ticket_id: end for ticket_id, end in self._refused.items() if end > now} | {
                nonce: int(until)
            }

    def _sign(self, kind: str, until: str, nonce: str) -> str:
        return _text(_mac(self._key, "ticket", kind, until, nonce))

    def allows(self, visitor: Visitor) -> bool:
        """Return whether a visitor may see all pages: they have logged in, or no token is set."""
        return visitor.kind == PERSON or not self.requires_token

    def try_token(self, brought: str, address: str) -> float | None:
        """Return None if the token is the page's; else the seconds until the next attempt is allowed (0: now)."""
        if self.requires_token and is_token(brought.encode("utf-8", "replace"), self._token):
            return None
        return self._attempts.note_wrong(address)

    def name_csrf_storage(self, visitor: Visitor) -> str:
        """Return the key in the browser's local storage for the CSRF token of this login.

        It is empty for a guest, whose pages contain the token.
        """
        return f"{self.cookie}.{visitor.ticket.split('.')[2]}" if visitor.kind == PERSON else ""

    def make_csrf_token(self, visitor: Visitor) -> str:
        """Return the CSRF token in every form of this browser, which pages of other servers cannot know.

        The token cannot be computed from the cookie alone. For a logged-in person, only the response to the login
        contains it.
        """
        return _text(_mac(self._key, "form", visitor.ticket))

    def is_csrf_token(self, brought: str, visitor: Visitor) -> bool:
        return hmac.compare_digest(brought.encode("utf-8", "replace"), self.make_csrf_token(visitor).encode())


def load_key(path: Path) -> bytes:
    """Read the key from a file that only this user can read; create it if it does not exist.

    Raises:
        WriteFailed: the file cannot be created or read.
        StoreError: the file does not contain a key, or other users can read it.
    """
    with writing(f"the page's key {path}"):
        if not path.exists():
            make_folder(path.parent)
            path.parent.chmod(0o700)
            _make_key(path)
        mode, key = path.stat().st_mode, path.read_bytes()
    if len(key) != KEY_BYTES or mode & 0o077:
        raise StoreError(
            f"{path} is not a key that baton created, or other users can read it",
            hint="remove it; baton creates a new one",
        )
    return key


def _make_key(path: Path) -> None:
    """Create the key file atomically. If two processes do so at once, the first one's key is used."""
    new = path.with_name(f"{path.name}.{secrets.token_hex(6)}")
    write_new(new, secrets.token_bytes(KEY_BYTES), mode=0o600, sync=True)
    try:
        with suppress(FileExistsError):
            os.link(new, path)
    finally:
        new.unlink()


def _mac(key: bytes, *parts: str) -> bytes:
    """Return the MAC of the parts, each preceded by its length so that no two lists have the same text."""
    return hmac.new(
        key, b"".join(b"%d:%b" % (len(raw), raw) for raw in (part.encode() for part in parts)), sha256
    ).digest()


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")
