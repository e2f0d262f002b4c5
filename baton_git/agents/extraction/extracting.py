"""Read a transcript and return the facts of its session."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from baton_git.agents.events import (
    ANSWERED,
    BEGINNING,
    FAILED,
    INTERRUPTED,
    START_OF_FILE,
    EndReached,
    Event,
    Position,
    Tally,
)
from baton_git.agents.extraction import Options
from baton_git.agents.extraction.analyser import Analyser
from baton_git.agents.extraction.conversation import CONVERSATION_FACTS, add_said, describe_conversation, list_turns
from baton_git.agents.extraction.facts import (
    Facts,
    choose_transcripts,
    find_transcripts,
    make_facts,
    summarize_subagent,
)
from baton_git.agents.extraction.findings import Findings, load_resume_state, save_resume_state
from baton_git.agents.json_lines import MAX_BYTES, JsonLines, Record, read_object
from baton_git.agents.registry import AGENTS
from baton_git.agents.turn_store import MAX_TEXT, Turn, bound_turns, keep_ends
from baton_git.core.errors import BatonError, Fault, InvalidArgument, InvalidDocument, WriteFailed
from baton_git.git.files.atomic_files import show_path

MANY = 50
"""Number of records after which there must be a prompt and an answer. Some unknown types of records are normal."""


def describe_misread(tally: Tally, known: Findings) -> str | None:
    """Return why a transcript was probably not understood, with the numbers of its records; None if it was.

    So it is not taken for the transcript of a session without any work.
    """
    counts = f"records seen {tally.records}, understood {tally.understood}"
    has_prompt, has_answer = bool(known.goal or known.bare_goal), known.answers > 0
    if has_prompt and has_answer:
        return None
    unknown = tally.records - tally.understood
    if not has_prompt and not has_answer and (tally.misshaped or unknown > max(tally.understood, 1)):
        return counts
    if (tally.records >= MANY or tally.misshaped) and not known.kept_goal:
        return f"{counts}, but no {'answer' if has_prompt else 'prompt'} found"
    return None


@dataclass(frozen=True)
class Extraction:
    """The facts of a session.

    Attributes:
        cwd: current working directory; None when unknown.
        home: working directory at the start.
        started, ended: times of the first and the last event, as ISO text from the transcript; None when unknown.
        facts: plain data in the shape of `Facts` in `core.records.handoff`, without `git_status`, which a transcript
            does not contain.
        compactions: number of context compactions in the transcript.
        unread: number of lines that could not be read.
        position: the position up to which the transcript was read.
        turns: prompts and answers, cut to the size limit of a session.
        commits: for each commit in the facts, when its command ended and where it ran.
        left_commits: the ids of commits that were made in turns which are no longer on the path of the conversation.
        misread: why the transcript's format was probably not understood; None when it was understood.
    """

    agent: str
    session: str | None
    cwd: str | None
    branch: str | None
    started: str | None
    facts: Facts
    compactions: int = 0
    unread: int = 0
    position: Position = BEGINNING
    options: Options = field(default_factory=Options)
    home: str | None = None
    commits: tuple[dict[str, Any], ...] = ()
    left_commits: tuple[str, ...] = ()
    ended: str | None = None
    turns: tuple[Turn, ...] = ()
    misread: str | None = None


def extract(
    path: Path,
    agent: str | None = None,
    *,
    memory: Path | None = None,
    options: Options | None = None,
    folder: Path | None = None,
    has_ended: bool = False,
) -> Extraction:
    """Extract the facts of a session from its transcript.

    Args:
        agent: the agent CLI that wrote the transcript; None: detect it.
        memory: a file that stores the state of the reading, so that the next call reads only new lines. The result is
            the same as without the file, except that secrets in the lines that earlier calls read are redacted.
        folder: the session's working directory, in case the transcript does not name one.
        has_ended: whether no agent works on the session any more, so that a turn without an answer will get none.

    Raises:
        InvalidDocument: the file is empty, or not a transcript of this agent.
        InvalidArgument: there is no such agent, or `path` is a directory.
        NotFound, StoreError, LimitExceeded: the file cannot be read.
    """
    name = check_agent_name(agent) if agent is not None else detect_agent(path)
    before = load_resume_state(memory, path, name) if memory is not None else None
    if agent is not None and before is None:
        _check_owner(path, name)
    analyser = Analyser(name, before.known if before else None)
    since = before.end if before else START_OF_FILE
    for event in AGENTS[name].transcript.events(path, since):
        analyser.add_event(event)
    end = analyser.end or START_OF_FILE
    has_news = _read_subagents(name, path, analyser)
    if (
        memory is not None
        and end.position.offset
        and (has_news or before is None or end.position != before.end.position)
    ):
        with suppress(WriteFailed):  # the next call then reads the same lines again
            save_resume_state(memory, path, name, EndReached(*end), analyser.memory())
    return _make_extraction(
        name, analyser, end.position, options or Options(), str(folder) if folder is not None else None,
        has_ended=has_ended,
    )  # fmt: skip


def extract_events(
    name: str, events: Iterable[Event], *, options: Options | None = None, folder: Path | None = None,
    has_ended: bool = False,
) -> Extraction:  # fmt: skip
    """Extract the facts of a session without a transcript from its events; the arguments are those of `extract`."""
    analyser = Analyser(name, None)
    for event in events:
        analyser.add_event(event)
    place = str(folder) if folder is not None else None
    return _make_extraction(name, analyser, BEGINNING, options or Options(), place, has_ended=has_ended)


def _read_subagents(name: str, path: Path, analyser: Analyser) -> bool:
    """Add the findings of the session's subagents; return whether there were new ones."""
    known, cli = analyser.known, AGENTS[name]
    paths = find_transcripts(cli.launcher, path, known.session)
    new = choose_transcripts(paths, known.subagents, known.left_subagents)
    for file, size in new:
        subagent = Analyser(name, Findings(home=known.home, cwd=known.cwd))
        try:
            for event in cli.transcript.events(file):
                subagent.add_event(event)
        except BatonError:
            continue  # unreadable, such as another user's file; the session's own transcript still counts
        known.subagents[file.name] = summarize_subagent(subagent.known, size, known)
    if new and analyser.settled is not None:
        analyser.settled["subagents"] = known.subagents
    return bool(new)


def _check_owner(path: Path, agent: str) -> None:
    """Raise InvalidDocument for another agent's transcript. An unknown format is accepted, as it may be a newer one."""
    try:
        owner = detect_agent(path)
    except InvalidDocument:
        return
    if owner != agent:
        raise InvalidDocument([Fault("", f"is a transcript of {owner}, not of {agent}")], where=show_path(path))


def _make_extraction(
    name: str, analyser: Analyser, position: Position, options: Options, folder: str | None, *, has_ended: bool
) -> Extraction:
    known = analyser.known
    if known.home is None:
        known.home = folder
    turns = list_turns(known, has_ended=has_ended)
    facts, commits = make_facts(known, turns, options, known.cwd or folder)
    return Extraction(
        agent=name, session=known.session, cwd=known.cwd or folder, branch=known.branch, started=known.started,
        facts=facts, compactions=known.compactions, unread=analyser.unread, position=position, options=options,
        home=known.home, commits=commits, ended=known.ended, turns=turns,
        left_commits=tuple(sorted({*known.left_commits} - {commit["hash"] for commit in known.commits})),
        misread=describe_misread(analyser.tally, known),
    )  # fmt: skip


def check_agent_name(name: str) -> str:
    """Return `name`. Raises InvalidArgument when there is no agent of that name."""
    if name not in AGENTS:
        raise InvalidArgument(f"there is no agent {name!r}", hint=f"the agents are {', '.join(sorted(AGENTS))}")
    return name


def add_final_answer(extraction: Extraction, text: str, before: int | None = None) -> Extraction:
    """Return the extraction with the final answer that a hook received, unless the transcript already contains it
    or the options exclude the conversation.

    Claude Code writes the final message of a turn only after running its Stop hook.

    Args:
        before: the size of the transcript in bytes when the hook ran: the answer is to the last prompt before that
            place. None: it is to the last prompt.
    """
    text = keep_ends(text.strip(), MAX_TEXT)
    turns = list(extraction.turns)
    number = next((at for at in range(len(turns) - 1, -1, -1) if before is None or turns[at].offset < before), None)
    if not text or not extraction.options.extract.conversation:
        return extraction
    if number is None or (turns[number].answer == text and turns[number].status == ANSWERED):
        return extraction
    if number < len(turns) - 1 and turns[number].status in (ANSWERED, INTERRUPTED, FAILED):
        return extraction  # the transcript has gone on, and says how that turn ended
    said = add_said(turns[number].said, turns[number].answer, text)
    turns[number] = turns[number]._replace(answer=text, status=ANSWERED, reason="", said=said)
    facts = {name: value for name, value in extraction.facts.items() if name not in CONVERSATION_FACTS}
    conversation = describe_conversation(turns, {})
    return replace(extraction, facts={**facts, **conversation}, turns=bound_turns(turns))


# --- who wrote a transcript

_RECORDS = 50
_LINES = 200
"""Maximum numbers of readable records, and of lines, that are tried before a file counts as unknown."""


def detect_agent(path: Path) -> str:
    """Return the name of the agent that wrote a transcript.

    Raises:
        InvalidDocument: the file is empty, or no known agent wrote it.
        NotFound, InvalidArgument, StoreError: the file cannot be read.
    """
    for record in _read_first_objects(path):
        for name in reversed(AGENTS):
            if AGENTS[name].transcript.recognises(record):
                return name
    *names, last = sorted(AGENTS)
    why = f"is not a transcript of {', '.join(names)} or {last}"
    raise InvalidDocument([Fault("", "is empty" if path.stat().st_size == 0 else why)], where=show_path(path))


def _read_first_objects(path: Path) -> Iterator[Record]:
    lines = JsonLines(path, most=_LINES)
    yield from (record for _, record in islice(lines, _RECORDS))
    if lines.unread and path.stat().st_size <= MAX_BYTES and (whole := read_object(path)):
        yield whole
