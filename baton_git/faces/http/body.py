"""The body of a request as a model, with the answers that FastAPI gives to one that does not fit."""

from __future__ import annotations

import json
from typing import Any, NoReturn, TypeVar

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request

Model = TypeVar("Model", bound=BaseModel)


async def body_as(model: type[Model], request: Request) -> Model:
    """What a request brings.

    Raises:
        RequestValidationError: it is none, no JSON, not said to be JSON, or does not fit.
        HTTPException: 400, it cannot be read at all.
    """
    raw = await request.body()
    if not raw:
        _refuse("missing", "Field required", None)
    data = _parsed(raw) if _is_json(request.headers.get("content-type", "")) else raw.decode("utf-8", "replace")
    try:
        return model.model_validate(data, from_attributes=True)
    except ValidationError as error:
        faults = error.errors(include_url=False)
        raise RequestValidationError([{**one, "loc": ("body", *one["loc"])} for one in faults]) from None


def _is_json(kind: str) -> bool:
    """Only what no page of another site can send without asking first."""
    main = kind.partition(";")[0].strip().lower()
    return main == "application/json" or (main.startswith("application/") and main.endswith("+json"))


def _parsed(raw: bytes) -> Any:
    try:
        return json.loads(raw, object_pairs_hook=_table)
    except json.JSONDecodeError as error:
        _refuse("json_invalid", "JSON decode error", {}, error.pos, ctx={"error": error.msg})
    except (ValueError, RecursionError):  # no text, a number of too many digits, nested too deep
        raise HTTPException(400, "There was an error parsing the body") from None


def _table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Of a key that stands twice nobody can say which counts."""
    table = dict(pairs)
    if len(table) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        _refuse("value_error", f"the key {twice!r} is given twice", {})
    return table


def _refuse(kind: str, message: str, given: Any, *loc: int, **more: Any) -> NoReturn:
    raise RequestValidationError([{"type": kind, "loc": ("body", *loc), "msg": message, "input": given, **more}])
