"""The agent CLIs: their transcripts as one stream of events, their hooks, settings and launchers.

One folder per agent's CLI, with what is particular to it; `registry.AGENTS` lists them.
"""
