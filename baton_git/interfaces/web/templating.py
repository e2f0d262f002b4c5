"""The Jinja templates: every value is escaped, and an undefined name is an error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined, nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from markupsafe import Markup

from baton_git.core.isolation import Failure, isolate
from baton_git.core.output import count_noun, html
from baton_git.core.times import relative_time
from baton_git.interfaces.web import texts
from baton_git.interfaces.web.actions.form_fields import METHODS
from baton_git.interfaces.web.actions.table import ACTIONS, ADDING, list_actions

TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}


class Static(NamedTuple):
    """A file that pages load. `version` is part of its address and changes with its content."""

    body: bytes
    media_type: str
    version: str


@cache
def static_files() -> Mapping[str, Static]:
    """Return the files that pages load, by name."""
    by_name = {}
    for file in files("baton_git.interfaces.web").joinpath("static").iterdir():
        suffix = file.name[file.name.rfind(".") :]
        if suffix in TYPES:
            body = file.read_bytes()
            by_name[file.name] = Static(body, TYPES[suffix], sha256(body).hexdigest()[:12])
    return by_name


class EachShown(Extension):
    """The tag `{% shown ITEM %}…{% endshown %}` around the markup of one item of a list.

    If the markup cannot be made, a line says so with the name of the item, and the rest of the page is shown.
    """

    tags = {"shown"}  # noqa: RUF012  declared without ClassVar in the base class

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        item = parser.parse_expression()
        body = parser.parse_statements(("name:endshown",), drop_needle=True)
        return nodes.CallBlock(self.call_method("render", [item]), [], [], body).set_lineno(line)

    @staticmethod
    def render(item: object, caller: Callable[[], str]) -> str:
        markup = isolate(caller)
        if not isinstance(markup, Failure):
            return markup
        return Markup('<p class="problem">{}: {}</p>').format(html(_name_of(item)), html(markup.describe()))


def _name_of(item: Any) -> str:
    """Return the id of a record, or of the record, commit or session that a row of a page is about."""
    for part in (item, getattr(item, "key", None), getattr(item, "item", None)):
        id_ = getattr(part, "id", None)
        if id_:
            return str(id_)
    commit = getattr(getattr(item, "entry", None), "commit", "")
    return str(commit or getattr(item, "record", "") or getattr(item, "session", ""))


@cache
def environment() -> Environment:
    jinja = Environment(
        loader=PackageLoader("baton_git.interfaces.web"), autoescape=True, undefined=StrictUndefined,
        finalize=html, trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.do", EachShown],
    )  # fmt: skip
    jinja.filters |= {
        "q": texts.quote_value, "field": texts.field_words,
        "words": texts.words, "cut": texts.cut, "json": texts.plain_json,
        "kind": texts.kind_words, "about": texts.about, "tier": texts.tier_words, "point": texts.point,
        "person": texts.person, "source": texts.source_words,
        "machine_time": texts.machine_time, "human_time": texts.human_time, "since": relative_time,
        "name_day": texts.name_day, "count": count_noun,
    }  # fmt: skip
    jinja.tests |= {"link": texts.is_link, "moment": texts.is_moment}
    jinja.globals |= {
        "address": texts.address, "command": texts.command, "static": _file_address, "methods": METHODS,
        "list_actions": list_actions, "adding": {kind: (name, ACTIONS[name]) for kind, name in ADDING.items()},
    }  # fmt: skip
    return jinja


def _file_address(name: str, *, is_in: bool) -> str:
    """Return the address of a file; a visitor who has not logged in gets it as a part of the login."""
    return f"/{'static' if is_in else 'login'}/{name}?v={static_files()[name].version}"


def render_template(template: str, data: Mapping[str, Any]) -> str:
    return environment().get_template(template).render(data)
