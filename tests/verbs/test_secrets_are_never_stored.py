"""A planted secret reaches no object of the repository, whichever verb received it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from planted import SECRETS
from world import NOW, acting, document, workspace

from baton_git.core.errors import InvalidDocument
from baton_git.git.store import Repository, Store
from baton_git.systems.session_baton.document_writing import write_document
from baton_git.verbs.sessions.session_end import end_session
from baton_git.verbs.work_items.decisions import add_decision
from baton_git.verbs.work_items.followups import add_follow_up, defer_follow_up, finish_follow_up
from baton_git.verbs.work_items.loops import add_loop
from baton_git.verbs.work_items.patterns import record_pattern


def objects(folder: Path) -> bytes:
    """Return all objects of a repository, as git reads them."""
    done = subprocess.run(
        ["git", "-C", str(folder), "cat-file", "--batch-all-objects", "--batch"], capture_output=True, check=True
    )
    return done.stdout


KINDS = sorted(SECRETS)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, len(KINDS), 8), ids=lambda start: KINDS[start])
def test_no_object_contains_a_planted_secret(start, tmp_path_factory):
    # Ten characters and more: shorter ones occur by chance among the ids of objects.
    kinds = [SECRETS[kind].filter(lambda pair: len(pair[0]) >= 10) for kind in KINDS[start : start + 8]]

    @settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck))
    @given(planted=st.tuples(*kinds))
    def check(planted):
        folder = tmp_path_factory.mktemp("repository") / "state.git"
        with Store(Repository.create_bare(folder)) as store:
            for number, (_, text) in enumerate(planted):
                plant_everywhere(store, number, text)
        stored = objects(folder)
        assert not [secret for secret, _ in planted if secret.encode() in stored]

    check()


def plant_everywhere(store: Store, number: int, text: str) -> None:
    ws = workspace(store)
    add_loop(ws, NOW, action=f"did {text}", expect=text, verify={"method": "manual", "note": text})
    follow_up = add_follow_up(ws, NOW, item=f"do {text}", reason=text).id
    defer_follow_up(ws, NOW, follow_up, reason=f"because {text}")
    finish_follow_up(ws, NOW, follow_up, note=text)
    record_pattern(ws, NOW, what=f"saw {text}", context=text, rule=text)
    add_decision(ws, NOW, what=f"chose {text}", why=text, evidence=[text], rejected=[text])
    end_session(ws, NOW, context=f"Stands at:\n{text}", summary=text)
    extra = {"notes": [text, {"deep": {text[:100]: text}}], "id": f"FU-{number}", "item": text, "first_seen": text}
    write_document(acting(ws, None), NOW, document("s9", follow_ups=[extra], context=text, unknown=[[text]]))


def test_secrets_as_ids_or_session_names_are_rejected(tmp_path):
    secret = "ghp_" + "a1B2" * 9
    folder = tmp_path / "state.git"
    with Store(Repository.create_bare(folder)) as store:
        ws = workspace(store)
        with pytest.raises(InvalidDocument, match="holds a secret"):
            add_follow_up(ws, NOW, item="x", id=secret)
        with pytest.raises(InvalidDocument, match="holds a secret"):
            add_follow_up(workspace(store, session=secret), NOW, item="x")
    assert secret.encode() not in objects(folder)
