"""The command `baton`: one module for each group of commands, loaded when one of them is called."""

from __future__ import annotations

import sys
from typing import Any

import click

from baton_git import __version__
from baton_git.interfaces.cli.error_handler import run
from baton_git.interfaces.cli.lazy import LazyGroup
from baton_git.interfaces.cli.printing import tell
from baton_git.interfaces.context.process import (
    hide_tokens,
    interrupt_on_sigterm,
    is_in_repository,
    mend_streams,
    skip_plugin_search,
)

COMMANDS = {
    "init": ("sessions.lifespan", "Create a namespace in this repository."),
    "boot": ("sessions.lifespan", "Start a session: sync, run checks, and print the brief."),
    "wrap": ("", "End a session, and record the state of the work."),
    "dashboard": ("dashboard", "Show the state of the work on one screen, like baton without arguments."),
    "status": ("", "Show counts per kind and anything that needs attention."),
    "read": ("records.document", "Read the whole state as JSON."),
    "write": ("records.document", "Write a whole session-baton document."),
    "ready": ("", "Show what needs attention now, most urgent first."),
    "list": ("records.listing", "List the records of a namespace, of all kinds or of one."),
    "record": ("", "Show one record, live or in the archive."),
    "edit": ("records.editing", "Change fields of a record."),
    "reopen": ("", "Reopen a closed record."),
    "forget": ("", "Archive a record, with a reason."),
    "loop": ("records.loop", "Open loops: actions whose outcome must still be checked."),
    "followup": ("", "Follow-ups: postponed work."),
    "pattern": ("", "Patterns: recurring problems that may become rules."),
    "decision": ("", "Decisions and their reasons."),
    "handover": ("sessions.handover", "KAIROS protocol runs, handed over between clients."),
    "mine": ("sessions.mine", "Import earlier sessions from transcripts on this machine."),
    "handoff": ("records.handoff", "Extract facts from a session's transcript for the next session."),
    "todo": ("", "The session's to-do list."),
    "checkpoint": ("", "Save the state of an agent (PAIF)."),
    "restore": ("", "Restore an agent from its newest checkpoint (PAIF)."),
    "sessions": ("", "List an agent's saved and restored sessions (PAIF)."),
    "identity": ("sessions.identity", "Set an agent's identity, and check texts against it (PAIF)."),
    "verify": ("", "Run the checks of open loops."),
    "trust": ("records.checks", "Approve a check, a command or a remote on this machine."),
    "log": ("revisions.history", "Show the changes and who made them, newest first."),
    "show": ("records.showing", "Show a record of any kind, or a revision and what it changed."),
    "diff": ("", "Show what changed between two revisions."),
    "recall": ("records.recall", "Answer a question from records and earlier sessions."),
    "rollback": ("", "Restore a revision or a record, or revert a session."),
    "undo": ("", "Undo the newest change, or the given revision."),
    "redo": ("", "Reapply what the newest undo reverted."),
    "sync": ("sharing.sync", "Fetch and merge changes from a remote, and push your own."),
    "outgoing": ("", "Show what a sync would send, and to whom."),
    "review": ("sharing.review", "Review fetched changes: accept or reject them."),
    "remote": ("", "List remotes, and set how their commits are accepted."),
    "conflicts": ("", "List the values that two sides changed differently."),
    "resolve": ("", "Resolve a conflict."),
    "merge-driver": ("sharing.conflicts", "Merge one file; git merge calls this."),
    "session": ("sessions.session", "Agent sessions as ECC snapshots: list, inspect, record."),
    "workflow": ("machine.workflow", "Workflows: actions that run at events of agent sessions."),
    "loop-run": ("sessions.loop_run", "Run an agent again and again until its task is done."),
    "import": ("machine.exchange", "Import the state of another system."),
    "export": ("machine.exchange", "Export the state to another system."),
    "cache": ("machine.cache", "Use a session-baton server through a local cache."),
    "namespace": ("sharing.namespaces", "List, rename, move or delete the namespaces of a repository."),
    "validate": ("records.formats", "Validate files, or all files of a namespace."),
    "schema": ("records.formats", "Show the JSON Schema of a kind of record."),
    "hooks": ("machine.hooks", "Install git hooks that run checks and push the namespace."),
    "agents": ("machine.agents", "Install hooks in the CLIs of coding agents."),
    "serve": ("machine.serve", "Serve an HTTP API and a web page."),
    "mcp": ("machine.mcp", "Serve baton's commands to an agent as MCP tools."),
    "doctor": ("machine.doctor", "Check the installation, and repair it."),
    "gc": ("", "Combine the objects that baton stored into one pack."),
    "uninstall": ("machine.uninstall", "Remove baton from a repository, or from this machine."),
    "completion": ("machine.upkeep", "Print a shell completion script."),
    "help": ("machine.help", "Show the help of a command or a topic."),
    "demo": ("machine.demo", "Show three sessions in a temporary repository."),
}
"""The module and the help line of each command. `--help` prints these lines without importing a command's module."""

SECTIONS = {
    "Everyday": (
        "init", "boot", "wrap", "status", "list", "show", "ready", "recall", "edit", "forget", "reopen", "loop",
        "followup", "pattern", "decision", "verify",
    ),
    "History": ("log", "diff", "undo", "redo", "rollback"),
    "Sharing": ("sync", "outgoing", "review", "remote", "conflicts", "resolve"),
    "Agents": ("agents", "mine", "handoff", "todo", "workflow", "loop-run", "session"),
    "Servers": ("serve", "mcp", "cache"),
    "Other systems": ("read", "write", "checkpoint", "restore", "sessions", "identity", "handover"),
    "Maintenance": (
        "doctor", "validate", "gc", "hooks", "trust", "namespace", "schema", "import", "export", "merge-driver",
        "completion", "demo", "uninstall", "help",
    ),
}  # fmt: skip
"""The commands as `--help` lists them. A command in no section is not listed."""

SYSTEM_COMMANDS = {
    "session-baton": ("read", "write", "cache", "serve", "import", "export"),
    "paif": ("checkpoint", "restore", "sessions", "identity"),
    "kairos": ("handover",),
    "gobby": ("handoff", "workflow", "loop-run", "mine"),
    "ecc": ("session",),
}
"""The commands of each other system, for the error if its name is given as a command."""

COMMON_OPTIONS = ("--repo", "--namespace", "-n", "--session", "--agent", "--json")
"""Options of every command; if one is given before the command, the error says where it goes."""


class Commands(LazyGroup):
    """The commands of `baton`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0].partition("=")[0] in COMMON_OPTIONS:
            ctx.fail(f"{args[0]} goes after the command: baton COMMAND {args[0]} …")
        if not args and not ctx.resilient_parsing:
            if is_in_repository():
                args = ["dashboard"]
            else:
                tell("This folder is in no git repository, so there is no state to show.", "")
        return super().parse_args(ctx, args)


@click.group(
    cls=Commands,
    table=COMMANDS,
    sections=SECTIONS,
    related=SYSTEM_COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="baton")
def baton() -> None:
    """The memory between sessions of AI coding agents, kept in git.

    \b
    baton init        create a namespace in your repository, once
    baton boot        start a session, and print its brief
    baton loop add "Deployed X" --expect "health is 200" --verify-http URL
    baton wrap --context "X is deployed; the docs are next"

    Every command has --help with an example, and --json if it prints a result.
    For help on a topic: baton help dates (or revisions, json, kinds,
    configuration, environment, exit-codes).
    """


def main() -> Any:
    """Run the command `baton`, and exit with its status."""
    hide_tokens()
    skip_plugin_search()
    mend_streams()
    interrupt_on_sigterm()
    sys.exit(run(baton))
