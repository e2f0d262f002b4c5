"""How many secrets of a corpus are redacted, and how many harmless texts are kept."""

from __future__ import annotations

from secret_corpus import harmless, secrets

from baton_git.core.redaction import redact_text


def test_at_least_95_percent_of_each_kind_of_secret_is_redacted() -> None:
    planted = list(secrets())
    assert len({one.kind for one in planted}) >= 150
    missed = [one for one in planted if one.secret[-6:] in redact_text(one.text)[0]]
    assert len(missed) <= 0.05 * len(planted), missed
    assert len({one.kind for one in missed}) <= 0.05 * len({one.kind for one in planted}), missed


def test_at_most_1_percent_of_harmless_texts_is_changed() -> None:
    texts = list(harmless())
    assert len(set(texts)) >= 300
    changed = [redact_text(text)[0] for text in texts if redact_text(text)[1]]
    assert len(changed) <= 0.01 * len(texts), changed
