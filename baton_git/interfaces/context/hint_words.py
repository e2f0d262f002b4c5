"""Say the hints of errors, which name commands and options, in the words of another interface."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from baton_git.core.verb import Option, Verb

_COMMAND = re.compile(
    r"(?P<quote>`?)\bbaton (?P<words>[a-z][a-z-]*(?: [a-z][a-z_-]*){0,2})"
    r"(?P<arguments>(?: (?:--[a-z][a-z-]*|(?=[^\s;,`]*[0-9'\"/…])[^\s;,`]++|[A-Z][A-Z_]+\b))*)(?P=quote)"
)
"""A command with its options and those of its arguments that are no plain words, because prose may follow it."""
_VALUE = re.compile(r" [^\s;,`)]+")
_SIDE = re.compile(r" (?:ours|theirs|merge)\b")
"""The values of an option that only a command has."""
_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z-]*)")
_TERMINAL = " (in a terminal)"
_BY_HAND = frozenset(
    {"agents", "cache", "demo", "hooks", "loop-run", "mcp", "purge", "session", "trust", "uninstall", "workflow"}
)
"""First words of commands that are no verbs. `baton serve` is what answers over HTTP, and it has the page."""
_PROSE = frozenset({"again", "asks", "first", "here", "makes", "shows", "undoes"})
"""Words that follow a command and are none of its arguments."""
_OF_ALL = frozenset({"namespace", "session", "agent"})
"""Options that every verb has."""


class CommandCall(NamedTuple):
    """A verb that a hint names, with the values of its fields."""

    verb: Verb[Any, Any]
    fields: Mapping[str, str]


def say_for_http(hint: str) -> str:
    """Return a hint with routes (`POST /v1/namespaces?namespace=shop`) instead of commands."""
    return _translate(hint, _name_route)


def say_for_mcp(hint: str) -> str:
    """Return a hint with tools (`loop_close with id OL-1`) instead of commands."""
    return _translate(hint, _name_tool)


def say_for_page(hint: str) -> str:
    """Return a hint that says of each command that it is one."""
    return _translate(hint, lambda _: None)


def _translate(hint: str, name: Callable[[CommandCall], str | None]) -> str:
    """Return the hint with each command that `name` can name replaced. Others are marked as commands."""
    said, end, is_named = "", 0, True
    for match in _COMMAND.finditer(hint) if "baton " in hint else ():
        before = hint[end : match.start()]
        said += _name_fields(before) if is_named else before
        words, end = match["words"].split(), match.end()
        verb = _find_verb(words, match["arguments"].split())
        if _is_elsewhere(hint[: match.start()]) or (verb is None and words[0] not in _BY_HAND):
            said, is_named = f"{said}{match[0]}", False
            continue
        is_over = hint[end : end + 1] in ("", ";") or bool(match["arguments"])
        is_prose = verb is not None and bool(_PROSE.intersection(words[len(verb.name.split()) :]))
        size = len(words) if verb is None or (verb.positional and is_over and not is_prose) else len(verb.name.split())
        arguments = match["arguments"].split()
        pattern = _find_pattern(verb, arguments[-1]) if arguments and verb is not None else None
        value = pattern.match(hint, end) if pattern is not None else None
        if value is not None:
            arguments.append(value[0].strip())
            end = value.end()
        call = _read_call(verb, [*words[len(verb.name.split()) : size], *arguments]) if verb is not None else None
        named = name(call) if call is not None else None
        is_named = named is not None
        command = " ".join(["baton", *words[:size], *arguments])
        said += named if named is not None else f"{match['quote']}{command}{match['quote']}{_TERMINAL}"
        said += "".join(f" {word}" for word in words[size:])
    return f"{said}{_name_fields(hint[end:]) if is_named else hint[end:]}"


def _is_elsewhere(before: str) -> bool:
    """Return whether the clause before a command says where it is to be run."""
    clause = before.rpartition(";")[2]
    return any(place in clause for place in ("terminal", "shell's prompt", "on its machine"))


def _name_fields(text: str) -> str:
    """Return a text with the names of fields instead of options (`--namespace`), unless these are for git or are to be
    typed."""

    def rename(match: re.Match[str]) -> str:
        clause = re.split(r"[;,(]", text[: match.start()])[-1]
        return match[0] if "git " in clause or "terminal" in clause else match[1].replace("-", "_")

    return _OPTION.sub(rename, text)


def _find_verb(words: Sequence[str], arguments: Sequence[str]) -> Verb[Any, Any] | None:
    from baton_git.verbs.table import verbs_of

    if words[0] == "show" and arguments and not arguments[0].isdecimal():
        return verbs_of("record")["record"]._replace(name="show", positional=("id",))  # the command shows both
    verbs = verbs_of(words[0])
    names = (" ".join(words[:size]) for size in range(len(words), 0, -1))
    return next((verbs[name] for name in names if name in verbs), None)


def _find_pattern(verb: Verb[Any, Any], option: str) -> re.Pattern[str] | None:
    """Return what matches the value of an option; None if it has none."""
    field, fixed = _find_field(verb, option.removeprefix("--"))
    info = verb.input_model.model_fields.get(field)
    if not option.startswith("--") or fixed or (info is not None and info.annotation is bool):
        return None
    return _VALUE if info is not None or field in _OF_ALL else _SIDE


def _read_call(verb: Verb[Any, Any], values: list[str]) -> CommandCall | None:
    """Return the verb with its fields; None if an option is no field, so that only the command has it."""
    fields, positional = {}, iter(verb.positional or ("id",))
    while values:
        value = values.pop(0)
        if not value.startswith("--"):
            fields[next(positional, "")] = value
            continue
        field, fixed = _find_field(verb, value[2:])
        if field not in verb.input_model.model_fields and field not in _OF_ALL:
            return None
        is_flag = fixed or not values or values[0].startswith("--")
        fields[field] = (fixed or "true") if is_flag else values.pop(0)
    return CommandCall(verb, {field: value for field, value in fields.items() if field})


def _find_field(verb: Verb[Any, Any], option: str) -> tuple[str, str]:
    """Return the field that an option sets, and the value that it stands for; a field that every verb has is called as
    the option."""
    for field in verb.input_model.model_fields:
        declared = verb.options.get(field, Option())
        if f"--{option}" in declared.names or option in declared.flags:
            return field, option if option in declared.flags else ""
    return option.replace("-", "_"), ""


def _name_route(call: CommandCall) -> str | None:
    verb, fields = call.verb, dict(call.fields)
    if not verb.path:
        return None
    path = re.sub(r"\{(\w+)\}", lambda match: fields.pop(match[1], match[0]), verb.path)
    in_query = {name: fields.pop(name) for name in [*fields] if verb.method == "GET" or name == "namespace"}
    query = "&".join(f"{name}={value}" for name, value in in_query.items())
    return f"{verb.method} {path}{f'?{query}' if query else ''}{_list_fields(fields)}"


def _name_tool(call: CommandCall) -> str | None:
    tool = call.verb.tool
    if tool is None:
        return None
    named = {tool.names.get(name, name): value for name, value in call.fields.items()}
    return f"{tool.name or call.verb.name.replace(' ', '_')}{_list_fields(named)}"


def _list_fields(fields: Mapping[str, str]) -> str:
    return f" with {', '.join(f'{name} {value}' for name, value in fields.items())}" if fields else ""
