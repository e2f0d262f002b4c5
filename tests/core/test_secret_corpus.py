"""How many secrets of a corpus are redacted, and how many harmless texts are kept."""

from __future__ import annotations

import pytest
from secret_corpus import HELD_OUT, SEEN, harmless, secrets

from baton_git.core.redaction import redact_text


@pytest.mark.parametrize(("part", "number", "share"), [(SEEN, 600, 0.99), (HELD_OUT, 100, 0.93)])
def test_nearly_every_kind_of_secret_is_redacted(part: str, number: int, share: float) -> None:
    planted = list(secrets(part))
    kinds = {one.kind for one in planted}
    assert len(kinds) >= number
    missed = {one.kind for one in planted if one.secret[-6:] in redact_text(one.text)[0]}
    assert len(missed) <= (1 - share) * len(kinds), missed


@pytest.mark.parametrize(("part", "number", "most"), [(SEEN, 500, 0), (HELD_OUT, 70, 1)])
def test_hardly_any_harmless_text_is_changed(part: str, number: int, most: int) -> None:
    texts = list(harmless(part))
    assert len(set(texts)) >= number
    changed = [redact_text(text)[0] for text in texts if redact_text(text)[1]]
    assert len(changed) <= most, changed
