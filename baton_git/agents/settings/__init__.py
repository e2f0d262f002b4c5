"""Add our hooks, skills and MCP server to the files of agent CLIs, and remove them; every other byte stays unchanged.

For JSON files, `json_text` locates the values in a text, `editing` inserts and removes items, `entries` recognises our
hooks, and `settings_file` writes the file and keeps a copy of the original. `added_text` adds text to other files, and
`report` describes the state of an installation.
"""
