"""The text of a named symbol in a source file: what changes its digest, and when it cannot be found."""

from __future__ import annotations

import pytest

from baton_git.core.symbols import NoSymbol, digest_symbol

PYTHON = """\
import os

LIMIT = 3

class A:
    @property
    def f(self):
        return 1

    def g(self):
        return 2

if os.name:
    def later():
        pass
"""
GO = "package x\n\nfunc (a *A) Write(n int) {\n\tif n > 0 {\n\t\tn--\n\t}\n}\n\nfunc Other() {}\n"
RUBY = "class A\n  def write\n    1\n  end\n\n  def other\n    2\n  end\nend\n"


def test_moving_a_symbol_without_changing_its_lines_is_not_a_change():
    moved = PYTHON.replace("import os\n", "import os\nimport sys\n").replace("return 2", "return 3")
    assert digest_symbol("a.py", PYTHON, "A.f") == digest_symbol("a.py", moved, "A.f")
    assert digest_symbol("a.py", PYTHON, "A.g") != digest_symbol("a.py", moved, "A.g")
    assert digest_symbol("a.py", PYTHON, "A.f") != digest_symbol("a.py", PYTHON.replace("@property", "@cache"), "A.f")


@pytest.mark.parametrize("name", ["LIMIT", "A", "later"])
def test_python_symbols_of_all_kinds_are_found(name):
    assert isinstance(digest_symbol("a.py", PYTHON, name), str)


@pytest.mark.parametrize(
    ("path", "source", "name", "answer"),
    [
        ("a.py", PYTHON, "A.h", NoSymbol.ABSENT),
        ("a.py", "def f(:\n", "f", NoSymbol.UNKNOWN),
        ("a.go", GO, "Missing", NoSymbol.UNKNOWN),
        ("a.go", GO + GO, "Write", NoSymbol.UNKNOWN),
        ("a.go", GO.removesuffix("}\n\nfunc Other() {}\n"), "Write", NoSymbol.UNKNOWN),
    ],
)
def test_a_missing_symbol_is_absent_in_python_and_unknown_in_other_languages(path, source, name, answer):
    assert digest_symbol(path, source, name) is answer


@pytest.mark.parametrize(("path", "source", "name"), [("a.go", GO, "Write"), ("a.rb", RUBY, "A#write")])
def test_symbols_of_other_languages_are_found_by_braces_and_indentation(path, source, name):
    digest = digest_symbol(path, source, name)
    assert isinstance(digest, str)
    assert digest == digest_symbol(path, source.replace("Other", "Another").replace("2", "4"), name)
    assert digest != digest_symbol(path, source.replace("n--", "n -= 1").replace("    1", "    3"), name)
