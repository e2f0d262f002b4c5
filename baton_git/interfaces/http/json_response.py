"""JSON responses that are safe to print on a terminal: control characters are escaped as `\\uXXXX`."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import JSONResponse

from baton_git.core.output import safe_json


def json_bytes(data: Any, **options: Any) -> bytes:
    """Return `data` as JSON in UTF-8; `options` are passed to `json.dumps`.

    Raises:
        ValueError: `data` contains an unpaired surrogate, or a number that JSON cannot represent.
    """
    return safe_json(json.dumps(data, ensure_ascii=False, allow_nan=False, **options)).encode()


class SafeJSONResponse(JSONResponse):
    """Starlette's JSON response with unsafe characters escaped."""

    def render(self, content: Any) -> bytes:
        return json_bytes(content, separators=(",", ":"))


def compact(data: Any) -> bytes:
    """Return data as JSON in session-baton's form: without spaces, and without escapes for non-ASCII characters."""
    return json_bytes(data, separators=(",", ":"))
