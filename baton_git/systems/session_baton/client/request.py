"""Send one HTTP request within one time limit, from name resolution to the last byte of the response."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from http.client import HTTPException
from typing import NamedTuple

from urllib3.exceptions import HTTPError as Urllib3Error

from baton_git.checks.addresses import AddressRefused as Unresolved
from baton_git.checks.addresses import CheckDeadline
from baton_git.checks.http import HttpRequest, open_response
from baton_git.core.errors import LimitExceeded, RemoteError, Unreachable
from baton_git.git.files.atomic_files import MAX_BYTES
from baton_git.systems.session_baton.client.address import ServerAddress

MAX_ANSWER = MAX_BYTES + 64 * 1024
"""Maximum size of a response in bytes: a document and its envelope."""


class ServerReply(NamedTuple):
    """The status and body of an HTTP response."""

    status: int
    body: bytes


def post(address: ServerAddress, path: str, body: bytes, headers: Mapping[str, str], seconds: float) -> ServerReply:
    """Send a POST request and return the response.

    Raises:
        Unreachable: the host is unknown, the connection fails, or there is no answer within `seconds`.
        RemoteError: the response is not HTTP, or TLS fails, for example because the certificate is not trusted.
        LimitExceeded: the response is larger than `MAX_ANSWER`.
    """
    deadline = CheckDeadline.after(seconds)
    silence = Unreachable(f"{address} gave no answer within {seconds:g} seconds", hint=_HINT)
    try:
        return _post_before(address, path, body, headers, deadline)
    except (TimeoutError, Unresolved) as error:
        raise (silence if isinstance(error, TimeoutError) else Unreachable(str(error), hint=_HINT)) from None
    except ssl.SSLError as error:
        why = getattr(error, "verify_message", "") or error.reason or str(error)
        raise RemoteError(f"{address}: the TLS connection failed: {why}") from None
    except OSError as error:
        if deadline.is_over:  # past the deadline, our own abort causes the error
            raise silence from None
        raise Unreachable(f"{address}: {error.strerror or error}", hint=_HINT) from None
    except (HTTPException, Urllib3Error) as error:
        if deadline.is_over:
            raise silence from None
        raise RemoteError(f"{address}: the answer is not HTTP ({type(error).__name__})", hint="check the url") from None


_HINT = "is the server running, and is the url right?"


def _post_before(
    address: ServerAddress, path: str, body: bytes, headers: Mapping[str, str], deadline: CheckDeadline
) -> ServerReply:
    request = HttpRequest("POST", address.path + path, headers, body)
    with open_response(address.endpoint, request, deadline, allow_private=True) as response:
        content = response.read(MAX_ANSWER + 1, decode_content=False)
    if len(content) > MAX_ANSWER:
        raise LimitExceeded(f"the answer of {address}", len(content), MAX_ANSWER, "bytes")
    return ServerReply(response.status, content)
