"""Write the golden repositories and the corpus of random merges anew: `python tests/formats/make_repositories.py`.

A golden repository is a stream for `git fast-import` with the branches `first` and `second`, and the merge commit that must
come out. The random merges grow from seeded steps of `tests/merge_histories.py`.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

TESTS = Path(__file__).resolve().parents[1]
FORMATS = TESTS.parent / "formats"
sys.path += [str(TESTS), str(FORMATS / "conformance")]

from conformance_adapter import as_json
from merge_histories import FURNISHED, OPS, USUAL, Step, grown, tree
from runner import make_stream, write_file

from baton_git.core import layout
from baton_git.core.merge import fields
from baton_git.core.merge.combining import Value
from baton_git.core.names import Oid
from baton_git.core.records.merge_rules import MergeRule
from baton_git.core.state import State
from baton_git.git.store import Repository, Store
from baton_git.namespace.branch import ROOT_AUTHOR, ROOT_MESSAGE
from baton_git.namespace.merge_commit import MergeCommit, create_merge_commit

FOLDER = FORMATS / "repositories"
RANDOM_MERGES = 240
SEED = 1
START = 1_780_000_000
"""Time of the earliest commit, in seconds since 1970."""
RULES = {
    "MergeRule", "Counter", "Union", "Recent", "Append", "Extend", "Latest", "Earliest", "Ladder", "Beside",
    "Keyed", "Either",
}  # fmt: skip
"""The merge rules that the random merges must use."""
WORKED_ON = ("open_loop", "follow_up", "pattern", "active_decision")
Files = Mapping[str, Any]
"""Path → text, or `{"base64": …}`; None removes the file."""


class Commit(NamedTuple):
    """A commit of a golden repository.

    Attributes:
        name: its branch.
        files: what it changes against its first parent.
        revision: of the trailer `Baton-Revision`; None leaves all trailers out.
    """

    name: str
    parents: tuple[str, ...]
    files: Files
    revision: int | None
    time: int = START
    message: str = ""
    author: str = "Ada <ada@example.org>"

    def encode(self) -> bytes:
        trailers = f"\n\nBaton-Op: write\nBaton-Revision: {self.revision}" if self.revision is not None else ""
        message = self.message or f"{self.name}{trailers}\n"
        who = f"{self.author} {self.time} +0000"
        head = f"commit refs/heads/baton/{self.name}\nauthor {who}\ncommitter {who}\ndata {len(message.encode())}\n{message}"
        words = ("from", *["merge"] * (len(self.parents) - 1))
        links = [f"{word} refs/heads/baton/{parent}\n" for word, parent in zip(words, self.parents, strict=True)] if self.parents else []
        files = b"".join(write_file(path, content) for path, content in sorted(self.files.items()))
        return f"{head}{''.join(links)}".encode() + files + b"\n"


class GoldenRepository(NamedTuple):
    """A golden repository before the merge."""

    name: str
    about: str
    commits: tuple[Commit, ...]
    object_format: str = "sha1"

    def encode(self) -> bytes:
        return b"".join(commit.encode() for commit in self.commits)


def root(name: str = "root", files: Mapping[str, bytes] = layout.ROOT_FILES) -> Commit:
    texts = {path: content.decode() for path, content in files.items()}
    return Commit(name, (), texts, 0, 0, ROOT_MESSAGE, ROOT_AUTHOR)


def loop(id_: str, action: str = "Deployed", **more: str) -> Files:
    fields = {"id": id_, "action": action, "expected_outcome": "200", "created_at": "2026-11-01T08:00:00Z", **more}
    return {f"open_loops/{id_}.toml": "".join(f'{name} = "{value}"\n' for name, value in fields.items())}


def follow_up(id_: str, defer_count: int, reason: str = "later", last: str = "2026-11-01T08:00:00Z") -> Files:
    return {
        f"follow_ups/{id_}.toml": f'id = "{id_}"\nitem = "Refactor"\nfirst_seen = "2026-11-01T08:00:00Z"\n'
        f'last_deferred = "{last}"\ndefer_count = {defer_count}\nreason = "{reason}"\n'
    }


def pattern(id_: str, more: str) -> Files:
    seen = 'first_seen = "2026-11-01T08:00:00Z"\nlast_seen = "2026-11-02T08:00:00Z"\n'
    return {f"patterns/{id_}.toml": f'id = "{id_}"\nwhat = "Guessed"\n{seen}{more}'}


def head(context: str) -> Files:
    return {"baton.toml": f'session_id = "s1"\ncontext = """\n{context}"""\n'}


def archived_loop(id_: str, folder: str, at: str) -> Files:
    record = "".join(f"{line}\n" for line in next(iter(loop(id_).values())).splitlines())
    return {
        f"open_loops/{id_}.toml": None,
        f"archive/open_loops/{folder}/{id_}.toml": f'at = "{at}"\nreason = "done"\nsession = "s1"\n\n[record]\n{record}',
    }


def sides(name: str, about: str, base: Files, first: Files, second: Files, **options: Any) -> GoldenRepository:
    """A base, and two commits on top of it, the second of which is a minute later."""
    commits = (
        root(), Commit("base", ("root",), base, 1), Commit("first", ("base",), first, 2),
        Commit("second", ("base",), second, 2, START + 60),
    )  # fmt: skip
    return GoldenRepository(name, about, commits, **options)


def list_repositories() -> Iterator[GoldenRepository]:
    yield sides("plain", "each side added a record", loop("OL-1"), loop("OL-2"), loop("OL-3"))
    yield sides(
        "sha256", "the same in a repository with SHA-256", loop("OL-1"), loop("OL-2"), loop("OL-3"),
        object_format="sha256",
    )  # fmt: skip
    yield sides(
        "fields", "both sides changed one record: a counter, times, and the two ends of a text",
        {**follow_up("FU-1", 1), **head("base\n")},
        {**follow_up("FU-1", 2, last="2026-11-02T08:00:00Z"), **head("before\nbase\n")},
        {**follow_up("FU-1", 3, last="2026-11-03T08:00:00+02:00"), **head("base\nafter\n")},
    )  # fmt: skip
    yield sides(
        "conflict", "both sides gave one field another value", {**follow_up("FU-1", 1), **loop("OL-1")},
        {**follow_up("FU-1", 1, "the release comes first"), **loop("OL-1", "Deployed X")},
        {**follow_up("FU-1", 1, "nobody has time"), **loop("OL-1", "Deployed Y")},
    )  # fmt: skip
    yield sides(
        "one-id-twice", "both sides added another record under one id", {}, loop("OL-1", "Deployed X"), loop("OL-1", "Deployed Y")
    )  # fmt: skip
    folder = layout.shard("OL-1")
    yield sides(
        "archived-and-edited", "one side archived what the other edited", loop("OL-1"),
        archived_loop("OL-1", folder, "2026-11-02T08:00:00Z"), loop("OL-1", status="verified"),
    )  # fmt: skip
    yield sides(
        "archived-twice", "both sides archived one record, at different times", loop("OL-1"),
        archived_loop("OL-1", folder, "2026-11-03T08:00:00Z"), archived_loop("OL-1", folder, "2026-11-02T08:00:00Z"),
    )  # fmt: skip
    yield sides(
        "removed-and-edited", "one side removed what the other edited", loop("OL-1"),
        {"open_loops/OL-1.toml": None}, loop("OL-1", status="failed"),
    )  # fmt: skip
    yield sides(
        "graduations", "one side graduated a pattern, the other contested it",
        pattern("PAT-1", 'status = "rule_candidate"\nproposed_rule = "Look first"\n'),
        {
            **pattern("PAT-1", 'status = "graduated"\nproposed_rule = "Look first"\nsource_tier = "human_confirmed"\ngraduated_to = "rules/PAT-1.md"\n'),
            "rules/PAT-1.md": "Look first\n",
        },
        pattern("PAT-1", 'status = "dismissed"\nproposed_rule = "Look first"\n'),
    )  # fmt: skip
    broken = "open_loops/OL-1.toml"
    yield sides("unreadable", "both sides broke one file", loop("OL-1"), {broken: "id = \n"}, {broken: {"base64": "//4="}})
    yield from list_foreign_files()
    yield from list_histories()


def list_foreign_files() -> Iterator[GoldenRepository]:
    lines = "".join(f"line {number}\n" for number in range(9))
    yield sides(
        "foreign-lines", "both sides changed other lines of a file that is no record", {"notes/a.txt": lines},
        {"notes/a.txt": lines.replace("line 1", "first")}, {"notes/a.txt": lines.replace("line 7", "second")},
    )  # fmt: skip
    yield sides(
        "foreign-overlap", "both sides changed the same line of such a file", {"notes/a.txt": lines},
        {"notes/a.txt": lines.replace("line 4", "first")}, {"notes/a.txt": lines.replace("line 4", "second")},
    )  # fmt: skip
    yield sides(
        "foreign-deleted", "one side deleted the file that the other changed", {"notes/a.txt": lines},
        {"notes/a.txt": None}, {"notes/a.txt": lines + "more\n"},
    )  # fmt: skip
    yield sides(
        "foreign-binary", "both sides added a file with NUL bytes", {}, {"a.bin": {"base64": "AAEC"}}, {"a.bin": {"base64": "AAEE"}}
    )  # fmt: skip
    yield sides("file-and-folder", "one side added a file where the other has a folder", {}, {"x": "file\n"}, {"x/y": "inner\n"})


def list_histories() -> Iterator[GoldenRepository]:
    start = (root(), Commit("base", ("root",), {**loop("OL-1"), **follow_up("FU-1", 1)}, 1))
    a = Commit("a", ("base",), follow_up("FU-1", 2, "a"), 2, START + 1)
    b = Commit("b", ("base",), follow_up("FU-1", 3, "b"), 2, START + 2)
    crossed = (
        Commit("c", ("a", "b"), follow_up("FU-1", 4, "a"), 3, START + 3),
        Commit("d", ("b", "a"), {**follow_up("FU-1", 4, "b"), **loop("OL-3")}, 3, START + 4),
    )
    yield GoldenRepository(
        "criss-cross", "two merge bases, which are merged first",
        (*start, a, b, *crossed, Commit("first", ("c",), follow_up("FU-1", 5, "a"), 4, START + 5),
         Commit("second", ("d",), loop("OL-2"), 4, START + 6)),
    )  # fmt: skip
    older, oldest = layout.OLDER_ROOTS
    for name, files in (("older-root", older), ("oldest-root", oldest)):
        yield GoldenRepository(
            name, "unrelated histories: one began with the first commit of today, the other with an earlier one",
            (root(), root("old", files), Commit("first", ("root",), loop("OL-1"), 1),
             Commit("second", ("old",), {**loop("OL-2"), **follow_up("FU-1", 2)}, 1, START + 60)),
        )  # fmt: skip
    yield GoldenRepository(
        "by-hand", "commits without trailers count their own revisions; the longer side comes first",
        (*start, Commit("first", ("base",), loop("OL-2"), None), Commit("x", ("base",), loop("OL-3"), None),
         Commit("second", ("x",), loop("OL-4"), None, START + 60)),
    )  # fmt: skip
    yield GoldenRepository(
        "clock", "a time beyond the largest one that a merge takes",
        (*start, Commit("first", ("base",), loop("OL-2"), 2), Commit("second", ("base",), loop("OL-3"), 2, 1 << 41)),
    )  # fmt: skip
    earlier = (
        Commit("o", ("base",), loop("OL-2"), 2, START + 1), Commit("t", ("base",), loop("OL-3"), 2, START + 2),
    )  # fmt: skip
    words = "merge: added open loop OL-3\n\nBaton-Op: merge\nBaton-Revision: 3\n"
    fixed = "Merge concurrent changes\n\nBaton-Op: merge\nBaton-Merge-Rules: 3\nBaton-Revision: 3\n"
    baton = "baton-git <baton-git@localhost>"
    yield GoldenRepository(
        "two-programs", "two programs merged the same commits with different subjects",
        (*start, *earlier, Commit("first", ("o", "t"), loop("OL-3"), 3, START + 2, words, baton),
         Commit("second", ("o", "t"), loop("OL-3"), 3, START + 2, fixed, baton)),
    )  # fmt: skip


# --- what must come out


def merge_stream(folder: Path, stream: bytes, object_format: str = "sha1") -> tuple[MergeCommit, dict[str, Any]]:
    """Import a stream into a new repository, merge, and return the merge with what the golden file says about it."""
    run_git(folder, "init", "-q", "--bare", f"--object-format={object_format}")
    run_git(folder, "fast-import", "--quiet", content=stream)
    tips = [run_git(folder, "rev-parse", f"refs/heads/baton/{ref}").decode().strip() for ref in ("first", "second")]
    with Store(Repository.open(folder)) as store:
        merged = create_merge_commit(store, *map(Oid, tips))
        content = merged.draft.objects[merged.commit]
        data = content[1].decode()
    head_lines, _, message = data.partition("\n\n")
    fields = [line.split(" ", 1) for line in head_lines.splitlines()]
    parents = [value for name, value in fields if name == "parent"]
    return merged, {"commit": merged.commit, "tree": merged.tree, "parents": parents, "message": message}


def run_git(folder: Path, *words: str, content: bytes = b"") -> bytes:
    return subprocess.run(["git", "-C", str(folder), *words], input=content, capture_output=True, check=True).stdout


def make_golden() -> list[dict[str, Any]]:
    cases = []
    for repository in list_repositories():
        with tempfile.TemporaryDirectory() as place:
            stream = repository.encode()
            _, expected = merge_stream(Path(place), stream, repository.object_format)
        (FOLDER / f"{repository.name}.fi").write_bytes(stream)
        cases.append({**repository._replace(commits=())._asdict(), **expected})
        del cases[-1]["commits"]
    return cases


# --- random merges


def check_coverage(merges: list[MergeCommit]) -> None:
    """Check that the random merges show every action and kind, and a conflict about each kind that has any."""
    decisions = [decision for merged in merges for decision in merged.decisions]
    assert {decision.action for decision in decisions} == {"take", "merge", "rekey", "keep"}
    kinds = {decision.key.kind for decision in decisions}
    assert kinds >= {*WORKED_ON, "session", "checkpoint", "identity", "handover", "snapshot", "rule", "head", "shape"}, kinds
    contested = {conflict.record_kind for merged in merges for conflict in merged.conflicts}
    assert contested >= {*WORKED_ON, "rule", "handover"}, contested


def record_rules() -> set[str]:
    """Record, from now on, the names of the merge rules that combine two changed values."""
    used: set[str] = set()
    combine = fields.combine_values

    def combine_and_record(rule: MergeRule, base: Value, ours: Value, theirs: Value) -> Value | None:
        used.add(type(rule).__name__)
        return combine(rule, base, ours, theirs)

    fields.combine_values = combine_and_record
    return used


def make_random(seed: int) -> tuple[MergeCommit, dict[str, Any]]:
    chance = random.Random(seed)
    base = grown(FURNISHED if chance.random() < 0.7 else State(), choose_steps(chance, "base", 4))
    shared = choose_steps(chance, "both", 3)
    ours, theirs = (grown(base, vary(chance, shared, word) + choose_steps(chance, word, 4)) for word in ("mine", "yours"))
    files = [tree(state) for state in (base, ours, theirs)]
    files[2] = {path: content if path in files[0] else date_earlier(content) for path, content in files[2].items()}
    case: dict[str, Any] = {
        "base": {path: as_json(content) for path, content in files[0].items()},
        "ours": changes(files[0], files[1]), "theirs": changes(files[0], files[2]),
        "times": {name: START + chance.randrange(1000) for name in ("base", "first", "second")},
        "revisions": {"base": 1, "first": 1 + chance.randint(1, 3), "second": 1 + chance.randint(1, 3)},
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as place:
        merged, expected = merge_stream(Path(place), make_stream(case))
    return merged, {**case, "commit": expected["commit"], "tree": expected["tree"]}


def choose_steps(chance: random.Random, word: str, most: int) -> list[Step]:
    names = (*USUAL, *OPS, "identity", "count", "head")
    numbers = ((chance.randint(0, 9), chance.randint(0, 7), chance.randint(0, 40)) for _ in range(chance.randint(1, most)))
    return [Step(chance.choice(names), *three, chance.choice(("same", word, f"{word} 2"))) for three in numbers]


def vary(chance: random.Random, steps: list[Step], word: str) -> list[Step]:
    """Return the steps that both sides take, with other values."""
    return [step._replace(value=chance.randint(0, 40), word=chance.choice(("same", word))) for step in steps]


def date_earlier(content: bytes) -> bytes:
    """Let a record that one side added begin a day earlier than the other side's."""
    for name in (b"created_at", b"first_seen"):
        content = content.replace(name + b' = "2026-11-01"', name + b' = "2026-10-31"')
    return content


def changes(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> Files:
    paths = sorted(path for path in {*before, *after} if before.get(path) != after.get(path))
    return {path: as_json(after[path]) if path in after else None for path in paths}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.fi"):
        old.unlink()
    cases = make_golden()
    (FOLDER / "cases.json").write_text(json.dumps(cases, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    used = record_rules()
    merges = [make_random(SEED * 1000 + number) for number in range(RANDOM_MERGES)]
    check_coverage([merged for merged, _ in merges])
    assert used >= RULES, RULES - used
    lines = (json.dumps(case, ensure_ascii=False) for _, case in merges)
    (FOLDER / "random.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    print(f"{len(cases)} golden repositories, {RANDOM_MERGES} random merges")


if __name__ == "__main__":
    main()
