"""The addresses under which a repository is or was known: those of its remotes, and former ones.

Git keeps former addresses in the reflog of a clone and in FETCH_HEAD. A remote whose address was changed leaves no
trace there, so baton stores the addresses that it saw in `baton/mining/addresses.json` of the common directory. If that
file is lost, it is made again from the current remotes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from baton_git.core.errors import BatonError
from baton_git.git.files.atomic_files import read_bytes, write_all
from baton_git.git.session_repository import GitUnavailable, SessionRepository
from baton_git.git.store import Repository

FORMAT = 1
MAX_STORED = 50
"""Maximum number of addresses in the file; the oldest are removed."""
_HEAD = 1 << 16
"""Number of bytes that are read of a reflog and of FETCH_HEAD, from the beginning."""

_WITH_SCHEME = re.compile(r"\A[a-z0-9+.-]+://(?:[^@/]*@)?([^/:]+)(?::[0-9]+)?/+(.*?)(?:\.git)?/*\Z")
_SCP = re.compile(r"\A(?:[^@/:]*@)?([^/:]+):/*(.*?)(?:\.git)?/*\Z")
_BARE = re.compile(r"\A([^/:@]+\.[^/:@]+)/(.*?)(?:\.git)?/*\Z")
_SSH_HOSTS = {
    "ssh.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
}
"""Hosts that accept SSH on the port of HTTPS, and the host whose repositories they serve."""
_CLONED = re.compile(rb"\tclone: from ([^\t\n]+)")
_FETCHED = re.compile(rb"^[^\n]*\t[^\n]* of ([^\n]+)$|^[0-9a-f]{40,64}\t[^\t\n]*\t([^'\n ]+)$", re.MULTILINE)


def normalise_address(address: str) -> str:
    """Return an address without scheme, user, port and suffix: `git@host:a/b.git` and `https://host/a/b` are the same.

    A path is returned unchanged, without its suffix.
    """
    address = address.strip()
    if address.startswith(("/", ".", "~", "file:")):
        return address.removesuffix("/").removesuffix(".git").removesuffix("/")
    match = next((match for form in (_WITH_SCHEME, _SCP, _BARE) if (match := form.match(address.lower()))), None)
    return f"{_SSH_HOSTS.get(match[1], match[1])}/{match[2]}" if match else address


def share_name(first: str, second: str) -> bool:
    """Whether two normalised addresses end with the same name, like a fork, a mirror, or the alias of an SSH host."""
    return first.rpartition("/")[2] == second.rpartition("/")[2]


def list_remotes(repository: Repository) -> set[str]:
    """Return the normalised addresses of a repository's remotes, as configured."""
    config = repository.config()
    names = (name for name in config.keys("remote") if name.endswith((".url", ".pushurl")))
    return {normalise_address(address) for name in names if (address := config.get(f"remote.{name}"))}


def list_own_addresses(repository: Repository, environment: Mapping[str, str]) -> set[str]:
    """Return the normalised addresses of a repository's current and former remotes."""
    common = Path(repository.common_dir)
    former = [*_read_stored(common), *_list_cloned(common), *_list_fetched(common)]
    return list_remotes(repository) | _list_expanded(common, environment) | set(map(normalise_address, former))


def store_addresses(repository: Repository) -> None:
    """Add the addresses of the current remotes to the stored ones; without new ones, nothing is written.

    Raises:
        WriteFailed: the file cannot be written.
    """
    common = Path(repository.common_dir)
    stored = _read_stored(common)
    if new := sorted(list_remotes(repository) - set(stored)):
        kept = [*stored, *new][-MAX_STORED:]
        content = json.dumps({"format": FORMAT, "addresses": kept}, indent=1) + "\n"
        write_all({_make_path(common): content.encode()}, mode=0o600)


def _make_path(common: Path) -> Path:
    return common / "baton" / "mining" / "addresses.json"


def _read_stored(common: Path) -> list[str]:
    """Return the stored addresses; none if the file is missing, damaged or has another format."""
    try:
        data = json.loads(read_bytes(_make_path(common)))
        return [str(address) for address in data["addresses"]] if data["format"] == FORMAT else []
    except (BatonError, ValueError, KeyError, TypeError, RecursionError):
        return []


def _list_expanded(common: Path, environment: Mapping[str, str]) -> set[str]:
    """Return the addresses that git uses, after its settings `url.*.insteadOf`."""
    try:
        lines = SessionRepository(common, environment).run_git("remote", "-v").splitlines()
    except GitUnavailable:
        return set()
    return {normalise_address(line.partition("\t")[2].rpartition(" (")[0]) for line in lines if "\t" in line}


def _list_cloned(common: Path) -> Iterable[str]:
    logs = [common / "logs" / "HEAD", *(common / "logs" / "refs" / "remotes").glob("*/HEAD")]
    return (_decode(match[1]) for log in logs for match in _CLONED.finditer(_read_head(log)))


def _list_fetched(common: Path) -> Iterable[str]:
    return (_decode(match[1] or match[2]) for match in _FETCHED.finditer(_read_head(common / "FETCH_HEAD")))


def _read_head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD)
    except OSError:
        return b""


def _decode(text: bytes) -> str:
    return text.decode("utf-8", "replace")
