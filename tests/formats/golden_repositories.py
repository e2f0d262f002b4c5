"""The golden repositories before their merges: streams for `git fast-import` with the branches `first` and `second`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

TESTS = Path(__file__).resolve().parents[1]
FORMATS = TESTS.parent / "formats"
sys.path += [str(TESTS), str(FORMATS / "conformance")]

from runner import write_file

from baton_git.core.kinds import shard
from baton_git.core import layout
from baton_git.core.merge.decisions import make_conflict
from baton_git.core.merge.decisions import ContestedValue
from baton_git.namespace.history import ROOT_AUTHOR, ROOT_MESSAGE

START = 1_780_000_000
"""Time of the earliest commit, in seconds since 1970."""
REVISION = "Baton-Revision:"
Files = Mapping[str, Any]
"""Path → text or `{"base64": …}`, optionally with a `Mode`; None removes the file."""


class Mode(NamedTuple):
    """A file whose mode is not 100644."""

    mode: bytes
    content: Any


class Commit(NamedTuple):
    """A commit of a golden repository.

    Attributes:
        name: its branch.
        files: its changes against its first parent.
        revision: the number in the trailer `Baton-Revision`; None leaves all trailers out.
        time: the time of the author, in seconds since 1970.
        committed: the time of the committer; None: that of the author.
    """

    name: str
    parents: tuple[str, ...]
    files: Files
    revision: int | None
    time: int = START
    message: str = ""
    author: str = "Ada <ada@example.org>"
    committed: int | None = None

    def encode(self) -> bytes:
        trailers = f"\n\nBaton-Op: write\nBaton-Revision: {self.revision}" if self.revision is not None else ""
        message = self.message or f"{self.name}{trailers}\n"
        who, committer = (f"{self.author} {time} +0000" for time in (self.time, self.committed or self.time))
        head = f"commit refs/heads/baton/{self.name}\nauthor {who}\ncommitter {committer}\ndata {len(message.encode())}\n{message}"
        words = ("from", *["merge"] * (len(self.parents) - 1))
        links = [f"{word} refs/heads/baton/{parent}\n" for word, parent in zip(words, self.parents, strict=True)] if self.parents else []
        files = b"".join(write_with_mode(path, content) for path, content in sorted(self.files.items()))
        return f"{head}{''.join(links)}".encode() + files + b"\n"


def write_with_mode(path: str, content: Any) -> bytes:
    """Return the part of a fast-import stream that writes a file with its mode, or removes it."""
    if not isinstance(content, Mode):
        return write_file(path, content)
    return write_file(path, content.content).replace(b"100644", content.mode, 1)


def with_mode(mode: bytes, files: Files) -> Files:
    return {path: Mode(mode, content) for path, content in files.items()}


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


def archived_loop(id_: str, folder: str, at: str, reason: str = "done") -> Files:
    record = "".join(f"{line}\n" for line in next(iter(loop(id_).values())).splitlines())
    return {
        f"open_loops/{id_}.toml": None,
        f"archive/open_loops/{folder}/{id_}.toml": f'at = "{at}"\nreason = "{reason}"\nsession = "s1"\n\n[record]\n{record}',
    }


def sides(
    name: str, about: str, base: Files, first: Files, second: Files, *, revision: int = 2, **options: Any
) -> GoldenRepository:
    """Return a base and two commits on top of it, the second one a minute later; `revision` is that of the first."""
    commits = (
        root(), Commit("base", ("root",), base, 1), Commit("first", ("base",), first, revision),
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
    folder = shard("OL-1")
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
    yield from list_modes()
    yield make_conflict_twice()
    yield from list_foreign_files()
    yield from list_histories()


def list_modes() -> Iterator[GoldenRepository]:
    run, folder = b"100755", shard("OL-3")
    identity = {"identity/zero.toml": '[immutable.purpose]\nstatement = "Guards"\n'}
    yield sides(
        "modes", "executable records: rewritten, taken, archived, in two places, and brought back",
        {**with_mode(run, {**follow_up("FU-1", 1), **loop("OL-3"), **identity}), **follow_up("FU-2", 1), **follow_up("FU-3", 1), **loop("OL-2")},
        {
            **with_mode(run, {**follow_up("FU-1", 2), **follow_up("FU-2", 2), **loop("OL-3", status="verified"), **loop("OL-4", "Deployed X")}),
            **follow_up("FU-3", 2), "identity/zero.toml": None,
        },
        {
            **follow_up("FU-1", 3), **follow_up("FU-2", 3), **with_mode(run, {**follow_up("FU-3", 3), **loop("OL-2"), **loop("OL-4", "Deployed Y")}),
            **with_mode(run, archived_loop("OL-3", folder, "2026-11-02T08:00:00Z")), "open_loops/OL-3.toml": None,
        },
        revision=3,
    )  # fmt: skip
    link = b"120000"
    yield sides(
        "symbolic-links", "symbolic links at the paths of records: their target is read as the content",
        {**follow_up("FU-1", 1), **loop("OL-1"), **loop("OL-2")},
        {**with_mode(link, follow_up("FU-1", 2)), "open_loops/OL-1.toml": Mode(link, "elsewhere"), **loop("OL-2", status="failed")},
        {**follow_up("FU-1", 3), **loop("OL-1", status="verified"), "open_loops/OL-2.toml": Mode(link, "elsewhere")},
        revision=3,
    )  # fmt: skip


def make_conflict_twice() -> GoldenRepository:
    """Return a repository with conflicts at the paths of those that the merge makes: one readable, and one not."""
    values = [("FU-1", "the release comes first", "nobody has time"), ("FU-2", "no time", "no money")]
    ids = [make_conflict("follow_up", id_, ContestedValue("reason", (), (a,), (b,), "ours")).id for id_, a, b in values]
    older = '# settled soon\nrecord_kind = "follow_up"\nrecord_id = "FU-9"\nfield = "reason"\nours = "a"\ntheirs = "b"\nwinner = "ours"\nnote = "kept?"\n'
    base = {
        **follow_up("FU-1", 1), **follow_up("FU-2", 1), f"conflicts/{ids[0]}.toml": f'id = "{ids[0]}"\n{older}',
        f"conflicts/{ids[1]}.toml": "id = \n", f"conflicts/{ids[1]}.2.toml": f'id = "{ids[1]}.2"\n{older}',
    }  # fmt: skip
    changed = [{path: text for id_, *words in values for path, text in follow_up(id_, 1, words[side]).items()} for side in (0, 1)]
    return sides(
        "conflict-twice", "at the path of a new conflict there is a readable one, or a file that cannot be read", base, *changed
    )


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
        "trailers", "trailers several times, in the subject, among other lines, with zeros in front, and with too many digits",
        (root(), Commit("base", ("root",), loop("OL-1"), 5),
         Commit("first", ("base",), loop("OL-2"), None, message=f"{REVISION} 40\n\n{REVISION} 9\n\nMore words\n{REVISION} 002\nand more\n"),
         Commit("second", ("base",), loop("OL-3"), None, message=f"second\n\n{REVISION} 7\n{REVISION} 1234567890\n")),
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
