"""Generate the tables of settings and variables in docs/settings.md.

Run by hand after an entry has changed: `python tests/project/setting_tables.py`.
"""

from __future__ import annotations

import re
from pathlib import Path

from baton_git.interfaces.context.setting_registry import SETTINGS, VARIABLES, Setting, Variable

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"


def make_page(text: str) -> str:
    """Return docs/settings.md with the tables generated from the registries."""
    rows = {"settings": map(make_row, SETTINGS.values()), "variables": map(make_variable_row, VARIABLES)}
    for name, lines in rows.items():
        mark = re.compile(rf"(?<=<!-- {name}: made by tests/project/setting_tables.py -->\n).*?(?=<!-- end)", re.DOTALL)
        head = "| key | default | effect |" if name == "settings" else "| variable | option | used by |"
        table = "\n".join(["", head, "|---|---|---|", *lines, "", ""])
        place = mark.search(text)
        assert place, f"docs/settings.md has no place for its {name}"
        text = text[: place.start()] + table + text[place.end() :]
    return text


def make_row(setting: Setting) -> str:
    stem = Path(setting.page.partition("#")[0]).stem
    more = f" (see [{stem}]({setting.page}))" if setting.page else ""
    default = setting.default_note or (f"`{setting.default}`" if setting.default else "")
    return f"| `{setting.key}` | {default} | {setting.description}{more} |"


def make_variable_row(variable: Variable) -> str:
    names, options = (", ".join(f"`{word}`" for word in words.split(", ") if word) for words in variable[:2])
    return f"| {names} | {options} | {variable.description} |"


if __name__ == "__main__":
    PAGE.write_text(make_page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
