"""The command `claude-paif`, as PAIF documents it: `restore`, `checkpoint`, `gravity` and `sessions`.

These are commands of `baton` under the names that PAIF's scripts and hooks call.
"""

from __future__ import annotations

import sys
from typing import Any

import click

from baton_git import __version__
from baton_git.core.errors import NotFound
from baton_git.core.output import flat
from baton_git.core.verb import Verb
from baton_git.interfaces.cli.app import App
from baton_git.interfaces.cli.error_handler import run
from baton_git.interfaces.cli.sessions.identity import exit_unknown_on_errors
from baton_git.interfaces.cli.verb_command import NOTHING, Addition, Values, verb_command
from baton_git.interfaces.context.process import interrupt_on_sigterm, mend_streams, skip_plugin_search
from baton_git.namespace.workspace import Workspace
from baton_git.systems.paif.checkpoint_verbs import (
    RestoreAgent,
    RestoredAgent,
    list_agent_sessions,
    restore_agent,
    save_agent_checkpoint,
)
from baton_git.systems.paif.checkpoints import Restored, preview_restore, restore
from baton_git.systems.paif.identity import make_empty_identity
from baton_git.systems.paif.identity_verbs import CheckedIdentity, CheckIdentity, check_agent_identity, check_words
from baton_git.systems.paif.settings_file import find_agent, require_agent


def _check_gravity(app: App, ws: Workspace, verb_input: CheckIdentity, values: Values) -> CheckedIdentity:
    """Check a text; without an agent, against PAIF's own phrases, and nothing is written."""
    if find_agent(ws, verb_input.agent) is None:
        return CheckedIdentity.of(None, check_words(verb_input.text))
    return check_agent_identity.verb.run(ws, app.now, verb_input)


def _restore(app: App, ws: Workspace, verb_input: RestoreAgent, values: Values) -> RestoredAgent:
    """Restore an agent; the first session of a new agent counts, too, as in PAIF."""
    agent = require_agent(ws, verb_input.agent)
    if verb_input.look:
        try:
            restored = preview_restore(ws, app.now, agent)
        except NotFound:
            restored = Restored(make_empty_identity(agent), None, ws.branch.read())
    else:
        restored = restore(ws, app.now, agent, may_be_new=True)
    if restored.checkpoint is None:
        app.say(f"{flat(agent)} has no checkpoint yet; to save one: claude-paif checkpoint")
    return RestoredAgent.of(restored, app.now, verb_input)


def _paif_command(verb: Verb[Any, Any], addition: Addition) -> click.Command:
    """Return a command that creates the repository and the namespace if they do not exist, as PAIF does."""
    return verb_command(verb._replace(anywhere=True), addition._replace(acting=lambda app: app.creating))


EXAMPLE = 'claude-paif gravity "How can I help you today!" --agent zero'
GRAVITY = check_agent_identity.verb._replace(name="gravity", examples=(EXAMPLE,))
gravity_command = exit_unknown_on_errors(_paif_command(GRAVITY, Addition(run=_check_gravity)))
RESTORE = Addition(run=_restore)
restore_command, checkpoint_command, sessions_command = (
    _paif_command(function.verb, addition)
    for function, addition in (
        (restore_agent, RESTORE),
        (save_agent_checkpoint, NOTHING),
        (list_agent_sessions, NOTHING),
    )
)


@click.group(
    commands=[restore_command, checkpoint_command, gravity_command, sessions_command],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    no_args_is_help=True,
)
@click.version_option(__version__, prog_name="claude-paif")
def paif() -> None:
    """PAIF's session protocol, stored in git by baton.

    \b
    claude-paif restore --agent zero
    claude-paif checkpoint --agent zero --summary "Implemented namespace isolation"
    """


def main() -> Any:
    """Run the command `claude-paif`, and exit with its status."""
    skip_plugin_search()
    mend_streams()
    interrupt_on_sigterm()
    sys.exit(run(paif, "claude-paif"))
