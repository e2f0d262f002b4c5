"""Generate the parts of `formats/` that describe the models: each `schema.json`, and the tables in each `README.md`.

And `record_forms.json` in the package, by which a server recognises valid records without the models.

Run by hand: `python tests/formats/regenerate.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from baton_git.core.codecs import json
from baton_git.verbs.upkeep.schemas import DECISIONS, RECORDS, make_schema
from record_forms import FILE, forms_text

FORMATS = Path(__file__).parents[2] / "formats"
TABLES = re.compile(r"(?<=<!-- fields: made by tests/formats/regenerate.py -->\n).*?(?=<!-- end)", re.DOTALL)

LIMITS = {"minimum": "≥ {}", "maximum": "≤ {}", "maxItems": "at most {}", "minLength": "not empty", "maxLength": "≤ {}"}


def schema_text(kind: str) -> str:
    return json.dumps(make_schema(kind)) + "\n"


def page(kind: str, text: str) -> str:
    """Return the page of a kind with the tables generated from its schema."""
    assert TABLES.search(text), f"formats/{kind}/README.md has no place for the table of its fields"
    return TABLES.sub(lambda _: "\n".join(tables(kind)) + "\n", text)


def tables(kind: str) -> Iterator[str]:
    """Return a table for the kind, and one for each part of it that has no separate page."""
    data = make_schema(kind)
    yield from table(data)
    for name, part in data.get("$defs", {}).items():
        if kind not in ("baton", "snapshot"):
            yield f"\n### {name}\n\n{part['description']}"
            yield from table(part)


def table(data: dict[str, Any]) -> Iterator[str]:
    yield "\n| field | type | default | merge | meaning |\n|---|---|---|---|---|"
    for name, field in data["properties"].items():
        default = "**required**" if name in data.get("required", ()) else in_code(field.get("default", {}))
        meaning = field["description"].replace("|", "/")
        yield f"| `{name}` | {type_of(field)} | {default} | {rule_of(field)} | {meaning} |"


def in_code(value: Any) -> str:
    return f"`{json.dumps(value, indent=None)}`"


def type_of(field: dict[str, Any]) -> str:
    if "$ref" in field:
        return field["$ref"].rpartition("/")[2]
    if "anyOf" in field:
        return " or ".join(type_of(one) for one in field["anyOf"])
    if "enum" in field:
        return " · ".join(f"`{one}`" for one in field["enum"])
    words = {"string": "text", "object": "table", "array": "list", "integer": "whole number"}
    if "const" in field:
        return in_code(field["const"])
    name = words.get(field.get("type", "anything"), field.get("type", "anything"))
    if "items" in field:
        name = f"list of {type_of(field['items'])}"
    limits = [text.format(field[word]) for word, text in LIMITS.items() if word in field]
    return f"{name} ({', '.join(limits)})" if limits else name


def rule_of(field: dict[str, Any]) -> str:
    rule = field.get("x-merge", "changed side")
    if isinstance(rule, str):
        return rule
    [(name, argument)] = rule.items()
    if name == "beside":
        return f"from the side of {argument[0]}, or else the newest {argument[1]}"
    return f"{name}: {' < '.join(argument)}" if isinstance(argument, list) else f"{name} {argument}"


def main() -> None:
    FILE.write_text(forms_text(), encoding="utf-8", newline="\n")
    (FORMATS / DECISIONS / "schema.json").write_text(schema_text(DECISIONS), encoding="utf-8", newline="\n")
    for kind in RECORDS:
        folder = FORMATS / kind
        folder.mkdir(exist_ok=True)
        (folder / "schema.json").write_text(schema_text(kind), encoding="utf-8", newline="\n")
        readme = folder / "README.md"
        readme.write_text(page(kind, readme.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")
        print(f"formats/{kind}: schema.json and README.md")


if __name__ == "__main__":
    main()
