"""Records about code: when the code changes, moves or disappears, the brief, recall and lists say so."""

from __future__ import annotations

import json
import os

import pytest
from world import workspace

from baton_git.core.records.anchor import Anchor
from baton_git.core.records.rule import Rule
from baton_git.git.source_files import SourceFiles
from baton_git.git.store import Repository, Store
from baton_git.namespace.aging import AnchorJudge
from baton_git.systems.gobby.record import Handoff
from baton_git.systems.gobby.rewritten_commits import follow_rewritten

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
