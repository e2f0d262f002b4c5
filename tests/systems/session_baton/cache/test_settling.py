"""`baton cache send --ours, --theirs, --merge`: they apply only to documents of this namespace that were shown."""

from __future__ import annotations

import pytest
from cached_batons import NOWHERE, a_baton, a_loop

CHOICES = pytest.mark.parametrize("choice", ["--ours", "--theirs", "--merge"])


def kept_copies(folder):
    return sorted((folder / ".baton" / "kept").glob("*"))


@CHOICES
def test_an_unseen_conflict_is_shown_before_anything_is_replaced(cache, wire, folder, choice):
    cache("write", "work", url=wire.url, doc=a_baton("seen"))
    wire.put("work", a_baton("unseen"))
    done = cache("send", "work", choice, url=wire.url, code=3)
    assert "baton: conflict" in done.err
    assert "unseen" in done.err
    assert wire.get("work")["context"] == "unseen"
    assert not kept_copies(folder)
    cache("send", "work", choice, url=wire.url)
    assert wire.get("work")["context"] == ("seen" if choice == "--ours" else "unseen")


@CHOICES
def test_a_pending_document_is_compared_before_it_is_sent(cache, wire, folder, choice):
    cache("write", "work", url=wire.url, doc=a_baton("base"))
    answer, wire.answer = wire.answer, lambda *_: (503, {})
    cache("write", "work", url=wire.url, doc=a_baton("waits"))
    wire.answer = answer
    wire.put("work", a_baton("unseen"))
    cache("send", "work", choice, url=wire.url, code=3)
    assert wire.get("work")["context"] == "unseen"
    assert not kept_copies(folder)
    assert cache("status", "--json").json[0]["status"] == "conflict"


@CHOICES
def test_a_newer_document_of_the_server_is_shown_before_a_resolution(cache, wire, folder, choice):
    cache("write", "work", url=wire.url, doc=a_baton("base"))
    wire.put("work", a_baton("shown"))
    cache("write", "work", url=wire.url, doc=a_baton("ours"), code=3)
    wire.put("work", a_baton("newer still"))
    done = cache("send", "work", choice, url=wire.url, code=3)
    assert "newer still" in done.err
    assert wire.get("work")["context"] == "newer still"
    assert not kept_copies(folder)
    cache("send", "work", choice, url=wire.url)


def test_a_change_without_a_new_time_is_still_a_change(cache, wire):
    cache("write", "work", url=wire.url, doc=a_baton("base"))
    wire.put("work", a_baton("shown"))
    cache("write", "work", url=wire.url, doc=a_baton("ours"), code=3)
    _, time, revision = wire.batons["work"]
    wire.batons["work"] = (a_baton("in the same second"), time, revision + 1)
    cache("send", "work", "--ours", url=wire.url, code=3)
    assert wire.get("work")["context"] == "in the same second"


@pytest.mark.parametrize("words", [["--merge", "--ours"], ["--ours", "--theirs"], ["--theirs", "--merge"]])
def test_two_resolutions_at_once_are_a_usage_error(cache, wire, words):
    cache("write", "work", url=wire.url, doc=a_baton("one"))
    wire.asked.clear()
    done = cache("send", "work", *words, url=wire.url, code=2)
    assert words[0] in done.err
    assert words[1] in done.err
    assert wire.asked == []


@CHOICES
def test_resolving_without_a_conflict_is_reported_and_changes_nothing(cache, wire, folder, choice):
    cache("write", "work", url=wire.url, doc=a_baton("one"))
    count = wire.writes
    for _ in range(2):
        assert "no conflict to resolve" in cache("send", "work", choice, url=wire.url).err
    assert wire.writes == count
    assert not kept_copies(folder)


# --- another url


def test_a_document_pending_for_another_url_can_be_sent_here_by_name(cache, wire):
    cache("write", "work", url=wire.url, doc=a_baton("base"))
    answer, wire.answer = wire.answer, lambda *_: (503, {})
    cache("write", "work", url=wire.url, doc=a_baton("waits"))
    wire.answer = answer
    other = wire.url.replace("127.0.0.1", "localhost")
    done = cache("send", url=other, code=1)
    assert f"work: the document waits for {wire.url}" in done.err
    assert f"baton cache send work --url {other}" in done.err
    done = cache("read", "work", "--json", url=other)
    assert done.json["baton"]["context"] == "waits"
    assert done.json["source"] == "cache"
    assert f"baton cache send work --url {other}" in done.err
    cache("send", "work", url=other)
    assert wire.get("work")["context"] == "waits"
    assert cache("status", "--json").json[0]["url"] == other


def test_a_document_pending_for_another_url_is_read_if_the_server_has_none(cache, wire):
    cache("write", "work", url=NOWHERE, doc=a_baton("waits"))
    done = cache("read", "work", url=wire.url)
    assert done.json["baton"]["context"] == "waits"
    assert f"waits for {NOWHERE}" in done.err
    cache("send", "work", url=wire.url)
    assert wire.get("work")["context"] == "waits"


def test_a_document_sent_to_another_url_replaces_nothing_unseen(cache, wire):
    cache("write", "work", url=NOWHERE, doc=a_baton("waits"))
    wire.put("work", a_baton("unseen"))
    done = cache("send", "work", url=wire.url, code=3)
    assert "unseen" in done.err
    assert wire.get("work")["context"] == "unseen"
    cache("send", "work", "--ours", url=wire.url)
    assert wire.get("work")["context"] == "waits"


def test_an_unreachable_url_changes_nothing(cache, wire):
    cache("write", "work", url=wire.url, doc=a_baton("base"))
    answer, wire.answer = wire.answer, lambda *_: (503, {})
    cache("write", "work", url=wire.url, doc=a_baton("waits"))
    wire.answer = answer
    cache("send", "work", url=NOWHERE, code=1)
    assert cache("status", "--json").json[0]["url"] == wire.url
    cache("send", url=wire.url)
    assert wire.get("work")["context"] == "waits"


# --- secrets

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def test_secrets_are_redacted_before_anything_is_stored_or_sent(cache, wire, folder):
    done = cache("write", "work", url=wire.url, doc=a_baton(f"with {SECRET}", a_loop(1, action=f"use {SECRET}")))
    assert "redacted: github token in context" in done.err
    assert "open_loops[0].action" in done.err
    assert {one["path"] for one in done.json["redactions"]} == {"context", "open_loops[0].action"}
    assert SECRET not in str(wire.history)
    assert not any(SECRET in path.read_text() for path in folder.rglob("*") if path.is_file())
    assert wire.get("work")["context"] == "with [redacted: github token]"


def test_pending_documents_are_redacted_and_that_is_reported(cache, plain, folder):
    plain.answer = lambda *_: (401, {})
    done = cache("write", "work", url=plain.url, doc=a_baton(SECRET), code=1)
    assert "redacted: github token in context" in done.err
    assert "the document waits in the local cache" in done.err
    assert not any(SECRET in path.read_text() for path in folder.rglob("*") if path.is_file())


def test_the_servers_document_is_read_unchanged(cache, wire):
    wire.put("work", a_baton(SECRET))
    assert cache("read", "work", url=wire.url).json["baton"]["context"] == SECRET
    wire.answer = lambda *_: (503, {})
    assert cache("read", "work", url=wire.url).json["baton"]["context"] == SECRET


# --- damaged and shared files


@pytest.mark.parametrize("place", ["work.json", ".baton/work.json"])
def test_a_folder_in_the_place_of_a_file_is_reported_with_its_path(cache, wire, folder, place):
    (folder / place).mkdir(parents=True)
    for words in ({"doc": a_baton()}, {}):
        done = cache("write" if words else "read", "work", url=wire.url, code=2, **words)
        assert done.err == f"baton: {folder / place} is not a regular file\n"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"namespace": "work", "url": ""}', "\xff"])
def test_a_damaged_sync_state_is_reported_without_python_error_names(cache, wire, folder, text):
    cache("write", "work", url=wire.url, doc=a_baton())
    (folder / ".baton" / "work.json").write_bytes(text.encode("latin-1"))
    shown = cache("status").out
    assert "is damaged" in shown
    assert "Error" not in shown
    assert "Document" not in shown


def test_only_one_of_two_namespaces_that_claim_a_file_owns_it(cache, wire, folder):
    cache("write", "a/b", url=wire.url, doc=a_baton("first"))
    cache("write", "a:b", url=wire.url, doc=a_baton("second"))
    one, two = (folder / ".baton" / f"{name}.json" for name in ("a%2fb", "a%3ab"))
    two.write_text(two.read_text().replace('"owns": false', '"owns": true'))
    listed = {one["namespace"]: one.get("shared_with") for one in cache("status", "--json").json}
    assert listed == {"a/b": None, "a:b": "a/b"}
    one.write_text("{}")
    two.write_text("{}")
    listed = {one["namespace"]: one.get("shared_with") for one in cache("status", "--json").json}
    assert listed == {"a/b": None, "a:b": "a/b"}


def test_the_namespace_that_wrote_the_file_owns_it(cache, wire, folder):
    cache("write", "a:b", url=wire.url, doc=a_baton("first"))
    cache("write", "a/b", url=wire.url, doc=a_baton("second"))
    sync_state = folder / ".baton" / "a%2fb.json"
    sync_state.write_text(sync_state.read_text().replace('"owns": false', '"owns": true'))
    listed = {one["namespace"]: one.get("shared_with") for one in cache("status", "--json").json}
    assert listed == {"a:b": None, "a/b": "a:b"}
