"""Scenarios of calls of verbs: every interface gives the same whole results, or one that `DIFFERENCES` declares."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from verb_drivers import DRIVERS, Answer, Driver

from baton_git.core.names import Namespace
from baton_git.core.verb import Verb
from baton_git.interfaces.context.invocation import Call
from baton_git.verbs.doctor.doctor import CHECKS, ORDER
from baton_git.verbs.sessions.verb_hints import describe_verbs
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

HANDED = "a run is handed over to other clients through its copy"
TOLD = "a session that no hook has saved is told"

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
    HANDED: [
        step("handover step", session="run-1", challenge="find", uri="kairos://1", index=1),
        step("handover resume", {"SESSION_ID": "run-1", "file_problem": None}),
        step("handover show", {"SESSION_ID": "run-1", "file_problem": None}, session="run-1"),
        step("handover step", session="run-2", challenge="find", uri="kairos://1", index=1),
        step("handover resume", session="run-1"),
        step("handover clear", {"SESSION_ID": "run-2", "file_removed": True}, session="run-2", outcome="completed"),
    ],
    TOLD: [
        step("recall", {"missing": [], "unread_sessions": ""}, question="zeppelin cache eviction"),
        step("mine", {"known": 0}, dry_run=True),
        Step("handoff extract", {"keep": True}, {"kept": {"id": "claude/s1", "changed": True}}),
        step("handoff show", {"handoff": {"id": "claude/s1"}}),
        step("session list", {"sessions": [{"target": "claude-jsonl:11111111-2222-4333-8444-555555555555"}]}),
        step("session inspect", target="claude-jsonl:latest"),
        step("mine", {"problems": []}),
    ],
    "an agent of PAIF's settings is checkpointed, restored and checked": [
        step("identity init", purpose="Keep the memory"),
        step("checkpoint", summary="Isolated it"),
        step("restore", {"agent": "zero"}),
        step("sessions", {"agent": "zero"}),
        step("identity show", {"agent": "zero"}),
        step("identity check", {"agent": "zero", "drift": True}, text="How can I help you today?"),
    ],
    "a list of todos is set, started and cancelled": [
        step("boot", {"session": SESSION}),
        step("todo set", items=["Write it", "Send it"]),
        step("todo start", which="Write"),
        step("todo cancel", which="Write"),
        step("todo list", all=True),
    ],
    "records are merged, anchored and listed": [
        step("followup add", keep="a", item="Refactor the parser"),
        step("followup add", keep="b", item="Clean up the lexer"),
        step("followup merge", id="{b}", into="{a}"),
        step("pattern record", keep="p", what="Assumed it"),
        step("pattern record", keep="q", what="Guessed about the clock"),
        step("pattern anchor", id="{p}", about=["readme"]),
        step("pattern merge", id="{q}", into="{p}"),
        step("decision add", keep="d", what="Use X", why="fast"),
        step("decision add", keep="e", what="Prefer the second way", why="slow"),
        step("decision anchor", id="{d}", about=["readme"]),
        step("decision merge", id="{e}", into="{d}"),
        step("list", kind="decision"),
    ],
    "a namespace is renamed and deleted": [
        step("namespace rename", name="{namespace}", new_name="other", dry_run=True),
        step("namespace delete", {"dry_run": True}, name="{namespace}", dry_run=True),
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


@dataclass(frozen=True)
class Difference:
    """Why an interface gives other data than the library, and how to get them from the library's."""

    reason: str
    change: Callable[[Any], Any]


CHECKED_OVER_HTTP = frozenset(check.name for check in CHECKS if check.needs in ("repository", "namespace"))

DIFFERENCES: Mapping[tuple[str, str], Difference] = {
    ("command", "session inspect"): Difference(
        "other programs read the snapshot in ECC's own form, which ECC's inspector prints", itemgetter("snapshot")
    ),
    ("mcp", "boot"): Difference(
        "the brief names the tools that the model has, not commands",
        lambda data: data | {"brief": _name_tools(data["brief"])},
    ),
    ("http", "doctor"): Difference(
        "the client may be on another machine, so it gets the checks of the repository and the namespace only",
        lambda data: _diagnose([finding for finding in data["findings"] if finding["check"] in CHECKED_OVER_HTTP]),
    ),
}
"""The only data that an interface may give differently, besides the `verbose` fields of a result, which a language
model does not get. An entry whose difference is gone fails."""

ABSENT: Mapping[str, Mapping[str, str]] = {
    "http": {
        "the caller's own files are read or written": "import session-baton, import paif, import kairos, import ecc, "
        "export session-baton, export paif, export kairos, export ecc, handoff extract",
        "the transcripts and processes of the caller's machine are not the server's": "mine, session list, "
        "session inspect, session adapters, session stop",
        "PAIF and session-baton have routes of their own": "checkpoint, restore, identity init, identity show, "
        "identity check, write",
        "only a person can do it, who is asked at a terminal or on the page": "decision confirm, pattern graduate",
        "it concerns the disk of the server": "gc",
    },
    "mcp": {
        "every request to a model contains every tool, so only what an agent needs at work is one": "init, list, "
        "record, edit, forget, reopen, validate, schema, show, followup merge, pattern anchor, pattern merge, "
        "decision anchor, decision merge, sessions, handoff list, session record, session snapshots, session history, "
        "session show, session lineage, handover list, handover show, todo set, todo start, todo cancel, outgoing",
        "it changes much at once, or what others see, so a person calls it": "namespace list, namespace rename, "
        "namespace delete, namespace move, namespace restore, namespace accept, rollback, undo, redo, review, "
        "review decide, remote list, remote policy, remote review, decision confirm",
        "it looks after this machine or moves files": "gc, doctor, mine, session list, session inspect, "
        "session adapters, session stop, identity init, identity show, identity check, import session-baton, "
        "import quarantine, import discard, import paif, import kairos, import ecc, export session-baton, "
        "export paif, export kairos, export ecc",
    },
}
"""By interface, the verbs that it lacks, by reason. The library makes these calls in the scenarios."""

NOT_CALLED: Mapping[str, str] = {
    "needs a remote": "sync, review, review decide, remote policy, remote review, namespace accept",
    "reads or writes files that the test of the verb has": "import session-baton, import paif, import kairos, "
    "import ecc, export session-baton, export paif, export kairos, export ecc",
    "needs a conflict, a deleted branch, an invalid row or a process": "resolve, namespace restore, import discard, "
    "session stop",
    "changes the whole repository": "gc, namespace move",
}
"""The verbs that no scenario calls, by reason."""


def names(table: Mapping[str, str]) -> list[str]:
    """Return the names of verbs in a table with texts such as `log, show`."""
    return [name for text in table.values() for name in text.split(", ")]


def _diagnose(findings: list[dict[str, Any]]) -> dict[str, Any]:
    severities = {finding["severity"] for finding in findings}
    return {"verdict": next((one for one in ORDER if one in severities), "ok"), "findings": findings}


def _name_tools(brief: str) -> str:
    return brief.replace(describe_verbs(), describe_verbs(as_tools=True))


def make_repository(folder: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(folder)], check=True, env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull})
    (folder / "readme").write_text("hello\n")
    return folder


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function that returns an interface's repository; each scenario has a separate namespace in it."""
    folder = tmp_path_factory.mktemp("lives")
    numbers = itertools.count(10)  # names of the same length, because facts have their place in a transcript
    return cache(lambda name: make_repository(folder / str(next(numbers))))


TRANSCRIPT_TURNS = (("user", "tune the zeppelin cache eviction"), ("assistant", "It is 90 seconds now."))


def prepare(place: Path) -> None:
    """Add what verbs ask this machine for: a transcript, the copy of a run, the settings of PAIF."""
    subprocess.run(["git", "-C", str(place), "config", "baton.handoverFile", "run.txt"], check=True)
    (place / ".claude").mkdir(exist_ok=True)
    (place / ".claude" / "CLAUDE.md").write_text("paif_config:\n  agent_id: zero\n")
    session = "11111111-2222-4333-8444-555555555555"
    about = {"sessionId": session, "cwd": str(place), "version": "2.0.0", "isSidechain": False, "userType": "external"}
    lines, parent = [], None
    for number, (kind, text) in enumerate(TRANSCRIPT_TURNS):
        content = text if kind == "user" else [{"type": "text", "text": text}]
        line = {
            "type": kind,
            "uuid": f"u{number}",
            "parentUuid": parent,
            "timestamp": f"2026-11-20T10:00:0{number}.000Z",
        }
        lines.append({**about, **line, "message": {"role": kind, "content": content, "model": "m"}})
        parent = f"u{number}"
    path = Path(os.environ["HOME"]) / ".claude" / "projects" / "-x" / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    os.utime(path, (1_795_000_000, 1_795_000_000))  # long ago, so that no agent is writing it


CHANGING = re.compile(
    r"\b[0-9a-f]{40}\b|\b(?:[A-Z]{1,4}|ctx|wt)-[0-9a-z]{6}\b|\b\d{4}-\d\d-\d\dt[\d.-]+z-(?:[0-9a-f-]{36}|s1)"
    r"|\b[0-9a-f]{8}-[0-9a-f-]{27}\b|\b\d{4}-\d\d-\d\d-(?!\d\d[T-])[0-9a-z]{4,8}\b"
)
"""The ids of commits, records, sessions and frames, which differ between two runs."""
TIME = re.compile(r"\d{4}-\d\d-\d\d[T ][\d:.]+(?:Z|[+-]\d\d:\d\d)?")
MEASURED = ("duration_ms", "age_seconds")


def without_chance(data: Any, known: Mapping[str, str]) -> Any:
    """Return data without what differs between two runs: measured times are 0, ids and times are numbered.

    Args:
        known: texts that are replaced by a name, such as the ids that the scenario keeps.
    """
    text = TIME.sub("TIME", json.dumps(data, default=str))
    for value, name in known.items():
        text = text.replace(value, name)
    numbers: dict[str, str] = {}
    ordered = json.dumps(_sort(json.loads(text)), sort_keys=True)
    return json.loads(CHANGING.sub(lambda match: numbers.setdefault(match[0], f"#{len(numbers)}"), ordered))


def _sort(data: Any) -> Any:
    """Return data whose records are in an order that does not depend on their ids, and without measured times."""
    if isinstance(data, dict):
        whole = {name: 0 if name in MEASURED and value is not None else _sort(value) for name, value in data.items()}
        is_sentence = isinstance(whole.get("summary"), str)
        return {**whole, "summary": sorted(whole["summary"].split("; "))} if is_sentence else whole
    if not isinstance(data, list):
        return data
    items = [_sort(item) for item in data if not _is_chance(item)]
    has_ids = all(isinstance(item, dict) and "id" in item for item in items)
    return sorted(items, key=lambda item: CHANGING.sub("", json.dumps(item, sort_keys=True))) if has_ids else items


def _is_chance(change: Any) -> bool:
    """Return whether this is a changed field whose value is measured, or a time, which may be the same as before."""
    if not isinstance(change, dict) or "field" not in change:
        return False
    return (change.get("before"), change.get("after")) == ("TIME", "TIME") or change["field"].endswith(MEASURED)


def expect_data(interface: str, verb: Verb[Any, Any], data: Any) -> Any:
    """Return the data that an interface should give, from those of the library."""
    if interface == "mcp" and data is not None:
        data = {name: value for name, value in data.items() if name not in verb.result_model.verbose}
    difference = DIFFERENCES.get((interface, verb.name))
    return data if difference is None or data is None else difference.change(data)


@pytest.mark.parametrize("life", LIVES)
def test_a_sequence_of_verbs_has_the_same_results_in_every_interface(baton, places, monkeypatch, life):
    whole: list[Answered] = []
    for interface in ("library", *(name for name in DRIVERS if name != "library")):
        place = places(f"{interface}-{life}" if life in (HANDED, TOLD) else interface)
        prepare(place)
        monkeypatch.chdir(place)
        asked = record_use_of_the_machine(monkeypatch)
        answers = live(baton, interface, place, f"{interface} {list(LIVES).index(life)}", LIVES[life], asked)
        whole = whole or answers
        for number, (told, expected) in enumerate(zip(answers, whole, strict=True), 1):
            if told.is_by_interface:
                data = expect_data(interface, told.verb, expected.data)
                same = without_chance(data, expected.known)
                assert without_chance(told.data, told.known) == same, f"{interface}, step {number}: {told.verb.name}"


def record_use_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return a list that gets an entry whenever an interface supplies the machine to a verb."""
    asked: list[Any] = []
    monkeypatch.setattr(Call, "find_machine", lambda call, find=Call.find_machine: asked.append(call) or find(call))
    return asked


class Answered(NamedTuple):
    """The answer of a step, and the names of the texts in it that differ between interfaces.

    Attributes:
        is_by_interface: whether the interface has the verb; else the library was called.
    """

    verb: Verb[Any, Any]
    data: Any
    known: Mapping[str, str]
    is_by_interface: bool


def live(
    baton: Any, interface: str, place: Path, namespace: str, life: Sequence[Step], asked: list[Any]
) -> list[Answered]:
    """Run a scenario through one interface, and check that each step has its expected outcome.

    Args:
        asked: gets an entry whenever a verb asks for the machine.
    """
    options, kept = (place, namespace, SESSION, baton), dict[str, str]()
    known = {str(place): "PLACE", Namespace(namespace).component: "NAMESPACE", namespace: "NAMESPACE"}
    library, answers = Driver(*options), list[Answered]()
    if life is not LIVES[NOWHERE]:
        library.call(all_verbs()["init"], {})
    with DRIVERS[interface](*options) as driver:
        for number, taken in enumerate(life, 1):
            verb, fields = all_verbs()[taken.verb], fill(taken.fields, {**kept, "namespace": namespace})
            has_verb = driver.has(verb, fields)
            asked.clear()
            answer = (driver if has_verb else library).call(verb, fields)
            # the command `init` also offers to import sessions
            assert verb.machine or not asked or interface == "command", f"{verb.name}: declare machine=True"
            check_answer(answer, taken, kept, f"{interface}, step {number}, {taken.verb}")
            if taken.keep:
                kept[taken.keep] = answer.data["id"]
            names = {id_: f"{{{name}}}" for name, id_ in kept.items()}
            answers.append(Answered(verb, answer.data, {**known, **names}, has_verb))
    return answers


READ_FIELDS: Mapping[str, dict[str, Any]] = {
    "record": {"kind": "follow_up", "id": "FU-a"}, "diff": {"a": "1"}, "recall": {"question": "Refactor"},
    "session show": {"id": "baton/s1"}, "session history": {"id": "baton/s1"}, "log": {"limit": 10},
    "session inspect": {"target": "baton:s1"}, "handover show": {"session": "run-1"},
}  # fmt: skip
"""The required fields of the verbs that read."""

FILLED = [
    step("boot"),
    step("loop add", action="Sent it", expect="it is there", verify={**FILE, "path": "readme"}),
    step("followup add", item="Refactor", id="FU-a"),
    step("pattern record", what="Assumed it"),
    step("decision add", what="Use X", why="fast"),
    step("handover step", session="run-1", challenge="find", uri="kairos://1", index=1),
    step("identity init", purpose="Keep the memory"),
    step("checkpoint", summary="Isolated it"),
    step("todo add", text="Write it"),
    Step("handoff extract", {"keep": True}),
]


def test_what_is_read_is_the_same_in_every_interface(baton, places, monkeypatch):
    place, namespace = places("reads"), "reads"
    prepare(place)
    monkeypatch.chdir(place)
    live(baton, "library", place, namespace, FILLED, record_use_of_the_machine(monkeypatch))
    library, verbs = Driver(place, namespace, SESSION, baton), all_verbs()
    snapshot = library.call(verbs["session inspect"], READ_FIELDS["session inspect"]).data["snapshot"]
    library.call(verbs["session record"], {"snapshot": snapshot})
    library.call(verbs["recall"], READ_FIELDS["recall"])  # makes the index, which doctor looks at
    reading = [verb for verb in verbs.values() if verb.effect == "reads" and verb.name not in names(NOT_CALLED)]
    whole = {verb.name: library.call(verb, dict(READ_FIELDS.get(verb.name, {}))) for verb in reading}
    assert not {name: answer.words for name, answer in whole.items() if answer.data is None}
    for interface in ("command", "http", "mcp"):
        with DRIVERS[interface](place, namespace, SESSION, baton) as driver:
            for verb in reading:
                fields = dict(READ_FIELDS.get(verb.name, {}))
                if driver.has(verb, fields):
                    data = json.loads(json.dumps(whole[verb.name].data, default=str))
                    expected = expect_data(interface, verb, data)
                    told = driver.call(verb, fields).data
                    assert without_chance(told, {}) == without_chance(expected, {}), f"{interface}: {verb.name}"
                    if (interface, verb.name) in DIFFERENCES:
                        assert expected != data, f"{interface}: remove the declared difference of {verb.name}"


def test_the_verbs_that_an_interface_lacks_are_declared():
    lacking = {
        "http": {verb.name for verb in all_verbs().values() if not verb.path},
        "mcp": {verb.name for verb in all_verbs().values() if verb.tool is None},
    }
    assert {interface: sorted(names(table)) for interface, table in ABSENT.items()} == {
        interface: sorted(verbs) for interface, verbs in lacking.items()
    }


def test_every_verb_is_called():
    called = {taken.verb for life in (*LIVES.values(), FILLED) for taken in life}
    called |= {verb.name for verb in all_verbs().values() if verb.effect == "reads"} - set(names(NOT_CALLED))
    assert {*all_verbs()} - called - {"session record"} == set(names(NOT_CALLED))


def check_answer(answer: Answer, taken: Step, names: Mapping[str, str], place: str) -> None:
    if taken.error is None:
        assert answer.data is not None, f"{place}: {answer}"
        assert_holds(answer.data, fill(taken.result, names) or {}, place)
    else:
        code, words = taken.error
        assert answer.data is None, f"{place}: {answer}"
        assert words in answer.words, f"{place}: {answer}"
        assert not answer.error or answer.error == code, f"{place}: {answer}"
