"""PAIF's session protocol, and the tokens of its agents."""

from __future__ import annotations

from functools import partial
from typing import Any
from uuid import uuid4

from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from baton_git.core.codecs import json as strict_json
from baton_git.core.errors import NotAllowed, NotFound
from baton_git.core.state import Key
from baton_git.core.times import iso
from baton_git.interfaces.http.acting import WRITER, Acting
from baton_git.interfaces.http.agent_tokens import Registration
from baton_git.interfaces.http.guard import CALLER, Caller
from baton_git.interfaces.http.operations import Arguments, HttpOperation, Parameters, declare
from baton_git.interfaces.http.responses import answer
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
from baton_git.systems.paif.identity import make_empty_identity
from baton_git.systems.paif.record import Checkpoint

TAG = "PAIF"
Fields = dict[str, Any]

_answer = partial(answer, separators=(",", ":"))


class NewAgent(BaseModel):
    """An agent to register, which gets its own token."""

    agent_id: str = Field(description="The name of the agent: letters, digits and ._:@+-.", examples=["zero"])
    namespace: str | None = Field(
        None, min_length=1, description="The namespace in which the token is valid. Default: the server's own."
    )


class CheckpointQuery(Parameters):
    """The parameters of a request that saves a checkpoint."""

    periodic: bool = Field(False, description="Save the checkpoint only if one is due.")


class SessionsQuery(Parameters):
    """The parameters of a request that lists sessions."""

    limit: int | None = Field(None, ge=1, description="Maximum number of sessions.")


def paif_operations() -> tuple[HttpOperation, ...]:
    """Return the operations of PAIF's four paths and of `/agents`."""
    not_created = {200: {"description": "No checkpoint was due, or it exists already: `created` is false."}}
    for_agent: dict[str, Any] = {"require": _check_caller, "parameters": WRITER, "result": Fields}
    for_owner: dict[str, Any] = {"require": _require_owner}
    path = "/checkpoint/{agent_id}"
    return (
        declare("POST", path, create_checkpoint, TAG, in_query=CheckpointQuery, body=Fields, status=201,
                responses=not_created, **for_agent),
        declare("GET", f"{path}/latest", latest_checkpoint, TAG, **for_agent),
        declare("POST", "/restore/{agent_id}", restore_agent, TAG, **for_agent),
        declare("GET", "/sessions/{agent_id}", list_sessions, TAG, in_query=SessionsQuery, **for_agent),
        declare("POST", "/agents", register_agent, TAG, body=NewAgent, result=Fields, status=201, **for_owner),
        declare("GET", "/agents", list_agents, TAG, result=Fields, **for_owner),
        declare("DELETE", "/agents/{agent_id}", remove_agent, TAG, status=204, **for_owner),
    )  # fmt: skip


def _check_caller(request: Request) -> None:
    """Raise NotAllowed if an agent's token is used outside of its own paths, namespace or sessions."""
    caller: Caller = request.scope[CALLER]
    if caller.kind != "agent":
        return
    site, who, agent_id = request.app.state.site, Acting.of(request), request.path_params["agent_id"]
    namespace = who.namespace if who.namespace is not None else str(site.settings.namespace)
    if (caller.agent, caller.namespace) != (agent_id, namespace):
        raise NotAllowed(
            f"the token of agent {caller.agent} is valid only for its own paths in {caller.namespace}",
            hint="name this namespace with ?namespace=, percent-encoded",
        )
    if who.session is not None:
        with who.on(site, may_begin=True) as ws:
            check_session_owner(ws.branch.read().state, agent_id, who.session)


def _require_owner(request: Request) -> None:
    """Raise NotAllowed unless the request has the server's own token."""
    if request.scope[CALLER].kind != "owner":
        raise NotAllowed(
            "/agents needs the server's own token", hint="start the server with BATON_API_TOKEN, and send that token"
        )


def create_checkpoint(arguments: Arguments) -> Response:
    """Save a checkpoint of an agent, and return it as a whole checkpoint with nested objects.

    The body is PAIF's flat object or a whole checkpoint. Missing fields get PAIF's defaults; even `{}` is accepted.
    """
    site, request, values = arguments.site, arguments.request, arguments.values
    strict_json.check(arguments.body)
    with Acting.of(request).on(site, may_begin=True) as ws:
        interval = INTERVAL_MINUTES if values.get("periodic") else None
        is_agent = request.scope[CALLER].kind == "agent"
        saved = save_checkpoint(
            ws, site.now(), values["agent_id"], arguments.body,
            interval_minutes=interval, own_only=is_agent, may_be_empty=True,
        )  # fmt: skip
    revision = saved.written.revision
    data = {**_describe_checkpoint(saved), "revision": revision.number, "commit": revision.commit}
    return _answer(data, 200 if saved.id is None or saved.known else 201, commit=revision.commit)


def latest_checkpoint(arguments: Arguments) -> Response:
    """Return the newest checkpoint of an agent; 404 if there is none."""
    site, agent_id = arguments.site, arguments.values["agent_id"]
    with Acting.of(arguments.request).on(site, may_begin=True) as ws:
        latest = preview_restore(ws, site.now(), agent_id)
    if latest.checkpoint is None:
        raise NotFound("checkpoint", agent_id, hint=f"POST /checkpoint/{agent_id} saves one")
    return _answer(_describe_document(latest.checkpoint), commit=latest.revision.commit)


def restore_agent(arguments: Arguments) -> Response:
    """Begin a session: add one to the session count of the agent's identity, and return the identity and the newest
    checkpoint. A new agent begins with an empty identity."""
    site, agent_id = arguments.site, arguments.values["agent_id"]
    with Acting.of(arguments.request).on(site, may_begin=True) as ws:
        try:
            return _answer(_describe_restored(restore(ws, site.now(), agent_id, may_be_new=True)))
        except NotFound:  # the namespace does not exist, and this server creates none
            empty = Restored(make_empty_identity(agent_id), None, ws.branch.read())
            return _answer({**_describe_restored(empty), "session_id": ws.actor.session or str(uuid4())})


def list_sessions(arguments: Arguments) -> Response:
    """List the sessions of an agent, newest first, including restored sessions without a checkpoint."""
    agent_id = arguments.values["agent_id"]
    with Acting.of(arguments.request).on(arguments.site, may_begin=True) as ws:
        sessions = collect_sessions(ws, agent_id)[: arguments.values.get("limit")]
    return _answer({"agent_id": agent_id, "sessions": [session.as_data() for session in sessions]})


def register_agent(arguments: Arguments) -> Response:
    """Register an agent and return its token, which is shown only once. Registering it again replaces the token."""
    site, new = arguments.site, arguments.body
    namespace = new.namespace if new.namespace is not None else str(site.settings.namespace)
    at = iso(site.now())
    token = site.agents.register(new.agent_id, namespace, at)
    data = {"agent_id": new.agent_id, "namespace": namespace, "registered_at": at, "token": token}
    return _answer(data, 201)


def list_agents(arguments: Arguments) -> Response:
    """List the registered agents, without their tokens."""
    return _answer({"agents": [_describe_registration(registration) for registration in arguments.site.agents.all()]})


def remove_agent(arguments: Arguments) -> Response:
    """Remove the registration of an agent; its records are kept."""
    arguments.site.agents.remove(arguments.values["agent_id"])
    return Response(status_code=204)


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
