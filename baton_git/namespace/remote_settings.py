"""The user's settings for remotes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from baton_git.git.store import CommitInfo, Store
from baton_git.namespace.ingest.budget import STANDARD, Limits

if TYPE_CHECKING:
    from baton_git.git.signing import AllowedSigners


class RemoteSettings(NamedTuple):
    """The user's settings for remotes.

    Attributes:
        remote: the default remote for syncs (git config baton.remote).
        automatic: whether sessions receive automatically (baton.autosync).
        sends: whether they also send automatically.
        pushes_at_end: whether the hook at a session's end sends, too, before it returns (baton.pushAtEnd).
        remotes: the names of the configured remotes; None to look them up when needed.
        ssh: core.sshCommand and ssh.variant, if `remotes` is given.
        policies: by name of a remote, the value of its setting remote.<name>.batonPolicy.
        signers: the keys whose signatures are accepted (baton.allowedSigners); None if not configured.
        git_signers: the keys that git accepts (gpg.ssh.allowedSignersFile), if `signers` is None. Their signatures
            vouch, but nothing needs a signature because of them, except commits of a remote with the policy `signed`.
        progress: called with the progress messages of git.
        limits: the limits of fetches and pushes.
        lanes: the remotes to which this machine also sends by lanes (remote.<name>.batonLanes).
    """

    remote: str | None = None
    automatic: bool = True
    remotes: tuple[str, ...] | None = None
    ssh: tuple[str | None, str | None] = (None, None)
    policies: Mapping[str, str] = MappingProxyType({})
    signers: AllowedSigners | None = None
    progress: Callable[[str], None] | None = None
    limits: Limits = STANDARD
    sends: bool = True
    lanes: frozenset[str] = frozenset()
    pushes_at_end: bool = False
    git_signers: AllowedSigners | None = None

    def signature_check(self, store: Store, *, with_git: bool = False) -> Callable[[CommitInfo], bool] | None:
        """Return a function that tells whether a commit in `store` is signed by an allowed key.

        Args:
            with_git: whether the keys that git accepts count if no others are configured.

        Returns:
            None if no keys are configured.
        """
        signers = self.signers or (self.git_signers if with_git else None)
        if signers is None:
            return None
        from baton_git.git.signing import Signed  # rarely configured; importing it would slow down every start

        return lambda info: isinstance(signers.verify(store.raw_commit(info.oid)), Signed)
