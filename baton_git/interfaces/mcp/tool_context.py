"""The namespace, session and agent with which a tool runs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from mcp.server.mcpserver import Context
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from baton_git.agents.registry import find_agent_of_client, session_variables
from baton_git.core.names import Namespace, SessionId
from baton_git.interfaces.background.catching_up import with_catch_up
from baton_git.interfaces.context.client_cache import with_client_cache
from baton_git.interfaces.context.invocation import Call
from baton_git.namespace.workspace import Workspace, fresh_id

if TYPE_CHECKING:
    from baton_git.verbs.sessions.sessions import BootResult

Ctx = Context[Any, Any]


@dataclass(frozen=True)
class ToolContext:
    """The namespace in which the tools of an MCP server act, and the sessions of its clients.

    Attributes:
        app: the call of `baton mcp`, with its options.
        over_http: whether the server has many clients; over standard input and output, each client has its own process.
        is_open: whether the server asks its clients for no token, so that nobody knows who writes.
        is_shared: whether other people than the person who started the server may reach it.
        begun: by client, the session that it began last; None once that session has ended.
        names: by client, the generated session name used until the client names or begins a session.
    """

    app: Call
    over_http: bool = False
    is_open: bool = False
    is_shared: bool = False
    begun: dict[str, str | None] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)

    @property
    def now(self) -> datetime:
        return self.app.now

    @contextmanager
    def open_for_reading(self, namespace: str | None = None) -> Iterator[Workspace]:
        """Open the workspace for reading.

        Args:
            namespace: another namespace of the same repository; None: that of `baton mcp`.

        Raises:
            NotFound: `namespace` does not exist.
        """
        app = self._with_namespace(namespace)
        with app.workspace() as ws:
            if namespace is not None:
                ws.branch.check_exists()
            acting_session = app.settings.session if self.over_http else ws.actor.session
            ws = replace(ws, actor=replace(ws.actor, session=acting_session, ended=None), calls_tools=True)
            if self.is_shared:
                ws = replace(ws, find_machine=lambda: replace(app.find_machine(), serves_others=True))
            yield ws.unauthenticated if self.is_open else ws

    @contextmanager
    def open_workspace(self, ctx: Ctx, session: str | None = None, *, current: bool = True) -> Iterator[Workspace]:
        """Open the workspace for writing, with the session and agent that act.

        Args:
            session: the session named in the call; None: that of `baton mcp`, else the one that this client began. Over
                standard input and output, a client that began none acts in the current session of the work tree.
            current: whether the session that this client began, the current session of the work tree and a generated
                session name may be used; if not, the only default is a session that a hook or the surrounding agent
                names.
        """
        app = self.with_session(session)
        with app.workspace() as ws:
            actor = ws.actor
            acting_session = app.settings.session or (
                self._find_current_session(ctx, actor.session) if current else self._find_surrounding_session()
            )
            acting_session = acting_session or (self._name_session(ctx) if current else None)
            agent = actor.agent or _find_client_agent(ctx) or (None if self.over_http else _find_surrounding_agent())
            ended = None if self.over_http else actor.ended  # the work tree is that of the server
            actor = replace(actor, session=ws.complete_session(acting_session), agent=agent, ended=ended)
            ws = replace(ws, actor=actor, calls_tools=True)
            if not self.over_http:
                ws = with_catch_up(with_client_cache(ws))
            yield ws.unauthenticated if self.is_open else ws

    def remember(self, ctx: Ctx, begun: BootResult) -> None:
        """Remember that this client began a session."""
        client = self._client_of(ctx)
        if client is not None:
            self.begun[client] = begun.session
        if not self.over_http:
            self.app.on(begun.namespace).current.set(begun.session, os.getpid())

    def forget(self, ctx: Ctx, session: str | None) -> None:
        """Forget a session that has ended."""
        client = self._client_of(ctx)
        if client is not None and self.begun.get(client) == session:
            self.begun[client] = None
        if client is not None and self.names.get(client) == session:
            del self.names[client]
        current = self._renewed_app.current
        if not self.over_http and current.get() == session:
            current.set(None)

    def _find_current_session(self, ctx: Ctx, of_work_tree: str | None) -> str | None:
        """Return the session that this client began last.

        If that session has ended, return the one that a hook names; if the client began none, return `of_work_tree`.
        Over HTTP, return None in both cases.
        """
        client = self._client_of(ctx)
        if client is None or client not in self.begun:
            return None if self.over_http else of_work_tree
        return self.begun[client] or (None if self.over_http else self.app.settings.hooked_session)

    def _name_session(self, ctx: Ctx) -> str | None:
        """Return the session name generated for this client; None if the client cannot be identified.

        The name consists of the client's name and a random suffix.
        """
        client = self._client_of(ctx)
        if client is None:
            return None
        if client not in self.names:
            word = re.sub(r"[^a-z0-9]+", "-", _client_name(ctx).lower())[:24].strip("-")
            self.names[client] = fresh_id(word or "mcp")
        return self.names[client]

    def _find_surrounding_session(self) -> str | None:
        """Return the session of the agent that started this process; None over HTTP."""
        return None if self.over_http else self.app.settings.hooked_session or _find_agent_session()

    def _client_of(self, ctx: Ctx) -> str | None:
        """Return a key for the client; None if it cannot be identified.

        Over HTTP, a client is identified by the id of its MCP session, which the SDK issued. Newer versions of the
        protocol have no such sessions.
        """
        if not self.over_http:
            return ""
        return None if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS else (ctx.headers or {}).get("mcp-session-id")

    def with_session(self, session: str | None) -> Call:
        """Return the call of `baton mcp` with this session as its option."""
        app = self._renewed_app
        if session is None:
            return app
        options = app.settings.options._replace(session=SessionId(session).text)
        return replace(app, settings=replace(app.settings, options=options))

    @property
    def _renewed_app(self) -> Call:
        """The call of `baton mcp`; its settings are read again as long as its namespace does not exist.

        The server may be older than the namespace, and a session may find it on a remote, under another name.
        """
        settings = self.app.settings
        return self.app if settings.is_chosen else replace(self.app, settings=replace(settings))

    def _with_namespace(self, namespace: str | None) -> Call:
        if namespace is None:
            return self._renewed_app
        options = self.app.settings.options._replace(namespace=Namespace(namespace).text)
        return replace(self.app, settings=replace(self.app.settings, options=options))


def _find_client_agent(ctx: Ctx) -> str | None:
    """Return the agent that the client's name stands for; None if it is unknown."""
    return find_agent_of_client(_client_name(ctx))


def _client_name(ctx: Ctx) -> str:
    """Return the name that the client reports; empty if it reports none."""
    params = ctx.session.client_params
    return params.client_info.name if params is not None else ""


def _find_agent_session() -> str | None:
    """Return the session that the surrounding agent sets in the environment; None if it sets none."""
    named = (os.environ.get(name) for name in session_variables())
    return next((session for session in named if session), None)


def _find_surrounding_agent() -> str | None:
    """Return the agent whose session variable is set in the environment; None if there is none."""
    return next((agent for name, agent in session_variables().items() if os.environ.get(name)), None)
