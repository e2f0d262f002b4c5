"""The command `claude-paif`, as PAIF documents it: `restore`, `checkpoint`, `gravity` and `sessions`.

The same commands as those of `baton`, under the names that scripts and hooks of PAIF's call.
"""

from __future__ import annotations

import sys
from typing import Any

import click

from baton_git import __version__
from baton_git.interfaces.cli.app import App, command
from baton_git.interfaces.cli.checkpoint import ADDITIONS
from baton_git.interfaces.cli.error_handler import run
from baton_git.interfaces.cli.identity import render_check
from baton_git.interfaces.cli.verb_command import verb_command
from baton_git.interfaces.context.paif import asked_agent
from baton_git.interfaces.context.process import end_in_order, mend_streams, skip_plugin_search
from baton_git.systems.paif.checkpoint_verbs import list_agent_sessions, restore_agent, save_agent_checkpoint


@command("gravity")
@click.argument("text")
@click.option("--no-count", is_flag=True, help="Do not count it.")
def gravity(app: App, text: str, no_count: bool) -> int | None:
    """Hold a text against an agent's identity: exit status 1 when it drifts from it, 5 when it could not be checked.

    TEXT - is read from standard input. Without an agent PAIF's own phrases count, and nothing is written.

    \b
    claude-paif gravity "How can I help you today!" --agent zero
    """
    return render_check(app, lambda: asked_agent(app), text, count=not no_count)


restore_command, checkpoint_command, sessions_command = (
    verb_command(function.verb, ADDITIONS[function.verb.name])
    for function in (restore_agent, save_agent_checkpoint, list_agent_sessions)
)


@click.group(
    commands=[restore_command, checkpoint_command, gravity, sessions_command],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    no_args_is_help=True,
)
@click.version_option(__version__, prog_name="claude-paif")
def paif() -> None:
    """PAIF's session protocol, kept in git by baton.

    \b
    claude-paif restore --agent zero
    claude-paif checkpoint --agent zero --summary "Implemented namespace isolation"
    """


def main() -> Any:
    """The entry point of the command."""
    skip_plugin_search()
    mend_streams()
    end_in_order()
    sys.exit(run(paif, "claude-paif"))
