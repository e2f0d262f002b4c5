"""Sign commits with the user's SSH key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from baton_git.core.errors import StoreError
from baton_git.git.signing.keygen import NAMESPACE, KeygenResult, NoAnswer, run

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
        key = ["-f", self._path()]
        if literal := self._literal():
            (folder / "key.pub").write_text(f"{literal}\n")
            key = ["-f", str(folder / "key.pub"), "-U"]
        ran = run([self.program, "-Y", "sign", *NAMESPACE, *key, str(target)], self.environment)
        return ran, (folder / "payload.sig").read_bytes() if ran.status == 0 else b""

    def _literal(self) -> str | None:
        return self.key.removeprefix("key::") if self.key.startswith(("key::", "ssh-")) else None

    def _path(self) -> str:
        home = self.environment.get("HOME")
        return f"{home}/{self.key[2:]}" if home and self.key.startswith("~/") else self.key


def _cannot(why: str, hint: str = _HINT) -> StoreError:
    return StoreError(f"cannot sign the commit: {why}", hint=hint)
