"""What a page showed, in a few characters: a form brings them back, so that a click means what was seen."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any


def digest(*values: Any) -> str:
    """The same for the same plain data, and for no other."""
    text = json.dumps(values, ensure_ascii=True, sort_keys=True, default=str)
    return sha256(text.encode()).hexdigest()[:32]
