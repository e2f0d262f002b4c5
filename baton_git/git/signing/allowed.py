"""Verify that a commit is signed with an allowed key.

    verify(commit) = Signed(principal, fingerprint)   the key was allowed when the commit was made
                   | Unsigned()
                   | BadSignature(why)                the signature or its key is not accepted
                   | UnknownSigner(why)               the signature could not be verified; never counts as signed

As in git, the time of a commit is its committer time. The owner of an expired key can therefore still sign commits with
an older time. A stolen key must be removed from the file of allowed signers, or revoked.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from baton_git.git.objects.values import without_signature
from baton_git.git.signing.signers import ARMOR, NAMESPACE, KeygenResult, NoAnswer, run

_COMMITTED = re.compile(rb"^committer .*> (\d+) [+-]\d+$", re.MULTILINE)
_FOREIGN: Final = {b"-----BEGIN PGP ": "an OpenPGP", b"-----BEGIN SIGNED MESSAGE-----": "an X.509"}


@dataclass(frozen=True, slots=True)
class Signed:
    """The commit is signed by `principal`, a name in the file of allowed signers; `fingerprint` is that of the key."""

    principal: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Unsigned:
    """The commit has no signature."""


@dataclass(frozen=True, slots=True)
class BadSignature:
    """The signature is invalid or not acceptable; `why` completes a sentence that begins with "the signature"."""

    why: str


@dataclass(frozen=True, slots=True)
class UnknownSigner:
    """The signature could not be verified; `why` is the reason."""

    why: str


Verdict = Signed | Unsigned | BadSignature | UnknownSigner


@dataclass(frozen=True)
class AllowedSigners:
    """The allowed signers. Verdicts are cached until one of the files changes.

    Attributes:
        file: git's `gpg.ssh.allowedSignersFile`.
        program: ssh-keygen, or the program in `gpg.ssh.program`.
        environment: complete environment of the program.
        revoked: git's `gpg.ssh.revocationFile`, a list of revoked keys or a KRL.
    """

    file: Path
    program: str
    environment: Mapping[str, str]
    revoked: Path | None = None
    _verdicts: dict[bytes, Verdict] = field(default_factory=dict, init=False, repr=False, compare=False)

    def verify(self, raw_commit: bytes) -> Verdict:
        """Verify the signature of a commit, given the bytes from `Store.raw_commit`."""
        payload, signature = without_signature(raw_commit)
        if signature is None:
            return Unsigned()
        if not signature.startswith(ARMOR):
            named = (kind for armor, kind in _FOREIGN.items() if signature.startswith(armor))
            kind = next(named, "an unknown kind of")
            return BadSignature(f"is {kind} signature; only SSH signatures are verified")
        when = _verify_time(payload)
        if when is None:
            return BadSignature("is on a commit without a valid time")
        try:
            revoked = None if self.revoked is None else self.revoked.read_bytes()
            case = _VerifyInput(payload, signature, self.file.read_bytes(), revoked)
        except OSError as error:
            return UnknownSigner(f"cannot read {error.filename}: {error.strerror}")
        return self._verdicts.get(case.digest) or self._verify_files(case, when)

    def _verify_files(self, case: _VerifyInput, when: Sequence[str]) -> Verdict:
        try:
            with TemporaryDirectory(prefix="baton-verify-") as folder:
                verdict = self._judge(case, case.write_files(Path(folder)), when)
        except (NoAnswer, OSError) as error:
            return UnknownSigner(str(error))  # not cached, because the next attempt may succeed
        self._verdicts[case.digest] = verdict
        return verdict

    def _judge(self, case: _VerifyInput, files: _FileOptions, when: Sequence[str]) -> Verdict:
        """Find the principals of the key, and verify the signature for each of them, like git."""
        principals = self._run("find-principals", *files.allowed, *files.signature, *when)
        why = principals.last_line
        for principal in principals.out.splitlines() if principals.status == 0 else ():
            options = (*NAMESPACE, *files.allowed, *files.revoked, *files.signature, *when)
            ran = self._run("verify", "-I", principal, *options, stdin=case.payload)
            if ran.good_key:
                return Signed(principal.decode("utf-8", "replace"), ran.good_key)
            why = ran.last_line
        good = self._run("check-novalidate", *NAMESPACE, *files.signature, *when, stdin=case.payload).good_key
        return BadSignature(f"is by a key that is not allowed, {good} ({why})" if good else f"is invalid ({why})")

    def _run(self, operation: str, *words: str | bytes, stdin: bytes = b"") -> KeygenResult:
        return run([self.program, "-Y", operation, *words], self.environment, stdin)


class _FileOptions(NamedTuple):
    """The options with which ssh-keygen gets each file."""

    signature: tuple[str, str]
    allowed: tuple[str, str]
    revoked: tuple[str, ...]


class _VerifyInput(NamedTuple):
    """The input of a verification. Files are copied, so that they cannot change between two runs of ssh-keygen."""

    payload: bytes
    signature: bytes
    allowed: bytes
    revoked: bytes | None

    @property
    def digest(self) -> bytes:
        parts = (hashlib.sha256(part or b"").digest() for part in self)
        return hashlib.sha256(b"".join(parts)).digest()

    def write_files(self, folder: Path) -> _FileOptions:
        signature, allowed, revoked = folder / "signature", folder / "allowed_signers", folder / "revoked"
        signature.write_bytes(self.signature)
        allowed.write_bytes(self.allowed)
        if self.revoked is not None:
            revoked.write_bytes(self.revoked)
        return _FileOptions(
            ("-s", str(signature)), ("-f", str(allowed)), () if self.revoked is None else ("-r", str(revoked))
        )  # fmt: skip


def _verify_time(payload: bytes) -> tuple[str, ...] | None:
    """Return the ssh-keygen option for the time at which the key must have been valid; None if it cannot be parsed.

    The time is in the local time zone, like the times in the file of allowed signers; OpenSSH before 9.1 supports no
    other. As in git, the time 0 means the current time.
    """
    match = _COMMITTED.search(payload.partition(b"\n\n")[0])
    try:
        seconds = int(match[1]) if match else -1
        when = datetime.fromtimestamp(seconds)
    except (ValueError, OverflowError, OSError):
        return None
    if seconds < 0:
        return None
    return ("-O", f"verify-time={when:%Y%m%d%H%M%S}") if seconds else ()
