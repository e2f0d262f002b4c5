"""Merge the packs that baton writes, one per write, so that a repository does not collect too many.

`baton/packs/` has a file ("note") `<name>.<number of objects>` for each pack that baton wrote and may merge. Packs
without a note are not merged. If the folder is lost, the packs become ordinary packs, which `git gc` merges.

In a partial clone, git's own repack (`git gc`, `git repack -ad`) drops every object that a promisor remote has, also
the files of commits that were made here, and fetches them again one by one when it needs them. There the packs of baton
are held: they have a `.keep` file besides the note, which git respects, and which a merge of baton replaces.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack, closing, suppress
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple

from dulwich.object_format import ObjectFormat

from baton_git.core.errors import Corrupt
from baton_git.core.progress import Progress, ignore_progress
from baton_git.git.files import durable_files
from baton_git.git.files.ref_locks import hold_flock
from baton_git.git.objects.pack_reader import DAMAGE, OpenPack
from baton_git.git.objects.pack_writer import (
    KEEP_MARK,
    TEMPORARY_INDEX,
    TEMPORARY_PACK,
    KeptPack,
    temporary_path,
    write_kept,
)
from baton_git.git.store.repository import Repository

_ATTEMPTS: Final = 5
_MERGED: Final = ".merged"
"""Suffix of a note whose pack can be removed, because its objects were copied to a newer pack."""
HELD_MARK: Final = b"held by baton-git in a partial clone\n"
"""Content of the `.keep` file of a held pack. It does not begin with `KEEP_MARK`, so that older versions of baton take
it for a file of the user, and leave the pack alone."""


class PackReport(NamedTuple):
    """Number and size of baton's packs before and after packing, and their objects. Bytes include the indexes."""

    packs_before: int
    packs_after: int
    objects: int
    bytes_before: int
    bytes_after: int


class NotedPack(NamedTuple):
    """A pack that baton wrote. Sorts by number of objects."""

    objects: int
    name: str


class Housekeeping:
    """The packs that baton wrote to one repository.

    A merge is due when `choose_due`, which uses `growth`, returns at least `enough` packs; one step merges at most
    `at_once` packs, unless all packs are to be merged. A `.keep` of baton is removed when it is `keep_stale_after`
    seconds old and its process is dead, and in any case when it is `keep_never_after` seconds old. If `may_remove` is
    False (`extensions.preciousObjects`), packs are never merged. `writes_until_look` is the number of packs that this
    process writes before `is_due` lists the folder again.
    """

    def __init__(self, repository: Repository, form: ObjectFormat) -> None:
        self.form = form
        self.may_remove = not repository.keeps_all_objects
        self._repository = repository
        common_dir = repository.common_dir
        self.packs = common_dir / "objects" / "pack"
        self.notes = common_dir / "baton" / "packs"
        self.lock = common_dir / "baton" / "pack.lock"
        self.enough = 32
        self.growth = 2
        self.at_once = 512
        self.keep_stale_after = 60.0
        self.keep_never_after = 3600.0
        self.writes_until_look = 0

    def settle(self, pack: KeptPack) -> None:
        """Note a pack that a ref now points into as baton's; remove its `.keep`, or hold it in a partial clone."""
        noted = NotedPack(pack.objects, pack.name)
        if self.holds_packs:
            self._note(noted)  # first: a held pack without a note would never be merged
            self._hold(noted)
            return
        try:
            os.replace(pack.keep_path, self._note_path(noted))  # atomic: the .keep file becomes the note
        except OSError:
            pack.release()
            self._note(noted)

    @cached_property
    def holds_packs(self) -> bool:
        """Whether the packs of baton are held, because git's repack would drop objects of a partial clone."""
        return self._repository.is_partial

    def hold_packs(self) -> None:
        """Hold the noted packs of a partial clone that are not held, such as those of an older version of baton."""
        for noted in self.list_noted() if self.holds_packs else ():
            if self._exists(noted) and not self._path(noted, ".keep").exists():
                self._hold(noted)

    def release_packs(self) -> None:
        """Leave all packs so far to git, also held ones: after a purge, git's gc must be able to remove old objects."""
        for noted in self.list_noted():
            self._release(noted)
            durable_files.remove(self._note_path(noted))

    def _release_needless(self) -> None:
        """Release the packs of a clone that is not partial any more, and of packs that another program removed."""
        for keep in self.packs.glob("pack-*.keep"):
            noted = NotedPack(0, keep.stem.removeprefix("pack-"))
            if not (self.holds_packs and keep.with_suffix(".idx").exists()):
                self._release(noted)

    def _hold(self, noted: NotedPack) -> None:
        """Create or replace the `.keep` of a pack; without it, the next write tries again."""
        temporary = temporary_path(self.packs, TEMPORARY_PACK)
        with suppress(OSError):
            durable_files.write_new(temporary, HELD_MARK, mode=0o644, sync=False)
            os.replace(temporary, self._path(noted, ".keep"))

    def _is_held(self, noted: NotedPack) -> bool:
        try:
            return self._path(noted, ".keep").read_bytes() == HELD_MARK
        except OSError:
            return False

    def _release(self, noted: NotedPack) -> None:
        """Remove the `.keep` of a held pack, so that git may repack its objects; leave any other `.keep` alone."""
        if self._is_held(noted):
            durable_files.remove(self._path(noted, ".keep"))

    def is_due(self) -> bool:
        """Return whether a merge is due. Cheap enough to be called after each write.

        The folder is listed again only after this process has written as many packs as were missing the last time.
        If a merge was due then, it is listed after a quarter of `enough` packs, because another process may merge them.
        """
        self.writes_until_look -= 1
        if not self.may_remove or self.writes_until_look > 0:
            return False
        missing = self.enough - len(self.choose_due(self.list_noted()))
        self.writes_until_look = missing if missing > 0 else self.enough // 4
        return missing <= 0

    def pack(self, *, everything: bool, progress: Progress = ignore_progress) -> PackReport | None:
        """Merge the packs that are due, or (`everything`) all packs, with recomputed deltas.

        Returns:
            What was merged, or None if another process is packing.

        Raises:
            Corrupt: a pack is damaged. Its files are kept, and later calls merge the other packs without it.
            OSError: writing to disk failed; no pack of the failed step was removed.
        """
        with hold_flock(self.lock, 0.0) as alone:
            if not alone:
                self.lock.touch()  # raises if the repository is read-only, where the lock fails, too
                return None
            self._clean_up()
            before = self.list_present()
            bytes_before = self._bytes(before)
            self._merge_with_retries(everything=everything, progress=progress)
            after = self.list_present()
            return PackReport(
                len(before), len(after), sum(pack.objects for pack in after), bytes_before, self._bytes(after)
            )

    def roll_up(self) -> None:
        """Merge the packs that are due, like `pack`, but without a report."""
        with hold_flock(self.lock, 0.0) as alone:
            if alone:
                self._clean_up()
                self._merge_with_retries(everything=False)

    def _clean_up(self) -> None:
        self._adopt_orphans()
        self._release_needless()
        self.hold_packs()
        self.clear_leftovers()

    def _merge_with_retries(self, *, everything: bool, progress: Progress = ignore_progress) -> None:
        self._remove_merged()
        for _ in range(_ATTEMPTS):
            with suppress(FileNotFoundError):  # git has just removed one of the packs after repacking
                self._merge_due(everything=everything, progress=progress)
                return

    def _merge_due(self, *, everything: bool, progress: Progress) -> None:
        """Merge the smallest packs first, `at_once` at a time, so that a killed process loses only one step."""
        while self.may_remove:
            present = self.list_present()
            chosen = present if everything else self.choose_due(present)
            if len(chosen) >= (1 if everything else self.enough):
                self._merge(chosen if everything else chosen[: self.at_once], progress, anew=everything)
            if everything or len(chosen) <= self.at_once:
                return

    def choose_due(self, packs: Iterable[NotedPack]) -> list[NotedPack]:
        """Return the packs to merge, smallest first.

        A pack is chosen if it, or a larger one, has less than `growth` times the objects of all smaller ones together.
        """
        smallest_first = sorted(packs)
        total = 0
        count = 0
        for number, pack in enumerate(smallest_first):
            if pack.objects < self.growth * total:
                count = number + 1
            total += pack.objects
        return smallest_first[:count]

    def _merge(self, chosen: Collection[NotedPack], progress: Progress, *, anew: bool) -> None:
        from baton_git.git.objects.pack_merge import merge_packs  # imported late, because few writes merge packs

        with ExitStack() as opened:
            try:
                packs = [opened.enter_context(self._open_pack(noted)) for noted in chosen]
                result = merge_packs(packs, self.form, anew=anew, progress=progress)
            except (Corrupt, *DAMAGE) as error:
                self._exclude_damaged(chosen)
                raise Corrupt("a pack", f"cannot be merged: {error}", hint="run `git fsck`") from error
            new = write_kept(self.packs, result.body(), result.index(), self.form)
        for noted in chosen:  # from now on, any process that finds the renamed notes removes these packs
            with suppress(FileNotFoundError):  # the note was removed, so the pack belongs to git
                os.replace(self._note_path(noted), self._note_path(noted) + _MERGED)
        self.settle(new)
        self._remove_merged()

    def _remove_merged(self) -> None:
        """Remove the packs whose note has the suffix `_MERGED`, including those of killed processes.

        If git's multi-pack-index lists such a pack, the pack stays, without the note and not held any more. Without
        `may_remove`, nothing is removed.
        """
        if not self.may_remove:
            return
        with suppress(FileNotFoundError):
            merged = [name for name in os.listdir(self.notes) if name.endswith(_MERGED)]
            listed = self._listed_by_git() if merged else b""
            for note in merged:
                name = note.partition(".")[0]
                if name.encode() not in listed:
                    for suffix in (".idx", ".pack"):
                        durable_files.remove(self.packs / f"pack-{name}{suffix}")
                self._release(NotedPack(0, name))
                durable_files.remove(f"{self.notes}{os.sep}{note}")

    def _exclude_damaged(self, chosen: Iterable[NotedPack]) -> None:
        """Remove the notes of damaged packs, so that the other packs can be merged; keep the files for a repair."""
        for noted in chosen:
            try:
                with self._open_pack(noted) as pack:
                    pack.check()
            except Corrupt:
                durable_files.remove(self._note_path(noted))

    def _open_pack(self, noted: NotedPack) -> closing[OpenPack]:
        return closing(OpenPack(self._path(noted, ".idx"), self.form))

    def list_noted(self) -> list[NotedPack]:
        """List the packs that have a note, including packs that no longer exist."""
        try:
            names = os.listdir(self.notes)
        except FileNotFoundError:
            return []
        pairs = (name.split(".") for name in names)
        return [NotedPack(int(pair[1]), pair[0]) for pair in pairs if len(pair) == 2 and pair[1].isdecimal()]

    def list_present(self) -> list[NotedPack]:
        """List the noted packs that baton may merge.

        The notes of packs that git deleted are removed, and those of packs that git listed in a multi-pack-index, which
        git repacks from then on. Git does not repack a held pack, so it is merged nevertheless.
        """
        present = []
        listed = self._listed_by_git()
        for noted in self.list_noted():
            if not self._exists(noted) or (noted.name.encode() in listed and not self._is_held(noted)):
                durable_files.remove(self._note_path(noted))
            elif not self._path(noted, ".keep").exists() or self._is_held(noted):
                present.append(noted)
        return present

    def _listed_by_git(self) -> bytes:
        """Return the bytes of git's multi-pack-indexes; the packs named there must not be removed by baton."""
        files = [self.packs / "multi-pack-index", *self.packs.glob("multi-pack-index.d/*.midx")]
        parts = []
        for file in files:
            with suppress(FileNotFoundError):
                parts.append(file.read_bytes())
        return b"".join(parts)

    def _adopt_orphans(self) -> None:
        """Settle the packs whose writer died: note them as baton's, and remove their `.keep`, or hold them."""
        for keep in list(self._dead_keeps()):
            index = keep.with_suffix(".idx")
            if not index.exists():  # the writer was killed before the pack was complete
                durable_files.remove(keep.with_suffix(".pack"))
            with suppress(FileNotFoundError, Corrupt), closing(OpenPack(index, self.form)) as pack:
                noted = NotedPack(pack.index.count, index.stem.removeprefix("pack-"))
                self._note(noted)
                if self.holds_packs:
                    self._hold(noted)
                    continue
            durable_files.remove(keep)

    def clear_leftovers(self) -> None:
        """Remove incomplete files of killed baton processes; git's temporary files are left to git."""
        durable_files.clear(self.packs, self._is_leftover)

    def _is_leftover(self, name: str, age: float) -> bool:
        for prefix in (TEMPORARY_PACK, TEMPORARY_INDEX):
            if name.startswith(prefix):
                pid, _, rest = name.removeprefix(prefix).partition("_")
                is_owner_dead = bool(rest) and not is_running(pid.encode())
                return age > (self.keep_stale_after if is_owner_dead else self.keep_never_after)
        return name.startswith(durable_files.CLOCK) and age > durable_files.LEFTOVER_AFTER

    def _dead_keeps(self) -> Iterator[Path]:
        now = None
        for keep in self.packs.glob("pack-*.keep"):
            try:
                text, written = keep.read_bytes(), keep.stat().st_mtime
            except OSError:
                continue
            if text.startswith(KEEP_MARK):
                now = now or durable_files.now_of(self.packs)
                age = now - written
                dead = age > self.keep_stale_after and not is_running(text[len(KEEP_MARK) :].strip())
                if dead or age > self.keep_never_after:
                    yield keep

    def _note(self, pack: NotedPack) -> None:
        with suppress(OSError):  # without a note the pack is an ordinary one, which does no harm
            durable_files.make_folder(self.notes)
            durable_files.write_new(self._note_path(pack), b"", mode=0o644, sync=False)

    def _note_path(self, pack: NotedPack) -> str:
        return f"{self.notes}{os.sep}{pack.name}.{pack.objects}"

    def _exists(self, pack: NotedPack) -> bool:
        return self._path(pack, ".idx").exists() and self._path(pack, ".pack").exists()

    def _path(self, pack: NotedPack, suffix: str) -> Path:
        return self.packs / f"pack-{pack.name}{suffix}"

    def _bytes(self, packs: Iterable[NotedPack]) -> int:
        total = 0
        for pack in packs:
            for suffix in (".pack", ".idx"):
                with suppress(FileNotFoundError):
                    total += self._path(pack, suffix).stat().st_size
        return total


def is_running(digits: bytes) -> bool:
    """Return whether a process with this id (decimal digits) is running."""
    if not digits.isdigit():
        return False
    try:
        os.kill(int(digits), 0)
    except (ProcessLookupError, OverflowError, ValueError):  # no process has, or can have, this id
        return False
    except PermissionError:
        return True
    return True
