"""Measure what recall quotes, beside bm25s and grep: hard questions about the sessions of an invented project.

    .venv/bin/pip install bm25s
    .venv/bin/python benchmarks/recall.py [--pictures docs/pictures --page docs/recall.md]

`recall.toml` has sessions and questions that were written for this benchmark: values in one sentence of a long
answer, the same words in many sessions, days, classes ("bugs"), replaced values, short questions of everyday words,
answers from several sessions, and words that nothing has. Generated sessions use the same words for other things, with
long answers, and a sentence in each of some of them has half of the words of a question and does not answer it.

Each system fills the same bytes with quotes under headings. The peers search the sessions and the decisions as texts:
bm25s in pieces, and grep, which prints the lines with a word of the question, files with most of its words first.
A peer that is not installed is left out.
"""

from __future__ import annotations

import argparse
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from textwrap import wrap
from typing import Any, NamedTuple

from charts import draw_chart
from measuring import missed, report, workspace

from baton_git.agents.turn_store import SessionTurns, Turn, TurnStore, turns_folder
from baton_git.namespace.caller import Vouched
from baton_git.namespace.workspace import Workspace
from baton_git.recall.common_words import STOP_WORDS
from baton_git.recall.passages import split_text
from baton_git.recall.terms import extract_terms
from baton_git.verbs.revisions.recall import recall
from baton_git.verbs.work_items.decisions import add_decision, supersede_decision

GENERATED = 400
BUDGETS = (1_000, 2_000, 4_000, 8_000)
NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)
DAYS = range(1, 330)
"""The days of the year of the generated sessions."""
BEGIN, END = "<!-- figures of benchmarks/recall.py -->", "<!-- end of the figures -->"
RUN = 5
"""Number of words in a row that count as quoted if a text has them in a row, too."""
ENOUGH = 200
"""Characters in such runs from which a text is quoted, or half of a shorter text."""

PARTS = (
    "booking page", "tariff table", "manifest export", "kiosk", "ledger", "mailer", "agency import", "search", "login",
    "dashboard", "seat map", "timetable", "scanner", "waiting list", "invoice", "backup", "tide reader", "refunds page",
)  # fmt: skip
THINGS = (
    "retry", "timeout", "queue", "cache", "limit", "setting", "report", "price", "refund", "cabin", "harbour",
    "sailing", "passenger", "payment", "session", "file", "command", "test", "day", "name", "account", "total",
)  # fmt: skip
SENTENCES = (
    "The {part} reads `{file}` before the {thing} is set, so I moved the call to `{name}`.",
    "I looked at the {thing} of the {part} and left it as it is.",
    "{n} tests of the {part} pass; the one about the {thing} takes {m} seconds.",
    "A {thing} for the {part} would be a larger change, which I have not begun.",
    "`{name}` returns the {thing}, and the {part} shows it beside the {other}.",
    "The {part} and the {part2} both have a {thing}; only the first one matters here.",
    "Should the {part} ask for the {thing} of each {other}? I assumed so, since `{file}` does.",
    "In `{file}` the {thing} is read in line {n} and written in line {m}.",
    "I renamed the {thing} of the {part} to `{name}`, with its {m} callers.",
    "The log of the {part} has {n} lines about the {thing}, all of the same {other}.",
    "Next comes the {other} of the {part2}, for which the {thing} is already there.",
    "What the {part} does with a {thing} when there is no {other} is not written down anywhere.",
    "The {thing} takes {m} to {n} ms in the {part}, most of it in `{file}`.",
    "Nothing else uses the {thing} of the {part2}, so the page on the {part} needs no change.",
    "I ran the checks twice, because the {part2} writes its {thing} in the background.",
    "The {other} comes from the {part}, where it is a {thing} with a default of {n}.",
)
PROMPTS = (
    "Look at the {thing} of the {part}, please.", "Now the {part}: what about its {thing}?",
    "The {part} needs another {thing} for each {other}.", "Go on with the {thing}.",
    "Can the {part2} have the same {thing} as the {part}?", "Write a page about the {thing} and the {other}.",
)  # fmt: skip
NEAR_MISS = "The notes on the {part} mention {words}, but that is another matter."


class Document(NamedTuple):
    """A session or a decision, as text.

    Attributes:
        id: what stands for it in a heading.
        turns: prompts with answers; of a decision, what was decided and why.
    """

    id: str
    name: str
    date: str
    turns: tuple[tuple[str, str], ...]

    @property
    def text(self) -> str:
        return "\n".join(part for turn in self.turns for part in turn)


class Case(NamedTuple):
    """A question, the documents that answer it, and those with a value that was replaced."""

    kind: str
    question: str
    answer: str
    right: frozenset[str]
    outdated: frozenset[str]
    missing: frozenset[str]


Ask = Callable[[str, int], str]
"""Answers a question in a number of bytes."""


# --- the data


class Prose:
    """Generates prompts and answers of the invented project."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    def _fill(self, sentence: str, words: str = "") -> str:
        part, part2 = self.chance.sample(PARTS, 2)
        thing, other = self.chance.sample(THINGS, 2)
        file = f"{part2.replace(' ', '_')}/{thing}_{self.chance.choice(THINGS)}.py"
        name = f"{self.chance.choice(('load', 'find', 'write', 'check'))}_{other}"
        numbers = {"n": self.chance.randint(20, 400), "m": self.chance.randint(2, 19)}
        return sentence.format(
            part=part, part2=part2, thing=thing, other=other, file=file, name=name, words=words, **numbers
        )

    def prompt(self) -> str:
        return self._fill(self.chance.choice(PROMPTS))

    def paragraphs(self, count: int) -> str:
        return "\n\n".join(
            " ".join(self._fill(self.chance.choice(SENTENCES)) for _ in range(self.chance.randint(3, 7)))
            for _ in range(count)
        )

    def near_miss(self, question: str) -> str:
        words = [word for word in re.findall(r"\w+", question.lower()) if word not in STOP_WORDS]
        some = self.chance.sample(words, -(-len(words) // 2))
        return self._fill(NEAR_MISS, ", ".join(some))


def load_documents(chance: random.Random) -> tuple[list[Document], list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the sessions, written and generated, the decisions, and the questions."""
    data = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    prose, sessions = Prose(chance), []
    for one in data["session"]:
        turns = [tuple(turn) for turn in one["turns"]]
        if one.get("long"):
            prompt, answer = turns[-1]
            turns[-1] = (prompt, f"{prose.paragraphs(6)}\n\n{answer}\n\n{prose.paragraphs(6)}")
        sessions.append((one["name"], one["date"], turns))
    hard = [one["ask"] for one in data["question"] if one["kind"] not in ("classes", "missing word")]
    for number in range(GENERATED):
        date = datetime.strptime(f"2026 {chance.choice(DAYS)}", "%Y %j").date().isoformat()
        turns = [(prose.prompt(), prose.paragraphs(chance.randint(2, 8))) for _ in range(chance.randint(2, 4))]
        if number % 2 == 0:
            turns.append((prose.prompt(), f"{prose.paragraphs(1)} {prose.near_miss(hard[number // 2 % len(hard)])}"))
        sessions.append((f"generated-{number}", date, turns))
    sessions.sort(key=lambda session: session[1])
    documents = [
        Document(str(uuid.UUID(int=chance.getrandbits(128), version=4)), name, date, tuple(turns))
        for name, date, turns in sessions
    ]
    return documents, data["decision"], data["question"]


def store_sessions(ws: Workspace, documents: Sequence[Document]) -> None:
    """Store the sessions as turns, as the hooks do."""
    store = TurnStore(turns_folder(ws.branch.store.repository.common_dir))
    for one in documents:
        time_ = f"{one.date}T10:00:00Z"
        turns = tuple(Turn(at, time_, *turn, at, 0) for at, turn in enumerate(one.turns, 1))
        store.save(SessionTurns("claude", one.id, time_, None, "main", ws.branch.namespace.text, turns))


def store_decisions(ws: Workspace, decisions: Sequence[Mapping[str, str]]) -> list[Document]:
    """Record decisions, each on its day; return them as texts."""
    ids: dict[str, str] = {}
    documents = []
    person = replace(ws, confirmed=Vouched("Bench", "terminal"))
    for one in decisions:
        day = datetime.fromisoformat(f"{one['date']}T10:00:00Z")
        ids[one["name"]] = id_ = add_decision(person, day, what=one["what"], why=one["why"], tier="human_confirmed").id
        documents.append(Document(id_, one["name"], one["date"], ((one["what"], one["why"]),)))
    for one in decisions:
        if "superseded_by" in one:
            supersede_decision(person, NOW, id=ids[one["name"]], by=ids[one["superseded_by"]])
    return documents


def find_cases(questions: Sequence[Mapping[str, Any]], documents: Sequence[Document]) -> list[Case]:
    ids = {one.name: one.id for one in documents}
    return [
        Case(
            one["kind"], one["ask"], one.get("answer", ""),
            frozenset(ids[name] for name in [*one.get("sessions", ()), *one.get("records", ())]),
            frozenset(ids[name] for name in one.get("outdated", ())), frozenset(one.get("missing", ())),
        )
        for one in questions
    ]  # fmt: skip


# --- the systems


def ask_recall(ws: Workspace) -> Ask:
    def ask(question: str, budget: int) -> str:
        result = recall(ws, NOW, question=question, budget=budget)
        return result.text or f"No text has: {', '.join(result.missing)}"  # said on standard error

    return ask


def ask_bm25s(documents: Sequence[Document], most: int) -> Ask:
    """Return BM25 over pieces of at most `most` characters, best pieces first, each session under one heading."""
    import bm25s

    pieces = [
        (one, piece) for one in documents for turn in one.turns for part in turn for piece in split_text(part, most)
    ]
    index = bm25s.BM25()
    index.index([extract_terms(piece) for _, piece in pieces], show_progress=False)

    def ask(question: str, budget: int) -> str:
        terms = [
            term
            for word in re.findall(r"\w+", question.lower())
            if word not in STOP_WORDS
            for term in extract_terms(word)
        ]
        if not terms:
            return ""
        numbers, scores = index.retrieve([terms], k=100, show_progress=False)
        found = [pieces[number] for number, score in zip(numbers[0], scores[0], strict=True) if score > 0]
        return fill_answer(found, budget)

    return ask


def ask_grep(documents: Sequence[Document], folder: Path) -> Ask:
    """Return grep over a file of each document, in lines of at most 120 characters."""
    by_name = {f"{one.id}.txt": one for one in documents}
    for name, one in by_name.items():
        lines = [line for turn in one.turns for part in turn for text in part.splitlines() for line in wrap(text, 120)]
        (folder / name).write_text("\n".join(lines), encoding="utf-8")

    def ask(question: str, budget: int) -> str:
        words = [word for word in re.findall(r"\w+", question.lower()) if word not in STOP_WORDS]
        if not words:
            return ""
        argv = ["grep", "-riE", "|".join(map(re.escape, words)), "."]
        output = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False).stdout
        lines: dict[str, list[str]] = defaultdict(list)
        for line in output.splitlines():
            name, _, text = line.removeprefix("./").partition(":")
            lines[name].append(text)
        distinct = {name: sum(word in " ".join(some).lower() for word in words) for name, some in lines.items()}
        ordered = sorted(lines, key=lambda name: (-distinct[name], -len(lines[name])))
        return fill_answer([(by_name[name], line) for name in ordered for line in lines[name]], budget)

    return ask


def fill_answer(pieces: Sequence[tuple[Document, str]], budget: int) -> str:
    """Return pieces in this order, as many as fit, each document's under one heading."""
    sections: dict[str, list[str]] = {}
    left = budget
    for document, piece in pieces:
        heading = f"## {document.id[:13]} {document.date}"
        size = len(f"{piece}\n".encode()) + (0 if heading in sections else len(f"{heading}\n".encode()))
        if size <= left:
            sections.setdefault(heading, []).append(piece)
            left -= size
    return "".join(f"{heading}\n" + "".join(f"{piece}\n" for piece in some) for heading, some in sections.items())


# --- the measure


class Score(NamedTuple):
    """What is measured of an answer; None if it does not apply.

    Attributes:
        quoted: whether all right documents are quoted under headings of their own.
        found: of the words of the answer, the share that stands in quotes of right documents.
        share: characters of such quotes for each byte of the answer.
        any5, all5: whether any, or all, right documents are among the first five that are quoted.
        current: whether the current value comes before all that were replaced.
        silent: whether there is no answer though there should be.
        named: whether the words that occur nowhere are named.
    """

    quoted: bool | None = None
    found: float | None = None
    share: float | None = None
    any5: bool | None = None
    all5: bool | None = None
    current: bool | None = None
    silent: bool | None = None
    named: bool | None = None


class Texts:
    """The runs of words of documents, by the beginnings of their ids."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self.documents = {one.id: one for one in documents}
        self.short = {one.id[:8] if len(one.id) == 36 else one.id: one.id for one in documents}
        self.runs = {one.id: set(_list_runs(_split_words(one.text))) for one in documents}

    def find_quotes(self, answer: str) -> dict[str, list[str]]:
        """Return for each document, in the order of the answer, the words under its headings in runs that it has."""
        quotes: dict[str, list[str]] = {}
        for section in re.split(r"^## ", answer, flags=re.MULTILINE)[1:]:
            heading, _, body = section.partition("\n")
            id_ = next(
                (self.short[word] for word in re.findall(r"DEC-\w+|[0-9a-f]{8}", heading) if word in self.short), None
            )
            if id_ is not None:
                quotes.setdefault(id_, []).extend(self._find_held(id_, _split_words(body)))
        return quotes

    def _find_held(self, id_: str, words: list[str]) -> Iterator[str]:
        held: set[int] = set()
        for at, run in enumerate(_list_runs(words)):
            if run in self.runs[id_]:
                held.update(range(at, at + RUN))
        return (words[at] for at in sorted(held))

    def is_quoted(self, id_: str, quote: Sequence[str]) -> bool:
        return _count(quote) >= min(ENOUGH, _count(_split_words(self.documents[id_].text)) / 2)


def _split_words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _list_runs(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    return zip(*(islice(words, start, None) for start in range(RUN)), strict=False)


def _count(words: Sequence[str]) -> int:
    return sum(len(word) + 1 for word in words)


def score(case: Case, answer: str, texts: Texts) -> Score:
    if case.missing:
        line = next((line for line in answer.splitlines() if line.startswith("No text has: ")), "")
        return Score(named=case.missing <= set(_split_words(line)))
    quotes = {id_: quote for id_, quote in texts.find_quotes(answer).items() if quote}
    right = {id_: quotes.get(id_, []) for id_ in case.right}
    first = list(quotes)[:5]
    told = {word for quote in right.values() for word in quote}
    wanted = set(_split_words(case.answer)) - set(_split_words(case.question)) - STOP_WORDS
    places = [place for place, id_ in enumerate(quotes) if id_ in case.outdated]
    return Score(
        quoted=all(texts.is_quoted(id_, quote) for id_, quote in right.items()),
        found=len(wanted & told) / len(wanted),
        share=sum(map(_count, right.values())) / max(1, len(answer.encode())),
        any5=any(id_ in case.right for id_ in first),
        all5=all(id_ in first for id_ in case.right),
        current=min(map(list(quotes).index, case.right & quotes.keys()), default=99) < min(places, default=98)
        if case.outdated else None,
        silent=not quotes and "\n## " not in answer and not answer.startswith("## "),
    )  # fmt: skip


def mean(scores: Sequence[Score], name: str) -> float:
    """Return the mean of a measure in percent, of the questions to which it applies."""
    values = [float(value) for one in scores if (value := getattr(one, name)) is not None]
    return 100 * statistics.mean(values) if values else 0.0


Results = dict[tuple[str, int], list[tuple[Case, Score]]]


def measure(systems: Mapping[str, Ask], cases: Sequence[Case], texts: Texts) -> Results:
    results: Results = defaultdict(list)
    for name, ask in systems.items():
        for budget in BUDGETS:
            for case in cases:
                answer = ask(case.question, budget)
                if len(answer.encode()) > budget:
                    missed.append(f"{name} took more than {budget} bytes: {case.question}")
                results[name, budget].append((case, score(case, answer, texts)))
    return results


# --- the report


def list_figures(results: Results) -> Iterator[str]:
    """Yield the lines of the tables for the page."""
    names = list(dict.fromkeys(name for name, _ in results))
    yield f"| | {' | '.join(f'{budget:,} bytes' for budget in BUDGETS)} |"
    yield f"|---|{'---|' * len(BUDGETS)}"
    for name in names:
        yield f"| {name} | {' | '.join(_describe(results[name, budget]) for budget in BUDGETS)} |"
    yield ""
    kinds = list(dict.fromkeys(case.kind for case, one in results[names[0], BUDGETS[0]] if one.quoted is not None))
    yield f"| quoted within 4,000 bytes | {' | '.join(kinds)} |"
    yield f"|---|{'---|' * len(kinds)}"
    for name in names:
        rows = results[name, 4_000]
        by_kind = [mean([one for case, one in rows if case.kind == kind], "quoted") for kind in kinds]
        yield f"| {name} | {' | '.join(f'{figure:.0f}' for figure in by_kind)} |"
    yield ""
    yield "| within 4,000 bytes | any@5 | all@5 | current before replaced | missing word named | wrongly silent |"
    yield "|---|---|---|---|---|---|"
    for name in names:
        scores = [one for _, one in results[name, 4_000]]
        measures = ("any5", "all5", "current", "named", "silent")
        yield f"| {name} | {' | '.join(f'{mean(scores, measure):.0f}' for measure in measures)} |"


def _describe(rows: Sequence[tuple[Case, Score]]) -> str:
    scores = [one for _, one in rows]
    return " / ".join(f"{mean(scores, name):.0f}" for name in ("quoted", "found", "share"))


def draw(results: Results) -> str:
    names = list(dict.fromkeys(name for name, _ in results))
    lines = {
        name: [(budget, mean([one for _, one in results[name, budget]], "quoted")) for budget in BUDGETS]
        for name in names
    }
    return draw_chart("Questions whose sessions are all quoted", "bytes of the answer", "percent", lines)


def fill_page(page: Path, figures: str) -> None:
    """Write the tables between the two comments of the page."""
    text = page.read_text(encoding="utf-8")
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    page.write_text(f"{text[:begin]}\n{figures}\n{text[end:]}", encoding="utf-8")


def check(results: Results) -> None:
    """Compare recall with the peers, and with what it promises."""
    ours, *peers = dict.fromkeys(name for name, _ in results)
    for budget in BUDGETS:
        for measure_ in ("quoted", "found"):
            best = max((mean([one for _, one in results[name, budget]], measure_) for name in peers), default=0.0)
            behind = best - mean([one for _, one in results[ours, budget]], measure_)
            report(f"recall behind the best peer in {measure_} within {budget:,} bytes", behind, 0, " points")
    scores = [one for _, one in results[ours, 4_000]]
    report("questions for which recall wrongly said nothing", mean(scores, "silent"), 0, " %")
    report("missing words that recall did not name", 100 - mean(scores, "named"), 0, " %")


def measure_time(ask: Ask, ws: Workspace, cases: Sequence[Case], documents: Sequence[Document]) -> None:
    """Print the processor time of a question, and of the next one after one more session."""
    times = []
    for case in cases[:30]:
        started = time.process_time()
        ask(case.question, 4_000)
        times.append(time.process_time() - started)
    report("processor time of a question", statistics.median(times) * 1e3, 50, " ms")
    store_sessions(ws, [documents[0]._replace(id=documents[0].id[::-1])])
    started = time.process_time()
    ask(cases[0].question, 4_000)
    report("the next question, after one more session", (time.process_time() - started) * 1e3, 300, " ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--pictures", type=Path, help="draw the chart into this folder")
    parser.add_argument("--page", type=Path, help="write the figures into the tables of this page")
    parser.add_argument("--show", help="print the answers to questions with this text within 4,000 bytes")
    arguments = parser.parse_args()
    sessions, decisions, questions = load_documents(random.Random(30))
    with workspace() as ws, tempfile.TemporaryDirectory() as folder:
        store_sessions(ws, sessions)
        documents = [*sessions, *store_decisions(ws, decisions)]
        cases, texts = find_cases(questions, documents), Texts(documents)
        systems: dict[str, Ask] = {"baton recall": ask_recall(ws)}
        started = time.process_time()
        systems["baton recall"]("anything", 4_000)
        seconds, size = time.process_time() - started, sum(len(one.text) for one in documents) / 1e6
        about = f"{len(cases)} questions about {len(documents)} sessions and decisions ({size:.1f} MB)"
        print(f"{about}; the index took {seconds:.1f} s of processor time")
        if arguments.show is not None:
            for case in (case for case in cases if arguments.show in case.question):
                right = " ".join(sorted(id_[:8] for id_ in case.right))
                print(f"{case.question} ({right})\n{systems['baton recall'](case.question, 4_000)}")
            return
        try:
            systems |= {f"bm25s, {most:,} characters": ask_bm25s(documents, most) for most in (1_500, 500)}
        except ImportError as error:
            print(f"bm25s is left out: {error}")
        systems["grep"] = ask_grep(documents, Path(folder))
        results = measure(systems, cases, texts)
        figures = "\n".join(list_figures(results))
        print(figures)
        check(results)
        measure_time(systems["baton recall"], ws, cases, documents)
    if arguments.pictures is not None:
        (arguments.pictures / "recall-quoted.svg").write_text(draw(results), encoding="utf-8")
    if arguments.page is not None:
        fill_page(arguments.page, f"{about}, in percent: quoted / found / share.\n\n{figures}")
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
