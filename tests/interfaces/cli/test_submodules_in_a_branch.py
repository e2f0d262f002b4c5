"""A submodule at the path of a record: told by its name, and harmless to every command."""

from __future__ import annotations

import pytest
from world import by_hand, workspace

from baton_git.core.names import Oid
from baton_git.git.store import Repository, Store, TreeEntry

COMMANDS = (
    "status", "list", "ready", "log", "log --record FU-9", "show FU-9", "read", "validate", "recall apple", "boot",
    "outgoing --full", "doctor", "sync", "followup add more", "wrap --context c",
)  # fmt: skip
ELSEWHERE = Oid("1234567890" * 4)
"""A commit that this repository does not have."""


@pytest.mark.parametrize("path", ["follow_ups/FU-9.toml", "archive/follow_ups/00/FU-9.toml", "notes/library"])
def test_a_submodule_stops_no_command_and_undo_takes_it_back(baton, git, top, path):
    baton("followup", "add", "apple one", "--id", "FU-1")
    git(top, "init", "-q", "--bare", "../remote.git")
    git(top, "remote", "add", "origin", "../remote.git")
    baton("sync")
    with Store(Repository.open(top)) as store:
        commit = by_hand(workspace(store, namespace="work"), {path: TreeEntry(ELSEWHERE, False, 0o160000)})
    for command in COMMANDS:
        done = baton(*command.split(), code=None)
        assert not [text for text in ("fetch it again", "a blob should be") if text in done.out + done.err], command
        assert done.code == 0 or command in ("validate", "doctor", "log --record FU-9", "show FU-9"), command
        if command == "doctor":
            assert "could not be checked" not in done.out
        if command in ("ready", "show FU-9") and path.startswith("follow_ups"):
            assert "is a submodule, not a record" in done.out
    baton("undo", commit)
    assert git(top, "ls-tree", "-r", "refs/heads/baton/work", path) == ""
    assert baton("validate").code == 0
    git(top, "fsck", "--strict", "--no-dangling")
