"""Importers and exporters: the state that other programs keep, read as it is and written as they would.

One package or module per program. Each function works on the paths it is given and on nothing else; what is read
is handed on as plain data, and an operation writes it into the store of this program.
"""
