"""A digest of what a page showed. A form sends it back, so that a click applies only to what the person saw."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any


def digest(*values: Any) -> str:
    """Return a digest of plain data; different data has different digests."""
    text = json.dumps(values, ensure_ascii=True, sort_keys=True, default=str)
    return sha256(text.encode()).hexdigest()[:32]
