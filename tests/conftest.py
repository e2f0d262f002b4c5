"""Isolation of every test from the machine, real git repositories, and the command `baton` (in this process or
another)."""

from __future__ import annotations

import gc
import io
import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from folder_copies import FolderCopy
from hypothesis import settings
from world import begin, workspace

from baton_git.git.remotes import Depth
from baton_git.git.store import Repository, Store
from baton_git.interfaces.cli import baton as command
from baton_git.interfaces.cli.error_handler import run
from baton_git.namespace.workspace import Workspace

settings.register_profile("steady", max_examples=25, derandomize=True, deadline=None)
settings.register_profile("thorough", max_examples=300, derandomize=True, deadline=None)
settings.load_profile("steady")
"""Each run has the same examples and no deadline, so a failure is caused by a change and not by a busy machine. CI also
runs the property tests with --hypothesis-profile=thorough; to search for new examples: --hypothesis-profile=default."""

SURROUNDINGS = ("GIT_", "BATON_", "XDG_", "CLAUDE", "CODEX_", "GEMINI_")
"""Prefixes of environment variables that would affect the tests. They may be set, because agents run the tests, too."""

AUTHOR = {
    f"GIT_{role}_{what}": text
    for role in ("AUTHOR", "COMMITTER")
    for what, text in (("NAME", "Ada"), ("EMAIL", "ada@example.org"))
}


MEMORY_DISK, NEEDED_BYTES = Path("/dev/shm"), 2 * 1024**3


def put_folders_into_memory() -> None:
    """Put the folders of tests on a disk in memory if there is one; --basetemp and PYTEST_DEBUG_TEMPROOT override this.

    The default run syncs thousands of small files: with a disk in memory it took 2:40 instead of 4:27 on 2 cores.
    """
    if "PYTEST_DEBUG_TEMPROOT" not in os.environ and is_usable_disk(MEMORY_DISK):
        os.environ["PYTEST_DEBUG_TEMPROOT"] = str(MEMORY_DISK)


def is_usable_disk(folder: Path) -> bool:
    """Return whether tests can write to a folder, run programs in it, and fill `NEEDED_BYTES`."""
    if not (folder.is_dir() and os.access(folder, os.W_OK)):
        return False
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize >= NEEDED_BYTES and not disk.f_flag & os.ST_NOEXEC


GIT_CONFIG = "[gc]\nauto = 0\n[maintenance]\nauto = false\n[receive]\nunpackLimit = 1\n[fetch]\nunpackLimit = 1\n"
"""The user's configuration of git in every test: no maintenance in the background, and few small files."""


@pytest.fixture(scope="session")
def _git_config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("config") / "gitconfig"
    file.write_text(GIT_CONFIG)
    return file


@pytest.fixture(scope="session")
def _homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield the paths of new folders; this is faster than pytest's own way, which scans the thousands of existing
    folders."""
    folder = tmp_path_factory.mktemp("homes")
    return (folder / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def _sealed(monkeypatch: pytest.MonkeyPatch, _homes: Iterator[Path], _git_config: Path) -> None:
    """Isolate the test from the machine: no home, configuration or variables of the user."""
    for name in [name for name in os.environ if name.startswith(SURROUNDINGS)]:
        monkeypatch.delenv(name)
    home = next(_homes)
    home.mkdir()
    fixed = {
        "HOME": str(home), "XDG_DATA_HOME": str(home / "data"), "XDG_CONFIG_HOME": str(home / "config"),
        "GIT_CONFIG_GLOBAL": str(_git_config), "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0",
        "TZ": "UTC", **AUTHOR,
    }  # fmt: skip
    for name, value in fixed.items():
        monkeypatch.setenv(name, value)
    time.tzset()


@dataclass(frozen=True)
class Done:
    """The result of a call of the command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def id(self) -> str:
        return self.out.strip()


Git = Callable[..., str]
Baton = Callable[..., Done]


@pytest.fixture
def git() -> Git:
    """Run git in a folder and return its output."""

    def run_git(where: Path, *args: str, code: int = 0, text: str | None = None) -> str:
        done = subprocess.run(["git", "-C", str(where), *args], capture_output=True, text=True, input=text, timeout=60)
        assert done.returncode == code, f"git {args}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout.strip()

    return run_git


@pytest.fixture(scope="session")
def _first_commit(tmp_path_factory: pytest.TempPathFactory) -> FolderCopy:
    """Create the repository of `top` once; copying it is faster than running git three times."""
    folder = tmp_path_factory.mktemp("first") / "work"
    fixed = {"HOME": str(folder), "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "TZ": "UTC", **AUTHOR}
    clean = {name: value for name, value in os.environ.items() if not name.startswith(SURROUNDINGS)}

    def run_git(*words: str) -> None:
        subprocess.run(["git", *words], cwd=folder, check=True, env={**clean, **fixed})

    folder.mkdir()
    run_git("init", "-q", "-b", "main")
    for sample in (folder / ".git" / "hooks").glob("*.sample"):
        sample.unlink()
    (folder / "readme").write_text("hello\n")
    run_git("add", "readme")
    run_git("commit", "-q", "-m", "first")
    with Store(Repository.open(folder)) as store:
        begin(workspace(store, namespace="work").branch)
    return FolderCopy.of(folder)


@pytest.fixture
def top(tmp_path: Path, _first_commit: FolderCopy) -> Path:
    """Return a work tree named `work` with one commit on main, and the namespace that `baton init` creates."""
    return _first_commit.write(tmp_path / "work")


@pytest.fixture
def baton(top: Path, monkeypatch: pytest.MonkeyPatch) -> Baton:
    """Run the command in this process, in the repository `top` or in `cwd`.

    `given` is its standard input; `env` is added to its environment. The exit status must be `code`; None accepts
    any status.
    """

    def call(
        *words: str, code: int | None = 0, given: str | bytes = "", cwd: Path = top, env: dict[str, str] | None = None
    ) -> Done:
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
        raw = given if isinstance(given, bytes) else given.encode()
        with monkeypatch.context() as here, redirect_stdout(out), redirect_stderr(err):
            for name, value in (env or {}).items():
                here.setenv(name, value)
            here.setattr(sys, "argv", ["baton", *words])
            here.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw), "utf-8"))
            here.chdir(cwd)
            exit_code = run(command)
        said = [stream.buffer.getvalue().decode() for stream in (out, err)]  # type: ignore[attr-defined]
        done = Done(exit_code, *said)
        assert code in (None, done.code), f"baton {words}: {done}"
        return done

    return call


@pytest.fixture
def baton_process(top: Path) -> Baton:
    """Run the command as a separate process."""

    def call(
        *words: str,
        code: int | None = 0,
        given: str = "",
        cwd: Path = top,
        env: dict[str, str] | None = None,
        measured: bool = True,  # False: coverage does not follow, so that only the command's own imports are seen
    ) -> Done:
        argv = [sys.executable, "-m", "baton_git", *words]
        environment = {**os.environ, **(env or {})}
        if not measured:
            environment.pop("COVERAGE_PROCESS_CONFIG", None)
        found = subprocess.run(argv, cwd=cwd, env=environment, input=given, capture_output=True, text=True, timeout=60)
        done = Done(found.returncode, found.stdout, found.stderr)
        assert code in (None, done.code), f"baton {words}: {done}"
        return done

    return call


@pytest.fixture
def open_workspace(tmp_path: Path) -> Iterator[Callable[..., Workspace]]:
    """Return a function that opens workspaces, each with its own store, on the bare repository `name`."""
    stores = []

    def make(session: str | None = "s1", *, name: str = "state.git", **more: Any) -> Workspace:
        store = Store(Repository.create_bare(tmp_path / name))
        stores.append(store)
        return workspace(store, session, **more)

    yield make
    for store in stores:
        store.close()


@pytest.fixture
def ws(open_workspace: Callable[..., Workspace]) -> Workspace:
    """A workspace of the session `s1`."""
    return open_workspace()


DEFAULT = "not lint and not slow and not servers and not tmux and not agents and not browser"


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Use one worker more than there are cores for the default run, whose tests often wait for processes."""
    return (os.cpu_count() or 1) + 1 if config.option.markexpr == DEFAULT else None


def pytest_collection_finish() -> None:
    """Exclude the collected tests from later garbage collections; they live until the end anyway."""
    gc.collect()
    gc.freeze()


def pytest_configure() -> None:
    put_folders_into_memory()
    refuse_equal_names()


def refuse_equal_names() -> None:
    """Refuse two test files with the same name: pytest could not collect both in one run."""
    folders: dict[str, Path] = {}
    for path in sorted(Path(__file__).parent.rglob("test_*.py")):
        if (path.parent / "__init__.py").exists():
            continue
        if path.name in folders:
            raise pytest.UsageError(f"{path} and {folders[path.name] / path.name} need different names")
        folders[path.name] = path.parent


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Report which groups were not run, and how to run them."""
    if config.option.markexpr == DEFAULT:
        terminalreporter.write_line("left out: rules about the code, which only read it; check them with: nox -s lint")
        terminalreporter.write_line(
            "left out: the slow group (many processes, kills, full disks); run it with: pytest -m slow"
        )
        terminalreporter.write_line(
            "left out: the servers group (OpenSSH, gitolite; needs both installed); run it with: pytest -m servers"
        )
        terminalreporter.write_line("left out: the tmux group (a real tmux); run it with: pytest -m tmux")
        terminalreporter.write_line(
            "left out: the browser group (the pages in chromium); run it with: pytest -m browser"
        )
        terminalreporter.write_line(
            "left out: the agents group (the agents' real command lines, from npm); run it with: pytest -m agents"
        )


@pytest.fixture
def short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a first meeting take 5 generations of a history, and each further part 7."""
    monkeypatch.setattr("baton_git.namespace.sync.older_history.GENERATIONS", 5)
    monkeypatch.setattr("baton_git.namespace.sync.synchronise.NEWEST", Depth(5))
    monkeypatch.setattr("baton_git.namespace.sync.older_history.PART", 7)
    monkeypatch.setattr("baton_git.namespace.sync.older_history.COMMITS", 7)
