"""Settings files on disk: entries are added, updated and removed; links, modes and odd contents survive."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from baton_git.agents.registry import AGENTS
from baton_git.agents.settings.entries import WantedHooks, make_hook_line
from baton_git.agents.settings.settings_file import SettingsFile
from baton_git.core.errors import BatonError, InvalidArgument, InvalidDocument, LimitExceeded, StoreError, WriteFailed

FOREIGN = '{\n\t"model": "x",\n\t"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "beep"}]}]}\n}\n'


def wanted(agent: str = "claude", program: str = "baton", **more) -> WantedHooks:
    settings = AGENTS[agent].hooks
    return WantedHooks(settings.make_groups(make_hook_line(agent, [program])), more.get("env", {}), settings.comments)


@pytest.fixture
def file(tmp_path) -> SettingsFile:
    return SettingsFile(tmp_path / "home/.claude/settings.json", tmp_path / "state/agents")


def write_settings(file: SettingsFile, text: str | bytes) -> bytes:
    data = text.encode() if isinstance(text, str) else text
    file.path.parent.mkdir(parents=True, exist_ok=True)
    file.path.write_bytes(data)
    return data


@pytest.mark.parametrize("agent", AGENTS)
def test_an_install_adds_one_entry_for_each_event(file, agent):
    assert file.install(wanted(agent))
    hooks = json.loads(file.path.read_text())["hooks"]
    assert hooks == {event: [group] for event, group in wanted(agent).groups.items()}


def test_a_second_install_changes_nothing(file):
    write_settings(file, FOREIGN)
    assert file.install(wanted())
    before = file.path.read_bytes(), file.path.stat().st_mtime_ns
    assert not file.install(wanted())
    assert (file.path.read_bytes(), file.path.stat().st_mtime_ns) == before


@pytest.mark.parametrize(
    "text",
    [FOREIGN, "{}", "{}\n", "", " \n", "{\r\n  \"a\": 1\r\n}\r\n", '{"hooks":{}}', b"\xef\xbb\xbf{\n}\n",
     '{\n  "hooks": {\n  }\n}', '{"a":{"b":[1,2]},"hooks":{"Stop":[]}}'],
)  # fmt: skip
def test_uninstalling_restores_the_file_byte_for_byte(file, text):
    original = write_settings(file, text)
    file.install(wanted())
    assert file.uninstall()
    assert file.path.read_bytes() == original
    assert list(file.memory.iterdir()) == []


def test_without_the_copy_uninstall_removes_all_but_environment_variables(file):
    original = write_settings(file, FOREIGN)
    file.install(wanted(env={"X": "1"}))
    for one in file.memory.iterdir():
        one.unlink()
    file.uninstall()
    data = json.loads(file.path.read_text())
    assert data.pop("env") == {"X": "1"}  # without the copy, it may be the user's
    assert data == json.loads(original)


def test_created_files_and_folders_are_removed_again(file, tmp_path):
    file.install(wanted())
    assert file.uninstall()
    assert not (tmp_path / "home").exists()


def test_a_folder_used_by_another_program_is_kept(file):
    file.install(wanted())
    (file.path.parent / "other").touch()
    file.uninstall()
    assert not file.path.exists()
    assert (file.path.parent / "other").exists()


def test_concurrent_changes_are_kept(file):
    write_settings(file, FOREIGN)
    file.install(wanted())
    file.path.write_text(file.path.read_text().replace('"model": "x"', '"model": "y"'))
    file.uninstall()
    assert file.path.read_text() == FOREIGN.replace('"model": "x"', '"model": "y"')


def test_text_of_another_program_in_our_file_is_kept(file):
    file.install(wanted())
    data = json.loads(file.path.read_text())
    file.path.write_text(json.dumps({**data, "model": "z"}, indent=4))
    file.uninstall()
    assert json.loads(file.path.read_text()) == {"model": "z"}


def test_an_upgrade_replaces_our_own_entries_in_place(file):
    write_settings(file, FOREIGN)
    file.install(wanted(program="/old/baton"))
    text = file.path.read_text()
    assert file.install(wanted(program="/new/baton"))
    assert file.path.read_text() == text.replace("/old/baton", "/new/baton")
    file.uninstall()
    assert file.path.read_text() == FOREIGN


def test_entries_of_removed_events_are_removed(file):
    more = {**wanted().groups, "PostCompact": wanted().groups["Stop"]}
    file.install(WantedHooks(more))
    file.install(wanted())
    assert "PostCompact" not in json.loads(file.path.read_text())["hooks"]


def test_duplicate_entries_become_one(file):
    file.install(wanted())
    data = json.loads(file.path.read_text())
    data["hooks"]["Stop"] *= 3
    file.path.write_text(json.dumps(data))
    assert file.install(wanted())
    assert len(file.entries()) == len(wanted().groups)


def test_hooks_of_others_come_first_and_keep_their_places(file):
    write_settings(file, FOREIGN)
    file.install(wanted())
    stop = json.loads(file.path.read_text())["hooks"]["Stop"]
    assert [group["hooks"][0]["command"].split()[0] for group in stop] == ["beep", "exec"]


def test_a_foreign_handler_in_our_entry_is_kept(file):
    file.install(wanted(program="/old/baton"))
    data = json.loads(file.path.read_text())
    data["hooks"]["Stop"][0]["hooks"].append({"type": "command", "command": "beep"})
    file.path.write_text(json.dumps(data, indent=2))
    file.install(wanted(program="/new/baton"))
    ours, other = json.loads(file.path.read_text())["hooks"]["Stop"][0]["hooks"]
    assert "/new/baton" in ours["command"]
    file.uninstall()
    assert json.loads(file.path.read_text()) == {"hooks": {"Stop": [{"hooks": [other]}]}}


def test_a_variable_is_removed_with_the_entries_unless_it_existed_before(file):
    original = write_settings(file, '{\n  "env": {"A": "1"}\n}\n')
    file.install(wanted(env={"TODO": "1"}))
    assert json.loads(file.path.read_text())["env"] == {"A": "1", "TODO": "1"}
    file.path.write_text(file.path.read_text().replace('"A": "1"', '"A": "2"'))
    file.uninstall()
    assert file.path.read_text() == original.decode().replace('"A": "1"', '"A": "2"')
    write_settings(file, '{"env": {"TODO": "1"}}')
    file.install(wanted(env={"TODO": "1"}))
    file.path.write_text(file.path.read_text() + "\n")
    file.uninstall()
    assert json.loads(file.path.read_text()) == {"env": {"TODO": "1"}}


def test_a_variable_with_another_value_is_not_changed(file):
    original = write_settings(file, '{"env": {"TODO": "0"}}')
    with pytest.raises(InvalidArgument, match=r'env.TODO is already set to "0"'):
        file.install(wanted(env={"TODO": "1"}))
    assert file.path.read_bytes() == original


def test_comments_are_kept_where_allowed(tmp_path):
    text = '{\n  // mine\n  "theme": "dark", /* so */\n  "hooks": {} // none yet\n}\n'
    file = SettingsFile(tmp_path / "settings.json", tmp_path / "state", comments=True)
    original = write_settings(file, text)
    file.install(wanted("gemini"))
    assert all(note in file.path.read_text() for note in ("// mine", "/* so */", "// none yet"))
    for one in file.memory.iterdir():
        one.unlink()
    file.uninstall()
    assert file.path.read_bytes() == original


def test_a_symbolic_link_is_kept_and_its_target_is_changed(file, tmp_path):
    target = tmp_path / "dotfiles/settings.json"
    target.parent.mkdir()
    target.write_text(FOREIGN)
    file.path.parent.mkdir(parents=True)
    file.path.symlink_to(target)
    file.install(wanted())
    assert file.path.is_symlink()
    assert "baton" in target.read_text()
    file.uninstall()
    assert file.path.is_symlink()
    assert target.read_text() == FOREIGN


def test_the_mode_of_the_file_is_kept_and_the_folder_of_the_copy_is_private(file):
    write_settings(file, FOREIGN)
    file.path.chmod(0o600)
    file.install(wanted())
    assert file.path.stat().st_mode & 0o777 == 0o600
    assert file.memory.stat().st_mode & 0o777 == 0o700


def test_a_damaged_copy_is_ignored(file):
    original = write_settings(file, FOREIGN)
    file.install(wanted())
    (memo,) = file.memory.iterdir()
    for damage in (b"", b"{}", b'{"wrote": 1, "original": "%%", "folders": [], "env": {}}', b"\xff"):
        memo.write_bytes(damage)
        file.uninstall()
        assert file.path.read_bytes() == original
        file.install(wanted())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "line 1: lacks a name in double quotes"),
        ('{\n "a": 1,\n}', "line 3: lacks a name in double quotes"),
        ("[]", "is not a JSON object"),
        ("null", "is not a JSON object"),
        ('{"hooks": []}', "hooks: is not an object"),
        ('{"hooks": {"Stop": {}}}', "hooks.Stop: is not a list"),
        ('{"hooks": {"Stop": "x"}}', "hooks.Stop: is not a list"),
        ("{} // no", "line 1: has text after"),
        ('{"a": NaN}', "line 1: is not JSON"),
        ("{'a': 1}", "line 1: lacks a name"),
        (b"\xff\xfe", "not UTF-8"),
        ('{"a":' * 5000, "nested more than"),
    ],
)
def test_an_invalid_file_is_reported_on_one_line_and_not_changed(file, text, message):
    original = write_settings(file, text)
    for action in (lambda: file.install(wanted()), file.uninstall, file.entries):
        with pytest.raises(InvalidDocument, match=message) as found:
            action()
        assert "\n" not in str(found.value)
        assert str(file.path) in str(found.value)
    assert file.path.read_bytes() == original
    assert not file.memory.exists()


def test_a_folder_in_place_of_the_file_is_reported(file):
    file.path.mkdir(parents=True)
    with pytest.raises(InvalidArgument, match="is a folder"):
        file.install(wanted())


def test_a_file_that_is_far_too_large_is_refused(file):
    write_settings(file, "{}")
    os.truncate(file.path, 1 << 30)
    with pytest.raises(LimitExceeded):
        file.install(wanted())


def test_a_file_in_place_of_its_folder_is_reported(file):
    file.path.parent.parent.mkdir(parents=True)
    file.path.parent.touch()
    with pytest.raises((StoreError, WriteFailed)):
        file.install(wanted())
    assert file.path.parent.read_bytes() == b""


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_an_unwritable_folder_is_reported(file):
    original = write_settings(file, FOREIGN)
    file.path.parent.chmod(0o500)
    with pytest.raises(WriteFailed, match="cannot write"):
        file.install(wanted())
    assert file.path.read_bytes() == original


def test_a_failed_copy_leaves_no_files(file):
    original = write_settings(file, FOREIGN)
    file.memory.parent.mkdir()
    file.memory.touch()
    with pytest.raises(BatonError):
        file.install(wanted())
    assert file.path.read_bytes() == original
    assert sorted(one.name for one in Path(file.path.parent).iterdir()) == ["settings.json"]
