"""The addresses under which a repository is known, and what a transcript names as evidence of where it worked."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from baton_git.agents.json_lines import open_transcript
from baton_git.core.errors import BatonError
from baton_git.git.files.atomic_files import read_bytes, write_all
from baton_git.git.local_git import GitUnavailable, SessionRepository
from baton_git.git.store import Repository

# --- addresses of a repository

# Git keeps former addresses in the reflog of a clone and in FETCH_HEAD. A remote whose address was changed leaves no
# trace there, so baton stores the addresses that it saw in `baton/mining/addresses.json` of the common directory. If
# that file is lost, it is made again from the current remotes.
FORMAT = 1
MAX_STORED = 50
"""Maximum number of addresses in the file; the oldest are removed."""
_HEAD_BYTES = 1 << 16
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
    return (_read_text(match[1]) for log in logs for match in _CLONED.finditer(_read_head(log)))


def _list_fetched(common: Path) -> Iterable[str]:
    return (_read_text(match[1] or match[2]) for match in _FETCHED.finditer(_read_head(common / "FETCH_HEAD")))


def _read_head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD_BYTES)
    except OSError:
        return b""


def _read_text(text: bytes) -> str:
    return text.decode("utf-8", "replace")


# --- what a transcript names

# The file is searched for a few patterns and not parsed, so that reading hundreds of files takes seconds.
MAX_COMMITS = 50
"""Maximum number of commits collected from a transcript; the first ones are kept."""
MAX_NAMES = 20
"""Maximum number of remotes, and of branches."""
MAX_SUBJECT = 60
"""Maximum number of bytes of a subject that are compared, from its beginning."""
_CHUNK = 8 << 20
_OVERLAP = 4096

# The line that `git commit` prints, inside a JSON string; the branch name has at most 200 bytes.
_MADE = re.compile(rb"\[[^\]\s\"\\\[]{1,200}(?: \(root-commit\))? ([0-9a-f]{7,64})\] ([^\"\\]{1,%d})" % MAX_SUBJECT)
_HEAD = re.compile(rb'"commit_hash": ?"([0-9a-f]{40}(?:[0-9a-f]{24})?)"')
_BRANCH = re.compile(rb'"gitBranch": ?"([^"\\]{1,200})"')
_BRIEF = re.compile(rb"=== baton ([A-Za-z0-9][A-Za-z0-9._/-]{0,99}) (?:\xc2\xb7|\\\\u00b7) (?:revision|session) ")
_PRINTED = re.compile(rb"\((?:fetch|push)\)|\b(?:To|From) [^ \\\"]*[:/]|get-url|remote\.[^ ]+\.url")
_REMOTE = re.compile(rb'"repository_url": ?"([^"\\]{1,1000})"')


class NamedCommit(NamedTuple):
    """A commit that a transcript names; `subject` is the beginning of its subject, empty if only the id is named."""

    hash: str
    subject: str


class Evidence(NamedTuple):
    """What a transcript names, anywhere in its text.

    Attributes:
        remotes: the remotes of the session's repository that the agent CLI recorded.
        namespaces: the namespaces whose brief the session received.
        has_remotes: whether git may have printed the address of a remote; see `weighing`.
    """

    commits: tuple[NamedCommit, ...] = ()
    remotes: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    has_remotes: bool = False


def find_evidence(path: Path) -> Evidence:
    """Return the evidence in a transcript. Raises as `open_transcript` does."""
    commits: dict[NamedCommit, None] = {}
    remotes: dict[str, None] = {}
    branches: dict[str, None] = {}
    namespaces: dict[str, None] = {}
    has_remotes = False
    before = b""
    with open_transcript(path) as file:
        while chunk := file.read(_CHUNK):
            text = before + chunk
            commits |= dict.fromkeys(NamedCommit(_decode(m[1]), _decode(m[2])) for m in _MADE.finditer(text))
            commits |= dict.fromkeys(NamedCommit(_decode(m[1]), "") for m in _HEAD.finditer(text))
            remotes |= dict.fromkeys(_decode(m[1]) for m in _REMOTE.finditer(text))
            branches |= dict.fromkeys(map(_decode, set(_BRANCH.findall(text))))
            namespaces |= dict.fromkeys(map(_decode, set(_BRIEF.findall(text))))
            has_remotes = has_remotes or _PRINTED.search(text) is not None
            if len(commits) >= MAX_COMMITS:
                break
            before = text[-_OVERLAP:]
    return Evidence(
        tuple(commits)[:MAX_COMMITS], tuple(remotes)[:MAX_NAMES], tuple(sorted(branches))[:MAX_NAMES],
        tuple(sorted(namespaces))[:MAX_NAMES], has_remotes,
    )  # fmt: skip


def _decode(text: bytes) -> str:
    return text.decode("utf-8", "ignore")
