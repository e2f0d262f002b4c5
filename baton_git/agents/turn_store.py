"""Store the turns of sessions (prompts with their final answers) on this machine, with a size limit and no secrets.

Each session has a file of JSON lines. The first line names the session and the format; each other line is one turn.
Recall reads these files, so a file is replaced as a whole: a reader sees either the old content or the new one.

Format 1 has no origin, status, reason and id of turns, and some files of format 2 have no `said`. A later format may
have further fields, which are ignored.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from baton_git.agents.events import PERSON, UNKNOWN
from baton_git.core.codecs.limits import check_nesting
from baton_git.core.errors import InvalidName, NotFound
from baton_git.core.names import decode, encode
from baton_git.git.files.atomic_files import read_bytes, write_all, writing


class Turn(NamedTuple):
    """A prompt, and the answer to it or the reason why there is none.

    Attributes:
        number: its number in the session, from 1.
        time: the time of the prompt, as ISO text from the transcript.
        answer: the last reply in the turn; empty if there is none. It is the answer if the status is `answered` or
            `unknown`; otherwise it is what the agent said before the turn stopped.
        line, offset: the position of the prompt in the transcript; lines count from 1, the offset is in bytes.
        origin: whose prompt it is; see `events.PERSON`.
        status: whether it has an answer; see `events.ANSWERED`.
        reason: the message of the agent CLI about a failure.
        id: the id of the turn in the transcript; empty if it has none.
        said: what the agent said in the turn before its last reply.
    """

    number: int
    time: str | None
    prompt: str
    answer: str
    line: int
    offset: int
    origin: str = PERSON
    status: str = UNKNOWN
    reason: str = ""
    id: str = ""
    said: str = ""


class SessionTurns(NamedTuple):
    """The turns of one session, oldest first.

    Attributes:
        started: when the session started, as ISO text from the transcript.
        worktree: the top of the work tree in which the session worked.
        branch: the checked-out branch of that work tree.
    """

    agent: str
    session: str
    started: str | None
    worktree: str | None
    branch: str | None
    namespace: str | None
    turns: tuple[Turn, ...]


MAX_BYTES = 64 * 1024
"""Maximum size in bytes of all turns of a session, as `encode_turn` writes them."""
MAX_TEXT = 8 * 1024
"""Maximum size in bytes of one prompt, of one answer, and of what the agent said before."""

_STEPS = (2048, 768, 256, 80)
"""Sizes in bytes to which the texts of turns are shortened, step by step, until all turns fit."""
_SAID_STEPS = (2048, 512, 0)
"""The same for what the agent said before its answers."""
_KEPT_FIRST, _KEPT_LAST = 1, 3
"""Numbers of first and of last turns that are shortened only if it was not enough to shorten those between them."""
_CUT = " […] "
_WORD = 64
"""Maximum length of the rest of a cut word that may be the end of a path; it is left out."""


def bound_turns(turns: Iterable[Turn], limit: int = MAX_BYTES) -> tuple[Turn, ...]:
    """Return the turns shortened to `limit` bytes in total: first what the agent said before its answers, then the
    middle turns, starting with the oldest.

    If the turns are too long even in their shortest form, the oldest ones after the first are left out; the others keep
    their numbers. The result may be bounded again together with newer turns, so a session can be read in pieces.
    """
    bounded = [_shorten(turn, MAX_TEXT) for turn in turns]
    sizes = [len(encode_turn(turn)) for turn in bounded]
    total = sum(sizes)
    middle = range(_KEPT_FIRST, max(_KEPT_FIRST, len(bounded) - _KEPT_LAST))
    plan: list[tuple[Callable[[Turn, int], Turn], tuple[int, ...], range]] = [
        (_shorten_said, _SAID_STEPS, range(len(bounded))), (_shorten, _STEPS, middle),
        (_shorten, _STEPS, range(len(bounded))),
    ]  # fmt: skip
    for shorten, steps, numbers in plan:
        for most, number in product(steps, numbers):
            if total <= limit:
                return tuple(bounded)
            bounded[number] = shorten(bounded[number], most)
            total += len(encode_turn(bounded[number])) - sizes[number]
            sizes[number] = len(encode_turn(bounded[number]))
    return _drop_oldest(bounded, sizes, limit)


def keep_ends(text: str, most: int) -> str:
    """Return the text, or its beginning and end with a mark between them, in at most `most` bytes.

    A path is not cut in two: half of one would no longer be recognised as a path of this machine, and shortened.
    `most` must be larger than the mark.
    """
    raw = text.encode("utf-8", "replace")
    if len(raw) <= most:
        return text
    room = most - len(_CUT.encode())
    tail = raw[len(raw) - room // 3 :]
    shown_tail, preceding = tail.decode("utf-8", "ignore"), raw[-len(tail) - 1 : -len(tail) or None]
    first = _find_word(shown_tail, at_end=False)
    if not preceding.isspace() and (_is_path(first) or len(first) <= _WORD):
        shown_tail = shown_tail[len(first) :]
    if not shown_tail.strip():  # a mark with nothing after it would waste the room of the end
        return _cut_head(raw, room).rstrip() + _CUT.rstrip()
    return _cut_head(raw, room - room // 3).rstrip() + _CUT + shown_tail.lstrip()


def _cut_head(raw: bytes, size: int) -> str:
    """Return the first `size` bytes as text, without the beginning of a path that is cut."""
    head = raw[:size].decode("utf-8", "ignore")
    is_cut = not raw[size : size + 1].isspace() and _is_path(last := _find_word(head, at_end=True))
    return head[: -len(last)] if is_cut else head


def _find_word(text: str, *, at_end: bool) -> str:
    """Return the last or first characters of a text up to white space; empty if white space is there."""
    if not text or text[-1 if at_end else 0].isspace():
        return ""
    return text.rsplit(maxsplit=1)[-1] if at_end else text.split(maxsplit=1)[0]


def _is_path(word: str) -> bool:
    return "/" in word or "\\" in word


def encode_turn(turn: Turn) -> bytes:
    """Return the turn as one line of JSON, as it is stored."""
    return json.dumps(turn._asdict(), ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def _shorten(turn: Turn, most: int) -> Turn:
    said = keep_ends(turn.said, most)
    return turn._replace(prompt=keep_ends(turn.prompt, most), answer=keep_ends(turn.answer, most), said=said)


def _shorten_said(turn: Turn, most: int) -> Turn:
    return turn._replace(said=keep_ends(turn.said, most) if most else "")


def _drop_oldest(turns: list[Turn], sizes: list[int], limit: int) -> tuple[Turn, ...]:
    """Return the first turn and as many of the last ones as fit."""
    total, kept = sizes[0] if sizes else 0, len(turns)
    while kept > 1 and total + sizes[kept - 1] <= limit:
        kept -= 1
        total += sizes[kept]
    return tuple(turns[:1] + turns[max(1, kept) :])


FORMAT = 2
_SUFFIX = ".jsonl"


class StoredTurns(NamedTuple):
    """A stored file, with its size and modification time, by which an index notices changes."""

    agent: str
    session: str
    path: Path
    size: int
    mtime_ns: int


class TurnStore:
    """The turns of all sessions of a repository, in the folder that `turns_folder` returns."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, agent: str, session: str) -> Path:
        """Return the path of a session's file. Raises InvalidName if an id cannot be a file name."""
        return self.folder / encode(agent) / f"{encode(session)}{_SUFFIX}"

    def load(self, agent: str, session: str) -> SessionTurns | None:
        """Return the stored turns; None if there are none, or the file is damaged.

        Raises:
            InvalidName: an id cannot be a file name.
            StoreError, LimitExceeded: the file cannot be read.
        """
        try:
            return _parse_file(read_bytes(self.path(agent, session)))
        except NotFound:
            return None

    def save(self, session: SessionTurns) -> None:
        """Replace the stored turns of a session, limited in size and without secrets.

        Raises:
            InvalidName: an id cannot be a file name.
            WriteFailed: the file cannot be written.
        """
        from baton_git.core.redaction import redact  # a hook that only reads turns does not need it

        path = self.path(session.agent, session.session)
        header, turns = session._asdict() | {"format": FORMAT}, bound_turns(redact_turns(session.turns))
        del header["turns"]
        lines = [json.dumps(redact(header)[0], ensure_ascii=False).encode("utf-8", "replace") + b"\n"]
        with writing(self.folder):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_all({path: b"".join([*lines, *map(encode_turn, turns)])}, mode=0o600)

    def list(self) -> list[StoredTurns]:
        """Return all stored files, sorted by path. A file whose name is not the encoded id of a session is ignored."""
        files = (_describe_file(path) for path in sorted(self.folder.glob(f"*/*{_SUFFIX}")))
        return [file for file in files if file is not None]

    def delete(self, agent: str, session: str) -> None:
        """Delete the turns of a session, if there are any.

        Raises:
            InvalidName: an id cannot be a file name.
            WriteFailed: the file cannot be removed.
        """
        path = self.path(agent, session)
        with writing(path):
            path.unlink(missing_ok=True)


def turns_folder(common_dir: Path) -> Path:
    """Return the folder of the turns in a repository's common directory."""
    return common_dir / "baton" / "turns"


def redact_turns(turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
    """Return the turns with the secrets in their texts replaced."""
    from baton_git.core.redaction import redact  # a hook that only reads turns does not need it

    names = ("prompt", "answer", "reason", "said")
    texts, _ = redact([[getattr(turn, name) for name in names] for turn in turns])
    return tuple(
        turn._replace(**dict(zip(names, clean, strict=True))) for turn, clean in zip(turns, texts, strict=True)
    )


def _describe_file(path: Path) -> StoredTurns | None:
    try:
        agent, session = decode(path.parent.name), decode(path.name.removesuffix(_SUFFIX))
        status = path.stat()
    except (InvalidName, FileNotFoundError):
        return None
    return StoredTurns(agent, session, path, status.st_size, status.st_mtime_ns)


def _parse_file(content: bytes) -> SessionTurns | None:
    try:
        header, *lines = (_parse_line(line) for line in content.decode().split("\n") if line)
        if header["format"] < 1:
            return None
        known = {name: header[name] for name in SessionTurns._fields if name != "turns"}
        return SessionTurns(**known, turns=tuple(_parse_turn(line) for line in lines))
    except (ValueError, KeyError, TypeError):
        return None


_TURN_FIELDS = frozenset(Turn._fields)


def _parse_turn(line: dict[str, Any]) -> Turn:
    return Turn(**{name: line[name] for name in line.keys() & _TURN_FIELDS})


def _parse_line(line: str) -> dict[str, Any]:
    check_nesting(line)
    data = json.loads(line)
    if not isinstance(data, dict):
        raise TypeError("a line is not an object")
    return data
