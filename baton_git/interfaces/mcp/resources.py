"""The MCP resources, which a client can add to its model's context: `baton://…`, with percent-encoded namespaces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from mcp.server import MCPServer
from mcp.server.mcpserver.resources import ResourceSecurity
from mcp.types import Resource

from baton_git.agents.sessions.handoff_index import find_last_handoff
from baton_git.core.errors import NotFound
from baton_git.core.kinds import name_kind
from baton_git.core.output import json_text
from baton_git.core.records.base import Part
from baton_git.core.records.work_items import Rule
from baton_git.core.state import Key, key_of
from baton_git.interfaces.mcp.tool_context import ToolContext
from baton_git.systems.session_baton.documents import read
from baton_git.verbs.records.stored import check_kind, describe_provenance
from baton_git.verbs.revisions.history import read_log
from baton_git.verbs.revisions.log import CommitResult
from baton_git.verbs.sessions.session_start import compose_brief

JSON, TEXT, MARKDOWN = "application/json", "text/plain", "text/markdown"
NEWEST = 50
"""Number of revisions in the log."""

NAMES = ResourceSecurity(exempt_params={"namespace", "kind", "id"})
"""The parts of an address are parsed as names and never used as file paths, so `..` is a name like any other."""


@dataclass(frozen=True)
class Resources:
    """The resources, one method each."""

    tool_context: ToolContext

    def state(self, namespace: str) -> str:
        """The whole state as a session-baton document."""
        with self.tool_context.open_for_reading(namespace) as ws:
            return _json(read(ws, self.tool_context.now).as_data())

    def brief(self, namespace: str) -> str:
        """The brief that the next session would get; no session is started."""
        with self.tool_context.open_for_reading(namespace) as ws:
            return compose_brief(ws, self.tool_context.now).text

    def log(self, namespace: str) -> str:
        """The newest revisions, each with its changes."""
        with self.tool_context.open_for_reading(namespace) as ws:
            return _json({"commits": [CommitResult.of(shown).as_data() for shown in read_log(ws, None, NEWEST)]})

    def handoff(self, namespace: str) -> str:
        """The facts of the last session in this work tree."""
        with self.tool_context.open_for_reading(namespace) as ws:
            record = find_last_handoff(ws, ws.branch.read().state)
            if record is None:
                raise NotFound("handoff of this work tree in", str(ws.branch.namespace))
            return _json(record.as_data())

    def rules(self, namespace: str) -> str:
        """The rules that a person confirmed, made from graduated patterns."""
        return self._rules(namespace)

    def rules_here(self) -> str:
        """The rules of this server's own namespace."""
        return self._rules(None)

    def record(self, namespace: str, kind: str, id: str) -> str:  # noqa: A002  the name of this part of the address
        """One record, live or archived: open_loop, follow_up, pattern, active_decision, rule, session and others."""
        check_kind(kind)
        with self.tool_context.open_for_reading(namespace) as ws:
            revision = ws.branch.read()
            keys = (Key(kind, id), Key(kind, id, archived=True))
            key = next((candidate for candidate in keys if isinstance(revision.state.entry(candidate), Part)), None)
            entry = revision.state.entry(key) if key is not None else None
            if key is None or not isinstance(entry, Part):
                raise NotFound(name_kind(kind), id)
            return _json({**entry.as_data(), **describe_provenance(ws, revision, key)})

    def _rules(self, namespace: str | None) -> str:
        with self.tool_context.open_for_reading(namespace) as ws:
            revision = ws.branch.read()
            judge = ws.shown_judgement(revision)
            rules = [rule for rule in revision.state.records(Rule) if judge.is_confirmed(key_of(rule))]
            return "\n\n".join(rule.text.strip() for rule in rules) or "There are no rules yet."

    def list_own(self) -> list[Resource]:
        """List the resources of the server's own namespace."""
        own_name = quote(self.tool_context.app.settings.namespace.text, safe="")
        return [
            Resource(
                uri=f"baton://{name}/{own_name}",
                name=name,
                description=_describe_method(method),
                mime_type=mime,
                title=f"baton: {name}",
            )
            for name, (method, mime) in _table(self).items()
        ]


def _table(resources: Resources) -> dict[str, tuple[Any, str]]:
    """Return the method and media type of each resource of a namespace, by its name."""
    return {
        "brief": (resources.brief, TEXT), "state": (resources.state, JSON), "log": (resources.log, JSON),
        "handoff": (resources.handoff, JSON), "rules": (resources.rules, MARKDOWN),
    }  # fmt: skip


def add_templates(server: MCPServer[Any], tool_context: ToolContext) -> None:
    """Add the templates for resources of every namespace of the repository."""
    resources = Resources(tool_context)
    for name, (method, mime) in _table(resources).items():
        server.resource(f"baton://{name}/{{namespace}}", name=name, mime_type=mime, security=NAMES)(method)
    record = "baton://record/{namespace}/{kind}/{id}"
    server.resource(record, name="record", mime_type=JSON, security=NAMES)(resources.record)
    server.resource("baton://rules", name="rules here", mime_type=MARKDOWN)(resources.rules_here)


def _describe_method(method: Any) -> str:
    return str(method.__doc__)


def _json(data: Any) -> str:
    return json_text(data)
