"""Add our hooks to the settings files of agent CLIs and remove them, leaving every other byte unchanged.

`json_text` locates the values in a text, `editing` inserts and removes items, `entries` recognises our hooks,
`settings_file` writes the file and keeps a copy of the original, and `report` describes the state of an installation.
"""
