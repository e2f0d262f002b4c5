"""The address of a remote without its login, to which an approval is bound."""

from __future__ import annotations

import re
from typing import Final

_LOGIN: Final = re.compile(r"^(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<login>[^/]*)@", re.IGNORECASE)


def without_login(url: str) -> str:
    """Return the address without user and password. Only http and https lose the user: ssh needs it."""
    return _LOGIN.sub(_strip_login, url)


def _strip_login(match: re.Match[str]) -> str:
    scheme, user = match["scheme"], match["login"].partition(":")[0]
    return f"{scheme}://" if scheme.lower().startswith("http") or not user else f"{scheme}://{user}@"
