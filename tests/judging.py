"""Provenance labels for tests that need some: every record was written by an agent on this machine."""

from typing import Any, cast

from baton_git.namespace.caller import Vouching
from baton_git.namespace.provenance.judgement import Judgement
from baton_git.namespace.provenance.labels import Labels

AGENTS = Judgement(Labels(cast("Any", None), None, Vouching()))
