"""Everything that baton imports is declared in pyproject.toml: in the dependencies, or in the extra of the command."""

from __future__ import annotations

import ast
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from uvicorn import Server
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

TOP = Path(__file__).parents[2]
PROJECT = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NEEDS_HTTP = "baton_git.interfaces.cli.machine.serve"
NEEDS_MCP = "baton_git.interfaces.cli.machine.mcp"
SHARED = ("interfaces/http", "interfaces/web", "interfaces/mcp")
"""Folders whose modules are imported only by the two commands, or by modules of these folders."""


def declared(requirements: list[str]) -> set[str]:
    return {canonicalize_name(Requirement(text).name) for text in requirements}


def path_of(module: str) -> Path | None:
    """Return the file of a module of the package; None if the name is not one."""
    path = TOP / module.replace(".", "/")
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


@cache
def imports_of(path: Path) -> frozenset[str]:
    """Return the names of the modules that a file imports, also inside of functions."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None and not node.level:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(names)


@cache
def distributions() -> dict[str, list[str]]:
    return dict(packages_distributions())


def needed_by(path: Path) -> set[str]:
    """Return the distributions that a file imports directly."""
    tops = {name.partition(".")[0] for name in imports_of(path)} - sys.stdlib_module_names - {"baton_git", "__future__"}
    return {canonicalize_name(name) for top in tops for name in distributions().get(top, [top])}


def reached_from(module: str) -> set[Path]:
    """Return the files of a command, and those of the folders `SHARED` that it imports, directly or not."""
    found: set[Path] = set()
    waiting = [path_of(module)]
    while waiting:
        path = waiting.pop()
        if path is None or path in found:
            continue
        found.add(path)
        inner = [path_of(name) for name in imports_of(path) if name.startswith("baton_git.")]
        waiting += [one for one in inner if one is not None and is_shared(one)]
    return found


def is_shared(path: Path) -> bool:
    return path.relative_to(TOP / "baton_git").as_posix().startswith(tuple(f"{folder}/" for folder in SHARED))


def test_baton_without_extras_imports_only_its_dependencies() -> None:
    base = declared(PROJECT["dependencies"])
    commands = {path_of(NEEDS_HTTP), path_of(NEEDS_MCP)}
    files = [path for path in (TOP / "baton_git").rglob("*.py") if not is_shared(path) and path not in commands]
    assert len(files) > 200
    undeclared = {str(path.relative_to(TOP)): sorted(needed_by(path) - base) for path in files}
    assert {name: missing for name, missing in undeclared.items() if missing} == {}


@pytest.mark.parametrize(("command", "extra"), [(NEEDS_HTTP, "http"), (NEEDS_MCP, "mcp")])
def test_each_command_imports_only_what_its_extra_declares(command: str, extra: str) -> None:
    allowed = declared(PROJECT["dependencies"] + PROJECT["optional-dependencies"][extra])
    files = reached_from(command)
    assert len(files) > 10
    undeclared = {str(path.relative_to(TOP)): sorted(needed_by(path) - allowed) for path in files}
    assert {name: missing for name, missing in undeclared.items() if missing} == {}


def test_uvicorn_has_the_inner_class_that_baton_changes() -> None:
    """`serving.Connection` overrides methods of uvicorn's connection, and uses attributes that are not documented.

    A release of uvicorn that renames one would start, and then hold idle connections forever or refuse all requests.
    """
    overridden = (
        "connection_made", "connection_lost", "data_received", "on_message_begin", "on_headers_complete",
        "timeout_keep_alive_handler", "send_400_response",
    )  # fmt: skip
    assert [name for name in overridden if not callable(getattr(HttpToolsProtocol, name, None))] == []
    assigned = {
        node.attr
        for node in ast.walk(ast.parse(Path(sys.modules[HttpToolsProtocol.__module__].__file__ or "").read_text()))
        if isinstance(node, ast.Attribute)
    }
    used = {
        "connections", "tasks", "cycle", "response_complete", "timeout_keep_alive_task", "transport", "loop",
        "limit_concurrency",
    }  # fmt: skip
    assert used <= assigned
    assert callable(Server.shutdown)
