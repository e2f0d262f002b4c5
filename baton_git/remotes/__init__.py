"""Other repositories: fetch branches from them, push with a compare-and-swap; never asking, never for ever.

Two drivers of one `Remote`: the git program, with everything that the user has set up for it, and dulwich for machines
without one. Nothing heavy is loaded before it is needed.
"""

from baton_git.remotes.complaints import masked
from baton_git.remotes.opening import open_remote, remote_names, remote_url
from baton_git.remotes.remote import Accepted, Outcome, Overtaken, Progress, Push, Refused, Remote

__all__ = [
    "Accepted", "Outcome", "Overtaken", "Progress", "Push", "Refused", "Remote", "masked", "open_remote",
    "remote_names", "remote_url",
]  # fmt: skip
