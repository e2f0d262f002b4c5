"""JSON responses for any stored data, including values that JSON cannot represent."""

from __future__ import annotations

import json
import math
from typing import Any

from starlette.responses import Response

from baton_git.core.names import Oid
from baton_git.core.output import safe_json
from baton_git.interfaces.http.json_response import json_bytes

NOTHING: Any = object()


def answer(data: Any, status: int = 200, *, commit: Oid | None = NOTHING, **options: Any) -> Response:
    """Return `data` as JSON, with an ETag if `commit` is passed: that of the commit, or for None that of a missing
    namespace. `options` are passed to `json.dumps`."""
    headers = {} if commit is NOTHING else {"ETag": tag(commit)}
    return Response(_bytes(data, default=str, **options), status, headers, "application/json")


def _bytes(data: Any, **options: Any) -> bytes:
    try:
        return json_bytes(data, **options)
    except ValueError:  # half of a surrogate pair, or a number that JSON does not have
        text = json.dumps(_replace_unsafe(data), ensure_ascii=False, allow_nan=False, **options)
        return safe_json(text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")).encode()


def _replace_unsafe(data: Any) -> Any:
    if isinstance(data, dict):
        return {str(name): _replace_unsafe(value) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [_replace_unsafe(item) for item in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


def tag(commit: Oid | None) -> str:
    """Return the ETag of a commit; for a namespace that does not exist, an ETag that no commit has."""
    return f'"{commit}"' if commit is not None else '"none"'


def is_named(header: str, commit: Oid | None) -> bool:
    """Return whether an If-Match or If-None-Match header contains the ETag; `*` matches every commit."""
    tags = {value.strip().removeprefix("W/") for value in header.split(",")}
    return tag(commit) in tags or (commit is not None and "*" in tags)
