"""What operations give, as plain data: the same for `--json`, for HTTP and for MCP."""
