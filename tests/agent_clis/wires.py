"""The protocols of the three models: which requests are turns of the session, and a turn's actions as server-sent
events."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol

Json = Any
Kind = Literal["turn", "summary", "aside"]
SUMMARY = "SUMMARY-BY-THE-MODEL of the work so far"


@dataclass(frozen=True)
class Say:
    """The model writes `text`."""

    text: str


@dataclass(frozen=True)
class Shell:
    """The model calls its shell tool."""

    command: str


@dataclass(frozen=True)
class Write:
    """The model creates a new file with its own tool; `path` is absolute."""

    path: str
    text: str


@dataclass(frozen=True)
class Fail:
    """The model's server refuses the request: `status` is 400, 500, or 429 for a used-up limit."""

    status: int
    message: str


Action = Say | Shell | Write


@dataclass(frozen=True)
class Turn:
    """One answer of the model. `tokens` is the reported length of the request."""

    actions: tuple[Action, ...]
    tokens: int = 1000


class Wire(Protocol):
    """One wire format. `messages` is the conversation of a request, `instructions` the system prompt."""

    def kind(self, path: str, body: Json) -> Kind: ...
    def messages(self, body: Json) -> list[Json]: ...
    def events(self, body: Json, turn: Turn) -> Iterator[Json]: ...
    def failure(self, fail: Fail) -> Json:
        """Return the body of a response that refuses a request."""
        ...

    def small_talk(self, path: str) -> Json:
        """Return the answer to a request that generates no text (token counts, lists of models)."""
        ...


def texts(value: Json) -> Iterator[str]:
    """Yield every text inside, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)


def _join_texts(value: Json) -> str:
    return "\n".join(texts(value))


def _id(kind: str) -> str:
    return f"{kind}_{secrets.token_hex(12)}"


class Anthropic:
    """The Messages API, as Claude Code uses it."""

    def kind(self, path: str, body: Json) -> Kind:
        if "Your task is to create a detailed summary" in _join_texts(body["messages"][-1:]):
            return "summary"
        return "turn" if any(tool.get("name") == "Bash" for tool in body.get("tools", [])) else "aside"

    def messages(self, body: Json) -> list[Json]:
        return list(body["messages"])

    def events(self, body: Json, turn: Turn) -> Iterator[Json]:
        blocks = [self._block(action) for action in turn.actions]
        usage = {"input_tokens": turn.tokens, "output_tokens": 20}
        usage |= {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
        message = {"id": _id("msg"), "type": "message", "role": "assistant", "model": body["model"], "content": []}
        ending: dict[str, Json] = {"stop_reason": None, "stop_sequence": None}
        yield {"type": "message_start", "message": {**message, **ending, "usage": usage}}
        for index, (start, delta) in enumerate(blocks):
            yield {"type": "content_block_start", "index": index, "content_block": start}
            yield {"type": "content_block_delta", "index": index, "delta": delta}
            yield {"type": "content_block_stop", "index": index}
        ending["stop_reason"] = "tool_use" if any(start["type"] == "tool_use" for start, _ in blocks) else "end_turn"
        yield {"type": "message_delta", "delta": ending, "usage": {"output_tokens": 20}}
        yield {"type": "message_stop"}

    def _block(self, action: Action) -> tuple[Json, Json]:
        match action:
            case Say(text):
                return {"type": "text", "text": ""}, {"type": "text_delta", "text": text}
            case Shell(command):
                name, call = "Bash", {"command": command, "description": "a step"}
            case Write(path, text):
                name, call = "Write", {"file_path": path, "content": text}
        start = {"type": "tool_use", "id": _id("toolu"), "name": name, "input": {}}
        return start, {"type": "input_json_delta", "partial_json": json.dumps(call)}

    def failure(self, fail: Fail) -> Json:
        kind = "rate_limit_error" if fail.status == 429 else "api_error"
        return {"type": "error", "error": {"type": kind, "message": fail.message}}

    def small_talk(self, path: str) -> Json:
        return {"input_tokens": 1000, "data": [], "has_more": False}


class OpenAI:
    """The Responses API, as Codex uses it."""

    def kind(self, path: str, body: Json) -> Kind:
        if "CONTEXT CHECKPOINT COMPACTION" in _join_texts(body["input"][-1:]):
            return "summary"
        return "turn" if body.get("tools") else "aside"

    def messages(self, body: Json) -> list[Json]:
        return list(body["input"])

    def events(self, body: Json, turn: Turn) -> Iterator[Json]:
        response: Json = {"id": _id("resp")}
        yield {"type": "response.created", "response": response}
        for action in turn.actions:
            yield {"type": "response.output_item.done", "output_index": 0, "item": self._item(action)}
        usage: Json = {"input_tokens": turn.tokens, "output_tokens": 20, "total_tokens": turn.tokens + 20}
        usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        yield {"type": "response.completed", "response": {**response, "usage": usage, "output": []}}

    def _item(self, action: Action) -> Json:
        match action:
            case Say(text):
                content = [{"type": "output_text", "text": text}]
                return {"type": "message", "id": _id("msg"), "role": "assistant", "content": content}
            case Shell(command):  # also runs apply_patch, for which the model "gpt-5" has no separate tool
                call = {"name": "exec_command", "arguments": json.dumps({"cmd": command})}
                return {"type": "function_call", "id": _id("fc"), "call_id": _id("call"), **call}
            case Write(path, text):
                lines = [f"*** Add File: {path}", *(f"+{line}" for line in text.splitlines())]
                patch = "\n".join(["*** Begin Patch", *lines, "*** End Patch"])
                return self._item(Shell(f"apply_patch <<'EOF'\n{patch}\nEOF"))

    def failure(self, fail: Fail) -> Json:
        kind = "usage_limit_reached" if fail.status == 429 else "server_error"
        return {"error": {"type": kind, "message": fail.message}}

    def small_talk(self, path: str) -> Json:
        return {"models": [], "data": []}


class Gemini:
    """`streamGenerateContent`, as Gemini CLI uses it."""

    def kind(self, path: str, body: Json) -> Kind:
        if "state_snapshot" in _join_texts(body.get("systemInstruction")):
            return "summary"
        names = [
            function["name"] for tool in body.get("tools", []) for function in tool.get("functionDeclarations", [])
        ]
        return "turn" if "run_shell_command" in names else "aside"

    def messages(self, body: Json) -> list[Json]:
        return list(body["contents"])

    def events(self, body: Json, turn: Turn) -> Iterator[Json]:
        content = {"role": "model", "parts": [self._part(action) for action in turn.actions]}
        usage = {"promptTokenCount": turn.tokens, "candidatesTokenCount": 20, "totalTokenCount": turn.tokens + 20}
        answer = {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "usageMetadata": usage}
        yield {**answer, "modelVersion": "scripted", "responseId": _id("r")}

    def _part(self, action: Action) -> Json:
        match action:
            case Say(text):
                return {"text": text}
            case Shell(command):
                return {"functionCall": {"name": "run_shell_command", "args": {"command": command}}}
            case Write(path, text):
                return {"functionCall": {"name": "write_file", "args": {"file_path": path, "content": text}}}

    def failure(self, fail: Fail) -> Json:
        quota = {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": "RequestsPerDay"}]}
        status, details = ("RESOURCE_EXHAUSTED", [quota]) if fail.status == 429 else ("INTERNAL", [])
        return {"error": {"code": fail.status, "message": fail.message, "status": status, "details": details}}

    def small_talk(self, path: str) -> Json:
        return {"totalTokens": 1000}


def aside(body: Json) -> str:
    """Return the smallest valid answer to a request that the CLI sends outside the session."""
    settings = body.get("generationConfig", {})
    schema = settings.get("responseJsonSchema") or settings.get("responseSchema") or {}
    fields: Iterable[tuple[str, Json]] = schema.get("properties", {}).items()
    return json.dumps({name: _least(field) for name, field in fields}) if schema else "ok"


def _least(field: Json) -> Json:
    plain = {"number": 0, "integer": 0, "boolean": False, "array": [], "object": {}}
    return plain.get(str(field.get("type")).lower(), (field.get("enum") or ["ok"])[0])
