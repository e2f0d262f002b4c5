"""Create and verify SSH signatures of commits with `ssh-keygen`, compatible with git."""

from baton_git.git.signing.allowed import AllowedSigners, BadSignature, Signed, UnknownSigner, Unsigned, Verdict
from baton_git.git.signing.personal import PersonalSigner
from baton_git.git.signing.signer import Signer

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
