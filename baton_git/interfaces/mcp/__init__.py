"""The verbs as MCP tools for agents. Only `baton mcp` imports this package: loading the SDK takes half a second."""
