"""PAIF's session protocol, and the tokens of its agents."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import uuid4

from fastapi import APIRouter, Body, Depends, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from baton_git.core.codecs import json as strict_json
from baton_git.core.errors import NotAllowed, NotFound
from baton_git.core.state import Key
from baton_git.core.times import iso
from baton_git.interfaces.http.agent_tokens import Registration
from baton_git.interfaces.http.api.acting import Who
from baton_git.interfaces.http.api.refusals import Responses
from baton_git.interfaces.http.body import Routes
from baton_git.interfaces.http.guard import CALLER, Caller
from baton_git.interfaces.http.reading import tag
from baton_git.interfaces.http.site import Site
from baton_git.systems.paif.checkpoints import (
    INTERVAL_MINUTES,
    Restored,
    Saved,
    check_session_owner,
    collect_sessions,
    preview_restore,
    restore,
    save_checkpoint,
)
from baton_git.systems.paif.documents import to_whole_document
from baton_git.systems.paif.identity_updates import make_empty_identity
from baton_git.systems.paif.records.checkpoint import Checkpoint


class NewAgent(BaseModel):
    """An agent to register, which gets its own token."""

    agent_id: str = Field(description="The name of the agent: letters, digits and ._:@+-.", examples=["zero"])
    namespace: str | None = Field(
        None, min_length=1, description="The namespace in which the token is valid. Default: the server's own."
    )


def router(site: Site) -> APIRouter:
    """Return the routes of PAIF's four paths and of `/agents`."""
    routes = Routes(tags=["PAIF"])
    _protocol(routes, site)
    _agents(routes, site)
    return routes


def _protocol(routes: APIRouter, site: Site) -> None:
    def check_caller(request: Request, agent_id: str, who: Who) -> None:
        """Raise NotAllowed if an agent's token is used outside of its own paths, namespace or sessions."""
        caller: Caller = request.scope[CALLER]
        namespace = who.namespace if who.namespace is not None else str(site.settings.namespace)
        if caller.kind == "agent" and (caller.agent, caller.namespace) != (agent_id, namespace):
            raise NotAllowed(
                f"the token of agent {caller.agent} is valid only for its own paths in {caller.namespace}",
                hint="name this namespace with ?namespace=, percent-encoded",
            )
        if caller.kind == "agent" and who.session is not None:
            with who.on(site, may_begin=True) as ws:
                check_session_owner(ws.branch.read().state, agent_id, who.session)

    for_agent = [Depends(check_caller)]
    not_created: Responses = {200: {"description": "No checkpoint was due, or it exists already: `created` is false."}}

    @routes.post("/checkpoint/{agent_id}", status_code=201, dependencies=for_agent, responses=not_created)
    def create_checkpoint(
        agent_id: str, body: Annotated[dict[str, Any], Body()], request: Request, response: Response, who: Who,
        periodic: Annotated[bool, Query(description="Save the checkpoint only if one is due.")] = False,
    ) -> dict[str, Any]:  # fmt: skip
        """Save a checkpoint of an agent, and return it as a whole checkpoint with nested objects.

        The body is PAIF's flat object or a whole checkpoint. Missing fields get PAIF's defaults; even `{}` is accepted.
        """
        strict_json.check(body)
        with who.on(site, may_begin=True) as ws:
            interval = INTERVAL_MINUTES if periodic else None
            is_agent = request.scope[CALLER].kind == "agent"
            saved = save_checkpoint(
                ws, site.now(), agent_id, body, interval_minutes=interval, own_only=is_agent, may_be_empty=True
            )
        revision = saved.written.revision
        response.headers["ETag"] = tag(revision.commit)
        response.status_code = 200 if saved.id is None or saved.known else 201
        return {**_describe_checkpoint(saved), "revision": revision.number, "commit": revision.commit}

    @routes.get("/checkpoint/{agent_id}/latest", dependencies=for_agent)
    def latest_checkpoint(agent_id: str, response: Response, who: Who) -> dict[str, Any]:
        """Return the newest checkpoint of an agent; 404 if there is none."""
        with who.on(site, may_begin=True) as ws:
            latest = preview_restore(ws, site.now(), agent_id)
        if latest.checkpoint is None:
            raise NotFound("checkpoint", agent_id, hint=f"POST /checkpoint/{agent_id} saves one")
        response.headers["ETag"] = tag(latest.revision.commit)
        return _describe_document(latest.checkpoint)

    @routes.post("/restore/{agent_id}", dependencies=for_agent)
    def restore_agent(agent_id: str, who: Who) -> dict[str, Any]:
        """Begin a session: add one to the session count of the agent's identity, and return the identity and the newest
        checkpoint. A new agent begins with an empty identity."""
        with who.on(site, may_begin=True) as ws:
            try:
                return _describe_restored(restore(ws, site.now(), agent_id, may_be_new=True))
            except NotFound:  # the namespace does not exist, and this server creates none
                empty = Restored(make_empty_identity(agent_id), None, ws.branch.read())
                return {**_describe_restored(empty), "session_id": ws.actor.session or str(uuid4())}

    @routes.get("/sessions/{agent_id}", dependencies=for_agent)
    def list_sessions(
        agent_id: str,
        who: Who,
        limit: Annotated[int | None, Query(ge=1, description="Maximum number of sessions.")] = None,
    ) -> dict[str, Any]:
        """List the sessions of an agent, newest first, including restored sessions without a checkpoint."""
        with who.on(site, may_begin=True) as ws:
            sessions = collect_sessions(ws, agent_id)[:limit]
        return {"agent_id": agent_id, "sessions": [session.as_data() for session in sessions]}


def _agents(routes: APIRouter, site: Site) -> None:
    def require_owner(request: Request) -> None:
        """Raise NotAllowed unless the request has the server's own token."""
        if request.scope[CALLER].kind != "owner":
            raise NotAllowed(
                "/agents needs the server's own token",
                hint="start the server with BATON_API_TOKEN, and send that token",
            )

    for_owner = [Depends(require_owner)]

    @routes.post("/agents", status_code=201, dependencies=for_owner)
    def register_agent(new: NewAgent) -> dict[str, Any]:
        """Register an agent and return its token, which is shown only once. Registering it again replaces the token."""
        namespace = new.namespace if new.namespace is not None else str(site.settings.namespace)
        at = iso(site.now())
        token = site.agents.register(new.agent_id, namespace, at)
        return {"agent_id": new.agent_id, "namespace": namespace, "registered_at": at, "token": token}

    @routes.get("/agents", dependencies=for_owner)
    def list_agents() -> dict[str, Any]:
        """List the registered agents, without their tokens."""
        return {"agents": [_describe_registration(registration) for registration in site.agents.all()]}

    @routes.delete("/agents/{agent_id}", status_code=204, dependencies=for_owner)
    def remove_agent(agent_id: str) -> None:
        """Remove the registration of an agent; its records are kept."""
        site.agents.remove(agent_id)


def _describe_registration(registration: Registration) -> dict[str, Any]:
    return {"agent_id": registration.agent, "namespace": registration.namespace, "registered_at": registration.at}


def _describe_document(checkpoint: Checkpoint) -> dict[str, Any]:
    """Return PAIF's document with every documented field filled in, and with the checkpoint's id in baton."""
    return {**to_whole_document(checkpoint), "id": checkpoint.id}


def _describe_checkpoint(saved: Saved) -> dict[str, Any]:
    """Return the saved checkpoint; if none was due, the recent one that made it unnecessary."""
    state = saved.written.revision.state
    checkpoint = saved.younger if saved.id is None else state.entry(Key(Checkpoint.kind, saved.id))
    created = saved.id is not None and not saved.known
    return {
        **(_describe_document(checkpoint) if isinstance(checkpoint, Checkpoint) else {"id": saved.id}),
        "created": created,
    }


def _describe_restored(restored: Restored) -> dict[str, Any]:
    state, wrong = restored.identity.mutable.state, restored.unrecorded
    return {
        "agent_id": restored.identity.id,
        "session_id": state.session_id,
        "restored_at": state.last_session_at,
        "accumulated_experience": state.accumulated_experience,
        "checkpoint": _describe_document(restored.checkpoint) if restored.checkpoint is not None else None,
        "identity": restored.identity.model_dump(mode="json", exclude={"id"}),
        "recorded": wrong is None and state.session_id is not None,
        "damaged": [{"path": file.path, "why": file.why} for file in restored.damaged],
        "revision": restored.revision.number if restored.revision.commit else None,
        "commit": restored.revision.commit,
    }
