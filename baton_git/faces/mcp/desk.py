"""Who acts, and on which namespace: where every tool does its work."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from mcp.server.mcpserver import Context

from baton_git.faces.cli.app import App
from baton_git.faces.cli.settings import SESSION_VARIABLES
from baton_git.names import Namespace, SessionId
from baton_git.operations.workspace import Workspace

Ctx = Context[Any, Any]

CLIENTS = {"claude-code": "claude", "codex-mcp-client": "codex", "gemini-cli-mcp-client": "gemini"}
"""What agents' CLIs call themselves as clients of MCP (the beginning of it), and who they are here."""


@dataclass(frozen=True)
class Desk:
    """`app` is the call of `baton mcp`, with its options."""

    app: App

    @property
    def now(self) -> datetime:
        return self.app.now

    @contextmanager
    def reading(self, namespace: str | None = None) -> Iterator[Workspace]:
        """The workspace of who only looks; of another namespace of the same repository, where one is named."""
        with self._on(namespace).workspace() as ws:
            yield ws

    @contextmanager
    def at_work(self, ctx: Ctx, session: str | None = None, *, current: bool = True) -> Iterator[Workspace]:
        """The workspace of who acts.

        Args:
            session: the one that acts, where the call names it; else that of `baton mcp`, of the agent around us, or
                the one that began here.
            current: whether the one that began here counts.
        """
        app = self.acting(session)
        with app.workspace() as ws:
            actor = ws.actor
            named = app.settings.session or app.settings.hooked_session
            found = actor.session if current else named or _of_the_agent()
            yield replace(ws, actor=replace(actor, session=found, agent=actor.agent or _client(ctx) or _agent()))

    def acting(self, session: str | None) -> App:
        """The call, as if its options named this session."""
        if session is None:
            return self.app
        asked = self.app.settings.asked._replace(session=SessionId(session).text)
        return replace(self.app, settings=replace(self.app.settings, asked=asked))

    def _on(self, namespace: str | None) -> App:
        if namespace is None:
            return self.app
        asked = self.app.settings.asked._replace(namespace=Namespace(namespace).text)
        return replace(self.app, settings=replace(self.app.settings, asked=asked))


def _client(ctx: Ctx) -> str | None:
    """Who the client is, by what it says of itself."""
    params = ctx.session.client_params
    name = params.client_info.name if params is not None else ""
    return next((agent for begin, agent in CLIENTS.items() if name.startswith(begin)), None)


def _of_the_agent() -> str | None:
    """The session of the agent that started us, where it says so."""
    named = (os.environ.get(name) for name in SESSION_VARIABLES)
    return next((session for session in named if session), None)


def _agent() -> str | None:
    return next((agent for name, agent in SESSION_VARIABLES.items() if os.environ.get(name)), None)
