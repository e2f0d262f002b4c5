"""Approvals of the user on this machine for one repository: commands, checks written elsewhere, and remotes."""

from baton_git.checks.approvals.approvals import Approvals, ApprovedCheck, ApprovedCommand, TrustedRemote
from baton_git.checks.approvals.contents import Contents, contents_of
from baton_git.checks.approvals.remotes import without_login

__all__ = ["Approvals", "ApprovedCheck", "ApprovedCommand", "Contents", "TrustedRemote", "contents_of", "without_login"]
