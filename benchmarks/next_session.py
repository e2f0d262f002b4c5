"""Measure how much of what the next session needs is in a session's digest, with and without each part of the digest.

The sessions are generated from a seed: a project of modules and functions; a session that works on some of them,
changes its plan, fails a test and names what is left; and the files and the first prompt of the next session. Recall is
the percentage of the next session's files and of the names in its first prompt that the digest contains, and whether it
contains the last prompt and the last answer.

Run by hand: `python benchmarks/next_session.py`.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

from measuring import missed

from baton_git.agents.extraction.extracting import extract
from baton_git.agents.sessions.handoff_store import limit_facts
from baton_git.core.brief import compose
from baton_git.core.records.handoff import Handoff
from baton_git.git.hooks.shipped import find_shipped
from baton_git.systems.gobby.handoff_context import collect_template_names, split_into_sections
from baton_git.systems.gobby.rendering import render

PAIRS, SEED, BUDGET = 60, 14, 10_000
HERE = "/work/shop"
PARTS: Mapping[str, tuple[str, ...]] = {
    "latest prompts": ("latest_prompts",), "last answer": ("last_answer",),
    "open questions, next steps": ("open_questions", "next_steps"), "todos": ("todo_state", "active_task"),
    "commits": ("git_commits",), "files used": ("files_used", "files_modified"), "errors": ("errors",),
    "last calls": ("recent_activity",), "first prompt": ("initial_goal",),
}  # fmt: skip
GOALS = {"files": 45.0, "names": 12.0, "last prompt": 100.0, "last answer": 95.0}
VERBS, NOUNS = ("load", "parse", "write", "merge", "check", "price", "send", "list"), (
    "cart", "invoice", "order", "stock", "report", "tax", "label", "batch", "refund", "voucher",
)  # fmt: skip


class Pair(NamedTuple):
    """A session's transcript, and what the next session needs."""

    records: list[dict[str, Any]]
    files: list[str]
    names: list[str]
    last_prompt: str
    last_answer: str


class SessionWriter:
    """A session of Claude Code, record by record."""

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []

    def add(self, kind: str, content: Any) -> None:
        number = len(self.records)
        self.records.append({
            "type": kind, "uuid": f"u{number}", "sessionId": "s", "cwd": HERE, "version": "2.1.329",
            "timestamp": f"2026-11-01T10:{number // 60 % 60:02}:{number % 60:02}.000Z",
            "message": {"role": kind, "content": content},
        })  # fmt: skip

    def say(self, text: str) -> None:
        self.add("assistant", [{"type": "text", "text": text}])

    def run(self, name: str, given: dict[str, Any], output: str = "ok", *, failed: bool = False) -> None:
        call = f"toolu_{len(self.records)}"
        self.add("assistant", [{"type": "tool_use", "id": call, "name": name, "input": given}])
        self.add("user", [{"type": "tool_result", "tool_use_id": call, "content": output, "is_error": failed}])


def make_pair(dice: random.Random) -> Pair:
    """Return a session of 40 to 200 tool calls, and what the next one needs."""
    functions = {
        f"shop/{noun}/{verb}.py": [f"{verb}_{noun}", f"{verb}_{noun}_{dice.choice(NOUNS)}"]
        for noun in dice.sample(NOUNS, 6) for verb in dice.sample(VERBS, 5)
    }  # fmt: skip
    files = dice.sample(sorted(functions), 14)
    first, later, read, left, broken = files[:3], files[3:6], files[6:10], files[10:12], files[12]
    session = SessionWriter()
    session.add(
        "user", f"Let {functions[first[0]][0]} take several currencies. " + "Some background. " * dice.choice((1, 900))
    )
    _work(dice, session, functions, first, read)
    session.say("That works in all tests.")
    last_prompt = f"Stop that, the customer needs {functions[later[0]][1]} to write semicolons first"
    session.add("user", last_prompt)
    _work(dice, session, functions, later, read)
    test = f"tests/test_{Path(broken).stem}.py"
    session.run(
        "Bash", {"command": f"pytest {test}"}, f"{broken}:31: AssertionError\nFAILED {test}::test_it", failed=True
    )
    answer = (
        f"{functions[later[0]][1]} writes semicolons now, in {later[0]}. {'It was simple. ' * dice.choice((1, 60))}\n\n"
        f"Next steps:\n- {functions[left[0]][0]} needs the same in {left[0]}\n- the docs\n\n"
        f"Shall I change {functions[left[1]][0]}, too?"
    )
    session.say(answer)
    needed = [*dice.sample(later, 2), first[0], left[0], broken, dice.choice(read), *dice.sample(sorted(functions), 3)]
    names = [
        functions[later[0]][0],
        functions[left[0]][0],
        functions[left[1]][0],
        *functions[dice.choice(sorted(functions))],
    ]
    return Pair(session.records, sorted(set(needed)), sorted(set(names)), last_prompt, answer[:80])


def _work(
    dice: random.Random, session: SessionWriter, functions: Mapping[str, list[str]], files: list[str], read: list[str]
) -> None:  # fmt: skip
    for _ in range(dice.randint(6, 30)):
        path = dice.choice(files)
        session.run("Read", {"file_path": f"{HERE}/{dice.choice([path, *read])}"}, "text " * 50)
        new = "\n".join(f"def {name}(row):\n    return row" for name in functions[path])
        session.run("Edit", {"file_path": f"{HERE}/{path}", "old_string": "x", "new_string": new})
        session.run("Bash", {"command": "pytest -q"}, "12 passed")
    todos = [
        {"content": f"change {Path(path).stem}", "status": dice.choice(("completed", "pending"))} for path in files
    ]
    session.run("TodoWrite", {"todos": todos})
    subject = f"Change {files[0]}"
    session.run("Bash", {"command": f"git commit -qam '{subject}' && git log --oneline -1"}, f"1234abc {subject}")


def write_context(facts: Mapping[str, Any]) -> str:
    """Return the text that the next session gets from these facts, within the size limit of a hook."""
    data = {"id": "claude/s", "extracted_at": "2026-11-01T12:00:00Z", "worktree": HERE, "facts": limit_facts(facts)}
    names = collect_template_names(Handoff.model_validate(data))
    text = render(find_shipped("templates/handoff.md.j2").read_text(encoding="utf-8"), names)
    sections = split_into_sections(
        text, "Handed off by claude session s", "claude s", "of the handoff", "baton handoff show"
    )
    return compose("shop", sections, "ctx-1", BUDGET).text


def score(text: str, pair: Pair) -> dict[str, float]:
    """Return how much of what the next session needs is in a text, in percent, and the size of the text in bytes."""
    flat = " ".join(text.split())
    return {
        "files": 100 * mean(path in text for path in pair.files),
        "names": 100 * mean(name in text for name in pair.names),
        "last prompt": 100.0 * (pair.last_prompt in flat),
        "last answer": 100.0 * (" ".join(pair.last_answer.split()) in flat), "bytes": len(text.encode()),
    }  # fmt: skip


def measure(pairs: list[tuple[Mapping[str, Any], Pair]], kept: Collection[str]) -> dict[str, float]:
    """Return the means over all pairs, for digests with these facts only."""
    scores = [
        score(write_context({name: facts[name] for name in facts.keys() & kept}), pair) for facts, pair in pairs
    ]  # fmt: skip
    return {name: mean(one[name] for one in scores) for name in scores[0]}


def main() -> None:
    """Print the table, and exit with 1 when a goal is missed."""
    dice = random.Random(SEED)
    pairs = []
    with tempfile.TemporaryDirectory(prefix="baton-bench-") as place:
        for _ in range(PAIRS):
            pair, path = make_pair(dice), Path(place) / "s.jsonl"
            path.write_text("".join(json.dumps(record) + "\n" for record in pair.records))
            pairs.append((extract(path, "claude").facts, pair))
    everything = {name for names in PARTS.values() for name in names}
    whole = measure(pairs, everything)
    print(f"{PAIRS} pairs of sessions{'':<19}" + "".join(f"{name:>13}" for name in whole))
    print(f"{'the whole digest':<36}" + "".join(f"{figure:>13.1f}" for figure in whole.values()))
    for part, names in PARTS.items():
        rest = measure(pairs, everything - set(names))
        print(f"{f'without {part}':<36}" + "".join(f"{rest[name] - whole[name]:>+13.1f}" for name in whole))
    for part, names in PARTS.items():
        alone = measure(pairs, names)
        print(f"{f'only {part}':<36}" + "".join(f"{figure:>13.1f}" for figure in alone.values()))
    for name, goal in GOALS.items():
        if whole[name] < goal:
            print(f"{name}: {whole[name]:.1f} %  (goal ≥ {goal:g} %)  MISSED")
            missed.append(name)
    if whole["bytes"] > BUDGET:
        missed.append("bytes")
    raise SystemExit(bool(missed))


if __name__ == "__main__":
    main()
