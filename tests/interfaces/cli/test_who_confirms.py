"""While an agent is known to be acting, input at a terminal does not count as a person's confirmation."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from looped_cases import for_each
from pseudo_terminal import at_terminal, typing_here, whole_screen

import baton_git
from baton_git.agents.registry import AGENTS, find_agent_of_client, session_variables
from baton_git.agents.sessions.starting import SUPERVISOR
from baton_git.interfaces.context.person import Ancestor, describe_agent, find_agent, is_init, is_interactive_shell

GRADUATE = ("pattern", "graduate", "PAT-1")
DECIDE = ("decision", "add", "Use 3", "--why", "because", "--tier", "human_confirmed")
WAYS_OF_TYPING = ("typed", "acted", "scripted", "shared")


def create_agent(folder, kind):
    """Create a small program with the path and name of an agent CLI; it runs its arguments, as a shell tool does."""
    if kind == "claude":
        program = folder / "claude"
        program.write_text('#!/bin/sh\nenv -u CLAUDECODE "$@"\nexit $?\n')
        program.chmod(0o755)
        return [str(program)]
    (folder / "node").symlink_to("/bin/sh")
    script = folder / "node_modules/@google/gemini-cli/dist/index.js"
    script.parent.mkdir(parents=True)
    script.write_text('"$@"\nexit $?\n')
    return [str(folder / "node"), str(script)]


@pytest.mark.parametrize("kind", ["claude", pytest.param("gemini", marks=pytest.mark.slow)])
def test_an_answer_at_a_terminal_does_not_confirm_if_an_ancestor_is_an_agents_process(
    baton, filled, top, tmp_path, kind
):
    before = baton("read").json["commit"]
    argv = [*create_agent(tmp_path, kind), sys.executable, "-m", "baton_git", *GRADUATE]
    process, terminal = at_terminal(top, argv)
    os.write(terminal, b"PAT-1\n")
    screen = whole_screen(terminal)
    assert process.wait() == 1
    assert f"an agent is acting here (this command was started by {kind})" in screen
    assert baton("read").json["commit"] == before


@pytest.mark.parametrize(
    ("words", "typed"),
    [(GRADUATE, b"PAT-1\n"), (DECIDE, b"yes\n"), (("trust", "--", "true"), b"y\n")],
    ids=["graduate", "decision", "trust"],
)
def test_an_answer_at_a_terminal_does_not_confirm_if_an_agents_variable_is_set(
    baton, filled, top, monkeypatch, words, typed
):
    before = baton("read").json["commit"]
    code, screen = typing_here(monkeypatch, top, *words, typed=typed, CLAUDECODE="1")
    assert code == 1
    assert "an agent is acting here (CLAUDECODE is set)" in screen
    assert baton("read").json["commit"] == before
    assert typing_here(monkeypatch, top, *words, typed=typed)[0] == 0


def test_the_error_names_the_page_the_client_and_the_signature(filled, top, monkeypatch):
    screen = typing_here(monkeypatch, top, *GRADUATE, typed=b"PAT-1\n", BATON_AGENT="zero")[1].replace("\r\n", " ")
    for text in ("the command acts as agent zero", "BATON_PAGE_TOKEN", "MCP client", "--sign"):
        assert text in screen


def test_restoring_a_rule_needs_a_person(baton, filled, top, monkeypatch):
    assert typing_here(monkeypatch, top, *GRADUATE, typed=b"PAT-1\n")[0] == 0
    assert "a person confirmed PAT-1" in baton("rollback", "--record", "PAT-1", code=1).err
    assert typing_here(monkeypatch, top, "rollback", "--record", "PAT-1", typed=b"yes\n")[0] == 0
    code, screen = typing_here(monkeypatch, top, "undo", typed=b"yes\n", GEMINI_CLI="1")
    assert (code, "GEMINI_CLI is set" in screen) == (1, True)
    assert typing_here(monkeypatch, top, "undo", typed=b"yes\n")[0] == 0


@for_each("name", ["CLAUDECODE", "CODEX_THREAD_ID", "CODEX_SANDBOX", "GEMINI_CLI", "BATON_SPAWNED", "AI_AGENT"])
def test_each_variable_of_an_agent_indicates_it_unless_it_is_empty(name):
    assert find_agent({name: "1"}) == f"{name} is set"
    assert find_agent({name: ""}) is None


def test_only_records_typed_into_an_interactive_shell_are_confirmed_by_a_person(baton, filled, git, top):
    process, terminal = at_terminal(top, ["/bin/sh", "-i"])
    add = f"{sys.executable} -m baton_git followup add"
    lines = [
        f"{add} typed",
        f"CLAUDECODE=1 {add} acted",
        f"sh -c '{add} scripted; true'",
        f"TERM_PROGRAM=vscode {add} shared",
    ]
    os.write(terminal, "".join(f"{line}\n" for line in [*lines, "exit"]).encode())
    whole_screen(terminal)
    process.wait()
    made = baton("read", "--json").json
    added = {item["item"]: item for item in made["baton"]["follow_ups"]}
    labels = {word: made["provenance"]["follow_up"][added[word]["id"]]["kind"] for word in WAYS_OF_TYPING}
    assert labels == {"typed": "confirmed", "acted": "agent", "scripted": "agent", "shared": "agent"}
    tiers = {word: added[word]["source_tier"] for word in WAYS_OF_TYPING}
    assert (tiers.pop("typed"), set(tiers.values())) == ("human_confirmed", {"llm_derived"})
    clone = top.parent / "clone"
    git(top.parent, "clone", "-q", str(top), str(clone))
    baton("sync", "-n", "work", cwd=clone, code=3)
    said = baton("record", "follow_up", added["typed"]["id"], "-n", "work", "--json", cwd=clone).json["provenance"]
    assert said == {
        "kind": "received",
        "text": "received from origin",
        "remote": "origin",
        "claims": "confirmed by a person",
    }


@for_each(
    ("argv", "interactive"),
    [
        (["-bash"], True),
        (["/bin/zsh", "-il"], True),
        (["bash", "--login", "-i"], True),
        (["bash", "-c", "baton loop add x"], False),
        (["bash", "-lc", "baton loop add x"], False),
        (["bash", "script.sh"], False),
        (["bash", "-i", "script.sh"], False),
        (["bash", "-"], False),
        (["fish", "--command=baton"], False),
    ],
)
def test_a_shell_that_runs_a_script_is_not_interactive(argv, interactive):
    assert is_interactive_shell(Ancestor(argv[0].lstrip("-").rpartition("/")[2], argv)) is interactive
    assert not is_interactive_shell(Ancestor("make", argv))


def test_a_process_in_a_session_started_by_baton_counts_as_an_agent():
    code = "from baton_git.interfaces.context.person import find_agent; print(find_agent({}))"
    argv = ["sh", "-c", '"$1" -c "$2"; exit $?', "sh", sys.executable, code, SUPERVISOR]
    printed = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    assert printed == "it runs in a session that baton started\n"


def test_variables_with_the_users_settings_do_not_indicate_an_agent():
    settings = ("CODEX_HOME", "CODEX_API_KEY", "CLAUDE_CONFIG_DIR", "GEMINI_API_KEY")
    assert find_agent(dict.fromkeys(settings, "/x")) is None


def test_every_agent_declares_its_variables_and_processes():
    assert all(cli.name == name == find_agent_of_client(f"{cli.mcp_client}-1") for name, cli in AGENTS.items())
    for variable, agent in session_variables().items():
        assert variable in AGENTS[agent].markers.variables


@for_each(
    ("agent", "name", "argv"),
    [
        ("claude", "claude", ["claude"]),
        ("claude", "node", ["node", "--max-old-space-size=1", "/lib/node_modules/@anthropic-ai/claude-code/cli.js"]),
        ("claude", "node", ["/usr/bin/node", "/usr/local/bin/claude", "-p", "x"]),
        ("codex", "codex", ["/home/ada/.local/bin/codex", "exec"]),
        ("codex", "node", ["node", "/x/node_modules/@openai/codex/bin/codex.js"]),
        ("gemini", "node", ["node", "/usr/bin/gemini"]),
        ("gemini", "bun", ["/opt/bun", "gemini.mjs"]),
        (None, "vim", ["vim", "claude"]),
        (None, "bash", ["bash", "-c", "echo claude"]),
        (None, "node", ["node", "server.js", "/usr/bin/gemini"]),
        (None, "", []),
    ],
)
def test_a_process_is_recognised_by_its_program_or_its_script_only(agent, name, argv):
    assert [one for one, cli in AGENTS.items() if cli.markers.is_program(name, argv)] == ([agent] if agent else [])


def test_a_wide_change_is_confirmed_at_a_terminal_or_with_yes(baton, top, monkeypatch):
    for number in range(12):
        baton("followup", "add", f"Item {number}")
    before = baton("read").json["commit"]
    code, screen = typing_here(monkeypatch, top, "rollback", "1", typed=b"n\n")
    assert (code, "11 records would change: 11 removed" in screen, "nothing was changed" in screen) == (1, True, True)
    assert baton("read").json["commit"] == before
    assert typing_here(monkeypatch, top, "rollback", "1", typed=b"y\n")[0] == 0
    assert typing_here(monkeypatch, top, "undo", "--yes")[0] == 0
    assert len(baton("undo", "--dry-run").out.splitlines()) == 1
    assert "--yes" in baton("rollback", "1", code=2).err
    baton("rollback", "1", "--yes")
    assert len(baton("read").json["baton"]["follow_ups"]) == 1


CLEARED = '/usr/bin/env -i PATH="$PATH"'
WAYS_AROUND = {
    "env -i": f"{CLEARED} %s",
    "unset": "unset CLAUDECODE; %s",
    "a cleared shell": f"{CLEARED} sh -c '%s; true'",
    "setsid": f"{CLEARED} setsid -w %s",
    "a pseudo-terminal": f"{CLEARED} script -qec '%s' /dev/null",
}


@pytest.mark.parametrize("way", WAYS_AROUND.values(), ids=WAYS_AROUND)
def test_an_agent_is_recognised_by_the_variables_of_an_ancestor(tmp_path, way):
    package = Path(baton_git.__file__).parents[1]  # the variable that could name it is cleared
    code = f"""
import os, sys
sys.path.insert(0, {str(package)!r})
from baton_git.interfaces.context.person import find_agent
print(find_agent(os.environ))
"""
    (tmp_path / "look.py").write_text(code)
    command = way % f"{sys.executable} {tmp_path}/look.py"
    path = f"{os.environ['PATH']}:/usr/bin:/bin"
    done = subprocess.run(
        ["sh", "-c", f"{command}; exit $?"], env={"CLAUDECODE": "1", "PATH": path}, capture_output=True, text=True,
        stdin=subprocess.DEVNULL, check=True,
    )  # fmt: skip
    assert "CLAUDECODE is set in " in done.stdout


def test_a_command_without_whatever_started_it_is_not_a_persons():
    for name in ("init", "systemd", "tini"):
        assert is_init(Ancestor(name, [f"/sbin/{name}"]))
        assert is_init(Ancestor("", [f"/usr/lib/systemd/{name}", "--user"]))
    assert not is_init(Ancestor("bash", ["-bash"]))
    assert not is_init(Ancestor("tmux: server", ["tmux"]))


@for_each("name", ["vim", "code", "emacs", "nvim", "tmux: server", "sshd", "login", "idea", "node"])
def test_a_person_in_an_editors_terminal_stays_a_person(name):
    assert (
        describe_agent(Ancestor(name, [name], {"TERM_PROGRAM": "vscode", "CLAUDE_CONFIG_DIR": "/x", "HOME": "/h"}))
        is None
    )
    assert describe_agent(Ancestor(name, [name], {"CLAUDECODE": ""})) is None
    assert describe_agent(Ancestor(name, [name], {"GEMINI_CLI": "1"})) == f"GEMINI_CLI is set in {name} that started it"
