"""Run the installed hook line as a CLI does, with every kind of broken baton, and check what status reports."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from broken_programs import BROKEN, path_without_baton, put_another_baton_on_the_path, spoil

from baton_git.agents.registry import AGENTS
from baton_git.agents.settings.entries import extract_program, make_hook_line, make_plugin_line
from baton_git.git.hooks.reporting import ProgramHealth

FILES = {"claude": ".claude/settings.json", "codex": ".codex/hooks.json", "gemini": ".gemini/settings.json"}


@pytest.fixture
def program(tmp_path) -> Path:
    folder = tmp_path / "my tools"
    folder.mkdir()
    return folder / "baton"


def install_line(baton: Callable, agent: str, event: int = 0) -> str:
    """Install the hooks, and return the line that was written for an event."""
    baton("agents", "install", agent)
    groups = json.loads((Path(os.environ["HOME"]) / FILES[agent]).read_text())["hooks"]
    return str(list(groups.values())[event][0]["hooks"][0]["command"])


def run(line: str, seconds: float = 0.15, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run a line as a CLI does, with a shorter timeout."""
    (limit,) = [one for one in ("2.5", "9.5", "19.5") if f" baton-hook {one} " in line]
    line = line.replace(f" baton-hook {limit} ", f" baton-hook {seconds} ")
    return subprocess.run(
        ["sh", "-c", line], input=b'{"hook_event_name": "Stop"}', capture_output=True, env=os.environ | environment,
        timeout=60,
    )  # fmt: skip


@pytest.mark.parametrize("fault", BROKEN)
@pytest.mark.parametrize("agent", [*AGENTS, "plugin", "extension"])
def test_a_broken_baton_does_not_stop_an_agent(program, tmp_path, monkeypatch, agent, fault):
    spoil(program, fault)
    monkeypatch.setenv("PATH", put_another_baton_on_the_path(tmp_path / "another"))
    monkeypatch.setenv("PATH", path_without_baton(tmp_path))
    path = f"{program.parent}:{os.environ['PATH']}"
    if agent == "plugin":
        line = make_plugin_line()(9.5)
    else:
        line = (
            make_hook_line("gemini", ["baton"])(9.5)
            if agent == "extension"
            else make_hook_line(agent, [str(program)])(9.5)
        )
    done = run(line, PATH=path if agent in ("plugin", "extension") else os.environ["PATH"])
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("agent", AGENTS)
def test_an_install_writes_that_hook_line_with_the_time_limit_of_the_event(baton, program, agent):
    line = install_line(baton, agent)
    words = extract_program(line)
    assert line == make_hook_line(agent, words)(9.5)
    assert line == install_line(baton, agent, 1)
    last = {"claude": 9.5, "codex": 2.5, "gemini": 9.5}[agent]
    assert install_line(baton, agent, -1) == make_hook_line(agent, words)(last)


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_the_line_succeeds_without_any_program_on_the_path(shell):
    for line in (make_hook_line("gemini", ["baton"]), make_hook_line("codex", ["/gone/baton"]), make_plugin_line()):
        done = subprocess.run([shutil.which(shell), "-c", line(9.5)], env={"PATH": "/nowhere"}, capture_output=True)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_hanging_baton_leaves_no_process(program):
    program.write_text(f"#!/bin/sh\necho $$ >{shlex.quote(str(program))}.pid\nsleep 611\n")
    program.chmod(0o755)
    run(make_hook_line("claude", [str(program)])(9.5))
    pid = Path(f"{program}.pid").read_text().strip()
    left = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,stat="], capture_output=True, text=True).stdout
    assert not [line for line in left.splitlines() if pid in line.split() and not line.split()[2].startswith("Z")]


def test_a_hook_line_ends_with_its_program_even_if_the_cli_ignores_sigterm(program):
    program.write_text('#!/bin/sh\necho "{}"\n')
    program.chmod(0o755)
    line = f"trap '' TERM; {make_hook_line('claude', [str(program)])(600)}"
    assert subprocess.run(["sh", "-c", line], capture_output=True, timeout=60).stdout == b"{}"


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
def test_a_closed_standard_stream_is_not_an_error(program, closed):
    program.write_text('#!/bin/sh\necho "{}"\n')
    program.chmod(0o755)
    line = f"{{ {make_hook_line('claude', [str(program)])(9.5).removesuffix(' # baton-git')}; }} {closed}"
    done = subprocess.run(["sh", "-c", line], capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("shell", ["sh", "bash"])
@pytest.mark.parametrize("size", [0, 10_000, 200_000])
def test_input_and_reply_arrive_whole_and_baton_gets_the_process_id_of_the_cli(program, shell, size):
    program.write_text('#!/bin/sh\nprintf "%s %s " "$BATON_HOOK_PARENT" "$*"\ncat\necho a warning >&2\n')
    program.chmod(0o755)
    line = make_hook_line("claude", [str(program)])(9.5)
    assert extract_program(line) == [str(program)]
    done = subprocess.run([shell, "-c", line], input=b"\\n%s$(x)" + b"x" * size, capture_output=True)
    assert done.stdout == f"{os.getpid()} hook --agent claude ".encode() + b"\\n%s$(x)" + b"x" * size
    assert done.stderr == b""


@pytest.mark.parametrize(("env", "agent"), [({}, "claude"), ({"PLUGIN_ROOT": "/x"}, "codex")])
def test_the_plugin_knows_which_cli_it_serves(program, env, agent):
    program.write_text('#!/bin/sh\necho "$BATON_HOOK_PARENT $*"\n')
    program.chmod(0o755)
    path = {"PATH": f"{program.parent}:{os.environ['PATH']}", **env}
    done = subprocess.run(["sh", "-c", make_plugin_line()(9.5)], env=path, capture_output=True, text=True)
    assert done.stdout == f"{os.getpid()} hook --agent {agent}"


# --- lines of older versions

OLDER = "! command -v {0} >/dev/null 2>&1 || exec {0} hook --agent {1} # baton-git"
OLDER_PLUGIN = (
    '! command -v baton >/dev/null 2>&1 || { [ -n "$PLUGIN_ROOT" ] && exec baton hook --agent codex; '
    "exec baton hook --agent claude; } # baton-git"
)


@pytest.mark.parametrize("agent", AGENTS)
def test_an_older_hook_line_is_reported_upgraded_and_removed_exactly(baton, agent):
    path = Path(os.environ["HOME"]) / FILES[agent]
    path.parent.mkdir()
    original = '{\n  "model": "x"\n}\n'
    path.write_text(original)
    older = OLDER.format("'/my tools/baton'", agent)
    assert extract_program(older) == ["/my tools/baton"]
    now = extract_program(install_line(baton, agent))
    written = json.loads(path.read_text())
    for groups in written["hooks"].values():
        groups[0]["hooks"][0]["command"] = older
    path.write_text(json.dumps(written, indent=2) + "\n")
    assert "outdated line: if baton breaks, it blocks the agent" in baton("agents", "status", agent, code=1).out
    assert extract_program(install_line(baton, agent)) == now
    assert older not in path.read_text()
    baton("agents", "uninstall", agent)
    assert path.read_text() == original


def test_the_program_of_an_older_plugin_is_read():
    assert extract_program(OLDER_PLUGIN) == ["baton"]
    assert extract_program("something else # baton-git") == []


@pytest.mark.parametrize(
    ("agent", "copy", "line"),
    [
        ("claude", ".claude/plugins/cache/baton-git/baton/0.0.9/hooks/hooks.json", OLDER_PLUGIN),
        ("codex", ".codex/plugins/cache/baton-git/baton/0.0.9/hooks/hooks.json", OLDER_PLUGIN),
        ("gemini", ".gemini/extensions/baton/hooks/hooks.json", OLDER.format("baton", "gemini")),
    ],
)
def test_a_copy_of_an_older_plugin_is_reported_until_there_is_a_newer_one(baton, agent, copy, line):
    path = Path(os.environ["HOME"]) / copy
    path.parent.mkdir(parents=True)
    entry = {"hooks": [{"type": "command", "command": line}]}
    path.write_text(json.dumps({"hooks": {"Stop": [entry]}}))
    done = baton("agents", "status", agent, code=1)
    assert f"{path}: outdated line: if baton breaks, it blocks the agent: {agent} " in done.out
    entry["hooks"][0]["command"] = make_plugin_line()(9.5)
    newer = path if agent == "gemini" else path.parents[2] / "0.1.0/hooks/hooks.json"
    newer.parent.mkdir(parents=True, exist_ok=True)
    newer.write_text(json.dumps({"hooks": {"Stop": [entry]}}))
    assert "outdated line" not in baton("agents", "status", agent, code=None).out
    (report,) = baton("agents", "status", agent, "--json", code=None).json
    values = [report[name] for name in ("package", "installed", "skills", "mcp_server")]
    assert values == [str(newer), True, True, True]
    baton("agents", "install", agent, "--with", "none")
    done = baton("agents", "status", agent, code=1)
    assert f"{newer} both call baton, so every hook runs twice: baton agents uninstall {agent}," in done.out
    baton("agents", "uninstall", agent)
    baton("agents", "install", agent, "--project", "--with", "none")
    done = baton("agents", "status", agent, code=1)
    assert f"every hook runs twice: baton agents uninstall {agent} --project," in done.out


def test_the_copy_of_an_uninstalled_plugin_of_claude_does_not_count(baton):
    folder = Path(os.environ["HOME"]) / ".claude/plugins/cache/baton-git/baton/0.1.0"
    (folder / "hooks").mkdir(parents=True)
    entry = {"hooks": [{"type": "command", "command": make_plugin_line()(9.5)}]}
    (folder / "hooks/hooks.json").write_text(json.dumps({"hooks": {"Stop": [entry]}}))
    baton("agents", "install", "claude", "--with", "none")
    assert "every hook runs twice" in baton("agents", "status", "claude", code=1).out
    (folder / ".orphaned_at").write_text("1795648814009")  # as claude plugin uninstall leaves it (2.1.329)
    assert baton("agents", "status", "claude", "--json").json[0]["package"] is None


# --- status


def findings(baton: Callable, *names: str) -> list[str]:
    report = baton("agents", "status", *names, "--json", code=None).json[0]
    return [finding["summary"] for file in report["files"] for finding in file["findings"]]


NAMED = {
    "the file is gone": "hooks do nothing: {} is missing: baton agents install gemini",
    "not executable": "hooks do nothing: {} is not executable: baton agents install gemini",
    "the interpreter is gone": "hooks do nothing: {} needs /nowhere/bin/python3, which is missing: baton agents",
    "env finds no interpreter": "hooks do nothing: {} needs no-such-python, which is missing: baton agents install",
    "a half-finished upgrade": "hooks do nothing: {} fails with exit status 1: ModuleNotFoundError: No module named",
    "exit 2": "hooks do nothing: {} fails with exit status 2: Traceback: baton agents install gemini",
    "hangs": "hooks do nothing: {} hangs: no answer after 0.2 seconds: baton agents install gemini",
}


@pytest.mark.parametrize("fault", NAMED)
def test_status_shows_the_fault_and_its_repair(baton, program, fault, monkeypatch):
    monkeypatch.setattr("baton_git.git.hooks.reporting.SECONDS", 0.2)
    spoil(program, fault)
    line = install_line(baton, "gemini")
    path = Path(os.environ["HOME"]) / FILES["gemini"]
    quoted = json.dumps(shlex.join(extract_program(line)))[1:-1]
    path.write_text(path.read_text().replace(f" {quoted} hook", f" {shlex.quote(str(program))} hook"))
    assert findings(baton, "gemini")[0].startswith(NAMED[fault].format(program))


def test_a_program_named_only_by_the_repository_is_not_run(baton, program, top):
    program.write_text("#!/bin/sh\ntouch ran\n")
    program.chmod(0o755)
    baton("agents", "install", "claude", "--project")
    path = top / FILES["claude"]
    path.write_text(path.read_text().replace(" baton hook", f" {shlex.quote(str(program))} hook"))
    assert findings(baton, "claude") == ["not up to date: baton agents install claude --project"]
    assert not (top / "ran").exists()


def test_overwritten_hooks_are_reported_as_missing(baton):
    install_line(baton, "claude")
    path = Path(os.environ["HOME"]) / FILES["claude"]
    path.write_text("{}\n")
    (message,) = findings(baton, "claude")
    assert message.startswith(f"baton's hooks were removed from {path}: baton agents install claude, or")
    baton("agents", "uninstall", "claude")
    assert findings(baton, "claude") == []


def test_a_baton_that_can_be_imported_is_healthy():
    assert ProgramHealth(os.environ).find_problem([sys.executable, "-m", "baton_git"], may_run=True) is None
