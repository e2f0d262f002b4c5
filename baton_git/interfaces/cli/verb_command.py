"""Derive the click command of a verb from its declaration."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

import annotated_types
import click
from pydantic.fields import FieldInfo

from baton_git.core.errors import BatonError, FieldHint, InvalidArgument, NotFound
from baton_git.core.names import is_minted_session
from baton_git.core.output import flat
from baton_git.core.records.lineage import Session
from baton_git.core.sessions import find_session
from baton_git.core.verb import READS, FileInput, Input, Option, Result, Verb
from baton_git.core.view import ResultView
from baton_git.interfaces.cli.app import (
    AGENT_HELP,
    INPUT_FILE,
    SESSION_HELP,
    SIGN,
    App,
    Number,
    WholeNumber,
    anchor_from_top,
    command,
    command_alone,
    group,
    read_text,
)
from baton_git.interfaces.cli.common_command import CommonCommand, Completer, find_completer
from baton_git.interfaces.cli.error_handler import CONFLICT, FAILED, UNKNOWN
from baton_git.interfaces.cli.printing import progress_line, write
from baton_git.namespace.caller import Vouched
from baton_git.namespace.workspace import Workspace

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
Values = dict[str, Any]


class Addition(NamedTuple):
    """Command-line additions to the command of one verb.

    Attributes:
        options: further options and arguments, as click's decorators, in the order of the help.
        fill: turns the values of the command line into the values of the input's fields.
        run: runs the verb, with prompts before it or special output; returns None if it printed the result itself.
        acting: adapts the `App`, if an option that all commands share has another meaning for this one.
        session_help: the help of `--session`.
        agent_help: the help of `--agent`.
        render: prints the result; may return an exit status.
    """

    options: Sequence[Decorator] = ()
    fill: Callable[[App, Values], Values] | None = None
    run: Callable[[App, Workspace, Any, Values], Result | None] | None = None
    acting: Callable[[App], App] | None = None
    session_help: str = SESSION_HELP
    agent_help: str = AGENT_HELP
    render: Callable[[App, Any], int | None] | None = None


NOTHING = Addition()
STATUSES = {"ok": None, "failed": FAILED, "unknown": UNKNOWN, "conflict": CONFLICT}
"""The exit status of each way in which a call can end."""


def verb_group(
    word: str,
    about: str,
    verbs: Mapping[str, Verb[Any, Any]],
    additions: Mapping[str, Addition],
    more: Sequence[click.Command] = (),
) -> click.Command:
    """Return the group of the verbs that begin with `word` and of `more` commands; or the only verb named `word`."""
    commands = [*more, *(verb_command(verb, additions.get(name, NOTHING)) for name, verb in verbs.items())]
    return commands[0] if set(verbs) == {word} else group(word, about, commands)


def verb_command(verb: Verb[Any, Any], addition: Addition = NOTHING) -> click.Command:
    """Return the command of a verb."""

    def call(app: App, **values: Any) -> int | None:
        command_line_values = _join_flags(
            verb, {name: value for name, value in values.items() if value is not None and value != ()}
        )
        command_line_values = _convert(app, verb, command_line_values)
        fields = addition.fill(app, command_line_values) if addition.fill is not None else command_line_values
        input_values = {name: value for name, value in fields.items() if name in verb.input_model.model_fields}
        verb_input = _parse(verb, input_values, app.now)
        app = _add_known_fields(app, verb) if app.fields else app
        app = app.for_protocol_run if "session" in verb.shared else app
        app = app.lenient if verb.session == "begins" else app
        app = addition.acting(app) if addition.acting is not None else app
        with _name_options(verb), ExitStack() as opened:
            try:
                ws = opened.enter_context(_open_workspace(app, verb, verb_input))
            except BatonError:
                if verb.session == "begins":
                    _send_cached(app, getattr(verb_input, "sync_seconds", 0))
                raise
            ws = _with_machine(app, verb, _with_typing_person(app, verb, ws), fields)
            app = replace(app, read_state=lambda: ws.branch.read().state) if ws is not None else app
            with progress_line(verb.progress) as line:
                ws = replace(ws, progress=line.advance) if verb.progress else ws
                result = _run(app, ws, verb, addition, verb_input, fields)
            told = _remember_session(app, verb, result)
            status = (addition.render or render)(app, result) if result is not None else None
            app.say(*told)
            return status

    sign: list[Decorator] = [SIGN] if verb.confirm is not None and verb.confirm.can_sign else []
    decorators = [*_parameters(verb), *addition.options, *sign]
    wrapped = functools.reduce(lambda function, decorate: decorate(function), reversed(decorators), call)
    examples = "\b\n" + "\n".join(verb.examples) if verb.examples else ""
    about = "\n\n".join(part for part in (verb.about, verb.usage, examples) if part)
    settings: dict[str, Any] = {"short_help": f"{verb.summary}.", "help": about}
    declare = (
        command_alone
        if verb.standalone
        else functools.partial(
            command,
            session_help=_describe_shared(verb, "session", addition.session_help),
            agent_help=_describe_shared(verb, "agent", addition.agent_help),
            may_create=verb.may_create,
        )
    )
    click_command = declare(verb.name.split()[-1], **settings)(wrapped)
    needs_argument = any(verb.input_model.model_fields[name].is_required() for name in verb.positional)
    if (
        isinstance(click_command, CommonCommand)
        and not needs_argument
        and (verb.effect == READS or not verb.positional)
    ):
        click_command.answer = verb.result_model
    return click_command


def _run(app: App, ws: Any, verb: Verb[Any, Any], addition: Addition, verb_input: Any, values: Values) -> Result | None:
    """Run a verb; what it needs of a person is asked at the terminal."""
    if addition.run is not None:
        return addition.run(app, ws, verb_input, values)
    from baton_git.interfaces.cli.confirming import run_for_person  # imports modules that import this one

    return run_for_person(app, ws, verb, verb_input, sign=bool(values.get("sign")))  # type: ignore[no-any-return]


def _add_known_fields(app: App, verb: Verb[Any, Any]) -> App:
    """Return the `App` with the names of all fields that the verb's result can have.

    Raises:
        InvalidArgument: the verb writes, and its result has no such field; so nothing is written.
    """
    from baton_git.interfaces.cli.field_selection import list_fields, unknown_field  # few commands name fields

    known = list_fields(verb.result_model)
    unknown = [name for name in app.fields if name.partition(".")[0] not in known]
    if unknown and verb.effect != READS:
        raise unknown_field(unknown[0], known)
    return replace(app, known_fields=tuple(known))


@contextmanager
def _open_workspace(app: App, verb: Verb[Any, Any], verb_input: Input) -> Iterator[Any]:
    """Yield the workspace for a verb; None if it needs no repository.

    A verb that starts a session does not act in the session that was started before in this work tree.
    """
    if verb.standalone:
        yield None
        return
    only_reads = bool(verb.anywhere_without) and not getattr(verb_input, verb.anywhere_without)
    is_anywhere = only_reads or (verb.anywhere and verb.effect == READS)
    with app.workspace_anywhere() if is_anywhere else app.workspace() as ws:
        if verb.effect == READS:
            app.tell_problems(ws)
        if not only_reads:
            verb.check_namespace(ws)
        is_new = verb.session == "begins" and not app.settings.session and not app.settings.hooked_session
        yield replace(ws, actor=replace(ws.actor, session=None, follows=_find_continued_session(app))) if is_new else ws


@contextmanager
def _name_options(verb: Verb[Any, Any]) -> Iterator[None]:
    """Replace the names of the verb's fields in the hint of an error by the names of the command-line options."""
    try:
        yield
    except BatonError as error:
        if isinstance(error.hint, FieldHint):
            error.hint = error.hint.with_names(
                {name: option_name(verb, name) for name in verb.input_model.model_fields}
            )
        is_number = (
            isinstance(error, NotFound)
            and error.data["what"] == "namespace"
            and error.data["name"].lstrip("-").isdecimal()
        )
        if is_number and "limit" in verb.input_model.model_fields:
            error.hint = f"-n names a namespace; for the number of items: {option_name(verb, 'limit')}"
        raise


def _with_typing_person(app: App, verb: Verb[Any, Any], ws: Any) -> Any:
    """Return the workspace; if a person typed the command, the person vouches for its text."""
    if not verb.is_authored or not app.is_person_typing():
        return ws
    return replace(ws, confirmed=Vouched(app.person, "typed"))


def _with_machine(app: App, verb: Verb[Any, Any], ws: Any, fields: Values) -> Any:
    """Return the workspace with the machine as the command line adapts it, and with messages printed to stderr."""
    if ws is None:
        return None
    ws = replace(ws, tell=lambda line: app.say(flat(line)))
    if verb.session == "begins":
        from baton_git.interfaces.background.catching_up import with_catch_up  # here and below: only for a start
        from baton_git.interfaces.context.client_cache import with_client_cache

        ws = with_catch_up(with_client_cache(ws))
    chosen = {name: fields[name] for name in verb.machine_options if name in fields}
    if not chosen:
        return ws
    adapted: dict[str, Any] = {name: functools.partial(Path, value) for name, value in chosen.items()}
    return replace(ws, find_machine=lambda: replace(app.find_machine(), **adapted))


def _send_cached(app: App, seconds: float) -> None:
    """Send what waits in the client's cache, which belongs to no repository, although no session can start here."""
    from baton_git.interfaces.context.client_cache import send_cached
    from baton_git.verbs.sessions.session_start import LEAST_FOR_CACHE

    if seconds > 0:
        app.say(*map(flat, send_cached(max(LEAST_FOR_CACHE, seconds))))


def _find_continued_session(app: App) -> str | None:
    """Return the session that a new session in this work tree continues; None if there is none.

    This is the work tree's current session, unless a user chose its name or its process still runs. It can be
    continued because, once the new session has started, commands that name no session no longer act in the old one.
    """
    paused = app.current.get_paused()  # the current one is then an agent's, whose hooks see its end
    session = paused or app.current.get()
    is_held = paused is None and app.current.is_held()
    return session if session is not None and is_minted_session(session) and not is_held else None


def _remember_session(app: App, verb: Verb[Any, Any], result: Any) -> Sequence[str]:
    """Store a session that starts as the current session of the work tree; remove the stored session when it ends.

    Return what to tell about it.
    """
    if verb.session == "begins":
        current = app.on(result.namespace).current
        if current.get() != result.session:
            current.forget_paused()
        current.set(result.session)
    elif verb.session == "ends" and result.session is not None:
        if app.current.get_paused() == result.session:
            app.current.forget_paused()
        if app.current.get() == result.session:
            app.current.set(None)
    elif verb.session == "undoes" and not result.dry_run:
        return _follow_sessions(app, result)
    return ()


def _follow_sessions(app: App, result: Any) -> Sequence[str]:
    """Make a session that the undo reopened the current one of this work tree; forget one that the redo ended.

    A session of another machine is left alone, and so is the current session if there is one. Return what to tell.
    """
    told = []
    for change in result.written.changes:
        status = change.after("status") if change.kind == Session.kind else None
        session = find_session(result.written.revision.state, change.id) if status is not None else None
        if status == "ended" and app.current.get() == change.id:
            app.current.set(None)
        elif (
            status == "active"
            and session is not None
            and app.settings.places.is_own(session.machine)
            and not _has_session(app)
        ):
            app.current.set(change.id)
            told.append(
                f"commands in this work tree act in session {app.sessions.shorten(change.id)} again, until baton wrap"
            )
    return told


def _has_session(app: App) -> bool:
    return bool(app.settings.session or app.settings.hooked_session or app.current.get())


def render(app: App, result: Result) -> int | None:
    """Print what people read of a result, or with --json its data, and return the exit status."""
    shown = result.show(app.reader)
    if shown is not None:
        return render_view(app, shown, result.as_data())
    app.answer_json(result.as_data())
    return None


def render_view(app: App, shown: ResultView, data: Any) -> int | None:
    """Print a view, or with --json `data` and the notes; return the exit status."""
    if app.json or shown.text is None:
        app.answer_json(data)
    elif shown.text:
        _write_paged(shown.text) if shown.paged else write(shown.text)
    for note in shown.notes:
        app.say(note) if isinstance(note, str) else app.tell_write(note)
    return STATUSES[shown.status]


def _write_paged(text: str) -> None:
    from baton_git.interfaces.cli.pager import write_paged  # few commands need a pager

    write_paged(text)


def _parse(verb: Verb[Any, Any], values: Values, now: datetime) -> Input:
    try:
        verb_input: Input = verb.parse(values, functools.partial(option_name, verb), now)
    except InvalidArgument as error:
        raise click.UsageError(str(error)) from None
    return verb_input


def _join_flags(verb: Verb[Any, Any], values: Values) -> Values:
    """Set each field that is given as flags or as several words: to the given flag, or to the joined words.

    Raises:
        UsageError: two flags of one field are given.
    """
    for name, option in verb.options.items():
        if option.is_joined:
            values[name] = " ".join(values[name])
        chosen = [flag for flag in option.flags if values.pop(_name_flag(name, flag), None)]
        if len(chosen) > 1:
            raise click.UsageError(f"give {' or '.join(f'--{flag}' for flag in option.flags)}, not both")
        if chosen:
            values[name] = option.values.get(chosen[0], chosen[0])
    return values


def _name_flag(name: str, flag: str) -> str:
    return f"{name}__{flag.replace('-', '_')}"


def option_name(verb: Verb[Any, Any], field: str) -> str:
    """Return the name of a field on the command line, for messages."""
    option = verb.options.get(field, Option())
    if field in verb.positional:
        return field.upper()
    if option.flags and not option.names:
        return " or ".join(f"--{flag}" for flag in option.flags)
    return option.names[0] if option.names else f"--{field.replace('_', '-')}"


def _parameters(verb: Verb[Any, Any]) -> list[Decorator]:
    """Return the parameters for the fields of the input: arguments first, then options in the order of the model."""
    fields = verb.input_model.model_fields
    arguments = [_argument(verb, name, fields[name]) for name in verb.positional]
    options = [
        decorator
        for name, info in fields.items()
        if name not in verb.positional
        for decorator in _options(verb, name, info)
    ]
    options += [
        click.option(*names, name, type=click.Path(path_type=Path), metavar="PATH", help=about)
        for name, (names, about) in verb.machine_options.items()
    ]
    return [*arguments, *options, *([_make_file_option(verb.file)] if verb.file is not None else ())]


def _make_file_option(file: FileInput) -> Decorator:
    return click.option(*file.names, FILE, type=INPUT_FILE, metavar=file.metavar, help=file.about)


FILE = "input_file"
"""The name of the value of the option for a file, which is that of no field."""


def _describe_shared(verb: Verb[Any, Any], option: str, otherwise: str) -> str:
    """Return the help of an option that all commands have: that of the field that it sets, if it sets one."""
    field = verb.shared.get(option)
    return otherwise if field is None else _help(verb.input_model.model_fields[field])


def _convert(app: App, verb: Verb[Any, Any], values: Values) -> Values:
    """Return the values of the fields for those of the command line: paths, JSON, texts of files, shared options.

    Raises:
        UsageError: a field is given twice, in a file and by itself.
    """
    for name, option in verb.options.items():
        if name not in values:
            continue
        if option.is_path:
            values[name] = [anchor_from_top(app, text) for text in values[name]]
        elif option.is_json:
            values[name] = _parse_json(values[name])
        elif option.reads_stdin and values[name] == "-":
            values[name] = read_text("-")
    for shared, field in verb.shared.items():
        if getattr(app.settings.options, shared) is not None:
            values[field] = app.settings.run if shared == "session" else app.settings.agent
    if verb.file is None or FILE not in values:
        return values
    named = verb.file.names[0]
    read = verb.file.parse(read_text(values[FILE]), values.pop(FILE))
    twice = [name for name in read if name in values]
    if twice:
        raise click.UsageError(f"give {option_name(verb, twice[0])} or {named}, not both")
    return {**values, **read}


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _argument(verb: Verb[Any, Any], name: str, info: FieldInfo) -> Decorator:
    option = verb.options.get(name, Option())
    metavar: dict[str, Any] = {"metavar": option.metavar} if option.metavar else {}
    metavar["shell_complete"] = find_completer(name, verb.name.split()[0])
    if _is_list(info.annotation) or option.is_joined:
        return click.argument(name, nargs=-1, type=_click_type(info), required=option.is_joined, **metavar)
    if not info.is_required() and verb.input_model.model_fields[verb.positional[-1]].is_required():
        # a single optional argument would take the word of the required one after it
        both = [metavar["shell_complete"], find_completer(verb.positional[-1], verb.name.split()[0])]
        metavar |= {"metavar": f"[{name.upper()}]", "shell_complete": _complete_any(both)}
        return click.argument(name, nargs=-1, type=_click_type(info), callback=_take_one, **metavar)
    return click.argument(name, required=info.is_required(), type=_click_type(info), **metavar)


def _complete_any(completers: Sequence[Completer | None]) -> Completer:
    """Return a function that offers what any of these offers."""

    def offer(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
        return [
            item for complete in completers if complete is not None for item in complete(context, parameter, incomplete)
        ]

    return offer


def _take_one(context: click.Context, parameter: click.Parameter, values: tuple[Any, ...]) -> Any:
    """Return the only value of an optional argument, or None if there is no value."""
    if len(values) > 1:
        raise click.UsageError(f"Got unexpected extra argument ({values[1]})", context)
    return values[0] if values else None


def _options(verb: Verb[Any, Any], name: str, info: FieldInfo) -> list[Decorator]:
    option = verb.options.get(name, Option())
    if option.hidden:
        return []
    flags = [
        click.option(f"--{flag}", _name_flag(name, flag), is_flag=True, default=None, help=text)
        for flag, text in option.flags.items()
    ]
    if flags:
        return [*flags, *(_options_of_value(verb, name, info) if option.names else ())]
    return _options_of_value(verb, name, info)


def _options_of_value(verb: Verb[Any, Any], name: str, info: FieldInfo) -> list[Decorator]:
    option = verb.options.get(name, Option())
    names = option.names or (option_name(verb, name),)
    about = _help(info)
    type_ = _click_type(info)
    offer = find_completer(name, verb.name.split()[0]) if type_ is click.STRING and name != "id" else None
    if _plain(info.annotation) is bool:
        return [click.option(*names, name, is_flag=True, default=None, help=about)]
    if _is_list(info.annotation):
        metavar = option.metavar or "TEXT"
        return [
            click.option(*names, name, type=type_, multiple=True, metavar=metavar, help=about, shell_complete=offer)
        ]
    plain = "TEXT" if type_ is click.STRING else ("N" if isinstance(type_, WholeNumber | Number) else None)
    named: dict[str, Any] = {"metavar": option.metavar or plain}
    return [
        click.option(
            *names, name, type=type_, required=info.is_required(), help=about, shell_complete=offer,
            **{key: value for key, value in named.items() if value},
        )
    ]  # fmt: skip


def _help(info: FieldInfo) -> str:
    """Return the description of a field, with its default, or with a note that it is repeatable."""
    about = info.description or ""
    if _is_list(info.annotation):
        return f"{about.rstrip('.')}; repeatable."
    if info.is_required() or info.default in (None, "", False):
        return about
    return f"{about}  [{info.default}]"


def _click_type(info: FieldInfo) -> click.ParamType[Any]:
    """Return click's type for a field; for a list, the type of its items."""
    plain = _plain(info.annotation)
    if _is_list(plain):
        plain = get_args(plain)[0]
    if get_origin(plain) is Literal:
        return click.Choice([str(value) for value in get_args(plain)])
    if plain is int:
        return WholeNumber(_bound(info, annotated_types.Ge, "ge"), _bound(info, annotated_types.Le, "le"))
    if plain is float:
        above = _bound(info, annotated_types.Gt, "gt")
        least = _bound(info, annotated_types.Ge, "ge") if above is None else above
        return Number(least, _bound(info, annotated_types.Le, "le"), min_open=above is not None)
    return click.Path(readable=False) if plain is Path else click.STRING


def _bound(info: FieldInfo, kind: type[Any], name: str) -> Any:
    return next((getattr(item, name) for item in info.metadata if isinstance(item, kind)), None)


def _plain(annotation: Any) -> Any:
    """Return a type without `| None`."""
    if get_origin(annotation) in (Union, UnionType):
        rest = [item for item in get_args(annotation) if item is not type(None)]
        return rest[0] if len(rest) == 1 else annotation
    return annotation


def _is_list(annotation: Any) -> bool:
    return get_origin(_plain(annotation)) in (list, tuple)
