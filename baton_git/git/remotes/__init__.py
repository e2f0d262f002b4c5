"""Remotes: fetch branches, and push with compare-and-swap, without prompts and within a time limit.

All work is done by the git program, so the user's credentials, ssh settings and proxies apply. Modules that are slow
to import are imported on demand.
"""

from baton_git.git.remotes.error_messages import (
    Push,
    PushAccepted,
    PushOutcome,
    PushOvertaken,
    PushRefused,
    mask_logins,
)
from baton_git.git.remotes.git_command import Progress, SshSettings
from baton_git.git.remotes.opening import ConfiguredRemotes, open_remote, remote_address, remote_names
from baton_git.git.remotes.quarantine import FetchLimits, Quarantine
from baton_git.git.remotes.remote import Depth, Remote

__all__ = [
    "ConfiguredRemotes",
    "Depth",
    "FetchLimits",
    "Progress",
    "Push",
    "PushAccepted",
    "PushOutcome",
    "PushOvertaken",
    "PushRefused",
    "Quarantine",
    "Remote",
    "SshSettings",
    "mask_logins",
    "open_remote",
    "remote_address",
    "remote_names",
]  # fmt: skip
