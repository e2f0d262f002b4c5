"""Answers as JSON: it never fails, whatever is stored, and says which version it is about."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from starlette.responses import Response

from baton_git.core.errors import NotFound
from baton_git.core.names import Oid
from baton_git.core.output import safe_json
from baton_git.interfaces.http.json_response import json_bytes
from baton_git.interfaces.http.reading import tag
from baton_git.interfaces.results import changed
from baton_git.namespace.revision import Revision, WriteResult

Item = TypeVar("Item")
NOTHING: Any = object()


def answer(data: Any, status: int = 200, *, commit: Oid | None = NOTHING) -> Response:
    """`data` as JSON; with the ETag of a version, where `commit` names one."""
    headers = {} if commit is NOTHING else {"ETag": tag(commit)}
    return Response(_bytes(data), status, headers, "application/json")


def written(data: dict[str, Any], done: WriteResult, status: int = 200) -> Response:
    """What a change answers: `data`, the version with its ETag, what changed, and what was taken out."""
    return answer({**data, **changed.told(done)}, status, commit=done.revision.commit)


def where(version: Revision) -> dict[str, Any]:
    """The namespace and the version that an answer is about."""
    return {"namespace": str(version.namespace), **changed.place(version)}


def page(items: Sequence[Item], limit: int, after: str | None, name: Callable[[Item], str]) -> tuple[list[Item], Any]:
    """The items that come after the one called `after`, and the name to go on from; None where these are the last.

    Raises:
        NotFound: none is called so.
    """
    begin = 0
    if after is not None:
        begin = next((number for number, one in enumerate(items, 1) if name(one) == after), 0)
        if not begin:
            raise NotFound("item to go on from", after, hint="begin again, without after")
    shown = list(items[begin : begin + limit])
    return shown, name(shown[-1]) if begin + limit < len(items) else None


def _bytes(data: Any) -> bytes:
    try:
        return json_bytes(data, default=str)
    except ValueError:  # half of a surrogate pair, or a number that JSON does not have
        text = json.dumps(_replace_unsafe(data), ensure_ascii=False, allow_nan=False, default=str)
        return safe_json(text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")).encode()


def _replace_unsafe(data: Any) -> Any:
    if isinstance(data, dict):
        return {str(name): _replace_unsafe(value) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [_replace_unsafe(one) for one in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data
