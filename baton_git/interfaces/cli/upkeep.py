"""`baton gc` and `baton completion`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from baton_git.interfaces.cli.app import App, command
from baton_git.interfaces.cli.printing import write


@command("gc")
def gc_command(app: App) -> None:
    """Pack what baton has stored into one pack. It happens by itself now and then; this does it all at once.

    Only objects that baton wrote are packed. Yours, the reflogs and stashes are left alone.

    \b
    baton gc
    """
    with app.workspace() as ws:
        done = ws.branch.store.pack(everything=True)
    data = {
        name: getattr(done, name) for name in ("packs_before", "packs_after", "objects", "bytes_before", "bytes_after")
    }
    app.answer(data, "")
    app.say(
        f"{done.packs_before} packs → {done.packs_after}, {done.objects} objects, "
        f"{done.bytes_before:,} → {done.bytes_after:,} bytes"
    )


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion_command(shell: str) -> None:
    """Print the shell code that completes baton's commands and options.

    \b
    baton completion bash >> ~/.bashrc
    baton completion zsh  >> ~/.zshrc
    baton completion fish > ~/.config/fish/completions/baton.fish
    """
    root = click.get_current_context().find_root().command
    kind = get_completion_class(shell)
    assert kind is not None
    write(kind(root, {}, "baton", "_BATON_COMPLETE").source())


COMMANDS = {"gc": gc_command, "completion": completion_command}
