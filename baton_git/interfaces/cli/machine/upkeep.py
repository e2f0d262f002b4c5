"""`baton completion`, and command-line additions to `baton gc`."""

from __future__ import annotations

import click

from baton_git.interfaces.cli.app import App
from baton_git.interfaces.cli.completion_scripts import COMPLETIONS
from baton_git.interfaces.cli.printing import write
from baton_git.interfaces.cli.verb_command import Addition
from baton_git.verbs.upkeep.packing import PackedStore


def _render_packed(app: App, result: PackedStore) -> None:
    app.answer(result.as_data(), "")
    if result.folded:
        app.say("archived records were moved into bundles (baton log shows the fold)")
    app.say(
        f"{result.packs_before} packs → {result.packs_after}, {result.objects} objects, "
        f"{result.bytes_before:,} → {result.bytes_after:,} bytes"
    )


@click.command("completion")
@click.argument("shell", type=click.Choice(list(COMPLETIONS)))
def completion_command(shell: str) -> None:
    """Print a script for a shell that completes baton's commands, options, ids and names.

    \b
    baton completion bash >> ~/.bashrc
    baton completion zsh  >> ~/.zshrc
    baton completion fish > ~/.config/fish/completions/baton.fish
    """
    root = click.get_current_context().find_root().command
    write(COMPLETIONS[shell](root, {}, "baton", "_BATON_COMPLETE").source())


ADDITIONS = {"gc": Addition(render=_render_packed, progress="packing")}
COMMANDS = {"completion": completion_command}
