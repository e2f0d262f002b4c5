"""Signatures that need a person: with a hardware key that must be touched, or a passphrase that must be entered.

    key                               how a person is needed
    sk-ssh-…, sk-ecdsa-… (hardware)   the signature records that the key was touched
    an encrypted private key          ssh-keygen prompts for the passphrase; the ssh agent is not used

The formats are specified in OpenSSH's `PROTOCOL.sshsig` (signatures) and `PROTOCOL.key` (private keys).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from baton_git.core.errors import Busy, NeedsHuman, StoreError
from baton_git.git.signing.keygen import NAMESPACE, NoAnswer, ask
from baton_git.git.signing.signer import ARMOR

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
        if not (self._needs_touch() or self._needs_passphrase()):
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
                status = ask(argv, self._environment())
                signature = (Path(folder) / "payload.sig").read_bytes() if status == 0 else b""
        except (NoAnswer, OSError) as error:
            raise StoreError(f"cannot sign the commit: {error}", hint="nothing was written") from error
        if not signature.startswith(ARMOR):
            raise StoreError("cannot sign the commit: ssh-keygen gave no signature", hint="nothing was written")
        return signature.replace(b"\r\n", b"\n")

    def _environment(self) -> dict[str, str]:
        """Return the environment, without the ssh agent for a key with a passphrase: the agent would not prompt."""
        hidden = () if self._needs_touch() else ("SSH_AUTH_SOCK",)
        return {name: value for name, value in self.environment.items() if name not in hidden}

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

    def _needs_passphrase(self) -> bool:
        return not self._literal and is_encrypted(_read(self._private))


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
