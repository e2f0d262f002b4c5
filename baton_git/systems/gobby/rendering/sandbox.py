"""The environment in which conditions and templates are evaluated: what they may name, call and write."""

from __future__ import annotations

import json
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
from baton_git.systems.gobby.rendering.bounds import Guard, TooMuch

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
"""What can be called on a value. None of them gives more than a value and its arguments have."""

FILTERS = frozenset({
    "abs", "capitalize", "count", "d", "default", "dictsort", "first", "float", "int", "items", "last", "length",
    "list", "lower", "map", "max", "min", "reject", "rejectattr", "reverse", "round", "select", "selectattr", "sort",
    "title", "trim", "truncate", "unique", "upper", "wordcount",
})  # fmt: skip
"""Those of Jinja2 that stay; the others can make much of little."""
LISTING = ("dictsort", "list", "sort", "unique")
"""Those that take a value apart, item by item, in one step."""
FROM_THE_END = frozenset({"strip", "lstrip", "rstrip", "rfind", "rsplit", "rpartition"})
"""Methods that may look at every character once for each one that they are given."""

STATEMENTS = (nodes.Template, nodes.Output, nodes.TemplateData, nodes.If, nodes.For, nodes.Assign)
EXPRESSIONS = (nodes.Expr, nodes.Pair, nodes.Keyword, nodes.Operand)


class Sandbox(ImmutableSandboxedEnvironment):
    """One evaluation of one text.

    Args:
        is_strict: whether a name that is not there is an error, rather than false and empty.
    """

    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "%", "**"})

    def __init__(self, *, is_strict: bool) -> None:
        undefined = StrictUndefined if is_strict else Undefined
        super().__init__(trim_blocks=True, lstrip_blocks=True, undefined=undefined, cache_size=0, autoescape=False)
        self.guard = guard = Guard()
        self.what = "the condition" if is_strict else "the template"
        self.finalize = lambda value: value if isinstance(value, Undefined) else guard.text(value)
        self.filters = {name: made for name, made in self.filters.items() if name in FILTERS} | {
            "one_line": self._one_line, "quoted": self._quoted, "join": guard.joined, "string": guard.text,
            "tojson": self._json, "round": guard.rounded, "trim": self._trim,
            "baton_held": guard.held, "baton_each": guard.each, "baton_joined": guard.joined,
        }  # fmt: skip
        self.filters |= {name: _few(guard, self.filters[name]) for name in LISTING}
        self.tests |= {"None": self.tests["none"], "True": self.tests["true"], "False": self.tests["false"]}
        self.globals = {
            "range": guard.span, "len": len, "str": guard.text, "int": int, "float": float, "bool": bool, "abs": abs,
            "min": guard.least, "max": guard.greatest,
        }  # fmt: skip

    def _one_line(self, value: Any, limit: int = 320) -> str:
        return one_line(self.guard.text(value), limit)

    def _quoted(self, value: Any) -> str:
        return self.guard.joined((f"| {line}" for line in self.guard.text(value).splitlines()), "\n")

    def _trim(self, value: Any, chars: str | None = None) -> str:
        self.guard.sought(chars)
        return self.guard.text(value).strip(chars)

    def _json(self, value: Any) -> str:
        return json.dumps(self.guard.held(value), ensure_ascii=False)

    # --- what is allowed

    def getattr(self, obj: Any, attribute: str) -> Any:
        """A key of a table before its methods, and nothing else of any object."""
        if isinstance(obj, Mapping) and attribute in obj:
            return obj[attribute]
        if any(isinstance(obj, kind) and attribute in names for kind, names in METHODS.items()):
            return getattr(obj, attribute)
        return obj if isinstance(obj, Undefined) else self.undefined(obj=obj, name=attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """An item; an attribute is none."""
        self.guard.tick()  # a filter may be given a way of a million items
        try:
            return obj[argument]
        except (LookupError, TypeError):
            return self.undefined(obj=obj, name=argument)

    def is_safe_callable(self, obj: Any) -> bool:
        if any(obj is one for one in self.globals.values()):
            return True
        owner = getattr(obj, "__self__", None)
        return any(isinstance(owner, kind) and obj.__name__ in names for kind, names in METHODS.items())

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805  as in Jinja2
        __self.guard.step()
        if getattr(__obj, "__name__", "") in FROM_THE_END:
            __self.guard.sought(*args, *kwargs.values())
        return __self.guard.held(super().call(__context, __obj, *args, **kwargs))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if operator == "*":
            return self.guard.times(left, right)
        if operator == "**":
            return self.guard.power(left, right)
        if operator == "%" and isinstance(left, str | bytes):
            raise TooMuch("text cannot be formatted here; join it with ~")
        return self.guard.held(super().call_binop(context, operator, left, right))

    def call_filter(self, *args: Any, **kwargs: Any) -> Any:
        """One that another applies to each of its items: all that comes of them is counted."""
        return self.guard.held(super().call_filter(*args, **kwargs))

    def call_test(self, *args: Any, **kwargs: Any) -> Any:
        """As `call_filter`."""
        self.guard.step()
        return super().call_test(*args, **kwargs)

    # --- the two kinds of texts

    def expression(self, text: str) -> Callable[[Mapping[str, Any]], bool]:
        """What evaluates the expression. Raises InvalidArgument when it is none."""
        with _told(self.what):
            body: list[nodes.Node] = [nodes.Assign(nodes.Name("result", "store"), self._parsed(text), lineno=1)]
            template = self._made(nodes.Template(body, lineno=1))

        def evaluate(names: Mapping[str, Any]) -> bool:
            with _told(self.what):
                context = template.new_context(dict(names))
                for _ in template.root_render_func(context):
                    pass
                return bool(context.vars["result"])

        return evaluate

    def names_in(self, text: str) -> frozenset[str]:
        """The names that the expression uses, but those of the sandbox itself. Raises InvalidArgument when it is
        none."""
        with _told(self.what):
            used = self._parsed(text).find_all(nodes.Name)
            return frozenset(one.name for one in used) - frozenset(self.globals)

    def _parsed(self, text: str) -> nodes.Expr:
        parser = Parser(self, text, state="variable")
        found = parser.parse_expression()
        if not parser.stream.eos:
            raise TemplateSyntaxError("something stands after its end", parser.stream.current.lineno)
        return found

    def template(self, text: str) -> Callable[[Mapping[str, Any], int], str]:
        """What renders the template. Raises InvalidArgument when it is none."""
        with _told(self.what):
            template = self._made(self.parse(text))

        def rendered(names: Mapping[str, Any], limit: int) -> str:
            with _told(self.what):
                return _bounded(template.root_render_func(template.new_context(dict(names))), limit)

        return rendered

    def _made(self, tree: nodes.Template) -> Any:
        tree.set_environment(self)
        return self.from_string(_Counting().visit(tree))


class _Counting(NodeTransformer):
    """Refuses what has no place here, and sends loops, assignments and what is put together through the guard."""

    def generic_visit(self, node: nodes.Node, *args: Any, **kwargs: Any) -> nodes.Node:
        if not isinstance(node, STATEMENTS + EXPRESSIONS) or isinstance(node, nodes.NSRef):
            raise TemplateSyntaxError(f"{type(node).__name__.lower()} is not possible here", node.lineno)
        return super().generic_visit(node, *args, **kwargs)

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802  as in Jinja2
        if node.recursive:
            raise TemplateSyntaxError("a loop cannot be recursive here", node.lineno)
        self.generic_visit(node)
        node.iter = _through("baton_each", node.iter)
        return node

    def visit_Assign(self, node: nodes.Assign) -> nodes.Node:  # noqa: N802  as above
        self.generic_visit(node)
        node.node = _through("baton_held", node.node)
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802  as above
        self.generic_visit(node)
        return _through("baton_joined", nodes.List(node.nodes, lineno=node.lineno))

    def _held(self, node: nodes.Expr) -> nodes.Node:
        self.generic_visit(node)
        return node if getattr(node, "ctx", "load") == "store" else _through("baton_held", node)

    visit_List = visit_Tuple = visit_Dict = visit_Filter = _held  # noqa: N815  as in Jinja2


def _through(name: str, node: nodes.Node) -> nodes.Filter:
    return nodes.Filter(cast(nodes.Expr, node), name, [], [], None, None, lineno=node.lineno)


def _few(guard: Guard, made: Callable[..., Any]) -> Callable[..., Any]:
    """The filter, for what has few enough items."""
    takes = getattr(made, "jinja_pass_arg", None)

    @wraps(made)  # with what it says of its arguments
    def bounded(*args: Any, **kwargs: Any) -> Any:
        guard.few(args[0] if takes is None else args[1])
        return made(*args, **kwargs)

    return bounded


def _bounded(pieces: Iterable[str], limit: int) -> str:
    """The pieces in one, cut at `limit` bytes; no more is made than is used."""
    from baton_git.systems.gobby.rendering import CUT

    found = bytearray()
    for piece in pieces:
        found += piece.encode("utf-8", "replace")
        if len(found) > limit:
            mark = CUT.format(limit)
            kept = bytes(found[: max(0, limit - len(mark.encode()))]).decode("utf-8", "ignore")
            return kept + mark
    return found.decode()


@contextmanager
def _told(what: str) -> Iterator[None]:
    """Whatever goes wrong inside becomes InvalidArgument, with the line."""
    try:
        yield
    except InvalidArgument:
        raise
    except Exception as error:  # noqa: BLE001
        # The boundary of what others wrote: it can raise whatever Python's operators raise.
        line = getattr(error, "lineno", None)
        said = getattr(error, "message", None) or str(error) or type(error).__name__
        place = f"{what}, line {line}" if line else what
        raise InvalidArgument(f"{place}: {one_line(said, 300)}") from None
