"""What this machine and its user are called, and the name of the machine that is stored instead of the host name."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from baton_git.core.names import mint_id
from baton_git.namespace.local_places import Host

_MACHINE_ID = Path("/etc/machine-id")
"""An id that systemd asks to keep private, so only a digest of it may leave the machine (see its `machine-id(5)`)."""


def find_host(chosen: str | None) -> Host:
    """Return what this machine is called.

    Args:
        chosen: the name of the machine that the user chose (git config baton.machine); None for a derived one.
    """
    host = os.uname().nodename.split(".")[0]
    key = f"{_read_machine_id()}\0{host}"
    derived = mint_id("machine", sha256(f"baton machine\0{key}".encode("utf-8", "replace")).digest())
    as_before = _make_name(host)
    return Host(
        str(_find_home()), host, find_login(), _make_name(chosen or "") or derived, key, frozenset((derived, as_before))
    )


def find_login() -> str:
    """Return the login name; empty if no variable has it."""
    return os.environ.get("USER") or os.environ.get("LOGNAME") or ""


def _make_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9.-]", "-", text.strip())


def _read_machine_id() -> str:
    with suppress(OSError):
        return _MACHINE_ID.read_text(encoding="ascii", errors="replace").strip()
    return ""


def _find_home() -> Path | str:
    with suppress(RuntimeError):  # no variable has it, and the user is unknown to the system
        return Path.home()
    return ""
