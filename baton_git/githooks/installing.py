"""Installing, upgrading and taking away: decided first, as steps, then done.

A file that is not ours gets the name `<event>.pre-baton` beside its old one and is run by ours. Whatever stands under
the event's name is looked at anew each time: another tool may have put a newer hook there since.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from baton_git.githooks.looking import content, exists
from baton_git.githooks.place import EVENTS, Mode, Place
from baton_git.githooks.script import VERSION, Marked, Script, marked
from baton_git.githooks.steps import Configure, KeepAs, Move, Remove, Say, Step, Unconfigure, Write, run

BACKUP = ".pre-baton"
OTHERS_BACKUPS = {".legacy": b"pre-commit", ".old": b"lefthook"}
"""What other tools call the hook that they found, and the word that their own hooks hold."""
STILL_RUN = (".legacy",)
"""Those of them that are run still: pre-commit's."""


class Report(NamedTuple):
    """What was done: how hooks come to run here, what was done, and what its reader should know or do."""

    mode: Mode
    steps: tuple[Step, ...]

    @property
    def changed(self) -> bool:
        return any(not isinstance(step, Say) for step in self.steps)

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(step.text for step in self.steps if isinstance(step, Say))


def install(place: Place, scripts: Mapping[str, Script]) -> Report:
    """Installs these events, or brings them up to date; a second time changes nothing.

    Raises:
        WriteFailed: the disk said no; a hook that was there still runs.
        StoreError: there is no git program, or a hook cannot be read.
    """
    steps = tuple(_installing(place, scripts))
    run(steps, place.git)
    return Report(place.mode, steps)


def uninstall(place: Place) -> Report:
    """Takes away what we have installed, in whatever way, and puts back what was there, to the byte.

    Raises:
        WriteFailed, StoreError: as for `install`.
    """
    steps = (*_unconfiguring(place), *_unfiling(place), *_forgetting(place))
    run(steps, place.git)
    return Report(place.mode, steps)


# --- install


def _installing(place: Place, scripts: Mapping[str, Script]) -> Iterator[Step]:
    for event, script in scripts.items():
        yield from _written(place.scripts / event, script.text)
    if place.mode == "configured":
        yield from _configuring(place, tuple(scripts))
        yield from _unfiling(place)
        return
    yield from _unconfiguring(place)
    for event, script in scripts.items():
        if place.mode == "files":
            yield from _filing(place.folder / event, script)
        else:
            yield from _asking(place, event)


def _configuring(place: Place, events: Sequence[str]) -> Iterator[Step]:
    for event in events:
        for name, value in (("command", place.setting_for(event)), ("event", event)):
            key = f"hook.baton-{event}.{name}"
            if place.git.said("config", "--local", "--get-all", key) != value:
                yield Configure(key, value)


def _filing(path: Path, script: Script) -> Iterator[Step]:
    """The steps for one file in a folder of hooks."""
    through = _run_by_another(path)
    if through is not None:
        yield from _written(through, script.text)
        return
    there = content(path)
    if there is None and exists(path):  # a link that leads nowhere
        there = b""
    if there is None or marked(there) is not None:
        yield from _written(path, script.text)
        return
    yield from _backing_up(path, there)
    yield Write(path, script.text)


def _written(path: Path, text: bytes) -> Iterator[Step]:
    """One of our files, written anew when it is another: never over a newer one, never over what somebody changed."""
    there = content(path)
    if there == text:
        return
    mark = marked(there) if there is not None else None
    if mark is not None and mark.version > VERSION:
        yield Say(f"{path} is of a newer baton and was left as it is")
        return
    if there is not None and (mark is None or not mark.intact):
        kept = path.with_name(f"{path.name}.changed-{_digest(there)}")
        yield from () if kept.exists() else (KeepAs(path, kept),)
        yield Say(f"{path} was changed by hand; that is now {kept.name}")
    yield Write(path, text)


def _backing_up(path: Path, there: bytes) -> Iterator[Step]:
    backup = path.with_name(path.name + BACKUP)
    older = content(backup)
    if older == there:
        return
    if exists(backup):
        kept = path.with_name(f"{backup.name}.{_digest(older or b'')}")
        yield Move(backup, kept)
        yield Say(f"{path.name}: an older hook from before is kept as {kept.name}, and not run")
    yield KeepAs(path, backup)
    yield Say(f"{path.name}: the hook that was there runs first, as {backup.name}")


def _asking(place: Place, event: str) -> Iterator[Step]:
    file = place.file_for(event)
    if f"/baton/hooks/{event}".encode() not in (content(file) or b""):
        yield Say(f"{place.why_external}; add this line to {file}:\n  {place.line_for(event)}")


# --- uninstall


def _unconfiguring(place: Place) -> Iterator[Step]:
    said = place.git.said("config", "--local", "--name-only", "--get-regexp", r"^hook\.baton-[a-z-]+\.") or ""
    names = dict.fromkeys(line.rpartition(".")[0] for line in said.splitlines())
    yield from (Unconfigure(name) for name in names)


def _unfiling(place: Place) -> Iterator[Step]:
    for folder in place.folders:
        for event in EVENTS:
            yield from _putting_back(folder / event)


def _putting_back(path: Path) -> Iterator[Step]:
    backup = path.with_name(path.name + BACKUP)
    there = content(path)
    ours = [one for one in (path, *_others_backups(path)) if _is_ours(content(one))]
    if ours:
        yield Move(backup, ours[0]) if exists(backup) else Remove(ours[0])
    elif there is None and exists(backup):
        yield Move(backup, path)
    elif exists(backup):
        yield Say(f"{path} is not ours any more and was left as it is; what stood there before is {backup.name}")
    elif there is not None and marked(there):
        yield Say(f"{path} was changed by hand and was left as it is")
    for kept in sorted(path.parent.glob(f"{path.name}{BACKUP}.*")):
        yield Say(f"an older hook is kept as {kept}")


def _forgetting(place: Place) -> Iterator[Step]:
    ours = [place.scripts / event for event in EVENTS]
    ours.append(place.repository.common_dir / "baton" / "hooks.log")
    yield from (Remove(path) for path in ours if exists(path))


# --- what is there


def _is_ours(data: bytes | None) -> bool:
    mark: Marked | None = marked(data) if data is not None else None
    return mark is not None and mark.intact


def _others_backups(path: Path) -> list[Path]:
    return [path.with_name(path.name + suffix) for suffix in OTHERS_BACKUPS]


def _run_by_another(path: Path) -> Path | None:
    """Our file, where another tool has put it aside and runs it from its own hook."""
    for suffix in STILL_RUN:
        aside = path.with_name(path.name + suffix)
        if OTHERS_BACKUPS[suffix] in (content(path) or b"") and _is_ours(content(aside)):
            return aside
    return None


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()[:8]
