"""The user's approvals by repository: which apply, to which repository, and that none is lost."""

from __future__ import annotations

import json
import shutil
import threading

import pytest

from baton_git.checks import approvals as approvals_module
from baton_git.checks.approvals import (
    Approvals,
    ApprovedCommand,
    TrustedRemote,
    contents_of,
    identity_file,
    read_identity,
    without_login,
)
from baton_git.core.errors import Busy, Corrupt, LimitExceeded
from baton_git.git.files import private_json, ref_locks
from baton_git.git.files.private_json import PrivateJsonFile
from baton_git.git.files.ref_locks import hold_flock

AT = "2026-01-01T00:00:00Z"
URL = "https://example.org/x.git"


@pytest.fixture
def approvals(tmp_path):
    (tmp_path / "repo").mkdir()
    return Approvals(tmp_path / "data/approved.json", tmp_path / "repo")


@pytest.fixture
def other(approvals, tmp_path):
    (tmp_path / "other").mkdir()
    return approvals._replace(repository=tmp_path / "other")


def test_an_approval_covers_exactly_the_approved_check(approvals):
    assert not approvals.holds(("make", "test"))
    assert approvals.add(("make", "test"), AT)
    assert not approvals.add(("make", "test"), AT)
    assert approvals.commands() == [ApprovedCommand(("make", "test"), AT, {})]
    assert not approvals.holds(("make",))
    assert approvals.revoke(("make", "test"))
    assert not approvals.revoke(("make", "test"))
    assert approvals.commands() == []


def test_a_remote_is_trusted_until_that_is_revoked(approvals):
    assert not approvals.trusts_remote(URL)
    assert approvals.trust_remote("origin", URL, AT)
    assert not approvals.trust_remote("again", URL, AT)
    assert approvals.remotes() == [TrustedRemote("origin", URL, AT)]
    assert approvals.trusts_remote(URL)
    assert not approvals.trusts_remote(URL + "/")
    assert approvals.revoke_remote(URL)
    assert not approvals.revoke_remote(URL)
    assert not approvals.trusts_remote(URL)


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://ada:secret@example.org/x.git", URL), ("https://token@example.org/x.git", URL), (URL, URL),
        ("ssh://git:secret@host/x", "ssh://git@host/x"), ("ssh://git@host/x", "ssh://git@host/x"),
        ("git@host:x.git", "git@host:x.git"), ("/a/b@c", "/a/b@c"), ("https://host/a@b", "https://host/a@b"),
    ],
)  # fmt: skip
def test_trust_in_a_remote_does_not_depend_on_its_login_which_is_not_stored(approvals, url, kept):
    assert without_login(url) == kept
    approvals.trust_remote(url, url, AT)
    assert approvals.trusts_remote(kept)
    assert "secret" not in approvals.path.read_text()


def test_saving_keeps_the_approvals_of_other_repositories(approvals, other):
    approvals.add(("a",), AT)
    approvals.trust_remote("origin", URL, AT)
    other.add(("b",), AT)
    other.revoke(("b",))
    assert other.commands() == []
    assert approvals.holds(("a",))
    assert approvals.trusts_remote(URL)


def test_a_repository_that_was_moved_keeps_its_approvals(approvals, tmp_path):
    approvals.add(("a",), AT)
    approvals.repository.rename(tmp_path / "moved")
    moved = approvals._replace(repository=tmp_path / "moved")
    assert moved.holds(("a",))
    moved.add(("b",), AT)
    assert [one.argv for one in moved.commands()] == [("a",), ("b",)]


def test_a_repository_that_is_reached_by_another_path_has_its_approvals(approvals, tmp_path):
    approvals.add(("a",), AT)
    (tmp_path / "link").symlink_to(approvals.repository)
    assert approvals._replace(repository=tmp_path / "link").holds(("a",))


def test_another_repository_at_the_same_path_has_no_approvals(approvals, tmp_path):
    approvals.add(("a",), AT)
    approvals.repository.rename(tmp_path / "away")
    approvals.repository.mkdir()
    assert approvals.commands() == []
    approvals.add(("b",), AT)
    assert [one.argv for one in approvals.commands()] == [("b",)]
    assert approvals._replace(repository=tmp_path / "away").holds(("a",))


def test_a_copy_of_a_repository_has_no_approvals_and_takes_none_away(approvals, tmp_path):
    approvals.add(("a",), AT)
    shutil.copytree(approvals.repository, tmp_path / "copy")
    copy = approvals._replace(repository=tmp_path / "copy")
    assert copy.commands() == []
    copy.add(("b",), AT)
    assert [one.argv for one in copy.commands()] == [("b",)]
    assert [one.argv for one in approvals.commands()] == [("a",)]
    assert read_identity(copy.repository) != read_identity(approvals.repository)


@pytest.mark.parametrize("text", ["", "x", "../" * 10, "g" * 32, "é" * 32])
def test_an_invalid_repository_id_approves_nothing_until_it_is_replaced(approvals, text):
    approvals.add(("a",), AT)
    identity_file(approvals.repository).write_text(text)
    assert approvals.commands() == []
    approvals.add(("b",), AT)
    assert [one.argv for one in approvals.commands()] == [("b",)]


def test_approvals_by_path_of_an_earlier_version_are_invalid_and_listed(approvals):
    approvals.path.parent.mkdir()
    old = {str(approvals.repository): [{"argv": ["a"], "at": AT}], "/elsewhere": [{"argv": ["b"], "at": AT}]}
    approvals.path.write_text(json.dumps(old))
    assert not approvals.holds(("a",))
    assert approvals.earlier_commands() == [("a",)]
    approvals.add(("a",), AT)
    assert approvals.holds(("a",))
    assert approvals.earlier_commands() == []
    assert json.loads(approvals.path.read_bytes())["/elsewhere"] == [{"argv": ["b"], "at": AT}]


def test_the_files_are_for_their_user_only(approvals):
    approvals.add(("a",), AT)
    assert approvals.path.stat().st_mode & 0o777 == 0o600
    assert approvals.path.parent.stat().st_mode & 0o777 == 0o700
    assert identity_file(approvals.repository).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "text",
    ["[]", "{", '{"repositories": []}', '{"repositories": {"ID": []}}', '{"repositories": {"ID": {"commands": [{}]}}}',
     '{"repositories": {"ID": {"commands": 5}}}'],
)  # fmt: skip
def test_a_damaged_approvals_file_approves_nothing_and_is_kept(approvals, text):
    approvals.add(("a",), AT)
    approvals.path.write_text(text.replace("ID", read_identity(approvals.repository)))
    before = approvals.path.read_text()
    for act in (lambda: approvals.holds(("a",)), lambda: approvals.add(("a",), AT), lambda: approvals.revoke(("a",))):
        with pytest.raises(Corrupt):
            act()
    assert approvals.path.read_text() == before


def test_an_approval_that_races_a_revocation_does_not_undo_it(approvals, monkeypatch):
    approvals.add(("old",), AT)
    real = PrivateJsonFile.save
    revoked = threading.Thread(target=approvals.revoke, args=(("old",),))

    def save(self, data):
        monkeypatch.setattr(PrivateJsonFile, "save", real)
        revoked.start()
        revoked.join(0.2)  # it has to wait for the lock
        real(self, data)

    monkeypatch.setattr(PrivateJsonFile, "save", save)
    approvals.add(("new",), AT)
    revoked.join()
    assert [one.argv for one in approvals.commands()] == [("new",)]


def test_approvals_that_are_added_at_once_are_all_stored(approvals):
    threads = [threading.Thread(target=approvals.add, args=((str(n),), AT)) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(approvals.commands()) == 12


def test_a_file_locked_for_long_is_busy(approvals, monkeypatch):
    monkeypatch.setattr(private_json, "WAIT_SECONDS", 0.02)
    approvals.add(("a",), AT)
    with hold_flock(approvals.path.with_name("approved.json.lock"), 0) as alone:
        assert alone
        with pytest.raises(Busy, match=r"approved\.json"):
            approvals.revoke(("a",))
    assert approvals.holds(("a",))


def test_without_flock_approvals_work_without_a_lock(approvals, monkeypatch):
    monkeypatch.setattr(ref_locks, "fcntl", None)
    assert approvals.add(("a",), AT)
    assert approvals.revoke(("a",))


# --- the parts of a command that an approval covers


@pytest.fixture
def tree(tmp_path):
    """Create a work tree with a program, a script, and a folder with a program that is on the PATH."""
    top = tmp_path / "tree"
    for name in ("run", "scripts/check.py", "bin/tool"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text("one")
        (top / name).chmod(0o755)
    return top


@pytest.mark.parametrize(
    ("argv", "path"),
    [
        (["./run", "x"], "run"), (["python3", "scripts/check.py"], "scripts/check.py"), (["tool"], "bin/tool"),
        (["make", "--file=bin/tool"], "bin/tool"), (["x", "scripts/check.py::test_a"], "scripts/check.py"),
        (["scripts/../run"], "run"), (["{top}/run"], "run"), (["{link}/run"], "run"),
    ],
)  # fmt: skip
def test_a_command_whose_file_in_the_work_tree_changed_is_no_longer_approved(approvals, tree, tmp_path, argv, path):
    (tmp_path / "link").symlink_to(tree)
    argv = tuple(word.format(top=tree, link=tmp_path / "link") for word in argv)
    search_path = f"/usr/bin:{tree}/bin"
    assert list(contents_of(argv, tree, search_path)) == [path]
    approvals.add(argv, AT, contents_of(argv, tree, search_path))
    assert approvals.holds(argv, contents_of(argv, tree, search_path))
    for change in (lambda file: file.write_text("two"), lambda file: file.unlink()):
        change(tree / path)
        now = contents_of(argv, tree, search_path)
        assert not approvals.holds(argv, now)
        assert approvals.changed_since(argv, now) == [path]
    assert approvals.add(argv, AT, now)
    assert [one.contents for one in approvals.commands()] == [{}]


def test_new_files_and_changed_links_invalidate_an_approval(approvals, tree):
    argv = ("./later", "python3")
    approvals.add(argv, AT, contents_of(argv, tree, ""))
    (tree / "later").symlink_to("/bin/sh")
    first = contents_of(argv, tree, "")
    assert first["later"].startswith("link to /")
    assert not approvals.holds(argv, first)
    (tree / "later").unlink()
    (tree / "later").symlink_to("/bin/ls")
    assert contents_of(argv, tree, "") != first


@pytest.mark.parametrize(
    "argv",
    [
        ("ls", "..", "/etc/passwd", "", "a\0b", "x" * 5000, ".", "scripts", "{top}/../tree/../x"),
        ("/bin/sh",),
        ("nope",),
        (),
    ],
)
def test_files_outside_of_the_work_tree_are_bound_by_their_path_only(tree, argv):
    assert contents_of(argv, tree, "/usr/bin:/bin") == {}
    assert contents_of(argv, None, "/usr/bin:/bin") == {}


def test_a_command_that_names_too_many_or_too_large_files_cannot_be_approved(tree, monkeypatch):
    many = [f"f{number}" for number in range(approvals_module.MAX_FILES + 1)]
    for name in many:
        (tree / name).touch()
    with pytest.raises(LimitExceeded):
        contents_of(("cat", *many), tree, "")
    monkeypatch.setattr(approvals_module, "MAX_BYTES", 5)
    with pytest.raises(LimitExceeded):
        contents_of(("cat", "run", "bin/tool"), tree, "")
