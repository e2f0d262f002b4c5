"""Remove the password, and for http also the user, from the address of a remote; approvals refer to the result."""

from __future__ import annotations

import re
from typing import Final

_LOGIN: Final = re.compile(r"^(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<login>[^/]*)@", re.IGNORECASE)


def without_login(url: str) -> str:
    """Return the address without the password, and for http and https also without the user, which ssh needs."""
    return _LOGIN.sub(_strip_login, url)


def _strip_login(match: re.Match[str]) -> str:
    scheme, user = match["scheme"], match["login"].partition(":")[0]
    return f"{scheme}://" if scheme.lower().startswith("http") or not user else f"{scheme}://{user}@"
