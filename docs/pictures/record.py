"""Make the animated recordings of the documentation again: `.venv/bin/python docs/pictures/record.py`."""

from __future__ import annotations

import tempfile
from pathlib import Path

from make import BATON, HERE, Shop, healthy_service, make_conflict
from recording import record
from terminal import open_terminal


def record_tutorial(folder: Path) -> None:
    """Record the first session of a namespace, and the brief of the next session."""
    shop = Shop(folder / "home" / "shop", folder / "home")
    with open_terminal(shop.folder, {**add_baton(shop), "BATON_SESSION": "monday"}) as shell:
        commands = (
            "baton init",
            "baton boot",
            'baton loop add "Deployed the shop" --expect "health is 200"',
            'baton followup add "Translate the receipt" --reason "no French customers yet"',
            'baton wrap --context "Rounding is fixed and deployed."',
            "BATON_SESSION=tuesday baton boot",
        )
        record(shell, HERE / "session.svg", "the work of one session, and the brief of the next", commands)


def record_guides(folder: Path) -> None:
    """Record a search in the records of earlier sessions, and the resolution of a conflict."""
    shop = Shop(folder / "home" / "shop", folder / "home")
    with healthy_service() as health:
        shop.fill(health)
        with open_terminal(shop.folder, add_baton(shop)) as shell:
            questions = ("baton recall how are totals rounded", "baton recall receipt --kind follow_up")
            record(shell, HERE / "recall.svg", "earlier sessions are searched", questions)
            make_conflict(shop)
            resolution = ("baton sync", "baton conflicts", "baton resolve FU-s5ezgf --theirs", "baton sync")
            record(shell, HERE / "resolve.svg", "a conflict is found and resolved", resolution)


def add_baton(shop: Shop) -> dict[str, str]:
    return {**shop.environment, "PATH": f"{Path(BATON).parent}:{shop.environment['PATH']}"}


if __name__ == "__main__":
    for record_all in (record_tutorial, record_guides):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
            record_all(Path(scratch))
