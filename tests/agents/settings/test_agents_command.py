"""`baton agents`: which settings it edits, which command it writes, and what it reports."""

from __future__ import annotations

import errno
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from baton_git.agents.codex.hooks import Codex
from baton_git.agents.registry import AGENTS
from baton_git.agents.settings.entries import extract_program
from baton_git.core.errors import StoreError, WriteFailed
from baton_git.interfaces.cli.error_handler import report_error

FILES = {"claude": ".claude/settings.json", "codex": ".codex/hooks.json", "gemini": ".gemini/settings.json"}
HERE = Path(__file__).parent


@pytest.fixture
def home(monkeypatch, tmp_path) -> Path:
    """A home directory, with only `baton` and the programs that a shell needs on the PATH."""
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME"):
        monkeypatch.delenv(name, raising=False)
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("sh", "git", "env"):
        (programs / name).symlink_to(shutil.which(name))
    monkeypatch.setenv("PATH", str(programs))
    return Path(os.environ["HOME"])


@pytest.fixture
def programs(home, tmp_path) -> Path:
    return tmp_path / "bin"


def write_program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def codex(programs, home, monkeypatch) -> Path:
    """Put the stand-in for codex on the PATH; return its folder."""
    run = f"#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(str(HERE / 'standin_codex.py'))}\n"
    write_program(programs / "codex", run)
    (home / ".codex").mkdir()
    monkeypatch.setenv("CODEX_HOME", str(home / ".codex"))
    return home / ".codex"


@pytest.mark.parametrize("agent", AGENTS)
def test_the_settings_of_the_user_name_baton_by_its_absolute_path(baton, home, agent):
    done = baton("agents", "install", agent)
    assert f"{agent}: installed in {home / FILES[agent]}" in done.err
    assert "except in repositories where baton init" in done.err
    assert done.out == ""
    text = (home / FILES[agent]).read_text()
    for groups in json.loads(text)["hooks"].values():
        command = groups[0]["hooks"][0]["command"]
        assert command.endswith(f"hook --agent {agent} # baton-git")
        assert Path(extract_program(command)[0]).is_absolute()


@pytest.mark.parametrize("agent", AGENTS)
def test_an_installation_says_if_the_agent_cli_is_not_on_the_path(baton, home, programs, agent):
    absent = f"{agent}: {AGENTS[agent].hooks.program} is not on the PATH"
    assert absent in baton("agents", "install", agent).err
    baton("agents", "uninstall", agent)
    write_program(programs / AGENTS[agent].hooks.program, "#!/bin/sh\n")
    assert absent not in baton("agents", "install", agent).err


@pytest.mark.parametrize("agent", AGENTS)
def test_the_settings_of_a_project_name_baton_without_a_path(baton, home, top, agent):
    baton("agents", "install", agent, "--project", cwd=top)
    assert not (home / FILES[agent]).exists()
    text = (top / FILES[agent]).read_text()
    command = json.loads(text)["hooks"]["SessionStart"][0]["hooks"][0]["command"]
    assert command.endswith(f" baton-hook 9.5 baton hook --agent {agent} # baton-git")
    baton("agents", "uninstall", agent, "--project")
    assert not (top / FILES[agent]).parent.exists()


def test_variables_of_the_clis_say_where_their_folders_are(baton, home, tmp_path):
    env = {"CLAUDE_CONFIG_DIR": f"{tmp_path}/a", "CODEX_HOME": f"{tmp_path}/b", "GEMINI_CLI_HOME": f"{tmp_path}/c"}
    baton("agents", "install", "all", env=env)
    for place in ("a/settings.json", "b/hooks.json", "c/.gemini/settings.json"):
        assert "baton-git" in (tmp_path / place).read_text()
    baton("agents", "uninstall", "all", env=env)
    assert not any((tmp_path / place).exists() for place in "abc")


def test_one_failed_installation_does_not_stop_the_others(baton, home):
    (home / ".codex").mkdir()
    (home / ".codex/hooks.json").write_text("{")
    done = baton("agents", "install", "all", code=1)
    assert [line for line in done.err.splitlines() if line.startswith("baton: codex: ")]
    assert (home / FILES["claude"]).exists()
    assert (home / FILES["gemini"]).exists()
    assert (home / ".codex/hooks.json").read_text() == "{"


def test_outside_a_repository_an_install_creates_only_the_settings(baton, home, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    baton("agents", "install", "claude", cwd=outside)
    baton("agents", "status", cwd=outside)
    assert not (home / "data").exists()
    assert "there is no work tree here" in baton("agents", "install", "claude", "--project", cwd=outside, code=2).err


def test_a_second_install_reports_that_nothing_changed(baton, home):
    baton("agents", "install", "gemini")
    done = baton("agents", "install", "gemini", "--json")
    assert "already installed in" in done.err
    assert done.json["agents"]["gemini"]["changed"] is False


def test_hooks_installed_in_two_places_are_reported(baton, home, top):
    baton("agents", "install", "claude")
    assert "each hook runs twice" in baton("agents", "install", "claude", "--project").err


def test_the_to_do_tools_of_claude_code_are_enabled_and_disabled(baton, home):
    baton("agents", "install", "claude", "--todo-tools")
    assert json.loads((home / FILES["claude"]).read_text())["env"] == {"CLAUDE_CODE_ENABLE_TODO_TOOLS": "1"}
    assert "already installed in" in baton("agents", "install", "claude").err
    baton("agents", "uninstall", "claude")
    assert not (home / ".claude").exists()


# --- status


def report_of(done, agent):
    return next(report for report in done.json if report["agent"] == agent)


def messages_in(report):
    return [finding["summary"] for part in (report, *report["files"]) for finding in part["findings"]]


def test_a_missing_install_is_a_failure_only_for_an_agent_that_was_named(baton, home):
    assert baton("agents", "status").out.count("not installed") == 3
    baton("agents", "status", "gemini", code=1)


def test_status_is_ok_if_the_hooks_are_installed_and_current(baton, home, programs):
    baton("agents", "install", "claude")
    baton("agents", "install", "gemini")
    write_program(programs / "claude", "#!/bin/sh\n")
    report = report_of(baton("agents", "status", "--json"), "claude")
    assert report["verdict"] == "ok"
    assert report["program"] == str(programs / "claude")
    assert [one["state"] for one in report["files"]] == ["current", "absent"]


def test_an_entry_of_an_older_baton_is_not_up_to_date(baton, home):
    baton("agents", "install", "claude")
    path = home / FILES["claude"]
    path.write_text(path.read_text().replace('"timeout": 20', '"timeout": 7'))
    report = report_of(baton("agents", "status", "--json", code=1), "claude")
    assert report["files"][0]["state"] == "outdated"
    assert messages_in(report) == ["not up to date: baton agents install claude"]


def test_a_missing_baton_is_reported(baton, home, top):
    baton("agents", "install", "claude", "--project")
    report = report_of(baton("agents", "status", "--json", code=1), "claude")
    assert messages_in(report) == ["hooks do nothing: baton is missing: install baton again"]


@pytest.mark.parametrize(
    ("agent", "setting", "why"),
    [
        ("claude", {"disableAllHooks": True}, "disableAllHooks"),
        ("gemini", {"hooksConfig": {"enabled": False}}, "hooksConfig.enabled"),
        ("gemini", {"hooksConfig": {"disabled": ["baton"]}}, "hooksConfig.disabled"),
    ],
)
def test_a_setting_that_disables_hooks_is_reported(baton, home, agent, setting, why):
    path = home / FILES[agent]
    path.parent.mkdir()
    path.write_text(json.dumps(setting))
    baton("agents", "install", agent)
    (line,) = messages_in(report_of(baton("agents", "status", agent, "--json", code=1), agent))
    assert why in line


def test_the_status_is_unknown_if_a_settings_file_cannot_be_read(baton, home):
    (home / ".claude").mkdir()
    (home / FILES["claude"]).write_text("{")
    report = report_of(baton("agents", "status", "--json", code=5), "claude")
    assert report["verdict"] == "unknown"


def test_a_transcript_in_an_unknown_format_is_reported(baton, home, top):
    folder = top / ".git/baton/agents"
    folder.mkdir(parents=True)
    path = folder / "t.jsonl"
    path.write_text('{"type": "user", "said": "x"}\n' * 3)
    seen = {"cli": "claude", "session": "a", "seen": "2026-11-20T10:00:00+00:00", "transcript": str(path)}
    (folder / "a.json").write_text(json.dumps(seen))
    (line,) = messages_in(report_of(baton("agents", "status", "--json", code=1), "claude"))
    assert line.startswith(f"{path}: records seen 3, understood 0")


def test_the_time_of_the_last_hook_comes_from_the_stored_sessions(baton, home, top):
    folder = top / ".git/baton/agents"
    folder.mkdir(parents=True)
    for name, text in {
        "a.json": '{"cli": "claude", "session": "a", "seen": "2026-11-20T10:00:00+00:00"}',
        "c.json": '{"cli": "codex", "session": "c", "seen": "x"}',
        "b.json": '{"cli": "claude", "session": "b", "seen": "2026-11-21T10:00:00+00:00"}', "d.json": "{", "e": "\0",
    }.items():  # fmt: skip
        (folder / name).write_text(text)
    assert report_of(baton("agents", "status", "--json"), "claude")["last_ran"] == "2026-11-21T10:00:00+00:00"
    assert report_of(baton("agents", "status", "--json"), "gemini")["last_ran"] is None


# --- hooks that Codex trusts


def test_codex_skips_untrusted_hooks_and_status_reports_it(baton, codex):
    baton("agents", "install", "codex")
    (line,) = messages_in(report_of(baton("agents", "status", "codex", "--json", code=1), "codex"))
    assert line.startswith("codex skips 5 of 5 hooks because they are not trusted: /hooks in codex")
    done = baton("agents", "install", "codex", "--trust")
    assert "5 hooks are trusted" in done.err
    baton("agents", "status", "codex")
    assert (codex / "config.toml").read_text().count("trusted_hash") == 5
    baton("agents", "uninstall", "codex")
    assert (codex / "config.toml").read_text() == ""


def test_without_codex_an_install_with_trust_fails_and_writes_nothing(baton, home):
    done = baton("agents", "install", "codex", "--trust", code=1)
    assert "there is no program 'codex'" in done.err
    assert not (home / FILES["codex"]).exists()


def test_a_project_that_codex_does_not_load_is_reported(baton, codex, top):
    baton("agents", "install", "codex", "--project")
    write_program(Path(shutil.which("codex")), "#!/bin/sh\nwhile read -r l; do n=$((n+1)); [ $n = 2 ] || "
              'echo "{\\"id\\": $((n>1?2:1)), \\"result\\": {\\"data\\": []}}"; done\n')  # fmt: skip
    lines = messages_in(report_of(baton("agents", "status", "codex", "--json", code=1), "codex"))
    assert any("codex does not load" in line for line in lines)


@pytest.mark.parametrize("text", ["exit 1", "echo nonsense", "exec 1>&-; exec cat", 'echo \'{"id": 1, "error": "x"}\''])
def test_the_trust_of_hooks_is_unknown_if_codex_does_not_answer(baton, codex, text):
    baton("agents", "install", "codex")
    baton("agents", "install", "codex", "--project")
    write_program(Path(shutil.which("codex")), f"#!/bin/sh\n{text}\n")
    report = report_of(baton("agents", "status", "codex", "--json", code=None), "codex")
    assert any(
        line.startswith("cannot tell whether codex trusts the hooks: codex app-server") for line in messages_in(report)
    )


def test_a_codex_that_gives_no_answer_is_an_error_after_the_time_limit(programs, tmp_path):
    write_program(programs / "codex", "#!/bin/sh\nsleep 600 & wait\n")
    with pytest.raises(StoreError, match="gave no answer"):
        Codex(str(programs / "codex"), tmp_path, dict(os.environ), seconds=0.3).hooks()


def test_without_codex_its_configuration_can_only_show_that_hooks_are_not_trusted(baton, home):
    baton("agents", "install", "codex")
    (line,) = messages_in(report_of(baton("agents", "status", "codex", "--json", code=1), "codex"))
    assert "not trusted" in line
    key = json.dumps(f"{home / FILES['codex']}:stop:0:0")
    (home / ".codex/config.toml").write_text(f'[hooks.state.{key}]\ntrusted_hash = "sha256:x"\n')
    assert "not on the PATH" in messages_in(report_of(baton("agents", "status", "codex", "--json", code=5), "codex"))[0]


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("kind", ["file", "folder", "into .git"])
def test_project_settings_follow_no_link_out_of_the_repository(baton, home, top, tmp_path, agent, kind):
    path = top / FILES[agent]
    outside = tmp_path / "outside" / path.name
    outside.parent.mkdir()
    outside.write_text("{}")
    if kind == "folder":
        path.parent.symlink_to(outside.parent)
    else:
        path.parent.mkdir()
        path.symlink_to(outside if kind == "file" else "../.git/config")
    config = (top / ".git/config").read_bytes()
    for verb in ("install", "uninstall"):
        done = baton("agents", verb, agent, "--project", code=2)
        assert "leads out of the repository" in done.err
    assert (outside.read_text(), (top / ".git/config").read_bytes()) == ("{}", config)


def test_project_settings_may_be_a_link_within_the_repository(baton, home, top):
    (top / "shared").mkdir()
    (top / ".claude").symlink_to("shared")
    baton("agents", "install", "claude", "--project")
    assert "baton" in (top / "shared" / "settings.json").read_text()


MIGRATED = {"UserPromptSubmit": "BeforeAgent", "Stop": "AfterAgent", "PreCompact": "PreCompress"}
"""The events that `gemini hooks migrate --from-claude` renames; SessionStart and SessionEnd keep their names."""


@pytest.mark.parametrize("had_ours", [True, False], ids=["over ours", "alone"])
def test_hooks_that_gemini_migrated_from_claude_code_are_outdated_until_doctor_repairs_them(
    baton, home, programs, top, had_ours
):
    """Gemini CLI 0.61.0 (packages/cli/src/commands/hooks/migrate.ts) copies the hooks of `.claude/settings.json`: the
    command still says `--agent claude`, the timeout of 10 seconds becomes one of 10 milliseconds, the matcher
    `startup|resume` is compared as a whole, and what the settings of Gemini had for an event is replaced.
    """
    for name in ("claude", "gemini", "baton"):
        write_program(programs / name, "#!/bin/sh\n")
    baton("init")
    baton("agents", "install", "claude", "--project")
    if had_ours:
        baton("agents", "install", "gemini", "--project")
    hooks = json.loads((top / ".claude/settings.json").read_text())["hooks"]
    migrated = {MIGRATED.get(event, event): groups for event, groups in hooks.items()} | {"BeforeTool": []}
    settings = top / ".gemini/settings.json"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(json.dumps({"hooks": migrated}, indent=2))
    assert "outdated" in baton("agents", "status", code=1).out
    assert "gemini: not up to date" in baton("doctor", "agents", code=1).out
    baton("doctor", "--fix", "--yes", "agents")
    assert "outdated" not in baton("agents", "status").out
    repaired = json.loads(settings.read_text())["hooks"]
    assert repaired.pop("BeforeTool") == []
    handlers = [handler for groups in repaired.values() for group in groups for handler in group["hooks"]]
    assert len(handlers) == len(repaired) == 5
    assert all("--agent gemini" in one["command"] and one["timeout"] >= 8_000 for one in handlers)
    assert not any("matcher" in group for groups in repaired.values() for group in groups)


# --- what the CLI will do where it stands


@pytest.mark.parametrize("agent", ["claude", "gemini"])
def test_settings_of_a_project_do_not_count_in_its_subfolders(baton, home, top, programs, agent):
    write_program(programs / "baton", "#!/bin/sh\n")
    (top / "src").mkdir()
    assert f"count only if it starts in {top}" in baton("agents", "install", agent, "--project").err
    here, below = (baton("agents", "status", agent, "--json", cwd=cwd, code=None) for cwd in (top, top / "src"))
    assert not any("only if it starts" in line for line in messages_in(report_of(here, agent)))
    assert any("only if it starts" in line for line in messages_in(report_of(below, agent)))
    baton("agents", "install", agent)  # the user's own settings count everywhere
    below = baton("agents", "status", agent, "--json", cwd=top / "src", code=None)
    assert not any("only if it starts" in line for line in messages_in(report_of(below, agent)))


def test_a_switch_in_the_main_work_tree_counts_in_linked_ones(baton, home, git, top, tmp_path):
    git(top, "commit", "-q", "--allow-empty", "-m", "start")
    git(top, "worktree", "add", "-q", str(tmp_path / "linked"))
    (top / ".claude").mkdir()
    (top / ".claude" / "settings.local.json").write_text('{"disableAllHooks": true}')
    baton("agents", "install", "claude")
    done = baton("agents", "status", "claude", "--json", cwd=tmp_path / "linked", code=1)
    assert any("disableAllHooks" in line for line in messages_in(report_of(done, "claude")))


@pytest.mark.parametrize("agent", ["claude", "gemini"])
def test_an_install_in_a_subfolder_says_where_the_settings_of_a_project_count(baton, top, agent):
    below = top / "below"
    below.mkdir()
    for where, again in ((top, False), (below, True), (top, True)):
        said = baton("agents", "install", agent, "--project", cwd=where).err
        assert ("already installed" in said) is again
        counts = f"count only if it starts in {top}; elsewhere: baton agents install {agent}"
        assert (counts in said) is not (again and where == top)


@pytest.mark.parametrize("variable", ["container", "KUBERNETES_SERVICE_HOST", "CLAUDE_CODE_REMOTE"])
def test_an_install_in_a_container_offers_to_send_at_the_end_of_each_session(baton, git, top, tmp_path, variable):
    inside = {variable: "x"}
    offer = "send at each session's end: git config"
    assert offer not in baton("agents", "install", "claude", env=inside).err  # there is nowhere to send to
    git(top, "remote", "add", "origin", str(tmp_path / "far.git"))
    assert f"{offer} baton.pushAtEnd true" in baton("agents", "install", "claude", env=inside).err
    outside = tmp_path / "plain"
    outside.mkdir()
    assert f"{offer} --global baton.pushAtEnd true" in baton("agents", "install", "claude", cwd=outside, env=inside).err
    git(top, "config", "baton.pushAtEnd", "true")
    assert offer not in baton("agents", "install", "claude", env=inside).err


def test_codex_uses_the_hooks_of_the_main_work_tree_if_the_linked_one_has_its_folder(baton, codex, git, top, tmp_path):
    git(top, "commit", "-q", "--allow-empty", "-m", "start")
    linked = tmp_path / "linked"
    git(top, "worktree", "add", "-q", str(linked))
    baton("agents", "install", "codex", "--project", cwd=linked)
    assert (top / FILES["codex"]).exists()
    assert not (linked / FILES["codex"]).exists()
    lines = messages_in(report_of(baton("agents", "status", "codex", "--json", cwd=linked, code=1), "codex"))
    assert any(f"mkdir {linked / '.codex'}" in line for line in lines)
    assert not any("trust the folder" in line for line in lines)
    (linked / ".codex").mkdir()
    lines = messages_in(report_of(baton("agents", "status", "codex", "--json", cwd=linked, code=None), "codex"))
    assert not any("mkdir" in line for line in lines)


@pytest.mark.parametrize(("variables", "number", "is_told"), [
    ({"CODEX_SANDBOX": "seatbelt"}, errno.EROFS, True),
    ({"CODEX_SANDBOX_NETWORK_DISABLED": "1"}, errno.EACCES, True),
    ({"CODEX_THREAD_ID": "0199"}, errno.EROFS, True),
    ({"CODEX_SANDBOX": "seatbelt"}, errno.ENOSPC, False),
    ({}, errno.EROFS, False),
])  # fmt: skip
def test_in_the_sandbox_of_codex_an_error_names_what_works_there(monkeypatch, capsys, variables, number, is_told):
    for name, text in variables.items():
        monkeypatch.setenv(name, text)
    assert report_error(WriteFailed("cannot write it", hint="mount it", errno=number)) == 1
    said = capsys.readouterr().err
    assert ("MCP tools" in said, "mount it" in said) == (is_told, not is_told)


READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" || exit 77; exec "$@"'


@pytest.mark.slow
@pytest.mark.parametrize(("word", "code"), [("boot", 0), ("wrap", 1)])
def test_on_a_read_only_git_folder_in_codex_every_command_names_what_works(baton, git, top, word, code):
    git(top, "commit", "-q", "--allow-empty", "-m", "start")
    baton("init")
    words = [sys.executable, "-m", "baton_git", word, *(("--context", "x") if word == "wrap" else ())]
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", READ_ONLY, str(top / ".git"), *words],
        cwd=top, env={**os.environ, "CODEX_THREAD_ID": "0199"}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("no mounts in a namespace of this user")
    assert done.returncode == code
    assert "Read-only file system" in done.stdout + done.stderr
    assert "baton agents install codex --with mcp" in done.stdout + done.stderr
