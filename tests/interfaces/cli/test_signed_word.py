"""Confirmation by signature works while an agent acts, but only with a key that needs a touch or a passphrase."""

from __future__ import annotations

import base64
import shutil
import subprocess

import pytest
from default_run import slow_after
from pseudo_terminal import typing

from baton_git.git.signing.signers import is_encrypted, is_touched

pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="there is no ssh-keygen here")
GRADUATE = ("pattern", "graduate", "PAT-1", "--sign")
PASSPHRASE = "correct horse"


@pytest.fixture
def key(git, top, tmp_path):
    """Create a key with this passphrase, and configure it."""

    def make(passphrase):
        path = tmp_path / "id"
        argv = ["ssh-keygen", "-q", "-t", "ed25519", "-a", "1", "-N", passphrase, "-C", "ada", "-f", str(path)]
        subprocess.run(argv, check=True, capture_output=True)
        git(top, "config", "baton.signingKey", str(path))
        return path

    return make


def test_an_agents_terminal_takes_a_passphrase_and_the_commit_is_signed(baton, filled, git, top, key, monkeypatch):
    path = key(PASSPHRASE)
    monkeypatch.setenv("CLAUDECODE", "1")
    monkeypatch.setenv("SSH_AUTH_SOCK", "/nowhere")
    code, screen = typing(top, *GRADUATE, asked="passphrase", typed=PASSPHRASE.encode() + b"\n")
    assert code == 0, screen
    assert "The rule would be: Look first" in screen
    commit = git(top, "cat-file", "commit", "baton/work")
    assert "Baton-Confirmed: signature, by Ada" in commit
    allowed = top.parent / "allowed"
    allowed.write_text(f"ada {path.with_name('id.pub').read_text()}")
    git(top, "-c", f"gpg.ssh.allowedSignersFile={allowed}", "verify-commit", "baton/work")


def test_a_key_without_a_passphrase_does_not_confirm_for_a_person(baton, filled, top, key):
    before = baton("read").json["commit"]
    path = key("")
    decide = ("decision", "add", "x", "--why", "y", "--tier", "human_confirmed", "--sign")
    for setting in (str(path), f"{path}.pub", f"key::{path.with_name('id.pub').read_text().strip()}"):
        subprocess.run(["git", "-C", str(top), "config", "baton.signingKey", setting], check=True)
        for words in (GRADUATE, decide):
            assert "neither a touch nor a passphrase" in baton(*words, code=1).err
    assert baton("read").json["commit"] == before


def test_without_a_key_or_a_passphrase_nothing_is_signed(baton, filled, top, key, tmp_path):
    before = baton("read").json["commit"]
    assert "no signing key is set" in baton(*GRADUATE, code=2).err
    key(PASSPHRASE)
    refuse = tmp_path / "refuse"
    refuse.write_text("#!/bin/sh\nexit 1\n")
    refuse.chmod(0o755)
    env = {"SSH_ASKPASS": str(refuse), "SSH_ASKPASS_REQUIRE": "force"}
    assert "gave no signature" in baton(*GRADUATE, code=1, env=env).err
    assert baton("read").json["commit"] == before


def pack(*parts: bytes) -> bytes:
    return b"".join(len(one).to_bytes(4, "big") + one for one in parts)


def make_signature(kind: bytes, tail: bytes) -> bytes:
    inner = pack(kind, b"s" * 64) + tail
    blob = b"SSHSIG\x00\x00\x00\x01" + pack(b"key", b"git", b"", b"sha512", inner)
    return b"-----BEGIN SSH SIGNATURE-----\n" + base64.encodebytes(blob) + b"-----END SSH SIGNATURE-----\n"


@pytest.mark.parametrize(
    ("kind", "tail", "touched"),
    [
        (b"sk-ssh-ed25519@openssh.com", b"\x01\x00\x00\x00\x05", True),
        (b"sk-ecdsa-sha2-nistp256@openssh.com", b"\x05\x00\x00\x00\x05", True),
        (b"sk-ssh-ed25519@openssh.com", b"\x00\x00\x00\x00\x05", False),
        (b"sk-ssh-ed25519@openssh.com", b"", False),
        (b"ssh-ed25519", b"\x01\x00\x00\x00\x05", False),
    ],
)
def test_a_hardware_keys_signature_shows_whether_it_was_touched(kind, tail, touched):
    assert is_touched(make_signature(kind, tail)) is touched


def test_invalid_signatures_and_keys_are_not_hardware_keys():
    for text in (b"", b"x", b"-----BEGIN SSH SIGNATURE-----\n!!\n-----END", make_signature(b"sk-", b"")[:60]):
        assert (is_touched(text), is_encrypted(text)) == (False, False)
    assert is_encrypted(b"-----BEGIN ENCRYPTED PRIVATE KEY-----\nx\n")


@pytest.mark.parametrize("place", slow_after(2, ["outside", "in the work tree", "revoked", "of baton"]))
def test_a_key_that_git_allows_vouches_unless_others_can_change_the_file(
    baton, filled, git, top, tmp_path, key, place, monkeypatch
):
    path = key(PASSPHRASE)
    monkeypatch.setenv("SSH_AUTH_SOCK", "/nowhere")
    hub, other = tmp_path / "hub.git", tmp_path / "other"
    git(tmp_path, "init", "-q", "--bare", str(hub))
    git(top, "remote", "add", "origin", str(hub))
    code, screen = typing(top, *GRADUATE, asked="passphrase", typed=PASSPHRASE.encode() + b"\n")
    assert code == 0, screen
    baton("sync", code=3)
    git(tmp_path, "clone", "-q", str(hub), str(other))
    allowed = (other if place == "in the work tree" else tmp_path) / "allowed"
    allowed.write_text(f"ada {path.with_name('id.pub').read_text()}")
    setting = "baton.allowedSigners" if place == "of baton" else "gpg.ssh.allowedSignersFile"
    git(other, "config", setting, str(allowed))
    if place == "revoked":
        git(other, "config", "gpg.ssh.revocationFile", str(path.with_name("id.pub")))
    baton("boot", "--namespace", "work", cwd=other)
    [record] = baton("list", "rules", "-n", "work", "--json", cwd=other).json["records"]
    vouched = place in ("outside", "of baton")
    assert record["provenance"]["kind"] == ("confirmed" if vouched else "received")
