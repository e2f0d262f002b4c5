"""What consent to a remote is bound to: its address, without what only logs in."""

from __future__ import annotations

import re
from typing import Final

_LOGIN: Final = re.compile(r"^(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<login>[^/]*)@", re.IGNORECASE)


def without_login(url: str) -> str:
    """The address without user and password; of ssh addresses the user stays, who is a part of where they lead."""
    return _LOGIN.sub(_strip_login, url)


def _strip_login(match: re.Match[str]) -> str:
    scheme, user = match["scheme"], match["login"].partition(":")[0]
    return f"{scheme}://" if scheme.lower().startswith("http") or not user else f"{scheme}://{user}@"
