"""Generate the reference pages of the documentation site: commands, verbs by family, and kinds of records."""

from __future__ import annotations

from collections.abc import Iterator

import click
from verb_pages import HEAD, make_sections

from baton_git.core.kinds import KINDS
from baton_git.interfaces.cli import SECTIONS, baton
from baton_git.interfaces.cli.machine.help import TOPICS, describe_topic
from baton_git.verbs.table import functions


def make_reference() -> dict[str, str]:
    """Return the generated pages, by their path in the site."""
    return {
        "reference/commands.md": make_commands_page(),
        "reference/kinds.md": make_kinds_page(),
        "reference/topics.md": make_topics_page(),
        **make_verb_pages(),
    }


def find_families() -> dict[str, list[str]]:
    """Return the names of the verbs by family: their command if it has several, else the section of `--help`."""
    sections = {command: title for title, commands in SECTIONS.items() for command in commands}
    names = sorted(function.verb.name for function in functions().values())
    families: dict[str, list[str]] = {}
    for name in names:
        command = name.partition(" ")[0]
        together = [verb for verb in names if verb.partition(" ")[0] == command]
        families.setdefault(command if len(together) > 1 else sections.get(command, "More"), []).append(name)
    return families


def make_verb_pages() -> dict[str, str]:
    verbs = {function.verb.name: function for function in functions().values()}
    pages, index = {}, [HEAD.split("This page is generated")[0]]
    for family, names in sorted(find_families().items()):
        slug = family.lower().replace(" ", "-")
        text = "\n".join([f"# {family.capitalize()}\n", *make_sections([verbs[name] for name in names])])
        pages[f"reference/verbs/{slug}.md"] = text.replace("](../", "](../../")
        index.append(f"## [{family.capitalize()}](verbs/{slug}.md)\n\n| verb | effect |\n|---|---|")
        index += [
            f"| [{name}](verbs/{slug}.md#{name.replace(' ', '-')}) | {first_sentence(verbs[name].verb.about)} |"
            for name in names
        ]
        index.append("")
    return {"reference/verbs.md": "\n".join(index), **pages}


def first_sentence(text: str) -> str:
    return " ".join(text.split("\n\n")[0].split()).replace("|", "\\|")


def make_commands_page() -> str:
    """Return the page with the help of every command, in the order of `baton --help`."""
    lines = [
        "# Commands\n",
        "What `baton COMMAND --help` prints, for every command. [Verbs](verbs.md) has the same with",
        "types and results.\n",
    ]
    root = click.Context(baton, info_name="baton", **baton.context_settings)
    root.max_content_width = root.terminal_width = 80
    for title, commands in SECTIONS.items():
        lines.append(f"## {title}\n")
        for name in commands:
            command = baton.get_command(root, name)
            assert command is not None
            lines += _help_blocks(command, root, (name,))
    return "\n".join(lines)


def _help_blocks(command: click.Command, parent: click.Context, words: tuple[str, ...]) -> Iterator[str]:
    context = click.Context(command, info_name=words[-1], parent=parent, **command.context_settings)
    text = command.get_help(context).partition("\nOptions of every command:")[0].rstrip()
    yield f"{'#' * (len(words) + 2)} baton {' '.join(words)}\n\n```text\n{text}\n```\n"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            member = command.get_command(context, name)
            if member is not None and not member.hidden:
                yield from _help_blocks(member, context, (*words, name))


def make_topics_page() -> str:
    """Return the page with the topics of `baton help`; that of the kinds is the page of the kinds."""
    lines = [
        "# Topics\n",
        "What `baton help TOPIC` prints, in short: times, revisions, JSON, settings, variables, exit codes.\n",
    ]
    for name in (name for name in TOPICS if name != "kinds"):
        title, _, body = describe_topic(name).partition("\n\n")
        lines.append(f"## {title}\n\n`baton help {name}`\n\n```text\n{body.rstrip()}\n```\n")
    return "\n".join(lines)


def make_kinds_page() -> str:
    """Return the page with the table of the kinds of records."""
    lines = [
        "# Kinds of records\n",
        "A command accepts any of these names, as in `baton list loops`. `baton schema KIND` prints the JSON Schema.\n",
        "| kind | one, several | ids | on the branch | format |",
        "|---|---|---|---|---|",
    ]
    for info in KINDS.values():
        id_ = "ID" if info.parts == 1 else "/".join(["AGENT", *["ID"] * (info.parts - 1)])
        path = f"{info.folder}/{id_}{info.suffix}" if "." not in info.folder else info.folder
        ids = f"`{info.prefix}-…`" if info.prefix else ""
        format_page = f"[{info.kind}](../formats/{info.kind}/index.md)"
        lines.append(f"| `{info.kind}` | {info.title}, {info.name(2)} | {ids} | `{path}` | {format_page} |")
    return "\n".join([*lines, ""])
