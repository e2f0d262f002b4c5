"""Other repositories: fetch branches from them, push with a compare-and-swap; never asking, never for ever.

The git program does it, with everything that the user has set up for it. Nothing heavy is loaded before it is needed.
"""

from baton_git.remotes.complaints import masked
from baton_git.remotes.configured import Configured
from baton_git.remotes.opening import open_remote, remote_address, remote_names
from baton_git.remotes.remote import Accepted, Outcome, Overtaken, Progress, Push, Refused, Remote
from baton_git.remotes.ssh import SshSettings

__all__ = [
    "Accepted", "Configured", "Outcome", "Overtaken", "Progress", "Push", "Refused", "Remote", "SshSettings", "masked",
    "open_remote", "remote_address", "remote_names",
]  # fmt: skip
