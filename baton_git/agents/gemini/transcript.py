"""Gemini CLI's transcripts, 0.10 to 0.61, as events.

A message may be changed or taken back by a later record, so a transcript is read whole before the first event.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from baton_git.agents.events import (
    BEGINNING,
    FROM_THE_START,
    Anew,
    Call,
    Compacted,
    Ended,
    Event,
    Place,
    Prompt,
    Reply,
    Result,
    Setting,
    Settled,
    Title,
)
from baton_git.agents.fields import Record, table_at, tables, text_at, texts
from baton_git.agents.gemini.messages import Chat, Message, read, read_further
from baton_git.agents.gemini.prompts import SNAPSHOT, typed
from baton_git.agents.gemini.sessions import folder_of

_SHELL = "run_shell_command"
_EXIT = re.compile(r"^(?:Exit Code|Command exited with code): (-?[0-9]+)", re.MULTILINE)
_WRAPPING = re.compile(r"\A(?:<untrusted_context>\n)?(?:Command: .*\n(?:Directory: .*\n)?)?(?:(?:Output|Stdout): )?")
_FAILED = {"success": False, "error": True, "cancelled": True}


def recognises(record: Record) -> bool:
    """Is this a whole session of Gemini CLI, or the first record of one?"""
    return "type" not in record and isinstance(record.get("sessionId"), str) and "projectHash" in record


def events(path: Path, since: Ended = FROM_THE_START) -> Iterator[Event]:
    """What happened since an earlier reading ended; all of it, when what was added changes what was there before.

    Raises:
        NotFound, InvalidArgument, StoreError: the file cannot be read.
        LimitExceeded: it is one object, and too large.
    """
    chat = read_further(path, since) if since != FROM_THE_START else None
    if chat is None:
        if since != FROM_THE_START:
            yield Anew()
        chat = read(path)
    if not chat.is_settled:
        yield Settled(BEGINNING)
    yield from _setting(chat, folder_of(path) if chat.head else None)
    for message in chat.messages:
        yield from _said(message)
    yield chat.ended if chat.is_settled else FROM_THE_START._replace(place=chat.ended.place, unread=chat.ended.unread)


def _setting(chat: Chat, folder: str | None) -> Iterator[Event]:
    head, time = chat.head, text_at(chat.head, "startTime")
    models = (text_at(message.record, "model") for message in chat.messages)
    if head:
        yield Setting(
            BEGINNING,
            time,
            session=text_at(head, "sessionId"),
            cwd=folder,
            model=next((model for model in models if model), None),
            subagent=head.get("kind") == "subagent",
        )
    if title := text_at(head, "summary"):
        yield Title(BEGINNING, time, title)


def _said(message: Message) -> Iterator[Event]:
    place, record = message
    time, kind = text_at(record, "timestamp"), record.get("type")
    if kind == "user":
        text = "\n".join(texts(record.get("content")))
        if text.lstrip().startswith(SNAPSHOT):
            yield Compacted(place, time, text)
        elif asked := typed(record):
            yield Prompt(place, time, asked)
    elif kind == "gemini":
        text = "\n".join(_spoken(record))
        if text.strip():
            yield Reply(place, time, text, text_at(record, "model"))
        for call in tables(record.get("toolCalls")):
            yield from _called(place, time, call)


def _spoken(record: Record) -> list[str]:
    """The texts of a reply without the model's thoughts."""
    content = record.get("content")
    return texts(content) if isinstance(content, str) else texts([p for p in tables(content) if not p.get("thought")])


def _called(place: Place, time: str | None, call: Record) -> Iterator[Event]:
    """A call, and its result once it has ended."""
    name, identity = text_at(call, "name") or "", text_at(call, "id") or ""
    yield Call(place, time, identity, name, table_at(call, "args"))
    failed = _FAILED.get(text_at(call, "status") or "")
    if failed is None:
        return
    text, display = _response(call), call.get("resultDisplay")
    if name == _SHELL:
        # The status of a command is a success whatever it ended with.
        code = _EXIT.search(text) or _EXIT.search(display if isinstance(display, str) else "")
        failed = failed or (code is not None and int(code[1]) != 0)
        text = _WRAPPING.sub("", text)
    structured = display if isinstance(display, dict) else None
    yield Result(place, text_at(call, "timestamp") or time, identity, text, failed, structured)


def _response(call: Record) -> str:
    """What the model was told."""
    responses = [table_at(table_at(part, "functionResponse"), "response") for part in tables(call.get("result"))]
    found = [text_at(one, "output") or text_at(one, "error") or "" for one in responses]
    return "\n".join(text for text in found if text) or text_at(call, "resultDisplay") or ""
