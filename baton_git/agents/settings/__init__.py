"""The settings files of the agents' CLIs: our hooks put in and taken out, nothing else touched, to the byte.

`json_text` knows where in a text each value stands, `editing` puts entries in and takes them out, `entries` knows
which are ours, `keeping` writes the file and remembers what it was, `reporting` says how things stand.
"""
