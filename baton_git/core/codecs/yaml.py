"""Read YAML, in files that people write by hand, as plain data. Only the data model of JSON is accepted.

The loader is stricter than PyYAML's safe loader: dates remain strings, keys are unique strings, and aliases are
rejected, because a few lines of aliases in a cloned file could exhaust the memory. PyYAML is imported on first use.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from baton_git.core.codecs import json
from baton_git.core.errors import Fault, InvalidDocument, LimitExceeded

if TYPE_CHECKING:
    from yaml import Node, SafeLoader

MAX_BYTES = 256 * 1024
"""Maximum size of a text that is parsed, in bytes; the parser is slow."""


def loads(text: str, *, where: str = "") -> Any:
    """Parse YAML.

    Args:
        text: the YAML text.
        where: the name of the file, for error messages.

    Raises:
        InvalidDocument: the text is not YAML, uses an alias, repeats a key, or has a value that JSON cannot represent.
        LimitExceeded: the text is larger than `MAX_BYTES` or nested deeper than `json.MAX_DEPTH`.
    """
    import yaml  # imported here because most processes never read YAML

    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        raise LimitExceeded(where or "the text", size, MAX_BYTES, "bytes")
    try:
        data = yaml.load(text, Loader=_loader())  # noqa: S506  a subclass of SafeLoader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
        raise InvalidDocument([Fault("", f"not YAML: {error.problem or error}{place}")], where=where) from None
    except (yaml.YAMLError, ValueError) as error:
        message = " ".join(str(error).split())
        raise InvalidDocument([Fault("", f"not YAML: {message}")], where=where) from None
    except RecursionError:
        raise LimitExceeded(
            f"nesting of {where or 'the document'}", json.MAX_DEPTH + 1, json.MAX_DEPTH, "levels"
        ) from None
    json.check(data, where=where)
    return data


@cache
def _loader() -> type[SafeLoader]:
    import yaml

    class Plain(yaml.SafeLoader):
        def compose_node(self, parent: Node | None, index: Any) -> Node | None:
            if self.check_event(yaml.AliasEvent):
                mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]  # untyped in the stubs
                raise yaml.composer.ComposerError(None, None, "an alias is not allowed here", mark)
            return super().compose_node(parent, index)

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
            self.flatten_mapping(node)
            table: dict[Any, Any] = {}
            for key_node, value_node in node.value:
                key = self.construct_object(key_node, deep=True)
                if not isinstance(key, str) or key in table:
                    why = "occurs twice" if isinstance(key, str) else "is not text: put it in quotes"
                    raise yaml.constructor.ConstructorError(None, None, f"the key {key!r} {why}", key_node.start_mark)
                table[key] = self.construct_object(value_node, deep=True)
            return table

    Plain.add_constructor("tag:yaml.org,2002:timestamp", _keep_text)
    for tag in ("binary", "set", "omap", "pairs"):
        Plain.add_constructor(f"tag:yaml.org,2002:{tag}", _refuse_tag)
    return Plain


def _keep_text(loader: Any, node: Any) -> str:
    return str(node.value)


def _refuse_tag(loader: Any, node: Any) -> Any:
    from yaml.constructor import ConstructorError

    raise ConstructorError(None, None, f"{node.tag.rpartition(':')[2]} is not a JSON type", node.start_mark)
