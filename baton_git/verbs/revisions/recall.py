"""The verb `recall`: answer a question from the records and the sessions of a project."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime

from pydantic import Field

from baton_git.core.errors import InvalidArgument
from baton_git.core.kinds import ALL_KINDS, find_kind
from baton_git.core.output import flat
from baton_git.core.times import TimeField, iso
from baton_git.core.verb import READS, Input, Option, Tool, verb
from baton_git.core.view import Reader, ResultView
from baton_git.namespace.results import AtNamespace, ResultPart, full_position
from baton_git.namespace.workspace import Workspace
from baton_git.recall.answer import DEFAULT_BUDGET, MAX_BUDGET, MIN_BUDGET, PARAMETERS, Excerpt, Wording
from baton_git.recall.dates import find_period
from baton_git.recall.index import PassageFilter
from baton_git.recall.passages import TURN, Passage
from baton_git.recall.recalling import Question, find_answer
from baton_git.recall.terms import MAX_QUESTION
from baton_git.verbs.records.details import find_exact
from baton_git.verbs.records.stored import describe_title, read_fields
from baton_git.verbs.revisions.history import parse_optional_moment

_ID = re.compile(r"[A-Za-z]+(?:-\w+)+")
"""A word that may be the id of a record."""


class RecallQuestion(Input):
    """A question, and where to search for the answer."""

    question: str = Field(
        min_length=1, max_length=MAX_QUESTION, description="A question, or words and names to search for.",
        examples=["why did we drop Kafka"],
    )  # fmt: skip
    budget: int = Field(
        DEFAULT_BUDGET, ge=MIN_BUDGET, le=MAX_BUDGET, description="Maximum size of the answer in bytes."
    )
    since: TimeField = Field(None, description="Search only from this date or time on.", examples=["2 days ago"])
    until: TimeField = Field(None, description="Search only up to this date or time.", examples=["yesterday"])
    kind: str | None = Field(
        None, description="Search only records of this kind, or `turn` for the turns of sessions.",
        examples=["active_decision"],
    )  # fmt: skip
    in_session: str | None = Field(
        None, min_length=4, description="Search only the session whose id begins with this text."
    )
    all_projects: bool = Field(False, description="Search all namespaces of this repository.")


class RecalledPassage(ResultPart):
    """A turn of a session, or a record, that is relevant to the question."""

    kind: str = Field(description="The kind of record, or `turn` for a turn of a session.", examples=["turn"])
    session: str = Field(description="The session; empty if unknown.", examples=["2026-06-17-003"])
    record: str = Field(description="The id of the record, or the number of the turn.", examples=["3"])
    agent: str = Field(description="The agent; empty if unknown.", examples=["claude"])
    time: str = Field(description="Its time, ISO 8601.", examples=["2026-06-17T12:30:00Z"])
    namespace: str = Field(description="The namespace; empty if unknown.", examples=["project:memory-hall"])


class RecalledExcerpt(RecalledPassage):
    """An excerpt of a turn or record."""

    label: str = Field(description="Who vouches for it.", examples=["agent"])
    mark: str = Field(description="Why it is no longer valid; empty if it is valid.", examples=["earlier value"])
    lines: list[str] = Field(description="The relevant sentences.", examples=[["> user: why Kafka?"]])


class RecallResult(AtNamespace):
    """The answer to a question."""

    text: str = Field(description="The answer within the budget; empty if nothing was found.")
    excerpts: list[RecalledExcerpt] = Field(description="The excerpts in the answer, in order.")
    more: list[RecalledPassage] = Field(description="Further turns and records that may be relevant.")
    missing: list[str] = Field([], description="Words of the question that occur nowhere.", examples=[["cassandra"]])
    empty_days: str = Field(
        "", description="The days that the question names if nothing is of them; empty otherwise.",
        examples=["2026-11-03 to 2026-11-05"],
    )  # fmt: skip
    unread: str = Field("", description="Why older revisions could not be searched; empty if all were.")
    unread_sessions: str = Field(
        "", description="Which earlier sessions on this machine could not be read in time; empty if all were.",
        examples=["3 transcripts of earlier sessions are not read yet; ask again, or run baton mine"],
    )  # fmt: skip
    pending: str = Field(
        "", description="What was not searched because it is not indexed yet; empty if everything is. Each further "
        "question indexes more.", examples=["the commits until 2026-06-17 are not indexed yet"],
    )  # fmt: skip
    unstored: str = Field(
        "", description="Why the index could not be stored, so that the next question reads everything again; empty "
        "if it is stored.", examples=["database or disk is full"],
    )  # fmt: skip

    verbose = frozenset({"excerpts", "more"})

    def show(self, reader: Reader) -> ResultView:
        notes = [flat(self.unread_sessions)] if self.unread_sessions else []
        if self.pending:
            found = "" if self.text else "nothing matches the question so far: "
            notes.append(f"{found}{flat(self.pending)} (each further question indexes more)")
        elif not self.text:
            named = f"; no text has: {flat(', '.join(self.missing))}" if self.missing else ""
            named += f"; no text is of {flat(self.empty_days)}" if self.empty_days else ""
            notes.append(f"nothing matches the question{named}")
        if self.unread:
            notes.append(f"older revisions were not searched: {flat(self.unread)} (baton doctor --fix)")
        if self.unstored:
            again = "(the next question reads everything again)"
            notes.append(f"the index of recall is not stored: {flat(self.unstored)} {again}")
        return ResultView(self.text.rstrip("\n"), notes, "unknown" if self.pending and not self.text else "ok")


@verb(
    "recall",
    "GET /v1/recall",
    effect=READS,
    anywhere=True,
    machine=True,
    tag="history",
    positional=("question",),
    options={
        "question": Option(is_joined=True), "budget": Option(metavar="BYTES"), "since": Option(metavar="TIME"),
        "until": Option(metavar="TIME"),
        "kind": Option(metavar="KIND"), "in_session": Option(names=("--in-session",), metavar="ID"),
    },
    tool=Tool(
        "Search earlier sessions.",
        hidden=("since", "until", "kind", "all_projects"),
    ),
    examples=(
        "baton recall why did we drop Kafka",
        "baton recall max_connections --since 2026-06-01 --budget 8000",
    ),
)  # fmt: skip
def recall(ws: Workspace, now: datetime, verb_input: RecallQuestion) -> RecallResult:
    """Answer a question from records, their history, and the turns of all sessions.

    The answer quotes the relevant sentences, with their session, their time and who vouches for them. What is of the
    days that the question names ("on Friday", "November 27") comes first. The answer is empty if nothing was found.
    Transcripts that no hook has saved yet are read before. In a long history, the first questions search the newest
    commits and the live records only, and say what is not indexed yet.

    Raises:
        InvalidArgument: a time or the kind is invalid.
        NotFound: the namespace does not exist.
        StoreError: the sqlite library of this Python has no full-text search.
    """
    return answer_question(ws, now, verb_input)


def answer_question(
    ws: Workspace, now: datetime, verb_input: RecallQuestion, wording: Wording = PARAMETERS
) -> RecallResult:
    """Do what `recall` does; `wording` is how the answer names the options that get more."""
    since, until = parse_optional_moment(verb_input.since), parse_optional_moment(verb_input.until, end=True)
    wanted = PassageFilter(
        since=iso(since) if since is not None else None, until=iso(until) if until is not None else None,
        kind=_parse_kind(verb_input.kind), session=verb_input.in_session,
    )  # fmt: skip
    unread_sessions = _read_new_sessions(ws, now)
    titles = _find_titles(ws, verb_input.question)
    period = find_period(verb_input.question, now)
    if period is not None:
        period = period._replace(rest=_add_titles(period.rest, titles))
    text = _add_titles(verb_input.question, titles)
    answer = find_answer(
        ws,
        Question(
            text, verb_input.budget, wanted, period, verb_input.all_projects, wording=wording, ids=frozenset(titles)
        ),
    )
    if not answer.text and not verb_input.all_projects:
        ws.branch.check_exists()
    return RecallResult(
        **full_position(ws.branch.read()),
        text=answer.text,
        excerpts=[_describe_excerpt(excerpt) for excerpt in answer.excerpts],
        more=[RecalledPassage(**_describe(passage)) for passage in answer.also],
        missing=[*answer.missing],
        empty_days=answer.empty_days,
        unread=answer.unread,
        unread_sessions=unread_sessions,
        pending=answer.pending,
        unstored=answer.unstored,
    )


def _read_new_sessions(ws: Workspace, now: datetime) -> str:
    if ws.machine is None:
        return ""
    # a library without a machine has no transcripts, and reading them imports half of the package
    from baton_git.verbs.sessions.mining import read_new_sessions

    return read_new_sessions(ws, now)


def _find_titles(ws: Workspace, question: str) -> dict[str, str]:
    """Return the titles of the records whose ids are in a question, by id: the ids are not indexed with the records."""
    ids = _ID.findall(question)
    if not ids or ws.branch.tip() is None:
        return {}
    state, titles = ws.branch.read().state, {}
    for id_ in ids:
        named = {describe_title(key.kind, read_fields(state.entry(key))) for key in find_exact(state, id_)}
        if named:
            titles[id_] = " ".join(sorted(named))
    return titles


def _add_titles(question: str, titles: Mapping[str, str]) -> str:
    """Return a question with titles after it, as far as they fit; what mentions only the id is an answer, too."""
    return " ".join([question, *titles.values()])[:MAX_QUESTION]


def _describe(passage: Passage) -> dict[str, str]:
    return {name: getattr(passage, name) for name in RecalledPassage.model_fields}


def _describe_excerpt(excerpt: Excerpt) -> RecalledExcerpt:
    standing = excerpt.standing
    return RecalledExcerpt(
        **_describe(excerpt.passage), label=standing.label, mark=standing.mark, lines=list(excerpt.lines)
    )


def _parse_kind(name: str | None) -> str | None:
    """Return the kind with this name, in any form that `list` takes, or `turn`.

    Raises:
        InvalidArgument: there is no such kind.
    """
    if name is None or name in (TURN, *ALL_KINDS):
        return name
    kind = TURN if name == f"{TURN}s" else find_kind(name)
    if kind is None:
        raise InvalidArgument(f"there is no kind {name!r}", hint=f"one of {', '.join((TURN, *ALL_KINDS))}")
    return kind
