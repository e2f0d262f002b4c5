"""Other repositories: fetch branches from them, push with a compare-and-swap; never asking, never for ever.

The git program does it, with everything that the user has set up for it. Nothing heavy is loaded before it is needed.
"""

from baton_git.git.remotes.configured import Configured
from baton_git.git.remotes.error_messages import mask_logins
from baton_git.git.remotes.git_command import Progress
from baton_git.git.remotes.opening import open_remote, remote_address, remote_names
from baton_git.git.remotes.quarantine import FetchLimits, Quarantine
from baton_git.git.remotes.remote import Push, PushAccepted, PushOutcome, PushOvertaken, PushRefused, Remote
from baton_git.git.remotes.ssh import SshSettings

__all__ = [
    "Configured",
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
