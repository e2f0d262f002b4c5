"""Measure what hooks add to first prompts: sessions of a project, replayed one after the other on their branches.

    .venv/bin/python benchmarks/prompts.py [--show]

Each session of prompts.toml starts, asks its first prompt and ends through the installed hook command, with its own
transcript; between them, generated sessions on other branches use the same words for other things. When a session of a
branch goes on with the work of another one, its first prompt should get what that one did and the brief did not say;
at an unrelated prompt, nothing should be added.

A session counts as quoted if at least 200 characters under its heading, or a tenth of a shorter session, are in runs of
five words that it has; so does the share of what was told twice.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import statistics
import sys
import tempfile
import tomllib
import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from agent_hooks import World, cpu_seconds
from measuring import missed, report

RUN, ENOUGH = 5, 200
BETWEEN = 3
"""Number of generated sessions before each written one."""
BRANCH, REPEATED, UNRELATED, RATIO = 45.0, 1.0, 15.0, 10.0
"""Goals: percent of prompts with a quote of the branch (at least), of quotes that were told before, of unrelated
prompts with quotes, and processor time of a prompt, as a multiple of that of `python -c pass` (at most)."""
HEADING = re.compile(r"^## ([0-9a-f]{8}) .*$", re.MULTILINE)
THINGS = (
    "cabin", "ticket", "tide", "kiosk", "gift card", "invoice", "fare", "board", "harbour", "deck", "refund", "group",
    "departure", "journal", "wind", "teacher", "currency", "stock", "passenger", "timetable",
)  # fmt: skip
SENTENCES = (
    "The {a} reads its {b} from the list of the {c}, and I left that as it is.",
    "Tests of the {a} pass; the one about the {b} takes {n} seconds.",
    "I moved the {b} of the {a} to `{a_}_{b_}.py`, with its {n} callers.",
    "For the {c} nothing changes, since the {a} has no {b} there.",
    "The log has {n} lines about a {b} that the {a} did not find.",
)


class Row(NamedTuple):
    """What a prompt got.

    Attributes:
        earlier: the earlier sessions of its branch, oldest first; None for an unrelated prompt.
        quoted: the sessions that are quoted.
        repeated, size: the characters of quotes that were told before, and of all quotes.
    """

    earlier: list[str] | None
    quoted: set[str]
    text: str
    repeated: int
    size: int
    seconds: float


def list_words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


class Runs:
    """The runs of words of a text."""

    def __init__(self, text: str) -> None:
        words = list_words(text)
        self._runs = set(zip(*(words[at:] for at in range(RUN)), strict=False))

    def count(self, text: str) -> int:
        """Return the number of characters of a text in runs of words that this text has, too."""
        words = list_words(text)
        common = set[int]()
        for at in range(len(words) - RUN + 1):
            if tuple(words[at : at + RUN]) in self._runs:
                common.update(range(at, at + RUN))
        return sum(len(words[at]) + 1 for at in common)


def make_session(dice: random.Random, branch: str) -> dict[str, Any]:
    """Return a generated session about other things in the same words."""

    def fill(text: str) -> str:
        a, b, c = dice.sample(THINGS, 3)
        names = {"a_": a.replace(" ", "_"), "b_": b.replace(" ", "_")}
        return text.format(a=a, b=b, c=c, n=dice.randint(2, 90), **names)

    turns = [
        [fill("Look at the {a} and its {b}, please."), " ".join(fill(dice.choice(SENTENCES)) for _ in range(12))]
        for _ in range(dice.randint(1, 4))
    ]
    return {"branch": branch, "turns": turns}


class Replay:
    """The project, in which sessions start, ask and end."""

    def __init__(self, place: Path) -> None:
        self.world, self.texts, self._number = World(place), dict[str, str](), 0
        identity = ["-c", "user.name=B", "-c", "user.email=b@b"]
        self.world.run(["git", *identity, "commit", "-q", "--allow-empty", "-m", "init"], self.world.repo)

    def run(self, session: dict[str, Any], prompts: tuple[str, ...]) -> tuple[str, list[tuple[str, float]]]:
        """Run a session that begins with these prompts; return its id, and what each prompt got in which time."""
        self._number += 1
        name = str(uuid.UUID(int=self._number << 96 | self._number))
        self.world.run(["git", "checkout", "-q", "-B", session["branch"]], self.world.repo)
        path = self.world.transcript.with_name(f"{name}.jsonl")
        path.write_text("")
        event: dict[str, Any] = {"session_id": name, "transcript_path": str(path)}
        got = [(read_context(self.world.hook("SessionStart", source="startup", **event)), 0.0)]
        for prompt in prompts:
            replies: list[bytes] = []
            ask = partial(self.world.hook, "UserPromptSubmit", prompt=prompt, **event)
            seconds = cpu_seconds(lambda ask=ask, replies=replies: replies.append(ask()))
            got.append((read_context(replies[0]), seconds))
        path.write_text("".join(self._list_records(name, session)))
        self.world.hook("SessionEnd", reason="other", **event)
        self.texts[name] = "\n".join(text for turn in session["turns"] for text in turn)
        return name, got

    def _list_records(self, name: str, session: dict[str, Any]) -> Iterator[str]:
        for number, (prompt, answer) in enumerate(session["turns"]):
            for kind, content in (("user", prompt), ("assistant", [{"type": "text", "text": answer}])):
                record = json.loads(self.world.record(2 * number + (kind == "assistant"), kind, content))
                day, minute = divmod(self._number, 24)
                time = f"2026-10-{day + 1:02}T{minute:02}:{number:02}:00.000Z"
                yield json.dumps(record | {"sessionId": name, "gitBranch": session["branch"], "timestamp": time}) + "\n"


def read_context(reply: bytes) -> str:
    return str(json.loads(reply)["hookSpecificOutput"]["additionalContext"]) if reply.strip() else ""


def measure(replay: Replay, before: str, got: tuple[str, float], earlier: list[str] | None) -> Row:
    """Return the row of a prompt; `before` is what its session was told before."""
    text, seconds = got
    marks = list(HEADING.finditer(text))
    quoted = set[str]()
    for mark, after in zip(marks, [*marks[1:], None], strict=False):
        block = text[mark.end() : after.start() if after else None]
        for name, said in replay.texts.items():
            if name.startswith(mark[1]) and Runs(said).count(block) >= min(ENOUGH, len(said) / 10):
                quoted.add(name)
    quotes = "\n".join(line[2:] for line in text.splitlines() if line.startswith("> "))
    return Row(earlier, quoted, text, Runs(before).count(quotes), len(quotes), seconds)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--show", action="store_true", help="print what each prompt gets")
    is_shown = parser.parse_args().show
    data = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    dice, rows, on_branch = random.Random(31), list[Row](), dict[str, list[str]]()
    unrelated, peers = list(data["unrelated"]["prompts"]), list[float]()
    with tempfile.TemporaryDirectory(prefix="baton-bench-") as place:
        replay = Replay(Path(place))
        for number, session in enumerate(data["session"]):
            for other in range(BETWEEN):
                generated = make_session(dice, f"other-{other}" if other else "main")
                replay.run(generated, (generated["turns"][0][0],))
            peers.append(cpu_seconds(lambda: replay.world.run([sys.executable, "-c", "pass"], replay.world.repo)))
            branch, first = session["branch"], session["turns"][0][0]
            earlier = list(on_branch.get(branch, ()))
            is_unrelated = branch != "main" and bool(earlier) and number % 2 == 0 and bool(unrelated)
            if is_unrelated:
                made = {"branch": branch, "turns": [[unrelated[0], "That is no work for this branch."]]}
                _, (brief, *answers) = replay.run(made | {"branch": branch}, (unrelated.pop(0),))
                rows.append(measure(replay, brief[0], answers[0], None))
            name, (brief, *answers) = replay.run(session, (first, f"{first} And what else?"))
            told = brief[0]
            for at, answer in enumerate(answers):
                row = measure(replay, told, answer, [*earlier] if branch != "main" else [])
                told += answer[0]
                rows.append(row if at == 0 else row._replace(earlier=["-"]))
                if is_shown:
                    print(f"--- {branch}, {len(earlier)} sessions before: {first if at == 0 else 'again'}\n{answer[0]}")
            on_branch.setdefault(branch, []).append(name)
    return report_rows(rows, statistics.median(peers))


def report_rows(rows: list[Row], peer: float) -> int:
    """Print the figures, and return 1 if a goal is missed."""
    following = [row for row in rows if row.earlier and row.earlier != ["-"]]
    groups = {
        "first prompts, with sessions of the branch": following,
        "first prompts, without": [row for row in rows if row.earlier == []],
        "second prompts, the same again": [row for row in rows if row.earlier == ["-"]],
        "unrelated prompts": [row for row in rows if row.earlier is None],
    }
    print(f"{'percent of prompts':<46}{'number':>8}{'quotes':>8}{'last':>8}{'branch':>8}{'bytes':>8}")
    for name, group in groups.items():
        last = [bool(row.earlier) and row.earlier[-1] in row.quoted for row in group if row.earlier]
        branch = [bool(row.quoted & set(row.earlier or ())) for row in group]
        size = statistics.mean(len(row.text.encode()) for row in group)
        speaks = 100 * statistics.mean(bool(row.text) for row in group)
        figures = (100 * statistics.mean(last or [0]), 100 * statistics.mean(branch))
        print(f"{name:<46}{len(group):>8}{speaks:>8.0f}{figures[0]:>8.0f}{figures[1]:>8.0f}{size:>8.0f}")
    quoted = 100 * statistics.mean(bool(row.quoted & set(row.earlier or ())) for row in following)
    report("first prompts without a quote of the branch", 100 - quoted, 100 - BRANCH, " %")
    repeated = 100 * sum(row.repeated for row in rows) / sum(row.size for row in rows)
    report("of the quotes, told before by the brief or a prompt", repeated, REPEATED, " %")
    unrelated = 100 * statistics.mean(bool(row.text) for row in rows if row.earlier is None)
    report("unrelated prompts with quotes", unrelated, UNRELATED, " %")
    print(f"python -c pass: {peer * 1e3:.0f} ms of processor time (median)")
    report("a prompt (median)", statistics.median(row.seconds for row in rows) / peer, RATIO)
    report("a first prompt on a branch with sessions (median)",
           statistics.median(row.seconds for row in following) / peer, RATIO)  # fmt: skip
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
