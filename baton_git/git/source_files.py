"""Read files of the user's code at HEAD and in the work tree, and follow their changes and renames.

Nothing is written, and git starts no program that the repository configures.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

from baton_git.core.errors import BatonError
from baton_git.core.names import FORMAT_FILE, Oid
from baton_git.git.local_git import GitUnavailable, SessionRepository
from baton_git.git.source_commits import head_commit
from baton_git.git.store import Store

MAX_BYTES = 4 << 20
"""Maximum size in bytes of a file that is read from the work tree."""
MAX_COMMITS = 500
"""Maximum number of commits listed for a file; if there are more, only the newest are listed."""
MAX_RENAMES = 10
"""Maximum number of renames of a file that are followed."""
MAX_LISTED = 1_000
"""Maximum number of branches, with the namespaces among them, that are listed for one anchor."""
MAX_BRANCHES = 50
"""Maximum number of branches in which a file is looked for."""
SECONDS = 1.0
"""Maximum time in seconds for one git command."""


@dataclass(frozen=True)
class SourceFiles:
    """The user's code in the repository of `store`.

    `top` is the top folder of the work tree; `environment` has the environment variables for git; `prefix` is that of
    the branches of namespaces, which are no code.
    """

    store: Store
    top: Path
    environment: Mapping[str, str]
    prefix: str = "refs/heads/baton/"

    @cached_property
    def head(self) -> Oid | None:
        """The commit at HEAD; None before the first commit."""
        return head_commit(self.store)

    def find_blob(self, path: str, commit: Oid) -> Oid | None:
        """Return the blob id of a file at a commit, or None if the file does not exist there.

        Raises:
            Corrupt: the commit or a tree is missing or damaged.
        """
        folder = self.store.folder(self.store.commit(commit).tree)
        *parents, name = path.split("/")
        for parent in parents:
            folder = folder.folder(parent)
        entry = folder.entries().get(name)
        return None if entry is None or entry.is_folder else entry.oid

    def read_blob(self, oid: Oid) -> bytes:
        """Return the content of a blob. Raises Corrupt if it is missing or damaged."""
        return self.store.read(oid)

    def read_file(self, path: str) -> bytes | None:
        """Return the content of a file in the work tree; None unless it is a regular file of at most `MAX_BYTES`.

        Git's own files are not part of the work tree, whatever path or symbolic link leads to them.
        """
        file = Path(os.path.realpath(self.top / path))
        if not file.is_relative_to(os.path.realpath(self.top)) or self._is_of_git(path, file):
            return None
        try:
            status = file.stat()
            if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
                return None
            return file.read_bytes()
        except OSError:
            return None

    def _is_of_git(self, path: str, file: Path) -> bool:
        """Return whether a path, or the file that it leads to, is in git's folder, or in that of a submodule."""
        top = os.path.realpath(self.top)
        named = Path(os.path.relpath(self.top / path, self.top))
        if any(part.casefold() == ".git" for part in (*named.parts, *file.relative_to(top).parts)):
            return True
        repository = self.store.repository
        folders = (repository.git_dir, repository.common_dir)
        return any(file.is_relative_to(os.path.realpath(folder)) for folder in folders)

    def is_edited(self, path: str, blob: Oid) -> bool:
        """Return whether the file of the work tree has other content than the blob, in a way that is no conversion: of
        line ends, or by a filter, which is not run, so that a file with one counts as not edited.

        Raises:
            GitUnavailable: git fails or takes too long.
        """
        content = self.read_file(path)
        if content is None or blob in (self.hash_blob(content), self.hash_blob(content.replace(b"\r\n", b"\n"))):
            return False
        attributes = ("filter", "ident", "working-tree-encoding")
        words = self._git.run_git("check-attr", "-z", *attributes, "--", f"./{path}").split("\0")[2::3]
        return all(value in ("unspecified", "unset") for value in words)

    def find_missing(self, path: str) -> tuple[bool, str | None]:
        """Return whether a file of HEAD was removed from the work tree, and its new path if git was told of a move.

        Raises:
            GitUnavailable: git fails or takes too long.
        """
        if os.path.lexists(self.top / path):
            return False, None
        literal = f":(top,literal){path}"
        if self._git.run_git("ls-files", "-t", "--", literal).startswith("S "):  # outside of a sparse checkout
            return False, None
        printed = self._git.run_git("diff-index", "--cached", "-M", "--diff-filter=R", "--name-status", "-z", "HEAD")
        words = printed.split("\0")
        pairs = zip(words[1::3], words[2::3], strict=False)
        return True, next((new for old, new in pairs if old == path), None)

    def hash_blob(self, content: bytes) -> str:
        """Return the id that a blob with this content has in the repository."""
        digest = self.store.repository.object_format.hash_func()
        digest.update(b"blob %d\0" % len(content) + content)
        return digest.hexdigest()

    def follow_renames(self, path: str, since: Oid) -> tuple[str, Oid | None]:
        """Follow the renames of a file from the commit `since` to HEAD.

        Returns:
            The last path of the file, and the commit that removed it: None if the file exists at HEAD, `since` if no
            later commit changed the file.

        Raises:
            GitUnavailable: git fails or takes too long, the commit is unknown, or there are too many renames.
        """
        for _ in range(MAX_RENAMES):
            if self.head is not None and self.find_blob(path, self.head) is not None:
                return path, None
            commits = self.list_changes(path, since)
            new = self._find_new_name(path, commits[-1]) if commits else None
            if new is None:
                return path, commits[-1] if commits else since
            path, since = new, commits[-1]
        raise GitUnavailable("the file was renamed too often")

    def _find_new_name(self, path: str, commit: Oid) -> str | None:
        """Return the new path of a file that a commit renamed, or None if it did not."""
        printed = self._git.run_git(
            "diff-tree", "-r", "-z", "-m", "-M", "--no-commit-id", "--diff-filter=R", "--name-status", "--no-ext-diff",
            commit,
        )  # fmt: skip
        words = printed.split("\0")
        pairs = zip(words[1::3], words[2::3], strict=False)
        return next((new for old, new in pairs if old == path), None)

    def list_changes(self, path: str, since: Oid, until: Oid | None = None) -> list[Oid]:
        """Return the commits after `since` up to `until` (None: HEAD) that changed a file, oldest first.

        Raises:
            GitUnavailable: git fails or takes too long, or the commit is unknown.
        """
        printed = self._git.run_git(
            "rev-list",
            "--reverse",
            f"--max-count={MAX_COMMITS}",
            f"{since}..{until or self.head}",
            "--",
            f":(top,literal){path}",
        )
        return [Oid(line) for line in printed.split()]

    def is_in_history(self, commit: Oid) -> bool:
        """Return whether HEAD contains a commit. Raises GitUnavailable: git fails or takes too long."""
        return not self._git.run_git("rev-list", "--max-count=1", commit, f"^{self.head}")

    def list_branches(self, *conditions: str) -> tuple[list[tuple[str, Oid]], bool]:
        """Return branches, local and of remotes, with their tips, and whether these are all.

        Namespaces are left out. Of more than `MAX_BRANCHES`, those with the newest commits are returned.

        Args:
            conditions: options of `git for-each-ref` that select branches.

        Raises:
            GitUnavailable: git fails or takes too long.
            Corrupt: the commit or the tree of a branch that may be a namespace cannot be read.
        """
        printed = self._git.run_git(
            "for-each-ref", "--sort=-committerdate", f"--count={MAX_LISTED}",
            "--format=%(objectname) %(refname)", *conditions, "refs/heads", "refs/remotes",
        )  # fmt: skip
        lines = [line.partition(" ") for line in printed.splitlines()]
        code = ((name, Oid(tip)) for tip, _, name in lines if not self._is_namespace(name, Oid(tip)))
        named = list(islice(code, MAX_BRANCHES + 1))
        are_all = len(named) <= MAX_BRANCHES and len(lines) < MAX_LISTED
        newest = sorted(named[:MAX_BRANCHES], key=lambda branch: not branch[0].startswith("refs/heads/"))
        return [(name.split("/", 2)[2], tip) for name, tip in newest], are_all

    def _is_namespace(self, name: str, tip: Oid) -> bool:
        """Return whether a branch is a namespace: its name may also be that of a code branch, such as `baton/fix`."""
        if not name.startswith(self.prefix) and f"/{self.prefix.removeprefix('refs/heads/')}" not in name:
            return False
        return self.find_blob(FORMAT_FILE, tip) is not None

    def has_commit(self, oid: str) -> bool:
        """Return whether a commit exists in the repository."""
        try:
            self.store.commit(Oid(oid))
        except (BatonError, ValueError):
            return False
        return True

    @property
    def _git(self) -> SessionRepository:
        return SessionRepository(self.top, self.environment, SECONDS)
