"""Build the ssh command for git: the user's ssh, without prompts and with a connection timeout."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from pathlib import PurePath
from typing import Final, NamedTuple

_PUTTY: Final = {"plink", "tortoiseplink", "putty"}


class SshSettings(NamedTuple):
    """The settings `core.sshCommand` and `ssh.variant`; None if not set."""

    command: str | None = None
    variant: str | None = None


def command(environment: Mapping[str, str], settings: SshSettings, seconds: float) -> str:
    """Return the command that git would run (GIT_SSH_COMMAND, core.sshCommand, GIT_SSH, or ssh), with more options.

    The options disable prompts; for OpenSSH, they also limit the connection time to `seconds`. The variant `simple`
    gets no options.
    """
    program = environment.get("GIT_SSH")
    chosen = environment.get("GIT_SSH_COMMAND") or settings.command or (shlex.quote(program) if program else "ssh")
    variant = (environment.get("GIT_SSH_VARIANT") or settings.variant or "auto").lower()
    if variant == "auto":
        variant = _guess_variant(chosen)
    if variant in _PUTTY:
        return f"{chosen} -batch"
    if variant == "simple":
        return chosen
    return f"{chosen} -o BatchMode=yes -o ConnectTimeout={max(1, math.ceil(seconds))}"


def _guess_variant(line: str) -> str:
    """Guess the ssh variant from the program name, like git: plink and similar programs, else OpenSSH."""
    try:
        words = shlex.split(line)
    except ValueError:  # the shell reports the error
        return "ssh"
    name = PurePath(words[0].replace("\\", "/")).name.lower().removesuffix(".exe") if words else ""
    return name if name in _PUTTY else "ssh"
