"""Git hooks next to those of others: install, chain, upgrade, report and take away.

What is installed are the scripts of the top-level `hooks/git/`, a few lines of shell that find out without starting
a program whether there is anything to do. Nothing of baton relies on them alone.
"""

from baton_git.githooks.git import Git
from baton_git.githooks.installing import Report, install, uninstall
from baton_git.githooks.place import CLIENT, EVENTS, SERVER, Place, events_for
from baton_git.githooks.reporting import EventState, status

__all__ = [
    "CLIENT", "EVENTS", "SERVER", "EventState", "Git", "Place", "Report", "events_for", "install", "status",
    "uninstall",
]  # fmt: skip
