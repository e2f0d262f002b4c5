"""`baton doctor` on records that cannot be read, on claims, on wrong clocks, permissions, the index, and versions."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from world import NOW

import baton_git
from baton_git.core.errors import NotFound
from baton_git.recall.index import FILE
from baton_git.verbs.doctor.examination import Repair
from baton_git.verbs.doctor.journal import RepairJournal

BRANCH = "refs/heads/baton/work"


def commit_by_hand(git: Any, top: Path, path: str, text: str, trailers: str = "", **dates: str) -> None:
    """Commit a file to the branch of the namespace as another program would."""
    git(top, "read-tree", "--index-output=.git/other-index", BRANCH)
    environment = {**os.environ, "GIT_INDEX_FILE": str(top / ".git/other-index"), **dates}

    def run(*words: str, given: str | None = None) -> str:
        done = subprocess.run(
            ["git", "-C", str(top), *words], env=environment, capture_output=True, text=True, input=given, check=True
        )
        return done.stdout.strip()

    blob = run("hash-object", "-w", "--stdin", given=text)
    run("update-index", "--add", "--cacheinfo", f"100644,{blob},{path}")
    commit = run("commit-tree", run("write-tree"), "-p", BRANCH, "-m", f"edit {path}", "-m", trailers)
    git(top, "update-ref", BRANCH, commit)


def show(git: Any, top: Path, path: str) -> str:
    return str(git(top, "show", f"{BRANCH}:{path}"))


def list_records(git: Any, top: Path, folder: str = "") -> list[str]:
    return [path for path in git(top, "ls-tree", "-r", "--name-only", BRANCH).split() if path.startswith(folder)]


def test_a_repair_of_records_is_one_revision(made: Path, baton: Any, git: Any, findings: Any) -> None:
    top = made.parent
    baton("loop", "add", "Deployed", "--expect", "it answers")
    baton("boot", env={"BATON_SESSION": "2026-06-17-001"})
    records = [path for folder in ("follow_ups", "open_loops", "sessions") for path in list_records(git, top, folder)]
    assert len(records) == 3
    good = git(top, "rev-parse", f"{BRANCH}^{{tree}}")
    for record in records:
        commit_by_hand(git, top, record, "item = \n")
    commit_by_hand(git, top, "open_loops/stray.txt", "what is this\n")
    *broken, stray = sorted(findings("records", code=1), key=lambda finding: "stray" in finding["summary"])
    assert [finding["summary"].partition(":")[0] for finding in broken] == records
    assert {finding["repair"] for finding in broken} == {"Restore the last readable versions of 3 files"}
    assert (stray["severity"], stray["repair"]) == ("error", None)
    before = git(top, "rev-parse", BRANCH)

    assert "to take it back: baton undo" in baton("doctor", "records", "--fix", "--yes", code=1).err
    fixed = git(top, "rev-parse", BRANCH)
    assert git(top, "rev-parse", f"{BRANCH}^") == before
    assert git(top, "diff", "--name-only", good, fixed) == "open_loops/stray.txt"
    message = git(top, "show", "-s", "--format=%B", BRANCH)
    assert "Baton-Op: doctor" in message
    assert "Baton-Restores: " in message
    assert baton("log", "--limit", "1", "--json").json["commits"][0]["commit"] == fixed

    baton("doctor", "records", "--fix", "--yes", code=1)
    assert git(top, "rev-parse", BRANCH) == fixed
    assert not (made / "baton/doctor").exists()
    assert git(top, "for-each-ref", "refs/baton-backup/") == ""
    assert "baton undo" in baton("doctor", "--undo", "--yes", code=1).err


@pytest.mark.parametrize("folder", ["follow_ups", "sessions"])
@pytest.mark.parametrize("by", ["command", "library"])
def test_baton_undo_takes_a_repair_back_and_redo_repeats_it(
    made: Path, baton: Any, git: Any, folder: str, by: str
) -> None:
    top = made.parent
    session = {"env": {"BATON_SESSION": "2026-06-17-001"}}
    baton("boot", **session)
    (record,) = list_records(git, top, folder)
    good = show(git, top, record)
    commit_by_hand(git, top, record, "item = \n")
    broken = git(top, "rev-parse", f"{BRANCH}^{{tree}}")
    baton("doctor", "records", "--fix", "--yes", **session)
    assert show(git, top, record) == good
    if by == "library":
        with baton_git.open(top, session="2026-06-17-001") as namespace:
            namespace.undo()
    else:
        baton("undo", **session)
    assert git(top, "rev-parse", f"{BRANCH}^{{tree}}") == broken
    baton("redo", **session)
    assert show(git, top, record) == good

    number = baton("log", "--ops", "--limit", "1", "--json").json["commits"][0]["revision"]
    baton("followup", "add", "Written after the repair", **session)
    baton("undo", str(number), **session)
    assert show(git, top, record) == "item ="


def test_a_file_that_was_changed_before_the_answer_is_not_restored(
    made: Path, baton: Any, git: Any, monkeypatch: Any
) -> None:
    top = made.parent
    (record,) = list_records(git, top, "follow_ups")
    commit_by_hand(git, top, record, "item = \n")

    def correct(_: str) -> bool:
        commit_by_hand(git, top, record, 'id = "other" [\n')
        return True

    monkeypatch.setattr("baton_git.interfaces.cli.machine.doctor.agrees", correct)
    monkeypatch.setattr("baton_git.interfaces.cli.machine.doctor.require_terminal", lambda: None)
    assert "was changed meanwhile; nothing was restored" in baton("doctor", "records", "--fix", code=1).err
    assert show(git, top, record) == 'id = "other" ['


def test_only_the_files_of_a_person_are_copied_and_restored(made: Path, baton: Any, git: Any) -> None:
    """Both kinds of repair in one run: each is taken back in its own way."""
    top, hook = made.parent, made / "hooks/post-commit"
    baton("hooks", "install")
    (record,) = list_records(git, top, "follow_ups")
    good = show(git, top, record)
    hook.write_text("#!/bin/sh\necho mine\n")
    commit_by_hand(git, top, record, "item = \n")
    done = baton("doctor", "records", "hooks", "--fix", "--yes").err
    assert "to take it back: baton undo\n" in done
    assert "to take it back: baton doctor --undo\n" in done
    tip, (entry,) = git(top, "rev-parse", BRANCH), (made / "baton/doctor").iterdir()

    assert "no problem has an automatic repair" in baton("doctor", "records", "hooks", "--fix", "--yes").err
    assert git(top, "rev-parse", BRANCH) == tip
    assert [path.name for path in (made / "baton/doctor").iterdir()] == [entry.name]

    baton("doctor", "--undo", "--yes")
    assert hook.read_text() == "#!/bin/sh\necho mine\n"
    assert git(top, "rev-parse", BRANCH) == tip
    assert show(git, top, record) == good
    baton("undo")
    assert show(git, top, record) == "item ="


def test_a_repair_that_was_killed_can_be_taken_back(tmp_path: Path) -> None:
    file, new = tmp_path / "settings.json", tmp_path / "new"
    file.write_text("mine")
    journal = RepairJournal(tmp_path / "doctor")

    def run() -> None:
        file.write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        journal.carry_out("agents", Repair("Install", run, lambda: [file, new]), NOW)
    assert journal.newest().about == "Install"
    journal.undo(journal.newest())
    assert file.read_text() == "mine"
    with pytest.raises(NotFound):
        journal.newest()


def test_entries_that_an_older_baton_made_for_records_are_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "hook"
    file.write_text("mine")
    journal = RepairJournal(tmp_path / "doctor")
    journal.carry_out("hooks", Repair("Install", lambda: file.unlink(), lambda: [file]), NOW)
    older = tmp_path / "doctor/29991231T000000Z-abcdef"
    older.mkdir()
    (older / "entry.json").write_text(
        '{"id": "x", "check": "records", "about": "Restore", "at": "2999", "files": [], "namespace": "work", '
        '"records": {"a.toml": [null, ""]}, "backup": "refs/x", "only_adds": false, "undone": false}'
    )
    journal.undo(journal.newest())
    assert file.read_text() == "mine"


def test_files_that_are_not_named_are_counted(made: Path, git: Any, findings: Any) -> None:
    for number in range(6):
        commit_by_hand(git, made.parent, f"open_loops/stray-{number}.txt", "not a record\n")
    assert findings("records", code=1)[-1]["summary"] == "1 more file cannot be read"
    commit_by_hand(git, made.parent, "open_loops/stray-6.txt", "not a record\n")
    assert findings("records", code=1)[-1]["summary"] == "2 more files cannot be read"


def test_the_commands_for_a_record_file_with_another_mode_correct_it(
    made: Path, baton: Any, git: Any, findings: Any
) -> None:
    top = made.parent
    git(top, "worktree", "add", "-q", "../tree", BRANCH.removeprefix("refs/heads/"))
    tree = top.with_name("tree")
    (path,) = [path for path in git(top, "ls-tree", "-r", "--name-only", BRANCH).split() if "follow_ups" in path]
    (tree / path).chmod(0o755)
    git(tree, "commit", "-qam", "chmod")
    git(top, "worktree", "remove", "../tree")
    odd, fine = findings("records")
    assert (odd["severity"], odd["repair"], fine["severity"]) == ("warning", None, "ok")
    assert odd["summary"] == f"1 record file with another mode than 100644: {path}"
    done = baton("validate", code=1)
    assert f"{path}: mode: is 100755, but record files have mode 100644" in f"{done.out}{done.err}"
    subprocess.run(odd["advice"], shell=True, cwd=top, check=True, capture_output=True)
    assert [finding["severity"] for finding in findings("records")] == ["ok"]
    baton("validate")
    assert not top.with_name("modes").exists()


def test_unconfirmed_claims_are_a_warning(made: Path, git: Any, findings: Any) -> None:
    rule = (Path(__file__).parents[3] / "formats/rule/valid/PAT-001.md").read_text()
    commit_by_hand(git, made.parent, "rules/PAT-001.md", rule)
    found = findings("provenance")
    assert found
    assert {finding["severity"] for finding in found} == {"warning"}
    assert "PAT-001" in found[0]["summary"]


def test_wrong_clocks_are_reported_by_machine(made: Path, git: Any, findings: Any) -> None:
    top = made.parent
    assert findings("clock")[0]["severity"] == "ok"
    commit_by_hand(git, top, "readme", "1\n", GIT_AUTHOR_DATE="2099-01-01T00:00:00Z")
    commit_by_hand(git, top, "readme", "2\n")
    commit_by_hand(git, top, "readme", "3\n", GIT_AUTHOR_DATE="2020-01-01T00:00:00Z")
    future, past = findings("clock")
    assert "from the future: 1 commit of an unnamed machine, the newest from 2099-01-01" in future["summary"]
    assert "older than their parents: 1 commit of an unnamed machine" in past["summary"]
    assert {future["severity"], past["severity"]} == {"warning"}


def test_private_files_that_others_can_read_are_repaired(made: Path, baton: Any, findings: Any) -> None:
    ledger = next((made / "baton/provenance/ledger").iterdir())
    ledger.chmod(0o644)
    (finding,) = findings("permissions", code=1)
    assert str(ledger) in finding["summary"]
    baton("doctor", "permissions", "--fix", "--yes")
    assert ledger.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_files_left_by_sudo_are_reported(made: Path, findings: Any) -> None:
    os.chown(made / "objects/pack", 12345, 12345)
    (finding,) = findings("permissions", code=1)
    assert "another user" in finding["summary"]
    assert "sudo chown -R" in finding["advice"]


def test_a_damaged_index_is_removed_and_the_next_recall_rebuilds_it(made: Path, baton: Any, findings: Any) -> None:
    baton("followup", "add", "Deploy the exporter")
    baton("recall", "exporter")
    index = made / "baton/recall" / FILE
    assert findings("index")[0]["severity"] == "ok"
    index.write_bytes(b"SQLite format 3\0" + b"x" * 5000)
    assert findings("index")[0]["repair"]
    baton("doctor", "index", "--fix", "--yes")
    assert not index.exists()
    assert "exporter" in baton("recall", "exporter").out


def test_data_of_a_newer_baton_is_reported(made: Path, git: Any, findings: Any) -> None:
    top = made.parent
    commit_by_hand(git, top, "dreams/D-1.toml", 'id = "D-1"\n')
    assert "folders of unknown kinds: dreams" in findings("versions")[0]["summary"]
    commit_by_hand(git, top, "format.toml", "version = 9\n")
    assert "has layout 9" in findings("versions", code=1)[0]["summary"]


def test_machines_with_another_version_are_reported(made: Path, baton: Any, git: Any, findings: Any) -> None:
    baton("boot")
    assert "Baton-Version: " in git(made.parent, "log", "-1", "--format=%b", BRANCH)
    assert findings("versions")[0]["severity"] == "ok"
    for machine, version in (("desk", "99.1.0"), ("old", "0.0.9"), ("desk", "99.2.0")):
        trailers = f"Baton-Machine: {machine}\nBaton-Version: {version}"
        commit_by_hand(git, made.parent, "readme", version, trailers)
    desk, old, _ = findings("versions")
    assert "desk writes with baton 99.2.0" in desk["summary"]
    assert desk["advice"] == "update baton on this machine"
    assert old["advice"] == "update baton on old"


def test_another_baton_on_the_path_is_reported(made: Path, tmp_path: Path, findings: Any) -> None:
    program = tmp_path / "bin/baton"
    program.parent.mkdir()
    for text, said in (("echo 'baton, version 0.0.1'", "is baton 0.0.1, and"), ("exit 3", "does not work")):
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
        found = findings("versions", env={"PATH": f"{program.parent}:{os.environ['PATH']}"})
        assert [said in finding["summary"] for finding in found][:1] == [True]


def test_invalid_settings_are_reported(made: Path, git: Any, findings: Any) -> None:
    git(made.parent, "config", "baton.ttlDays", "soon")
    (finding,) = findings("settings")
    assert "baton.ttlDays is 'soon'" in finding["summary"]


def test_unknown_settings_are_reported(made: Path, git: Any, findings: Any) -> None:
    git(made.parent, "config", "baton.ttlDay", "3")
    git(made.parent, "config", "baton.nosuch", "3")
    near, far = findings("settings")
    assert near["summary"] == "git config baton.ttlday is not a setting of baton; did you mean baton.ttlDays?"
    assert far["summary"] == "git config baton.nosuch is not a setting of baton"
    assert far["advice"].startswith("git config --unset-all baton.nosuch;")


def test_fix_without_a_terminal_needs_no_yes_if_there_is_nothing_to_repair(made: Path, baton: Any) -> None:
    assert "no problem has an automatic repair" in baton("doctor", "--fix", "refs").err


def test_the_report_has_no_names_paths_addresses_or_secrets(
    made: Path, baton: Any, git: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("USER", "adalove")
    token = "ghp_" + "a1B2" * 9
    git(made.parent, "remote", "add", "origin", f"https://adalove:{token}@127.0.0.1:9/secret-project.git")
    commit_by_hand(git, made.parent, "follow_ups/FU-x.toml", f'by = "ada@example.org {token}')
    report = baton("doctor", "--report", code=1).out
    assert "**error** records" in report
    for text in ("adalove", token, "secret-project", str(made.parent), "ada@example.org", os.environ["HOME"]):
        assert text not in report, text


def test_in_the_library_doctor_gives_what_the_command_gives(made: Path, baton: Any, monkeypatch: Any) -> None:
    import baton_git

    monkeypatch.chdir(made.parent)
    with baton_git.open(made.parent, namespace="work") as project:
        found = project.doctor().as_data()
    assert {"refs", "objects", "agents", "remotes", "cost"} <= {finding["check"] for finding in found["findings"]}
    assert baton("doctor", "--json", "-n", "work", code=None).json == found
