"""Create and verify SSH signatures of commits with `ssh-keygen`, compatible with git."""

from baton_git.git.signing.allowed import AllowedSigners, BadSignature, Signed, UnknownSigner, Unsigned, Verdict
from baton_git.git.signing.signers import PersonalSigner, Signer

__all__ = [
    "AllowedSigners",
    "BadSignature",
    "PersonalSigner",
    "Signed",
    "Signer",
    "UnknownSigner",
    "Unsigned",
    "Verdict",
]
