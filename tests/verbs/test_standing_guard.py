"""Nobody but a person removes, replaces or weakens what a person confirmed, by any road."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from folder_copies import FolderCopy
from world import NOW, acting, by_hand, document, files, later, stored, workspace

from baton_git.core.errors import BatonError, NeedsHuman, Protected
from baton_git.core.lifecycle import Confirmed
from baton_git.core.records.base import Archived, Record
from baton_git.core.records.work_items import FollowUp
from baton_git.core.state import Key
from baton_git.core.verb import READS
from baton_git.git.store import Repository, Store
from baton_git.namespace.caller import Vouched
from baton_git.namespace.moving import delete_branch
from baton_git.namespace.revision import ProposedState, Revision
from baton_git.namespace.workspace import Workspace
from baton_git.systems.session_baton.document_writing import IMPORT, write_document
from baton_git.systems.session_baton.documents import read_document
from baton_git.verbs.doctor.examination import Examination
from baton_git.verbs.doctor.recorded import check_records
from baton_git.verbs.records.editing import edit_record, forget_record, reopen_record
from baton_git.verbs.revisions.undo import rollback, undo
from baton_git.verbs.sessions.session_end import end_session
from baton_git.verbs.sessions.session_start import begin_session
from baton_git.verbs.table import all_verbs, functions
from baton_git.verbs.upkeep.namespace_moves import delete_namespace
from baton_git.verbs.work_items.decisions import add_decision, merge_decision, monitor_decision, supersede_decision
from baton_git.verbs.work_items.followups import add_follow_up, defer_follow_up, finish_follow_up, merge_follow_up
from baton_git.verbs.work_items.loops import add_loop, close_loop, settle_loop
from baton_git.verbs.work_items.patterns import (
    dismiss_pattern,
    graduate_pattern,
    merge_pattern,
    propose_rule,
    record_pattern,
)

PERSON = Vouched("Ada", "typed")
CHECK = {"method": "file_exists", "path": "readme"}
KEYS = tuple(
    Key(kind, id_)
    for kind, id_ in (
        ("open_loop", "OL-1"), ("follow_up", "FU-1"), ("follow_up", "FU-2"), ("pattern", "PAT-1"), ("pattern", "PAT-2"),
        ("pattern", "PAT-3"), ("rule", "PAT-2"), ("active_decision", "DEC-1"), ("active_decision", "DEC-2"),
    )
)  # fmt: skip
"""Records that a person confirmed. PAT-2 is a rule, and PAT-3 has a proposed rule."""


def as_person(ws: Workspace) -> Workspace:
    return replace(acting(ws, "ada"), confirmed=PERSON)


def _fill(ws: Workspace) -> None:
    """Write the records that a person confirmed, between those of an agent."""
    person = as_person(ws)
    add_follow_up(ws, NOW, item="by the agent", id="FU-agent")
    add_loop(person, NOW, action="Deployed", expect="it answers", id="OL-1", verify=CHECK)
    add_follow_up(person, NOW, item="Translate the receipt", id="FU-1")
    add_follow_up(person, NOW, item="Print the receipt", id="FU-2", reason="no printer")
    for id_, what in (("PAT-1", "wrong port"), ("PAT-2", "wrong host"), ("PAT-3", "wrong path")):
        record_pattern(person, NOW, what=what, id=id_)
    propose_rule(ws, NOW, "PAT-2", "Ask for the host")
    graduate_pattern(replace(ws, confirmed=Confirmed("Ada", "terminal", "PAT-2", "Ask for the host")), NOW, "PAT-2")
    edit_record(person, NOW, "PAT-3", fields={"proposed_rule": "Look at the path"})
    add_decision(person, NOW, what="Prices are in cents", why="floats rounded", id="DEC-1", evidence=["a bill"])
    add_decision(person, NOW, what="Times are in UTC", why="two offices", id="DEC-2")
    add_decision(ws, NOW, what="Names are in ASCII", why="an old printer", id="DEC-agent")
    add_follow_up(ws, NOW, item="by the agent again", id="FU-later")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> FolderCopy:
    folder = tmp_path_factory.mktemp("confirmed") / "state.git"
    with Store(Repository.create_bare(folder)) as store:
        _fill(workspace(store))
    return FolderCopy.of(folder)


@pytest.fixture
def agent(template: FolderCopy, tmp_path: Path) -> Iterator[Workspace]:
    """Return the workspace of an agent in a namespace with records that a person confirmed."""
    with Store(Repository.create_bare(template.write(tmp_path / "state.git"))) as store:
        yield workspace(store)


def number_of(ws: Workspace, id_: str) -> str:
    """Return the revision that added a record."""
    entry = next(entry for entry in ws.branch.history() if f"{id_} added" in entry.subject)
    return str(entry.revision)


def put(ws: Workspace, key: Key, **fields: Any) -> None:
    """Change a record with `Branch.update` itself, without a verb."""

    def change(tip: Revision) -> Any:
        record = tip.state.entry(key)
        assert isinstance(record, Record)
        return tip.state.put(record.replace(**fields), key)

    ws.update("x", NOW, change)


def forget(ws: Workspace, key: Key) -> None:
    forget_record(ws, NOW, key.id, kind=key.kind, reason="r")


def drop(ws: Workspace, key: Key) -> None:
    ws.update("x", NOW, lambda tip: tip.state.remove(key))


def rewrite(ws: Workspace, path: str, data: bytes | None) -> None:
    """Write a file byte by byte, as a rollback and a repair do, without saying so in the state."""
    ws.update("x", NOW, lambda tip: ProposedState(tip.state, files={path: _blob(ws, data)}))


def _blob(ws: Workspace, data: bytes | None) -> Any:
    return data


def archive_falsely_settled(ws: Workspace, key: Key) -> None:
    """Archive a record that is no work item as if it were done."""

    def change(tip: Revision) -> ProposedState:
        record = tip.state.entry(key)
        assert isinstance(record, Record)
        archived = tip.state.archive(record, at="2026-11-21", reason="done", session=None)
        return ProposedState(archived, settled=frozenset({key}))

    ws.update("x", NOW, change)


def settle_with_other_text(ws: Workspace) -> None:
    """Archive a follow-up as done that says something else in the archive."""

    def change(tip: Revision) -> ProposedState:
        record = tip.state.get(FollowUp, "FU-1").replace(item="Something else")
        archived = tip.state.archive(record, at="2026-11-21", reason="done", session=None)
        return ProposedState(archived, settled=frozenset({Key("follow_up", "FU-1")}))

    ws.update("x", NOW, change)


def purge_archived(ws: Workspace) -> None:
    """Remove a record from the archive into which a person moved it."""
    forget_record(as_person(ws), NOW, "DEC-2", reason="x")
    drop(ws, Key("active_decision", "DEC-2", archived=True))


def reopen_superseded(ws: Workspace) -> None:
    """Put a decision in force again that a person replaced."""
    supersede_decision(as_person(ws), NOW, "DEC-2", "DEC-1")
    put(ws, Key("active_decision", "DEC-2"), status="active", superseded_by=None)


def write_without(ws: Workspace, op: str = "write") -> None:
    """Write a document that lacks every confirmed pattern and decision and changes the others."""
    data = read_document(ws).baton
    assert data is not None
    lists: dict[str, Any] = {
        "open_loops": [{**loop, "action": "Broke it"} for loop in data["open_loops"]],
        "follow_ups": [{**item, "item": "Something else"} for item in data["follow_ups"]],
        "patterns": [{**data["patterns"][0], "what": "right port", "status": "dismissed"}],
        "active_decisions": [{**data["active_decisions"][0], "why": "I like floats", "superseded_by": "DEC-agent"}],
    }
    made = write_document(ws, NOW, document("s1", **lists), op=op)
    ids = {"OL-1", "FU-1", "FU-2", "PAT-1", "PAT-2", "PAT-3", "DEC-1", "DEC-2"}
    assert {claim.id for claim in made.held} >= (ids if op == "write" else {"DEC-1"})


def write_after_others(ws: Workspace) -> None:
    """Write a document whose session has not seen the newest revision, so that it is merged."""
    begin_session(acting(ws, "old"), NOW)
    add_follow_up(acting(ws, "s2"), NOW, item="another", id="FU-new")
    data = read_document(ws).baton
    assert data is not None
    lists = {name: data[name] for name in ("open_loops", "follow_ups")} | {"patterns": [], "active_decisions": []}
    made = write_document(ws, later(minutes=1), document("old", **lists))
    assert {claim.id for claim in made.held} >= {"PAT-1", "PAT-2", "PAT-3", "DEC-1", "DEC-2"}


HELD = frozenset({"a document leaves them out", "a merged document leaves them out", "an import leaves them out"})
"""Roads on which the rest is written, and what only a person may do is held back and reported."""

Road = Callable[[Workspace], object]
ROADS: Mapping[str, Road] = {
    **{f"forget {key}": partial(forget, key=key) for key in KEYS},
    "edit the text of a decision": lambda ws: edit_record(ws, NOW, "DEC-1", fields={"what": "Prices are floats"}),
    "edit the reason of a decision": lambda ws: edit_record(ws, NOW, "DEC-1", fields={"why": "I like floats"}),
    "edit the evidence": lambda ws: edit_record(ws, NOW, "DEC-1", fields={"evidence": []}),
    "add a rejected alternative": lambda ws: edit_record(ws, NOW, "DEC-1", fields={"rejected": ["cents"]}),
    "edit a loop": lambda ws: edit_record(ws, NOW, "OL-1", fields={"expected_outcome": "it exists"}),
    "edit a check": lambda ws: edit_record(ws, NOW, "OL-1", fields={"verify": {**CHECK, "path": "other"}}),
    "edit a follow-up": lambda ws: edit_record(ws, NOW, "FU-1", fields={"item": "Forget the receipt"}),
    "edit a pattern": lambda ws: edit_record(ws, NOW, "PAT-1", fields={"what": "right port"}),
    "dismiss by edit": lambda ws: edit_record(ws, NOW, "PAT-1", fields={"status": "dismissed"}),
    "supersede by edit": lambda ws: edit_record(ws, NOW, "DEC-1", fields={"superseded_by": "DEC-agent"}),
    "undo by number": lambda ws: undo(ws, NOW, number_of(ws, "DEC-1")),
    "undo a follow-up by number": lambda ws: undo(ws, NOW, number_of(ws, "FU-1")),
    "undo a loop by number": lambda ws: undo(ws, NOW, number_of(ws, "OL-1")),
    "undo in the person's session": lambda ws: undo(acting(ws, "ada"), NOW, number_of(ws, "DEC-2")),
    "roll back to the beginning": lambda ws: rollback(ws, NOW, revision="0", yes=True),
    "roll back to before": lambda ws: rollback(ws, NOW, revision=str(int(number_of(ws, "DEC-1")) - 1)),
    "roll back by steps": lambda ws: rollback(ws, NOW, revision="~4"),
    "roll back the record": lambda ws: rollback(ws, NOW, record="DEC-1"),
    "roll back the record by number": lambda ws: rollback(ws, NOW, record="PAT-1", revision="1"),
    "roll back a rule": lambda ws: rollback(ws, NOW, record="PAT-2", revision=number_of(ws, "PAT-2")),
    "roll back a follow-up": lambda ws: rollback(ws, NOW, record="FU-1", revision="1"),
    "roll back the session": lambda ws: rollback(ws, NOW, of_session="ada"),
    "merge a decision away": lambda ws: merge_decision(ws, NOW, "DEC-1", "DEC-2"),
    "merge a follow-up away": lambda ws: merge_follow_up(ws, NOW, "FU-1", "FU-2"),
    "merge a pattern away": lambda ws: merge_pattern(ws, NOW, "PAT-1", "PAT-3"),
    "dismiss a pattern": lambda ws: dismiss_pattern(ws, NOW, "PAT-1"),
    "replace a proposed rule": lambda ws: propose_rule(ws, NOW, "PAT-3", "Never look"),
    "replace a proposed rule by recording": lambda ws: record_pattern(ws, NOW, what="wrong path", rule="Never look"),
    "replace a reason by deferring": lambda ws: defer_follow_up(ws, NOW, "FU-2", reason="boring"),
    "defer with a reason, then forget": lambda ws: (
        defer_follow_up(ws, NOW, "FU-1", reason="no time"), forget_record(ws, NOW, "FU-1", reason="r"),
    ),
    "propose a rule, then dismiss": lambda ws: (
        propose_rule(ws, NOW, "PAT-1", "Ask for the port"), dismiss_pattern(ws, NOW, "PAT-1"),
    ),
    "propose a rule, then edit": lambda ws: (
        propose_rule(ws, NOW, "PAT-1", "Ask for the port"), edit_record(ws, NOW, "PAT-1", fields={"what": "nothing"}),
    ),
    "watch it, then forget": lambda ws: (
        monitor_decision(ws, NOW, "DEC-1"), forget_record(ws, NOW, "DEC-1", reason="r"),
    ),
    "put a superseded decision in force": reopen_superseded,
    "a document leaves them out": write_without,
    "a merged document leaves them out": write_after_others,
    "an import leaves them out": lambda ws: write_without(ws, IMPORT),
    "delete the namespace": lambda ws: delete_branch(ws.branch, ws.stamp("delete", NOW), ws.environment),
    "delete the namespace by its verb": lambda ws: delete_namespace(ws, NOW, "x", yes=True),
    "a change removes the file": lambda ws: drop(ws, Key("active_decision", "DEC-1")),
    "a change removes a rule": lambda ws: drop(ws, Key("rule", "PAT-2")),
    "a change archives a decision": lambda ws: archive_falsely_settled(ws, Key("active_decision", "DEC-1")),
    "a change archives a pattern": lambda ws: archive_falsely_settled(ws, Key("pattern", "PAT-1")),
    "work is settled with another text": settle_with_other_text,
    "a change purges the archive": purge_archived,
    "a change lowers the tier": lambda ws: put(ws, Key("active_decision", "DEC-1"), source_tier="llm_derived"),
    "a change ends a graduation": lambda ws: put(
        ws, Key("pattern", "PAT-2"), status="rule_candidate", graduated_to=None
    ),
    "a file is removed": lambda ws: rewrite(ws, "active_decisions/DEC-1.toml", None),
    "a file is overwritten": lambda ws: rewrite(ws, "patterns/PAT-1.toml", b"not a record"),
}  # fmt: skip


def confirmed_texts(ws: Workspace) -> dict[Key, Any]:
    """Return what the records that a person confirmed say, wherever they are, and whether they are confirmed."""
    tip = ws.branch.read()
    judge = ws.judgement(tip)
    return {key: (_text_of(tip.state.entry(key)), judge.is_confirmed(key)) for key in KEYS}


def _text_of(entry: Any) -> Any:
    if not isinstance(entry, Record):
        return entry
    names = ("what", "why", "evidence", "rejected", "status", "superseded_by", "text", "item", "action", "verify",
             "expected_outcome", "proposed_rule", "graduated_to", "source_tier")  # fmt: skip
    return {name: getattr(entry, name) for name in names if name in type(entry).model_fields}


@pytest.mark.parametrize("road", ROADS, ids=list(ROADS))
def test_an_agent_cannot_take_away_what_a_person_confirmed(agent: Workspace, road: str) -> None:
    before = confirmed_texts(agent)
    assert all(is_confirmed for _, is_confirmed in before.values())
    if road in HELD:
        ROADS[road](agent)
    else:
        with pytest.raises(NeedsHuman):
            ROADS[road](agent)
    allowed = {
        "defer with a reason, then forget": {Key("follow_up", "FU-1")},
        "propose a rule, then dismiss": {Key("pattern", "PAT-1")},
        "propose a rule, then edit": {Key("pattern", "PAT-1")},
        "watch it, then forget": {Key("active_decision", "DEC-1")},
        "put a superseded decision in force": {Key("active_decision", "DEC-2")},
        "a change purges the archive": {Key("active_decision", "DEC-2")},
    }
    after = confirmed_texts(agent)
    kept = before.keys() - allowed.get(road, set())
    assert {key: after[key] for key in kept} == {key: before[key] for key in kept}
    if road in HELD:
        assert not [key for key in KEYS if stored(agent, key.kind, key.id, archived=True) is not None]
    for key in allowed.get(road, ()):
        entry = agent.branch.read().state.entry(key) or agent.branch.read().state.entry(key._replace(archived=True))
        data = entry.record if isinstance(entry, Archived) else entry.as_data()
        text = before[key][0]
        assert {name: data[name] for name in ("what", "item") if name in data} == {
            name: text[name] for name in ("what", "item") if name in text
        }


ONLY_FOR_AGENTS = HELD | {
    "supersede by edit", "dismiss by edit", "undo in the person's session", "merge a pattern away",
    "a change purges the archive", "put a superseded decision in force", "a file is overwritten",
}  # fmt: skip


@pytest.mark.parametrize("road", [road for road in ROADS if road not in ONLY_FOR_AGENTS])
def test_a_person_can_do_all_of_that(agent: Workspace, road: str) -> None:
    ROADS[road](replace(agent, confirmed=PERSON))


USES: Mapping[str, Road] = {
    "add": lambda ws: add_decision(ws, NOW, what="Another", why="why"),
    "follow-up done": lambda ws: finish_follow_up(ws, NOW, "FU-1"),
    "follow-up deferred": lambda ws: defer_follow_up(ws, NOW, "FU-2"),
    "follow-up deferred with a reason": lambda ws: defer_follow_up(ws, NOW, "FU-1", reason="no time"),
    "loop checked": lambda ws: settle_loop(ws, NOW, "OL-1", "passed"),
    "loop failed": lambda ws: settle_loop(ws, NOW, "OL-1", "failed", note="no"),
    "loop closed": lambda ws: close_loop(ws, NOW, "OL-1", reason="the service is gone"),
    "verified loop archived": lambda ws: (
        settle_loop(ws, NOW, "OL-1", "passed"), begin_session(acting(ws, "s2"), later(minutes=1)),
        _assert_archived(ws, Key("open_loop", "OL-1")),
    ),
    "pattern recorded often": lambda ws: [record_pattern(ws, NOW, what="wrong port") for _ in range(4)],
    "pattern recorded, then a session": lambda ws: (
        put(ws, Key("pattern", "PAT-1"), count=9), begin_session(acting(ws, "s2"), later(minutes=1)),
    ),
    "rule proposed": lambda ws: propose_rule(ws, NOW, "PAT-1", "Ask for the port"),
    "decision watched": lambda ws: monitor_decision(ws, NOW, "DEC-1"),
    "done and reopened": lambda ws: (finish_follow_up(ws, NOW, "FU-1"), reopen_record(ws, NOW, "FU-1")),
    "done and undone": lambda ws: (finish_follow_up(ws, NOW, "FU-1"), undo(ws, NOW)),
    "own records forgotten": lambda ws: (
        forget_record(ws, NOW, "DEC-agent", reason="r"), forget_record(ws, NOW, "FU-agent", reason="r"),
    ),
    "own change undone": lambda ws: undo(ws, NOW),
    "superseded by a person, then archived": lambda ws: (
        supersede_decision(as_person(ws), NOW, "DEC-2", "DEC-1"), begin_session(acting(ws, "s2"), later(minutes=1)),
        _assert_archived(ws, Key("active_decision", "DEC-2")),
    ),
    "session ended": lambda ws: end_session(ws, NOW, context="x"),
    "document without the work that is done": lambda ws: (
        _write_without_work(ws), _assert_archived(ws, Key("open_loop", "OL-1"), Key("follow_up", "FU-1")),
    ),
}  # fmt: skip
"""What an agent does with records of a person every day."""


def _write_without_work(ws: Workspace) -> None:
    data = read_document(ws).baton
    assert data is not None
    made = write_document(ws, NOW, {**data, "session_id": "s1", "open_loops": [], "follow_ups": []})
    assert made.held == ()


def _assert_archived(ws: Workspace, *keys: Key) -> None:
    for key in keys:
        assert (stored(ws, *key[:2]), bool(stored(ws, *key[:2], archived=True))) == (None, True)


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_an_agent_can_use_and_settle_what_a_person_confirmed(agent: Workspace, use: Road) -> None:
    use(agent)


def test_a_refusal_names_every_record_and_says_how_a_person_does_it(agent: Workspace) -> None:
    with pytest.raises(Protected, match="a person confirmed DEC-1, so only a person can remove it") as refused:
        rollback(agent, NOW, revision=str(int(number_of(agent, "DEC-1")) - 1))
    assert refused.value.data["records"] == ["DEC-1", "DEC-2"]
    assert "(and so for DEC-2)" in str(refused.value)
    assert "a terminal of their own" in refused.value.hint


def test_the_standing_decides_and_not_the_tier_that_a_record_declares(agent: Workspace) -> None:
    by_hand(agent, {"active_decisions/DEC-9.toml": _file(agent, "DEC-1").replace(b"DEC-1", b"DEC-9")})
    assert stored(agent, "active_decision", "DEC-9").source_tier == "human_confirmed"
    forget_record(agent, NOW, "DEC-9", reason="nobody vouches for it")
    put(replace(agent, confirmed=PERSON), Key("active_decision", "DEC-1"), source_tier="raw_source")
    with pytest.raises(Protected):
        forget_record(agent, NOW, "DEC-1", reason="its tier is low")


def _file(ws: Workspace, id_: str) -> bytes:
    return files(ws)[f"active_decisions/{id_}.toml"]


def test_a_repair_of_a_file_keeps_the_confirmation_and_only_a_person_takes_it_back(agent: Workspace) -> None:
    good, path = _file(agent, "DEC-1"), "active_decisions/DEC-1.toml"
    by_hand(agent, {path: b"what = ["})
    examination = Examination(NOW, agent.branch.store, agent.branch.prefix, agent)
    (repair,) = [finding.repair for finding in check_records(examination) if finding.repair]
    repair.run()
    assert _file(agent, "DEC-1") == good
    with pytest.raises(Protected):
        forget_record(agent, NOW, "DEC-1", reason="r")
    revision = str(agent.branch.read().number)
    with pytest.raises(Protected):
        undo(agent, NOW, revision=revision)
    undo(as_person(agent), NOW, revision=revision)
    assert _file(agent, "DEC-1") == b"what = ["


def test_writers_of_one_batch_are_judged_one_by_one(agent: Workspace) -> None:
    forget = forget_record(as_person(agent), NOW, "DEC-2", reason="r")
    assert forget.changes
    add_decision(as_person(agent), NOW, what="New", why="w", id="DEC-3")
    with pytest.raises(Protected):
        drop(agent, Key("active_decision", "DEC-3"))


def test_a_stamp_without_a_caller_cannot_be_made(agent: Workspace) -> None:
    """`update` and `advance` take nothing but a stamp, so a verb cannot go round the guard."""
    with pytest.raises(TypeError, match="caller"):
        agent.stamp("x", NOW).__class__("x", NOW, "Ada <a@b>")  # type: ignore[call-arg]


class Attempt(NamedTuple):
    """A call of a verb: its name and the fields of its input."""

    verb: str
    fields: dict[str, Any]


NAMING = ("id", "into", "by", "loop", "decision", "pattern", "record", "replaces", "what")
"""Fields that name records. Each takes the id of every confirmed record."""


def _list_attempts(name: str) -> Iterator[Attempt]:
    """Yield calls of a verb with each confirmed record, and with the examples of its other fields."""
    model = all_verbs()[name].input_model
    values = {field: info.examples[0] for field, info in model.model_fields.items() if info.examples}
    values |= {"yes": True} if "yes" in model.model_fields else {}
    required = {field: values.get(field, "x") for field, info in model.model_fields.items() if info.is_required()}
    for key in KEYS:
        for base in (required, values):
            ids = {field: key.id for field in NAMING if field in model.model_fields and field in base}
            lists = {field: [key.id] for field in ("ids", "accept", "reject") if field in model.model_fields}
            kind = {"kind": key.kind} if "kind" in model.model_fields else {}
            yield Attempt(name, {**base, **ids, **lists, **kind})


WRITING = sorted(name for name, verb in all_verbs().items() if verb.effect != READS and not verb.standalone)


@pytest.mark.parametrize("name", WRITING)
def test_no_verb_that_writes_takes_away_what_a_person_confirmed(agent: Workspace, name: str) -> None:
    """Every verb of the table is called with every confirmed record, so a new one is, too."""
    before = {key: text for key, (text, _) in confirmed_texts(agent).items()}
    for attempt in _list_attempts(name):
        with suppress(BatonError):
            function = next(each for each in functions().values() if each.verb.name == attempt.verb)
            function(replace(agent, actor=replace(agent.actor, session="s1")), NOW, **attempt.fields)
    tip = agent.branch.read()
    for key, text in before.items():
        entry = tip.state.entry(key) or tip.state.entry(key._replace(archived=True))
        is_work = key.kind in ("open_loop", "follow_up")
        assert is_work or not isinstance(entry, Archived), key
        data = entry.record if isinstance(entry, Archived) else entry.as_data()
        names = {"what", "why", "item", "action", "expected_outcome", "text"} & text.keys()
        assert {field: data[field] for field in names} == {field: text[field] for field in names}


def test_only_the_branch_moves_a_namespace() -> None:
    """No other module of the package publishes commits to the branch of a namespace."""
    package = Path(__file__).parents[2] / "baton_git"
    publishing = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if any(call in path.read_text() for call in (".publish(", ".publish_together("))
    }
    private = {"namespace/sync/tracking_refs.py", "namespace/sync/lanes.py"}  # they move refs of their own
    assert publishing == {"namespace/branch.py", *private}
