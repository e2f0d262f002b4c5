"""Open loops: work whose outcome must be checked later."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import SplitResult, urlsplit

from pydantic import Field, model_validator

from baton_git.core.errors import InvalidArgument
from baton_git.core.kinds import KINDS
from baton_git.core.lifecycle import apply_check
from baton_git.core.records.base import parse
from baton_git.core.records.check_methods import CHECK_METHODS, USAGE
from baton_git.core.records.work_items import ActiveDecision, LastCheck, OpenLoop, VerifySpec
from baton_git.core.state import State
from baton_git.core.times import iso
from baton_git.core.verb import ADDS, REPLACES, SETTLES, Input, Option, Tool, verb
from baton_git.namespace.results import Changed
from baton_git.namespace.revision import ProposedState
from baton_git.namespace.workspace import Workspace, archive_record, check_not_empty, fresh_id
from baton_git.verbs.verification.check_results import repeats_last_check
from baton_git.verbs.verification.checks import CheckResults, check_loops
from baton_git.verbs.work_items.new_records import NewId, authorship_of, find_reference


def refuse_impossible_check(check: VerifySpec, folder: Path | None) -> None:
    """Refuse a check that can never run.

    Args:
        folder: the work tree that commands run in; None outside a work tree.

    Raises:
        InvalidArgument: a field that the method needs is missing, an address is not http or https, or the program of a
            command is a whole command line.
    """
    needed = CHECK_METHODS[check.method]
    if check.method != "manual" and not getattr(check, needed):
        raise InvalidArgument(f"a check with method {check.method} needs {needed}")
    if check.method == "http" and check.url:
        _refuse_address(check.url)
    if check.method == "command" and check.argv:
        _refuse_command_line(check.argv, folder)


def _refuse_address(url: str) -> None:
    parts = _split(url)
    if parts is not None and parts.scheme in ("http", "https") and parts.hostname:
        return
    is_bare = "://" not in url and _split(f"http://{url}") is not None and not url.startswith("/")
    hint = f"for example http://{url if is_bare and ('.' in url or ':' in url) else 'localhost:8080/health'}"
    raise InvalidArgument(f"{url[:80]!r} is not an http or https address", hint=hint)


def _split(url: str) -> SplitResult | None:
    """Split an address into its parts; return None if it is malformed."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    return None if any(character.isspace() for character in url) else parts


def _refuse_command_line(argv: Sequence[str], folder: Path | None) -> None:
    """Refuse a missing program whose name has a space: most likely a command line that was quoted as a whole."""
    program = argv[0]
    if not any(character.isspace() for character in program) or (
        folder is not None and os.path.exists(folder / program)
    ):
        return
    words = shlex.join((*program.split(), *argv[1:]))
    raise InvalidArgument(
        f"there is no program {program[:80]!r}",
        hint=f"give each word as a separate argument; in a terminal: --verify-command -- {words[:200]}",
    )


LoopId = Annotated[str, Field(description="The id of an open loop, or a unique prefix of it.", examples=["OL-7k3f9q"])]


class NewLoop(Input):
    """An action, and its expected outcome."""

    action: str = Field(description="What was done.", examples=["Deployed X"])
    expect: str = Field(description="What must be true if it worked.", examples=["health is 200"])
    verify: VerifySpec | None = Field(
        None,
        description="How to check it. A command runs only on machines on which a person has approved it.",
        examples=[{"method": "http", "url": "http://localhost:8080/health"}],
    )
    ttl_days: int | None = Field(
        None, ge=1, le=36_500, description="Days until an unverified loop is escalated; 7 unless configured.",
        examples=[7],
    )  # fmt: skip
    decision: str | None = Field(None, description="The decision that the action follows from.", examples=["DEC-042"])
    id: NewId | None = Field(None, description="The id to use. Default: a new one.")


class LoopFinding(Input):
    """The result for a loop; without one, its check runs."""

    id: LoopId
    result: Literal["passed", "failed"] | None = Field(None, description="The result that you observed.")
    note: str | None = Field(None, description="With a result: what you observed.", examples=["the page loads"])

    @model_validator(mode="after")
    def _check_note(self) -> Self:
        if self.note is not None and self.result is None:
            raise ValueError("{note} needs {result}")
        return self


class CloseLoop(Input):
    """The loop to close, and the reason."""

    id: LoopId
    reason: str = Field("closed", description="The reason; stored with the record.", examples=["the service is gone"])


_CHECK_SCHEMA = {
    "type": "object",
    "description": USAGE,
}


@verb(
    "loop add",
    "POST /v1/loops",
    effect=ADDS,
    status=201,
    is_authored=True,
    positional=("action",),
    options={
        "expect": Option(metavar="OUTCOME"), "verify": Option(hidden=True), "decision": Option(metavar="ID"),
        "id": Option(metavar="ID"),
    },
    tool=Tool(
        "Record an action to check later.",
        hidden=("id",),
        fields={"expect": "True if it worked"},
        schemas={"verify": _CHECK_SCHEMA},
    ),
    examples=(
        'baton loop add "Deployed X" --expect "health is 200" --verify-http http://localhost:8080/health',
        'baton loop add "Fixed the parser" --expect "tests pass" --verify-command -- pytest -q tests/parser',
    ),
)  # fmt: skip
def add_loop(ws: Workspace, now: datetime, verb_input: NewLoop) -> Changed:
    """Record an action whose outcome must be checked later.

    Raises:
        InvalidArgument: the check can never run.
        InvalidDocument: a value does not fit its field.
        NotAllowed: the id is taken.
        NotFound, Ambiguous: `decision` is the id of no decision, or the beginning of several.
    """
    check_not_empty(verb_input.action, "action")
    check_not_empty(verb_input.expect, "expected outcome")
    if verb_input.verify is not None:
        refuse_impossible_check(verb_input.verify, ws.folder)
    decision = find_reference(ws, ActiveDecision, verb_input.decision)
    id_ = verb_input.id or fresh_id(KINDS[OpenLoop.kind].prefix)
    author = authorship_of(ws, OpenLoop, id_)
    data = {
        "id": id_,
        "action": verb_input.action,
        "expected_outcome": verb_input.expect,
        "created_at": iso(now),
        "ttl_days": ws.policy.ttl_days if verb_input.ttl_days is None else verb_input.ttl_days,
        "status": "open",
        "source_tier": author.tier,
    }
    check = verb_input.verify.as_data() if verb_input.verify is not None else None
    data |= {name: value for name, value in (("verify", check), ("decision_ref", decision)) if value}
    loop = parse(OpenLoop, data)
    written = ws.update("loop-add", now, lambda tip: ProposedState(tip.state.add(loop), trailers=author.trailers))
    waits = f"the command does not run until you approve it: baton trust {loop.id}"
    return Changed.of(written, id=loop.id).noting(*([waits] if loop.verify is not None and loop.verify.argv else ()))


@verb(
    "loop verify",
    "POST /v1/loops/{id}/verify",
    usage="Exit status: 1 if the check failed, 5 if it could not be run.",
    effect=SETTLES,
    positional=("id",),
    options={"result": Option(flags={"passed": "You saw the expected outcome.", "failed": "You saw another outcome."})},
    tool=Tool(
        "Check one loop, or record a result. Unknown is not passed.",
        fields={"result": "Seen by you; else its check runs"},
    ),
    examples=("baton loop verify OL-7k3f9q", 'baton loop verify OL-7k3f9q --passed --note "page loads"'),
)
def verify_loop(ws: Workspace, now: datetime, verb_input: LoopFinding) -> CheckResults:
    """Run the check of one loop, or record the result that a person or agent observed."""
    if verb_input.result is None:
        return check_loops(ws, now, [verb_input.id])
    changed = settle_loop(ws, now, verb_input.id, verb_input.result, note=verb_input.note)
    evidence = changed.written.revision.state.get(OpenLoop, changed.id).last_check
    assert evidence is not None
    return CheckResults.of_checks(changed.written, {changed.id: evidence}, id=changed.id)


def settle_loop(
    ws: Workspace, now: datetime, id_: str, result: Literal["passed", "failed"], *, note: str | None = None
) -> Changed:
    """Record the result that a person or an agent observed for a loop, without running its check."""
    why = {"why": note} if note else {}
    evidence = LastCheck.model_validate({"result": result, "at": iso(now), "by": ws.actor.agent or "hand", **why})

    def change(state: State, loop: OpenLoop) -> State:
        return state if repeats_last_check(loop, evidence) else state.put(apply_check(loop, evidence))

    return ws.edit("loop-verify", now, OpenLoop, id_, change)


@verb(
    "loop close",
    "POST /v1/loops/{id}/close",
    effect=REPLACES,
    positional=("id",),
    tool=Tool("Archive a loop, whatever its status."),
    examples=('baton loop close OL-7k3f9q --reason "the service is gone"',),
)
def close_loop(ws: Workspace, now: datetime, verb_input: CloseLoop) -> Changed:
    """Archive a loop, whatever its status."""
    return archive_record(ws, now, "loop-close", OpenLoop, verb_input.id, verb_input.reason)
