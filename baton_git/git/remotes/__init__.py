"""Remotes: fetch branches, and push with compare-and-swap, without prompts and within a time limit.

All work is done by the git program, so the user's credentials, ssh settings and proxies apply. Modules that are slow
to import are imported on demand.
"""

from baton_git.git.remotes.configured import ConfiguredRemotes
from baton_git.git.remotes.error_messages import mask_logins
from baton_git.git.remotes.git_command import Progress
from baton_git.git.remotes.opening import open_remote, remote_address, remote_names
from baton_git.git.remotes.push_outcome import Push, PushAccepted, PushOutcome, PushOvertaken, PushRefused
from baton_git.git.remotes.quarantine import FetchLimits, Quarantine
from baton_git.git.remotes.remote import Depth, Remote
from baton_git.git.remotes.ssh import SshSettings

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
