"""The coding agents' command lines: what their transcripts say, as one stream of events for all of them.

One folder per agent, each with `events`, `sessions` and `recognises`; `all_agents.AGENTS` lists them.
"""
