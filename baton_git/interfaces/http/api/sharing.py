"""Other machines: sync, what waits for a review, and what two sides changed differently."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from baton_git.core.errors import InvalidArgument, NotFound
from baton_git.core.names import parse_oid
from baton_git.interfaces.http.api.acting import After, Limit, Named, Who
from baton_git.interfaces.http.api.answering import answer, page, where, written
from baton_git.interfaces.http.api.refusals import REMOTES, WRITES, refusals
from baton_git.interfaces.http.api.shapes import Asked, Page, Place, Written
from baton_git.interfaces.http.body import Routes
from baton_git.interfaces.http.problems import of_error
from baton_git.interfaces.http.site import Site
from baton_git.interfaces.results import conflicts as conflict_answers
from baton_git.interfaces.results import review as review_answers
from baton_git.namespace.remote_selection import configured_remote
from baton_git.namespace.results import COMMIT, ChangedRecord
from baton_git.verbs.conflict_blame import writers
from baton_git.verbs.conflicts import conflicts, resolve
from baton_git.verbs.review import decide, review
from baton_git.verbs.sync import in_words, sync

Remote = Annotated[str | None, Query(description="A remote of the server's repository, by name.", examples=["origin"])]
SIDES = "`ours` is what stands, where nobody was preferred."


class Conflicts(Page, Place):
    conflicts: list[dict[str, Any]] = Field(
        description="The fields are those of `/v1/schema/conflict`, and `writers`: by side, who gave it its value, as "
        f"far as the history says. {SIDES}",
        examples=[[{"id": "C-1f2e3d4c", "record_kind": "open_loop", "record_id": "OL-1", "field": "expected_outcome",
                    "ours": "200", "theirs": "204", "winner": "ours", "writers": {}}]],
    )  # fmt: skip


class Settling(Asked):
    """Which value stands from now on: that of a side, or another one."""

    side: Literal["ours", "theirs"] | None = Field(None, description=SIDES)
    value: Any = Field(None, description="Another value.", examples=["the health check answers 200"])


class Settled(Written):
    id: str = Field(examples=["C-1f2e3d4c"])
    record: str = Field(examples=["OL-1"])
    field: str = Field(examples=["expected_outcome"])


class Item(BaseModel):
    """A record that waits, and what taking it would change here."""

    kind: str
    id: str
    changes: list[ChangedRecord]


class Waiting(BaseModel):
    """What of a remote waits for a person."""

    remote: str
    theirs: str | None = Field(None, description="Up to which commit this is, for `shown`.", examples=[COMMIT])
    commits: int = Field(0, description="How many commits wait.")
    waiting: list[Item]


class Deciding(Asked):
    """What becomes of what waits."""

    accept: list[str] = Field([], max_length=10_000, description="Ids that are taken over.", examples=[["OL-7k3f9q"]])
    reject: list[str] = Field([], max_length=10_000, description="Ids that are turned down.", examples=[["PAT-2"]])
    accept_all: bool = Field(False, description="Take over everything that is not rejected.")
    reject_all: bool = Field(False, description="Turn down everything that is not accepted.")
    shown: str | None = Field(None, description="`theirs` of what was seen: refuse if more came.", examples=[COMMIT])


class Decided(BaseModel):
    remote: str
    taken: list[str] = Field(description="What was taken over.")
    refused: list[str] = Field(description="What was turned down.")
    left: int = Field(description="How many still wait.")
    commit: str | None = Field(description="Where the branch stands now.", examples=[COMMIT])


class Syncing(Asked):
    """With which remote; nothing is sent to where no configuration leads."""

    remote: str | None = Field(None, description="The name of a remote; else the one that is set.", examples=["origin"])
    all: bool = Field(False, description="All namespaces, here and there.")
    dry_run: bool = Field(False, description="Only say what would be done.")


class Synced(BaseModel):
    """What became of it; `offline` where the remote cannot be reached, which is no error."""

    remote: str
    offline: str | None = Field(None, description="Why it could not be reached.")
    namespaces: list[dict[str, Any]] = Field(
        description="By namespace, what was done, and what came, went, waits and is pending.",
        examples=[[{"namespace": "x", "actions": [], "received": 2, "sent": 1, "pending": 0, "waiting": 0}]],
    )
    said: list[str] = Field(description="The same in words.")


def router(site: Site) -> APIRouter:
    """Conflicts, reviews and sync."""
    routes = Routes(tags=["sharing"], responses=refusals())

    @routes.get("/v1/conflicts", response_model=Conflicts)
    def contested(namespace: Named = None, limit: Limit = 100, after: After = None) -> Response:
        """The values that two sides changed differently; one of each stands for now, both are kept."""
        with site.work(namespace) as ws:
            version = ws.branch.read()
            shown, more = page(conflicts(ws), limit, after, lambda one: one.id)
            told = writers(ws, shown)
        data = {"conflicts": [conflict_answers.listed(one, told.get(one.id, {})) for one in shown], "next": more}
        return answer({**where(version), **data}, commit=version.commit)

    @routes.post("/v1/conflicts/{conflict_id:path}/resolve", response_model=Settled, responses=refusals(*WRITES))
    def settle(
        conflict_id: Annotated[str, Path(description="The conflict, or a record that has only one.",
                                         examples=["C-1f2e3d4c"])],
        asked: Settling,
        who: Who,
    ) -> Response:  # fmt: skip
        """Settle a conflict: choose whose value stands, or give another one."""
        if (asked.side is None) == ("value" not in asked.model_fields_set):
            raise InvalidArgument("say what stands from now on", hint="give side or value, and not both")
        with who.on(site) as ws:
            conflict, done = resolve(ws, site.now(), conflict_id, asked.side, asked.value)
        return written(conflict_answers.settled(conflict), done)

    @routes.get("/v1/review", response_model=Waiting)
    def waits(remote: Remote = None, namespace: Named = None) -> Response:
        """What came from a remote and waits for a person."""
        with site.work(namespace) as ws:
            name, found = review(ws, configured_remote(ws, remote))
        return answer(review_answers.waiting(name, found))

    @routes.post("/v1/review", response_model=Decided, responses=refusals(*WRITES))
    def decision(asked: Deciding, who: Who, remote: Remote = None) -> Response:
        """Take over what waits, or turn it down, record by record or all of it. What would become a rule is refused:
        that takes a person, on the page or in a terminal."""
        _check(asked)
        take = None if asked.accept_all else asked.accept
        refuse = None if asked.reject_all else asked.reject
        shown = parse_oid(asked.shown) if asked.shown is not None else None
        with who.on(site) as ws:
            name, found = review(ws, configured_remote(ws, remote))
            if found is None:
                raise NotFound("change that waits of", name)
            done = decide(ws, site.now(), name, take=take, refuse=refuse, shown=shown)
        return answer(review_answers.decided(name, done), commit=done.commit)

    @routes.post("/v1/sync", response_model=Synced, responses=refusals(*WRITES, *REMOTES))
    def bring_together(who: Who, asked: Syncing | None = None) -> Response:
        """Fetch what other machines sent, merge it, send what they lack; nothing is ever forced."""
        asked = asked or Syncing()
        with who.on(site) as ws:
            done = sync(
                ws, site.now(), remote=asked.remote, named_only=True, everything=asked.all, dry_run=asked.dry_run
            )
        data = {**done.as_data(), "said": in_words(done)}
        return of_error("/v1/sync", done.errors[0], **data) if done.errors else answer(data)

    return routes


def _check(asked: Deciding) -> None:
    both = sorted(set(asked.accept) & set(asked.reject))
    if both:
        raise InvalidArgument(f"{', '.join(both[:5])} cannot be both accepted and rejected")
    if asked.accept_all and asked.reject_all:
        raise InvalidArgument("accept_all and reject_all do not go together")
    if not (asked.accept or asked.reject or asked.accept_all or asked.reject_all):
        raise InvalidArgument("nothing is decided", hint="give accept, reject, accept_all or reject_all")
