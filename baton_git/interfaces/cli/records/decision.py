"""Command-line additions to the verbs of decisions: paths relative to the current folder."""

from __future__ import annotations

from baton_git.interfaces.cli.app import fill_about
from baton_git.interfaces.cli.verb_command import Addition

ADDITIONS = {
    "decision add": Addition(fill=fill_about),
    "decision anchor": Addition(fill=fill_about),
}
