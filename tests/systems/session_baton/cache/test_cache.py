"""`baton cache`: documents are sent at once or later, and never replace another client's work unseen."""

from __future__ import annotations

import errno
import json
import os
import signal
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from baton_server import Wire, served
from cached_batons import NOWHERE, a_baton, a_loop

from baton_git.core.errors import Busy
from baton_git.core.names import Namespace
from baton_git.systems.session_baton.cache_folder import CacheFolder
from baton_git.systems.session_baton.caching import BatonCache, write_baton
from baton_git.systems.session_baton.http_client import BatonServer, ServerAddress


def kept_copies(folder):
    return [json.loads(path.read_text()) for path in sorted((folder / ".baton" / "kept").glob("*.json"))]


def cached(folder, stem):
    return json.loads((folder / f"{stem}.json").read_text())


def mark_dirty(folder, stem):
    """Change the file as session-baton's own `mark_dirty` does."""
    path = folder / f"{stem}.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    data["_sync_status"] = "pending_upload"
    path.write_text(json.dumps(data, ensure_ascii=False, indent=2), encoding="utf-8")


# --- with a server that responds


def test_a_write_leaves_session_batons_bytes_on_the_server_and_in_the_cache(cache, wire, folder):
    doc = a_baton("é 名前", a_loop(1))
    done = cache("write", "project:x", url=wire.url, doc=doc).json
    assert done["ok"]
    assert done["status"] == "synced"
    assert wire.get("project:x") == doc
    as_original = json.dumps({**doc, "_sync_status": "synced"}, ensure_ascii=False, indent=2)
    assert (folder / "project_x.json").read_bytes() == as_original.encode()


def test_a_read_returns_and_caches_the_servers_response(cache, wire, folder):
    wire.put("work", a_baton("from elsewhere"))
    assert cache("read", "work", url=wire.url).json == wire.make_read_response("work")
    assert cached(folder, "work") == {**a_baton("from elsewhere"), "_sync_status": "synced"}


def test_a_namespace_that_the_server_lacks_is_null_and_makes_no_file(cache, wire, folder):
    done = cache("read", "work", "--json", url=wire.url)
    assert done.json["baton"] is None
    assert done.json["source"] == "server"
    assert not (folder / "work.json").exists()


def test_a_client_can_write_repeatedly_without_reading(cache, wire):
    for number in range(3):
        cache("write", "work", url=wire.url, doc=a_baton(str(number)))
    assert wire.get("work")["context"] == "2"


def test_a_new_folder_is_private_and_an_existing_one_keeps_its_mode(cache, wire, folder):
    folder.mkdir(parents=True, mode=0o755)
    cache("write", "work", url=wire.url, doc=a_baton())
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755
    assert stat.S_IMODE((folder / ".baton").stat().st_mode) == 0o700
    for path in (folder / "work.json", folder / ".baton" / "work.json"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    other = folder.parent / "made"
    cache("read", "work", "--folder", str(other), url=wire.url)
    assert stat.S_IMODE(other.stat().st_mode) == 0o700


def test_a_server_that_lost_its_baton_does_not_empty_the_cache(cache, wire, folder):
    cache("write", "work", url=wire.url, doc=a_baton("kept"))
    wire.batons.clear()
    done = cache("read", "work", url=wire.url)
    assert done.json["baton"] is None
    assert "the one in the cache was not removed" in done.err
    assert cache("status", "--json").json[0]["status"] == "synced"
    assert cached(folder, "work")["context"] == "kept"
    cache("send", "work", "--ours", url=wire.url)
    assert wire.get("work")["context"] == "kept"


# --- without a server


def test_an_unsent_document_waits_and_is_sent_with_the_next_write(cache, wire, folder):
    cache("write", "work", url=wire.url, doc=a_baton("one"))
    url = wire.url
    answer, wire.answer = wire.answer, lambda *_: (503, {})
    done = cache("write", "work", url=url, doc=a_baton("two"))
    assert done.json["status"] == "pending_upload"
    assert "the document waits in the local cache" in done.err
    assert cached(folder, "work")["_sync_status"] == "pending_upload"
    wire.answer = answer
    cache("write", "work", url=url, doc=a_baton("three"))
    assert [one["context"] for one in wire.history] == ["one", "two", "three"]
    assert cached(folder, "work") == {**a_baton("three"), "_sync_status": "synced"}


def test_a_pending_document_is_sent_by_the_next_read(cache, wire, folder):
    answer, wire.answer = wire.answer, lambda *_: (502, {})
    cache("write", "work", url=wire.url, doc=a_baton("two"))
    wire.answer = answer
    done = cache("read", "work", url=wire.url)
    assert done.json["baton"]["context"] == "two"
    assert "the document that waited in the cache was sent" in done.err
    assert wire.get("work")["context"] == "two"
    assert cached(folder, "work")["_sync_status"] == "synced"


def test_offline_the_cache_is_read_and_reported(cache, wire, folder):
    wire.put("work", a_baton("here"))
    cache("read", "work", url=wire.url)
    time = wire.make_read_response("work")["updated_at"]
    wire.answer = lambda *_: (503, {})
    done = cache("read", "work", "--json", url=wire.url)
    assert done.json["baton"] == a_baton("here")
    assert done.json["updated_at"] == time
    assert done.json["source"] == "cache"
    assert f"offline: the document from the local cache (updated_at {time})" in done.err


def test_a_read_without_server_and_cache_finds_nothing_and_is_not_an_error(cache, folder):
    done = cache("read", "work", "--json", url=NOWHERE)
    assert done.json == {"baton": None, "namespace": "work", "updated_at": None, "source": "none", "status": "nothing"}
    assert "no document in the local cache either" in done.err


def test_a_write_whose_answer_got_lost_is_recognised_and_not_a_conflict(cache, wire):
    cache("write", "work", url=wire.url, doc=a_baton("one"))

    def lose():
        wire.after_write = lambda: None
        raise ConnectionAbortedError

    wire.after_write = lose
    assert cache("write", "work", url=wire.url, doc=a_baton("two")).json["status"] == "pending_upload"
    count = wire.writes
    assert cache("send", url=wire.url, code=0).err == "work: sent\n"
    assert wire.writes <= count + 1
    assert wire.get("work")["context"] == "two"
    assert cache("status", "--json").json[0]["status"] == "synced"


def test_send_tries_everything_that_waits_for_this_server(cache, wire):
    for name in ("a", "b"):
        cache("write", name, url=wire.url, doc=a_baton(name))
    answer, wire.answer = wire.answer, lambda *_: (503, {})
    for name in ("a", "b"):
        cache("write", name, url=wire.url, doc=a_baton(f"{name}2"))
    cache("write", "c", url=NOWHERE, doc=a_baton("elsewhere"))
    assert "the document still waits" in cache("send", "--all", url=wire.url, code=1).err
    wire.answer = answer
    assert cache("send", "--all", url=wire.url, code=1).err.startswith(
        f"a: sent\nb: sent\nc: the document waits for {NOWHERE}\n"
    )
    assert {name: wire.get(name)["context"] for name in wire.batons} == {"a": "a2", "b": "b2"}
    assert f"no document waits for {wire.url}" in cache("send", url=wire.url, code=1).err


def test_a_document_that_the_server_refuses_does_not_keep_the_others_back(cache, plain):
    answer, plain.answer = plain.answer, lambda *_: (503, {})
    for name in ("a", "b"):
        cache("write", name, url=plain.url, doc=a_baton(name))
    plain.answer = lambda path, body, token: (
        (413, {"detail": "too large"}) if body["namespace"] == "a" else answer(path, body, token)
    )
    done = cache("send", url=plain.url, code=1)
    assert "answers 413: too large" in done.err
    assert "a: the document still waits" in done.err
    assert plain.get("b")["context"] == "b"


def test_a_document_pending_for_one_server_is_not_sent_to_another(cache, wire):
    cache("write", "work", url=NOWHERE, doc=a_baton("mine"))
    done = cache("write", "work", url=wire.url, doc=a_baton("new"), code=2)
    assert f"waits to be sent to {NOWHERE}" in done.err
    assert wire.batons == {}
    wire.put("work", a_baton("theirs"))
    done = cache("read", "work", url=wire.url)
    assert done.json["baton"]["context"] == "theirs"
    assert f"not stored in the cache: the cache has a document that waits for {NOWHERE}" in done.err
    cache("send", "work", "--ours", url=wire.url, code=3)
    assert wire.get("work")["context"] == "theirs"
    cache("send", "work", "--ours", url=wire.url)
    assert wire.get("work")["context"] == "mine"


# --- conflicts


@pytest.fixture
def conflict(cache, wire, folder):
    """Create a conflict: both sides changed the baton, and the server rejected ours."""
    cache("write", "work", url=wire.url, doc=a_baton("base", a_loop(1), a_loop(2)))
    wire.put("work", a_baton("base", a_loop(1, expected_outcome="201"), a_loop(2), a_loop(3)))
    return cache("write", "work", url=wire.url, doc=a_baton("ours", a_loop(1, action="Shipped")), code=3)


def test_a_conflict_is_shown_by_record_and_nothing_is_overwritten(cache, wire, folder, conflict):
    assert wire.get("work")["context"] == "base"
    assert cached(folder, "work") == {**a_baton("ours", a_loop(1, action="Shipped")), "_sync_status": "pending_upload"}
    shown = conflict.json["conflict"]
    assert shown["ours"]["context"] == "ours"
    assert shown["theirs"] == wire.get("work")
    assert [(one["id"], one["action"]) for one in shown["there"]] == [("OL-001", "changed"), ("OL-003", "added")]
    assert {one["id"] for one in shown["here"]} == {"", "OL-001", "OL-002"}
    assert "here: OL-001 action changed: action 'Deployed' → 'Shipped'" in conflict.err
    assert "server: OL-001 expected_outcome changed: expected_outcome '200' → '201'" in conflict.err
    assert "baton cache send work --merge" in conflict.err
    assert cache("status", "--json").json[0]["status"] == "conflict"


def test_a_conflict_remains_until_it_is_resolved(cache, wire, conflict):
    cache("send", "work", url=wire.url, code=3)
    cache("write", "work", url=wire.url, doc=a_baton("again"), code=3)
    done = cache("read", "work", url=wire.url)
    assert done.json["baton"] == wire.get("work")
    assert "baton: conflict" in done.err
    assert wire.get("work")["context"] == "base"


def test_ours_replaces_the_document_that_was_shown_and_keeps_a_copy_of_it(cache, wire, folder, conflict):
    theirs = wire.get("work")
    cache("send", "work", "--ours", url=wire.url)
    assert wire.get("work")["context"] == "ours"
    assert theirs in kept_copies(folder)
    assert cached(folder, "work")["_sync_status"] == "synced"


def test_ours_does_not_replace_a_document_that_was_not_shown(cache, wire, folder, conflict):
    wire.put("work", a_baton("newer still"))
    done = cache("send", "work", "--ours", url=wire.url, code=3)
    assert wire.get("work")["context"] == "newer still"
    assert "newer still" in done.err
    cache("send", "work", "--ours", url=wire.url)
    assert wire.get("work")["context"] == "ours"
    assert "newer still" in [one["context"] for one in kept_copies(folder)]


@pytest.mark.parametrize("choice", ["--ours", "--merge"])
def test_a_resolution_made_offline_holds_when_the_server_returns(cache, wire, conflict, choice):
    answer, wire.answer = wire.answer, lambda *_: (503, {})
    assert "the document still waits" in cache("send", "work", choice, url=wire.url, code=1).err
    wire.answer = answer
    assert cache("send", url=wire.url).err == "work: sent\n"
    assert wire.get("work")["context"] == "ours"


def test_theirs_replaces_ours_and_keeps_a_copy_of_ours(cache, wire, folder, conflict):
    cache("send", "work", "--theirs", url=wire.url)
    assert cached(folder, "work") == {**wire.get("work"), "_sync_status": "synced"}
    assert a_baton("ours", a_loop(1, action="Shipped")) in kept_copies(folder)


def test_merge_combines_both_documents_by_record_and_field(cache, wire, folder, conflict):
    done = cache("send", "work", "--merge", "--json", url=wire.url)
    made = wire.get("work")
    assert made["context"] == "ours"
    assert {"ours", "base"} <= {one["context"] for one in kept_copies(folder)}
    loops = {one["id"]: one for one in made["open_loops"]}
    assert set(loops) == {"OL-001", "OL-003"}
    assert (loops["OL-001"]["action"], loops["OL-001"]["expected_outcome"]) == ("Shipped", "201")
    assert cached(folder, "work") == {**made, "_sync_status": "synced"}
    assert "contested" not in done.json[0]


def test_merge_includes_later_changes_of_the_server_only_after_showing_them(cache, wire, conflict):
    wire.put("work", {**wire.get("work"), "open_loops": [*wire.get("work")["open_loops"], a_loop(4)]})
    assert "OL-004" in cache("send", "work", "--merge", url=wire.url, code=3).err
    assert wire.get("work")["context"] == "base"
    cache("send", "work", "--merge", url=wire.url)
    assert {one["id"] for one in wire.get("work")["open_loops"]} == {"OL-001", "OL-003", "OL-004"}
    assert wire.get("work")["context"] == "ours"


def test_merge_reports_the_chosen_values(cache, wire, folder):
    cache("write", "work", url=wire.url, doc=a_baton("base", a_loop(1)))
    theirs = a_baton("base", a_loop(1, action="Theirs"))
    wire.put("work", theirs)
    cache("write", "work", url=wire.url, doc=a_baton("base", a_loop(1, action="Ours")), code=3)
    done = cache("send", "work", "--merge", url=wire.url)
    assert "merged: OL-001 action: 'Ours' was chosen over 'Theirs'" in done.err
    assert wire.get("work")["open_loops"][0]["action"] == "Ours"
    assert theirs in kept_copies(folder)


def test_invalid_documents_are_compared_by_field_and_not_merged(cache, wire):
    cache("write", "work", url=wire.url, doc={"free": 1, "same": True})
    wire.put("work", {"free": 2, "same": True})
    done = cache("write", "work", url=wire.url, doc={"free": 3, "same": True}, code=3)
    assert "they differ in: free" in done.err
    assert cache("send", "work", "--merge", url=wire.url, code=1).err.startswith("baton: ")
    assert wire.get("work")["free"] == 2
    cache("send", "work", "--ours", url=wire.url)
    assert wire.get("work")["free"] == 3


def test_a_first_write_does_not_replace_an_unseen_document(cache, wire):
    wire.put("work", a_baton("theirs"))
    cache("write", "work", url=wire.url, doc=a_baton("ours"), code=3)
    assert wire.get("work")["context"] == "theirs"


def test_the_same_document_from_both_sides_is_no_conflict(cache, wire):
    wire.put("work", a_baton("same"))
    assert cache("write", "work", url=wire.url, doc=a_baton("same")).json["status"] == "synced"


def test_a_copy_of_a_rejected_document_is_kept_when_a_newer_one_replaces_it(cache, wire, folder, conflict):
    cache("write", "work", url=wire.url, doc=a_baton("newer"), code=3)
    assert a_baton("ours", a_loop(1, action="Shipped")) in kept_copies(folder)
    assert cached(folder, "work")["context"] == "newer"


def test_records_archived_by_the_server_are_reported(cache, counting, folder):
    class Archiving(Wire):
        def write(self, body):
            status, answer = super().write(body)
            return status, {**answer, "archived": ["OL-7"]}

    counting.__class__ = Archiving
    done = cache("write", "work", url=counting.url, doc=a_baton("one"))
    assert done.json["archived"] == ["OL-7"]
    assert "archived, because the document does not contain them: OL-7" in done.err


def test_a_write_to_a_server_with_revisions_sends_the_expected_revision(cache, counting):
    cache("write", "work", url=counting.url, doc=a_baton("one"))
    counting.asked.clear()
    cache("write", "work", url=counting.url, doc=a_baton("two"))
    ((path, body),) = counting.asked
    assert path == "/v1/baton/write"
    assert body["expected_revision"] == 1


def test_the_first_write_expects_revision_zero(cache, counting):
    cache("write", "work", url=counting.url, doc=a_baton("one"))
    expected = [body.get("expected_revision") for path, body in counting.asked if path.endswith("write")]
    assert expected == [0, None]  # memory-hall refuses revision 0, so the document is written without it
    assert counting.get("work")["context"] == "one"


def test_two_writes_in_one_second_differ_by_the_revision(cache, counting):
    cache("write", "work", url=counting.url, doc=a_baton("one"))
    time = counting.batons["work"][1]
    counting.batons["work"] = (a_baton("theirs"), time, 2)
    cache("write", "work", url=counting.url, doc=a_baton("two"), code=3)
    assert counting.get("work")["context"] == "theirs"


# --- other clients, and damaged files


def test_documents_marked_dirty_by_another_client_are_sent(cache, wire, folder):
    cache("write", "work", url=wire.url, doc=a_baton("one"))
    (folder / "work.json").write_text(json.dumps({**a_baton("edited"), "_sync_status": "synced"}))
    mark_dirty(folder, "work")
    assert cache("status", "--json").json[0]["status"] == "pending_upload"
    cache("send", url=wire.url)
    assert wire.get("work")["context"] == "edited"


def test_a_file_that_another_client_changed_counts_as_waiting(cache, wire, folder):
    cache("write", "work", url=wire.url, doc=a_baton("one"))
    (folder / "work.json").write_text(json.dumps({**a_baton("edited"), "_sync_status": "synced"}))
    assert cache("status", "--json").json[0]["status"] == "pending_upload"
    (folder / "work.json").write_text(json.dumps({"_sync_status": "synced", **a_baton("one")}))
    assert cache("status", "--json").json[0]["status"] == "synced"


def test_a_file_of_the_original_client_without_sync_state_is_found_and_sent(cache, wire, folder):
    folder.mkdir(parents=True)
    (folder / "work.json").write_text(json.dumps({**a_baton("theirs"), "_sync_status": "pending_upload"}))
    assert cache("status", "--json").json == [
        {"namespace": "work", "file": "work.json", "status": "pending_upload", "url": None, "updated_at": None,
         "revision": None}
    ]  # fmt: skip
    cache("send", "--all", url=wire.url)
    assert wire.get("work")["context"] == "theirs"


def test_a_file_whose_namespace_is_unknown_is_sent_only_by_name(cache, wire, folder):
    folder.mkdir(parents=True)
    (folder / "a_b.json").write_text(json.dumps({**a_baton("whose"), "_sync_status": "pending_upload"}))
    (listed,) = cache("status", "--json").json
    assert listed["namespace"] is None
    cache("send", "--all", url=wire.url)
    assert cache("read", "a:b", url=wire.url).json["baton"] is None
    assert wire.batons == {}
    cache("send", "a/b", url=wire.url)
    assert wire.get("a/b")["context"] == "whose"


def test_a_copy_is_kept_of_a_file_that_may_be_of_another_namespace(cache, wire, folder):
    folder.mkdir(parents=True)
    (folder / "a_b.json").write_text(json.dumps({**a_baton("whose"), "_sync_status": "pending_upload"}))
    done = cache("write", "a:b", url=wire.url, doc=a_baton("mine"))
    assert "may belong to another namespace" in done.err
    assert a_baton("whose") in kept_copies(folder)
    assert wire.get("a:b")["context"] == "mine"


def test_two_namespaces_with_one_file_name_both_keep_their_batons(cache, wire, folder):
    cache("write", "a/b", url=wire.url, doc=a_baton("first"))
    done = cache("write", "a:b", url=wire.url, doc=a_baton("second"))
    assert "because a/b has the same file name" in done.err
    assert cached(folder, "a_b")["context"] == "first"
    for name, context in (("a/b", "first"), ("a:b", "second")):
        assert wire.get(name)["context"] == context
    wire.answer = lambda *_: (503, {})
    cache("write", "a:b", url=wire.url, doc=a_baton("third"))
    for name, context in (("a/b", "first"), ("a:b", "third")):
        assert cache("read", name, url=wire.url).json["baton"]["context"] == context
    assert cached(folder, "a_b")["context"] == "first"
    listed = {one["namespace"]: one for one in cache("status", "--json").json}
    assert listed["a:b"]["shared_with"] == "a/b"
    assert listed["a:b"]["status"] == "pending_upload"


def test_a_damaged_cache_file_is_reported_and_kept_aside(cache, wire, folder):
    cache("write", "work", url=wire.url, doc=a_baton("one"))
    (folder / "work.json").write_text('{"context": "torn')
    assert "cannot be read" in cache("status").out
    done = cache("read", "work", url=wire.url)
    assert done.json["baton"]["context"] == "one"
    assert "cannot be read" in done.err
    (bad,) = (folder / ".baton" / "kept").glob("*.bad")
    assert bad.read_text() == '{"context": "torn'
    assert cached(folder, "work")["context"] == "one"


def test_offline_a_damaged_cache_file_does_not_hide_the_pending_document(cache, wire, folder):
    cache("write", "work", url=NOWHERE, doc=a_baton("waits"))
    (folder / "work.json").write_bytes(b"\xff\x00")
    done = cache("read", "work", url=NOWHERE)
    assert done.json["baton"]["context"] == "waits"
    assert "cannot be read" in done.err
    assert (folder / "work.json").read_bytes() == b"\xff\x00"


def test_a_damaged_sync_state_is_kept_aside_and_the_document_still_counts(cache, wire, folder):
    cache("write", "work", url=wire.url, doc=a_baton("one"))
    (folder / ".baton" / "work.json").write_text('{"namespace": "other"}')
    done = cache("read", "work", url=wire.url)
    assert done.json["baton"]["context"] == "one"
    (bad,) = (folder / ".baton" / "kept").glob("*.bad")
    assert bad.read_text() == '{"namespace": "other"}'


def test_a_pending_document_overwritten_by_another_client_is_kept(cache, wire, folder):
    cache("write", "work", url=NOWHERE, doc=a_baton("waits"))
    (folder / "work.json").write_text(json.dumps({**a_baton("over it"), "_sync_status": "synced"}))
    cache("write", "work", url=NOWHERE, doc=a_baton("third"))
    assert [one["context"] for one in kept_copies(folder)].count("waits") == 1
    assert "over it" in [one["context"] for one in kept_copies(folder)]


def test_a_folder_in_the_place_of_the_file_is_an_error_and_kept(cache, wire, folder):
    (folder / "work.json").mkdir(parents=True)
    done = cache("read", "work", url=wire.url, code=2)
    assert "Traceback" not in done.err
    assert (folder / "work.json").is_dir()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("call", "moment"), [*(("os.replace", moment) for moment in (1, 2, 3, 4)), ("os.fsync", 1), ("os.fsync", 3)]
)
def test_a_kill_at_any_moment_loses_neither_the_old_nor_the_new_document(plain, folder, cache, call, moment, tmp_path):
    wire = plain
    cache("write", "work", url=wire.url, doc=a_baton("old"))
    (tmp_path / "new.json").write_text(json.dumps(a_baton("new")))
    code = f"""
import os, signal, sys
calls, real = 0, {call}
def dying(*args, **rest):
    global calls
    calls += 1
    if calls == {moment}:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*args, **rest)
{call} = dying
from baton_git.interfaces.cli import main
sys.argv = ["baton", "cache", "write", "work", "--url", {wire.url!r}, "--file", {str(tmp_path / "new.json")!r}]
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=dict(os.environ))
    assert done.returncode == -signal.SIGKILL  # two files are written before the document is sent, two after it
    found = cache("read", "work", url=wire.url)
    assert found.json["baton"]["context"] in ("old", "new")
    assert wire.get("work")["context"] == found.json["baton"]["context"]
    assert "conflict" not in found.err
    if call == "os.replace" and moment > 1:
        assert found.json["baton"]["context"] == "new"
    assert json.loads((folder / "work.json").read_text())["context"] == found.json["baton"]["context"]


@pytest.mark.slow
def test_concurrent_cache_writes_all_reach_the_server(folder, counting, tmp_path):
    names = [f"n{number % 2}" for number in range(6)]
    for number, name in enumerate(names):
        (tmp_path / f"{number}.json").write_text(json.dumps(a_baton(f"{name}-{number}")))

    def write(number):
        words = ["write", names[number], "--url", counting.url, "--file", str(tmp_path / f"{number}.json")]
        done = subprocess.run([sys.executable, "-m", "baton_git", "cache", *words], capture_output=True, text=True)
        return done.returncode

    with ThreadPoolExecutor(6) as pool:
        codes = list(pool.map(write, range(6)))
    assert codes == [0] * 6
    assert {name: entry[2] for name, entry in counting.batons.items()} == {"n0": 3, "n1": 3}
    for name in set(names):
        assert cached(folder, name) == {**counting.get(name), "_sync_status": "synced"}


def test_a_busy_namespace_is_read_from_the_cache_at_once(cache, wire, folder):
    cache("write", "work", url=wire.url, doc=a_baton("one"))
    with CacheFolder(folder).lock(Namespace("work"), 1):
        done = cache("read", "work", "--timeout", "0.2", url=wire.url)
    assert done.json["baton"]["context"] == "one"
    assert "another process works on the cache" in done.err


def test_a_write_waits_for_another_process_only_until_its_time_limit(wire, folder):
    cache_folder = CacheFolder(folder)
    with cache_folder.lock(Namespace("work"), 1), pytest.raises(Busy):
        write_baton(BatonCache(cache_folder, BatonServer(ServerAddress.parse(wire.url)), wait=0.1), "work", a_baton())
    assert wire.batons == {}


# --- a document that the server refuses


@pytest.fixture(params=[422, 413])
def picky(wire, request):
    """Make the server reject a document with the context `bad`."""
    usual = wire.answer

    def answer(path, body, token):
        if body.get("baton", {}).get("context") == "bad":
            return request.param, {"detail": "it has a fault"}
        return usual(path, body, token)

    wire.answer = answer
    return wire


def test_a_rejected_document_does_not_delay_the_start_of_a_session(cache, picky, folder):
    picky.put("work", a_baton("theirs"))
    cache("read", "work", url=picky.url)
    cache("write", "work", url=picky.url, doc=a_baton("bad"), code=1)
    done = cache("read", "work", "--json", url=picky.url)
    assert (done.json["baton"], done.json["source"]) == (a_baton("theirs"), "server")
    assert "it has a fault" in done.json["refused"]
    assert "it has a fault" in done.err
    assert "the server refused the document that waits in the cache" in done.err
    assert done.json["status"] == "pending_upload"
    assert cached(folder, "work")["context"] == "bad"


def test_without_a_document_on_the_server_the_rejected_one_is_read(cache, picky):
    cache("write", "work", url=picky.url, doc=a_baton("bad"), code=1)
    done = cache("read", "work", "--json", url=picky.url)
    assert (done.json["baton"]["context"], done.json["source"]) == ("bad", "cache")
    assert "it has a fault" in done.json["refused"]


def test_if_the_server_refuses_reads_too_the_cache_is_read(cache, picky):
    picky.put("work", a_baton("theirs"))
    cache("read", "work", url=picky.url)
    cache("write", "work", url=picky.url, doc=a_baton("bad"), code=1)
    usual = picky.answer
    picky.answer = lambda path, *rest: (500, {}) if path.endswith("read") else usual(path, *rest)
    done = cache("read", "work", "--json", url=picky.url)
    assert (done.json["baton"]["context"], done.json["source"]) == ("bad", "cache")


def test_the_corrected_document_is_sent_and_the_refused_one_kept(cache, picky, folder):
    cache("write", "work", url=picky.url, doc=a_baton("bad"), code=1)
    done = cache("write", "work", url=picky.url, doc=a_baton("good"))
    assert done.json["status"] == "synced"
    assert picky.get("work")["context"] == "good"
    assert kept_copies(folder) == [a_baton("bad")]
    assert cached(folder, "work") == {**a_baton("good"), "_sync_status": "synced"}


# --- the server's address and the token


def test_the_server_is_named_by_option_variable_or_the_users_setting(cache, wire):
    assert "no server is named" in cache("read", "work", code=2).err
    wire.put("work", a_baton("x"))
    setting = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "baton.url", "GIT_CONFIG_VALUE_0": wire.url}
    for env in ({"BATON_URL": wire.url}, setting, {"BATON_URL": wire.url, **setting}):
        assert cache("read", "work", env=env).json["baton"]["context"] == "x"


def test_the_repositorys_configuration_cannot_choose_the_server_of_the_token(cache, wire, git, top):
    git(top, "config", "baton.url", wire.url)
    assert "no server is named" in cache("read", "work", code=2).err
    assert wire.asked == []


@pytest.mark.parametrize(
    "url", ["http://user:secret@h", "ftp://h", "h:1", "http://h/?q=1", "http://h#f", "", "http://"]
)
def test_an_invalid_server_address_is_rejected(cache, url):
    done = cache("read", "work", "--url", url, code=2)
    assert "secret" not in done.err


def test_the_token_comes_from_the_environment_and_is_never_shown(cache, folder):
    with served(Wire(token="s3same")) as wire:
        done = cache("read", "work", url=wire.url, code=1)
        assert "a token is required (401)" in done.err
        assert "set BATON_API_TOKEN" in done.err
        done = cache("write", "work", url=wire.url, doc=a_baton("x"), code=1, env={"BATON_API_TOKEN": "wr0ng"})
        assert "the token is wrong (401)" in done.err
        assert "the document waits in the local cache" in done.err
        assert "wr0ng" not in done.err + done.out
        done = cache("send", url=wire.url, env={"BATON_API_TOKEN": "s3same"})
        assert wire.get("work")["context"] == "x"
    texts = [path.read_text() for path in folder.rglob("*") if path.is_file()]
    assert not any("s3same" in text or "wr0ng" in text for text in texts)


def test_a_newer_document_is_kept_if_the_server_rejects_the_pending_one(cache, folder):
    with served(Wire(token="s3same")) as wire:
        for context in ("one", "two"):
            cache("write", "work", url=wire.url, doc=a_baton(context), code=1)
    assert cached(folder, "work")["context"] == "two"
    assert [one["context"] for one in kept_copies(folder)] == ["one"]


# --- a write that failed


@pytest.mark.parametrize("known", [True, False])
def test_a_document_whose_file_could_not_be_written_is_not_sent_later(cache, wire, folder, monkeypatch, known):
    if known:
        cache("write", "work", url=wire.url, doc=a_baton("old"))
    real = Path.replace

    def refused(self, target):
        if Path(target).name == "work.json" and Path(target).parent == folder:
            raise OSError(errno.EIO, "Input/output error")
        return real(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", refused)
        failed = cache("write", "work", url=wire.url, doc=a_baton("refused"), code=1)
    assert "nothing was changed" in failed.err
    cache("send", "work", url=wire.url, code=0 if known else 1)
    assert [one["context"] for one, *_ in wire.batons.values()] == (["old"] if known else [])
