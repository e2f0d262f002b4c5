"""What a tool may change, as MCP's clients ask for it: whether to let it run without asking somebody.

Only what differs from MCP's own defaults is sent, since each word of it is in every request of the model: a tool that
does not say otherwise is taken to write, to destroy, and not to be idempotent.
"""

from mcp.types import ToolAnnotations

READS = ToolAnnotations(read_only_hint=True)
"""Changes nothing."""
ADDS = ToolAnnotations(destructive_hint=False)
"""Only adds: called twice it adds twice."""
SETTLES = ToolAnnotations(destructive_hint=False, idempotent_hint=True)
"""Takes nothing away; called twice it comes to the same."""
REPLACES = ToolAnnotations(destructive_hint=True)
"""Takes the place of what stood, or puts it away."""
