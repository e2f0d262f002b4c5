"""The facts of a session that a compaction of its context loses, read from its transcript and its repository."""

from baton_git.agents.extraction.extracting import Extraction, extract
from baton_git.agents.extraction.options import FACTS, Options, parse_options

__all__ = ["FACTS", "Extraction", "Options", "extract", "parse_options"]
