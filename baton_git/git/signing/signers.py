"""Sign commits with `ssh-keygen -Y`: with the user's key (`Signer`), or one that needs a person (`PersonalSigner`)."""

from __future__ import annotations

import base64
import binascii
import os
import re
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from baton_git.core.errors import Busy, NeedsHuman, StoreError
from baton_git.core.output import one_line
from baton_git.git import child_process

SECONDS: Final = 10.0
"""Time limit of `run`, in seconds. It includes the touch of a hardware key."""

PERSON_SECONDS: Final = 120.0
"""Time limit of `ask`, in seconds, for a person to enter a passphrase or touch a key."""

NAMESPACE: Final = ("-n", "git")
"""The arguments that select the namespace of git's signatures."""

_TOO_OLD = re.compile(rb"usage:|(?:invalid|unknown|illegal|unrecognized) option", re.IGNORECASE)
_GOOD = re.compile(rb'Good "git" signature .* key (\S+)\s*\Z')
_LINE_LIMIT: Final = 200

# --- run ssh-keygen with a time limit: `run` prevents prompts, `ask` allows them


class NoAnswer(Exception):
    """The program is missing, does not support the operation, was killed, or took too long."""


class KeygenResult(NamedTuple):
    """The exit status and the output of a completed run."""

    status: int
    out: bytes
    stderr: bytes

    @property
    def good_key(self) -> str | None:
        """The fingerprint of the key if the run verified a signature as good, else None."""
        match = _GOOD.match(self.out) if self.status == 0 else None
        return match[1].decode("ascii", "replace") if match else None

    @property
    def last_line(self) -> str:
        """The last non-empty line of stderr, without control characters, for terminals and records."""
        lines = self.stderr.decode("utf-8", "replace").splitlines()
        shown = (one_line(line, len(line))[:_LINE_LIMIT] for line in reversed(lines))
        return next((line for line in shown if line), "no error message")


def run(argv: Sequence[str | bytes], environment: Mapping[str, str], stdin: bytes = b"") -> KeygenResult:
    """Run ssh-keygen, or a replacement, without prompts and with the input `stdin`.

    Raises:
        NoAnswer: the program did not start, was killed, took too long, or is too old.
    """
    program = os.fsdecode(argv[0])
    # No prompts in windows: SSH_ASKPASS_REQUIRE for newer versions, and a failing SSH_ASKPASS for older ones.
    quiet = {**environment, "SSH_ASKPASS_REQUIRE": "never", "SSH_ASKPASS": "false"}
    try:
        done = child_process.run(argv, quiet, None, SECONDS, stdin=stdin)
    except (OSError, ValueError) as error:
        raise NoAnswer(f"cannot run {program}: {getattr(error, 'strerror', None) or error}") from error
    if done is None:
        raise NoAnswer(f"{program} gave no answer within {SECONDS:g} seconds")
    ran = KeygenResult(*done)
    if ran.status < 0:
        raise NoAnswer(f"{program} was ended by {signal.Signals(-ran.status).name}")
    if ran.status and _TOO_OLD.search(ran.stderr):
        raise NoAnswer(f"{program} cannot do this; OpenSSH 8.8 or newer is needed")
    return ran


def ask(argv: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run ssh-keygen so that it can prompt the user on the terminal or, without one, with SSH_ASKPASS.

    ssh-keygen writes to the stderr of this process.

    Returns:
        The exit status.

    Raises:
        NoAnswer: the program did not start, or the user did not respond in time.
    """
    try:
        done = subprocess.run(  # noqa: S603  the key is a setting of the user
            argv, env=dict(environment), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=PERSON_SECONDS,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise NoAnswer(f"no response to the prompt of {argv[0]} within {PERSON_SECONDS:g} seconds") from None
    except OSError as error:
        raise NoAnswer(f"cannot run {argv[0]}: {error.strerror or error}") from error
    return done.returncode


# --- the user's key

ARMOR: Final = b"-----BEGIN SSH SIGNATURE-----"
_HINT: Final = (
    "check baton.signingKey and gpg.ssh.program in the git configuration, and the keys in the ssh agent: ssh-add -L"
)


@dataclass(frozen=True)
class Signer:
    """Signs with one key.

    Attributes:
        key: a value as in git's `user.signingKey`: the file of a private key, or the file or text
            (`key::ssh-ed25519 AAAA…`) of a public key whose private key is in the ssh agent. `~/` at the start means
            the folder HOME of `environment`.
        program: ssh-keygen, or the program in `gpg.ssh.program`.
        environment: complete environment of the program.
    """

    key: str
    program: str
    environment: Mapping[str, str]

    def sign(self, payload: bytes) -> bytes:
        """Return the armored signature of the bytes of a commit, for `ObjectDraft.commit(sign=…)`.

        Raises:
            StoreError: the program is missing or took too long; or the key does not exist, is not in the ssh agent, or
                has a passphrase.
        """
        try:
            with TemporaryDirectory(prefix="baton-sign-") as folder:
                ran, signature = self._sign_file(Path(folder), payload)
        except (NoAnswer, OSError) as error:
            raise _cannot(str(error)) from error
        if signature.startswith(ARMOR):
            return signature.replace(b"\r\n", b"\n")
        if b"incorrect passphrase" in ran.stderr:
            raise _cannot(f"{self.key} has a passphrase", f"run: ssh-add {self.key.removesuffix('.pub')}")
        raise _cannot(f"{self.program}: {ran.last_line}")

    def _sign_file(self, folder: Path, payload: bytes) -> tuple[KeygenResult, bytes]:
        """Sign a file, as git does: replacements of ssh-keygen do not support signing stdin."""
        target = folder / "payload"
        target.write_bytes(payload)
        home = self.environment.get("HOME")
        key = ["-f", f"{home}/{self.key[2:]}" if home and self.key.startswith("~/") else self.key]
        if self.key.startswith(("key::", "ssh-")):
            (folder / "key.pub").write_text(f"{self.key.removeprefix('key::')}\n")
            key = ["-f", str(folder / "key.pub"), "-U"]
        ran = run([self.program, "-Y", "sign", *NAMESPACE, *key, str(target)], self.environment)
        return ran, (folder / "payload.sig").read_bytes() if ran.status == 0 else b""


def _cannot(why: str, hint: str = _HINT) -> StoreError:
    return StoreError(f"cannot sign the commit: {why}", hint=hint)


# --- a key that needs a person, who must touch it or enter its passphrase
#     key                               how a person is needed
#     sk-ssh-…, sk-ecdsa-… (hardware)   the signature records that the key was touched
#     an encrypted private key          ssh-keygen prompts for the passphrase; the ssh agent is not used
# The formats are specified in OpenSSH's `PROTOCOL.sshsig` (signatures) and `PROTOCOL.key` (private keys).

_MAGIC: Final = b"openssh-key-v1\0"
_TOUCHED: Final = 0x01
"""Flag in the signature of a hardware key: the key was touched (user presence)."""


@dataclass
class PersonalSigner:
    """Signs a single commit.

    Attributes:
        key: the file of a key, or the text of a hardware key's public key; in the same form as `Signer.key`.
        environment: complete environment of ssh-keygen.
    """

    key: str
    environment: Mapping[str, str]
    _is_used: bool = field(default=False, init=False)

    def check(self) -> None:
        """Check the key before prompting the user.

        Raises:
            NeedsHuman: the key needs neither a touch nor a passphrase.
            StoreError: the key cannot be read.
        """
        if not (self._needs_touch() or (not self._literal and is_encrypted(_read(self._private)))):
            raise NeedsHuman(
                f"{self.key[:80]} needs neither a touch nor a passphrase, so an agent could sign with it, too",
                hint="create one that does: ssh-keygen -t ed25519-sk, or ssh-keygen -p -f KEY for a passphrase",
            )

    def sign(self, payload: bytes) -> bytes:
        """Return the armored signature of the bytes of a commit; ssh-keygen prompts on the terminal or in a window.

        Raises:
            NeedsHuman: like `check`, or the hardware key signed without a touch.
            Busy: this signer was already used; a concurrent write has changed the commit since.
            StoreError: ssh-keygen failed, or the key cannot be read.
        """
        if self._is_used:
            raise Busy("the branch changed while you signed, so nothing was written", hint="run it again")
        self._is_used = True
        self.check()
        signature = self._sign_payload(payload)
        if self._needs_touch() and not is_touched(signature):
            raise NeedsHuman(
                f"{self.key[:80]} signed without a touch",
                hint="use a key that was created without the option no-touch-required",
            )
        return signature

    def _sign_payload(self, payload: bytes) -> bytes:
        try:
            with TemporaryDirectory(prefix="baton-sign-") as folder:
                target = Path(folder) / "payload"
                target.write_bytes(payload)
                argv = ["ssh-keygen", "-Y", "sign", *NAMESPACE, *self._key_options(Path(folder)), str(target)]
                # The ssh agent would not prompt for the passphrase of a key.
                hidden = () if self._needs_touch() else ("SSH_AUTH_SOCK",)
                status = ask(argv, {name: text for name, text in self.environment.items() if name not in hidden})
                signature = (Path(folder) / "payload.sig").read_bytes() if status == 0 else b""
        except (NoAnswer, OSError) as error:
            raise StoreError(f"cannot sign the commit: {error}", hint="nothing was written") from error
        if not signature.startswith(ARMOR):
            raise StoreError("cannot sign the commit: ssh-keygen gave no signature", hint="nothing was written")
        return signature.replace(b"\r\n", b"\n")

    def _key_options(self, folder: Path) -> list[str]:
        if self._literal:
            (folder / "key.pub").write_text(f"{self._literal}\n")
            return ["-f", str(folder / "key.pub"), "-U"]
        return ["-f", str(self._private if self._private.is_file() else self._public)]

    @property
    def _literal(self) -> str:
        return self.key.removeprefix("key::") if self.key.startswith(("key::", "ssh-", "sk-")) else ""

    @property
    def _private(self) -> Path:
        home = self.environment.get("HOME")
        key = f"{home}/{self.key[2:]}" if home and self.key.startswith("~/") else self.key
        return Path(key.removesuffix(".pub"))

    @property
    def _public(self) -> Path:
        return self._private.with_name(f"{self._private.name}.pub")

    def _needs_touch(self) -> bool:
        text = self._literal or (_read(self._public).decode("utf-8", "replace") if self._public.is_file() else "")
        return text.startswith("sk-")


def is_encrypted(private: bytes) -> bool:
    """Return whether the file of a private key needs a passphrase; False if it is not a private key."""
    if b"\nProc-Type: 4,ENCRYPTED" in private or b"-----BEGIN ENCRYPTED PRIVATE KEY-----" in private:
        return True
    body = _decode_armor(private, b"OPENSSH PRIVATE KEY")
    if not body.startswith(_MAGIC):
        return False
    cipher, _ = _string(body[len(_MAGIC) :])
    return cipher not in (b"", b"none")


def is_touched(signature: bytes) -> bool:
    """Return whether a signature records the touch of a hardware key; False for other keys."""
    rest = _decode_armor(signature, b"SSH SIGNATURE")
    if not rest.startswith(b"SSHSIG"):
        return False
    rest = rest[10:]  # after "SSHSIG" and the version, which has four bytes
    for _ in ("public key", "namespace", "reserved", "hash"):
        _, rest = _string(rest)
    inner, _ = _string(rest)
    kind, inner = _string(inner)
    _, flags = _string(inner)
    return kind.startswith(b"sk-") and len(flags) == 5 and bool(flags[0] & _TOUCHED)


def _decode_armor(text: bytes, name: bytes) -> bytes:
    _, _, rest = text.partition(b"-----BEGIN " + name + b"-----")
    body, _, _ = rest.partition(b"-----END")
    try:
        return base64.b64decode(b"".join(body.split()), validate=True)
    except binascii.Error:
        return b""


def _string(data: bytes) -> tuple[bytes, bytes]:
    """Parse a string of SSH's binary format; return it and the data after it."""
    end = 4 + int.from_bytes(data[:4], "big")
    return data[4:end], data[end:]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()[: 1 << 20]
    except OSError as error:
        hint = "check git config baton.signingKey"
        raise StoreError(f"cannot read the key {path}: {error.strerror or error}", hint=hint) from error
