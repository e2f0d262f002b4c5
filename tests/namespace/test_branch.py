"""The revisions of a namespace: how they are written, and how they are named."""

from __future__ import annotations

import pytest
from strategies import item, loop
from world import ANYBODY, NOW, WHO, acting, all_bytes, by_hand, later, objects, workspace

from baton_git.core.errors import Busy, InvalidArgument, InvalidDocument, NotAllowed, NotFound, Stale
from baton_git.core.names import Namespace
from baton_git.core.records.work_items import OpenLoop
from baton_git.core.state import HEAD, Key
from baton_git.git.store import ReflogEntry, Repository, Store
from baton_git.namespace.branch import Branch
from baton_git.namespace.history import PREFIX
from baton_git.namespace.namespaces import list_namespaces
from baton_git.namespace.revision import CommitStamp, ProposedState
from baton_git.verbs.sessions.sessions import init
from baton_git.verbs.work_items.followups import add_follow_up
from baton_git.verbs.work_items.loops import add_loop

STAMP = CommitStamp("test", NOW, WHO, ANYBODY, "s1", "claude", "laptop")
TOKEN = "ghp_" + "k3J9xQ2mP7vR5tY8wZ1aB4cD6eF0gH2iL5nS"


def put(*records):
    """Return a change that puts `records`."""

    def change(tip):
        state = tip.state
        for one in records:
            state = state.put(one)
        return state

    return change


def make_commits(ws, count):
    """Make `count` changes, a minute apart; return their commits in order."""
    return [
        ws.branch.update(put(item(id=f"FU-{n}")), CommitStamp("test", later(minutes=n), WHO, ANYBODY)).revision.commit
        for n in range(count)
    ]


def test_the_first_commit_of_a_namespace_is_the_same_in_every_repository(open_workspace):
    one, other = open_workspace(), open_workspace("s2", name="other.git")
    init(one, NOW)
    init(other, later(days=9))
    assert one.branch.read().commit == other.branch.read().commit
    assert next(one.branch.history()).time.year == 1970


def test_a_write_before_init_creates_the_same_first_commit(open_workspace):
    one, other = open_workspace(), open_workspace(name="other.git")
    init(one, NOW)
    other.branch.update(put(loop()), STAMP)
    assert [e.commit for e in other.branch.history()][-1] == one.branch.read().commit


def test_written_records_are_read_back_with_their_revision(ws):
    written = ws.branch.update(put(loop()), STAMP)
    version = ws.branch.read()
    assert version.state.get(OpenLoop, "OL-1") == loop()
    assert (version.commit, version.number, version.op) == (written.revision.commit, 1, "test")


def test_a_commit_has_its_actor_and_verb_in_subject_and_trailers(ws):
    ws.branch.update(put(loop()), STAMP)
    entry = next(ws.branch.history())
    assert entry.subject == "OL-1 added: Deployed X"
    assert (entry.op, entry.session, entry.agent, entry.machine) == ("test", "s1", "claude", "laptop")
    assert entry.revision == 1
    assert (entry.author, entry.time) == (WHO, NOW)


def test_a_session_name_with_a_line_break_cannot_forge_a_trailer(ws):
    ws.branch.update(put(loop()), CommitStamp("test", NOW, WHO, ANYBODY, session="a\nBaton-Revision: 99"))
    entry = next(ws.branch.history())
    assert entry.revision == 1
    assert "\n" not in (entry.session or "")


def test_an_update_without_changes_writes_nothing(ws):
    ws.branch.update(put(loop()), STAMP)
    before, count = ws.branch.read().commit, objects(ws)
    written = ws.branch.update(put(loop()), STAMP)
    assert (written.revision.commit, written.changes, objects(ws)) == (before, (), count)


def test_a_failed_change_writes_nothing(ws):
    ws.branch.update(put(loop()), STAMP)
    count = objects(ws)

    def change(tip):
        tip.state.put(item())
        raise NotFound("thing", "x")

    with pytest.raises(NotFound):
        ws.branch.update(change, STAMP)
    assert objects(ws) == count


def test_a_change_is_computed_again_if_another_writer_was_faster(open_workspace):
    ws, other = open_workspace(), open_workspace("s2")
    seen = []

    def change(tip):
        if not seen:
            other.branch.update(put(item()), STAMP)
        seen.append(tip.number)
        return tip.state.put(loop())

    written = ws.branch.update(change, STAMP)
    assert seen == [0, 1]
    assert written.revision.number == 2
    assert ws.branch.read().state.ids("follow_up") == {"FU-1"}
    assert objects(ws) == len({*_reachable(ws)})


def _reachable(ws):
    """Return the ids of all objects that are reachable from the branch."""
    found = set()
    for entry in ws.branch.history():
        found |= {entry.commit, entry.tree}
        trees = [entry.tree]
        while trees:
            for one in ws.branch.store.folder(trees.pop()).entries().values():
                found.add(one.oid)
                trees += [one.oid] if one.is_folder else []
    return found


def test_a_race_lost_to_an_equal_change_writes_nothing(open_workspace):
    ws, other = open_workspace(), open_workspace("s2")

    def change(tip):
        if tip.commit is None:
            other.branch.update(put(loop()), STAMP)
        return tip.state.put(loop())

    written = ws.branch.update(change, STAMP)
    assert (written.changes, written.revision.number) == ((), 1)


def test_a_writer_that_loses_every_race_raises_busy(open_workspace):
    ws, other = open_workspace(), open_workspace("s2")
    count = iter(range(1000))

    def change(tip):
        other.branch.update(put(item(id=f"FU-{next(count)}")), STAMP)
        return tip.state.put(loop())

    with pytest.raises(Busy, match="others kept writing"):
        ws.branch.update(change, STAMP, patience=0.2)
    assert ws.branch.read().state.ids("open_loop") == set()


def test_an_expected_revision_that_is_not_the_newest_is_stale(ws):
    ws.branch.update(put(loop()), STAMP)
    with pytest.raises(Stale) as caught:
        ws.branch.update(put(item()), STAMP, expected_revision=0)
    assert (caught.value.expected, caught.value.actual) == (0, 1)
    assert ws.branch.update(put(item()), STAMP, expected_revision=1).revision.number == 2


def test_an_expected_revision_is_stale_after_a_lost_race(open_workspace):
    ws, other = open_workspace(), open_workspace("s2")

    def change(tip):
        other.branch.update(put(item()), STAMP)
        return tip.state.put(loop())

    with pytest.raises(Stale):
        ws.branch.update(change, STAMP, expected_revision=0)


@pytest.mark.parametrize(("text", "index"), [("1", 0), ("r2", 1), ("3", 2), ("~", 1), ("~0", 2), ("~1", 1), ("~2", 0)])
def test_a_revision_is_named_by_number_or_steps_back(ws, text, index):
    commits = make_commits(ws, 3)
    assert ws.branch.resolve(text) == commits[index]


def test_a_revision_is_named_by_its_commit_id(ws):
    commits = make_commits(ws, 3)
    assert [ws.branch.resolve(one) for one in commits] == commits
    letters = next((one for one in commits if not one[:12].isdigit()), commits[0])
    assert ws.branch.resolve(letters[:12]) == letters


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("2026-11-21T08:01:30Z", 1), ("2026-11-21T08:01:00+00:00", 1), ("2026-11-21T10:00:59+02:00", 0),
        ("2026-11-21T08:01", 1), ("2026-11-21", 2), ("2030-01-01", 2),
    ],
)  # fmt: skip
def test_a_time_selects_the_newest_revision_not_later(ws, text, index):
    commits = make_commits(ws, 3)
    assert ws.branch.resolve(text) == commits[index]


@pytest.mark.parametrize("text", ["99", "~9", "deadbeef00", "r0099", "0001-01-01"])
def test_an_unknown_revision_is_not_found(ws, text):
    make_commits(ws, 2)
    with pytest.raises(NotFound, match="revision"):
        ws.branch.resolve(text)


@pytest.mark.parametrize(
    "text", ["", "HEAD", "~x", "-1", "yesterday", "abc", "2026-13-01", "0000-01-01", "1\n2", "\x00"]
)
def test_an_invalid_revision_shows_the_valid_forms(ws, text):
    make_commits(ws, 1)
    with pytest.raises(InvalidArgument) as caught:
        ws.branch.resolve(text)
    assert "commit id" in caught.value.hint


def test_a_revision_of_a_namespace_that_does_not_exist_is_not_found(ws):
    for text in ("1", "~0", "2026-11-21"):
        with pytest.raises(NotFound, match="namespace"):
            ws.branch.read(text)


def test_a_namespace_that_does_not_exist_reads_as_empty(ws):
    version = ws.branch.read()
    assert (version.commit, version.number, version.state.ids("open_loop")) == (None, 0, set())


def test_commits_made_by_hand_count_as_revisions(ws):
    add_loop(ws, NOW, action="a", expect="b")
    by_hand(ws, {"notes.txt": b"one"})
    by_hand(ws, {"notes.txt": b"two"})
    assert ws.branch.read().number == 3
    add_loop(ws, NOW, action="c", expect="d")
    assert ws.branch.read().number == 4


def test_the_error_of_a_branch_without_format_toml_is_a_new_one_each_time(ws):
    """One cached object, raised again and again, would collect the frames of all callers of a server."""
    add_loop(ws, NOW, action="a", expect="b")
    bad = by_hand(ws, {"format.toml": None})
    raised = []
    for _ in range(2):
        with pytest.raises(NotAllowed, match="is not a branch of baton-git") as caught:
            ws.branch.revision_at(bad)
        raised.append(caught.value)
    assert raised[0] is not raised[1]
    assert str(ws.branch.past_revision_at(bad).fault) == "the commit has no format.toml"


def test_a_commit_made_by_hand_is_found_by_its_number(ws):
    add_loop(ws, NOW, action="a", expect="b")
    hand = by_hand(ws, {"notes.txt": b"one"})
    add_loop(ws, later(minutes=1), action="c", expect="d")
    assert ws.branch.read("2").commit == hand


def test_unknown_files_are_kept_byte_for_byte(ws):
    add_loop(ws, NOW, action="a", expect="b")
    by_hand(ws, {"docs/notes.txt": b"\xff\x00", "open_loops/README": b"hello"})
    add_loop(ws, NOW, action="c", expect="d")
    root = ws.branch.store.folder(ws.branch.read().tree)
    assert root.folder("docs").read("notes.txt") == b"\xff\x00"
    assert root.folder("open_loops").read("README") == b"hello"


def test_a_secret_is_redacted_and_reported(ws):
    written = ws.branch.update(put(loop(action=f"used {TOKEN} here")), STAMP)
    assert [(str(key), one.path) for key, one in written.redactions] == [("open loop OL-1", "action")]
    assert TOKEN not in ws.branch.read().state.get(OpenLoop, "OL-1").action
    assert TOKEN not in next(ws.branch.history()).subject


def test_a_secret_never_reaches_any_object(ws):
    add_loop(ws, NOW, action=f"used {TOKEN}", expect=f"no {TOKEN}")
    add_follow_up(ws, NOW, item="x", reason=TOKEN)
    assert TOKEN.encode() not in all_bytes(ws)


@pytest.mark.parametrize("field", ["session", "agent", "machine"])
def test_a_commit_stamp_with_a_secret_is_rejected(ws, field):
    with pytest.raises(InvalidDocument, match="holds a secret"):
        ws.branch.update(put(loop()), CommitStamp("test", NOW, WHO, ANYBODY, **{field: TOKEN}))
    assert ws.branch.read().commit is None


def test_an_id_that_is_a_secret_is_refused(ws):
    with pytest.raises(InvalidDocument, match="id of open loop holds a secret"):
        ws.branch.update(put(loop(id=TOKEN)), STAMP)
    assert ws.branch.read().commit is None


def test_a_document_from_an_older_state_becomes_a_second_parent(ws):
    base = ws.branch.update(put(loop()), STAMP).revision
    ws.branch.update(put(item()), STAMP)

    def change(tip):
        side = base.state.put(item(id="FU-2"))
        return ProposedState(tip.state.put(item(id="FU-2")), side=(base, side))

    version = ws.branch.update(change, STAMP).revision
    entry = next(ws.branch.history())
    assert len(entry.parents) == 2
    assert ws.branch.revision_at(entry.parents[1]).state.ids("follow_up") == {"FU-2"}
    assert (entry.op, version.number) == ("test-merge", 3)


def test_only_existing_namespaces_are_listed(ws):
    for name in ("project:x", "a/b", "A", "名前"):
        Branch(ws.branch.store, Namespace(name)).update(put(loop()), STAMP)
    store = ws.branch.store
    commit = store.tip("refs/heads/baton/a%2fb")
    foreign = "refs/heads/baton/UPPER"
    assert store.publish(store.draft(), foreign, None, commit, ReflogEntry(WHO, 0, 0, "m"))
    assert [str(one) for one in list_namespaces(store, PREFIX)] == sorted(["project:x", "a/b", "A", "名前"])


def test_another_ref_prefix_uses_other_branches(ws):
    hidden = Branch(ws.branch.store, Namespace("x"), "refs/baton/")
    hidden.update(put(loop()), STAMP)
    assert ws.branch.read().commit is None
    assert hidden.read().number == 1


def test_creating_an_existing_namespace_changes_nothing(ws):
    first, second = init(ws, NOW), init(ws, later(days=1))
    assert (first.created, second.created, first.commit) == (True, False, second.commit)


def test_a_repository_with_sha256_works_the_same(tmp_path, git):
    git(tmp_path, "init", "-q", "--bare", "--object-format=sha256", "s.git")
    with Store(Repository.open(tmp_path / "s.git")) as store:
        ws = workspace(store)
        add_loop(ws, NOW, action="a", expect="b")
        commit = ws.branch.read().commit
        assert len(commit) == 64
        assert ws.branch.read(commit).commit == commit
    git(tmp_path / "s.git", "fsck", "--strict")


def test_concurrent_writes_of_another_session_are_not_lost(open_workspace):
    ws, other = open_workspace("s1"), open_workspace("s2")
    for number in range(5):
        add_loop(acting(ws, "s1"), NOW, action=f"a{number}", expect="x")
        add_follow_up(other, NOW, item=f"b{number}")
    state = ws.branch.read().state
    assert (len(state.ids("open_loop")), len(state.ids("follow_up"))) == (5, 5)


def test_a_corrupt_head_file_is_never_overwritten(ws):
    add_loop(ws, NOW, action="a", expect="b")
    by_hand(ws, {"baton.toml": b"not = [toml"})
    add_loop(ws, NOW, action="c", expect="d")
    assert ws.branch.read().state.entry(HEAD).why
    assert ws.branch.store.folder(ws.branch.read().tree).read("baton.toml") == b"not = [toml"


def test_a_record_whose_id_contains_a_slash_is_read_back_under_its_id(ws):
    ws.branch.update(put(loop(id="a/b")), STAMP)
    assert ws.branch.read().state.entry(Key("open_loop", "a/b")) == loop(id="a/b")
