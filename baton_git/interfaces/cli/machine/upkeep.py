"""`baton completion`, and command-line additions to `baton gc`."""

from __future__ import annotations

import click

from baton_git.interfaces.cli.completion_scripts import COMPLETIONS
from baton_git.interfaces.cli.printing import write
from baton_git.interfaces.cli.verb_command import Addition


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


ADDITIONS = {"gc": Addition(progress="packing")}
COMMANDS = {"completion": completion_command}
