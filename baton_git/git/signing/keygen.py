"""One run of `ssh-keygen -Y`: bounded in time; `run` has no way to ask anybody for anything, `ask` has."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from baton_git.core.output import one_line

SECONDS: Final = 10.0
"""Time given to one run; a key in hardware waits for a touch meanwhile."""

PERSON_SECONDS: Final = 120.0
"""Time given to a person for a passphrase or a touch."""

NAMESPACE: Final = ("-n", "git")

_TOO_OLD = re.compile(rb"usage:|(?:invalid|unknown|illegal|unrecognized) option", re.IGNORECASE)
_GOOD = re.compile(rb'Good "git" signature .* key (\S+)\s*\Z')
_LINE_LIMIT: Final = 200


class NoAnswer(Exception):
    """The program is missing, does not know the operation, was killed, or took too long."""


class KeygenResult(NamedTuple):
    """A run that came to its end: the exit status, and what it wrote to each stream."""

    status: int
    out: bytes
    stderr: bytes

    @property
    def good_key(self) -> str | None:
        """The fingerprint of the key, when it was asked about a signature and called it good."""
        match = _GOOD.match(self.out) if self.status == 0 else None
        return match[1].decode("ascii", "replace") if match else None

    @property
    def last_line(self) -> str:
        """What it stderr at last, printable: the text ends up on terminals and in records."""
        lines = self.stderr.decode("utf-8", "replace").splitlines()
        shown = (one_line(line, len(line))[:_LINE_LIMIT] for line in reversed(lines))
        return next((line for line in shown if line), "without a word")


def run(argv: Sequence[str | bytes], environment: Mapping[str, str], given: bytes = b"") -> KeygenResult:
    """Runs ssh-keygen, or what stands in for it, with `given` on its standard input.

    Raises:
        NoAnswer: it did not start or end, or is too old.
    """
    program = os.fsdecode(argv[0])
    try:
        ran = _run(argv, _quiet(environment), given)
    except subprocess.TimeoutExpired:
        raise NoAnswer(f"{program} gave no answer within {SECONDS:g} seconds") from None
    except (OSError, ValueError) as error:
        raise NoAnswer(f"cannot run {program}: {getattr(error, 'strerror', None) or error}") from error
    if ran.status < 0:
        raise NoAnswer(f"{program} was ended by {signal.Signals(-ran.status).name}")
    if ran.status and _TOO_OLD.search(ran.stderr):
        raise NoAnswer(f"{program} cannot do this; OpenSSH 8.8 or newer is needed")
    return ran


def ask(argv: Sequence[str], environment: Mapping[str, str]) -> int:
    """Runs ssh-keygen so that it can ask the person: at our terminal, or with SSH_ASKPASS where there is none. Its
    messages go where ours go. Gives its exit status.

    Raises:
        NoAnswer: it did not start, or nobody answered in time.
    """
    try:
        done = subprocess.run(  # noqa: S603  the key is the user's own setting
            argv, env=dict(environment), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=PERSON_SECONDS,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise NoAnswer(f"nobody answered {argv[0]} within {PERSON_SECONDS:g} seconds") from None
    except OSError as error:
        raise NoAnswer(f"cannot run {argv[0]}: {error.strerror or error}") from error
    return done.returncode


def _quiet(environment: Mapping[str, str]) -> dict[str, str]:
    """No window asks for a passphrase: by the variable that newer versions know, and by a program that says no."""
    return {**environment, "SSH_ASKPASS_REQUIRE": "never", "SSH_ASKPASS": "false"}


def _run(argv: Sequence[str | bytes], environment: Mapping[str, str], given: bytes) -> KeygenResult:
    # A session of its own has no terminal to ask on, and can be killed with all that was started in it.
    with subprocess.Popen(  # noqa: S603  the program and the key are the user's own settings
        argv,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        try:
            out, printed = process.communicate(given, SECONDS)
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
    return KeygenResult(process.returncode, out, printed)
