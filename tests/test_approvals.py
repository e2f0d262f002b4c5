from __future__ import annotations

import json
import threading

import pytest

from baton_git import approvals as module
from baton_git.approvals import Approval, Approvals
from baton_git.errors import Busy, Corrupt
from baton_git.store import locks
from baton_git.store.locks import flocked

AT = "2026-01-01T00:00:00Z"


@pytest.fixture
def approvals(tmp_path):
    return Approvals(tmp_path / "data/approved.json", tmp_path / "repo")


def test_exactly_what_was_approved_holds(approvals):
    assert not approvals.holds(("make", "test"))
    assert approvals.add(("make", "test"), AT)
    assert not approvals.add(("make", "test"), AT)
    assert approvals.all() == [Approval(("make", "test"), AT)]
    assert not approvals.holds(("make",))
    assert approvals.revoke(("make", "test"))
    assert not approvals.revoke(("make", "test"))
    assert approvals.all() == []


def test_the_file_is_for_its_user_only(approvals):
    approvals.add(("a",), AT)
    assert approvals.path.stat().st_mode & 0o777 == 0o600
    assert approvals.path.parent.stat().st_mode & 0o777 == 0o700


def test_a_file_that_is_damaged_approves_nothing_and_stays(approvals):
    approvals.path.parent.mkdir()
    approvals.path.write_text("[]")
    with pytest.raises(Corrupt):
        approvals.add(("a",), AT)
    assert approvals.path.read_text() == "[]"


def test_an_approval_that_races_a_revocation_does_not_bring_it_back(approvals, monkeypatch):
    approvals.add(("old",), AT)
    real = Approvals._save
    revoked = threading.Thread(target=approvals.revoke, args=(("old",),))

    def save(self, kept):
        monkeypatch.setattr(Approvals, "_save", real)
        revoked.start()
        revoked.join(0.2)  # it has to wait for us
        real(self, kept)

    monkeypatch.setattr(Approvals, "_save", save)
    approvals.add(("new",), AT)
    revoked.join()
    assert [one.argv for one in approvals.all()] == [("new",)]


def test_many_at_once_lose_nothing(approvals):
    threads = [threading.Thread(target=approvals.add, args=((str(n),), AT)) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(json.loads(approvals.path.read_bytes())[str(approvals.repository)]) == 12


def test_a_file_that_is_held_for_long_is_busy(approvals, monkeypatch):
    monkeypatch.setattr(module, "_WAIT", 0.02)
    approvals.add(("a",), AT)
    with flocked(approvals.path.with_name("approved.json.lock"), 0) as alone:
        assert alone
        with pytest.raises(Busy, match=r"approved\.json"):
            approvals.revoke(("a",))
    assert approvals.holds(("a",))


def test_where_there_is_no_flock_it_goes_on_without(approvals, monkeypatch):
    monkeypatch.setattr(locks, "fcntl", None)
    assert approvals.add(("a",), AT)
    assert approvals.revoke(("a",))
