"""Scenarios of calls of verbs, each run through every interface with the same expected results."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from verb_drivers import DRIVERS, Answer, Driver

from baton_git.verbs.table import all_verbs


@dataclass(frozen=True)
class Step:
    """A call of `verb` with its expected outcome. `error` is an error code and a part of its message. The returned id
    is stored under the name `keep`."""

    verb: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    result: Any = None
    error: tuple[str, str] | None = None
    keep: str = ""


def step(
    verb: str, result: Any = None, /, *, error: tuple[str, str] | None = None, keep: str = "", **fields: Any
) -> Step:
    return Step(verb, fields, result, error, keep)


def document(**lists: Any) -> Step:
    """Return a step that reads the state, with the expected records of its lists."""
    return step("read", {"baton": lists})


FILE = {"method": "file_exists"}
SESSION = "s1"

NOWHERE = "a missing namespace is not created by accident"

LIVES: dict[str, list[Step]] = {
    "a loop is verified by its check, settled by an observation, and closed": [
        step("loop add", {"revision": 1}, keep="loop",
             action="Sent it", expect="it is there", verify={**FILE, "path": "readme"}, ttl_days=3),
        step("loop add", keep="other", action="Sent more", expect="as well", verify={**FILE, "path": "nope"}),
        step("verify", {"checks": {"{loop}": {"result": "passed"}, "{other}": {"result": "failed"}}}),
        step("verify", {"checks": {"{loop}": {"result": "passed"}}}, ids=["{loop}"]),
        step("loop verify", {"checks": {"{other}": {"result": "failed"}}}, id="{other}"),
        step("loop verify", {"checks": {"{other}": {"result": "failed", "why": "no answer"}}},
             id="{other}", result="failed", note="no answer"),
        step("loop verify", error=("invalid_argument", "note needs"), id="{other}", note="hm"),
        step("loop close", {"id": "{other}"}, id="{other}", reason="given up"),
        document(open_loops=[{"id": "{loop}", "status": "verified", "ttl_days": 3, "expected_outcome": "it is there"}]),
    ],
    "a follow-up is deferred, rises in priority, and is done": [
        step("followup add", keep="later", item="Refactor", reason="release first", priority="normal"),
        step("followup add", keep="other", item="And again"),
        *[step("followup defer", {"id": "{later}"}, id="{later}", reason="no time") for _ in range(3)],
        step("followup done", {"id": "{other}"}, id="{other}", note="in 4f2a"),
        document(follow_ups=[{"id": "{later}", "defer_count": 3, "priority": "elevated", "reason": "no time"}]),
        step("followup defer", error=("not_found", "there is no"), id="{other}"),
    ],
    "a record is edited, forgotten and brought back": [
        step("followup add", keep="later", item="Later"),
        step("edit", {"id": "{later}"}, kind="follow_up", id="{later}", fields={"priority": "elevated"}),
        step("edit", error=("invalid_argument", "priority"), kind="follow_up", id="{later}", fields={"priority": "x"}),
        step("ready", {"items": [{"need": "follow_up", "id": "{later}"}]}),
        step("forget", {"dry_run": True}, kind="follow_up", id="{later}", reason="a mistake", dry_run=True),
        step("forget", {"id": "{later}"}, kind="followups", id="{later}", reason="a mistake"),
        step("record", {"archived": True, "closed": {"reason": "a mistake"}}, kind="follow-up", id="{later}"),
        step("edit", error=("not_allowed", "in the archive"), kind="follow_up", id="{later}", fields={"item": "x"}),
        step("reopen", {"id": "{later}"}, kind="follow_up", id="{later}"),
        step("list", {"records": [{"id": "{later}", "status": "elevated"}]}, kind="followup", sort="urgent"),
    ],
    "a pattern is counted, proposed and dismissed": [
        step("pattern record", keep="pattern", what="Assumed it", context="here"),
        step("pattern record", {"id": "{pattern}"}, what="assumed  IT", context="there"),
        step("pattern propose", {"id": "{pattern}"}, id="{pattern}", rule="Look first"),
        document(patterns=[{"count": 2, "status": "rule_candidate", "proposed_rule": "Look first",
                            "recent_occurrences": [{"context": "here"}, {"context": "there"}]}]),
        step("pattern dismiss", {"id": "{pattern}"}, id="{pattern}"),
        document(patterns=[{"status": "dismissed"}]),
        step("pattern dismiss", error=("not_found", "there is no pattern 'PAT-none'"), id="PAT-none"),
    ],
    "a decision is monitored and superseded, and one that a model derived is proposed": [
        step("decision add", keep="old", what="Use X", why="fast", tier="raw_source"),
        step("decision add", keep="new", what="Use Y", why="faster", evidence=["measured", "twice"], rejected=["Z"]),
        step("decision monitor", {"id": "{new}"}, id="{new}"),
        step("decision supersede", {"id": "{old}"}, id="{old}", by="{new}"),
        step("decision add", keep="third", what="Use Z", why="fastest"),
        step("decision supersede", {"id": "{new}", "proposed": "{third}"}, id="{new}", by="{third}"),
        step("decision supersede", error=("not_found", "there is no decision 'a'"), id="a", by="b"),
        document(active_decisions=[
            {"id": "{old}", "status": "superseded", "superseded_by": "{new}", "source_tier": "raw_source"},
            {"id": "{new}", "status": "monitoring", "source_tier": "llm_derived",
             "evidence": ["measured", "twice"], "rejected": ["Z"]},
            {"id": "{third}", "status": "active", "replaces": "{new}"},
        ]),
        step("decision confirm", error=("needs_human", ""), ids=["{third}"]),
    ],
    "a confirmation needs a person": [
        step("decision add", error=("needs_human", ""), what="x", why="y", tier="human_confirmed"),
        step("pattern record", keep="pattern", what="Assumed it"),
        step("pattern propose", id="{pattern}", rule="Look first"),
        step("pattern graduate", error=("needs_human", "only when a person confirms it"), id="{pattern}"),
    ],
    "empty and invalid arguments are rejected": [
        step("loop add", error=("invalid_argument", "the action is empty"), action=" ", expect="x"),
        step("decision add", error=("invalid_argument", "is empty"), what="a", why=""),
        step("loop verify", error=("not_found", "there is no open loop 'OL-nope'"), id="OL-nope", result="passed"),
        step("followup add", error=("invalid_argument", "priority"), item="x", priority="huge"),
        step("diff", error=("not_found", "there is no revision"), a="99"),
        step("status", {"revision": 0}),
    ],
    NOWHERE: [
        step("status", error=("not_found", "there is no namespace")),
        step("log", error=("not_found", "there is no namespace")),
        step("recall", error=("not_found", "there is no namespace"), question="what was decided"),
        step("boot", error=("not_found", "there is no namespace")),
        step("followup add", error=("not_found", "there is no namespace"), item="Later"),
        step("followup done", error=("not_found", "there is no namespace"), id="FU-1"),
        step("namespace rename", error=("not_found", "there is no namespace"), name="nobody", new_name="somebody"),
        step("namespace delete", error=("not_found", "there is no namespace"), name="nobody", dry_run=True),
        step("init", {"created": True}),
        step("followup add", item="Later"),
    ],
    "a document is read, changed and written; an outdated one is rejected": [
        step("followup add", item="Later"),
        step("read", {"revision": 1, "baton": {"follow_ups": [{"item": "Later"}]}}),
        step("write", {"ok": True, "revision": 2}, expected_revision=1,
             baton={"session_id": "s2", "context": "rewritten", "follow_ups": []}),
        document(context="rewritten", follow_ups=[]),
        step("read", {"baton": {"follow_ups": [{"item": "Later"}]}}, at="1"),
        step("write", error=("revision_conflict", "expected revision 0"),
             baton={"session_id": "s"}, expected_revision=0),
    ],
    "revisions are compared, rolled back, undone and redone": [
        step("loop add", {"revision": 1}, action="Sent it", expect="it is there"),
        step("status", {"revision": 1}),
        step("doctor", {"verdict": "ok", "findings": [{"check": "records", "severity": "ok"}]}, checks=["records"]),
        step("doctor", error=("not_found", "there is no check 'nope'"), checks=["nope"]),
        step("followup add", {"revision": 2}, keep="later", item="Later"),
        step("status", {"revision": 2, "follow_ups": {"normal": 1}}),
        step("diff", {"before": {"revision": 1}, "after": {"revision": 2}, "changes": [{"id": "{later}"}]}, a="1"),
        step("diff", {"changes": []}, a="1", b="1"),
        step("rollback", {"changes": [{"id": "{later}"}]}, revision="1"),
        document(follow_ups=[]),
        step("undo", {"dry_run": True, "changes": [{"id": "{later}", "action": "added"}]}, dry_run=True),
        document(follow_ups=[]),
        step("undo", {"changes": [{"id": "{later}", "action": "added"}]}),
        document(follow_ups=[{"id": "{later}"}]),
        step("redo", {"changes": [{"id": "{later}", "action": "removed"}]}),
        document(follow_ups=[]),
        step("redo", error=("not_allowed", "nothing is left to redo")),
    ],
    "a session keeps its list of todos": [
        step("boot", {"session": SESSION}),
        step("todo add", text="Write it"),
        step("todo add", text="Send it", started=True),
        step("todo add", error=("invalid_argument", "already"), text="Send it"),
        step("todo done", {"todos": [{"number": 1, "content": "Write it", "status": "completed"},
                                     {"number": 2, "content": "Send it", "status": "in_progress"}]}, which="Write"),
        step("wrap", {"session": SESSION}, context="It runs", summary="tried it"),
        document(context="It runs"),
        step("wrap", error=("revision_conflict", "expected revision 99"), context="x", expected_revision=99),
    ],
    "a checkpoint is saved and restored": [
        step("checkpoint", agent="zero", summary="Isolated it", pending=["test it"]),
        step("restore", {"checkpoint": {"context": {"conversation_summary": "Isolated it"}}},
             agent="zero"),
        step("restore", error=("not_found", "there is no agent 'nobody'"), agent="nobody"),
    ],
    "a run is handed over": [
        step("handover step", session="run-1", challenge="find", uri="kairos://1", index=1, state={"people": "Ada"}),
        step("handover step", {"step_index": 2, "state": {}},
             session="run-1", challenge="book", uri="kairos://2", came_from="find", unset=["people"]),
        step("handover step", error=("step_conflict", "another"),
             session="run-1", challenge="x", uri="kairos://3", came_from="another"),
        step("handover resume", {"SESSION_ID": "run-1", "current_challenge": "book", "stale": False}, session="run-1"),
        step("handover clear", {"SESSION_ID": "run-1"}, session="run-1", outcome="abandoned"),
        step("handover resume", error=("ended", "was abandoned"), session="run-1"),
    ],
    "a secret in a record or a session is redacted and reported": [
        step("loop add", {"redactions": [{"path": "action"}]}, action="key AKIAIOSFODNN7EXAMPLQ in use", expect="x"),
        step("boot"),
        step("wrap", {"redactions": [{"path": "context"}]}, context="key AKIAIOSFODNN7EXAMPLQ"),
    ],
}  # fmt: skip


def fill(value: Any, names: Mapping[str, str]) -> Any:
    """Replace the names of stored ids in a value by the ids."""
    if isinstance(value, Mapping):
        return {fill(name, names): fill(item, names) for name, item in value.items()}
    if isinstance(value, list):
        return [fill(item, names) for item in value]
    return names.get(value[1:-1], value) if isinstance(value, str) and value.startswith("{") else value


def assert_holds(found: Any, expected: Any, at: str) -> None:
    """Check that the expected values are present; tables may have more keys, lists no more items."""
    if isinstance(expected, Mapping):
        for name, value in expected.items():
            assert name in found, f"{at} lacks {name}: {found}"
            assert_holds(found[name], value, f"{at}.{name}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), f"{at}: {found}"
        if all(isinstance(value, Mapping) and "id" in value for value in expected):
            found, expected = ({item["id"]: item for item in items} for items in (found, expected))
            assert_holds(found, expected, at)
            return
        for number, (item, value) in enumerate(zip(found, expected, strict=True)):
            assert_holds(item, value, f"{at}[{number}]")
    else:
        assert found == expected, at


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a repository for all scenarios; each scenario has a separate namespace."""
    folder = tmp_path_factory.mktemp("lives")
    subprocess.run(["git", "init", "-q", str(folder)], check=True, env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull})
    (folder / "readme").write_text("hello\n")
    return folder


@pytest.mark.parametrize("interface", DRIVERS)
@pytest.mark.parametrize("life", LIVES)
def test_a_sequence_of_verbs_has_the_same_results_in_every_interface(baton, place, monkeypatch, interface, life):
    monkeypatch.chdir(place)
    options = (place, f"{interface} {list(LIVES).index(life)}", SESSION if "session" in life else None, baton)
    library, names = Driver(*options), dict[str, str]()
    if life != NOWHERE:
        library.call(all_verbs()["init"], {})
    with DRIVERS[interface](*options) as driver:
        for number, taken in enumerate(LIVES[life], 1):
            verb, fields = all_verbs()[taken.verb], fill(taken.fields, names)
            answer = (driver if driver.has(verb, fields) else library).call(verb, fields)
            check_answer(answer, taken, names, f"step {number}, {taken.verb}")
            if taken.keep:
                names[taken.keep] = answer.data["id"]


def check_answer(answer: Answer, taken: Step, names: Mapping[str, str], place: str) -> None:
    if taken.error is None:
        assert answer.data is not None, f"{place}: {answer}"
        assert_holds(answer.data, fill(taken.result, names) or {}, place)
    else:
        code, words = taken.error
        assert answer.data is None, f"{place}: {answer}"
        assert words in answer.words, f"{place}: {answer}"
        assert not answer.error or answer.error == code, f"{place}: {answer}"
