"""Writes `formats/<kind>/schema.json` anew; run by hand: `python tests/formats/regenerate.py`."""

from __future__ import annotations

from pathlib import Path

from baton_git.codecs import json
from baton_git.schemas import KINDS, schema

FORMATS = Path(__file__).parents[2] / "formats"


def schema_text(kind: str) -> str:
    return json.dumps(schema(kind)) + "\n"


def main() -> None:
    for kind in KINDS:
        folder = FORMATS / kind
        folder.mkdir(exist_ok=True)
        (folder / "schema.json").write_text(schema_text(kind), encoding="utf-8", newline="\n")
        print(f"formats/{kind}/schema.json")


if __name__ == "__main__":
    main()
