"""Other repositories: fetch branches from them, push with a compare-and-swap; never asking, never for ever.

The git program does it, with everything that the user has set up for it. Nothing heavy is loaded before it is needed.
"""

from baton_git.git.remotes.configured import Configured
from baton_git.git.remotes.error_messages import masked
from baton_git.git.remotes.git_command import Progress
from baton_git.git.remotes.opening import open_remote, remote_address, remote_names
from baton_git.git.remotes.quarantine import Limits, Quarantine
from baton_git.git.remotes.remote import Accepted, Outcome, Overtaken, Push, Refused, Remote
from baton_git.git.remotes.ssh import SshSettings

__all__ = [
    "Accepted", "Configured", "Limits", "Outcome", "Overtaken", "Progress", "Push", "Quarantine", "Refused", "Remote",
    "SshSettings", "masked", "open_remote", "remote_address", "remote_names",
]  # fmt: skip
