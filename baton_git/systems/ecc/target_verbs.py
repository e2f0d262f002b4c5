"""The verbs of sessions that adapters can open: list them, show one, and list the adapters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import Annotated, Any

from pydantic import Field, InstanceOf

from baton_git.core.errors import InvalidArgument
from baton_git.core.verb import READS, Input, NoInput, Option, Result, verb
from baton_git.namespace.results import ResultPart
from baton_git.namespace.workspace import Workspace
from baton_git.systems.ecc.adapters.adapter import Surroundings, Target
from baton_git.systems.ecc.adapters.all_adapters import BrokenAdapter, list_adapters, list_sessions, open_target
from baton_git.systems.ecc.snapshot_verbs import RECORDED
from baton_git.systems.ecc.snapshots import find_recorded

HIDDEN = Option(hidden=True)
ADAPTER = Field(None, description="The adapter to use. Default: try each.", examples=["claude-history"])


Around = Annotated[
    InstanceOf[Surroundings] | None,
    Field(description="What adapters may see of this machine; set by the interface."),
]


class ListTargets(Input):
    """The sessions to list."""

    adapter: str | None = Field(None, description="The adapter to use. Default: all.", examples=["claude-history"])
    limit: int = Field(20, ge=1, le=1000, description="Maximum number of sessions.")
    around: Around = None


class InspectTarget(Input):
    """The session to inspect."""

    target: str = Field(
        description="A target that `session list` shows, the path of a plan, a session file or a transcript, or "
        "`recorded:ADAPTER/ID`.",
        examples=["claude:latest"],
    )
    adapter: str | None = ADAPTER
    target_type: str | None = Field(
        None, description="How to read the target, if it is ambiguous: one of the types that `session adapters` lists."
    )
    around: Around = None


class AdapterProblem(ResultPart):
    """An adapter that failed or left something out."""

    id: str = Field(description="The adapter.")
    why: str = Field(description="The problem.")
    partly: bool = Field(description="Whether it worked, but left something out.")


class AdapterResult(Result):
    """Base class of results that adapters contribute to."""

    problems: list[AdapterProblem] = Field(description="Adapters that failed or left something out.")


class OfferedTarget(ResultPart):
    """A session that can be opened."""

    adapter: str = Field(description="The adapter that opens it.", examples=["claude-history"])
    target: str = Field(description="The target that opens it.", examples=["claude:a1b2c3d4"])
    id: str = Field(description="The id of the session.")
    title: str = Field(description="Title of the session.")
    updated_at: str = Field(description="When the session was last updated, ISO 8601 in UTC; empty if unknown.")


class TargetList(AdapterResult):
    """The sessions that can be opened."""

    sessions: list[OfferedTarget] = Field(description="Sessions, newest first.")


class InspectedTarget(AdapterResult):
    """The snapshot of a session."""

    snapshot: dict[str, Any] = Field(description="The canonical snapshot, `ecc.session.v1`.")


class AdapterInfo(ResultPart):
    """A source of sessions."""

    id: str = Field(description="Its id.", examples=["dmux-tmux"])
    description: str = Field(description="Description of its sessions.")
    targetTypes: list[str] = Field(description="The types of targets that it opens.")  # noqa: N815  ECC's name


class AdapterList(AdapterResult):
    """The sources of sessions."""

    adapters: list[AdapterInfo] = Field(description="Adapters, built-in ones first.")


@verb(
    "session list",
    effect=READS,
    anywhere=True,
    options={"adapter": Option(metavar="ID"), "limit": Option(names=("--limit", "-l")), "around": HIDDEN},
    examples=("baton session list", "baton session list --adapter claude-history --limit 5"),
)
def list_targets(ws: Workspace, now: datetime, verb_input: ListTargets) -> TargetList:
    """List the sessions that adapters can open, newest first, each with the target for baton session inspect.

    Raises:
        InvalidArgument: there is no such adapter.
    """
    offered, broken = list_sessions(_complete_surroundings(ws, now, verb_input.around), verb_input.adapter)
    sessions = [
        OfferedTarget(adapter=adapter, **listed._asdict()) for adapter, listed in islice(offered, verb_input.limit)
    ]
    return TargetList(sessions=sessions, problems=_list_problems(broken))


@verb(
    "session inspect",
    effect=READS,
    anywhere=True,
    positional=("target",),
    options={"adapter": Option(metavar="ID"), "target_type": Option(metavar="TYPE"), "around": HIDDEN},
    examples=(
        "baton session inspect claude:latest",
        "baton session inspect workflow-visual-proof --adapter dmux-tmux",
        "baton session inspect codex:latest --write /tmp/session.json",
    ),
)
def inspect_target(ws: Workspace, now: datetime, verb_input: InspectTarget) -> InspectedTarget:
    """Show the canonical snapshot (ecc.session.v1) of a session.

    TARGET is a target that baton session list shows, the path of a plan, a session file or a transcript, or
    recorded:ADAPTER/ID for a recorded snapshot.

    Raises:
        NotFound: nothing matches the target.
        InvalidArgument: there is no such adapter, or no such type of target.
        InvalidDocument: the session cannot be parsed.
    """
    if verb_input.target.startswith(RECORDED) and verb_input.adapter is None:
        kept = find_recorded(ws.branch.read().state, verb_input.target.removeprefix(RECORDED)).snapshot
        return InspectedTarget(snapshot=kept.as_data(), problems=[])
    around = _complete_surroundings(ws, now, verb_input.around)
    opened = open_target(Target(verb_input.target, verb_input.target_type or ""), around, verb_input.adapter)
    return InspectedTarget(snapshot=opened.data, problems=_list_problems(opened.problems))


@verb("session adapters", effect=READS, anywhere=True, examples=("baton session adapters",))
def list_session_adapters(ws: Workspace, now: datetime, verb_input: NoInput) -> AdapterList:
    """List the session adapters, including those of other packages.

    An adapter reads the sessions of one source, such as an agent CLI, and shows them as snapshots.
    """
    known = list_adapters()
    usable = [adapter for adapter in known if not isinstance(adapter, BrokenAdapter)]
    adapters = [
        AdapterInfo(id=adapter.ID, description=adapter.DESCRIPTION, targetTypes=list(adapter.TARGET_TYPES))
        for adapter in usable
    ]
    broken = [adapter for adapter in known if isinstance(adapter, BrokenAdapter)]
    return AdapterList(adapters=adapters, problems=_list_problems(broken))


def _complete_surroundings(ws: Workspace, now: datetime, around: Surroundings | None) -> Surroundings:
    """Return the surroundings with the time and the state of the namespace.

    Raises:
        InvalidArgument: the interface gives adapters no access to the machine.
    """
    if around is None:
        raise InvalidArgument("this interface gives adapters no access to the machine")
    return replace(around, now=now, state=ws.branch.read().state)


def _list_problems(broken: Sequence[BrokenAdapter]) -> list[AdapterProblem]:
    return [AdapterProblem(**adapter._asdict()) for adapter in broken]
