"""The user's own ssh, told never to ask and not to wait for ever."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from pathlib import PurePath
from typing import Final, NamedTuple

_PUTTY: Final = {"plink", "tortoiseplink", "putty"}


class SshSettings(NamedTuple):
    """`core.sshCommand` and `ssh.variant`, where they are set."""

    command: str | None = None
    variant: str | None = None


def command(environment: Mapping[str, str], settings: SshSettings, seconds: float) -> str:
    """A line for the shell: the command that git would take (GIT_SSH_COMMAND, core.sshCommand, GIT_SSH, ssh), quiet."""
    program = environment.get("GIT_SSH")
    chosen = environment.get("GIT_SSH_COMMAND") or settings.command or (shlex.quote(program) if program else "ssh")
    variant = (environment.get("GIT_SSH_VARIANT") or settings.variant or "auto").lower()
    if variant == "auto":
        variant = _by_name(chosen)
    if variant in _PUTTY:
        return f"{chosen} -batch"
    if variant == "simple":
        return chosen
    return f"{chosen} -o BatchMode=yes -o ConnectTimeout={max(1, math.ceil(seconds))}"


def _by_name(line: str) -> str:
    """As git does: plink and its kin are known by their name, everything else is taken for OpenSSH."""
    try:
        words = shlex.split(line)
    except ValueError:  # the shell will complain about it
        return "ssh"
    name = PurePath(words[0].replace("\\", "/")).name.lower().removesuffix(".exe") if words else ""
    return name if name in _PUTTY else "ssh"
