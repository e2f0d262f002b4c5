"""Records about code: when the code changes, moves or disappears, the brief, recall and lists say so."""

from __future__ import annotations

import json
import os

import pytest
from world import workspace

from baton_git.agents.sessions.handoff_index import follow_rewritten
from baton_git.core.records.handoff import Handoff
from baton_git.core.records.work_items import Anchor, Rule
from baton_git.git.source_files import MAX_BRANCHES, SourceFiles
from baton_git.git.store import Repository, Store
from baton_git.namespace.aging import AnchorJudge

CODE = "def f():\n    return 1\n\n\ndef g():\n    return 2\n"


@pytest.fixture
def code(top, git, baton):
    """Return a function that commits Python files with these texts and returns the short commit id."""

    def commit(**files: str) -> str:
        for name, text in files.items():
            (top / f"{name}.py").write_text(text)
        git(top, "add", "-A")
        git(top, "commit", "-q", "-m", "code")
        return git(top, "rev-parse", "--short=7", "HEAD")

    commit(x=CODE, y="A = 1\n")
    return commit


def label_in_brief(baton, words: str) -> str:
    """Return the label of the record with these words in the brief."""
    text = next(text for text in baton("boot").out.splitlines() if words in text)
    return text.split("[")[1].split("]")[0]


def decide(baton, words: str, *about: str):
    return baton("decision", "add", words, "--why", "w", *(part for path in about for part in ("--about", path)))


def test_a_record_is_marked_only_if_its_anchor_changed(baton, code):
    decide(baton, "on x", "x.py")
    decide(baton, "on f", "x.py:f")
    assert label_in_brief(baton, "on x") == label_in_brief(baton, "on f") == "agent"
    first = code(x=CODE.replace("return 2", "return 3"))
    second = code(x=CODE.replace("return 2", "return 3").replace("return 1", "return 0"))
    assert label_in_brief(baton, "on x") == f"agent, changed since {first}: x.py"
    assert label_in_brief(baton, "on f") == f"agent, changed since {second}: x.py:f"
    code(x=CODE)
    assert label_in_brief(baton, "on x") == "agent"


def test_a_moved_file_is_followed_and_a_missing_one_is_reported(baton, code, git, top):
    decide(baton, "on x", "x.py:f")
    git(top, "mv", "x.py", "z.py")
    code()
    assert label_in_brief(baton, "on x") == "agent"
    changed = code(z="def f():\n    return 5\n")
    assert label_in_brief(baton, "on x") == f"agent, changed since {changed}: z.py:f"
    git(top, "rm", "-q", "z.py")
    gone = code()
    assert label_in_brief(baton, "on x") == f"agent, gone since {gone}: z.py:f"
    assert f" · gone since {gone}: z.py:f" in baton("list", "decisions").out
    [record] = baton("list", "decisions", "--json").json["records"]
    assert f"z.py:f, gone since {gone}\n" in baton("show", record["id"]).out


def test_what_is_changed_moved_or_removed_but_not_committed_is_told_as_that(baton, code, git, top, tmp_path):
    decide(baton, "on x", "x.py")
    decide(baton, "on f", "x.py:f")
    (top / "x.py").write_text(CODE.replace("return 2", "return 3"))
    assert label_in_brief(baton, "on x") == "agent, changed, not committed: x.py"
    assert label_in_brief(baton, "on f") == "agent"
    (top / "x.py").write_bytes(CODE.replace("\n", "\r\n").encode())
    assert label_in_brief(baton, "on x") == "agent", "only line ends differ"
    (top / "x.py").unlink()
    assert label_in_brief(baton, "on x") == "agent, gone, not committed: x.py"
    (top / "x.py").write_text(CODE)
    git(top, "mv", "x.py", "z.py")
    assert label_in_brief(baton, "on x") == label_in_brief(baton, "on f") == "agent"
    (top / "z.py").write_text(CODE.replace("return 1", "return 3"))
    assert label_in_brief(baton, "on f") == "agent, changed, not committed: z.py:f"


def test_a_file_that_a_filter_converts_or_a_sparse_checkout_leaves_out_is_not_changed(baton, code, git, top):
    decide(baton, "on x", "x.py")
    (top / "x.py").write_text("a pointer's content\n")
    (top / ".git/info/attributes").write_text("x.py filter=lfs\n")
    assert label_in_brief(baton, "on x") == "agent"
    (top / ".git/info/attributes").unlink()
    git(top, "checkout", "-q", "x.py")
    git(top, "sparse-checkout", "set", "--no-cone", "y.py")
    assert not (top / "x.py").exists()
    assert label_in_brief(baton, "on x") == "agent"


def test_what_the_deciding_session_has_not_committed_yet_is_no_change(baton, code, top, tmp_path):
    decide = ("decision", "add", "on x", "--why", "w", "--about", "x.py", "--session", "s1", "--agent", "claude")
    assert baton(*decide).code == 0
    (top / "x.py").write_text(CODE.replace("return 2", "return 3"))
    assert "changed" not in baton("list", "decisions", "--session", "s1").out
    assert label_in_brief(baton, "on x") == "agent, changed, not committed: x.py"
    written = {"file_path": str(top / "x.py"), "content": "x"}
    rows = [
        {"type": "user", "uuid": "1", "cwd": str(top), "message": {"role": "user", "content": "go"}},
        {"type": "assistant", "uuid": "2", "parentUuid": "1", "message": {"role": "assistant", "content": [
            {"type": "tool_use", "id": "t", "name": "Write", "input": written}]}},
        {"type": "user", "uuid": "3", "parentUuid": "2", "message": {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t", "content": "written"}]}},
    ]  # fmt: skip
    (tmp_path / "s1.jsonl").write_text("".join(json.dumps(row | {"sessionId": "s1"}) + "\n" for row in rows))
    extracted = baton(
        "handoff", "extract", str(tmp_path / "s1.jsonl"), "--keep", "--session", "s1", "--agent", "claude"
    )
    assert extracted.code == 0, extracted.err
    assert label_in_brief(baton, "on x") == "agent"


def test_records_about_a_moved_file_are_found_by_its_new_name_and_a_folder_means_the_files_below(baton, code, git, top):
    decide(baton, "on x", "x.py:f")
    decide(baton, "on y", "y.py")
    baton("decision", "add", "Version 1.2", "--why", "w", "--session", "other")
    (top / "src").mkdir()
    git(top, "mv", "x.py", "src/k.py")

    def list_about(path: str, cwd=top) -> set[str]:
        records = baton("list", "decisions", "--about", path, "--json", cwd=cwd).json["records"]
        return {record["title"] for record in records}

    for path in ("src/k.py", "src", "src/", "src/k.py:f", str(top / "src/k.py"), "x.py", "x.py:f"):
        assert list_about(path) == {"on x"}, path
    git(top, "commit", "-q", "-m", "move")
    assert list_about("src/k.py") == list_about("k.py", top / "src") == list_about(".", top / "src") == {"on x"}
    assert list_about(".") == list_about("..", top / "src") == {"on x", "on y"}


def test_an_anchor_to_a_file_that_is_gone_is_not_renewed(baton, code, git, top):
    id_ = decide(baton, "on x", "x.py").out.strip()
    (top / "x.py").unlink()
    error = baton("decision", "anchor", id_, code=2).err
    assert f"x.py, which {id_} is about, is gone, not committed" in error
    assert "now with --about" in error


def test_uncommitted_files_are_anchored_with_their_current_content(baton, code, top):
    (top / "x.py").write_text(CODE + "# dirty\n")
    decide(baton, "on x", "x.py")
    assert label_in_brief(baton, "on x") == "agent"
    (top / "x.py").write_text(CODE + "# dirtier\n")
    assert label_in_brief(baton, "on x") == "agent, changed, not committed: x.py"
    (top / "x.py").write_text(CODE + "# dirty\n")
    code()
    assert label_in_brief(baton, "on x") == "agent"


def test_without_named_files_the_anchors_are_the_sessions_changed_files(baton, code, top):
    (top / "x.py").write_text("# 1\n")
    (top / "y.py").write_text("# 2\n")
    decide(baton, "no file")
    record = baton("list", "active_decision", "--json").json["records"][0]
    assert {(anchor["path"], anchor["by_default"]) for anchor in record["anchors"]} == {("x.py", True), ("y.py", True)}
    code()
    code(x="# 3\n")
    assert label_in_brief(baton, "no file") == "agent"  # only one of two
    code(y="# 4\n")
    assert label_in_brief(baton, "no file").startswith("agent, 2 of the 2 files of its session changed since ")


def test_anchors_can_be_named_later_and_renewed(baton, code):
    id_ = decide(baton, "separators are semicolons, on x").id
    baton("decision", "anchor", id_, code=2)
    baton("decision", "anchor", id_, "--about", "x.py")
    code(x="# other\n")
    assert "changed since" in label_in_brief(baton, "on x")
    assert "changed since" in baton("recall", "which separators").out
    baton("decision", "anchor", id_)
    assert label_in_brief(baton, "on x") == "agent"


def test_a_pattern_keeps_the_anchors_of_its_first_occurrence(baton, code):
    baton("pattern", "record", "forgot y", "--about", "y.py")
    since = code(y="A = 2\n")
    baton("pattern", "record", "forgot y")
    assert label_in_brief(baton, "forgot y") == f"agent, changed since {since}: y.py"


@pytest.mark.parametrize("about", ["nope.py", "../x.py", "x.py:nope", "/etc/hostname", ""])
def test_a_file_that_is_not_in_the_work_tree_is_refused(baton, code, about):
    refused = baton("decision", "add", "a", "--why", "w", "--about", about, code=2)
    assert about.split(":")[-1] in refused.err


def test_an_anchor_that_cannot_be_compared_is_unknown(baton, code):
    decide(baton, "on f", "x.py:f")
    code(x="def f(:\n")
    assert label_in_brief(baton, "on f") == "agent, unknown whether it changed: x.py:f"


@pytest.fixture
def hooked(baton, code):
    """Install the git hooks."""
    baton("hooks", "install")


def test_a_rebase_and_an_amended_commit_are_followed(baton, code, git, top, hooked):
    git(top, "checkout", "-q", "-b", "side")
    decided = code(x=CODE + "# decided\n")
    decide(baton, "on x", "x.py")
    code(x=CODE + "# later\n")
    git(top, "checkout", "-q", "main")
    code(y="# main goes on\n")
    git(top, "checkout", "-q", "side")
    git(top, "rebase", "-q", "main")
    git(top, "commit", "-q", "--amend", "-m", "reworded")
    now, before = git(top, "rev-parse", "HEAD", "HEAD~1").split()
    git(top, "reflog", "expire", "--expire=now", "--all")
    git(top, "gc", "-q", "--prune=now")
    assert not before.startswith(decided)
    assert label_in_brief(baton, "on x") == f"agent, changed since {now[:7]}: x.py"
    baton("loop", "add", "a", "--expect", "b", "--verify-commit", decided, "--id", "OL-1")
    baton("verify", "OL-1")
    assert baton("show", "OL-1", "--json").json["record"]["last_check"]["commit"].startswith(before[:7])


def test_a_handoff_names_the_commit_that_others_were_squashed_into(tmp_path):
    (tmp_path / "baton").mkdir()
    lines = [f"{old * 40} {new * 40}" for old, new in ("ac", "bc", "cd")]
    (tmp_path / "baton/rewritten").write_text("\n".join([*lines, f"{'d' * 40} {'d' * 40} extra", "cut of"]))
    commits = [{"hash": text * 12, "message": text} for text in "abe"] + [{"hash": "", "message": "?"}]
    handoff = Handoff.model_validate({"id": "a/s", "extracted_at": "2026-06-17", "facts": {"git_commits": commits}})
    followed = follow_rewritten(handoff, tmp_path).facts.git_commits
    assert [(commit.hash, commit.message) for commit in followed] == [("d" * 12, "b"), ("e" * 12, "e"), ("", "?")]


def test_an_anchor_whose_commit_is_gone_has_no_date(baton, code, git, top):
    decide(baton, "on x", "x.py")
    (top / "x.py").write_text("# other\n")
    git(top, "commit", "-q", "-a", "--amend", "-m", "the anchor's commit is gone")
    git(top, "reflog", "expire", "--expire=now", "--all")
    git(top, "gc", "-q", "--prune=now")
    assert label_in_brief(baton, "on x") == "agent, changed: x.py"


def test_a_rule_is_about_the_files_of_its_pattern(baton, code, top):
    id_ = baton("pattern", "record", "forgot y", "--about", "y.py").id
    since = code(y="A = 2\n")
    with Store(Repository.open(top)) as store:
        ws = workspace(store, namespace="work", environment=dict(os.environ))
        assert ws.judgement().aging(Rule(id=id_, text="t")) == f"changed since {since}: y.py"


def test_a_client_that_does_not_know_anchors_does_not_remove_them(baton, code, top):
    decide(baton, "on x", "x.py")
    document = baton("read").json
    [decision] = document["baton"]["active_decisions"] if "baton" in document else document["active_decisions"]
    del decision["anchors"]
    decision["why"] = "changed by a client"
    baton("write", "--file", "-", given=json.dumps(document.get("baton", document)))
    since = code(x="# other\n")
    assert "changed by a client" in baton("boot").out
    assert label_in_brief(baton, "on x").endswith(f"changed since {since}: x.py")


@pytest.mark.parametrize("path", ["../../etc/passwd", "/etc/passwd", "x\0y", "a\nb"])
def test_an_anchor_outside_of_the_work_tree_or_with_an_invalid_commit_is_unknown(top, path):
    with Store(Repository.open(top)) as store:
        judge = AnchorJudge(SourceFiles(store, top, dict(os.environ)))
        for commit in ("--output=x", "HEAD", "f" * 40, None):
            assert judge.judge(Anchor(path=path, digest="0" * 40, commit=commit)).state == "unknown"
    assert not (top / "x").exists()


def commit_as(top, git, message: str, **files: str | None) -> str:
    """Commit these texts of Python files (None removes one) with a message; return the short commit id."""
    for name, text in files.items():
        if text is None:
            (top / f"{name}.py").unlink()
        else:
            (top / f"{name}.py").write_text(text)
    git(top, "add", "-A")
    git(top, "commit", "-q", "-m", message)
    return git(top, "rev-parse", "--short=7", "HEAD")


def test_the_commit_that_carries_a_decision_out_is_no_change_but_later_ones_are(baton, code, git, top):
    decide(baton, "f returns two", "x.py", "x.py:f")
    commit_as(top, git, "Let it be so:  F  returns\n two.", x=CODE.replace("return 1", "return 2"))
    assert label_in_brief(baton, "f returns two") == "agent"
    later = commit_as(top, git, "more", x=CODE.replace("return 1", "return 3"))
    assert (
        label_in_brief(baton, "f returns two") == f"agent, changed since {later}: x.py, changed since {later}: x.py:f"
    )
    code(x=CODE.replace("return 1", "return 2"))
    undone = commit_as(top, git, 'Revert "Let it be so: F returns two"', x=CODE.replace("return 1", "return 0"))
    assert undone != later
    assert (
        label_in_brief(baton, "f returns two") == f"agent, changed since {later}: x.py, changed since {later}: x.py:f"
    )


@pytest.mark.parametrize("in_trailer", [True, False])
def test_a_commit_that_names_the_decision_carries_it_out(baton, code, git, top, in_trailer):
    id_ = decide(baton, "x becomes a package", "x.py").id
    message = f"Move x\n\nImplements: {id_}" if in_trailer else f"Move x ({id_})"
    commit_as(top, git, message, x=None)
    assert label_in_brief(baton, "becomes a package") == "agent"
    other = decide(baton, "y stays", "y.py").id
    since = commit_as(top, git, f"not for {other}0", y="A = 2\n")
    assert label_in_brief(baton, "y stays") == f"agent, changed since {since}: y.py"


def test_the_commits_of_the_session_that_decided_carry_the_decision_out(baton, code, git, top, tmp_path):
    session = {"BATON_SESSION": "s9", "BATON_AGENT": "claude"}
    baton("decision", "add", "round at the end", "--why", "w", "--about", "x.py", env=session)
    made = commit_as(top, git, "Work", x="# rounded\n")
    assert f"changed since {made}" in label_in_brief(baton, "round at")  # nobody knows yet who made the commit
    calls = [
        {"type": "user", "message": {"role": "user", "content": "go"}},
        {"type": "assistant", "message": {"role": "assistant", "content": [
            {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "git commit -am Work"}}]}},
        {"type": "user", "message": {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": f"[main {made}] Work\n 1 file changed"}]}},
    ]  # fmt: skip
    common = {"sessionId": "s9", "cwd": str(top), "timestamp": "2026-06-17T10:00:00Z", "version": "2.1.0"}
    transcript = tmp_path / "s9.jsonl"
    transcript.write_text("".join(json.dumps(common | {"uuid": str(n)} | call) + "\n" for n, call in enumerate(calls)))
    baton("handoff", "extract", str(transcript), "--keep")
    assert label_in_brief(baton, "round at") == "agent"
    since = commit_as(top, git, "Others", x="# truncated\n")
    assert label_in_brief(baton, "round at") == f"agent, changed since {since}: x.py"


def test_what_a_decision_on_another_branch_is_about_is_neither_gone_nor_changed(baton, code, git, top):
    git(top, "checkout", "-q", "-b", "feature/new")
    commit_as(top, git, "new", n="N = 1\n", x="# of the feature\n")
    decide(baton, "on n and x", "n.py", "x.py")
    git(top, "checkout", "-q", "main")
    code(y="# main goes on\n")
    assert label_in_brief(baton, "on n") == "agent, on branch feature/new: n.py, on branch feature/new: x.py"
    anchors = baton("list", "active_decision", "--json").json["records"][0]["anchors"]
    assert {(anchor["state"], anchor["branch"]) for anchor in anchors} == {("elsewhere", "feature/new")}
    git(top, "checkout", "-q", "feature/new")
    changed = commit_as(top, git, "next", n="N = 2\n")
    git(top, "checkout", "-q", "main")
    assert label_in_brief(baton, "on n") == f"agent, changed since {changed}: n.py, on branch feature/new: x.py"
    git(top, "merge", "-q", "--squash", "feature/new")
    git(top, "commit", "-q", "-m", "squashed")
    squashed = git(top, "rev-parse", "--short=7", "HEAD")
    assert label_in_brief(baton, "on n") == f"agent, changed since {changed}: n.py"
    since = commit_as(top, git, "after it", x="# of main\n")
    assert label_in_brief(baton, "on n") == f"agent, changed since {changed}: n.py, changed since {since}: x.py"
    assert squashed != since


def test_a_file_that_another_branch_keeps_is_not_gone(baton, code, git, top):
    decide(baton, "on y", "y.py")
    git(top, "checkout", "-q", "-b", "keeps")
    code(x="# other\n")
    git(top, "checkout", "-q", "main")
    git(top, "branch", "behind")
    removed = commit_as(top, git, "less", y=None)
    assert label_in_brief(baton, "on y") == "agent, on branch keeps: y.py"
    assert " · on branch keeps: y.py" in baton("list", "decisions").out
    git(top, "branch", "-q", "-D", "keeps")
    assert label_in_brief(baton, "on y") == f"agent, gone since {removed}: y.py"


def test_with_more_branches_than_are_looked_at_it_is_unknown_whether_a_file_is_gone(baton, code, git, top):
    decide(baton, "on y", "y.py")
    commit_as(top, git, "less", y=None)
    side = git(top, "commit-tree", "-m", "side", "HEAD^{tree}")
    for number in range(MAX_BRANCHES + 1):
        (top / f".git/refs/heads/b{number}").write_text(f"{side}\n")
    assert label_in_brief(baton, "on y") == "agent, unknown whether it changed: y.py"
