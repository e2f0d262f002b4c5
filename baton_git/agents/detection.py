"""How a process detects that an agent CLI started it; each CLI declares its markers in its module `detection`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import NamedTuple

_INTERPRETERS = ("node", "nodejs", "bun", "deno", "python", "sh", "bash", "dash", "zsh", "env")
_SUFFIXES = (".js", ".mjs", ".cjs", ".exe")


class AgentMarkers(NamedTuple):
    """The traces of one agent CLI in the processes that it starts.

    Attributes:
        variables: names of environment variables that only the CLI sets.
        programs: names of its process, or of the script that an interpreter runs as the CLI.
        packages: parts of the path of such a script, for scripts with an unspecific name (`index.js`).
    """

    variables: tuple[str, ...]
    programs: tuple[str, ...]
    packages: tuple[str, ...] = ()

    def find_variable(self, environment: Mapping[str, str]) -> str | None:
        """Return the name of the first of the variables that is set and not empty; None if there is none."""
        return next((name for name in self.variables if environment.get(name)), None)

    def is_program(self, name: str, argv: Sequence[str]) -> bool:
        """Whether a process of this name with these arguments is the CLI."""
        script = _find_script(argv)
        names = {name, _base_name(argv[0]) if argv else "", _base_name(script)}
        return not names.isdisjoint(self.programs) or any(part in script for part in self.packages)


def _base_name(path: str) -> str:
    name = PurePath(path.replace("\\", "/")).name
    return next((name.removesuffix(end) for end in _SUFFIXES if name.endswith(end)), name)


def _find_script(argv: Sequence[str]) -> str:
    """Return the path of the script that an interpreter runs; an empty text for any other program."""
    if not argv or _base_name(argv[0]).rstrip("0123456789.") not in _INTERPRETERS:
        return ""
    return next((word.replace("\\", "/") for word in argv[1:] if not word.startswith("-")), "")
