"""Sessions of ECC's orchestrator without tmux: folders, plans, health and state. `test_real_tmux` needs tmux."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from session_snapshots import aged, around, look, put

from baton_git.core.errors import InvalidDocument, NotFound
from baton_git.systems.ecc.adapters import adapter, dmux_tmux
from baton_git.systems.ecc.adapters.adapter import Target
from baton_git.systems.ecc.adapters.dmux_tmux import TmuxPane, judge_session_state, list_panes, parse_pane

STATUS = "# Status\n\n- State: {}\n- Updated: {}\n- Branch: `feature/seed`\n- Worktree: `/srv/wt/seed`\n"
TASK = (
    "# Task\n\n## Objective\n\nInspect files.\n\nThen report.\n\n## Seeded Local Overlays\n- `scripts/x.js`\n- y.md\n"
)
TEMPLATE = """# Handoff

## Summary
- Pending

## Files Changed
- Pending

## Tests / Verification
- Pending

## Follow-ups
- Pending
"""
FRESH = "2026-11-21T07:58:00Z"
OLD = "2026-11-21T07:00:00Z"


@pytest.fixture
def here(tmp_path: Path):
    """Surroundings without a tmux."""
    return around(tmp_path, PATH=str(tmp_path / "no-programs"))


def write_session(here, name: str = "proof", base: str = ".claude/orchestration", **workers: Any) -> None:
    for slug, files in workers.items():
        put(here.cwd / base / name / slug, {f"{one}.md": text for one, text in files.items()})


def test_a_session_is_mapped_as_ecc_maps_it(here):
    handoff = "**Summary**\n- Read it\n\n**Validation**\n- ran lint\n\n**Remaining Risks**\n- flaky\n"
    write_session(here, seed={"status": STATUS.format("running", FRESH), "task": TASK, "handoff": handoff})
    folder = here.cwd / ".claude/orchestration/proof/seed"
    assert look(here, "proof") == {
        "schemaVersion": "ecc.session.v1",
        "adapterId": "dmux-tmux",
        "session": {
            "id": "proof",
            "kind": "orchestrated",
            "state": "idle",
            "repoRoot": str(here.cwd),
            "sourceTarget": {"type": "session", "value": "proof"},
        },
        "workers": [
            {
                "id": "seed",
                "label": "seed",
                "state": "running",
                "health": "healthy",
                "branch": "feature/seed",
                "worktree": "/srv/wt/seed",
                "runtime": {"kind": "tmux-pane", "command": None, "pid": None, "active": False, "dead": False},
                "intent": {"objective": "Inspect files.\n\nThen report.", "seedPaths": ["scripts/x.js", "y.md"]},
                "outputs": {"summary": ["Read it"], "validation": ["ran lint"], "remainingRisks": ["flaky"]},
                "artifacts": {
                    "statusFile": str(folder / "status.md"),
                    "taskFile": str(folder / "task.md"),
                    "handoffFile": str(folder / "handoff.md"),
                },
            }
        ],
        "aggregates": {"workerCount": 1, "states": {"running": 1}, "healths": {"healthy": 1}},
    }


@pytest.mark.parametrize(
    ("state", "updated", "health"),
    [
        ("failed", FRESH, "degraded"), ("error", FRESH, "degraded"), ("completed", OLD, "healthy"),
        ("succeeded", OLD, "healthy"), ("success", "", "healthy"), ("done", "no date", "healthy"),
        ("running", FRESH, "healthy"), ("active", FRESH, "healthy"), ("running", "2026-11-21T07:55:00Z", "healthy"),
        ("running", "2026-11-21T07:54:59Z", "stale"), ("running", "", "stale"), ("active", "soon", "stale"),
        ("running", "2026-11-21T09:58:00+02:00", "healthy"), ("not started", FRESH, "unknown"),
        ("hibernating", FRESH, "unknown"),
    ],
)  # fmt: skip
def test_health_follows_eccs_rule(here, state, updated, health):
    write_session(here, seed={"status": STATUS.format(state, updated)})
    worker = look(here, "proof")["workers"][0]
    assert (worker["state"], worker["health"]) == (state, health)


@pytest.mark.parametrize(
    ("states", "state"),
    [
        (("completed", "done"), "completed"), (("completed", "failed"), "failed"), (("error", "running"), "failed"),
        (("running", "completed"), "idle"), (("not started",), "idle"), ((), "missing"),
    ],
)  # fmt: skip
def test_the_state_of_a_session_without_panes_follows_eccs_rule(here, states, state):
    (here.cwd / ".claude/orchestration/proof").mkdir(parents=True)
    workers: dict[str, Any] = {f"w{n}": {"status": STATUS.format(one, FRESH)} for n, one in enumerate(states)}
    write_session(here, **workers)
    found = look(here, "proof")
    assert found["session"]["state"] == state
    assert found["aggregates"]["workerCount"] == len(states)


def test_a_worker_without_a_status_is_in_an_unknown_state(here):
    write_session(here, seed={"task": TASK}, other={"notes": "no worker"})
    (here.cwd / ".claude/orchestration/proof/file.md").write_text("x")
    found = look(here, "proof")
    assert [(one["id"], one["state"], one["health"]) for one in found["workers"]] == [("seed", "unknown", "unknown")]


def test_a_worker_file_that_is_a_folder_or_pipe_counts_as_missing(here):
    write_session(here, seed={"status": STATUS.format("running", FRESH)})
    (here.cwd / ".claude/orchestration/proof/seed/task.md").mkdir()
    os.mkfifo(here.cwd / ".claude/orchestration/proof/seed/handoff.md")
    assert look(here, "proof")["workers"][0]["intent"]["objective"] == "seed"


def test_a_file_that_is_too_large_does_not_hide_the_others(here, monkeypatch):
    monkeypatch.setattr(adapter, "MAX_BYTES", 1000)
    write_session(here, seed={"status": "x" * 1001, "task": TASK}, other={"status": STATUS.format("running", FRESH)})
    workers = {one["id"]: one for one in look(here, "proof")["workers"]}
    assert workers["other"]["state"] == "running"
    assert workers["seed"]["state"] == "unknown"
    assert workers["seed"]["intent"]["objective"].startswith("Inspect")
    [risk] = workers["seed"]["outputs"]["remainingRisks"]
    assert risk.startswith("status.md was not read: ")
    assert "the limit is 1,000 bytes" in risk


def test_a_link_that_leads_out_of_the_folder_of_the_session_is_not_followed(here, tmp_path):
    put(tmp_path, {"secret/status.md": STATUS.format("running", FRESH), "secret/task.md": TASK})
    write_session(here, seed={"handoff": "## Summary\n- Read\n", "shared": STATUS.format("done", FRESH)})
    folder = here.cwd / ".claude/orchestration/proof"
    (folder / "seed/status.md").symlink_to("shared.md")
    (folder / "seed/task.md").symlink_to(tmp_path / "secret/task.md")
    (folder / "whole").symlink_to(tmp_path / "secret")
    seed, whole = look(here, "proof")["workers"]
    assert (seed["state"], seed["intent"]["objective"]) == ("done", "seed")
    why = "was not read: it resolves to a path outside the session's folder"
    assert seed["outputs"]["remainingRisks"] == [f"task.md {why}"]
    assert whole["state"] == "unknown"
    assert whole["outputs"]["remainingRisks"] == [f"status.md {why}", f"task.md {why}"]


def test_a_session_with_panes_is_active():
    assert judge_session_state(["failed", "completed"], [TmuxPane("w")]) == "active"
    assert judge_session_state([], [TmuxPane("w", dead=True)]) == "active"
    assert judge_session_state(["failed", "completed"], []) == "failed"


# --- files that ECC's own reader reads wrongly


def test_a_worker_without_an_objective_does_not_hide_the_others(here):
    write_session(here, seed={"status": STATUS.format("running", FRESH)}, docs={"task": "## Objective\n\n"})
    assert [one["intent"]["objective"] for one in look(here, "proof")["workers"]] == ["docs", "seed"]


def test_an_unfilled_template_is_not_data(here):
    write_session(here, seed={"handoff": TEMPLATE})
    assert look(here, "proof")["workers"][0]["outputs"] == {"summary": [], "validation": [], "remainingRisks": []}


def test_the_headings_of_the_template_are_read_and_blank_lines_do_not_end_a_list(here):
    filled = "## Summary\n\n- One\n\n- Two\n  goes on\n\n## Tests / Verification\n- pytest\n\n## Follow-ups\n- docs\n"
    write_session(here, seed={"handoff": filled})
    outputs = look(here, "proof")["workers"][0]["outputs"]
    assert outputs == {"summary": ["One", "Two goes on"], "validation": ["pytest"], "remainingRisks": ["docs"]}


def test_sessions_are_found_in_both_folders_by_name_and_by_plan(here):
    write_session(here, "one", ".orchestration", w={"task": TASK})
    write_session(here, "two", ".claude/orchestration", w={"task": TASK})
    put(here.cwd, {"plan.json": json.dumps({"sessionName": "two"})})
    assert len(look(here, "one")["workers"]) == 1
    assert len(look(here, "two")["workers"]) == 1
    assert len(look(here, "plan.json")["workers"]) == 1


# --- targets


def test_a_plan_opens_the_session_in_its_coordination_folder(here, tmp_path):
    put(tmp_path / "repo/coordination/My Session/w", {"task.md": TASK})
    plan = {"sessionName": "My Session", "repoRoot": str(tmp_path / "repo"), "coordinationRoot": "../repo/coordination"}
    put(here.cwd, {"plans/p.json": json.dumps(plan)})
    found = look(here, "plans/p.json")
    assert found["session"]["id"] == "My Session"
    assert found["session"]["repoRoot"] == str(tmp_path / "repo")
    assert found["session"]["sourceTarget"] == {"type": "plan", "value": str(here.cwd / "plans/p.json")}
    assert [one["id"] for one in found["workers"]] == ["w"]
    assert look(here, "plans/p.json", type_="plan") == found


def test_a_plan_finds_the_folder_named_with_the_slug_of_its_session(here):
    write_session(here, "my-session", ".orchestration", w={"task": TASK})
    put(here.cwd, {"plan.json": json.dumps({"sessionName": "My Session"})})
    assert look(here, "plan.json")["aggregates"]["workerCount"] == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not JSON: .* at line 1, column 2"), ("[]", "not a JSON object"), ('{"sessionName": ""}', "sessionName"),
        ('{"sessionName": "../x"}', "sessionName"), ('{"workers": []}', "sessionName"),
        ('{"sessionName": "x", "repoRoot": 1}', "repoRoot"),
        ('{"sessionName": "x", "coordinationRoot": []}', "coordinationRoot"),
    ],
)  # fmt: skip
def test_an_invalid_plan_is_rejected_with_its_field(here, text, said):
    put(here.cwd, {"plan.json": text})
    with pytest.raises(InvalidDocument, match=said) as caught:
        look(here, "plan.json")
    assert str(here.cwd / "plan.json") in str(caught.value)


@pytest.mark.parametrize("options", [(), ("--adapter", "dmux-tmux"), ("--target-type", "plan")])
def test_a_file_that_is_no_plan_is_refused(baton, top, options):
    for text in ("words", "", '{"sessionName": "x", "workers": []}'):
        (top / "notaplan.txt").write_text(text)
        done = baton("session", "inspect", "notaplan.txt", *options, code=None)
        assert done.code not in (0, 70), done
        assert done.out == ""


def test_a_session_is_opened_even_if_a_file_has_its_name(baton, top):
    (top / "swarm").touch()
    assert baton("session", "inspect", "swarm", "--adapter", "dmux-tmux", "--target-type", "session").out


def test_a_missing_session_matches_no_adapter_but_opens_empty_with_this_one(here):
    with pytest.raises(NotFound, match="No session adapter matched target: 'gone'"):
        look(here, "gone")
    for found in (look(here, "gone", adapter="dmux-tmux"), look(here, "gone", type_="session")):
        assert (found["session"]["state"], found["workers"]) == ("missing", [])
    with pytest.raises(NotFound):
        look(here, "gone.json", type_="plan")


@pytest.mark.parametrize("name", ["..", ".", "a/b", "/etc", "x\0y", " "])
def test_an_invalid_name_opens_nothing(here, name):
    assert not dmux_tmux.can_open(Target(name), here)
    with pytest.raises(NotFound):
        dmux_tmux.open_session(Target(name, "session"), here)


def test_sessions_are_listed_newest_first(here):
    write_session(here, "older", w1={"task": TASK})
    write_session(here, "newer", ".orchestration", w1={"task": TASK}, w2={"task": TASK})
    (here.cwd / ".orchestration/empty").mkdir()
    aged(here.cwd / ".claude/orchestration/older/w1/task.md", 60)
    aged(here.cwd / ".orchestration/newer/w1/task.md", 5)
    aged(here.cwd / ".orchestration/newer/w2/task.md", 600)
    found = list(dmux_tmux.sessions(here))
    assert [(one.target, one.title) for one in found] == [("newer", "w1, w2"), ("older", "w1")]


# --- the lines of tmux


def test_a_pane_is_read_from_its_line_also_with_tabs_in_its_title():
    assert parse_pane("seed\tcodex\t1\t0\t123") == TmuxPane("seed", "codex", True, False, 123)
    assert parse_pane("a\tb\tsh\t0\t1\t") == TmuxPane("a\tb", "sh", False, True, None)
    assert parse_pane("what is this?") is None


def test_a_tmux_that_does_not_answer_has_no_panes(tmp_path, monkeypatch):
    program = tmp_path / "bin/tmux"
    put(tmp_path, {"bin/tmux": "#!/bin/sh\nexec sleep 30\n"})
    program.chmod(0o755)
    monkeypatch.setattr(dmux_tmux, "TIME_LIMIT", 0.2)
    assert list_panes("x", {"PATH": f"{program.parent}:/bin:/usr/bin"}) == []
