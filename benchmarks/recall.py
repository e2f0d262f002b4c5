"""Measure recall over generated sessions against bm25s and LSA: sessions named, questions left unanswered, and time.

Each session is about one subject of an invented project (a component, a problem, a remedy, a value), in prompts and
answers with different words; some questions use a synonym. Half of the questions have an answer. The peers rank whole
sessions and fill the same budget. A peer whose package is missing is left out (`pip install bm25s numpy`).
"""

from __future__ import annotations

import random
import statistics
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from measuring import missed, now, report, workspace

from baton_git.agents.turn_store import SessionTurns, Turn, TurnStore, turns_folder
from baton_git.core.records.base import parse
from baton_git.core.records.work_items import FollowUp
from baton_git.core.state import State, key_of
from baton_git.namespace.revision import Revision
from baton_git.namespace.workspace import Workspace
from baton_git.recall.recalling import Question, find_answer
from baton_git.recall.terms import extract_terms

SESSIONS, RECORDS, QUESTIONS, BUDGET = 1_000, 10_000, 100, 4_000
PARTS = """
    parser scheduler importer gateway ledger mailer thumbnailer crawler exporter billing search login
""".split()  # noqa: SIM905  a list would take a line for each word
THINGS = """
    timeout deadlock leak crash regression overflow rounding race encoding pagination retry quota
""".split()  # noqa: SIM905  a list would take a line for each word
REMEDIES = """
    semaphore backoff checksum mutex cursor debounce bitmap lease snapshot watermark shard token
""".split()  # noqa: SIM905  a list would take a line for each word
FILLER = """
    we looked at the logs and the tests pass now so I pushed it the next step is to clean up and to ask again
""".split()  # noqa: SIM905  a list would take a line for each word
ABSENT = """
    kubernetes terraform payroll blockchain holography telemetry satellite accessibility
""".split()  # noqa: SIM905  a list would take a line for each word


class Case(NamedTuple):
    """A question, and the sessions that contain its answer; none if it has no answer."""

    question: str
    sessions: frozenset[str]


def make_sessions(chance: random.Random) -> tuple[dict[str, str], list[Case]]:
    """Return the texts of sessions by id, and questions about them."""
    texts: dict[str, str] = {}
    about: dict[tuple[str, str, str], set[str]] = {}
    for number in range(SESSIONS):
        subject = (chance.choice(PARTS), chance.choice(THINGS), chance.choice(REMEDIES))
        name = str(uuid.UUID(int=chance.getrandbits(128)))
        filler = [" ".join(chance.choices(FILLER, k=60)) for _ in range(8)]
        part, thing, remedy = subject
        filler[2] += f"\n\nThe {part} shows a {thing} under load. I fixed it by a {remedy} of {number} units."
        texts[name] = "\n\n".join(filler)
        about.setdefault(subject, set()).add(name)
    subjects = chance.sample(sorted(about), QUESTIONS // 2)
    cases = [Case(f"How was the {thing} of the {part} fixed by a {remedy}?", frozenset(about[part, thing, remedy]))
             for part, thing, remedy in subjects]  # fmt: skip
    for _ in range(QUESTIONS // 2):
        one, other = chance.sample(ABSENT, 2)
        cases.append(Case(f"Which {one} module does the {chance.choice(PARTS)} use for {other}?", frozenset()))
    return texts, cases


def store_sessions(ws: Workspace, texts: dict[str, str]) -> None:
    """Store the sessions as turns."""
    turns = TurnStore(turns_folder(ws.branch.store.repository.common_dir))
    for name, text in texts.items():
        parts = text.split("\n\n")
        pairs = [Turn(at // 2 + 1, "2026-01-01", *parts[at : at + 2], at, 0) for at in range(0, len(parts) - 1, 2)]
        turns.save(SessionTurns("claude", name, "2026-01-01", None, None, ws.branch.namespace.text, tuple(pairs)))


def fill_answer(texts: dict[str, str], order: list[str]) -> str:
    """Return whole sessions in this order, as many as fit into the budget."""
    answer = ""
    for name in order:
        piece = f"{name}\n{texts[name]}\n"
        if len((answer + piece).encode()) > BUDGET:
            break
        answer += piece
    return answer


def bm25s_peer(texts: dict[str, str]) -> Callable[[str], str]:
    import bm25s

    names = list(texts)
    index = bm25s.BM25()
    index.index([extract_terms(texts[name]) for name in names], show_progress=False)

    def ask(question: str) -> str:
        found, _ = index.retrieve([extract_terms(question)], k=10, show_progress=False)
        return fill_answer(texts, [names[number] for number in found[0]])

    return ask


def lsa_peer(texts: dict[str, str], dimensions: int = 100) -> Callable[[str], str]:
    import numpy

    names, counts = list(texts), [Counter(extract_terms(text)) for text in texts.values()]
    column = {term: number for number, term in enumerate(sorted({term for count in counts for term in count}))}
    matrix = numpy.zeros((len(names), len(column)))
    for row, count in enumerate(counts):
        for term, times in count.items():
            matrix[row, column[term]] = 1 + numpy.log(times)
    weights = numpy.log(len(names) / (matrix > 0).sum(axis=0))
    _, _, axes = numpy.linalg.svd(matrix * weights, full_matrices=False)
    documents = (matrix * weights) @ axes[:dimensions].T
    documents /= numpy.linalg.norm(documents, axis=1, keepdims=True) + 1e-9

    def ask(question: str) -> str:
        vector = numpy.zeros(len(column))
        for term in extract_terms(question):
            if term in column:
                vector[column[term]] = weights[column[term]]
        return fill_answer(
            texts, [names[number] for number in numpy.argsort(-documents @ (axes[:dimensions] @ vector))[:10]]
        )

    return ask


def score(name: str, ask: Callable[[str], str], cases: list[Case]) -> tuple[float, float]:
    """Print and return two shares: questions whose sessions are all named, and questions correctly left unanswered."""
    answers = {case.question: ask(case.question) for case in cases}
    with_answer = [case for case in cases if case.sessions]
    named = [all(session[:8] in answers[case.question] for session in case.sessions) for case in with_answer]
    silent = [not answers[case.question].strip() for case in cases if not case.sessions]
    shares = sum(named) / len(named), sum(silent) / len(silent)
    print(f"{name:8}  all sessions named {shares[0]:6.1%}   unanswered if there is none {shares[1]:6.1%}")
    return shares


def add_records(tip: Revision, chance: random.Random) -> State:
    """Return the state with many follow-ups."""
    edits = dict(tip.state.edits)
    for number in range(RECORDS):
        item = f"{chance.choice(PARTS)} {chance.choice(THINGS)} {' '.join(chance.choices(FILLER, k=20))}"
        record = parse(FollowUp, {"id": f"FU-{number}", "item": item, "first_seen": "2026-01-01"})
        edits[key_of(record)] = record
    return State(tip.state.source, edits)


def measure_time(ws: Workspace, texts: dict[str, str], ask: Callable[[str], str], cases: list[Case]) -> None:
    """Print the processor time of a question, and of the next one after one more session."""
    times = []
    for case in cases[:30]:
        started = time.process_time()
        ask(case.question)
        times.append(time.process_time() - started)
    report("processor time of a question", statistics.median(times) * 1e3, 50, " ms")
    name = next(iter(texts))
    store_sessions(ws, {name[::-1]: texts[name]})
    started = time.process_time()
    ask(cases[0].question)
    report("the next question, after one more session", (time.process_time() - started) * 1e3, 300, " ms")


def main() -> None:
    chance = random.Random(14)
    texts, cases = make_sessions(chance)
    with workspace() as ws:
        store_sessions(ws, texts)
        ws.update("bench", now(), lambda tip: add_records(tip, chance))

        def ask(question: str) -> str:
            return find_answer(ws, Question(question, BUDGET)).text

        started = time.process_time()
        ask("anything")
        seconds = time.process_time() - started
        print(f"index of {SESSIONS:,} sessions and {RECORDS:,} records: {seconds:.1f} s of processor time")
        named, silent = score("recall", ask, cases)
        report("questions for which a session was not named", 100 * (1 - named), 3, " %")
        report("questions without an answer that were answered", 100 * (1 - silent), 50, " %")
        for name, peer in (("bm25s", bm25s_peer), ("LSA", lsa_peer)):
            try:
                score(name, peer(texts), cases)
            except ImportError as error:
                print(f"{name:8}  left out: {error}")
        measure_time(ws, texts, ask, cases)
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
