"""`baton agents install --with`: skills and the MCP server are added, and removed byte for byte."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from pseudo_terminal import typing_here

from baton_git.agents.settings.agent_tools import SKILLS, read_skill

SERVERS = {"claude": ".mcp.json", "codex": ".codex/config.toml", "gemini": ".gemini/settings.json"}
SKILL_FOLDERS = {"claude": ".claude/skills", "codex": ".agents/skills", "gemini": ".agents/skills"}


def tree(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and ".git" not in path.relative_to(folder).parts)
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def servers(path: Path) -> dict[str, object]:
    data = tomllib.loads(path.read_text()) if path.suffix == ".toml" else json.loads(path.read_text())
    return dict(data.get("mcp_servers") or data.get("mcpServers") or {})


@pytest.mark.parametrize("agent", SERVERS)
def test_skills_and_the_server_are_added_and_removed_byte_for_byte(baton, top, agent):
    before = tree(top)
    done = baton("agents", "install", agent, "--project", "--with", "skills,mcp", "--json").json
    assert servers(top / SERVERS[agent]) == {"baton": {"command": "baton", "args": ["mcp"]}}
    for name in SKILLS:
        path = top / SKILL_FOLDERS[agent] / name / "SKILL.md"
        assert path.read_text().startswith(f"---\nname: {name}\n")
        assert str(path) in done["added"]
    inside = tree(top)
    assert baton("agents", "install", agent, "--project", "--with", "skills,mcp", "--json").json["added"] == []
    assert tree(top) == inside
    baton("agents", "install", agent, "--project")
    assert tree(top) == inside
    baton("agents", "uninstall", agent, "--project")
    assert tree(top) == before


def test_existing_content_of_the_files_is_unchanged(baton, top):
    own = {
        ".mcp.json": '{"mcpServers": {"other": {"command": "x"}}}',
        ".codex/config.toml": 'model = "m"  # mine\n[a]\nb=1',
        ".gemini/settings.json": '{\n  // mine\n  "mcpServers": {\n    "other": {}\n  }\n}\n',
        ".agents/skills/other/SKILL.md": "mine\n",
    }  # fmt: skip
    for name, text in own.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    before = tree(top)
    baton("agents", "install", "all", "--project", "--with", "mcp,skills")
    assert "baton" in servers(top / ".mcp.json")
    assert tomllib.loads((top / ".codex/config.toml").read_text())["a"] == {"b": 1}
    assert "// mine" in (top / ".gemini/settings.json").read_text()
    baton("agents", "uninstall", "codex", "--project")
    assert (top / ".agents/skills/baton/SKILL.md").read_text() == read_skill("baton")  # gemini still uses it
    baton("agents", "uninstall", "all", "--project")
    assert tree(top) == before


def test_a_server_and_a_skill_of_the_user_are_never_overwritten(baton, top):
    own = {
        ".mcp.json": '{"mcpServers": {"baton": {"command": "mine"}}}', ".claude/skills/baton/SKILL.md": "mine\n",
        ".codex/config.toml": "[mcp_servers.baton]\ncommand = 'mine'\n",
        ".gemini/settings.json": '{"mcpServers": {"baton": {"command": "mine"}}}',
    }  # fmt: skip
    for name, text in own.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    before = tree(top)
    done = baton("agents", "install", "all", "--project", "--with", "mcp,skills")
    assert done.code == 0
    assert done.err.count("has your own MCP server") == 4 - 1
    assert done.err.count("is your own file") == 1
    assert {name: tree(top)[name] for name in own if "gemini" not in name} == {
        name: before[name] for name in own if "gemini" not in name
    }
    assert servers(top / ".gemini/settings.json") == {"baton": {"command": "mine"}}
    baton("agents", "uninstall", "all", "--project")
    assert tree(top) == before


def test_extras_are_installed_only_on_request(baton, top):
    for more in ((), ("--with", "none")):
        baton("agents", "install", "all", "--project", *more)
        assert not {".mcp.json", ".codex/config.toml"} & set(tree(top))
        assert not any("skills" in name for name in tree(top))
    assert baton("agents", "install", "all", "--project", "--with", "hooks", code=2).code == 2


def test_at_a_terminal_the_install_asks_and_enter_means_yes(monkeypatch, top):
    for typed, is_installed in ((b"n\n", False), (b"\n", True)):
        code, screen = typing_here(monkeypatch, top, "agents", "install", "claude", "--project", typed=typed)
        assert code == 0, screen
        assert "Also install baton's skills and MCP server?" in screen
        assert (top / ".mcp.json").exists() is is_installed


def test_an_install_for_the_user_adds_the_server_or_prints_the_command_for_it(baton, monkeypatch):
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME"):
        monkeypatch.delenv(name, raising=False)
    done = baton("agents", "install", "all", "--with", "mcp")
    assert "claude mcp add --scope user baton -- " in done.err
    for name in (".codex/config.toml", ".gemini/settings.json"):
        assert "baton" in servers(Path.home() / name)
    baton("agents", "uninstall", "all")
    assert not (Path.home() / ".codex").exists()
