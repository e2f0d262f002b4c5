"""Who acts, and on which namespace: where every tool does its work."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from mcp.server.mcpserver import Context
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from baton_git.agents.registry import agent_of_client, session_variables
from baton_git.core.names import Namespace, SessionId
from baton_git.interfaces.context.invocation import Call
from baton_git.namespace.workspace import Workspace, fresh_id

Ctx = Context[Any, Any]


@dataclass(frozen=True)
class ToolContext:
    """The namespace in which the tools of an MCP server act, and the sessions of its clients.

    Attributes:
        app: the call of `baton mcp`, with its options.
        over_http: whether there are many clients; over standard input and output one starts its own process.
        begun: the session that each client began last; None where it ended.
        names: by client, the name of its session as long as it neither named nor began one.
    """

    app: Call
    over_http: bool = False
    begun: dict[str, str | None] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)

    @property
    def now(self) -> datetime:
        return self.app.now

    @contextmanager
    def reading(self, namespace: str | None = None) -> Iterator[Workspace]:
        """The workspace of who only looks; of another namespace of the same repository, where one is named.

        Raises:
            NotFound: the namespace that is named does not exist.
        """
        app = self._on(namespace)
        with app.workspace() as ws:
            if namespace is not None:
                ws.branch.check_exists()
            found = app.settings.session if self.over_http else ws.actor.session
            yield replace(ws, actor=replace(ws.actor, session=found), calls_tools=True)

    @contextmanager
    def at_work(self, ctx: Ctx, session: str | None = None, *, current: bool = True) -> Iterator[Workspace]:
        """The workspace of who acts.

        Args:
            session: the one that acts, where the call names it; else that of `baton mcp`, or the one that this client
                began. Only a client alone that began none is taken for the agent around us, or for who began here.
            current: whether the one that began here counts.
        """
        app = self.acting(session)
        with app.workspace() as ws:
            actor = ws.actor
            found = app.settings.session or (self._current(ctx, actor.session) if current else self._around())
            found = found or (self._name_session(ctx) if current else None)
            agent = actor.agent or _client(ctx) or (None if self.over_http else _agent())
            yield replace(ws, actor=replace(actor, session=found, agent=agent), calls_tools=True)

    def remember(self, ctx: Ctx, session: str) -> None:
        """This client began a session."""
        client = self._client_of(ctx)
        if client is not None:
            self.begun[client] = session
        if not self.over_http:
            self.app.current.set(session, os.getpid())

    def forget(self, ctx: Ctx, session: str | None) -> None:
        """A session has ended."""
        client = self._client_of(ctx)
        if client is not None and self.begun.get(client) == session:
            self.begun[client] = None
        if client is not None and self.names.get(client) == session:
            del self.names[client]
        if not self.over_http and self.app.current.get() == session:
            self.app.current.set(None)

    def _current(self, ctx: Ctx, elsewhere: str | None) -> str | None:
        """The session that this client began; `elsewhere`, which others here may have begun, where it began none."""
        client = self._client_of(ctx)
        if client is None or client not in self.begun:
            return None if self.over_http else elsewhere
        return self.begun[client] or (None if self.over_http else self.app.settings.hooked_session)

    def _name_session(self, ctx: Ctx) -> str | None:
        """Return the name of a connection's session that nobody named: the client's name with a random end."""
        client = self._client_of(ctx)
        if client is None:
            return None
        if client not in self.names:
            word = re.sub(r"[^a-z0-9]+", "-", _client_name(ctx).lower())[:24].strip("-")
            self.names[client] = fresh_id(word or "mcp")
        return self.names[client]

    def _around(self) -> str | None:
        """The session of the agent that started us."""
        return None if self.over_http else self.app.settings.hooked_session or _of_the_agent()

    def _client_of(self, ctx: Ctx) -> str | None:
        """Who calls; None where nobody can say: over HTTP the newer era of the protocol has no connections, and in the
        older one the SDK lets only ids through that it gave."""
        if not self.over_http:
            return ""
        return None if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS else (ctx.headers or {}).get("mcp-session-id")

    def acting(self, session: str | None) -> Call:
        """The call, as if its options named this session."""
        if session is None:
            return self.app
        options = self.app.settings.options._replace(session=SessionId(session).text)
        return replace(self.app, settings=replace(self.app.settings, options=options))

    def _on(self, namespace: str | None) -> Call:
        if namespace is None:
            return self.app
        options = self.app.settings.options._replace(namespace=Namespace(namespace).text)
        return replace(self.app, settings=replace(self.app.settings, options=options))


def _client(ctx: Ctx) -> str | None:
    """Who the client is, by what it says of itself."""
    return agent_of_client(_client_name(ctx))


def _client_name(ctx: Ctx) -> str:
    """What the client calls itself; empty where it does not say."""
    params = ctx.session.client_params
    return params.client_info.name if params is not None else ""


def _of_the_agent() -> str | None:
    """The session of the agent that started us, where it says so."""
    named = (os.environ.get(name) for name in session_variables())
    return next((session for session in named if session), None)


def _agent() -> str | None:
    return next((agent for name, agent in session_variables().items() if os.environ.get(name)), None)
