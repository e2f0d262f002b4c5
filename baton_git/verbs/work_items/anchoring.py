"""Anchors of a decision or pattern: the files that it is about, in their current state."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from baton_git.core.errors import FieldHint, InvalidArgument
from baton_git.core.records.base import value_at
from baton_git.core.records.work_items import ActiveDecision, Anchor, Pattern
from baton_git.core.state import Key
from baton_git.core.verb import Option
from baton_git.git.local_git import GitUnavailable, SessionRepository
from baton_git.git.source_files import SECONDS, SourceFiles
from baton_git.namespace.aging import digest_content
from baton_git.namespace.results import Changed
from baton_git.namespace.workspace import RecordAging, Workspace

MAX_DEFAULT = 5
"""Maximum number of the session's files that a record is anchored to by default."""

About = Annotated[
    list[str],
    Field(
        description="A file or symbol that the record is about: PATH or PATH:SYMBOL",
        examples=[["src/export.py:write_row"]],
    ),
]
ABOUT = Option(is_path=True, metavar="PATH[:SYMBOL]")


def anchor_record(
    ws: Workspace, now: datetime, op: str, model: type[ActiveDecision | Pattern], id_: str, about: Sequence[str]
) -> Changed:
    """Replace the anchors of a record; without `about`, renew its anchors to the current state of the files.

    Raises:
        InvalidArgument: a file is not in the work tree, its symbol is not found, or there are no anchors to renew.
    """
    record = ws.branch.read().state.find(model, id_)
    states = [] if about else RecordAging(ws).judge(record)
    texts = about or [state.name for state in states]
    if not texts:
        raise InvalidArgument(f"{record.id} is about no file yet", hint="name one, PATH or PATH:SYMBOL")
    lost = next((state for state in states if state.state == "gone"), None)
    if lost is not None:
        raise InvalidArgument(
            f"{lost.name}, which {record.id} is about, is {lost.describe()}",
            hint=FieldHint("name the files that it is about now with {about}; if it holds no more, withdraw it"),
        )
    anchors = [anchor.as_data() for anchor in make_anchors(ws, texts)]
    return ws.edit(op, now, model, record.id, lambda state, current: state.put(current.replace(anchors=anchors)))


def make_anchors(ws: Workspace, about: Sequence[str]) -> list[Anchor]:
    """Return anchors to the given files; without any, to files that the session changed.

    Raises:
        InvalidArgument: a file is not in the work tree, or its symbol is not found.
    """
    files = ws.source_files
    if files is None:
        if about:
            raise InvalidArgument("there is no work tree here, so no file to anchor to")
        return []
    anchors = [_make_anchor(files, text) for text in about] if about else list(_make_default_anchors(ws, files))
    return [anchor.replace(session=ws.actor.session) for anchor in anchors] if ws.actor.session else anchors


def as_field(anchors: Iterable[Anchor]) -> dict[str, Any]:
    """Return the record field for these anchors; empty without anchors."""
    data = [anchor.as_data() for anchor in anchors]
    return {"anchors": data} if data else {}


def _make_anchor(files: SourceFiles, text: str) -> Anchor:
    path, symbol = text, None
    content = files.read_file(path)
    if content is None and ":" in text:
        path, _, symbol = text.partition(":")
        content = files.read_file(path)
    path = os.path.relpath(files.top / path, files.top).replace(os.sep, "/")
    if content is None or path.startswith("../"):
        raise _make_no_file_error(files, text, path)
    digest = digest_content(files, path, symbol, content)
    if not digest:
        why = "does not define" if digest == "" else "cannot be searched for"
        raise InvalidArgument(f"{path} {why} {symbol!r}", hint="name the whole file")
    return _describe_anchor(files, path, digest, symbol)


def _make_no_file_error(files: SourceFiles, text: str, path: str) -> InvalidArgument:
    if not text.strip():
        return InvalidArgument("an empty text names no file of the work tree", hint="give PATH or PATH:SYMBOL")
    if not path.startswith("../") and os.path.isdir(files.top / path):
        return InvalidArgument(
            f"{text!r} names no file of the work tree: it is a folder", hint="name the files in it that matter"
        )
    return InvalidArgument(
        f"{text!r} names no file of the work tree", hint=f"give a path from its top, {files.top}, or PATH:SYMBOL"
    )


def _describe_anchor(files: SourceFiles, path: str, digest: str, symbol: str | None = None, **more: Any) -> Anchor:
    optional = {"symbol": symbol, "commit": files.head}
    data = {"path": path, "digest": digest, **more}
    return Anchor.model_validate(data | {name: value for name, value in optional.items() if value})


def _make_default_anchors(ws: Workspace, files: SourceFiles) -> Iterator[Anchor]:
    """Yield anchors to files that the session changed: first those in its handoff, then uncommitted ones."""
    paths = dict.fromkeys((*_list_changed(ws, files.top), *_list_uncommitted(files)))
    for path in list(paths)[:MAX_DEFAULT]:
        content = files.read_file(path)
        if content is not None:
            yield _describe_anchor(files, path, files.hash_blob(content), by_default=True)


def _list_changed(ws: Workspace, top: Path) -> Iterator[str]:
    """Yield the files named in the handoff of the acting session, last one first."""
    handoff = ws.branch.read().state.entry(Key("handoff", f"{ws.actor.agent}/{ws.actor.session}"))
    for name in reversed(value_at(handoff, "facts.files_modified") or ()):
        name = ws.names.resolve(name)
        path = os.path.relpath(name, top) if Path(name).is_absolute() else name
        if not path.startswith(".."):
            yield path.replace(os.sep, "/")


def _list_uncommitted(files: SourceFiles) -> list[str]:
    """Return the files with uncommitted changes, last modified first; none if git fails or does not answer in time."""
    try:
        printed = SessionRepository(files.top, files.environment, SECONDS).run_git("status", "--porcelain", "-z")
    except GitUnavailable:
        return []
    words = iter(printed.split("\0"))
    paths = []
    for word in words:
        if word[:1] in ("R", "C"):
            next(words, "")  # the name before the rename
        if word and not word.endswith("/"):
            paths.append(word[3:])
    return sorted(paths, key=lambda path: _written_at(files.top / path), reverse=True)


def _written_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
