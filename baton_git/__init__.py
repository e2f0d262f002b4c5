"""The memory between sessions of AI coding agents, kept as small text files in git."""

__version__ = "0.1.0"
