"""Generate files from the table of verbs: the types of the library's methods, and the reference page.

Run by hand after a verb has changed: `python tests/project/verb_pages.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from baton_git.core.verb import Verb, VerbFunction
from baton_git.interfaces.cli.verb_command import option_name
from baton_git.verbs.table import functions

TOP = Path(__file__).parents[2]
STUB = TOP / "baton_git" / "interfaces" / "library" / "verb_methods.pyi"
PAGE = TOP / "docs" / "reference" / "verbs.md"

Name = Callable[[type[Any]], str]


def type_text(annotation: Any, name: Name) -> str:
    """Return the text of a type; `name` returns that of a class."""
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return type_text(args[0], name)
    if annotation is type(None):
        return "None"
    if annotation is Any:
        return "Any"
    if origin in (Union, UnionType):
        return " | ".join(type_text(part, name) for part in args)
    if origin is Literal:
        return f"Literal[{', '.join(repr(value) for value in args)}]"
    if origin is not None and hasattr(origin, "__name__"):
        return f"{origin.__name__}[{', '.join(type_text(part, name) for part in args)}]" if args else origin.__name__
    return name(annotation) if isinstance(annotation, type) else str(annotation)


# --- the stub

STUB_HEAD = """\
# Written by `python tests/project/verb_pages.py`, from the table of verbs.

from typing import Any, Literal
"""
STUB_CLASS = """\
class VerbMethods:
    def run_verb(self, function: VerbFunction[Any, Any], *args: Any, **fields: Any) -> Any: ...\
"""


def make_stub() -> str:
    """Return the types of the methods as a stub file."""
    imports = {("collections.abc", "Mapping"), ("baton_git.core.verb", "VerbFunction")}

    def taken(kind: type[Any]) -> str:
        return f"{named(kind)} | Mapping[str, Any]" if issubclass(kind, BaseModel) else named(kind)

    def named(kind: type[Any]) -> str:
        if kind.__module__ != "builtins":
            imports.add((kind.__module__.partition("._")[0], kind.__name__))  # Path is in pathlib._local since 3.13
        return kind.__name__

    methods = [
        line
        for name, function in sorted(functions().items())
        if not function.verb.is_only_for_people
        for line in _method_lines(name, function, taken, named(function.verb.result_model))
    ]
    lines = [f"from {module} import {kind}" for module, kind in sorted(imports)]
    return "\n".join([STUB_HEAD, *lines, "", STUB_CLASS, *methods, ""])


def _method_lines(name: str, function: VerbFunction[Any, Any], taken: Name, result: str) -> Iterator[str]:
    fields = function.verb.input_model.model_fields
    if not fields:
        yield f"    def {name}(self) -> {result}: ..."
        return
    yield f"    def {name}("
    yield "        self,"
    is_positional = True
    for field, info in fields.items():
        if is_positional and not (info.is_required() or field in function.verb.positional):
            yield "        *,"
            is_positional = False
        default = "" if info.is_required() else f" = {_default_text(info)}"
        yield f"        {field}: {type_text(info.annotation, taken)}{default},"
    yield f"    ) -> {result}: ..."


def _default_text(info: FieldInfo) -> str:
    value = info.get_default(call_default_factory=True)
    return repr(value).replace("'", '"') if isinstance(value, str | int | float | bool | None) else "..."


# --- the page

HEAD = """\
# Verbs

What baton can do, in each interface. Every command also takes `--repo`, `--namespace`, `--session`, `--agent` and
`--json`; every request the query `namespace` and the headers `Baton-Session` and `Baton-Agent`. In the library, `ns` is
what [`baton_git.open`](../library.md) returns. Commands that are not listed here are in `baton --help`.

This page is generated: `python tests/project/verb_pages.py`.
"""


def make_page() -> str:
    """Return the reference page."""
    verbs = [function for _, function in sorted(functions().items(), key=lambda item: item[1].verb.name)]
    return "\n".join([HEAD, *make_sections(verbs)])


def make_sections(verbs: Iterable[VerbFunction[Any, Any]]) -> Iterator[str]:
    """Return the lines of the sections of verbs."""
    return (line for function in verbs for line in _section(function))


def _section(function: VerbFunction[Any, Any]) -> Iterator[str]:
    verb = function.verb
    yield f"## {verb.name}\n"
    yield f"{verb.about}\n"
    yield from _interfaces(function)
    yield ""
    fields = verb.input_model.model_fields
    if fields:
        yield "| field | command line | type | meaning |\n|---|---|---|---|"
        yield from (_input_row(verb, name, info) for name, info in fields.items())
        yield ""
    yield "| result | type | meaning |\n|---|---|---|"
    for name, info in verb.result_model.model_fields.items():
        yield f"| `{name}` | {_type_cell(info)} | {_cell(info.description or '')} |"
    yield ""


def _interfaces(function: VerbFunction[Any, Any]) -> Iterator[str]:
    verb = function.verb
    yield f"- Command line: `{verb.examples[0] if verb.examples else f'baton {verb.name}'}`"
    if verb.path:
        paths = ", ".join(f"`{verb.method} {path}`" for path in (verb.path, *verb.more_paths))
        yield f"- HTTP: {paths}" + (f", status {verb.status}" if verb.status != 200 else "")
    if verb.tool is not None:
        yield f"- MCP: `{verb.tool.name or verb.name.replace(' ', '_')}`"
    if not verb.is_only_for_people:
        yield f"- Library: `ns.{function.__name__}()`"
    if verb.machine:
        yield "- Uses more of this machine than the repository (transcripts, settings files), in every interface"


def _input_row(verb: Verb[Any, Any], name: str, info: FieldInfo) -> str:
    option = verb.options.get(name)
    command = "" if option is not None and option.hidden else f"`{option_name(verb, name)}`"
    about = _cell(info.description or "")
    default = "" if info.default in (PydanticUndefined, None, "", []) else f" Default: `{_default_text(info)}`."
    required = " Required." if info.is_required() else ""
    return f"| `{name}` | {command} | {_type_cell(info)} | {about}{default}{required} |"


def _type_cell(info: FieldInfo) -> str:
    return f"`{_cell(type_text(info.annotation, lambda kind: kind.__name__))}`{_bounds(info)}"


def _bounds(info: FieldInfo) -> str:
    words = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below", "min_length": "length at least",
             "max_length": "length at most"}  # fmt: skip
    found = [f"{text} {getattr(item, name)}" for item in info.metadata for name, text in words.items()
             if getattr(item, name, None) is not None]  # fmt: skip
    return f", {', '.join(found)}" if found else ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def write_all() -> None:
    STUB.write_text(make_stub(), encoding="utf-8")
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(make_page(), encoding="utf-8")


if __name__ == "__main__":
    write_all()
