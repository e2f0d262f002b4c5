"""The registry of check methods: a new one is a module in `checks/` of its name, and a line here."""

CHECK_METHODS = {
    "http": "url",
    "file_exists": "path",
    "process_running": "process_name",
    "manual": "note",
    "command": "argv",
    "git_commit": "commit",
    "port_open": "port",
}
"""By method, the field of a `VerifySpec` that says what is checked."""

USAGE = "method: " + ", ".join(f"{method}+{field}" for method, field in CHECK_METHODS.items())
"""The methods with their fields, in a line."""
