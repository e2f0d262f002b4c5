"""`baton doctor` on a repository that is really broken: refs, objects, leftovers; and the repairs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pseudo_terminal import typing, typing_here

from baton_git.git.store import Repository, Store
from baton_git.verbs.doctor.doctor import CHECKS, examine
from baton_git.verbs.doctor.examination import Diagnostic, Examination


def find_newest_pack(made: Path) -> Path:
    """Return the pack of the last revision."""
    return max((made / "objects/pack").glob("pack-*.pack"), key=lambda file: file.stat().st_mtime_ns)


def test_a_sound_repository_passes_every_check_and_is_not_changed(made: Path, findings: Any) -> None:
    before = {path: path.stat().st_mtime_ns for path in made.rglob("*")}
    found = findings()
    assert [finding for finding in found if finding["severity"] != "ok"] == []
    assert {finding["check"] for finding in found} == {check.name for check in CHECKS}
    assert {path: path.stat().st_mtime_ns for path in made.rglob("*")} == before


def test_each_check_has_default_advice(made: Path) -> None:
    def fail(examination: Examination) -> Iterator[Diagnostic]:
        yield Diagnostic("warning", "something is wrong")
        raise OSError("the disk is gone")

    broken = [check._replace(needs="repository", run=fail) for check in CHECKS]
    with Store(Repository.open(made)) as store:
        found = examine(Examination(datetime.now(UTC), store, "refs/heads/baton/", None), broken)
    assert [(item.check, item.finding.severity) for item in found] == [
        (check.name, severity) for check in CHECKS for severity in ("warning", "unknown")
    ]
    assert [item.finding.advice for item in found] == [check.advice for check in CHECKS for _ in range(2)]
    assert all(check.advice for check in CHECKS)


def test_repairing_an_unreadable_ref_restores_it(made: Path, baton: Any, findings: Any) -> None:
    ref = made / "refs/heads/baton/work"
    good = ref.read_bytes()
    ref.write_bytes(b"")
    (broken,) = [finding for finding in findings("refs", code=1) if finding["severity"] == "error"]
    assert "is empty" in broken["summary"]
    assert broken["repair"].startswith("Put refs/heads/baton/work back to")
    assert "namespace" not in {finding["check"] for finding in findings("objects", "leftovers", "packs")}

    assert "there is no terminal for the confirmation: add --yes" in baton("doctor", "--fix", code=2).err
    assert ref.read_bytes() == b""
    baton("doctor", "refs", "--fix", "--yes")
    assert ref.read_bytes() == good


def test_a_missing_object_is_fetched_again_from_the_remote(
    made: Path, baton: Any, git: Any, tmp_path: Path, findings: Any
) -> None:
    git(tmp_path, "init", "-q", "--bare", "there.git")
    git(made.parent, "remote", "add", "origin", str(tmp_path / "there.git"))
    baton("sync", "--remote", "origin")
    newest = find_newest_pack(made)
    newest.with_suffix(".idx").unlink()
    newest.unlink()
    (missing,) = findings("objects", code=1)
    assert "1 object missing or damaged: commit" in missing["summary"]
    assert "baton doctor refs objects" in findings("repository", code=1)[0]["advice"]
    assert missing["repair"] == "Fetch the objects of work again from origin"
    baton("doctor", "objects", "--fix", "--yes")
    assert baton("status", "--json").json["follow_ups"]


def test_a_missing_object_that_no_remote_has_is_only_reported(made: Path, findings: Any) -> None:
    packs = sorted((made / "objects/pack").glob("pack-*.pack"), key=lambda file: file.stat().st_mtime_ns)
    for pack, revisions in ((packs[-1], "newest"), (packs[0], "older")):
        good = pack.read_bytes()
        pack.chmod(0o600)
        pack.write_bytes(good[:-40])
        (missing,) = findings("objects", code=1)
        assert "missing or damaged" in missing["summary"], revisions
        assert missing["repair"] is None
        assert "backup" in missing["advice"]
        pack.write_bytes(good)
    assert findings("objects")[0]["severity"] == "ok"


def test_files_of_killed_processes_are_removed(made: Path, baton: Any, findings: Any, make_older: Any) -> None:
    left = [
        made / "refs/heads/baton/work.lock", made / "objects/pack/tmp_pack_baton_999999_1",
        made / "objects/pack/pack-aaaa.keep", made / "baton/agents/claude-x.json.99.tmp",
        made / "baton/view-abc/objects/pack/tmp_pack_1", made / "baton/locks/ticket-1",
    ]  # fmt: skip
    for path in left:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"baton 999999\n")
        make_older(path, 30)
    make_older(made / "baton/view-abc", 30)
    fresh = made / "refs/heads/baton/other.lock"
    fresh.write_bytes(b"")
    (finding,) = findings("leftovers")
    assert finding["severity"] == "warning"
    assert finding["summary"].startswith("6 files left over")
    baton("doctor", "leftovers", "--fix", "--yes")
    assert [path for path in left if path.exists()] == []
    assert not (made / "baton/view-abc").exists()
    assert fresh.exists()
    fine = {"severity": "ok", "summary": "there are no leftover files", "cause": "", "advice": "", "repair": None}
    assert findings("leftovers") == [{**finding, **fine}]


def test_a_repair_keeps_changes_made_before_the_question_was_answered(made: Path, baton: Any, make_older: Any) -> None:
    ref, lock = made / "refs/heads/baton/work", made / "refs/heads/baton/x.lock"
    good = ref.read_bytes()
    ref.write_bytes(b"")
    lock.write_bytes(b"")
    make_older(lock, 2)
    newest: list[bytes] = []

    def work() -> None:
        ref.write_bytes(good)
        baton("followup", "add", "More")
        newest.append(ref.read_bytes())
        lock.unlink()
        lock.write_bytes(b"somebody is at work")

    code, screen = typing(made.parent, "doctor", "refs", "leftovers", "--fix", asked="[y/N]", typed=b"y\n", before=work)
    assert code == 0, screen
    assert ref.read_bytes() == newest[0] != good
    assert lock.read_bytes() == b"somebody is at work"


def test_a_check_that_cannot_run_is_unknown_and_the_others_continue(made: Path, findings: Any) -> None:
    (made / "refs/heads/baton/work").write_bytes(b"")
    (made / "baton/packs").rename(made / "baton/away")
    (made / "baton/packs").write_bytes(b"no folder")
    by_check = {finding["check"]: finding["severity"] for finding in findings(code=1)}
    assert by_check["packs"] == by_check["records"] == by_check["clock"] == "unknown"
    assert by_check["leftovers"] == by_check["index"] == "ok"
    assert {finding["severity"] for finding in findings("packs", code=5)} == {"unknown"}


def test_a_lock_of_git_is_reported_without_a_repair(made: Path, findings: Any, make_older: Any) -> None:
    lock = made / "config.lock"
    lock.write_bytes(b"")
    make_older(lock, 1)
    (finding,) = findings("leftovers")
    assert str(lock) in finding["advice"]
    assert finding["repair"] is None


def test_doctor_reports_a_missing_or_unusable_repository(tmp_path: Path, baton: Any, made: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    baton("doctor", cwd=empty)
    assert not list(empty.iterdir())
    shutil.copytree(made.parent, tmp_path / "copy")
    with (tmp_path / "copy/.git/config").open("a") as config:
        config.write("[extensions]\n\trefStorage = reftable\n[core]\n\trepositoryFormatVersion = 1\n")
    unusable = baton("doctor", "repository", cwd=tmp_path / "copy", code=1)
    assert "reftable" in unusable.out


def test_invalid_arguments_are_reported(baton: Any, made: Path) -> None:
    assert "there is no check 'nope'" in baton("doctor", "nope", code=1).err
    assert "--yes goes with" in baton("doctor", "--yes", code=2).err
    assert "one of" in baton("doctor", "--fix", "--undo", "--yes", code=2).err
    assert "no repair of hooks or settings to undo" in baton("doctor", "--undo", "--yes", code=1).err
    assert "refs" in baton("doctor", "--list").out


def test_at_a_terminal_each_repair_runs_only_after_confirmation(made: Path, monkeypatch: Any, make_older: Any) -> None:
    ref, lock = made / "refs/heads/baton/work", made / "refs/heads/baton/x.lock"
    ref.write_bytes(b"")
    lock.write_bytes(b"")
    make_older(lock, 2)
    code, screen = typing_here(monkeypatch, made.parent, "doctor", "refs", "leftovers", "--fix", typed=b"n\ny\n")
    assert code == 1
    assert "Put refs/heads/baton/work back to" in screen
    assert "leftovers: done: Remove 1 file" in screen
    assert ref.read_bytes() == b""
    assert not lock.exists()


def test_the_page_about_maintenance_lists_every_check() -> None:
    page = (Path(__file__).parents[3] / "docs/maintenance.md").read_text()
    listed = [line.split("`")[1] for line in page.splitlines() if line.startswith("| `") and line.count("|") == 4]
    assert [name for name in listed if name in {check.name for check in CHECKS}] == [check.name for check in CHECKS]
