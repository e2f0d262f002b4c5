"""`baton import` and `baton export`: one module for each system, loaded when it is named."""

from __future__ import annotations

from typing import NamedTuple

from baton_git.interfaces.cli.lazy import LazyGroup


class Exchange(NamedTuple):
    """Another system: its module is `exchange_<system>`, with `import_command` and `export_command`.

    Attributes:
        imports: what the help says of its import; empty where there is none.
        exports: what the help says of its export; empty where there is none.
    """

    system: str
    imports: str = ""
    exports: str = ""

    @property
    def module(self) -> str:
        return f"exchange_{self.system.replace('-', '_')}"


_FILES = "database, its cache folder, or a JSON file."

EXCHANGES = (
    Exchange("session-baton", f"From its {_FILES}", f"To its {_FILES}"),
    Exchange("paif", "From its folder of checkpoints.", "To its folder of checkpoints."),
    Exchange("kairos", "From a handover file of KAIROS.", "To a handover file of KAIROS."),
    Exchange(
        "ecc",
        "ECC's recordings of sessions: one file, or a folder of them.",
        "The recorded sessions, as ECC keeps them.",
    ),
)
"""The registry of importers and exporters."""

COMMANDS = {
    "import": LazyGroup(
        "import",
        {
            exchange.system: (f"{exchange.module}:import_command", exchange.imports)
            for exchange in EXCHANGES
            if exchange.imports
        },
        help="Take over the state of another system.",
    ),
    "export": LazyGroup(
        "export",
        {
            exchange.system: (f"{exchange.module}:export_command", exchange.exports)
            for exchange in EXCHANGES
            if exchange.exports
        },
        help="Give the state to another system.",
    ),
}
