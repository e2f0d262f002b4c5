"""Run `ssh-keygen -Y` with a time limit: `run` prevents prompts, `ask` allows them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from baton_git.core.output import one_line
from baton_git.git import child_process

SECONDS: Final = 10.0
"""Time limit of `run`, in seconds. It includes the touch of a hardware key."""

PERSON_SECONDS: Final = 120.0
"""Time limit of `ask`, in seconds, for a person to enter a passphrase or touch a key."""

NAMESPACE: Final = ("-n", "git")
"""The arguments that select the namespace of git's signatures."""

_TOO_OLD = re.compile(rb"usage:|(?:invalid|unknown|illegal|unrecognized) option", re.IGNORECASE)
_GOOD = re.compile(rb'Good "git" signature .* key (\S+)\s*\Z')
_LINE_LIMIT: Final = 200


class NoAnswer(Exception):
    """The program is missing, does not support the operation, was killed, or took too long."""


class KeygenResult(NamedTuple):
    """The exit status and the output of a completed run."""

    status: int
    out: bytes
    stderr: bytes

    @property
    def good_key(self) -> str | None:
        """The fingerprint of the key if the run verified a signature as good, else None."""
        match = _GOOD.match(self.out) if self.status == 0 else None
        return match[1].decode("ascii", "replace") if match else None

    @property
    def last_line(self) -> str:
        """The last non-empty line of stderr, without control characters, for terminals and records."""
        lines = self.stderr.decode("utf-8", "replace").splitlines()
        shown = (one_line(line, len(line))[:_LINE_LIMIT] for line in reversed(lines))
        return next((line for line in shown if line), "no error message")


def run(argv: Sequence[str | bytes], environment: Mapping[str, str], stdin: bytes = b"") -> KeygenResult:
    """Run ssh-keygen, or a replacement, without prompts and with the input `stdin`.

    Raises:
        NoAnswer: the program did not start, was killed, took too long, or is too old.
    """
    program = os.fsdecode(argv[0])
    try:
        done = child_process.run(argv, _disable_prompts(environment), None, SECONDS, stdin=stdin)
    except (OSError, ValueError) as error:
        raise NoAnswer(f"cannot run {program}: {getattr(error, 'strerror', None) or error}") from error
    if done is None:
        raise NoAnswer(f"{program} gave no answer within {SECONDS:g} seconds")
    ran = KeygenResult(*done)
    if ran.status < 0:
        raise NoAnswer(f"{program} was ended by {signal.Signals(-ran.status).name}")
    if ran.status and _TOO_OLD.search(ran.stderr):
        raise NoAnswer(f"{program} cannot do this; OpenSSH 8.8 or newer is needed")
    return ran


def ask(argv: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run ssh-keygen so that it can prompt the user on the terminal or, without one, with SSH_ASKPASS.

    ssh-keygen writes to the stderr of this process.

    Returns:
        The exit status.

    Raises:
        NoAnswer: the program did not start, or the user did not respond in time.
    """
    try:
        done = subprocess.run(  # noqa: S603  the key is a setting of the user
            argv, env=dict(environment), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=PERSON_SECONDS,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise NoAnswer(f"no response to the prompt of {argv[0]} within {PERSON_SECONDS:g} seconds") from None
    except OSError as error:
        raise NoAnswer(f"cannot run {argv[0]}: {error.strerror or error}") from error
    return done.returncode


def _disable_prompts(environment: Mapping[str, str]) -> dict[str, str]:
    """Disable prompts in windows: SSH_ASKPASS_REQUIRE for newer versions, and a failing SSH_ASKPASS for older ones."""
    return {**environment, "SSH_ASKPASS_REQUIRE": "never", "SSH_ASKPASS": "false"}
