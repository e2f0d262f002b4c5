"""The verbs as tools for agents, over MCP. Only `baton mcp` loads this: the SDK costs half a second."""
