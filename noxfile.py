"""The project's tasks: `.venv/bin/nox` checks a change, `nox -l` lists all tasks, `nox -s NAME` runs one.

They run in the environment that nox is installed in. Only `pythons` makes environments: one for each other version of
Python that is supported and found, on the PATH or in `~/.pyenv`.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import nox

TOP = Path(__file__).parent
PROJECT = nox.project.load_toml("pyproject.toml")
THIS = ".".join(platform.python_version_tuple()[:2])
OTHERS = [version for version in nox.project.python_versions(PROJECT) if version != THIS]
GROUPS = ("slow", "servers", "tmux", "browser", "agents")

nox.options.default_venv_backend = "none"
nox.options.sessions = ["lint", "types", "schemas", "tests"]


def run(session: nox.Session, *command: str, **env: str) -> None:
    """Run a Python module in the environment of nox."""
    session.run(sys.executable, "-m", *command, external=True, env=env)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, format and the project's own rules about its code, such as the order of the folders."""
    run(session, "ruff", "check", ".")
    run(session, "ruff", "format", "--check", ".")
    run(session, "pytest", "-m", "lint")


@nox.session
def types(session: nox.Session) -> None:
    """Check the types of the package strictly, and those of the tests with tests/mypy.ini."""
    run(session, "mypy")
    folders = sorted({path.parent for pattern in ("tests/**/*.py", "formats/**/*.py") for path in TOP.glob(pattern)})
    roots = [str(folder) for folder in folders if not (folder / "__init__.py").exists()]
    run(
        session,
        "mypy",
        "--config-file",
        "tests/mypy.ini",
        "tests",
        "formats",
        "noxfile.py",
        MYPYPATH=os.pathsep.join(roots),
    )


@nox.session
def schemas(session: nox.Session) -> None:
    """Check that the JSON Schemas and tables in formats/ match the models."""
    run(session, "pytest", "tests/formats", "-k", "drift or schema", "-n", "0")


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation site into site/; a warning or a dead link is an error."""
    session.run(sys.executable, "tests/project/build_site.py", *session.posargs, external=True)


@nox.session
def tests(session: nox.Session) -> None:
    """Run the default tests; arguments after -- go to pytest."""
    run(session, "pytest", *session.posargs)


def add_group(name: str) -> None:
    """Define a task that runs a group of tests."""

    @nox.session(name=name)
    def group(session: nox.Session) -> None:
        """Run a group of tests that the default run leaves out; arguments after -- go to pytest."""
        run(session, "pytest", "-m", name, "-rs", *session.posargs)


for name in GROUPS:
    add_group(name)


def find_python(version: str) -> str | None:
    """Return a working interpreter of a version, from the PATH or pyenv; None if there is none."""
    name = f"python{version}"
    for python in (shutil.which(name), *map(str, Path.home().glob(f".pyenv/versions/*/bin/{name}"))):
        words = [python or "false", "-c", "import venv"]
        if subprocess.run(words, capture_output=True, check=False).returncode == 0:  # noqa: S603  a shim may not work
            return python
    return None


@nox.session
@nox.parametrize("version", OTHERS, ids=OTHERS)
def pythons(session: nox.Session, version: str) -> None:
    """Run the default tests with another version of Python; arguments after -- go to pytest."""
    python = find_python(version)
    if python is None:
        session.skip(f"there is no Python {version} here")
    environment = TOP / ".nox" / f"python{version}"
    run(session, "virtualenv", "-q", "-p", python, str(environment))
    programs = environment / "bin"
    session.run(str(programs / "python"), "-m", "pip", "install", "-q", "-e", ".[test]", external=True)
    session.run(str(programs / "pytest"), "-p", "no:cacheprovider", *session.posargs, external=True)


@nox.session
def coverage(session: nox.Session) -> None:
    """Report which lines the default tests run, in all their processes; arguments after -- go to pytest."""
    run(session, "coverage", "erase")
    run(session, "coverage", "run", "-m", "pytest", *session.posargs)
    run(session, "coverage", "combine", "--quiet")
    run(session, "coverage", "report")


@nox.session
def mutation(session: nox.Session) -> None:
    """Break one rule after the other, and check that a default test fails (minutes; arguments choose mutants)."""
    session.run(sys.executable, "tests/mutation/run.py", *session.posargs, external=True)


@nox.session
def benchmarks(session: nox.Session) -> None:
    """Run all benchmarks, or those named after -- (minutes)."""
    names = sorted(path.stem for path in TOP.glob("benchmarks/*.py"))
    for name in session.posargs or [name for name in names if name != "measuring"]:
        session.run(sys.executable, f"benchmarks/{name}.py", external=True, success_codes=[0, 1])


@nox.session
def licences(session: nox.Session) -> None:
    """Write docs/licences.md from the installed packages."""
    session.run(sys.executable, "tests/project/licences.py", external=True)


@nox.session
def release(session: nox.Session) -> None:
    """Check a release: two builds are equal, and can be installed and used (minutes; less with `-- --quick`)."""
    session.run(sys.executable, "tests/project/release.py", *session.posargs, external=True)
