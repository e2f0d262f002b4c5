"""Declare commands with the options that all of them have, and pass each one an `App` for its settings and output."""

from __future__ import annotations

import functools
import math
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, cast

import click

from baton_git.core.errors import (
    BatonError,
    Fault,
    InvalidDocument,
    LimitExceeded,
    NeedsHuman,
    Protected,
    find_near_names,
)
from baton_git.core.lifecycle import Confirmed
from baton_git.core.names import Namespace
from baton_git.core.output import Styled, count_noun, flat
from baton_git.core.sessions import SessionNames, list_session_ids
from baton_git.core.state import State
from baton_git.core.view import Reader
from baton_git.git.files.atomic_files import read_at_most, reading
from baton_git.interfaces.cli.common_command import CommonCommand, find_completer
from baton_git.interfaces.cli.printing import ask, tell, terminal_width, write, write_json
from baton_git.interfaces.context.invocation import Call
from baton_git.interfaces.context.settings import CommonOptions, Settings
from baton_git.namespace.caller import ConfirmQuestion, Vouched
from baton_git.namespace.results import WrittenResult, describe_new_namespace, describe_write
from baton_git.namespace.revision import WriteResult
from baton_git.namespace.workspace import Workspace


class WholeNumber(click.IntRange):
    """A whole number within a range, called so in messages."""

    name = "whole number"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return "N"


class Number(click.FloatRange):
    """A number within a range; `nan` is refused, though click accepts it."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value} is not a number.", param, ctx)
        return number


SECONDS = Number(0.1, 3600)
INPUT_FILE = click.Path(readable=False, allow_dash=True)
"""A file to read; `-` is standard input."""
MAX_INPUT = 64 << 20
"""Maximum size of an input file or pipe, in bytes; the limits of what can be stored are much lower."""


@dataclass(frozen=True)
class App(Call):
    """One run of a command: its settings, and how it prints its result.

    Attributes:
        json: whether `--json` is given.
        fields: the fields named with `--json`; empty for all.
        known_fields: all field names that the result can have; empty if unknown.
        read_state: returns the state of the namespace, for what people call its sessions.
    """

    may_fetch: ClassVar[bool] = True

    json: bool
    fields: tuple[str, ...] = ()
    known_fields: tuple[str, ...] = ()
    read_state: Callable[[], State] = State

    @functools.cached_property
    def sessions(self) -> SessionNames:
        """The short names of the namespace's sessions."""
        return SessionNames(lambda: list_session_ids(self.state))

    @functools.cached_property
    def reader(self) -> Reader:
        """For whom results are shown: whoever sits at this terminal."""
        return Reader(self.now, self.sessions, terminal_width(), self.goals, lambda name: name == self.settings.machine)

    @functools.cached_property
    def state(self) -> State:
        """The state of the namespace; an empty one if it cannot be read, which the command itself reports."""
        try:
            return self.read_state()
        except BatonError:
            return State()

    def goals(self, ids: Collection[str | None]) -> dict[str, str]:
        """Return what each of these sessions was asked first, in quotation marks, by its id; only those known."""
        if not any(id_.partition("/")[2] in ids for id_ in self.state.ids("handoff")):
            return {}
        from baton_git.systems.gobby.handoff_context import list_goals  # slow to import; not every session has a goal

        return list_goals(self.state, ids)

    def answer(self, data: Any, text: str) -> None:
        """Print a result to stdout: `data` as JSON with --json, else `text`, unless it is empty."""
        if self.json:
            self.answer_json(data)
        elif text:
            write(text)

    def say(self, *lines: str) -> None:
        """Print messages to stderr, one per line, with the short names of sessions."""
        shorten = self.sessions.shorten_in
        tell(*(Styled(shorten(line)) if isinstance(line, Styled) else shorten(line) for line in lines))

    def can_ask_person(self, hint: str = "") -> bool:
        """Return whether a prompt at this terminal reaches a person.

        Args:
            hint: the hint of the error: how a person can do this instead.

        Raises:
            NeedsHuman: there is a terminal, but an agent is known to be acting.
        """
        if not at_terminal():
            return False
        self.refuse_agents(hint)
        return True

    def refuse_agents(self, hint: str = "") -> None:
        """Refuse a command that only a person may run.

        Args:
            hint: the hint of the error: how a person can do this instead.

        Raises:
            NeedsHuman: an agent is known to be acting.
        """
        from baton_git.interfaces.context.person import check_no_agent  # slow to import, and few commands need it

        check_no_agent(self.settings.agent, hint)

    def is_person_typing(self) -> bool:
        """Return whether a person probably typed this command at a terminal."""
        if not at_terminal():
            return False
        from baton_git.interfaces.context.person import is_person_typing  # slow to import

        return is_person_typing(self.settings.agent)

    def ask_person(self, question: ConfirmQuestion) -> Confirmed | Vouched | None:
        """Return the confirmation of the person at this terminal; None if there is no terminal, or nobody confirms.

        Raises:
            NeedsHuman: there is a terminal, but an agent is known to be acting.
        """
        if question.is_typing_enough and self.is_person_typing():
            return question.confirm(self.person, "typed")
        if not self.can_ask_person():
            return None
        self.say(*question.lines, "")
        return question.confirm(self.person, "terminal") if question.is_confirmed_by(ask(question.prompt)) else None

    def identify_person(self, error: NeedsHuman) -> Confirmed | Vouched:
        """Return the person at this terminal, who may do what was refused.

        Whoever types the command changes what they confirmed without a further question; at a terminal in which agents
        type too, and before a rule is made, the person is asked.

        Raises:
            NeedsHuman: `error`, if nobody confirms; or an agent is known to be acting.
        """
        person = self.ask_person(ConfirmQuestion((f"{error}.",), is_typing_enough=isinstance(error, Protected)))
        if person is None:
            raise error
        return person

    def answer_json(self, data: Any) -> None:
        """Print data to stdout as JSON, even without --json; only the fields named with --json, if any.

        Raises:
            InvalidArgument: a named field does not exist, or the fields belong to different objects.
        """
        if self.fields:
            from baton_git.interfaces.cli.field_selection import select_fields  # few commands name fields

            data = select_fields(data, self.fields, self.known_fields)
        write_json(data)

    def tell_change(self, result: WrittenResult) -> None:
        """Print the summary of a change and its notes to stderr."""
        self.tell_write(result.written)
        self.say(*result.notes)

    def tell_conflicts(self, ids: Sequence[str], named: Collection[str]) -> int | None:
        """Print the ids of the open conflicts, unless all of them were printed before.

        Args:
            ids: the ids of the open conflicts.
            named: the ids that were printed before.

        Returns:
            The exit status for open conflicts; None if there are none.
        """
        if not ids:
            return None
        if not set(named).issuperset(ids):
            counted = count_noun(len(ids), "conflict is", "conflicts are")
            self.say(f"{counted} open: {', '.join(ids[:5])} (baton conflicts)")
        from baton_git.interfaces.cli.error_handler import CONFLICT  # imports modules that import this one

        return CONFLICT

    def tell_problems(self, ws: Workspace) -> None:
        """Print which settings are invalid, and what is used instead."""
        self.say(*(flat(problem) for problem in ws.problems))

    def tell_write(self, written: WriteResult) -> None:
        """Print the summary of a commit to stderr, with warnings: a new namespace, redactions, a checked-out branch."""
        self.say(*describe_write(written, self.settings.repository.common_dir))

    def tell_new_namespace(self, namespace: Namespace | str) -> None:
        """Print that the command created the namespace, in case its name or folder was mistyped."""
        self.say(describe_new_namespace(namespace, self.settings.repository.common_dir))


JSON = click.option(
    "--json", "json_fields", metavar="[FIELDS]", help="Print JSON; with FIELDS (for example id,status), only these."
)
"""The option `--json`; `CommonCommand` adds an empty value if it is given without fields."""


def make_app(settings: Settings, json_fields: str | None) -> App:
    """Return the `App` for these settings; `json_fields` is the value of `--json`, or None without `--json`."""
    fields = tuple(name for name in (json_fields or "").split(",") if name)
    return App(settings, json_fields is not None, fields)


SESSION_HELP = (
    "The acting session. Default: BATON_SESSION, the agent's current session, or the one that baton boot started."
)
AGENT_HELP = "The acting agent. Default: BATON_AGENT."


CREATE = click.option("--create", is_flag=True, help="Create the repository and the namespace if they do not exist.")
"""The option of commands that can create the namespace that they write to."""


def command(
    name: str,
    *,
    session_help: str = SESSION_HELP,
    agent_help: str = AGENT_HELP,
    may_create: bool = False,
    **settings: Any,
) -> Callable[[Callable[..., Any]], click.Command]:
    """Return a decorator that declares a command with the common options; its function gets the `App` first.

    Args:
        session_help: the help of `--session`.
        agent_help: the help of `--agent`.
        may_create: whether the command has the option `--create`.
        settings: further arguments of `click.command`.
    """

    def decorate(function: Callable[..., Any]) -> click.Command:
        @click.command(name, **{"cls": CommonCommand, **settings})
        @click.option(
            "--repo",
            metavar="PATH",
            type=click.Path(readable=False),
            help="The repository. Default: BATON_REPO, the one that contains this folder, or else your own store in "
            "~/.local/share/baton.",
        )
        @click.option(
            "--namespace",
            "-n",
            metavar="NS",
            shell_complete=find_completer("namespace", ""),
            help="The namespace. Default: BATON_NAMESPACE, git config baton.namespace, the folder's name, or the only "
            "namespace on the remotes of a clone.",
        )
        @click.option("--session", metavar="ID", help=session_help, shell_complete=find_completer("session", ""))
        @click.option(
            "--agent",
            metavar="NAME",
            help=agent_help,
            shell_complete=find_completer("agent", ""),
        )
        @JSON
        @functools.wraps(function)
        def run_with_app(json_fields: str | None, **values: Any) -> Any:
            common = CommonOptions(**{name: values.pop(name) for name in CommonOptions._fields if name in values})
            return function(make_app(Settings(common), json_fields), **values)

        return cast("click.Command", CREATE(run_with_app) if may_create else run_with_app)

    return decorate


def command_alone(name: str, **settings: Any) -> Callable[[Callable[..., Any]], click.Command]:
    """Return a decorator that declares a command that needs no repository; its function gets the `App` first."""

    def decorate(function: Callable[..., Any]) -> click.Command:
        @click.command(name, **{"cls": CommonCommand, **settings})
        @JSON
        @functools.wraps(function)
        def run_alone(json_fields: str | None, **rest: Any) -> Any:
            return function(make_app(Settings(CommonOptions()), json_fields), **rest)

        return cast("click.Command", run_alone)

    return decorate


SIGN = click.option("--sign", is_flag=True, help="Confirm with a signing key that needs a touch or a passphrase.")
"""The option of commands that confirm something as a person."""


def at_terminal() -> bool:
    """Return whether a prompt can be answered: stdin and stderr are a terminal.

    If the answer must be a person's, use `App.can_ask_person`.
    """
    return sys.stdin.isatty() and sys.stderr.isatty()


def require_terminal() -> None:
    """Check that a person can be asked at a terminal.

    Raises:
        UsageError: a prompt cannot be answered; the option --yes replaces the answer.
    """
    if not at_terminal():
        raise click.UsageError("there is no terminal for the confirmation: add --yes")


def baton_command() -> str:
    """Return how a shell starts this program: `baton` if it is on PATH, else the running Python with `-m`."""
    return "baton" if shutil.which("baton") else f"{shlex.quote(sys.executable)} -m baton_git"


class Family(click.Group):
    """A group of commands; without a command it runs `list` or else `status`, if it has one of them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        is_other = ctx.resilient_parsing or args[:1] in (["--help"], ["-h"])
        default = _find_default(self.commands)
        if default is not None and not is_other and all(arg.startswith("-") for arg in args[:1]):
            args = [default, *args]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.commands and not args[0].startswith("-"):
            near = find_near_names(args[0], self.commands, 2)
            hint = f"Did you mean {' or '.join(near)}?" if near else f"Commands: {', '.join(self.list_commands(ctx))}"
            ctx.fail(f"{ctx.command_path} has no command {args[0]!r}. {hint}")
        return super().resolve_command(ctx, args)


def group(name: str, help_text: str, commands: Sequence[click.Command]) -> click.Group:
    """Return a group of commands. Its help is `help_text`, and names the command that runs by default, if any."""
    default = _find_default([str(command.name) for command in commands])
    about = f"{help_text} Without a command, `{default}` runs." if default else help_text
    return Family(name, commands=list(commands), help=about, no_args_is_help=True)


def _find_default(commands: Collection[str]) -> str | None:
    """Return the command that a group runs without a command; None if the group then shows its help."""
    return next((name for name in ("list", "status") if name in commands), None)


def read_bytes(file: str) -> bytes:
    """Return the content of a file, or of standard input for `-`.

    Raises:
        NotFound: the file does not exist.
        InvalidArgument: it is a folder.
        StoreError: it cannot be read for another reason.
        LimitExceeded: the content is larger than `MAX_INPUT`.
    """
    with reading(Path("standard input" if file == "-" else file)):
        if file == "-":
            content = sys.stdin.buffer.read(MAX_INPUT + 1)
        else:
            with Path(file).open("rb") as opened:
                content = read_at_most(opened, MAX_INPUT + 1)
    if len(content) > MAX_INPUT:
        raise LimitExceeded(flat(file), len(content), MAX_INPUT, "bytes")
    return content


def read_text(file: str) -> str:
    """Return the text of a file, or of standard input for `-`.

    Raises:
        NotFound, InvalidArgument, StoreError, LimitExceeded: like `read_bytes`.
        InvalidDocument: the content is not UTF-8.
    """
    try:
        return read_bytes(file).decode()
    except UnicodeDecodeError as error:
        fault = Fault("", f"not UTF-8 text: {error.reason} at byte {error.start}")
        raise InvalidDocument([fault], where=file) from None


def path_from_top(app: App, path: str | None) -> str | None:
    """Return `path`, which is relative to the current folder, as a path relative to the top of the work tree.

    The path is returned unchanged if it is absolute, or if there is no work tree.
    """
    top = app.settings.folder
    if path is None or top is None or Path(path).is_absolute():
        return path
    return os.path.relpath(Path.cwd() / path, str(top))


def anchor_from_top(app: App, text: str) -> str | None:
    """Return PATH or PATH:SYMBOL with the path relative to the top; unchanged if it is that already, because only the
    top has such a file, or if it is empty."""
    top, paths = app.settings.folder, {text, text.partition(":")[0]}
    is_here = any(os.path.lexists(path) for path in paths)
    is_of_top = not is_here and top is not None and any(path and os.path.lexists(Path(top, path)) for path in paths)
    return text if is_of_top or not text.strip() else path_from_top(app, text)
