"""Generate the hook scripts, and recognize installed ones.

    #!/bin/sh
    # baton-git hook <version> <event> <digest of the following lines>
    # Installed by ...
    event=... ; the parts of `hooks/git/` for this event

The digest shows whether a script was changed after the installation, so that no list of installed files is needed.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, NamedTuple

from baton_git.git.hooks.shipped import find_shipped

VERSION: Final = 3
"""Version of the scripts; increased if installed scripts should be upgraded."""

PARTS: Final = {
    "post-commit": ("begin", "within", "later", "after-code"),
    "post-merge": ("begin", "within", "later", "after-code"),
    "post-checkout": ("begin", "within", "later", "after-code"),
    "post-rewrite": ("begin", "within", "later", "after-code"),
    "pre-push": ("begin", "within", "pre-push"),
    "pre-receive": ("begin", "within", "pre-receive"),
    "post-receive": ("begin", "within", "later", "post-receive"),
}
"""The files of `hooks/git/` that make up the script, by event."""

_MARKER = re.compile(rb"#![^\n]*\n# baton-git hook (\d{1,6}) ([a-z-]+) ([0-9a-f]{64})\n")
_COMMAND = re.compile(rb'^exec_baton\(\) \{ exec (.+) "\$@"; \}$', re.MULTILINE)
_HEAD = """\
# Installed by `baton hooks install`; `baton hooks uninstall` removes it and restores the previous hook.
event={event}
prefix={prefix}
program={program}
exec_baton() {{ exec {command} "$@"; }}

"""


@dataclass(frozen=True)
class HookScript:
    """The script for an event. `prefix`: prefix of the refs it handles; `command`: the command that starts baton."""

    event: str
    prefix: str
    command: tuple[str, ...]

    @property
    def text(self) -> bytes:
        head = _HEAD.format(
            event=self.event,
            prefix=shlex.quote(self.prefix),
            program=shlex.quote(self.command[0]),
            command=shlex.join(self.command),
        )
        parts = [find_shipped(f"git/{name}.sh").read_bytes() for name in PARTS[self.event]]
        body = head.encode("utf-8", "surrogateescape") + b"".join(parts)
        return f"#!/bin/sh\n# baton-git hook {VERSION} {self.event} {sha256(body).hexdigest()}\n".encode() + body


class ScriptMarker(NamedTuple):
    """The marker line of a script. `intact`: whether the script is unchanged since its installation."""

    version: int
    event: str
    intact: bool


def read_marker(data: bytes) -> ScriptMarker | None:
    """Return the marker of a hook, or None if baton did not write it."""
    match = _MARKER.match(data)
    if match is None:
        return None
    return ScriptMarker(int(match[1]), match[2].decode(), sha256(data[match.end() :]).hexdigest().encode() == match[3])


def find_command(data: bytes) -> tuple[str, ...]:
    """Return the command with which an installed script starts baton; empty if the script has none."""
    match = _COMMAND.search(data)
    return tuple(shlex.split(match[1].decode("utf-8", "surrogateescape"))) if match else ()


def make_scripts(events: Sequence[str], prefix: str, command: Sequence[str]) -> dict[str, HookScript]:
    """Return the script for each event."""
    return {event: HookScript(event, prefix, tuple(command)) for event in events}
