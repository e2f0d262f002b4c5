"""Signatures of commits: made by baton and verified by git, made by git and verified by baton, and their faults."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton_git.core.errors import StoreError
from baton_git.core.names import Oid
from baton_git.git.files.ref_locks import wait_until
from baton_git.git.objects.values import with_signature, without_signature
from baton_git.git.signing import (
    AllowedSigners,
    BadSignature,
    PersonalSigner,
    Signed,
    Signer,
    UnknownSigner,
    Unsigned,
    signers,
)
from baton_git.git.store import ReflogEntry, Repository, Store

REF = "refs/heads/baton/x"
ADA = "Ada <ada@example.org>"
NOON = 1_772_366_400  # 2026-03-01 12:00 UTC


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a folder with the keys `ada`, `eve`, and `locked` (with a passphrase)."""
    folder = tmp_path_factory.mktemp("keys")
    for name, phrase in (("ada", ""), ("eve", ""), ("locked", "secret")):
        argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", phrase, "-C", name, "-f", str(folder / name)]
        subprocess.run(argv, check=True)
    return folder


class World:
    """A repository, the keys, and the file of allowed signers, which contains Ada."""

    def __init__(self, store: Store, keys: Path, git) -> None:
        self.store, self.keys, self.git = store, keys, git
        self.top = store.repository.common_dir
        self.file = self.top / "allowed"
        self.program = "ssh-keygen"
        self.revoked: Path | None = None
        self.allow("ada@example.org", "ada")

    def allow(self, principal: str, key: str, options: str = "") -> None:
        public = (self.keys / f"{key}.pub").read_text()
        self.file.write_text(f"# who may\n{principal} {options} {public}")

    def signer(self, key: str = "ada") -> Signer:
        return Signer(str(self.keys / key), self.program, os.environ)

    def commit(self, signer: Signer | None, *, time: int = NOON, message: str = "note\n\nBaton-Op: x") -> Oid:
        draft = self.store.draft()
        tip = self.store.tip(REF)
        new = draft.commit(
            draft.tree(None, {"a": b"1\n"}), [tip] if tip else [], author=ADA, time=time, timezone=3600,
            message=message, sign=signer.sign if signer else None,
        )  # fmt: skip
        assert self.store.publish(draft, REF, tip, new, ReflogEntry(ADA, time, 0, "x"))
        return new

    def store_raw(self, raw: bytes) -> Oid:
        """Store a commit with exactly these bytes by git; return its id."""
        argv = ["git", "-C", str(self.top), "hash-object", "-t", "commit", "-w", "--stdin"]
        return Oid(subprocess.run(argv, input=raw, capture_output=True, check=True).stdout.decode().strip())

    def allowed(self) -> AllowedSigners:
        return AllowedSigners(self.file, self.program, os.environ, self.revoked)

    def verdict(self, commit: Oid):
        """Return baton's verdict, after checking that git's verdict is the same."""
        found = self.allowed().verify(self.store.raw_commit(commit))
        settings = ["-c", f"gpg.ssh.allowedSignersFile={self.file}"]
        settings += ["-c", f"gpg.ssh.revocationFile={self.revoked}"] if self.revoked else []
        argv = ["git", "-C", str(self.top), *settings, "verify-commit", "-v", commit]
        done = subprocess.run(argv, capture_output=True, text=True)
        assert (done.returncode == 0) == isinstance(found, Signed), (found, done.stderr)
        if isinstance(found, Signed):
            assert f'Good "git" signature for {found.principal} with ' in done.stderr
            assert f" key {found.fingerprint}\n" in done.stderr
        return found

    def fingerprint(self, key: str) -> str:
        argv = ["ssh-keygen", "-l", "-f", str(self.keys / f"{key}.pub")]
        return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()[1]


@pytest.fixture(params=["sha1"])
def world(tmp_path: Path, keys: Path, git, request) -> Iterator[World]:
    folder = tmp_path / "repository.git"
    git(tmp_path, "init", "-q", "--bare", f"--object-format={request.param}", str(folder))
    with Store(Repository.open(folder)) as store:
        yield World(store, keys, git)


# --- signing


@pytest.mark.parametrize("world", ["sha1", "sha256"], indirect=True)
def test_git_accepts_what_we_sign_and_so_do_we(world):
    commit = world.commit(world.signer())
    assert world.verdict(commit) == Signed("ada@example.org", world.fingerprint("ada"))
    assert world.git(world.top, "fsck", "--strict") == ""
    assert world.git(world.top, "log", "-1", "--format=%B", commit) == "note\n\nBaton-Op: x"


def test_a_signed_commit_reads_back_like_any_other(world):
    plain = world.store.commit(world.commit(None))
    world.git(world.top, "update-ref", "-d", REF)
    signed = world.store.commit(world.commit(world.signer()))
    assert signed.oid != plain.oid
    assert signed._replace(oid=plain.oid) == plain


@pytest.mark.parametrize("message", ["one line", "trailing\n\n\n", "", "gpgsig x\n\ngpgsig y", "Grüße 👋\n\n indented"])
def test_every_message_can_be_signed(world, message):
    assert isinstance(world.verdict(world.commit(world.signer(), message=message)), Signed)


def test_a_signed_commit_survives_packing_by_us_and_by_git(world):
    commits = [world.commit(world.signer(), message=f"m{number}") for number in range(4)]
    before = [world.store.raw_commit(one) for one in commits]
    world.store.pack(everything=True)
    assert [world.store.raw_commit(one) for one in commits] == before
    world.git(world.top, "gc", "-q", "--prune=now")
    with Store(Repository.open(world.top)) as store:
        assert [store.raw_commit(one) for one in commits] == before
    assert isinstance(world.verdict(commits[0]), Signed)


# --- commits that git signs


@pytest.mark.parametrize("encoding", ["utf-8", "iso-8859-1"])
def test_we_accept_what_git_signs(world, encoding, tmp_path):
    git, top = world.git, tmp_path / "work"
    git(tmp_path, "clone", "-q", str(world.top), str(top))
    signing = ["-c", "gpg.format=ssh", "-c", f"user.signingKey={world.keys / 'ada'}"]
    note = ["-c", f"i18n.commitEncoding={encoding}", "commit", "-q", "-S", "--allow-empty", "-m", "Grüße"]
    git(top, *signing, *note)
    git(top, "push", "-q", "origin", f"HEAD:{REF}")
    assert isinstance(world.verdict(world.store.tip(REF)), Signed)


def test_a_signed_tag_that_was_merged_is_part_of_what_was_signed(world, tmp_path):
    git, top = world.git, tmp_path / "work"
    git(tmp_path, "clone", "-q", str(world.top), str(top))
    signing = ["-c", "gpg.format=ssh", "-c", f"user.signingKey={world.keys / 'ada'}"]
    git(top, "commit", "-q", "--allow-empty", "-m", "base")
    git(top, "checkout", "-q", "-b", "side")
    git(top, "commit", "-q", "--allow-empty", "-m", "side")
    git(top, *signing, "tag", "-s", "-m", "tagged", "v1")
    git(top, "checkout", "-q", "-")
    git(top, *signing, "merge", "-q", "-S", "--no-ff", "-m", "merged", "v1")
    git(top, "push", "-q", "origin", f"HEAD:{REF}")
    tip = world.store.tip(REF)
    assert b"\nmergetag " in world.store.raw_commit(tip)
    assert isinstance(world.verdict(tip), Signed)


# --- signatures that do not count


def test_an_unsigned_commit_is_reported_as_unsigned(world):
    assert world.verdict(world.commit(None)) == Unsigned()


def test_a_signature_by_a_key_that_is_not_allowed_is_bad(world):
    found = world.verdict(world.commit(world.signer("eve")))
    assert isinstance(found, BadSignature)
    assert f"not allowed, {world.fingerprint('eve')}" in found.why


@pytest.mark.parametrize(
    "change",
    [(b"note", b"nota"), (b"tree ", b"tree 0"), (b"<ada@", b"<eve@"), (b" +0100\ngpgsig", b" +0200\ngpgsig")],
    ids=["message", "tree", "author", "zone"],
)
def test_the_signature_of_a_commit_that_was_changed_afterwards_is_bad(world, change):
    raw = world.store.raw_commit(world.commit(world.signer()))
    if change[0] == b"tree ":
        other = world.git(world.top, "hash-object", "-t", "tree", "-w", "/dev/null")
        changed = re.sub(rb"^tree \w+", b"tree " + other.encode(), raw)
    else:
        changed = raw.replace(*change, 1)
    assert changed != raw
    found = world.verdict(world.store_raw(changed))
    assert isinstance(found, BadSignature)
    assert "incorrect signature" in found.why


def test_a_signature_of_another_commit_is_bad(world):
    first, second = (world.store.raw_commit(world.commit(world.signer(), message=text)) for text in ("a", "b"))
    moved = with_signature(without_signature(first)[0], without_signature(second)[1])
    assert isinstance(world.verdict(world.store_raw(moved)), BadSignature)


def test_a_signature_for_another_purpose_than_git_is_bad(world, tmp_path):
    payload = without_signature(world.store.raw_commit(world.commit(None)))[0]
    (tmp_path / "p").write_bytes(payload)
    argv = ["ssh-keygen", "-q", "-Y", "sign", "-n", "file", "-f", str(world.keys / "ada"), str(tmp_path / "p")]
    subprocess.run(argv, check=True, capture_output=True)
    raw = with_signature(payload, (tmp_path / "p.sig").read_bytes())
    assert isinstance(world.verdict(world.store_raw(raw)), BadSignature)


@pytest.mark.parametrize(
    ("options", "counts"),
    [
        ('valid-before="20260301"', False),
        ('valid-before="20260301120001"', True),
        ('valid-before="20260301115959"', False),
        ('valid-after="20260301120001"', False),
        ('valid-after="20260301115959"', True),
        ('namespaces="file"', False),
        ('namespaces="file,git"', True),
    ],
)
def test_a_key_counts_when_it_was_valid_at_the_time_of_the_commit(world, options, counts):
    world.allow("ada@example.org", "ada", options)
    assert isinstance(world.verdict(world.commit(world.signer())), Signed if counts else BadSignature)


def test_the_times_in_the_file_are_of_the_local_zone(world, monkeypatch):
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        commit = world.commit(world.signer())  # at 07:00 there
        for before, counts in (("20260301070001", True), ("20260301065959", False)):
            world.allow("ada@example.org", "ada", f'valid-before="{before}"')
            assert isinstance(world.verdict(commit), Signed if counts else BadSignature)
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_commit_at_time_0_is_judged_by_the_current_time_as_in_git(world):
    world.allow("ada@example.org", "ada", 'valid-before="20000101"')
    assert isinstance(world.verdict(world.commit(world.signer(), time=0)), BadSignature)
    assert isinstance(world.verdict(world.commit(world.signer(), time=1)), Signed)


@pytest.mark.parametrize("time", ["99999999999999999999", "-5", "soon"])
def test_the_signature_of_a_commit_without_a_valid_time_is_bad(world, time):
    raw = world.store.raw_commit(world.commit(None)).replace(str(NOON).encode(), time.encode())
    signed = with_signature(raw, world.signer().sign(raw))
    assert isinstance(world.allowed().verify(signed), BadSignature)


def test_a_signature_by_a_revoked_key_is_bad(world):
    commit = world.commit(world.signer())
    world.revoked = world.top / "revoked"
    shutil.copy(world.keys / "eve.pub", world.revoked)
    assert isinstance(world.verdict(commit), Signed)
    shutil.copy(world.keys / "ada.pub", world.revoked)
    assert isinstance(world.verdict(commit), BadSignature)


@pytest.mark.parametrize(
    ("armor", "kind"),
    [
        ("-----BEGIN PGP SIGNATURE-----\n\niQ==\n-----END PGP SIGNATURE-----\n", "an OpenPGP signature"),
        ("-----BEGIN SIGNED MESSAGE-----\nMI==\n-----END SIGNED MESSAGE-----\n", "an X.509 signature"),
        ("hello\n", "an unknown kind of signature"),
    ],
)
def test_a_signature_of_another_kind_is_bad_and_the_commit_can_still_be_read(world, armor, kind):
    raw = with_signature(world.store.raw_commit(world.commit(None)), armor.encode())
    commit = world.store_raw(raw)
    assert world.allowed().verify(raw) == BadSignature(f"is {kind}; only SSH signatures are verified")
    assert world.store.commit(commit).message == "note\n\nBaton-Op: x"


def test_a_damaged_signature_is_bad(world):
    raw = world.store.raw_commit(world.commit(world.signer()))
    for damage in (raw.replace(b"\n U1NI", b"\n AAAA"), raw.replace(b"-----END SSH", b"-----ENDE SSH")):
        assert damage != raw
        assert isinstance(world.verdict(world.store_raw(damage)), BadSignature)


@pytest.mark.parametrize(
    "principal", ["ada@example.org,other@example.org", "*@example.org", '"ada lovelace"', "-x", "ädå"]
)
def test_principals_of_every_form_are_accepted(world, principal):
    world.allow(principal, "ada")
    found = world.verdict(world.commit(world.signer()))
    assert isinstance(found, Signed)
    assert found.principal == principal.split(",")[0].strip('"')


@pytest.mark.parametrize("options", ['namespaces="file"', 'valid-before="20200101"', "cert-authority", "nonsense"])
def test_several_entries_for_a_key_count_as_in_git(world, options):
    public = (world.keys / "ada.pub").read_text()
    world.file.write_text(f"a@x {options} {public}b@x {public}")
    world.verdict(world.commit(world.signer()))


# --- signatures that cannot be checked


def test_a_signature_that_cannot_be_checked_is_unknown(world, tmp_path):
    raw = world.store.raw_commit(world.commit(world.signer()))
    assert isinstance(world.allowed().verify(raw), Signed)
    slow, old, killed = (tmp_path / name for name in ("slow", "old", "killed"))
    old.write_text("#!/bin/sh\necho 'usage: ssh-keygen [-q]' >&2\nexit 1\n")
    killed.write_text("#!/bin/sh\nkill -9 $$\n")
    for program in (old, killed):
        program.chmod(0o755)
        found = AllowedSigners(world.file, str(program), os.environ).verify(raw)
        assert isinstance(found, UnknownSigner)
    assert "cannot run" in AllowedSigners(world.file, str(slow), os.environ).verify(raw).why
    missing = AllowedSigners(tmp_path / "none", "ssh-keygen", os.environ).verify(raw)
    assert missing == UnknownSigner(f"cannot read {tmp_path / 'none'}: No such file or directory")
    revoked = AllowedSigners(world.file, "ssh-keygen", os.environ, tmp_path / "none").verify(raw)
    assert isinstance(revoked, UnknownSigner)


def _has_ended(stat):
    """Return whether the process of a file /proc/PID/stat is gone or a zombie; a killed process may take a moment."""
    try:
        return stat.read_text().split()[2] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_a_program_that_hangs_is_killed_with_its_child_processes(world, tmp_path, monkeypatch):
    monkeypatch.setattr(signers, "SECONDS", 0.2)
    program = tmp_path / "hangs"
    program.write_text(f"#!/bin/sh\nsleep 60 & echo $! > {tmp_path}/child\nwait\n")
    program.chmod(0o755)
    raw = world.store.raw_commit(world.commit(world.signer()))
    found = AllowedSigners(world.file, str(program), os.environ).verify(raw)
    assert found == UnknownSigner(f"{program} gave no answer within 0.2 seconds")
    child = Path("/proc") / (tmp_path / "child").read_text().strip() / "stat"
    assert wait_until(lambda: _has_ended(child), 5)


def test_verdicts_are_cached_until_the_file_changes(world, tmp_path):
    counting = tmp_path / "counting"
    counting.write_text(f'#!/bin/sh\necho >> {tmp_path}/runs\nexec ssh-keygen "$@"\n')
    counting.chmod(0o755)
    raw = world.store.raw_commit(world.commit(world.signer()))
    allowed = AllowedSigners(world.file, str(counting), os.environ)
    assert allowed.verify(raw) == allowed.verify(raw)
    assert len((tmp_path / "runs").read_text()) == 2
    world.allow("eve@example.org", "eve")
    assert isinstance(allowed.verify(raw), BadSignature)


# --- keys that cannot sign


@pytest.mark.parametrize(
    ("key", "why", "hint"),
    [
        ("locked", r"locked has a passphrase", r"ssh-add .*/locked"),
        ("nobody", r"No such file or directory", "baton.signingKey"),
        ("../allowed-text", r".", "baton.signingKey"),
    ],
)
def test_a_key_that_cannot_be_used_is_reported_in_one_line(world, key, why, hint):
    with pytest.raises(StoreError, match=why) as caught:
        world.signer(key).sign(b"x")
    assert "\n" not in str(caught.value)
    assert re.search(hint, caught.value.hint)


def test_a_missing_program_leaves_nothing_behind(world):
    draft = world.store.draft()
    signer = Signer(str(world.keys / "ada"), "no-such-program", os.environ)
    with pytest.raises(StoreError, match="cannot run no-such-program: No such file"):
        draft.commit(draft.tree(None, {}), [], author=ADA, time=1, timezone=0, message="m", sign=signer.sign)
    assert len(draft.objects) == 1


def test_no_window_asks_for_a_passphrase(world, tmp_path):
    asks = tmp_path / "asks"
    asks.write_text(f"#!/bin/sh\ntouch {tmp_path}/asked\necho secret\n")
    asks.chmod(0o755)
    windows = {**os.environ, "DISPLAY": ":9", "SSH_ASKPASS": str(asks), "SSH_ASKPASS_REQUIRE": "force"}
    with pytest.raises(StoreError):
        Signer(str(world.keys / "locked"), "ssh-keygen", windows).sign(b"x")
    assert not (tmp_path / "asked").exists()


# --- other ways to name a key


def test_a_leading_tilde_is_the_home_of_the_environment(world):
    signer = Signer("~/ada", "ssh-keygen", {**os.environ, "HOME": str(world.keys)})
    assert isinstance(world.verdict(world.commit(signer)), Signed)


@pytest.fixture
def agent(keys: Path) -> Iterator[dict[str, str]]:
    """Return the environment of an agent that has Ada's key. Its socket has a short path, as sockets require."""
    with tempfile.TemporaryDirectory(prefix="a") as folder:
        environment = {**os.environ, "SSH_AUTH_SOCK": f"{folder}/s"}
        process = subprocess.Popen(
            ["ssh-agent", "-D", "-a", f"{folder}/s"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        try:
            assert process.stdout
            process.stdout.readline()  # it listens before it prints its address
            subprocess.run(["ssh-add", "-q", str(keys / "ada")], env=environment, check=True, capture_output=True)
            yield environment
        finally:
            process.terminate()
            process.wait()
            process.stdout.close()


def test_a_key_that_an_ssh_agent_holds_can_sign(world, agent, tmp_path):
    public = tmp_path / "only.pub"
    shutil.copy(world.keys / "ada.pub", public)
    text = public.read_text().strip()
    for key in (str(public), f"key::{text}", text):
        assert isinstance(world.verdict(world.commit(Signer(key, "ssh-keygen", agent))), Signed), key
    other = (world.keys / "eve.pub").read_text()
    with pytest.raises(StoreError, match="cannot sign the commit"):
        Signer(f"key::{other}", "ssh-keygen", agent).sign(b"x")


def test_an_ssh_agent_cannot_confirm_for_a_person(keys, agent, tmp_path):
    key, askpass = str(keys / "locked"), tmp_path / "askpass"
    askpass.write_text("#!/bin/sh\necho secret\n")
    askpass.chmod(0o755)
    answering = {**agent, "SSH_ASKPASS": str(askpass), "SSH_ASKPASS_REQUIRE": "force"}
    subprocess.run(["ssh-add", "-q", key], env=answering, check=True, capture_output=True)
    assert Signer(key, "ssh-keygen", agent).sign(b"x")
    with pytest.raises(StoreError, match="gave no signature"):
        PersonalSigner(key, {**answering, "SSH_ASKPASS": "false"}).sign(b"x")
    assert PersonalSigner(key, answering).sign(b"x")


# --- the header


armored = st.lists(st.binary(max_size=9).map(lambda raw: raw.replace(b"\n", b"")), min_size=1, max_size=5).map(
    lambda lines: b"-----BEGIN SSH SIGNATURE-----\n" + b"\n".join(lines) + b"\n-----END\n"
)


@given(armored, st.binary(), st.sampled_from([40, 64]))
def test_adding_and_removing_a_signature_round_trips(signature, message, digits):
    payload = b"tree " + b"a" * digits + b"\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\n" + message
    signed = with_signature(payload, signature)
    assert without_signature(signed) == (payload, signature)
    assert without_signature(payload) == (payload, None)
    key = b"\ngpgsig " if digits == 40 else b"\ngpgsig-sha256 "
    assert key in signed


def test_a_signature_for_ids_of_the_other_kind_belongs_neither_to_the_payload_nor_to_the_signature():
    head = b"tree " + b"a" * 40 + b"\nauthor A <a@b> 1 +0000\n"
    raw = head + b"gpgsig-sha256 x\n y\ngpgsig -----B\n c\nother d\n e\n\nm\n"
    assert without_signature(raw) == (head + b"other d\n e\n\nm\n", b"-----B\nc\n")
