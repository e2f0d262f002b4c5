"""`baton merge-driver`, and command-line additions to `conflicts` and `resolve`."""

from __future__ import annotations

from pathlib import Path

import click

from baton_git.core.errors import StoreError
from baton_git.git.store import Store
from baton_git.interfaces.cli.app import App, command, read_bytes
from baton_git.namespace.merge_driver import merge_file


@command("merge-driver")
@click.argument("base", metavar="%O")
@click.argument("ours", metavar="%A")
@click.argument("theirs", metavar="%B")
@click.argument("path", metavar="%P")
def merge_driver_command(app: App, base: str, ours: str, theirs: str, path: str) -> int:
    """Merge one file of a namespace; git merge calls this, because baton init registers it as a merge driver.

    Exit status: 1 if both sides changed a value differently, or if two records had the same id. Then the merge writes
    further files to the work tree, and git stops. To finish the merge: git add -A, git commit.

    \b
    git config merge.baton.driver "baton merge-driver %O %A %B %P"
    baton merge-driver base.tmp ours.tmp theirs.tmp open_loops/OL-1.toml
    """
    with Store(app.settings.repository) as store:
        merged = merge_file(store, path, *(read_bytes(file) for file in (base, ours, theirs)))
    _write(Path(ours), merged.text)
    for name, text in merged.other_files.items():
        _write(Path(name), text)
        app.say(f"baton: {path}: the merge also wrote {name}; to finish the merge: git add -A, git commit")
    app.answer({"path": path, "beside": sorted(merged.other_files)}, "")
    return 1 if merged.other_files else 0


def _write(path: Path, text: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from error


COMMANDS = {"merge-driver": merge_driver_command}
