"""`baton doctor` on records that cannot be read, on claims, on wrong clocks, permissions, the index, and versions."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from baton_git.recall.index import FILE

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


def test_repairing_an_unreadable_record_restores_it_and_the_undo_breaks_it_again(
    made: Path, baton: Any, git: Any, findings: Any
) -> None:
    top = made.parent
    (record,) = [path for path in git(top, "ls-tree", "-r", "--name-only", BRANCH).split() if "follow_ups" in path]
    good = show(git, top, record)
    commit_by_hand(git, top, record, "item = \n")
    commit_by_hand(git, top, "open_loops/stray.txt", "what is this\n")
    broken, stray = sorted(findings("records", code=1), key=lambda finding: str(finding["summary"]))
    assert broken["summary"].startswith(record)
    assert broken["repair"].startswith(f"Restore {record} as at ")
    assert (stray["severity"], stray["repair"]) == ("error", None)

    done = baton("doctor", "records", "--fix", "--yes", code=1)
    assert show(git, top, record) == good
    backup = next(word for word in done.err.split() if word.startswith("refs/baton-backup/"))
    assert git(top, "show", f"{backup}:{record}") == "item ="
    baton("doctor", "--undo", "--yes")
    assert show(git, top, record) == "item ="

    baton("doctor", "records", "--fix", "--yes", code=1)
    commit_by_hand(git, top, record, "item = 'other'\n")
    assert "was changed meanwhile" in baton("doctor", "--undo", "--yes", code=1).err


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


def test_readable_private_files_are_repaired_and_the_undo_restores_their_mode(
    made: Path, baton: Any, findings: Any
) -> None:
    ledger = next((made / "baton/provenance/ledger").iterdir())
    ledger.chmod(0o644)
    (finding,) = findings("permissions", code=1)
    assert str(ledger) in finding["summary"]
    baton("doctor", "permissions", "--fix", "--yes")
    assert ledger.stat().st_mode & 0o777 == 0o600
    baton("doctor", "--undo", "--yes")
    assert ledger.stat().st_mode & 0o777 == 0o644


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
