"""What the user of this machine approved for one repository: commands, checks of others, workflows and remotes."""

from baton_git.checks.approvals.approvals import Approvals, ApprovedCheck, ApprovedCommand, TrustedRemote
from baton_git.checks.approvals.contents import Contents, contents_of
from baton_git.checks.approvals.remotes import without_login

__all__ = ["Approvals", "ApprovedCheck", "ApprovedCommand", "Contents", "TrustedRemote", "contents_of", "without_login"]
