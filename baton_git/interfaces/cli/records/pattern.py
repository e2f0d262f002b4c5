"""Command-line additions to the verbs of patterns: paths relative to the current folder."""

from __future__ import annotations

from baton_git.interfaces.cli.app import fill_about
from baton_git.interfaces.cli.verb_command import Addition

ADDITIONS = {
    "pattern record": Addition(fill=fill_about),
    "pattern anchor": Addition(fill=fill_about),
}
