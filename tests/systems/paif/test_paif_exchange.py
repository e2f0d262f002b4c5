"""PAIF's checkpoint folders are imported and exported without loss, and files outside of the folder are not touched."""

from __future__ import annotations

import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import extended, json_tables, json_values, texts
from world import NOW, later, workspace

from baton_git.core.errors import InvalidArgument, NotFound
from baton_git.core.records.base import alike
from baton_git.git.store import Repository, Store
from baton_git.namespace.workspace import Workspace
from baton_git.systems.paif import checkpoint_store
from baton_git.systems.paif.checkpoints import collect_sessions, restore, save_checkpoint
from baton_git.systems.paif.documents import SECTIONS, WRAPPER
from baton_git.systems.paif.exchange import export_paif, import_paif
from baton_git.systems.paif.record import Context, IdentityUpdates, NewBelief, RecentMemories, WorkingMemory

few = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
NAME = "checkpoint-2026-04-04T18-34-00.json"


def document(agent: str = "zero", at: str = "2026-04-04T18:34:00.000Z", **more: Any) -> dict[str, Any]:
    metadata = {"agent_id": agent, "session_id": f"id of {at}", "started_at": at, "ended_at": at}
    return {"metadata": {**metadata, "duration_seconds": 0, "checkpoint_version": "1.0"}, **more}


def write_files(root: Path, files: dict[str, Any]) -> Path:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content if isinstance(content, str) else json.dumps(content))
    return root


def read_files(root: Path) -> dict[str, Any]:
    return {str(path.relative_to(root)): json.loads(path.read_text()) for path in root.rglob("*.json")}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Create a folder with the layout that memory-bridge documents."""
    return write_files(
        tmp_path / "memory-bridge" / "checkpoints",
        {
            f"zero/{NAME}": document(context={"conversation_summary": "Ünïcode", "pending_items": ["a"]}),
            "zero/checkpoint-2026-04-04T20-15-30.json": document(at="2026-04-04T20:15:30.250Z", extra={"x": None}),
            "claude/checkpoint-2026-04-04T19-00-00.json": document("claude", "2026-04-04T19:00:00.000Z"),
        },
    )


def test_the_folder_of_all_agents_round_trips(ws, folder, tmp_path):
    done = import_paif(ws, NOW, folder)
    assert (done.new, done.known, done.refused) == (3, 0, [])
    assert ws.branch.read().number == 1
    out = tmp_path / "out"
    assert len(export_paif(ws, NOW, out).files) == 3
    assert read_files(out) == read_files(folder)


def test_importing_again_adds_nothing(ws, folder, tmp_path):
    import_paif(ws, NOW, folder)
    done = import_paif(ws, later(minutes=1), folder)
    assert (done.new, done.known) == (0, 3)
    assert done.written.revision.number == 1
    export_paif(ws, NOW, tmp_path / "out")
    assert import_paif(ws, NOW, tmp_path / "out").new == 0


def test_imported_checkpoints_can_be_restored_and_listed(ws, folder):
    import_paif(ws, NOW, folder)
    found = restore(ws, NOW, "zero").checkpoint
    assert found is not None
    assert found.metadata.ended_at == "2026-04-04T20:15:30.250Z"
    assert [bool(session.ids) for session in collect_sessions(ws, "zero")] == [False, True, True]


def test_one_agent_can_be_imported_by_folder_or_name(ws, folder):
    assert import_paif(ws, NOW, folder / "claude").new == 1
    assert import_paif(ws, NOW, folder, agent="zero").new == 2
    assert import_paif(ws, NOW, folder).known == 3


def test_a_single_file_can_be_imported(ws, folder, tmp_path):
    assert import_paif(ws, NOW, folder / "zero" / NAME).new == 1
    loose = write_files(tmp_path / "loose", {"x.json": document("one")})
    assert import_paif(ws, NOW, loose / "x.json").new == 1
    assert import_paif(ws, NOW, loose / "x.json", agent="two").refused[0].why.startswith("metadata.agent_id is 'one'")


def test_exported_checkpoints_are_recognised_when_imported(ws, tmp_path):
    for number in range(3):
        save_checkpoint(ws, NOW, "zero", {"conversation_summary": str(number)})
    paths = export_paif(ws, NOW, tmp_path / "out").files
    assert [path.name for path in paths] == [
        "checkpoint-2026-11-21T08-00-00.json", "checkpoint-2026-11-21T08-00-00_2.json",
        "checkpoint-2026-11-21T08-00-00_3.json",
    ]  # fmt: skip
    assert import_paif(ws, NOW, tmp_path / "out").known == 3
    with Store(Repository.create_bare(tmp_path / "other.git")) as store:
        other = workspace(store)
        assert import_paif(other, NOW, tmp_path / "out").new == 3
        assert export_paif(other, NOW, tmp_path / "again").files
    assert read_files(tmp_path / "again") == read_files(tmp_path / "out")


def test_exporting_again_changes_nothing_and_overwrites_no_other_file(ws, tmp_path):
    save_checkpoint(ws, NOW, "zero", {"conversation_summary": "ours"})
    name = "checkpoint-2026-11-21T08-00-00.json"
    out = write_files(tmp_path / "out", {f"zero/{name}": document(), "zero/notes.txt": "keep"})
    for _ in range(2):
        [path] = export_paif(ws, NOW, out).files
        assert path.name == "checkpoint-2026-11-21T08-00-00_2.json"
    assert read_files(out)[f"zero/{name}"] == document()
    assert (out / "zero/notes.txt").read_text() == "keep"
    assert len(list((out / "zero").iterdir())) == 3


def test_one_agent_is_exported_to_its_folder_or_below_another(ws, folder, tmp_path):
    import_paif(ws, NOW, folder)
    export_paif(ws, NOW, tmp_path / "a", agent="zero")
    export_paif(ws, NOW, tmp_path / "b" / "zero", agent="zero")
    assert {path.parent for path in (tmp_path / "a").rglob("*.json")} == {tmp_path / "a" / "zero"}
    assert {path.parent for path in (tmp_path / "b").rglob("*.json")} == {tmp_path / "b" / "zero"}


def test_archived_checkpoints_are_exported_too(ws, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint_store, "KEPT", 2)
    files = {
        f"zero/checkpoint-2026-04-04T18-34-0{n}.json": document(at=f"2026-04-04T18:34:0{n}.000Z") for n in range(6)
    }
    folder = write_files(tmp_path / "in", files)
    import_paif(ws, NOW, folder)
    assert len(ws.branch.read().state.ids("checkpoint")) == 2
    export_paif(ws, NOW, tmp_path / "out")
    assert read_files(tmp_path / "out") == files
    assert import_paif(ws, NOW, folder).new == 0


BROKEN = {
    "no.json": ("not json", "not JSON"),
    "list.json": ([1], "a checkpoint must be a JSON object"),
    "empty.json": ({}, "metadata: is missing"),
    "other.json": (document("claude"), "metadata.agent_id is 'claude', but the file is that of 'zero'"),
    "type.json": (document(context={"pending_items": 7}), "context.pending_items: "),
    "time.json": (document(at="yesterday"), "metadata.ended_at: is no ISO 8601 point in time"),
    "twice.json": ('{"a": 1, "a": 2}', "is given twice"),
    "large.json": (document(working_memory={"scratchpad": "x" * 300_000}), "the limit is"),
    "flat.json": ({"conversation_summary": "x"}, "metadata: is missing"),
}


def test_invalid_files_are_reported_and_the_others_imported(ws, folder):
    write_files(folder, {f"zero/{name}": content for name, (content, _) in BROKEN.items()})
    done = import_paif(ws, NOW, folder)
    assert done.new == 3
    assert {Path(one.where).name for one in done.refused} == set(BROKEN)
    for one in done.refused:
        assert BROKEN[Path(one.where).name][1] in one.why
        assert "\n" not in one.why


@pytest.mark.parametrize("name", ["zero", "."])
def test_the_folder_of_one_agent_cannot_be_imported_for_another(ws, folder, name):
    (folder / "zero" / "broken.json").write_text("no json")
    place = (folder / "zero") if name == "zero" else write_files(folder.parent / "loose", {"x.json": document()})
    with pytest.raises(InvalidArgument, match="holds checkpoints of 'zero', not of 'claude'") as caught:
        import_paif(ws, NOW, place, agent="claude")
    assert "leave the agent out" in caught.value.hint
    assert ws.branch.read().commit is None


def test_a_secret_as_a_name_is_rejected(ws, folder):
    metadata = {**document("password:x")["metadata"], "session_id": "hunter2"}
    write_files(folder, {f"password:x/{NAME}": {"metadata": metadata}})
    done = import_paif(ws, NOW, folder)
    assert (done.new, [one.why for one in done.refused]) == (3, ["the session holds a secret (keyword secret)"])


def test_an_import_without_valid_files_writes_nothing(ws, tmp_path):
    folder = write_files(tmp_path / "checkpoints", {f"zero/{name}": content for name, (content, _) in BROKEN.items()})
    assert import_paif(ws, NOW, folder).new == 0
    assert ws.branch.read().commit is None


@pytest.mark.parametrize("inside", ["", "zero/sub/"])
def test_a_folder_without_checkpoints_is_reported(ws, tmp_path, inside):
    folder = tmp_path / "checkpoints"
    (folder / inside).mkdir(parents=True)
    for path, agent in ((folder, None), (tmp_path / "absent", None), (folder, "claude")):
        with pytest.raises(NotFound):
            import_paif(ws, NOW, path, agent=agent)
    assert ws.branch.read().commit is None


def test_links_out_of_the_folder_are_not_followed(ws, folder, tmp_path):
    outside = write_files(tmp_path / "outside", {"secret.json": document(), "x/secret.json": document("evil")})
    (folder / "zero" / "link.json").symlink_to(outside / "secret.json")
    (folder / "evil").symlink_to(outside / "x")
    (folder / "zero" / "dangling.json").symlink_to(tmp_path / "nothing")
    done = import_paif(ws, NOW, folder)
    assert done.new == 3
    assert len(done.refused) == 3
    assert {Path(one.where).name for one in done.refused} == {"link.json", "evil", "dangling.json"}


def test_a_link_to_the_folder_of_another_agent_does_not_import_its_checkpoints(ws, folder):
    (folder / "thief").symlink_to(folder / "claude")
    done = import_paif(ws, NOW, folder)
    assert [one.why for one in done.refused] == ["metadata.agent_id is 'claude', but the file is that of 'thief'"]


def test_a_pipe_is_reported_without_waiting(ws, folder):
    os.mkfifo(folder / "zero" / "pipe.json")
    assert [one.why for one in import_paif(ws, NOW, folder).refused] == ["is not a regular file"]


def test_a_file_name_stored_in_a_record_cannot_leave_the_folder(ws, tmp_path):
    evil = ["../../evil.json", "/tmp/evil.json", ".hidden.json", "a\n.json", "x.sh", "a/b.json", "x" * 300 + ".json"]
    for number, name in enumerate(evil):
        record = checkpoint_store.place_checkpoint(checkpoint_store.State(), _named(name, number))[0]
        ws.update("test", NOW, lambda tip, record=record: tip.state.put(next(iter(record.edits.values()))))
    paths = export_paif(ws, NOW, tmp_path / "out").files
    assert {path.parent for path in paths} == {tmp_path / "out" / "zero"}
    assert all(path.name.startswith("checkpoint-2026-04-04T18-34-0") for path in paths)


def _named(name: str, number: int) -> Any:
    from baton_git.systems.paif.documents import parse_checkpoint

    return parse_checkpoint(document(at=f"2026-04-04T18:34:0{number}.000Z"), "zero", file=name)


def test_links_are_not_followed_for_writing(ws, folder, tmp_path):
    import_paif(ws, NOW, folder)
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    out.mkdir()
    elsewhere.mkdir()
    (out / "zero").symlink_to(elsewhere)
    with pytest.raises(InvalidArgument, match="is a link that leads out of the folder"):
        export_paif(ws, NOW, out)
    assert not list(elsewhere.iterdir())
    (out / "zero").unlink()
    (out / "zero").write_text("x")
    with pytest.raises(InvalidArgument, match="is not a folder"):
        export_paif(ws, NOW, out)


def test_secrets_are_redacted_and_importing_again_still_adds_nothing(ws, tmp_path):
    token = "ghp_" + "a1B2" * 9
    folder = write_files(tmp_path / "in", {f"zero/{NAME}": document(working_memory={"scratchpad": f"token={token}"})})
    done = import_paif(ws, NOW, folder)
    assert done.new == 1
    assert done.written.redactions
    assert import_paif(ws, NOW, folder).new == 0


def test_unknown_agents_cannot_be_exported(ws, tmp_path):
    with pytest.raises(NotFound):
        export_paif(ws, NOW, tmp_path / "out")
    with pytest.raises(NotFound, match="there is no agent 'zero'"):
        export_paif(ws, NOW, tmp_path / "out", agent="zero")
    assert not (tmp_path / "out").exists()


# --- property tests

parts = {
    "context": extended(Context, {}, {"conversation_summary": texts, "pending_items": st.lists(texts, max_size=3),
                             "current_focus": st.none() | texts}),
    "recent_memories": extended(RecentMemories, {}, {"memory_ids": st.lists(texts, max_size=2)}),
    "working_memory": extended(WorkingMemory, {}, {"scratchpad": texts, "open_files": st.lists(texts, max_size=2)}),
    "identity_updates": extended(IdentityUpdates, {}, {"new_beliefs": st.lists(extended(
        NewBelief, {"subject": texts.filter(bool), "confidence": st.sampled_from([0, 1, 0.5, 1.0])}, {}), max_size=2)}),
}  # fmt: skip
seconds = st.integers(0, 3).map(lambda number: f"2026-04-04T18:34:0{number}.000Z")


@st.composite
def checkpoints(draw: st.DrawFn) -> dict[str, Any]:
    at = draw(seconds)
    chosen = {name: draw(part) for name, part in parts.items() if draw(st.booleans())}
    extra = {name: value for name, value in draw(json_tables).items() if name not in {*SECTIONS, WRAPPER}}
    metadata = {"agent_id": "zero", "session_id": draw(texts.filter(bool)), "started_at": at, "ended_at": at}
    whole = {**extra, "metadata": {**metadata, "note": draw(json_values)}, **chosen}
    return {"session_checkpoint": whole} if draw(st.booleans()) else whole


@few
@given(st.lists(checkpoints(), min_size=1, max_size=4))
def test_any_checkpoint_folder_round_trips(documents: list[dict[str, Any]]) -> None:
    files = {f"zero/checkpoint-{number}.json": one for number, one in enumerate(documents)}
    with TemporaryDirectory() as name, Store(Repository.create_bare(Path(name) / "s.git")) as store:
        ws: Workspace = workspace(store)
        folder = write_files(Path(name) / "in", files)
        done = import_paif(ws, NOW, folder)
        assert (done.new, done.refused, done.written.redactions) == (len(files), [], ())
        export_paif(ws, NOW, Path(name) / "out")
        found = read_files(Path(name) / "out")
        assert found.keys() == files.keys()
        assert all(alike(found[path], files[path]) for path in files)
        assert import_paif(ws, NOW, folder).new == 0
