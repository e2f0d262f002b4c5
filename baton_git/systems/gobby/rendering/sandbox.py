"""The Jinja2 sandbox for conditions and templates: the allowed names, methods, filters and statements."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import Any, cast

from jinja2 import StrictUndefined, TemplateSyntaxError, Undefined, nodes
from jinja2.parser import Parser
from jinja2.runtime import Context, LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

from baton_git.core.errors import InvalidArgument
from baton_git.core.output import one_line

MAX_STEPS = 50_000
SECONDS = 1.0
MAX_SIZE = 2 * 1024 * 1024
"""Maximum size of one value in characters and items, including nested ones."""
MAX_TOTAL = 64 * 1024 * 1024
"""Maximum total size of all values that are created or read, in characters and items."""
MAX_RANGE = 10_000
MAX_BITS = 4096
MAX_DIGITS = 20
"""Maximum number of digits to which a number can be rounded, before or after the decimal point."""
MAX_ITEMS = 100_000
"""Maximum number of items of a value that is sorted or converted to a list."""
MAX_SOUGHT = 200
"""Maximum length of the argument of `strip`, `rfind` and similar methods, whose cost per character grows with it."""


class EvaluationLimit(Exception):
    """An evaluation would exceed a limit."""


class EvaluationGuard:
    """The counters of one evaluation.

    A library can neither interrupt a computation with a signal nor abandon a busy thread. Therefore each step works
    on values of bounded size, and the limits of steps and time are checked between steps.
    """

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Reset the counters for another evaluation."""
        self.steps = 0
        self.total = 0
        self.until = time.monotonic() + SECONDS

    def step(self) -> None:
        """Count a step. Raises EvaluationLimit if it exceeds the limit of steps or of time."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise EvaluationLimit(f"it takes more than {MAX_STEPS:,} steps")
        self.check_time()

    def check_time(self) -> None:
        """Raise EvaluationLimit if the time limit is exceeded."""
        if time.monotonic() > self.until:
            raise EvaluationLimit(f"it takes longer than {SECONDS:g} seconds")

    def admit(self, value: Any) -> Any:
        """Count a step, and return the value. Raises EvaluationLimit if it, or all values together, are too large.

        An item that occurs several times counts each time, as it does when the value is printed or compared.
        """
        self.step()
        size, waiting = 0, [value]
        while waiting:
            item = waiting.pop()
            size += 1
            if isinstance(item, str | bytes):
                size += len(item)
            elif isinstance(item, Mapping):
                waiting += [*item.keys(), *item.values()]
            elif isinstance(item, list | tuple):
                waiting += item
            elif isinstance(item, int):
                size += item.bit_length() // 3
            _check_size(size + len(waiting))
        self.total += size
        if self.total > MAX_TOTAL:
            raise EvaluationLimit(f"all values together are larger than {MAX_TOTAL:,} characters or items")
        return value

    def count_items(self, values: Iterable[Any]) -> Iterator[Any]:
        """Yield the values of a loop, each counted as a step."""
        for value in values:
            self.step()
            yield value

    def multiply(self, left: Any, right: Any) -> Any:
        """Return `left * right`; check its size before computing it."""
        for text, count in ((left, right), (right, left)):
            if isinstance(text, str | list | tuple) and isinstance(count, int):
                _check_size(len(text) * count)
        if isinstance(left, int) and isinstance(right, int):
            _check_bits(left.bit_length() + right.bit_length())
        return self.admit(left * right)

    def raise_power(self, left: Any, right: Any) -> Any:
        """Return `left ** right`; check its size before computing it."""
        if isinstance(left, int) and isinstance(right, int):
            _check_bits(left.bit_length() * right)
        return left**right

    def round_number(self, value: float, precision: int = 0, method: str = "common") -> float:
        """Apply Jinja2's `round` with a bounded precision, because it computes `10 ** precision`."""
        if not isinstance(precision, int) or abs(precision) > MAX_DIGITS:
            raise EvaluationLimit(f"a number can be rounded to {MAX_DIGITS} digits at most")
        if method not in _ROUNDING:
            raise ValueError(f"round accepts {', '.join(_ROUNDING)}, not {method!r}"[:200])
        self.admit(value)
        return _ROUNDING[method](value, precision)

    def join(self, values: Iterable[Any], between: Any = "") -> str:
        """Join the texts, and check the size while joining."""
        pieces: list[str] = []
        size, separator = 0, self.to_text(between)
        for value in values:
            pieces.append(self.to_text(value))
            size += len(pieces[-1]) + len(separator)
            _check_size(size)
        return str(self.admit(separator.join(pieces)))

    def to_text(self, value: Any) -> str:
        """Return `str(value)`. Raises EvaluationLimit if a value other than a text is too large."""
        return value if isinstance(value, str) else str(self.admit(value))


def check_count(value: Any) -> None:
    """Raise EvaluationLimit if a value has too many items to be sorted or copied."""
    if hasattr(value, "__len__") and len(value) > MAX_ITEMS:
        raise EvaluationLimit(f"it has more than {MAX_ITEMS:,} items")


def check_sought(*texts: Any) -> None:
    """Raise EvaluationLimit if a text to search for is too long."""
    if any(isinstance(text, str | bytes) and len(text) > MAX_SOUGHT for text in texts):
        raise EvaluationLimit(f"the text to search for has more than {MAX_SOUGHT} characters")


def make_range(*numbers: int) -> range:
    """Return a `range` with a bounded number of items. Raises EvaluationLimit if it has more."""
    numbers_between = range(*numbers)
    if len(numbers_between) > MAX_RANGE:
        raise EvaluationLimit(f"a range has more than {MAX_RANGE:,} items")
    return numbers_between


def _check_size(size: int) -> None:
    if size > MAX_SIZE:
        raise EvaluationLimit(f"a value is larger than {MAX_SIZE:,} characters or items")


def _check_bits(bits: int) -> None:
    if bits > MAX_BITS:
        raise EvaluationLimit("a number is too large")


_ROUNDING: dict[str, Callable[[float, int], float]] = {
    "common": round,
    "ceil": lambda value, precision: math.ceil(value * 10**precision) / 10**precision,
    "floor": lambda value, precision: math.floor(value * 10**precision) / 10**precision,
}


METHODS: dict[type, frozenset[str]] = {
    str: frozenset({
        "lower", "upper", "title", "capitalize", "strip", "lstrip", "rstrip", "startswith", "endswith", "split",
        "rsplit", "splitlines", "find", "rfind", "count", "isdigit", "isalpha", "isalnum", "isspace", "removeprefix",
        "removesuffix", "partition", "rpartition",
    }),
    dict: frozenset({"get", "keys", "values", "items"}),
    list: frozenset({"index", "count"}),
    tuple: frozenset({"index", "count"}),
    LoopContext: frozenset({"index", "index0", "revindex", "revindex0", "first", "last", "length"}),
}  # fmt: skip
"""The allowed methods and attributes. No result is larger than the value and its arguments together."""

FILTERS = frozenset({
    "abs", "capitalize", "count", "d", "default", "dictsort", "first", "float", "int", "items", "last", "length",
    "list", "lower", "map", "max", "min", "reject", "rejectattr", "reverse", "round", "select", "selectattr", "sort",
    "title", "trim", "truncate", "unique", "upper", "wordcount",
})  # fmt: skip
"""The allowed filters of Jinja2; the others can return a large value for a small input."""
LISTING = ("dictsort", "list", "sort", "unique")
"""Filters that process all items of a value in one step."""
FROM_THE_END = frozenset({"strip", "lstrip", "rstrip", "rfind", "rsplit", "rpartition"})
"""Methods that may scan the text once for each character of their argument."""

CUT = "\n… (cut: the limit is {:,} bytes)"

STATEMENTS = (nodes.Template, nodes.Output, nodes.TemplateData, nodes.If, nodes.For, nodes.Assign)
EXPRESSIONS = (nodes.Expr, nodes.Pair, nodes.Keyword, nodes.Operand)


class Sandbox(ImmutableSandboxedEnvironment):
    """The Jinja2 environment of one condition or one template, with the counters of its evaluation.

    Args:
        is_strict: whether an undefined name is an error, rather than false and empty.
    """

    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "%", "**"})

    def __init__(self, *, is_strict: bool) -> None:
        undefined = StrictUndefined if is_strict else Undefined
        super().__init__(trim_blocks=True, lstrip_blocks=True, undefined=undefined, cache_size=0, autoescape=False)
        self.guard = guard = EvaluationGuard()
        self.subject = "the condition" if is_strict else "the template"
        self.finalize = lambda value: value if isinstance(value, Undefined) else guard.to_text(value)
        filters = {name: function for name, function in self.filters.items() if name in FILTERS}
        self.filters = filters | {name: _limit_items(filters[name]) for name in LISTING} | {
            "one_line": lambda value, limit=320: one_line(guard.to_text(value), limit),
            "quoted": lambda value: guard.join((f"| {line}" for line in guard.to_text(value).splitlines()), "\n"),
            "tojson": lambda value: json.dumps(guard.admit(value), ensure_ascii=False),
            "join": guard.join, "string": guard.to_text, "round": guard.round_number, "trim": self._trim,
            "baton_admit": guard.admit, "baton_items": guard.count_items, "baton_join": guard.join,
        }  # fmt: skip
        self.tests |= {"None": self.tests["none"], "True": self.tests["true"], "False": self.tests["false"]}
        self.globals = {  # `min` and `max` without their `key` function, which could process all items again
            "range": make_range, "len": len, "str": guard.to_text, "int": int, "float": float, "bool": bool, "abs": abs,
            "min": lambda *values: min(*values), "max": lambda *values: max(*values),
        }  # fmt: skip

    def _trim(self, value: Any, chars: str | None = None) -> str:
        check_sought(chars)
        return self.guard.to_text(value).strip(chars)

    # --- allowed operations

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Return the value of a table's key, if it has this key, else an allowed method or attribute."""
        if isinstance(obj, Mapping) and attribute in obj:
            return obj[attribute]
        if any(isinstance(obj, kind) and attribute in names for kind, names in METHODS.items()):
            return getattr(obj, attribute)
        return obj if isinstance(obj, Undefined) else self.undefined(obj=obj, name=attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Return an item of a value, never an attribute."""
        self.guard.check_time()  # the path in `map(attribute=…)` can have a million parts
        try:
            return obj[argument]
        except (LookupError, TypeError):
            return self.undefined(obj=obj, name=argument)

    def is_safe_callable(self, obj: Any) -> bool:
        if any(obj is function for function in self.globals.values()):
            return True
        owner = getattr(obj, "__self__", None)
        return any(isinstance(owner, kind) and obj.__name__ in names for kind, names in METHODS.items())

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805  as in Jinja2
        __self.guard.step()
        if getattr(__obj, "__name__", "") in FROM_THE_END:
            check_sought(*args, *kwargs.values())
        return __self.guard.admit(super().call(__context, __obj, *args, **kwargs))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if operator == "*":
            return self.guard.multiply(left, right)
        if operator == "**":
            return self.guard.raise_power(left, right)
        if operator == "%" and isinstance(left, str | bytes):
            raise EvaluationLimit("text cannot be formatted here; use ~ to join values")
        return self.guard.admit(super().call_binop(context, operator, left, right))

    def call_filter(self, *args: Any, **kwargs: Any) -> Any:
        """Apply a filter, and count the size of its result, also when another filter applies it to each item."""
        return self.guard.admit(super().call_filter(*args, **kwargs))

    def call_test(self, *args: Any, **kwargs: Any) -> Any:
        """Apply a test, counted as a step."""
        self.guard.step()
        return super().call_test(*args, **kwargs)

    # --- conditions and templates

    def compile_condition(self, text: str) -> Callable[[Mapping[str, Any]], bool]:
        """Return a function that evaluates the expression. Raises InvalidArgument if it is not an expression."""
        with _report_errors(self.subject):
            body: list[nodes.Node] = [
                nodes.Assign(nodes.Name("result", "store"), self._parse_expression(text), lineno=1)
            ]
            template = self._compile_tree(nodes.Template(body, lineno=1))

        def evaluate(names: Mapping[str, Any]) -> bool:
            with _report_errors(self.subject):
                context = template.new_context(dict(names))
                for _ in template.root_render_func(context):
                    pass
                return bool(context.vars["result"])

        return evaluate

    def find_names(self, text: str) -> frozenset[str]:
        """Return the names that the expression uses, except the sandbox's own.

        Raises InvalidArgument if it is not an expression.
        """
        with _report_errors(self.subject):
            used = self._parse_expression(text).find_all(nodes.Name)
            return frozenset(node.name for node in used) - frozenset(self.globals)

    def _parse_expression(self, text: str) -> nodes.Expr:
        parser = Parser(self, text, state="variable")
        expression = parser.parse_expression()
        if not parser.stream.eos:
            raise TemplateSyntaxError("there is text after its end", parser.stream.current.lineno)
        return expression

    def compile_template(self, text: str) -> Callable[[Mapping[str, Any], int], str]:
        """Return a function that renders the template. Raises InvalidArgument if it is not a template."""
        with _report_errors(self.subject):
            template = self._compile_tree(self.parse(text))

        def render(names: Mapping[str, Any], limit: int) -> str:
            self.guard.restart()
            with _report_errors(self.subject):
                return _join_within(template.root_render_func(template.new_context(dict(names))), limit)

        return render

    def _compile_tree(self, tree: nodes.Template) -> Any:
        tree.set_environment(self)
        return self.from_string(_GuardTransformer().visit(tree))


class _GuardTransformer(NodeTransformer):
    """Reject statements that are not allowed, and route loops, assignments and compound values through the guard."""

    def generic_visit(self, node: nodes.Node, *args: Any, **kwargs: Any) -> nodes.Node:
        if not isinstance(node, STATEMENTS + EXPRESSIONS) or isinstance(node, nodes.NSRef):
            raise TemplateSyntaxError(f"{type(node).__name__.lower()} is not allowed here", node.lineno)
        return super().generic_visit(node, *args, **kwargs)

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802  as in Jinja2
        if node.recursive:
            raise TemplateSyntaxError("a loop cannot be recursive here", node.lineno)
        self.generic_visit(node)
        node.iter = _filter_node("baton_items", node.iter)
        return node

    def visit_Assign(self, node: nodes.Assign) -> nodes.Node:  # noqa: N802  as in Jinja2
        self.generic_visit(node)
        node.node = _filter_node("baton_admit", node.node)
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802  as in Jinja2
        self.generic_visit(node)
        return _filter_node("baton_join", nodes.List(node.nodes, lineno=node.lineno))

    def _admit(self, node: nodes.Expr) -> nodes.Node:
        self.generic_visit(node)
        return node if getattr(node, "ctx", "load") == "store" else _filter_node("baton_admit", node)

    visit_List = visit_Tuple = visit_Dict = visit_Filter = _admit  # noqa: N815  as in Jinja2


def _filter_node(name: str, node: nodes.Node) -> nodes.Filter:
    return nodes.Filter(cast(nodes.Expr, node), name, [], [], None, None, lineno=node.lineno)


def _limit_items(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the filter, limited to values with at most `MAX_ITEMS` items."""
    value_index = 0 if getattr(function, "jinja_pass_arg", None) is None else 1

    @wraps(function)  # copies the attributes that tell Jinja2 which arguments to pass
    def limited(*args: Any, **kwargs: Any) -> Any:
        check_count(args[value_index])
        return function(*args, **kwargs)

    return limited


def _join_within(pieces: Iterable[str], limit: int) -> str:
    """Join the pieces up to `limit` bytes; render no further pieces."""
    text = bytearray()
    for piece in pieces:
        text += piece.encode("utf-8", "replace")
        if len(text) > limit:
            mark = CUT.format(limit)
            return bytes(text[: max(0, limit - len(mark.encode()))]).decode("utf-8", "ignore") + mark
    return text.decode()


@contextmanager
def _report_errors(subject: str) -> Iterator[None]:
    """Convert every error in the block to InvalidArgument, with the line if it is known."""
    try:
        yield
    except InvalidArgument:
        raise
    except Exception as error:  # noqa: BLE001
        # Untrusted expressions can raise any exception of Python's operators.
        line = getattr(error, "lineno", None)
        message = getattr(error, "message", None) or str(error) or type(error).__name__
        place = f"{subject}, line {line}" if line else subject
        raise InvalidArgument(f"{place}: {one_line(message, 300)}") from None
