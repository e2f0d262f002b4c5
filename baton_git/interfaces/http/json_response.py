"""JSON answers whose text holds nothing that could steer a terminal: what is unsafe stands as `\\uXXXX`."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import JSONResponse

from baton_git.core.output import safe_json


def json_bytes(data: Any, **options: Any) -> bytes:
    """`data` as JSON in UTF-8; `options` are those of `json.dumps`.

    Raises:
        ValueError: it holds half of a surrogate pair, or a number that JSON does not have.
    """
    return safe_json(json.dumps(data, ensure_ascii=False, allow_nan=False, **options)).encode()


class SafeJSONResponse(JSONResponse):
    """As Starlette's, with unsafe characters escaped."""

    def render(self, content: Any) -> bytes:
        return json_bytes(content, separators=(",", ":"))
