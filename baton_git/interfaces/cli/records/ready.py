"""What the command line adds to `ready`: two lines for each item, what it is about and what settles it."""

from __future__ import annotations

from collections.abc import Iterator

from baton_git.core.brief import age
from baton_git.core.output import BOLD, CYAN, RED, Styled, one_line, style
from baton_git.interfaces.cli.app import App
from baton_git.interfaces.cli.verb_command import Addition
from baton_git.verbs.records.ready import ReadyItem, ReadyResult

URGENT = ("failed", "overdue", "unreadable")
WIDTH = 12


def _render_ready(app: App, result: ReadyResult) -> None:
    app.answer(result.as_data(), Styled("\n").join(line for item in result.items for line in _item_lines(app, item)))
    if not result.items:
        app.say("nothing needs anybody now")
    elif result.total > len(result.items):
        app.say(f"and {result.total - len(result.items)} more: baton ready --limit {result.total}")


def _item_lines(app: App, item: ReadyItem) -> Iterator[str]:
    need = item.need.replace("_", "-").ljust(WIDTH)
    since = f" · {age(item.since, app.now)}" if item.since is not None else ""
    yield style(need, RED if item.need in URGENT else BOLD) + f"{one_line(item.id, 40)}  {item.title}"
    yield " " * WIDTH + f"{item.why}{since}"
    yield Styled(" " * WIDTH) + style(item.command, CYAN)


ADDITIONS = {"ready": Addition(render=_render_ready)}
