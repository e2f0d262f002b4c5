"""MCP tool annotations, by which a client decides whether a tool may run without the user's permission.

Few hints are sent, because the tool list is part of every request to the model: those that differ from MCP's defaults,
and for each tool that writes whether it is destructive. By default, a tool writes, is destructive and is not
idempotent.
"""

from mcp.types import ToolAnnotations

READS = ToolAnnotations(read_only_hint=True)
"""The tool changes nothing."""
ADDS = ToolAnnotations(destructive_hint=False)
"""The tool only adds; calling it twice adds twice."""
SETTLES = ToolAnnotations(destructive_hint=False, idempotent_hint=True)
"""The tool removes nothing; calling it twice has the same result as calling it once."""
REPLACES = ToolAnnotations(destructive_hint=True)
"""The tool replaces or archives existing records."""
