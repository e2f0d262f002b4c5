"""The choice of the adapter for a target, third-party adapters, and errors that name the adapter."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from looped_cases import for_each
from session_snapshots import a_recording, a_snapshot, aged, around, look, put, see

from baton_git.core.errors import InvalidArgument, InvalidDocument, LimitExceeded, NotFound, StoreError
from baton_git.core.records.lineage import Session
from baton_git.core.state import State
from baton_git.systems.ecc.adapters.adapter import Listed
from baton_git.systems.ecc.adapters.all_adapters import (
    ADAPTERS,
    BrokenAdapter,
    check_snapshot,
    find_adapter,
    list_adapters,
    list_sessions,
)
from baton_git.systems.ecc.record import CanonicalSession

Install = Callable[..., None]

GOOD = """
from session_snapshots import a_snapshot

ID = "{0}"
DESCRIPTION = "Rovers on Mars"
TARGET_TYPES = ("rover",)


def can_open(target, around):
    return target.value.startswith("mars:")


def open_session(target, around):
    return a_snapshot(adapter=ID, id_=target.value.removeprefix("mars:"))


def sessions(around):
    from baton_git.systems.ecc.adapters.adapter import Listed

    yield Listed("mars:sol-2", "sol-2", "Second", "2026-11-21T07:30:00Z")
    yield Listed("mars:sol-1", "sol-1", "First", "2026-11-20T07:30:00Z")
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Install a tiny distribution whose entry points are adapters, with pip's layout."""
    place = tmp_path / "site"
    place.mkdir()
    monkeypatch.syspath_prepend(str(place))

    def make(name: str, source: str, *, module: str = "", id_: str = "") -> None:
        module = module or f"third_party_{name.replace('-', '_')}"
        points = f"[baton_git.adapters]\n{id_ or name} = {module}\n"
        info = f"{name.replace('-', '_')}-1.0.dist-info"
        put(place, {f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"})
        put(place, {f"{info}/entry_points.txt": points, f"{module}.py": source.replace("{0}", id_ or name)})
        monkeypatch.delitem(sys.modules, module, raising=False)

    return make


def test_the_adapters_have_a_fixed_order():
    assert list(ADAPTERS) == ["claude-history", "dmux-tmux", "claude-jsonl", "codex-rollout", "gemini-chat", "baton"]
    assert [adapter.ID for adapter in ADAPTERS.values()] == list(ADAPTERS)


def test_unknown_targets_and_invalid_adapters_are_named(tmp_path):
    where = around(tmp_path)
    with pytest.raises(NotFound, match="No session adapter matched target: 'nothing'"):
        look(where, "nothing")
    with pytest.raises(InvalidArgument, match="Unknown session adapter: 'nobody'") as caught:
        look(where, "x", adapter="nobody")
    assert "claude-history, dmux-tmux" in caught.value.hint
    with pytest.raises(InvalidArgument, match="target is empty"):
        look(where, " ")


def test_the_target_type_selects_the_adapter(tmp_path):
    where = around(tmp_path)
    assert look(where, "demo", type_="session")["adapterId"] == "dmux-tmux"
    with pytest.raises(NotFound, match="Claude session"):
        look(where, "latest", type_="claude-history")
    with pytest.raises(InvalidArgument, match="Unknown type of target: 'unheard-of'") as caught:
        look(where, "demo", type_="unheard-of")
    assert "claude-history, claude-alias, session-file, plan" in caught.value.hint
    with pytest.raises(InvalidArgument, match="Unknown type of target: 'plan'"):
        look(where, "latest", type_="plan", adapter="claude-history")


@pytest.mark.parametrize("target", ["x" * 5000, "x" * 300 + ".tmp", "a/" * 3000 + "x.json", "x\0.jsonl", "-"])
def test_an_invalid_target_matches_no_adapter(tmp_path, target):
    with pytest.raises(NotFound, match="No session adapter matched target"):
        look(around(tmp_path), target)


def test_a_path_of_an_unsupported_type_is_reported(tmp_path):
    where = around(tmp_path)
    os.mkfifo(where.cwd / "pipe.jsonl")
    (where.cwd / "loop.tmp").symlink_to("loop.tmp")
    put(where.cwd, {
        "empty.jsonl": "", "notes.json": "{}", "folder/x": "", "snapshot.json": json.dumps(a_snapshot()),
        "recording.json": json.dumps(a_recording(a_snapshot())), "x.jsonl": "what is this?\n",
    })  # fmt: skip
    for target, error, said in (
        ("./x.tmp", NotFound, "there is no file 'x.tmp'"), ("nope.json", NotFound, "there is no file 'nope.json'"),
        ("folder", InvalidArgument, "folder is a folder, not a file"), ("/", InvalidArgument, "/ is a folder"),
        ("pipe.jsonl", InvalidArgument, "pipe.jsonl is a pipe or a device"), ("..", InvalidArgument, "is a folder"),
        ("loop.tmp", StoreError, "loop.tmp: Too many levels of symbolic links"),
        ("empty.jsonl", InvalidDocument, "empty.jsonl: is empty"),
        ("notes.json", InvalidDocument, "notes.json: is not a transcript of claude, codex or gemini"),
        ("x.jsonl", InvalidDocument, "x.jsonl: is not a transcript of claude, codex or gemini"),
        ("snapshot.json", InvalidArgument, r"snapshot.json is a snapshot \(ecc.session.v1\)"),
        ("recording.json", InvalidArgument, r"recording.json is a recording of ECC"),
    ):  # fmt: skip
        with pytest.raises(error, match=said):
            look(where, target)


# --- the results of an adapter


@for_each("data", [None, [], "x", 7, {}, {"schemaVersion": "ecc.session.v1"}])
def test_an_adapter_without_a_snapshot_is_named_in_the_error(data):
    with pytest.raises(InvalidDocument, match="the adapter dmux-tmux returned no canonical session snapshot"):
        check_snapshot("dmux-tmux", data)


def test_a_snapshot_must_be_plain_json_of_its_adapter(tmp_path):
    good = look(around(tmp_path), "x", type_="session")
    assert isinstance(check_snapshot("dmux-tmux", good).snapshot, CanonicalSession)
    nested: dict[str, object] = {}
    for _ in range(80):
        nested = {"x": nested}
    for value, error in ((Path("/"), InvalidDocument), (float("nan"), InvalidDocument), (nested, LimitExceeded),
                         ({1: 2}, InvalidDocument), ("\ud800", InvalidDocument), (b"x", InvalidDocument)):  # fmt: skip
        bad = {**good, "session": {**good["session"], "extra": value}}
        with pytest.raises(error):
            check_snapshot("dmux-tmux", bad)
    with pytest.raises(InvalidDocument, match="adapterId: is 'dmux-tmux'"):
        check_snapshot("other", good)


# --- third-party adapters


def test_adapters_are_loaded_from_installed_distributions(tmp_path, install):
    install("mars-rover", GOOD)
    where = around(tmp_path)
    assert look(where, "mars:sol-1")["adapterId"] == "mars-rover"
    assert look(where, "mars:sol-1", type_="rover") == look(where, "mars:sol-1", adapter="mars-rover")
    assert [one.ID for one in list_adapters() if not isinstance(one, BrokenAdapter)] == [*ADAPTERS, "mars-rover"]
    found, broken = list_sessions(where, "mars-rover")
    assert [one.listed.id for one in found] == ["sol-2", "sol-1"]
    assert broken == []


def test_the_example_for_authors_is_an_adapter(tmp_path, install):
    page = (Path(__file__).parents[4] / "docs/adapters.md").read_text()
    install("mars-rover", page.partition("```python\n")[2].partition("```")[0])
    where = around(tmp_path)
    found, broken = list_sessions(where, "mars-rover")
    assert [look(where, one.listed.target)["session"]["id"] for one in found] == ["sol-2", "sol-1"]
    assert broken == []
    for prefix in ("claude", "claude-history", "history", "claude-jsonl", "codex", "gemini", "baton", "recorded"):
        assert f"`{prefix}:X`" in page


def test_plugins_are_not_loaded_for_built_in_targets(tmp_path, install):
    install("broken", "raise AssertionError('loaded')")
    where = around(tmp_path)
    assert look(where, "x", type_="session")["adapterId"] == "dmux-tmux"
    assert "third_party_broken" not in sys.modules
    put(where.cwd, {".orchestration/demo/w/status.md": "- State: running\n"})
    assert look(where, "demo")["adapterId"] == "dmux-tmux"


def test_plugins_cannot_replace_built_in_adapters(tmp_path, install):
    install("impostor", GOOD, id_="dmux-tmux")
    assert find_adapter("dmux-tmux") is ADAPTERS["dmux-tmux"]
    assert len(list_adapters()) == len(ADAPTERS)


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("import nothing_of_the_kind", "ModuleNotFoundError"),
        ("1 / 0", "ZeroDivisionError"),
        ("def", "SyntaxError"),
        ("ID = 'broken'", "DESCRIPTION is missing"),
        ("ID, DESCRIPTION, TARGET_TYPES = 'broken', 'x', ()", "can_open is missing"),
        (GOOD.replace("{0}", "another"), "its ID is 'another'"),
        (GOOD.replace('("rover",)', '"rover"'), "TARGET_TYPES is missing"),
    ],
)
def test_an_unusable_adapter_is_reported_and_does_not_affect_others(tmp_path, install, source, why):
    install("broken", source)
    where = around(tmp_path)
    with pytest.raises(InvalidArgument, match="the session adapter 'broken' cannot be used") as caught:
        look(where, "mars:x", adapter="broken")
    assert why in str(caught.value)
    assert look(where, "x", type_="session")["adapterId"] == "dmux-tmux"
    with pytest.raises(NotFound):
        look(where, "mars:x")
    [broken] = [one for one in list_adapters() if isinstance(one, BrokenAdapter)]
    assert broken.id == "broken"
    assert why in broken.why
    _, in_list = list_sessions(where)
    assert in_list == [broken]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("return a_snapshot(adapter=ID", "return 1 / 0, (", "the adapter mars-rover failed: ZeroDivisionError"),
        ("return a_snapshot(", "return list(", "the adapter mars-rover returned no canonical session snapshot|failed"),
        ("a_snapshot(adapter=ID", "a_snapshot(adapter='x'", "adapterId: is 'x'"),
    ],
)
def test_an_adapter_that_fails_is_reported(tmp_path, install, old, new, said):
    source = GOOD.replace(old, new)
    if "1 / 0" in new:
        source = GOOD.replace('return a_snapshot(adapter=ID, id_=target.value.removeprefix("mars:"))', "return 1 / 0")
    install("mars-rover", source)
    with pytest.raises(InvalidDocument, match=said):
        look(around(tmp_path), "mars:sol-1")


FAILING = pytest.mark.parametrize(
    "failure", ["raise KeyError(1)", "raise SystemExit(3)", "import sys; sys.exit('off')"]
)


@FAILING
def test_an_adapter_whose_can_open_fails_is_skipped_and_reported(tmp_path, install, failure):
    install("mars-rover", GOOD.replace('return target.value.startswith("mars:")', failure))
    install("venus", GOOD.replace("mars:", "venus:"))
    with pytest.raises(NotFound, match="No session adapter matched") as caught:
        look(around(tmp_path), "mars:sol-1")
    assert "the session adapter mars-rover failed: " in caught.value.hint
    found = see(around(tmp_path), "venus:sol-1")
    assert [one.id for one in found.problems] == ["mars-rover"]


@FAILING
def test_an_adapter_that_exits_is_reported_and_does_not_end_the_program(tmp_path, install, failure):
    opening = 'return a_snapshot(adapter=ID, id_=target.value.removeprefix("mars:"))'
    install("mars-rover", GOOD.replace(opening, failure).replace('yield Listed("mars:sol-1"', f'{failure}\n    ("x"'))
    install("broken", failure)
    where = around(tmp_path)
    with pytest.raises(InvalidDocument, match=r"the adapter mars-rover failed: (KeyError|SystemExit)"):
        look(where, "mars:sol-1")
    found, broken = list_sessions(where)
    assert [one.listed.id for one in found] == ["sol-2"]
    assert [one.id for one in broken] == ["broken", "mars-rover"]
    with pytest.raises(InvalidArgument, match=r"the session adapter 'broken' cannot be used: (KeyError|SystemExit)"):
        look(where, "x", adapter="broken")


def test_an_interrupt_by_the_user_is_not_an_error_of_the_adapter(tmp_path, install):
    install("mars-rover", GOOD.replace('return target.value.startswith("mars:")', "raise KeyboardInterrupt"))
    with pytest.raises(KeyboardInterrupt):
        look(around(tmp_path), "mars:sol-1")


def test_an_adapter_can_report_omissions(tmp_path, install):
    install("mars-rover", GOOD.replace("    return a_snap", "    around.warn('dust')\n    return a_snap"))
    assert see(around(tmp_path), "mars:sol-1").problems == (BrokenAdapter("mars-rover", "dust", partly=True),)


# --- lists


def test_a_source_that_cannot_be_listed_is_reported_once_and_the_others_are_listed(tmp_path):
    where = around(tmp_path)
    for name in (".claude", ".codex", ".gemini"):
        (where.home / name).symlink_to(name)  # a loop of links: not even root can read it
    put(where.cwd, {".orchestration/demo/w/status.md": "- State: running\n"})
    (where.cwd / ".claude").symlink_to(".claude")
    found, broken = list_sessions(where)
    assert [one.listed.target for one in found] == ["demo"]
    assert [one.id for one in broken] == ["claude-history", "dmux-tmux", "claude-jsonl", "codex-rollout", "gemini-chat"]
    for one in broken:
        assert one.partly
        assert "cannot list" in one.why
        assert "Too many levels" in one.why


def test_the_sessions_of_all_adapters_are_listed_newest_first(tmp_path, install):
    install("mars-rover", GOOD)
    install("venus", GOOD.replace('yield Listed("mars:sol-1"', "raise OSError('too hot')\n    Listed(\"x\""))
    where = around(tmp_path)
    put(where.home, {".claude/session-data/2026-02-01-a1b2-session.tmp": "# A title\n"})
    aged(where.home / ".claude/session-data/2026-02-01-a1b2-session.tmp", 60)
    put(where.cwd, {".orchestration/demo/w/status.md": "- State: running\n"})
    aged(where.cwd / ".orchestration/demo/w/status.md", 3 * 86400)
    found, broken = list_sessions(where)
    assert [(one.adapter, one.listed.target) for one in found] == [
        ("claude-history", "claude:a1b2"), ("mars-rover", "mars:sol-2"), ("venus", "mars:sol-2"),
        ("mars-rover", "mars:sol-1"), ("dmux-tmux", "demo"),
    ]  # fmt: skip
    assert broken == [BrokenAdapter("venus", "OSError: too hot")]


def test_a_session_of_two_adapters_is_listed_once_and_the_newest_come_first(tmp_path, install):
    """A session that began first may end last, and third-party adapters list their sessions in any order."""
    install("mars-rover", GOOD.replace("2026-11-21T07:30:00Z", "2026-11-19T07:30:00Z"))
    ids = {"a1b2": "2026-01-09", "late": "2026-01-08", "early": "2026-01-07"}
    sessions = [
        Session(id=id_, started=f"2026-01-0{number}T00:00:00Z", ended=f"{ended}T00:00:00Z", status="ended")
        for number, (id_, ended) in enumerate(ids.items(), 1)
    ]
    state = State()
    for record in sessions:
        state = state.put(record)
    where = replace(around(tmp_path), state=state)
    put(where.home, {".claude/session-data/2026-02-01-a1b2-session.tmp": "# A title\n"})
    found = [(one.adapter, one.listed.id) for one in list_sessions(where)[0] if one.adapter != "mars-rover"]
    assert found == [("claude-history", "a1b2"), ("baton", "late"), ("baton", "early")]
    times = [one.listed.updated_at for one in list_sessions(where, "mars-rover")[0]]
    assert times == sorted(times, reverse=True)


def test_listed_targets_can_be_opened(tmp_path):
    where = around(tmp_path)
    put(where.home, {".claude/session-data/2026-02-01-a1b2-session.tmp": "# A title\n"})
    put(where.cwd, {".orchestration/demo/w/status.md": "- State: running\n"})
    found, _ = list_sessions(where)
    for one in found:
        assert isinstance(one.listed, Listed)
        assert look(where, one.listed.target)["adapterId"] == one.adapter
