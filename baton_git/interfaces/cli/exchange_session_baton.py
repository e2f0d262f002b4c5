"""`baton import session-baton` and `baton export session-baton`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import click

from baton_git.core.errors import InvalidArgument
from baton_git.interfaces.cli.app import App, command
from baton_git.interfaces.cli.error_handler import FAILED
from baton_git.systems.session_baton.exchange import BatonImport, Storage, export_session_baton, import_session_baton


@command("session-baton", short_help="From its database, its cache folder, or a JSON file.")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--from", "source", metavar="NS", help="The namespace to take over, when PATH has several.")
@click.option("--all", "everything", is_flag=True, help="Take over all, each into the namespace of its own name.")
def import_command(app: App, path: Path, source: str | None, everything: bool) -> int | None:
    """Take over what session-baton keeps: its SQLite database, its cache folder, or a JSON file.

    What is here stays; both are merged. Importing again brings what changed there since.

    \b
    baton import session-baton ~/session-baton/data/baton.sqlite3 --all
    baton import session-baton ~/.claude/loop/batons --from project:x
    baton import session-baton baton.json
    """
    if source is not None and everything:
        raise click.UsageError("give --from or --all, not both")
    with app.workspace() as ws:
        imports = import_session_baton(ws, app.now, path, namespace=source, everything=everything)
    app.answer([_describe_import(imported) for imported in imports], "")
    for imported in imports:
        _tell_import(app, imported)
    return FAILED if any(imported.done is None for imported in imports) else None


def _describe_import(imported: BatonImport) -> dict[str, Any]:
    if imported.done is None:
        return {"ok": False, "namespace": imported.namespace, "where": imported.where, "why": imported.why}
    return {**imported.done.as_data(), "where": imported.where}


def _tell_import(app: App, imported: BatonImport) -> None:
    if imported.done is None:
        app.say(
            f"baton: {imported.why}"
            if imported.why.startswith(imported.where)
            else f"baton: {imported.where}: {imported.why}"
        )
        return
    app.say(f"{imported.namespace}:")
    app.tell_write(imported.done.written)
    for held in imported.done.held:
        app.say(f"held: {held.id} {held.field} {held.claimed!r} ({held.why})")


@command("session-baton", short_help="To its database, its cache folder, or a JSON file.")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--to", "storage", type=click.Choice(["sqlite", "cache", "json"]), help="What PATH is; else by its name.")
@click.option("--all", "everything", is_flag=True, help="All namespaces, not for json.")
@click.option("--at", metavar="REV|TIME", help="As it was then.")
def export_command(app: App, path: Path, storage: str | None, everything: bool, at: str | None) -> None:
    """Give the state to session-baton: into its SQLite database, its cache folder, or a JSON file.

    \b
    baton export session-baton data/baton.sqlite3 --all
    baton export session-baton ~/.claude/loop/batons
    baton export session-baton baton.json --at 2026-06-17
    """
    chosen = cast("Storage", storage or _guess_storage(path))
    if everything and (chosen == "json" or at is not None):
        raise click.UsageError("--all goes with a database or a cache folder, and not with --at")
    with app.workspace() as ws:
        names = export_session_baton(ws, path, chosen, everything=everything, at=at)
    app.answer({"path": str(path), "to": chosen, "namespaces": names}, "")
    app.say(f"wrote {', '.join(names)} to {path}")


def _guess_storage(path: Path) -> str:
    if path.is_dir():
        return "cache"
    kinds = {".json": "json", ".sqlite": "sqlite", ".sqlite3": "sqlite", ".db": "sqlite"}
    if path.suffix not in kinds:
        raise InvalidArgument(f"{path}: what is it?", hint="say --to sqlite, cache or json")
    return kinds[path.suffix]
