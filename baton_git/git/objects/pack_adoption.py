"""Link or copy packs from another folder into the repository, durably and with a `.keep` file."""

from __future__ import annotations

import os
import shutil
from contextlib import closing
from pathlib import Path
from typing import BinaryIO, Final

from dulwich.object_format import ObjectFormat

from baton_git.git.files import durable_files
from baton_git.git.objects.pack_reader import OpenPack
from baton_git.git.objects.pack_writer import KEEP_MARK, TEMPORARY_INDEX, TEMPORARY_PACK, KeptPack, temporary_path

_ATTEMPTS: Final = 5


def adopt_pack(source: Path, folder: Path, form: ObjectFormat) -> KeptPack:
    """Link or copy the pack at `source` and its index into `folder` (`objects/pack`), with a `.keep` file.

    Raises:
        Corrupt: the index is damaged.
        OSError: writing to disk failed; the incomplete files were removed.
    """
    with closing(OpenPack(source.with_suffix(".idx"), form)) as opened:
        count = opened.index.count
    size = sum(source.with_suffix(suffix).stat().st_size for suffix in (".pack", ".idx"))
    durable_files.make_folder(folder)
    pack = KeptPack(folder, durable_files.random_name(form.hex_length), count, size)
    try:
        durable_files.write_new(pack.keep_path, KEEP_MARK + b"%d\n" % os.getpid(), mode=0o644, sync=False)
        _place(source.with_suffix(".pack"), TEMPORARY_PACK, pack.path)
        _place(source.with_suffix(".idx"), TEMPORARY_INDEX, pack.index_path)
        durable_files.sync_folder(folder)
    except BaseException:
        pack.discard()
        raise
    return pack


def _place(source: Path, prefix: str, path: str) -> None:
    """Sync a file and link or copy it to `path`."""
    with open(source, "rb") as file:
        mode = durable_files.file_mode(os.path.dirname(path), 0o444)
        if mode is not None:
            os.fchmod(file.fileno(), mode)
        os.fsync(file.fileno())
        try:
            os.link(source, path)
        except OSError:  # `objects` is on another disk, or the file system has no hard links
            _copy(file, prefix, path)


def _copy(file: BinaryIO, prefix: str, path: str) -> None:
    for attempt in range(_ATTEMPTS):
        file.seek(0)
        temporary = temporary_path(os.path.dirname(path), prefix)
        fd = durable_files.open_new(temporary, b"", mode=0o444)
        try:
            with open(fd, "wb", closefd=False) as written:
                shutil.copyfileobj(file, written, 1 << 20)
            os.fsync(fd)
            os.replace(temporary, path)
        except FileNotFoundError:  # `git gc --prune=now` also removes temporary files of running processes
            if attempt + 1 == _ATTEMPTS:
                raise
        except BaseException:
            durable_files.remove(temporary)
            raise
        else:
            return
        finally:
            os.close(fd)
