"""Answer a question from what the sessions of a project left."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from baton_git.core.errors import InvalidArgument
from baton_git.core.kinds import ALL_KINDS
from baton_git.core.natural_times import TimeField
from baton_git.core.times import iso
from baton_git.core.verb import READS, Input, Option, Tool, verb
from baton_git.namespace.results import AtNamespace, ResultPart, full_position
from baton_git.namespace.workspace import Workspace
from baton_git.recall.answer import DEFAULT_BUDGET, MIN_BUDGET, Excerpt
from baton_git.recall.index import PassageFilter
from baton_git.recall.passages import TURN, Passage
from baton_git.recall.recalling import Question, find_answer
from baton_git.recall.terms import MAX_QUESTION
from baton_git.verbs.revisions.history import moment


class RecallQuestion(Input):
    """What to look for, and where."""

    question: str = Field(
        min_length=1, max_length=MAX_QUESTION, description="A question, or words and names.",
        examples=["why did we drop Kafka"],
    )  # fmt: skip
    budget: int = Field(DEFAULT_BUDGET, ge=MIN_BUDGET, le=200_000, description="Bytes that the answer may have.")
    since: TimeField = Field(None, description="Not older than this date or time.", examples=["2 days ago"])
    kind: str | None = Field(
        None, description="Only records of this kind, or `turn`: what was said.", examples=["active_decision"]
    )
    in_session: str | None = Field(None, min_length=4, description="Only this session, by the beginning of its id.")
    all_projects: bool = Field(False, description="In all namespaces of this repository.")


class RecalledSession(ResultPart):
    """A session or a record that has to do with the question."""

    kind: str = Field(description="The kind of record; `turn`: what was said in a session.", examples=["turn"])
    session: str = Field(description="The session; empty where none is known.", examples=["2026-06-17-003"])
    record: str = Field(description="The id of the record; the number of the turn.", examples=["3"])
    agent: str = Field(description="The agent; empty where none is known.", examples=["claude"])
    time: str = Field(description="When, ISO 8601.", examples=["2026-06-17T12:30:00Z"])
    namespace: str = Field(description="The namespace; empty where none is known.", examples=["project:memory-hall"])


class RecalledExcerpt(RecalledSession):
    """What it says about the question."""

    label: str = Field(description="Who vouches for it.", examples=["agent"])
    mark: str = Field(description="Why it does not hold any more; empty where it does.", examples=["earlier value"])
    lines: list[str] = Field(description="The sentences that fit.", examples=[["> user: why Kafka?"]])


class RecallResult(AtNamespace):
    """The answer to a question."""

    text: str = Field(description="The answer within the budget; empty where nothing fits.")
    excerpts: list[RecalledExcerpt] = Field(description="What it quotes, in its order.")
    more: list[RecalledSession] = Field(description="Further sessions that may have to do with it.")

    verbose = frozenset({"excerpts", "more"})


@verb(
    "recall",
    "GET /v1/recall",
    effect=READS,
    anywhere=True,
    tag="history",
    positional=("question",),
    options={
        "question": Option(is_joined=True), "budget": Option(metavar="BYTES"), "since": Option(metavar="TIME"),
        "kind": Option(metavar="KIND"), "in_session": Option(names=("--in-session",), metavar="ID"),
    },
    tool=Tool(
        "What earlier sessions said about it.",
        hidden=("budget", "since", "kind", "in_session", "all_projects"),
    ),
    examples=(
        "baton recall why did we drop Kafka",
        "baton recall max_connections --since 2026-06-01 --budget 8000",
    ),
)  # fmt: skip
def recall(ws: Workspace, now: datetime, asked: RecallQuestion) -> RecallResult:
    """Answer a question from records, their history, and the turns of all sessions.

    The answer quotes what fits, with session, time and who vouches for it. It is empty where nothing fits.

    Raises:
        InvalidArgument: the time or the kind is none.
        NotFound: the namespace does not exist.
        StoreError: this Python's sqlite cannot search texts.
    """
    if asked.kind is not None and asked.kind not in (TURN, *ALL_KINDS):
        raise InvalidArgument(f"there is no kind {asked.kind!r}", hint=f"one of {', '.join((TURN, *ALL_KINDS))}")
    since = moment(asked.since)
    wanted = PassageFilter(since=iso(since) if since is not None else None, kind=asked.kind, session=asked.in_session)
    answer = find_answer(ws, Question(asked.question, asked.budget, wanted, asked.all_projects))
    if not answer.text and not asked.all_projects:
        ws.branch.check_exists()
    return RecallResult(
        **full_position(ws.branch.read()),
        text=answer.text,
        excerpts=[_describe_excerpt(excerpt) for excerpt in answer.excerpts],
        more=[RecalledSession(**_describe(passage)) for passage in answer.also],
    )


def _describe(passage: Passage) -> dict[str, str]:
    return {name: getattr(passage, name) for name in RecalledSession.model_fields}


def _describe_excerpt(excerpt: Excerpt) -> RecalledExcerpt:
    standing = excerpt.standing
    return RecalledExcerpt(
        **_describe(excerpt.passage), label=standing.label, mark=standing.mark, lines=list(excerpt.lines)
    )
