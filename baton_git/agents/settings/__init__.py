"""Add our hooks, skills and MCP server to the files of agent CLIs, and remove them; every other byte stays unchanged.

For JSON files, `json_text` locates the values in a text, and inserts and removes items; `entries` recognises our hooks,
and `settings_file` writes the file and keeps a copy of the original. `agent_tools` adds skills and the MCP server, and
`report` describes the state of an installation.
"""
