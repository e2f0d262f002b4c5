"""`baton completion`."""

from __future__ import annotations

import click

from baton_git.interfaces.cli.completion_scripts import COMPLETIONS
from baton_git.interfaces.cli.printing import write


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


COMMANDS = {"completion": completion_command}
