"""The verbs of identities: create one once, show it, check texts against it. Its immutable part never changes."""

from __future__ import annotations

import resource

import pytest
from world import NOW, all_bytes, by_hand, files, later, stored

from baton_git.core.errors import (
    BatonError,
    InvalidArgument,
    InvalidDocument,
    InvalidName,
    LimitExceeded,
    NotAllowed,
    NotFound,
)
from baton_git.systems.paif.checkpoints import restore, save_checkpoint
from baton_git.systems.paif.identity_verbs import (
    ShowIdentity,
    check_text,
    check_words,
    init_identity,
    show_agent_identity,
    show_identity,
)

DOCUMENT = {"immutable": {"purpose": {"statement": "Keep the memory"}, "values": {"primary": "honesty"}}}


def test_an_identity_is_one_file_of_the_agent(ws):
    made = init_identity(ws, NOW, "zero", DOCUMENT)
    assert made.id == "zero"
    assert "identity/zero.toml" in files(ws)
    assert show_identity(ws, "zero").immutable.purpose.statement == "Keep the memory"


def test_an_identity_with_a_field_called_agent_is_shown(ws):
    init_identity(ws, NOW, "zero", DOCUMENT)
    text = files(ws)["identity/zero.toml"]
    by_hand(ws, {"identity/zero.toml": b'agent = "x"\n' + text})
    shown = show_agent_identity(ws, NOW, ShowIdentity(agent="zero"))
    assert (shown.agent, shown.immutable["purpose"]["statement"]) == ("zero", "Keep the memory")


def test_no_verb_changes_immutable_fields(ws):
    init_identity(ws, NOW, "zero", DOCUMENT)
    before = stored(ws, "identity", "zero").immutable
    body = {
        "conversation_summary": "x", "new_beliefs": [{"subject": "s", "confidence": 1}], "immutable": {"purpose": {}},
        "identity_updates": {"immutable": {"purpose": {"statement": "evil"}}},
    }  # fmt: skip
    save_checkpoint(ws, NOW, "zero", body)
    restore(ws, NOW, "zero")
    check_text(ws, NOW, "zero", "maybe")
    with pytest.raises(NotAllowed, match="agent zero already has an identity"):
        init_identity(ws, NOW, "zero", {"immutable": {"purpose": {"statement": "evil"}}})
    assert stored(ws, "identity", "zero").immutable == before


def test_a_second_identical_init_is_rejected_and_writes_nothing(ws):
    init_identity(ws, NOW, "zero", DOCUMENT)
    before = ws.branch.read().commit
    with pytest.raises(NotAllowed):
        init_identity(ws, NOW, "zero", DOCUMENT)
    assert ws.branch.read().commit == before


def test_an_agent_that_was_restored_first_gets_its_identity_later(ws):
    save_checkpoint(ws, NOW, "zero", {"conversation_summary": "x"})
    restore(ws, NOW, "zero")
    init_identity(ws, later(minutes=1), "zero", DOCUMENT)
    identity = stored(ws, "identity", "zero")
    assert identity.immutable.purpose.statement == "Keep the memory"
    assert identity.mutable.state.accumulated_experience == 1


@pytest.mark.parametrize(
    ("agent", "document", "error"),
    [("a/b", DOCUMENT, InvalidName), ("zero", {}, InvalidDocument),
     ("zero", {"agent_id": "one", **DOCUMENT}, InvalidDocument),
     ("zero", {"immutable": {"purpose": "x"}}, InvalidDocument), ("zero", {"immutable": ["x"]}, InvalidDocument),
     ("zero", {"purpose": {"statement": "x" * 300_000}}, LimitExceeded)],
)  # fmt: skip
def test_an_invalid_identity_writes_nothing(ws, agent, document, error):
    with pytest.raises(error):
        init_identity(ws, NOW, agent, document)
    assert ws.branch.read().commit is None


def test_passed_and_failed_drift_checks_are_counted(ws):
    init_identity(ws, NOW, "zero", DOCUMENT)
    result = check_text(ws, NOW, "zero", "How can I help?")
    assert result.drift.categories == ("Subservience",)
    assert "PURPOSE: Keep the memory" in result.prompt
    assert not check_text(ws, NOW, "zero", "Done.").drift
    counts = stored(ws, "identity", "zero").mutable.state.drift_checks
    assert (counts.passed, counts.failed) == (1, 1)


def test_a_check_that_is_not_counted_writes_nothing(ws):
    init_identity(ws, NOW, "zero", DOCUMENT)
    before = ws.branch.read().commit
    assert check_text(ws, NOW, "zero", "maybe", count=False).written is None
    assert check_words("maybe").drift
    assert ws.branch.read().commit == before


@pytest.mark.parametrize(("agent", "text", "error"), [("claude", "x", NotFound), ("zero", " ", InvalidArgument),
                                                      ("..", "x", InvalidName)])  # fmt: skip
def test_an_invalid_drift_check_writes_nothing(ws, agent, text, error):
    init_identity(ws, NOW, "zero", DOCUMENT)
    before = ws.branch.read().commit
    with pytest.raises(error):
        check_text(ws, NOW, agent, text)
    with pytest.raises(BatonError):
        show_identity(ws, "claude")
    assert ws.branch.read().commit == before


@pytest.mark.parametrize(
    "document",
    [{"purpose": {"statement": "  "}}, {"immutable": {"purpose": {"statement": "", "domains": ["\t"]}, "voice": {}}},
     {"origin": {"created_by": "human:Ada"}, "purpose": {"statement": " "}}],
)  # fmt: skip
def test_an_empty_identity_is_rejected(ws, document):
    with pytest.raises(InvalidDocument, match="immutable: has no values"):
        init_identity(ws, NOW, "zero", document)
    assert ws.branch.read().commit is None


@pytest.mark.parametrize("who", ["nobody", "", "human:", "agent: ", "Human:Ada", "ada human:x"])
def test_created_by_is_a_human_or_an_agent(ws, who):
    with pytest.raises(InvalidDocument, match=r"immutable\.origin\.created_by: must be human:NAME or agent:NAME"):
        init_identity(ws, NOW, "zero", {**DOCUMENT["immutable"], "origin": {"created_by": who}})
    for number, fine in enumerate(("human:Ada Lovelace", "agent:zero")):
        init_identity(ws, NOW, f"n{number}", {**DOCUMENT["immutable"], "origin": {"created_by": fine}})


def test_secrets_of_an_identity_are_not_stored(ws):
    token = "ghp_" + "a1B2" * 9
    made = init_identity(ws, NOW, "zero", {"purpose": {"statement": f"use token={token}"}})
    save_checkpoint(ws, NOW, "zero", {"current_focus": token, "new_beliefs": [{"subject": token, "confidence": 1}]})
    assert token.encode() not in all_bytes(ws)
    assert [one.path for _, one in made.written.redactions] == ["immutable.purpose.statement"]


def test_a_drift_check_that_cannot_be_counted_still_returns_its_result(ws):
    init_identity(ws, NOW, "zero", DOCUMENT)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        result = check_text(ws, NOW, "zero", "maybe")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert result.drift
    assert result.uncounted is not None
    assert stored(ws, "identity", "zero").mutable.state.drift_checks.failed == 0
