"""Tests use public names only: no attribute, import or patched name of the package begins with an underscore."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from looped_cases import for_each

pytestmark = pytest.mark.lint

TESTS = Path(__file__).parent.parent
PRIVATE = re.compile("_[a-z]\\w*", re.IGNORECASE)
PUBLIC = {"_replace", "_asdict", "_fields", "_make", "_exit"}
"""Public methods of named tuples, and `os._exit`, which have such a name so that they clash with no other."""
BY_NAME = {"setattr", "getattr", "delattr", "hasattr"}


def is_private(name: str) -> bool:
    return PRIVATE.fullmatch(name) is not None and name not in PUBLIC


def is_own(node: ast.expr) -> bool:
    """Return whether an expression is the object or class itself, as in a method."""
    return ast.unparse(node) in ("self", "cls", "super()")


def name_of(node: ast.expr) -> str | None:
    """Return the last part of a dotted name."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else None


def find_private_names(source: str) -> Iterator[str]:
    """Yield the private names of other modules that a module uses, with their lines."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute):
            names = [node.attr] if is_private(node.attr) and not is_own(node.value) else []
        elif isinstance(node, ast.ImportFrom):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.Call) and name_of(node.func) in BY_NAME:
            texts = [arg.value for arg in node.args[:2] if isinstance(arg, ast.Constant)]
            names = [text.rpartition(".")[2] for text in texts if isinstance(text, str)]
        else:
            continue
        yield from (f"line {node.lineno}: {name}" for name in names if is_private(name))


def test_no_test_uses_a_private_name() -> None:
    found = {path.relative_to(TESTS): list(find_private_names(path.read_text())) for path in TESTS.rglob("*.py")}
    assert len(found) > 200
    assert {str(path): names for path, names in found.items() if names} == {}


@for_each(
    "source",
    [
        "store._refs.swap", "store.housekeeping._present()", "from baton_git.core.codecs.toml import _dump",
        "monkeypatch.setattr(locks, '_identity', 1)", "patched.setattr('baton_git.a._b', 1)", "getattr(store, '_refs')",
        "self.store._refs",
    ],
)  # fmt: skip
def test_the_check_finds_a_private_name(source: str) -> None:
    assert list(find_private_names(source))


@for_each(
    "source", ["self._own", "row._replace(a=1)", "super()._part()", "x.__dict__", "text.replace('/', '_')", "_a()"]
)
def test_the_check_accepts_all_other_names(source: str) -> None:
    assert not list(find_private_names(source))
