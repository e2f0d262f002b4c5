"""What every command shares: its options, the workspace it works in, and how it answers."""

from __future__ import annotations

import functools
import math
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import click

from baton_git.core.errors import Fault, InvalidDocument, LimitExceeded, StoreError
from baton_git.core.names import Namespace
from baton_git.core.output import one_line
from baton_git.interfaces.cli.common_command import CommonCommand, offer_for
from baton_git.interfaces.cli.printing import tell, write, write_json
from baton_git.interfaces.context.invocation import Call
from baton_git.interfaces.context.settings import CommonOptions, Settings
from baton_git.namespace.results import WrittenResult, summarise
from baton_git.namespace.revision import WriteResult

CHECKED_OUT = (
    "{} has this branch checked out: new commits show there as a revert, and a commit made there would take them "
    "back. Switch it to another branch, and look with baton show or baton diff"
)


class Number(click.FloatRange):
    """A number; not a number is none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value} is no number.", param, ctx)
        return number


SECONDS = Number(0.1, 3600)
MAX_INPUT = 64 << 20
"""Bytes that are read of a file or a pipe; what may be stored is far less."""


@dataclass(frozen=True)
class App(Call):
    """One call of the command, and how it answers.

    Attributes:
        fields: the fields that `--json` names; all where it names none.
        known_fields: the names of fields that the answer may have, where that is known.
    """

    json: bool
    fields: tuple[str, ...] = ()
    known_fields: tuple[str, ...] = ()

    def answer(self, data: Any, text: str) -> None:
        """Write to stdout: the data as JSON with --json, else the text, if any."""
        if self.json:
            self.answer_json(data)
        elif text:
            write(text)

    def say(self, *lines: str) -> None:
        """Write messages to stderr."""
        tell(*lines)

    def can_ask_person(self, hint: str = "") -> bool:
        """Return whether there is a terminal at which an answer counts as a person's.

        Args:
            hint: how a person can do it instead, for the error.

        Raises:
            NeedsHuman: there is a terminal, but an agent is known to be acting.
        """
        if not at_terminal():
            return False
        self.refuse_agents(hint)
        return True

    def refuse_agents(self, hint: str = "") -> None:
        """Refuse a command that only a person may give when an agent acts.

        Raises:
            NeedsHuman: an agent is known to be acting.
        """
        from baton_git.interfaces.context.person import check_no_agent  # much to load, and few commands ask a person

        check_no_agent(self.settings.agent, hint)

    def is_person_typing(self) -> bool:
        """Return whether a person typed this command at a terminal, as far as anybody can tell."""
        if not at_terminal():
            return False
        from baton_git.interfaces.context.typing_person import is_person_typing  # as above

        return is_person_typing(self.settings.agent)

    def answer_json(self, data: Any) -> None:
        """Write data to stdout as JSON, whether or not --json is given; only the fields that it names, if any.

        Raises:
            InvalidArgument: the data has no such field.
        """
        if self.fields:
            from baton_git.interfaces.cli.field_selection import select_fields  # few commands name fields

            data = select_fields(data, self.fields, self.known_fields)
        write_json(data)

    def tell_change(self, result: WrittenResult) -> None:
        """Say what a change did, and what its reader should know."""
        self.tell_write(result.written)
        self.say(*result.notes)

    def tell_conflicts(self, ids: Sequence[str], printed: Sequence[str]) -> int | None:
        """Say which conflicts are open, unless a line names `baton conflicts` already; return the exit status."""
        if not ids:
            return None
        if not any("baton conflicts" in line for line in printed):
            noun = "conflict is" if len(ids) == 1 else "conflicts are"
            self.say(f"{len(ids)} {noun} open: {', '.join(ids[:5])} (baton conflicts)")
        from baton_git.interfaces.cli.error_handler import CONFLICT  # imports this module's neighbours

        return CONFLICT

    def tell_write(self, written: WriteResult) -> None:
        """Say what a change did, and what its reader should know."""
        self.say(f"{summarise(written.changes)} (revision {written.revision.number})")
        if written.before.commit is None and written.revision.commit is not None:
            self.tell_new_namespace(written.revision.namespace)
        for key, redaction in written.redactions:
            self.say(f"redacted: {redaction.kind} in {key}, {redaction.path}")
        if written.checked_out_at is not None:
            self.say(CHECKED_OUT.format(written.checked_out_at))

    def tell_new_namespace(self, namespace: Namespace | str) -> None:
        """Say that the command created the namespace, in case its name or folder was mistyped."""
        self.say(f"this began the namespace {namespace} in {self.settings.repository.common_dir}")


JSON = click.option("--json", "json_fields", metavar="[FIELDS]", help="Print JSON; with FIELDS (id,status) only these.")
"""The option of every command; `CommonCommand` gives it a value where it has none."""


def make_app(settings: Settings, json_fields: str | None) -> App:
    """Return the call of a command with these settings, and what is given with `--json`."""
    fields = tuple(name for name in (json_fields or "").split(",") if name)
    return App(settings, json_fields is not None, fields)


SESSION_HELP = "The acting session. Default: BATON_SESSION, the agent's own, or the one booted here."


CREATE = click.option("--create", is_flag=True, help="Create the namespace, and the repository, if there is none.")
"""For commands that write what need not exist yet."""


def command(
    name: str, *, session_help: str = SESSION_HELP, may_create: bool = False, **settings: Any
) -> Callable[[Callable[..., Any]], click.Command]:
    """Declare a command with the common options; its function gets the `App` first.

    Args:
        may_create: whether it has the option `--create`.
    """

    def decorate(function: Callable[..., Any]) -> click.Command:
        @click.command(name, **{"cls": CommonCommand, **settings})
        @click.option(
            "--repo",
            metavar="PATH",
            type=click.Path(readable=False),
            help="The repository. Default: BATON_REPO, the enclosing one, or your own store.",
        )
        @click.option(
            "--namespace",
            "-n",
            metavar="NS",
            shell_complete=offer_for("namespace", ""),
            help="The namespace. Default: git config baton.namespace, the folder's name, or the only one of a clone.",
        )
        @click.option("--session", metavar="ID", help=session_help, shell_complete=offer_for("session", ""))
        @click.option(
            "--agent",
            metavar="NAME",
            help="The acting agent. Default: BATON_AGENT.",
            shell_complete=offer_for("agent", ""),
        )
        @JSON
        @functools.wraps(function)
        def run_with_app(json_fields: str | None, **values: Any) -> Any:
            common = CommonOptions(**{name: values.pop(name) for name in CommonOptions._fields if name in values})
            return function(make_app(Settings(common), json_fields), **values)

        return cast("click.Command", CREATE(run_with_app) if may_create else run_with_app)

    return decorate


def command_alone(name: str, **settings: Any) -> Callable[[Callable[..., Any]], click.Command]:
    """Declare a command that works in no repository; its function gets the `App` first."""

    def decorate(function: Callable[..., Any]) -> click.Command:
        @click.command(name, **{"cls": CommonCommand, **settings})
        @JSON
        @functools.wraps(function)
        def run_alone(json_fields: str | None, **rest: Any) -> Any:
            return function(make_app(Settings(CommonOptions()), json_fields), **rest)

        return cast("click.Command", run_alone)

    return decorate


SIGN = click.option(
    "--sign", is_flag=True, help="Confirm by a signature: with a key that needs a touch or a passphrase."
)
"""For what only a person may do."""


def at_terminal() -> bool:
    """Whether somebody can be asked here: who only shows our output on a terminal types nothing. What counts as a
    person's word asks `App.can_ask_person` instead."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def baton_command() -> str:
    """How a shell starts this program: by its name where that is found, else by the interpreter that runs it."""
    return "baton" if shutil.which("baton") else f"{shlex.quote(sys.executable)} -m baton_git"


def flat(text: str) -> str:
    """Return a text on one line, with control characters as spaces."""
    return one_line(text, len(text))


class Family(click.Group):
    """A group of commands that lists where no command is named, if it has `list`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        is_other = ctx.resilient_parsing or args[:1] in (["--help"], ["-h"])
        if "list" in self.commands and not is_other and all(arg.startswith("-") for arg in args[:1]):
            args = ["list", *args]
        return super().parse_args(ctx, args)


def group(name: str, help_text: str, commands: Sequence[click.Command]) -> click.Group:
    alone = " Without a command, list them." if any(command.name == "list" for command in commands) else ""
    return Family(name, commands=list(commands), help=f"{help_text}{alone}", no_args_is_help=True)


def read_bytes(file: str) -> bytes:
    """The content of a file, or of standard input for `-`.

    Raises:
        StoreError: it cannot be read.
        LimitExceeded: it is larger than `MAX_INPUT`.
    """
    try:
        if file == "-":
            content = sys.stdin.buffer.read(MAX_INPUT + 1)
        else:
            with Path(file).open("rb") as opened:
                content = opened.read(MAX_INPUT + 1)
    except OSError as error:
        raise StoreError(f"{flat(file)}: {error.strerror or error}") from error
    if len(content) > MAX_INPUT:
        raise LimitExceeded(flat(file), len(content), MAX_INPUT, "bytes")
    return content


def read_text(file: str) -> str:
    """The text of a file, or of standard input for `-`.

    Raises:
        StoreError: it cannot be read.
        InvalidDocument: it is not UTF-8.
    """
    try:
        return read_bytes(file).decode()
    except UnicodeDecodeError as error:
        fault = Fault("", f"not UTF-8 text: {error.reason} at byte {error.start}")
        raise InvalidDocument([fault], where=file) from None


def path_from_top(app: App, path: str | None) -> str | None:
    """Return a path as it is from the top of the work tree, where verbs look, and not from where we stand."""
    top = app.settings.folder
    if path is None or top is None or Path(path).is_absolute():
        return path
    return os.path.relpath(Path.cwd() / path, str(top))


def fill_about(app: App, values: dict[str, Any]) -> dict[str, Any]:
    """Return the values with the files of `--about` as they are from the top of the work tree."""
    about = values.get("about")
    return values | ({"about": [path_from_top(app, text) for text in about]} if about else {})
