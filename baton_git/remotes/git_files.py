"""git's configuration without git: the files that it would read, in the environment given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dulwich.config import ConfigFile, StackedConfig, apply_instead_of

from baton_git.errors import Corrupt
from baton_git.remotes.configured import checked
from baton_git.remotes.ssh import SshSettings
from baton_git.store import Repository


@dataclass(frozen=True)
class GitFiles:
    """The repository's own settings before those of the user, and these before those of the machine."""

    config: StackedConfig

    @classmethod
    def of(cls, repository: Repository, environment: Mapping[str, str]) -> GitFiles:
        """Reads the files; includes are followed, `includeIf` is not.

        Raises:
            Corrupt: one of them does not parse.
        """
        paths = [repository.common_dir / "config", *_of_the_user(environment)]
        if not environment.get("GIT_CONFIG_NOSYSTEM"):
            paths.append(Path(environment.get("GIT_CONFIG_SYSTEM", "/etc/gitconfig")))
        return cls(StackedConfig([found for path in paths for found in _read(path)]))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the remotes."""
        sections = (section for section in self.config.sections() if len(section) == 2 and section[0] == b"remote")
        return tuple(dict.fromkeys(_text(section[1]) for section in sections if self._get(*section, key="url")))

    @property
    def ssh(self) -> SshSettings:
        return SshSettings(self._get(b"core", key="sshCommand"), self._get(b"ssh", key="variant"))

    def address(self, name: str, *, push: bool) -> str:
        """The URL or path of a remote, to read from or to push to, after `insteadOf`. It may hold a password.

        Raises:
            NotFound: no such remote.
        """
        if checked(name, self.names) not in self.names:
            return apply_instead_of(self.config, name, push=push)
        section = b"remote", name.encode("utf-8", "surrogateescape")
        own = self._get(*section, key="pushurl") if push else None
        url = own or self._get(*section, key="url") or ""
        return apply_instead_of(self.config, url, push=push and own is None)

    def _get(self, *section: bytes, key: str) -> str | None:
        try:
            return _text(self.config.get(section, key.encode()))
        except KeyError:
            return None


def _of_the_user(environment: Mapping[str, str]) -> Iterator[Path]:
    if "GIT_CONFIG_GLOBAL" in environment:
        yield Path(environment["GIT_CONFIG_GLOBAL"])
        return
    home = environment.get("HOME")
    if home:
        yield Path(home) / ".gitconfig"
    base = environment.get("XDG_CONFIG_HOME") or (home and f"{home}/.config")
    if base:
        yield Path(base) / "git" / "config"


def _read(path: Path) -> Iterator[ConfigFile]:
    try:
        with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            yield ConfigFile.from_path(path)
    except ValueError as error:
        raise Corrupt(str(path), f"is no git configuration ({error})", hint="see `git config --list`") from error


def _text(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")
