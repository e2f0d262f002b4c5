"""Find, install and remove our entries among the hooks of a settings file.

    {"hooks": {EVENT: [{"matcher": …, "hooks": [{"command": "… # baton-git", …}, …]}, …], …}, "env": {…}, …}

An event has a list of groups, and a group has a list of handlers. If all handlers of a group are ours, the group is
replaced or removed as a whole; in other groups, only our handlers are. New groups are added at the end, because Codex
trusts hooks by their position.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from baton_git.agents.hook_events.repository_lookup import PARENT
from baton_git.agents.registry import AGENTS
from baton_git.agents.settings.json_text import InsertionPoint, JsonItem, JsonValue, Style, get_line_indent, parse
from baton_git.core.errors import Fault, InvalidArgument, InvalidDocument

SERVERS = "mcpServers"
"""Key of the object that holds the MCP servers by name."""
MARK = "# baton-git"
"""Mark at the end of each of our commands."""
_MARKED = re.compile(r"#[ \t]*baton-git\s*\Z")
_CALLED = re.compile(rf"""baton(?:_git)?['"]? hook --agent (?:{"|".join(AGENTS)})\b""")
"""Our command without its mark, which a user may have removed. With a second command, every hook would run twice."""


@dataclass(frozen=True)
class WantedHooks:
    """The entries that a file must contain.

    Attributes:
        groups: our group of handlers for each event.
        env: environment variables.
        comments: whether the file may contain comments.
        servers: MCP servers by name.
    """

    groups: Mapping[str, Mapping[str, Any]]
    env: Mapping[str, str] = field(default_factory=dict)
    comments: bool = False
    servers: Mapping[str, Any] = field(default_factory=dict)


class HookEntry(NamedTuple):
    """One of our handlers.

    Attributes:
        group: index of its group in the event.
        handler: index of the handler in its group.
        data: the handler's settings.
        alone: whether all handlers of the group are ours.
    """

    event: str
    group: int
    handler: int
    data: Mapping[str, Any]
    alone: bool

    @property
    def command(self) -> str:
        return str(self.data["command"])


def find_entries(text: str, *, comments: bool = False) -> list[HookEntry]:
    """Return our handlers in a file, in the order of the file.

    Raises:
        InvalidDocument: the text is not a JSON object, or its hooks do not have the expected types.
    """
    events = _find_events(parse(text, comments=comments))
    return [entry for event in events.items if event.name for entry in _list_entries(event.name, event.value)]


def install_entries(text: str, wanted: WantedHooks) -> str:
    """Return the text with our entries. Current entries stay unchanged; outdated ones are replaced in place.

    Raises:
        InvalidDocument: as for `find_entries`.
        InvalidArgument: a variable or server is already set to another value.
    """
    if not text.strip():
        text = "{}\n"
    for entry in reversed(find_entries(text, comments=wanted.comments)):
        if entry.event not in wanted.groups or _is_repeated(text, entry, wanted.comments):
            text = _remove_entry(text, entry, wanted.comments)
    for event, group in wanted.groups.items():
        text = _set_event(text, event, group, wanted.comments)
    for name, value in wanted.env.items():
        text = _set_member(text, "env", name, value, wanted.comments)
    for name, server in wanted.servers.items():
        text = _set_member(text, SERVERS, name, server, wanted.comments)
    return text


def remove_entries(
    text: str, *, comments: bool = False, env: Mapping[str, str] | None = None, servers: Mapping[str, Any] | None = None
) -> str:
    """Return the text without our entries, and without the given variables and servers that still have our values.

    Raises:
        InvalidDocument: as for `find_entries`.
    """
    text = remove_servers(text, servers or {}, comments=comments)
    text = _remove_members(text, "env", env or {}, comments)
    for entry in reversed(find_entries(text, comments=comments)):
        text = _remove_entry(text, entry, comments)
    return text


def remove_servers(text: str, servers: Mapping[str, Any], *, comments: bool = False) -> str:
    """Return the text without the given MCP servers that still have our values.

    Raises:
        InvalidDocument: the text is not JSON, or its servers are not an object.
    """
    return _remove_members(text, SERVERS, servers, comments)


def split_bom(data: bytes) -> tuple[bytes, str]:
    """Return the byte order mark of a file, or empty bytes, and its text.

    Raises:
        InvalidDocument: the file is not UTF-8.
    """
    bom = b"\xef\xbb\xbf" if data.startswith(b"\xef\xbb\xbf") else b""
    try:
        return bom, data[len(bom) :].decode()
    except UnicodeDecodeError as error:
        raise InvalidDocument([Fault("", f"not UTF-8 text: {error.reason} at byte {error.start}")]) from None


# --- reading


def _find_events(root: JsonValue) -> JsonValue:
    """Return the object with the events; an empty object if there is none."""
    if root.opener != "{":
        raise InvalidDocument([Fault("", "is not a JSON object")])
    hooks = root.member("hooks")
    if hooks is None:
        return JsonValue(0, 0, {}, "{")
    if hooks.value.opener != "{":
        raise InvalidDocument([Fault("hooks", "is not an object")])
    for event in hooks.value.items:
        if isinstance(event.value.data, list) or event.name in _NO_EVENTS:
            continue
        raise InvalidDocument([Fault(f"hooks.{event.name}", "is not a list")])
    return hooks.value


_NO_EVENTS = ("enabled", "disabled", "notifications", "description", "state")
"""Keys among the hooks that are not events, in some versions of the CLIs."""


def _list_entries(event: str, listed: JsonValue) -> list[HookEntry]:
    entries = []
    for number, group in enumerate(listed.items):
        handlers = _list_handlers(group.value)
        ours = [_is_ours(handler.value.data) for handler in handlers]
        for index, handler_item in enumerate(handlers):
            if ours[index]:
                entries.append(HookEntry(event, number, index, handler_item.value.data, all(ours)))
    return entries


def _list_handlers(group: JsonValue) -> tuple[JsonItem, ...]:
    hooks = group.member("hooks") if group.opener == "{" else None
    return hooks.value.items if hooks is not None and hooks.value.opener == "[" else ()


def _is_ours(handler: Any) -> bool:
    command = handler.get("command") if isinstance(handler, dict) else None
    return isinstance(command, str) and bool(_MARKED.search(command) or _CALLED.search(command))


def _is_repeated(text: str, entry: HookEntry, comments: bool) -> bool:
    first = next(entry_ for entry_ in find_entries(text, comments=comments) if entry_.event == entry.event)
    return (first.group, first.handler) != (entry.group, entry.handler)


# --- changing


def _set_event(text: str, event: str, group: Mapping[str, Any], comments: bool) -> str:
    existing = next((entry for entry in find_entries(text, comments=comments) if entry.event == event), None)
    if existing is None:
        return _append_item(text, comments, ("hooks", event), group)
    root = parse(text, comments=comments)
    item = _find_item(root, _get_path(existing))
    wanted = group if existing.alone else group["hooks"][0]
    if item.value.data == wanted:
        return text
    style = Style.of(text, root)
    spread = "\n" in text[item.start : item.end]
    fresh = style.render(wanted, get_line_indent(text, item.start), spread=spread)
    return text[: item.start] + fresh + text[item.end :]


def _get_path(entry: HookEntry) -> tuple[str | int, ...]:
    whole: tuple[str | int, ...] = ("hooks", entry.event, entry.group)
    return whole if entry.alone else (*whole, "hooks", entry.handler)


def _remove_entry(text: str, entry: HookEntry, comments: bool) -> str:
    return _remove_item(text, comments, _get_path(entry))


def _find_item(root: JsonValue, path: tuple[str | int, ...]) -> JsonItem:
    """Return the item at a path of member names and list indexes."""
    item = JsonItem(root.start, root)
    for part in path:
        child = item.value.items[part] if isinstance(part, int) else item.value.member(part)
        assert child is not None
        item = child
    return item


def _remove_item(text: str, comments: bool, path: tuple[str | int, ...]) -> str:
    """Return the text without the item at `path`, and without the containers of ours that would become empty."""
    root = parse(text, comments=comments)
    style = Style.of(text, root)
    while True:
        point = InsertionPoint(text, _find_item(root, path[:-1]).value, style, is_root=len(path) == 1)
        item = _find_item(root, path)
        if len(path) == 1 or len(point.container.items) > 1 or not point.is_ours(item):
            return point.remove(item)
        path = path[:-1]


def _append_item(text: str, comments: bool, path: tuple[str, str], data: Mapping[str, Any]) -> str:
    """Return the text with `data` added at the end of the list at `path`; missing containers are created."""
    root = parse(text, comments=comments)
    style = Style.of(text, root)
    outer, inner = path
    table = root.member(outer)
    listed = table.value.member(inner) if table else None
    point = InsertionPoint(
        text, listed.value if listed else table.value if table else root, style, is_root=table is None
    )
    spread = point.spread
    missing = [] if listed else [inner] if table else [outer, inner]
    step = style.unit if spread else ""
    rendered = style.render(data, point.indent + step * len(missing), spread=spread)
    for depth, name in reversed(list(enumerate(missing))):
        opener = "[" if name == inner else "{"
        container = style.render_container(opener, rendered, point.indent + step * depth, spread=spread)
        rendered = _render_member(name, container, style, spread)
    return point.append(rendered)


def _render_member(name: str, value: str, style: Style, spread: bool) -> str:
    return f"{json.dumps(name, ensure_ascii=False)}:{'' if style.tight and not spread else ' '}{value}"


# --- variables and servers


def _find_member(root: JsonValue, outer: str, name: str) -> JsonItem | None:
    table = root.member(outer)
    if table is not None and table.value.opener != "{":
        raise InvalidDocument([Fault(outer, "is not an object")])
    return table.value.member(name) if table else None


def _remove_members(text: str, outer: str, members: Mapping[str, Any], comments: bool) -> str:
    for name, value in reversed(list(members.items())):
        item = _find_member(parse(text, comments=comments), outer, name)
        if item is not None and item.value.data == value:
            text = _remove_item(text, comments, (outer, name))
    return text


def _set_member(text: str, outer: str, name: str, value: Any, comments: bool) -> str:
    """Return the text with `value` as a member of the object `outer`, which is created if it is missing."""
    root = parse(text, comments=comments)
    existing = _find_member(root, outer, name)
    if existing is not None:
        if existing.value.data != value:
            raise InvalidArgument(
                f"{outer}.{name} is already set to {json.dumps(existing.value.data)}", hint="change or remove it first"
            )
        return text
    style = Style.of(text, root)
    table = root.member(outer)
    point = InsertionPoint(text, table.value if table else root, style, is_root=table is None)
    indent = point.indent + (style.unit if table is None and point.spread else "")
    spread = point.spread and not isinstance(value, str)
    member = _render_member(name, style.render(value, indent, spread=spread), style, point.spread)
    if table is None:
        member = _render_member(
            outer, style.render_container("{", member, point.indent, spread=point.spread), style, point.spread
        )
    return point.append(member)


# --- the command line of a hook
#     exec /bin/sh -c '<script>' baton-hook SECONDS PROGRAM… hook --agent NAME # baton-git
# Gemini CLI blocks every prompt when a hook exits with 2 or more, and shows the hook's stderr. So the script always
# exits with 0, prints nothing to stderr, ends within SECONDS, and passes on baton's stdout only when baton exited with
# 0. The script is in the line itself, so it needs no file that could be missing. It contains no single quote, `!`,
# backslash or `${`, so that the same quoting works in every shell that a CLI may use.

_SCRIPT = " ".join(
    (
        '{ n=$1; shift; command -v "$1" >/dev/null && {',
        'sleep "$n" 3<&- >/dev/null & s=$!;',
        # the worker reads all of baton's output, passes it on, and kills the sleep
        f'{{ o=$({PARENT}=$PPID "$@" <&3 3<&-) && trap "" PIPE && printf %s "$o"; kill -9 $s; }} & w=$!;',
        # if nobody killed the sleep, the time is up: kill the worker and all its descendants
        "wait $s && ps -A -o ppid= -o pid= | {",
        't=$w; while read -r p c; do case " $t " in *" $p "*) t="$t $c";; esac; done; kill -9 $t; };',
        "wait $w; }; } 2>/dev/null 3<&0; exit 0",
    )
)
_PLUGIN = '[ -n "$PLUGIN_ROOT" ] && set -- "$@" codex || set -- "$@" claude; '
"""Appends the agent's name: two CLIs use the plugin, and only Codex sets PLUGIN_ROOT."""

_PROGRAM = re.compile(r"' baton-hook [\d.]+ (.+) hook --agent ")
_OLDER_PROGRAM = re.compile(r"! command -v \S.* >/dev/null 2>&1 \|\| (?:\{ .*?&& )?exec (.+?) hook --agent ")

HookLine = Callable[[float], str]
"""A function that returns the command line of a hook that may take the given number of seconds."""


def make_hook_line(agent: str, program: Sequence[str]) -> HookLine:
    """Return the function that makes the lines with which hooks of an agent start `program`."""
    return lambda seconds: _make_line(_SCRIPT, seconds, [*program, "hook", "--agent", agent])


def make_plugin_line() -> HookLine:
    """Return the function that makes the lines of the plugin's hooks, which determine the agent when they run."""
    return lambda seconds: _make_line(_PLUGIN + _SCRIPT, seconds, ["baton", "hook", "--agent"])


def _make_line(script: str, seconds: float, words: Sequence[str]) -> str:
    return f"exec /bin/sh -c {shlex.quote(script)} baton-hook {seconds:g} {shlex.join(words)} {MARK}"


def extract_program(command: str) -> list[str]:
    """Return the words that start baton in a line of this or an older version; an empty list for any other line."""
    match = _PROGRAM.search(command) or _OLDER_PROGRAM.match(command)
    try:
        return shlex.split(match[1]) if match else []
    except ValueError:
        return []


def is_older(command: str) -> bool:
    """Whether an older version wrote the line. With such a line, a broken baton blocks Gemini CLI."""
    return _OLDER_PROGRAM.match(command) is not None
