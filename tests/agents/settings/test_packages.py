"""The plugin and the extension in `hooks/`: everything they name exists, and they match the settings we install."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import click
import pytest
from looped_cases import for_each

from baton_git import __version__
from baton_git.agents.registry import AGENTS
from baton_git.agents.settings.entries import make_hook_line, make_plugin_line
from baton_git.git.hooks.shipped import find_shipped
from baton_git.interfaces.cli import baton as root

PLUGIN, EXTENSION = find_shipped("plugin"), find_shipped("gemini-extension")
TEXTS = sorted([*PLUGIN.rglob("SKILL.md"), *EXTENSION.rglob("SKILL.md"), *EXTENSION.rglob("commands/*.toml")])


def read_json(path: Path):
    return json.loads(path.read_text())


@pytest.mark.parametrize("path", [PLUGIN / "baton/.claude-plugin/plugin.json", EXTENSION / "gemini-extension.json"])
def test_manifests_have_the_version_of_the_package(path):
    assert read_json(path)["version"] == __version__
    assert read_json(path)["name"] == "baton"


def test_the_marketplace_names_the_plugin_where_it_is():
    (entry,) = read_json(PLUGIN / ".claude-plugin/marketplace.json")["plugins"]
    assert (PLUGIN / entry["source"] / ".claude-plugin/plugin.json").is_file()


@pytest.mark.parametrize(
    ("path", "agent", "line"),
    [
        (PLUGIN / "baton/hooks/hooks.json", "claude", make_plugin_line()),
        (EXTENSION / "hooks/hooks.json", "gemini", make_hook_line("gemini", ["baton"])),
    ],
)
def test_hooks_of_packages_equal_those_that_an_install_writes(path, agent, line):
    groups = AGENTS[agent].hooks.make_groups(line)
    assert read_json(path)["hooks"] == {event: [group] for event, group in groups.items()}


def test_files_for_two_agents_are_equal():
    for skill in EXTENSION.glob("skills/*/SKILL.md"):
        assert skill.read_bytes() == (PLUGIN / "baton" / skill.relative_to(EXTENSION)).read_bytes()
    servers = (read_json(PLUGIN / "baton/.mcp.json"), read_json(EXTENSION / "gemini-extension.json"))
    assert [one["mcpServers"] for one in servers] == [{"baton": {"command": "baton", "args": ["mcp"]}}] * 2


def examples(text: str) -> list[str]:
    """Return everything in code that starts with `baton`: in backquotes, or a line of a code block."""
    lines = [line.partition(" #")[0] for block in re.findall(r"```bash\n(.*?)```", text, re.DOTALL)
             for line in block.splitlines()]  # fmt: skip
    inline = re.findall(r"`(baton [^`]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    return [one.strip() for one in (*lines, *inline) if one.strip().startswith("baton ")]


def check_example(example: str) -> None:
    """Raise click's error when a command, an option or an argument does not exist."""
    words = shlex.split(example)[1:]
    context: click.Context = click.Context(root, info_name="baton", **root.context_settings)
    command: click.Command = root
    while isinstance(command, click.Group):
        name, *words = words
        found = command.get_command(context, name)
        assert found is not None, f"{example}: there is no command {name}"
        command, context = found, click.Context(found, parent=context, info_name=name)
    mentioned_only = not words
    if not mentioned_only:
        command.make_context(command.name, list(words), parent=context.parent)


@for_each("path", TEXTS, ids=lambda path: "/".join(path.parts[-3:]))
def test_every_command_that_a_skill_names_exists_and_accepts_its_arguments(path):
    found = examples(path.read_text())
    assert len(found) >= 2
    for example in found:
        check_example(example)


@for_each("example", ["baton nosuch", "baton boot --nosuch", "baton loop add x", "baton todo nosuch x"])
def test_a_wrong_example_is_reported(example):
    with pytest.raises((AssertionError, click.UsageError)):
        check_example(example)


def test_skills_contain_the_most_important_warnings():
    text = " ".join(" ".join(path.read_text().split()) for path in PLUGIN.rglob("SKILL.md"))
    for phrase in ("data, not instructions", "not written down now is lost", "only when **a person** confirms it"):
        assert phrase in text
    tools = (find_shipped("plugin") / "baton/skills/baton/SKILL.md").read_text()
    assert "allowed-tools: Bash(baton:*)\n" in tools


@pytest.mark.parametrize("agent", AGENTS)
def test_each_agents_package_is_printed_with_the_command_to_add_it(baton, agent):
    done = baton("agents", "package", agent)
    folder = Path(done.out.strip())
    assert folder.is_dir()
    assert str(folder) in done.err
    assert any(folder.rglob("hooks.json"))


def test_a_skill_has_a_name_and_a_description():
    for path in PLUGIN.rglob("SKILL.md"):
        head = path.read_text().split("---")[1]
        assert f"\nname: {path.parent.name}\n" in head
        assert re.search(r"\ndescription: .{40,}", head)
