"""Command-line additions to `ready`: print for each item its title, the reason, and a command that resolves it."""

from __future__ import annotations

from collections.abc import Iterator

from baton_git.core.isolation import Failure, isolate
from baton_git.core.natural_times import describe_age
from baton_git.core.output import Styled, terminal_line
from baton_git.interfaces.cli.app import App
from baton_git.interfaces.cli.rendering.pager import write_paged
from baton_git.interfaces.cli.rendering.styles import Role, join, paint, shows_styles
from baton_git.interfaces.cli.rendering.widths import fit_terminal
from baton_git.interfaces.cli.verb_command import Addition
from baton_git.verbs.records.ready import ReadyItem, ReadyResult

NEED_ROLES = {
    **dict.fromkeys(("failed", "overdue", "unreadable", "reverted"), Role.BAD),
    **dict.fromkeys(("follow_up", "conflict", "review", "rule"), Role.WARNING),
}
INDENT = " " * 12


def _render_ready(app: App, result: ReadyResult) -> None:
    if app.json:
        app.answer_json(result.as_data())
    elif result.items:
        write_paged(join([line for item in result.items for line in _lines_of(app, item)], "\n"))
    if not result.items:
        app.say("nothing needs attention now")
    elif result.total > len(result.items):
        app.say(f"and {result.total - len(result.items)} more: baton ready --limit {result.total}")


def _lines_of(app: App, item: ReadyItem) -> list[Styled]:
    lines = isolate(lambda: list(_item_lines(app, item)))
    return [join([f"{item.need}  {item.id}  {lines.describe()}"])] if isinstance(lines, Failure) else lines


def _item_lines(app: App, item: ReadyItem) -> Iterator[Styled]:
    yield describe_item(item)
    since = f" · {describe_age(item.since, app.now)}" if item.since is not None else ""
    yield join([INDENT, fit_terminal(f"{item.why}{since}", len(INDENT))])
    yield join([INDENT, paint(terminal_line(item.command), Role.ID, styled=shows_styles())])


def describe_item(item: ReadyItem) -> Styled:
    """Return one line for an item: why it needs attention, its title and its id."""
    need = paint(item.need.replace("_", "-"), NEED_ROLES.get(item.need, Role.HEADING), styled=shows_styles())
    padding = INDENT[len(item.need) :]
    id_ = terminal_line(item.id)
    return join([need, padding, fit_terminal(item.title, len(INDENT) + len(id_) + 2), "  ", id_])


ADDITIONS = {"ready": Addition(render=_render_ready)}
