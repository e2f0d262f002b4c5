"""Weigh the evidence in a transcript against a repository: did its session work in another project?

The folder alone proves little: containers mount every project at one place, and a folder can be replaced. So a session
that started in a folder of the repository is doubtful if its transcript contradicts that and nothing supports it.

Proof that it worked here is a current or former remote that git named in the session, or a commit of the session that
the repository has, by its id, its subject (a rebase changes only the id) or the map of rewritten commits. Without
proof, another remote contradicts, unless a file, a branch or the name of the repository is the same; commits that are
not here contradict, unless a file or a branch is here. A branch, files and a namespace that are not here, and a time
before the repository was made, are weak: branches are deleted, files are renamed. Two of them contradict.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from baton_git.agents.events import SessionContext, ToolCall, ToolResult
from baton_git.agents.extraction.repository import find_subjects
from baton_git.agents.extraction.shell import (
    find_git_work,
    find_made_commits,
    is_elsewhere,
    parse_git_words,
    parse_script,
)
from baton_git.agents.mining.evidence import (
    MAX_COMMITS,
    MAX_NAMES,
    MAX_SUBJECT,
    Evidence,
    NamedCommit,
    list_own_addresses,
    normalise_address,
    share_name,
)
from baton_git.agents.registry import AGENTS
from baton_git.agents.transcripts import TranscriptFormat
from baton_git.core.output import one_line
from baton_git.git.local_git import GitUnavailable, SessionRepository
from baton_git.git.rewritten import load_rewritten
from baton_git.git.store import Repository

# --- what a session's own tools did in its folder: its commits, the remotes that git printed, its files
# Unlike a search for patterns in the text, this does not count what a person or the model quotes, nor what a command
# did in another repository.

MAX_FILES = 60
"""Maximum number of files of a session that are compared with those of the repository; the first ones are kept."""

_LISTED = re.compile(r"^\S+\t(\S+) \((?:fetch|push)\)", re.MULTILINE)
_TRANSFERRED = re.compile(r"^(?:To|From) (\S+)\r?$", re.MULTILINE)
_ALONE = re.compile(r"\A\s*((?:[a-z0-9+.-]+://|[\w.-]+@[\w.-]+:)\S+)\s*\Z")
_PATTERNS = {
    "remote": (_LISTED, _ALONE), "config": (_ALONE,), "push": (_TRANSFERRED,), "fetch": (_TRANSFERRED,),
    "pull": (_TRANSFERRED,),
}  # fmt: skip
"""What the subcommands of git print when they name a remote of the repository."""


class GitUse(NamedTuple):
    """What a session did in its folder and below.

    Attributes:
        commits: the commits that its commands made in the folder and whose ids git printed.
        remotes: the addresses of the repository's remotes that git printed there.
        inner_commits, inner_remotes: those of folders below; these may be submodules or other repositories.
        files: the paths, relative to the folder, of files that its tools read or changed.
        branches: the branches on which it worked.
    """

    commits: tuple[NamedCommit, ...] = ()
    remotes: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    inner_commits: tuple[NamedCommit, ...] = ()
    inner_remotes: tuple[str, ...] = ()


def read_git_use(agent: str, path: Path, folder: str | None) -> GitUse:
    """Return what a session did in its folder.

    Args:
        folder: the folder of the session, for a transcript that does not name it; then its commits count only if its
            tools used absolute paths in the folder.

    Raises as the reader of its transcript does.
    """
    reader = _Reader(AGENTS[agent].transcript, folder)
    for event in reader.cli.events(path):
        match event:
            case SessionContext():
                reader.add_context(event)
            case ToolCall(side=False):
                reader.add_call(event)
            case ToolResult(side=False):
                reader.add_result(event)
            case _:
                pass
    commits = tuple(reader.commits)[:MAX_COMMITS] if reader.is_located else ()
    return GitUse(
        commits, tuple(reader.remotes)[:MAX_NAMES], tuple(reader.files)[:MAX_FILES], tuple(reader.branches)[:MAX_NAMES],
        tuple(reader.inner_commits)[:MAX_COMMITS], tuple(reader.inner_remotes)[:MAX_NAMES],
    )  # fmt: skip


class _Reader:
    """What a session did in its folder, according to the events so far."""

    def __init__(self, cli: TranscriptFormat, folder: str | None) -> None:
        self.cli = cli
        self.is_located = False
        self.commits: dict[NamedCommit, None] = {}
        self.remotes: dict[str, None] = {}
        self.inner_commits: dict[NamedCommit, None] = {}
        self.inner_remotes: dict[str, None] = {}
        self.files: dict[str, None] = {}
        self.branches: dict[str, None] = {}
        self._home, self._cwd, self._names_folder = folder, folder, False
        self._created: list[str] = []
        self._calls: dict[str, tuple[str, str, str | None]] = {}

    def add_context(self, event: SessionContext) -> None:
        if event.cwd and not self._names_folder:
            self._home = event.cwd
            self.is_located = self._names_folder = True
        self._cwd = event.cwd or self._cwd
        if event.branch and self._is_inside(self._cwd):
            self.branches[event.branch] = None

    def add_call(self, event: ToolCall) -> None:
        use = self.cli.read_call(event)
        if use.command is not None:
            folder = posixpath.join(self._cwd or "", use.folder) if use.folder else self._cwd
            self._calls[event.id] = (event.name, use.command, folder)
        for name in (*use.files, *use.reads):
            path = posixpath.normpath(posixpath.join(self._cwd or "", name))
            if self._home is not None and path.startswith(self._home.rstrip("/") + "/"):
                self.files[posixpath.relpath(path, self._home)] = None
                self.is_located = self.is_located or name.startswith("/")

    def add_result(self, event: ToolResult) -> None:
        name, command, folder = self._calls.pop(event.id, ("", "", None))
        if "git" not in command or self.cli.read_result(name, event).failed:
            return
        work = find_git_work(command, folder)
        self._created += [path for path in work.repositories if path and path != self._home]
        for made in find_made_commits(work, event.text):
            if made.hash and not is_elsewhere(work, made.commit_command, self._home, self._created):
                subject = made.subject.encode()[:MAX_SUBJECT].decode("utf-8", "ignore")
                is_home = made.commit_command.folder in (None, self._home)
                (self.commits if is_home else self.inner_commits)[NamedCommit(made.hash, subject)] = None
        self._add_remotes(command, folder, event.text)

    def _add_remotes(self, command: str, folder: str | None, output: str) -> None:
        """Add the addresses that the output of a script names, if all of its commands about remotes concern the
        session's folder or those below, and name no address themselves."""
        verbs: set[str] = set()
        is_home = True
        for script_command in parse_script(command, folder).commands:
            if script_command.words[0].rpartition("/")[2] != "git":
                continue
            verb, rest, where = parse_git_words(script_command)
            if verb == "clone":
                return
            if verb in _PATTERNS:
                if not self._is_inside(where) or any("/" in word and ":" in word for word in rest):
                    return
                verbs.add(verb)
                is_home = is_home and where is not None and posixpath.normpath(where) == self._home
        for pattern in {pattern for verb in verbs for pattern in _PATTERNS[verb]}:
            found = dict.fromkeys(match[1] for match in pattern.finditer(output))
            (self.remotes if is_home else self.inner_remotes).update(found)

    def _is_inside(self, folder: str | None) -> bool:
        home = self._home
        if folder is None or home is None:
            return False
        folder = posixpath.normpath(folder)
        inside = folder == home or folder.startswith(home.rstrip("/") + "/")
        return inside and not any(folder == path or folder.startswith(path + "/") for path in self._created)


# --- weighing

COMMON_BRANCHES = frozenset(
    ("main", "master", "trunk", "develop", "development", "dev", "staging", "production", "HEAD")
)
"""Names of branches that many repositories use."""
_COMMON_FILES = frozenset(
    (
        "readme.md", "readme", "license", "license.md", "changelog.md", "contributing.md", "claude.md", "agents.md",
        "gemini.md", ".gitignore", ".env", ".env.example", "package.json", "package-lock.json", "tsconfig.json",
        "pyproject.toml", "setup.py", "requirements.txt", "cargo.toml", "go.mod", "makefile", "dockerfile",
        "docker-compose.yml", "compose.yaml", "main.py", "app.py", "main.go", "main.rs", "lib.rs", "mod.rs",
        "index.html", "index.js", "index.ts", "main.ts", "main.js", "app.tsx", "page.tsx", "layout.tsx", "__init__.py",
        "conftest.py", "manage.py", "settings.json", "vite.config.ts",
    )
)  # fmt: skip
"""Names of files that many projects have."""
_GENERIC = re.compile(
    r"(?:wip|tmp|test|tests|init|initial|initial commit|initial import|first commit|root|fix|fixes|fix typo|typo|update"
    r"|updates|update readme(?:\.md)?|cleanup|clean up|changes|more|refactor|format|lint|x|a|b|\.)[.!]?\Z",
    re.IGNORECASE,
)
"""Subjects that many projects have; such a commit is recognised by its id only."""
_MAX_SUBJECTS = 200_000
_MARGIN = 60.0
"""Seconds by which the clocks of a container and its host may differ."""


class Doubt(NamedTuple):
    """Why a session probably worked in another project; each reason completes "the session …"."""

    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return "; ".join(self.reasons)


class Weighed(NamedTuple):
    """The evidence of one transcript.

    Attributes:
        named: what a search for patterns finds in it.
        changed: when it was last changed, in seconds since 1970.
        read_use: reads what the session did in its folder; called only if that decides.
        is_removed: whether hooks ran in its work tree and that was removed since. Its branch and its uncommitted files
            often went with it, so that they are not here proves nothing.
    """

    named: Evidence
    changed: float
    read_use: Callable[[], GitUse]
    is_removed: bool = False


class RepositoryEvidence:
    """What a repository shows of itself: remotes, commits, branches, files, namespaces, and when it was made.

    Each is looked up when it is first needed.

    Args:
        work_tree: the top of the work tree, to look for files that are not committed.
        namespaces: the names of the repository's namespaces.
    """

    def __init__(
        self, repository: Repository, work_tree: Path | None, environment: Mapping[str, str], namespaces: Iterable[str]
    ) -> None:
        self._repository, self._work_tree = repository, work_tree
        self._environment, self._namespaces = dict(environment), set(namespaces)
        self._git = SessionRepository(Path(repository.common_dir), self._environment)

    @cached_property
    def addresses(self) -> set[str]:
        return list_own_addresses(self._repository, self._environment) | self._list_merged()

    @cached_property
    def branches(self) -> set[str]:
        """The branches and remote branches, and those that the reflog of HEAD names."""
        names = {name.partition("/")[2] for name in self._run_git("for-each-ref", "--format=%(refname:lstrip=2)",
                                                                 "refs/remotes").splitlines()}  # fmt: skip
        names |= set(self._run_git("for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads").splitlines())
        moves = self._run_git("log", "--walk-reflogs", "--format=%gs", "--max-count=2000", "HEAD", "--").splitlines()
        for move in moves:
            if move.startswith("checkout: moving from "):
                names |= set(move.removeprefix("checkout: moving from ").split(" to "))
        return names - COMMON_BRANCHES

    @cached_property
    def made(self) -> float | None:
        """When the repository was put into its folder (seconds since 1970): the oldest time in its git directory."""
        common = Path(self._repository.common_dir)
        times = [path.lstat().st_mtime for pattern in ("*", "*/*") for path in common.glob(pattern) if _exists(path)]
        return min(times, default=None)

    @cached_property
    def _subjects(self) -> set[str]:
        lines = self._run_git("log", "--all", "--reflog", "--format=%s", f"--max-count={_MAX_SUBJECTS}").splitlines()
        return {_shorten(line) for line in lines}

    def _list_merged(self) -> set[str]:
        """Return the addresses in the subjects of merges of pulled branches: `Merge branch 'main' of HOST:PATH`."""
        texts = self._run_git("log", "--all", "--merges", "--format=%s", "--max-count=1000").splitlines()
        merged = (text.partition("' of ")[2].partition(" into ")[0] for text in texts if text.startswith("Merge "))
        return {normalise_address(address) for address in merged if address}

    def find_known(self, commits: Sequence[NamedCommit]) -> list[NamedCommit]:
        """Return those commits that the repository has, or had under another id."""
        try:
            found = find_subjects(self._git, sorted({commit.hash for commit in commits}))
        except GitUnavailable:
            found = {}
        rewritten = load_rewritten(Path(self._repository.common_dir))
        return [
            commit for commit in commits
            if _is_same(commit, found) or any(old.startswith(commit.hash) for old in rewritten)
            or (not _GENERIC.match(commit.subject or "x") and _shorten(commit.subject) in self._subjects)
        ]  # fmt: skip

    def find_files(self, names: Sequence[str]) -> list[str]:
        """Return those files that the work tree has, or that a commit of any branch has or had."""
        top = self._work_tree
        here = {name for name in names if top is not None and os.path.lexists(os.path.join(top, name))}  # noqa: PTH118
        missing = [name for name in names if name not in here]
        if missing:
            output = self._run_git(
                "log", "--all", "--exclude=baton/*", "--branches", "--format=", "--name-only", "-z", "--no-renames",
                "--diff-filter=A", "--", *(f":(top,literal){name}" for name in missing),
            )  # fmt: skip
            here |= {name.strip("\n") for name in output.split("\0")} & set(missing)
        return [name for name in names if name in here]

    def has_namespace(self, names: Iterable[str]) -> bool:
        return not self._namespaces.isdisjoint(names)

    def _run_git(self, *arguments: str) -> str:
        try:
            return self._git.run_git(*arguments)
        except GitUnavailable:
            return ""


def find_doubt(evidence: Weighed, repository: RepositoryEvidence) -> Doubt | None:
    """Return why a session that started in a folder of the repository probably worked elsewhere, or None."""
    named = evidence.named
    branches = {branch for branch in named.branches if branch not in COMMON_BRANCHES and branch != ""}
    strange_branch = bool(branches) and branches.isdisjoint(repository.branches)
    is_older = repository.made is not None and evidence.changed + _MARGIN < repository.made
    strange_namespace = bool(named.namespaces) and not repository.has_namespace(named.namespaces)
    if not (named.remotes or named.commits or named.has_remotes or strange_branch or is_older or strange_namespace):
        return None
    return _weigh(
        named, evidence.read_use(), repository, strange_branch=strange_branch, is_older=is_older,
        strange_namespace=strange_namespace, is_removed=evidence.is_removed,
    )  # fmt: skip


def _weigh(
    named: Evidence, use: GitUse, repository: RepositoryEvidence, *, strange_branch: bool, is_older: bool,
    strange_namespace: bool, is_removed: bool,
) -> Doubt | None:  # fmt: skip
    remotes = sorted({normalise_address(address) for address in (*named.remotes, *use.remotes)})
    heads = [commit for commit in named.commits if not commit.subject and len(commit.hash) >= 40]
    commits = [*use.commits, *heads]
    inner = map(normalise_address, use.inner_remotes)
    if not repository.addresses.isdisjoint((*remotes, *inner)):
        return None
    if repository.find_known([*commits, *use.inner_commits]):
        return None
    branches = {*named.branches, *use.branches} - COMMON_BRANCHES
    has_files = _are_known([*use.files], repository)
    is_supported = has_files is True or not branches.isdisjoint(repository.branches)
    is_related = any(share_name(first, second) for first in remotes for second in repository.addresses)
    other_remote = bool(remotes) and not is_related
    weak = {
        f"was on the branch {_quote(branches)}, which is not in this repository": strange_branch and not is_removed,
        "used no file that is or was in this repository": has_files is False and not is_removed,
        "ended before this repository was put into its folder": is_older,
        f"received the state of the namespace {_quote(named.namespaces)}": strange_namespace,
    }
    weak_reasons = [reason for reason, applies in weak.items() if applies]
    ids = _quote(commit.hash[:12] for commit in commits)
    strong = {
        f"used the remote {_quote(remotes)}": other_remote,
        f"made commits that are not in this repository ({ids})": bool(commits),
    }
    strong_reasons = [reason for reason, applies in strong.items() if applies]
    has_doubt = len(strong_reasons) > is_supported if strong_reasons else len(weak_reasons) > 1 and not is_supported
    return Doubt((*strong_reasons, *weak_reasons)) if has_doubt else None


def _are_known(files: Sequence[str], repository: RepositoryEvidence) -> bool | None:
    """Whether the repository has one of the files; None if they are none, or if many projects have such files."""
    telling = [name for name in files if PurePosixPath(name).name.lower() not in _COMMON_FILES]
    return bool(repository.find_files(telling)) if telling else None


def _is_same(commit: NamedCommit, found: Mapping[str, str]) -> bool:
    """Whether the repository has the commit; a short id counts only together with its subject."""
    if commit.hash not in found:
        return False
    return _shorten(found[commit.hash]).startswith(commit.subject) if commit.subject else len(commit.hash) >= 40


def _shorten(subject: str) -> str:
    return subject.encode("utf-8", "replace")[:MAX_SUBJECT].decode("utf-8", "ignore")


def _quote(names: Iterable[str]) -> str:
    first, *rest = sorted(set(names)) or [""]
    return one_line(first, 100) + (f" and {len(rest)} more" if rest else "")


def _exists(path: Path) -> bool:
    return os.path.lexists(path)
