"""`baton import` and `baton export`: one module for each system, loaded when it is named."""

from __future__ import annotations

from baton_git.interfaces.cli.lazy import LazyGroup

_SYSTEMS = ("session-baton", "paif", "kairos", "ecc")


def _group(name: str, text: str, helps: tuple[str, ...]) -> LazyGroup:
    modules = [f"exchange_{system.replace('-', '_')}:{name}_command" for system in _SYSTEMS]
    return LazyGroup(name, dict(zip(_SYSTEMS, zip(modules, helps, strict=True), strict=True)), help=text)


COMMANDS = {
    "import": _group(
        "import",
        "Take over the state of another system.",
        (
            "From its database, its cache folder, or a JSON file.",
            "From its folder of checkpoints.",
            "From a handover file of KAIROS.",
            "ECC's recordings of sessions: one file, or a folder of them.",
        ),
    ),
    "export": _group(
        "export",
        "Give the state to another system.",
        (
            "To its database, its cache folder, or a JSON file.",
            "To its folder of checkpoints.",
            "To a handover file of KAIROS.",
            "The recorded sessions, as ECC keeps them.",
        ),
    ),
}
