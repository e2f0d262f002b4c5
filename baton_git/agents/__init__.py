"""The coding agents' command lines: what their transcripts say, as one stream of events for all of them.

One folder per agent's CLI, with what is particular to it; `registry.AGENTS` lists them.
"""
