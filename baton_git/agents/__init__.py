"""The agent CLIs: their transcripts as one stream of events, their hooks, settings and launchers.

Each agent CLI has a folder with everything specific to it; `registry.AGENTS` lists them.
"""
