"""Small rules of the remotes, without a server: the meaning of git's messages, and the choice of ssh."""

from __future__ import annotations

import os
import subprocess

import pytest
from dulwich.object_format import SHA1
from looped_cases import for_each

from baton_git.core.errors import AccessDenied, InvalidArgument, RemoteError, Unreachable
from baton_git.git.objects.reader import Objects
from baton_git.git.remotes import PushOvertaken, PushRefused, error_messages, git_command, remote
from baton_git.git.remotes.git_command import for_git
from baton_git.git.remotes.opening import open_remote
from baton_git.git.remotes.quarantine import FetchLimits
from baton_git.git.store import Repository


def test_a_warning_of_git_is_the_reason_only_if_there_is_no_other_line():
    error = error_messages.remote_error("origin", "warning: this is old\n")  # there is no other line
    assert str(error) == "origin: warning: this is old"
    error = error_messages.remote_error("origin", "error: it broke\nwarning: and this is old\n")
    assert str(error) == "origin: it broke"


@for_each(
    ("text", "kind"),
    [
        ("fatal: Authentication failed for 'https://x/'", AccessDenied),
        ("fatal: could not read Username for 'https://x': terminal prompts disabled", AccessDenied),
        ("a@b: Permission denied (publickey).\nfatal: Could not read from remote repository.", AccessDenied),
        ("Host key verification failed.\nfatal: Could not read from remote repository.", AccessDenied),
        ("remote: Repository not found.\nfatal: repository 'https://x/y/' not found", AccessDenied),
        ("ERROR: Repository not found.\nfatal: Could not read from remote repository.", AccessDenied),
        ("fatal: detected dubious ownership in repository at '/srv/x.git'", AccessDenied),
        ("fatal: unable to access 'https://x/': The requested URL returned error: 403", AccessDenied),
        ("fatal: remote error: access denied or repository not exported: /x.git", AccessDenied),
        ("FATAL: R any baton bob DENIED by fallthru\n(or you mis-spelled the reponame)", AccessDenied),
        ("fatal: '/x' does not appear to be a git repository", AccessDenied),
        ("ssh: Could not resolve hostname x: Name or service not known", Unreachable),
        ("ssh: connect to host x port 22: Connection refused\nfatal: Could not read from remote", Unreachable),
        ("fatal: unable to access 'https://x/': Could not resolve host: x", Unreachable),
        ("error: RPC failed; HTTP 502\nfatal: the remote end hung up unexpectedly", Unreachable),
        ("fatal: unable to access 'https://x/': The requested URL returned error: 503", Unreachable),
        ("fatal: protocol error: bad line length character: hell", RemoteError),
        ("fatal: Could not read from remote repository.", RemoteError),
        ("", RemoteError),
    ],
)
def test_messages_of_git_are_classified_with_a_next_step(text, kind):
    error = error_messages.remote_error("origin", text)
    assert type(error) is kind
    assert error.hint
    assert str(error).startswith("origin: ")
    assert "\n" not in str(error)


@for_each(
    ("text", "shown"),
    [
        ("https://ada:pw@host/x", "https://***@host/x"),
        ("https://ghp_token@host/x", "https://***@host/x"),
        ("to http://a:p@w@host:1/x and ssh://git@h/y", "to http://***@host:1/x and ssh://git@h/y"),
        ("ssh://git:pw@h/y", "ssh://git:***@h/y"),
        ("git@github.com:a/b", "git@github.com:a/b"),
        ("https://host/a@b", "https://host/a@b"),
    ],
)
def test_logins_of_urls_are_not_shown(text, shown):
    assert error_messages.mask_logins(text) == shown


@for_each(
    "why",
    ["failed to update ref", "failed to lock", "incorrect old value provided", "reference already exists",
     "cannot lock ref 'refs/heads/x': is at 1234 but expected 5678", "fetch first"],
)  # fmt: skip
def test_a_lost_race_on_the_server_is_recognised(why):
    assert isinstance(error_messages.classify_server_rejection(why, []), PushOvertaken)


@for_each(
    "why",
    ["pre-receive hook declined", "hook declined", "protected branch hook declined", "non-fast-forward",
     "deny updating a hidden ref", "branch is currently checked out", "unpacker error", "refname conflict"],
)  # fmt: skip
def test_unknown_server_messages_count_as_a_rejection(why):
    assert error_messages.classify_server_rejection(
        why, [" not you", "Resolving deltas: 100% (1/1)", ""]
    ) == PushRefused(why, ("not you",))


@for_each(
    ("environment", "settings", "line"),
    [
        ({}, (None, None), "ssh -o BatchMode=yes -o ConnectTimeout=3"),
        ({"GIT_SSH_COMMAND": "ssh -i k"}, ("other", None), "ssh -i k -o BatchMode=yes -o ConnectTimeout=3"),
        ({"GIT_SSH": "/a b/ssh"}, ("ssh -4", None), "ssh -4 -o BatchMode=yes -o ConnectTimeout=3"),
        ({"GIT_SSH": "/a b/ssh"}, (None, None), "'/a b/ssh' -o BatchMode=yes -o ConnectTimeout=3"),
        ({"GIT_SSH": "/opt/plink.exe"}, (None, None), "/opt/plink.exe -batch"),
        ({"GIT_SSH_VARIANT": "putty"}, ("my-ssh", None), "my-ssh -batch"),
        ({}, ("my-ssh", "simple"), "my-ssh"),
    ],
)
def test_ssh_runs_in_batch_mode(environment, settings, line):
    assert git_command.command(environment, git_command.SshSettings(*settings), 2.2) == line


def test_gits_environment_keeps_settings_of_the_user_and_drops_variables_of_a_hook():
    kept = {"GIT_CONFIG_PARAMETERS": "'a=b'", "GIT_CONFIG_COUNT": "0", "GIT_PROXY_COMMAND": "p", "PATH": "/bin"}
    found = for_git(kept | {"GIT_DIR": "x", "GIT_INDEX_FILE": "y", "GIT_PUSH_OPTION_0": "z", "GIT_ASKPASS": "ask"})
    assert kept.items() <= found.items()
    assert not {"GIT_DIR", "GIT_INDEX_FILE", "GIT_PUSH_OPTION_0"} & found.keys()
    assert (found["GIT_ASKPASS"], found["GIT_TERMINAL_PROMPT"], found["BATON_HOOK"]) == ("", "0", "1")


@for_each(
    ("there", "here"),
    [("x", "refs/x"), ("refs/*", "refs/x"), ("refs/x", "refs/*"), ("refs/*/*", "refs/*/*"), ("refs/x", "-x")],
)
def test_wants_are_full_names_or_two_patterns(there, here):
    with pytest.raises(InvalidArgument):
        remote.check({there: here})


def test_refspec_patterns_map_refs():
    refs = ["refs/heads/baton/x", "refs/heads/baton/", "refs/heads/other", "refs/heads/baton/y"]
    wants = {"refs/heads/baton/*": "refs/in/*", "refs/heads/other": "refs/o"}
    assert remote.matches(wants, refs) == {
        "refs/heads/baton/x": "refs/in/x", "refs/heads/baton/y": "refs/in/y", "refs/heads/other": "refs/o",
    }  # fmt: skip


@pytest.mark.parametrize("address", ["{}/there.git", "origin", "file://{}/there.git"])
def test_the_limit_of_memory_is_not_for_the_server_of_a_path(address, tmp_path):
    """Its tables for a pack with 7 million objects take 113 MB, and a fetch was refused for an object of that size."""
    config, hook, limit = tmp_path / "config", tmp_path / "hook", tmp_path / "limit"
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": str(config)}
    config.write_text(f"[uploadpack]\n\tpackObjectsHook = {hook}\n[user]\n\tname = a\n\temail = a@x\n")
    hook.write_text(f'#!/bin/sh\necho "<$GIT_ALLOC_LIMIT>" >>{limit}\nexec "$@"\n')
    hook.chmod(0o755)

    def git(*words: str) -> None:
        subprocess.run(["git", *words], check=True, cwd=tmp_path, env=environment, capture_output=True)

    git("init", "-q", "-b", "x", "there.git")
    git("-C", "there.git", "commit", "-q", "--allow-empty", "-m", "x")
    git("init", "-q", "here")
    git("-C", "here", "remote", "add", "origin", "../there.git")
    remote = open_remote(Repository.open(tmp_path / "here"), address.format(tmp_path), environment)
    with remote.fetch({"refs/heads/x": "refs/x"}, seconds=20, limits=FetchLimits(1 << 20, 1 << 20)) as quarantine:
        assert list(quarantine.tips) == ["refs/heads/x"]
    assert limit.read_text() == "<>\n"


def test_the_limit_of_memory_has_room_for_the_tables_of_the_own_packs(tmp_path):
    assert FetchLimits(1, 1 << 20).environment(100 << 20) == {"GIT_ALLOC_LIMIT": str(100 << 20)}
    assert FetchLimits(1, 1 << 20).environment(0) == {"GIT_ALLOC_LIMIT": str(64 << 20)}
    pack = tmp_path / "far" / "pack" / "pack-1.idx"
    pack.parent.mkdir(parents=True)
    pack.write_bytes(b"12345")
    (tmp_path / "objects" / "info").mkdir(parents=True)
    (tmp_path / "objects" / "info" / "alternates").write_text(f"{tmp_path}/far\n")
    assert Objects(tmp_path / "objects", SHA1).largest_index() == 5
