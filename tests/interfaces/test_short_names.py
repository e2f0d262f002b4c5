"""Short names of sessions and ids of records, as they are shown, are accepted by every verb in every interface."""

from __future__ import annotations

import pytest
from verb_drivers import DRIVERS, Driver

from baton_git.verbs.table import all_verbs

UUID = "7f3e9a52-1c44-4c1e-9a0d-5b7d2f5e8a11"


@pytest.mark.parametrize("interface", DRIVERS)
def test_the_short_name_of_a_session_acts_in_it_in_every_interface(baton, top, monkeypatch, interface):
    monkeypatch.chdir(top)
    verbs = all_verbs()
    library = Driver(top, "work", UUID, baton)
    library.call(verbs["boot"], {"sync_seconds": 0})
    with DRIVERS[interface](top, "work", UUID[:8], baton) as driver:
        added = driver.call(verbs["followup add"], {"item": "Later"}).data["id"]
        (newest, *_) = library.call(verbs["log"], {"by_session": UUID[:8]}).data["commits"]
        assert (newest["session"], newest["subject"]) == (UUID, f"{added} added: Later")
        told = driver.call(verbs["log"], {"record": UUID[:8]}).data
        commits = told if isinstance(told, list) else told["commits"]  # the command prints the list alone
        assert [one["subject"] for one in commits] == [f"session {UUID} started"]
        assert driver.call(verbs["todo add"], {"text": "Plan"}).data is not None
        named = driver if driver.has(verbs["record"], {}) else library
        shown = named.call(verbs["record"], {"kind": "session", "id": UUID[:8]}).data["record"]
        assert shown["todos"] == [{"content": "Plan", "status": "pending"}]
        assert driver.call(verbs["wrap"], {"context": "Done"}).data["session"] == UUID
    assert [one["id"] for one in library.call(verbs["session lineage"], {}).data["sessions"]] == [UUID]
    undone = library.call(verbs["rollback"], {"of_session": UUID[:8], "yes": True})
    assert added in [one["id"] for one in undone.data["changes"]], undone
