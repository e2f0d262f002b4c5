"""Find and hash the definition of a function, class or other symbol in a source file."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from hashlib import sha256

MAX_SOURCE = 1 << 20
"""Maximum length of a source file that is searched for a symbol, in characters."""
_PYTHON = (".py", ".pyi")
_MODIFIERS = (
    r"(?:(?:export|default|pub(?:\([^)]*\))?|public|private|protected|internal|static|abstract|final|override|virtual"
    r"|async|inline|extern|unsafe|open|data|sealed)\s+)*"
)
_KEYWORDS = (
    r"(?:function\*?|func|fun|fn|def|class|struct|enum|interface|trait|type|module|impl|object|const|let|var|val"
    r"|static)"
)
_DEFINITION = rf"^[ \t]*{_MODIFIERS}{_KEYWORDS}\s+(?:\([^)\n]*\)\s*)?{{}}(?![\w$])"


class NoSymbol(Enum):
    """Why a symbol was not found."""

    ABSENT = "absent"
    """The file does not define the symbol."""
    UNKNOWN = "unknown"
    """The file is invalid or too large, or the definition cannot be identified in its language."""


def digest_symbol(path: str, source: str, symbol: str) -> str | NoSymbol:
    """Return the SHA-256 of the lines of a symbol, without blank lines, common indentation and trailing spaces.

    Return a `NoSymbol` if the symbol was not found.

    Python is parsed. In other languages, a definition starts at a line that begins with a keyword such as `func` or
    `class` and the name (exactly one line must match), and ends at its closing brace, or at the last line that is
    indented deeper.
    """
    if len(source) > MAX_SOURCE:
        return NoSymbol.UNKNOWN
    lines = re.split(r"\r\n|\r|\n", source)
    spans = _find_in_python(source, symbol) if path.endswith(_PYTHON) else _find_by_lines(lines, symbol)
    if isinstance(spans, NoSymbol):
        return spans
    parts = (textwrap.dedent("\n".join(lines[first:end])) for first, end in spans)
    kept = [line.rstrip() for part in parts for line in part.splitlines() if line.strip()]
    return sha256("\n".join(kept).encode("utf-8", "surrogatepass")).hexdigest()


Span = tuple[int, int]
"""A half-open range of lines, counted from 0."""


def _find_in_python(source: str, symbol: str) -> list[Span] | NoSymbol:
    try:
        definitions = _find_definitions(ast.parse(source).body, symbol)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return NoSymbol.UNKNOWN
    return [_span_of(node) for node in definitions] or NoSymbol.ABSENT


def _find_definitions(body: Sequence[ast.stmt], symbol: str) -> list[ast.stmt]:
    definitions: list[ast.stmt] = []
    for name in symbol.split("."):
        definitions = list(_list_definitions(body, name))
        body = [statement for node in definitions if isinstance(node, ast.ClassDef) for statement in node.body]
    return definitions


def _list_definitions(body: Iterable[ast.stmt], name: str) -> Iterator[ast.stmt]:
    """Yield the statements that bind a name in a module or class, including those under `if`, `try` and `with`."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names = {node.name}
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = {part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}
        else:
            yield from _list_definitions(_list_nested(node), name)
            continue
        if name in names:
            yield node


def _list_nested(node: ast.AST) -> Iterator[ast.stmt]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        elif isinstance(child, ast.ExceptHandler | ast.match_case):
            yield from _list_nested(child)


def _span_of(node: ast.stmt) -> Span:
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)]) - 1, node.end_lineno or node.lineno


def _find_by_lines(lines: Sequence[str], symbol: str) -> list[Span] | NoSymbol:
    """Return the lines that define the last part of a dotted symbol, found by keywords, braces and indentation."""
    name = re.split(r"\.|::|#", symbol)[-1]
    definition = re.compile(_DEFINITION.replace("{}", re.escape(name)))
    starts = [number for number, line in enumerate(lines) if definition.match(line)]
    if len(starts) != 1:
        return NoSymbol.UNKNOWN
    start = starts[0]
    has_braces = any("{" in line for line in lines[start : start + 3])
    end = _find_closing_brace(lines, start) if has_braces else _find_end_of_indentation(lines, start)
    return NoSymbol.UNKNOWN if end is None else [(start, end)]


def _find_closing_brace(lines: Sequence[str], start: int) -> int | None:
    depth, is_open = 0, False
    for number, line in enumerate(lines[start:], start + 1):
        is_open = is_open or "{" in line
        depth += line.count("{") - line.count("}")
        if is_open and depth <= 0:
            return number
    return None


def _find_end_of_indentation(lines: Sequence[str], start: int) -> int:
    def indentation(line: str) -> int:
        return len(line) - len(line.lstrip())

    end = start + 1
    for number, line in enumerate(lines[start + 1 :], start + 1):
        if line.strip() and indentation(line) <= indentation(lines[start]):
            return number + 1 if re.match(r"\s*end\b", line) else end
        end = number + 1 if line.strip() else end
    return end
