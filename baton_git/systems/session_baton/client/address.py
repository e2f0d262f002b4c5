"""The address of a server: `http://host:9101`, or with a path (`https://example.org/baton`)."""

from __future__ import annotations

from dataclasses import dataclass

from urllib3.exceptions import LocationParseError
from urllib3.util import parse_url

from baton_git.checks.http import Endpoint
from baton_git.core.errors import InvalidArgument, shorten


@dataclass(frozen=True)
class ServerAddress:
    """The normalized address of a server."""

    endpoint: Endpoint
    path: str

    @classmethod
    def parse(cls, text: str) -> ServerAddress:
        """Parse an address. Raises InvalidArgument unless it is an HTTP or HTTPS URL of printable characters
        without user name, password, query or fragment."""
        example = "for example http://127.0.0.1:9101"
        try:
            parts = parse_url(text.strip())
        except LocationParseError:
            raise InvalidArgument(f"{shorten(text)} is not a url", hint=example) from None
        if parts.auth is not None:
            raise InvalidArgument(
                "the url contains a user name or a password", hint="the token goes into BATON_API_TOKEN"
            )
        endpoint = Endpoint.of(parts)
        if endpoint is None:
            raise InvalidArgument(f"{shorten(text)} is not an http or https url", hint=example)
        if parts.query is not None or parts.fragment is not None or not text.isprintable():
            raise InvalidArgument(f"{shorten(text)} has a query, a fragment or unprintable characters", hint=example)
        return cls(endpoint, (parts.path or "").rstrip("/"))

    def __str__(self) -> str:
        return f"{self.endpoint.scheme}://{self.endpoint.netloc}{self.path}"
