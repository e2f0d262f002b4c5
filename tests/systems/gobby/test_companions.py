"""Files that changed in the same commits as those of a session: which ones, in which order, in how many bytes."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from world import NOW

from baton_git.core.records.handoff import Handoff
from baton_git.git.source_commits import ChangedFiles
from baton_git.systems.gobby.companions import (
    HALF_LIFE,
    MAX_BYTES,
    MAX_LINE,
    Companion,
    find_modules,
    is_safe_path,
    rank_companions,
    weigh_files,
    write_lines,
)

AT = int(NOW.timestamp()) - 30 * 86400


def rank(*changes: Any, now: float = AT + 10**6, **weights: float) -> list[str]:
    listed = [ChangedFiles(time, tuple(files.split())) for time, files in changes]
    return [one.path for one in rank_companions(listed, weights or {"a": 1.0}, now)]


def test_files_of_the_same_commits_are_ranked_by_how_often_and_how_lately():
    often = [(AT, "a b")] * 3
    assert rank(*often, (AT, "a c"), (AT, "d e")) == ["b", "c"]
    older = AT - 3 * HALF_LIFE
    assert rank((AT, "a c"), *[(older, "a b")] * 3) == ["c", "b"]
    assert rank((AT, "a c"), *[(older, "a b")] * 9) == ["b", "c"]


def test_a_commit_of_many_files_says_less_about_each():
    many = " ".join(f"f{number}" for number in range(20))
    assert rank((AT, "a c"), (AT, f"a {many}"))[0] == "c"
    assert rank(*[(AT, f"a {many}")] * 9, (AT, "a c"))[0] != "c"


def test_of_two_companions_the_one_that_changes_more_comes_first():
    assert rank((AT, "a b"), (AT, "a c"), *[(AT, "c d")] * 5) == ["c", "b"]


def test_the_files_of_a_module_named_in_code_belong_to_the_work():
    files = ["src/trailers/trailers.go", "src/trailers/trailers_test.go", "src/fmt.md", "a/state.go", "b/state.go"]
    text = "moved `paths.Key` to `trailers.Key`, and state.Load()"
    assert find_modules([text], files) == files[:2]
    assert find_modules(["read fmt.Println, see trailers.go and my_trailers.Key"], files) == []
    assert find_modules(["state.Load()"], files[:4]) == ["a/state.go"], "the only one of this name"


def test_changed_files_weigh_more_than_read_and_named_ones():
    changes = [(AT, "a x"), (AT, "b y"), (AT, "c z")]
    assert rank(*changes, c=0.125, b=0.5, a=1.0) == ["x", "y"]


def test_the_files_of_the_session_are_not_its_companions():
    assert rank((AT, "a b c"), a=1.0, b=1.0) == ["c"]
    assert rank((AT, "b c")) == []


def test_commits_of_the_future_do_not_make_all_others_old():
    wrong = AT + 50 * 365 * 86400
    assert rank((AT, "a b"), (wrong, "d e"), now=AT + 10) == ["b"]
    assert rank((wrong, "a b"), (wrong, "a c"), now=AT) == ["b", "c"]


def test_a_handoff_weighs_its_files_by_use():
    facts = {
        "files_used": [
            {"path": "src/a.py", "changes": 2, "reads": 1}, {"path": "src/b.py", "reads": 3}, {"path": "c.py"},
            {"path": "src/d.py", "found": "git"},
        ],
        "files_modified": ["/work/shop/old.py"],
    }  # fmt: skip
    handoff = Handoff.model_validate(
        {"id": "claude/s", "extracted_at": "2026-11-21T08:00:00Z", "worktree": "/work/shop", "facts": facts}
    )
    assert weigh_files(handoff) == {"src/a.py": 1, "src/b.py": 0.5, "c.py": 0.125, "src/d.py": 1, "old.py": 1}


def test_companions_are_listed_with_the_file_that_they_changed_with():
    companions = [
        Companion("src/core/b.py", ("src/a.py",), 3), Companion("tests/a.py", ("src/a.py",), 2),
        Companion("src/core/c.py", ("lib/z.py", "src/a.py"), 2), Companion("src/core/d/e.py", ("lib/z.py",), 1),
        Companion("readme", ("lib/z.py",), 1),
    ]  # fmt: skip
    assert write_lines(companions) == [
        "with a.py: src/core/{b.py, c.py}, tests/a.py", "with z.py: src/core/d/e.py, readme"
    ]  # fmt: skip
    below = [Companion("src/core/b.py", ("x/a.py",), 1), Companion("src/e.py", ("x/a.py",), 1)]
    assert write_lines(below) == ["with a.py: in src: core/b.py, e.py"]
    both = [Companion("b.py", ("x/a.py",), 1), Companion("c.py", ("y/a.py",), 1)]
    assert write_lines(both) == ["with x/a.py: b.py", "with y/a.py: c.py"]


def test_lines_stop_at_the_limit():
    lines = write_lines(Companion(f"f{number}.py", (f"seed{number}.py",), 1) for number in range(50))
    assert MAX_BYTES - 30 < sum(len(f"| - {line}\n") for line in lines) <= MAX_BYTES


paths = st.lists(st.sampled_from(["src", "lib", "ä", "long" * 30, "a.py", "b.py"]), min_size=1, max_size=4)


@given(st.lists(st.tuples(paths.map("/".join), st.lists(paths.map("/".join), min_size=1, max_size=3))))
def test_lines_fit_and_name_companions_in_order(pairs):
    companions = [Companion(path, tuple(besides), 1) for path, besides in dict(pairs).items()]
    lines = write_lines(companions)
    sizes = [len(f"| - {line}\n".encode()) for line in lines]
    assert sum(sizes) <= MAX_BYTES
    assert all(size <= MAX_LINE for size in sizes)
    if companions and sum(len(f"| - with {one.beside[0]}: {one.path}\n".encode()) for one in companions) <= 300:
        assert all(one.path.rpartition("/")[2] in "".join(lines) for one in companions)


def test_paths_that_could_be_taken_for_something_else_are_left_out():
    assert is_safe_path("src/ä b.py")
    for path in ("a\nb", "a\x1b[31m", "a\u202eb", " a", "a ", "a,b", "{a}", "`a`"):
        assert not is_safe_path(path)
