"""Call a verb through one interface, using only the verb's declaration."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any, Self

import httpx2
from anyio.from_thread import start_blocking_portal

import baton_git
from baton_git.core.errors import BatonError
from baton_git.core.verb import Verb
from baton_git.interfaces.cli.verb_command import option_name
from baton_git.interfaces.context.invocation import Call
from baton_git.interfaces.context.settings import CommonOptions, Settings
from baton_git.interfaces.http.app import application
from baton_git.interfaces.http.site import Site
from baton_git.verbs.table import functions

Fields = dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """The outcome of a call: data, or the code of an error (if the interface has codes) and its message."""

    data: Any = None
    error: str | None = None
    words: str = ""


@dataclass
class Driver:
    """The library, on a namespace of the repository `place`. It also makes the calls that an interface lacks."""

    place: Path
    namespace: str
    session: str | None
    baton: Callable[..., Any]
    stack: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()

    @property
    def options(self) -> CommonOptions:
        return CommonOptions(str(self.place), self.namespace, None, None)

    def has(self, verb: Verb[Any, Any], fields: Fields) -> bool:
        """Return whether the interface has this verb with these fields."""
        return True

    def call(self, verb: Verb[Any, Any], fields: Fields) -> Answer:
        """Call the verb."""
        (function,) = [function for function in functions().values() if function.verb is verb]
        with baton_git.open(self.place, namespace=self.namespace, session=self.session) as opened:
            try:
                return Answer(opened.run_verb(function, **fields).as_data())
            except BatonError as error:
                return Answer(error=error.code, words=str(error))


class CommandLine(Driver):
    """The command in this process, with `--json`."""

    def call(self, verb: Verb[Any, Any], fields: Fields) -> Answer:
        placed = [str(word) for name in verb.positional if name in fields for word in as_list(fields[name])]
        named = {name: value for name, value in fields.items() if name not in verb.positional}
        options = [word for name, value in named.items() for word in to_words(verb, name, value)]
        acting = {"BATON_SESSION": self.session} if self.session and verb.is_in_session else {}
        place = [] if verb.standalone else ["--namespace", self.namespace]
        words = [*verb.name.split(), "--json", *place, *options, *placed]
        text = json.dumps(fields["baton"]) if "baton" in fields else ""
        done = self.baton(*words, code=None, given=text, cwd=self.place, env=acting)
        if done.out:
            data = done.json
            if "error" not in data:
                return Answer(data)
            # a stale document is refused in the form that session-baton's clients expect
            return Answer(error=data["error"].removeprefix("baton_"), words=data.get("message", done.err))
        return Answer(error="invalid_argument" if done.code == 2 else None, words=done.err)


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def to_words(verb: Verb[Any, Any], name: str, value: Any) -> list[str]:
    """Return the words of a command line that set a field."""
    if name in BY_HAND:
        return BY_HAND[name](value)
    if name in verb.options and verb.options[name].flags:
        return [f"--{value}"]
    if value is True:
        return [option_name(verb, name)]
    return [word for item in as_list(value) for word in (option_name(verb, name), str(item))]


BY_HAND: Mapping[str, Callable[[Any], list[str]]] = {
    "verify": lambda value: ["--verify-file", value["path"]],
    "state": lambda value: [f"{name}={json.dumps(item)}" for name, item in value.items()],
    "baton": lambda value: ["--file", "-"],
    "fields": lambda value: [f"--{name}={item}" for name, item in value.items()],
}
"""Fields that the command line accepts in a different form."""


class Http(Driver):
    """The HTTP interface, without a socket."""

    def __enter__(self) -> Self:
        self.portal = self.stack.enter_context(start_blocking_portal())
        transport = httpx2.ASGITransport(http_application(self.place))
        client = httpx2.AsyncClient(transport=transport, base_url="http://localhost")
        self.client = self.stack.enter_context(self.portal.wrap_async_context_manager(client))
        return self

    def has(self, verb: Verb[Any, Any], fields: Fields) -> bool:
        return bool(verb.path) and self._find_path(verb, fields) is not None

    def _find_path(self, verb: Verb[Any, Any], fields: Fields) -> str | None:
        """Return the path of the verb whose placeholders are all given; None if there is none."""
        paths = (verb.path, *verb.more_paths)
        return next((path for path in paths if set(re.findall(r"\{(\w+)\}", path)) <= set(fields)), None)

    def call(self, verb: Verb[Any, Any], fields: Fields) -> Answer:
        session = {"Baton-Session": self.session} if self.session and verb.is_in_session else {}
        headers = {"Authorization": f"Bearer {TOKEN}", **session}
        path = self._find_path(verb, fields) or verb.path
        rest = {name: value for name, value in fields.items() if f"{{{name}}}" not in path}
        params, body = (rest, None) if verb.method == "GET" else ({}, rest)
        request = partial(
            self.client.request, verb.method, path.format_map(fields),
            headers=headers, params={"namespace": self.namespace, **params}, json=body,
        )  # fmt: skip
        answer = self.portal.call(request)
        data = answer.json()
        if answer.status_code >= 400:
            is_invalid_request = (
                data["error"] == "invalid_request"
            )  # HTTP checks the types of values before the verb does
            return Answer(error="invalid_argument" if is_invalid_request else data["error"], words=data["detail"])
        assert answer.status_code in (verb.status, *verb.other_status), answer.status_code
        return Answer(data)


TOKEN = "of-the-person-who-started-it"
"""The token of the HTTP server. Without one, nobody knows who writes."""


@cache
def http_application(place: Path) -> Any:
    """Return the application that serves a repository. It is cached, because making one takes longer than many
    requests."""
    return application(Site(CommonOptions(str(place), None, None, None), token=TOKEN))


class Mcp(Driver):
    """The MCP tools, called by a client in memory."""

    def __enter__(self) -> Self:
        from mcp.client import Client  # half a second, which every worker would spend on collecting

        from baton_git.interfaces.mcp.server import make_mcp_server  # as above

        self.portal = self.stack.enter_context(start_blocking_portal())
        client = Client(make_mcp_server(Call(Settings(self.options))))
        self.client = self.stack.enter_context(self.portal.wrap_async_context_manager(client))
        return self

    def has(self, verb: Verb[Any, Any], fields: Fields) -> bool:
        if verb.tool is None:
            return False
        defaults = verb.tool.defaults
        return not {name for name in fields if defaults.get(name) != fields[name]} & set(verb.tool.hidden)

    def call(self, verb: Verb[Any, Any], fields: Fields) -> Answer:
        assert verb.tool is not None
        shown = {name: value for name, value in fields.items() if name not in verb.tool.hidden}
        arguments = {verb.tool.names.get(name, name): value for name, value in shown.items()}
        if self.session and verb.is_in_session:
            arguments["session"] = self.session
        found = self.portal.call(self.client.call_tool, verb.tool.name or verb.name.replace(" ", "_"), arguments)
        return Answer(words=found.content[0].text) if found.is_error else Answer(found.structured_content)


DRIVERS = {"command": CommandLine, "http": Http, "mcp": Mcp, "library": Driver}
