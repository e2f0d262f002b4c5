"""What a verb may ask of the machine that it runs on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Machine:
    """This machine, as a verb sees it whose declaration says `machine=True`. Every interface supplies the same.

    Attributes:
        home: the home directory, in which the agent CLIs store their transcripts.
        folder: the current folder, from which relative paths start.
        config: the folder of the user's configuration files.
        variables: the environment of this process.
        find_handover_file: returns the copy of a protocol run for other KAIROS clients; None if there is none. Raises
            InvalidArgument if the setting has a relative path, but there is no work tree.
        examine: returns what the checks of `doctor` examine, an `ExaminedMachine`; None if the caller may be on another
            machine.
        serves_others: whether other people may be the callers, as those of a server that other machines reach. They are
            told what baton has stored, and not what is in transcripts of the user that nothing has stored yet.
    """

    home: Path
    folder: Path
    config: Path
    variables: Mapping[str, str]
    find_handover_file: Callable[[], Path | None] = lambda: None
    examine: Callable[[], Any] | None = None
    serves_others: bool = False
