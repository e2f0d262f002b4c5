"""The registry of check methods. To add a method, add a module with its name in `checks/`, and a line here."""

CHECK_METHODS = {
    "http": "url",
    "file_exists": "path",
    "process_running": "process_name",
    "manual": "note",
    "command": "argv",
    "git_commit": "commit",
    "port_open": "port",
}
"""The field of a `VerifySpec` that each method requires."""

USAGE = "method: " + ", ".join(f"{method}+{field}" for method, field in CHECK_METHODS.items())
"""One line with the methods and their fields."""
