"""Check everything that a release needs, and list what is missing: `python tests/project/release.py [--quick]`.

The sdist and the wheel are built twice, in two clones; the bytes of both builds must be equal. Each is installed
into empty environments, with the lowest and with the newest versions of the dependencies, and used there. `--quick`
tests one version of Python and two environments, and does not check the date, tag and addresses. The files are left
in dist/. It needs the extra `release`; docs/releasing.md describes the procedure.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

TOP = Path(__file__).parents[2]
URLS = ("Source", "Issues", "Changelog")
"""Names of the addresses that the metadata of a published release must have."""
NOT_IN_SDIST = {".gitignore"}
"""Tracked files that hatchling includes automatically, or that a build does not need."""
INITIALIZE = {
    "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "release-check", "version": "1"},
}  # fmt: skip
IMPORT_ALL = """
import importlib, pkgutil, baton_git
for module in pkgutil.walk_packages(baton_git.__path__, "baton_git."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
"""


class Problem(Exception):
    """A problem that prevents a release."""


class Installation(NamedTuple):
    """An environment to create: the file to install, its extras, the Python version, and the resolution of
    dependencies."""

    artifact: Path
    extras: str
    python: str
    resolution: str

    def __str__(self) -> str:
        kind = "wheel" if self.artifact.suffix == ".whl" else "sdist"
        return f"Python {self.python}, {kind}{self.extras}, {self.resolution} dependencies"


def run(*command: str | Path, cwd: Path = TOP, env: dict[str, str] | None = None, text: str = "") -> str:
    """Run a program and return its output.

    Raises:
        Problem: the program exited with another code than 0.
    """
    done = subprocess.run(
        [*map(str, command)], cwd=cwd, env={**os.environ, **(env or {})}, input=text, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    if done.returncode:
        raise Problem(f"{' '.join(map(str, command))} exits {done.returncode}:\n{done.stderr.strip() or done.stdout}")
    return done.stdout


# --- the source


def find_source_problems(version: str, changelog: str, urls: Iterable[str], tags: Iterable[str]) -> Iterator[str]:
    """Yield the missing parts of the changelog, the addresses and the tags at the released commit."""
    if not re.search(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", changelog, re.MULTILINE):
        yield f"CHANGELOG.md has no section `## [{version}] - YYYY-MM-DD`"
    for name in URLS:
        if name not in urls:
            yield f"[project.urls] in pyproject.toml has no {name}"
    tags = list(tags)
    if f"v{version}" not in tags:
        yield f"the commit has the tags {', '.join(tags) or '(none)'}, not v{version}"


def read_version(source: str) -> str:
    """Return the version that `baton_git/__init__.py` declares."""
    found = re.search(r'^__version__ = "(\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?)"$', source, re.MULTILINE)
    if found is None:
        raise Problem('baton_git/__init__.py has no line `__version__ = "X.Y.Z"`')
    return found[1]


# --- the files


def build_twice(folder: Path) -> Path:
    """Build the sdist and the wheel of the newest commit in two clones, and return the folder with those of the first.

    Raises:
        Problem: the two builds differ, or one fails.
    """
    moment = run("git", "log", "-1", "--format=%ct").strip()
    digests: list[dict[str, str]] = []
    for name, mask in (("first", 0o022), ("second-in-a-longer-path", 0o077)):
        before = os.umask(mask)
        try:
            run("git", "clone", "-q", TOP, folder / name)
        finally:
            os.umask(before)
        run(sys.executable, "-m", "build", "-q", "--installer", "uv", "--outdir", folder / name / "dist",
            folder / name, env={"SOURCE_DATE_EPOCH": moment})  # fmt: skip
        files = sorted((folder / name / "dist").iterdir())
        digests.append({file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files})
    if digests[0] != digests[1]:
        raise Problem(f"two builds of the same commit differ: {digests}")
    return folder / "first" / "dist"


def find_expected(tracked: Iterable[str]) -> tuple[set[str], set[str]]:
    """Return the paths that the sdist and the wheel must have, without metadata, for the files that git tracks."""
    files = set(tracked)
    hooks = {f"baton_git/_hooks/{path.removeprefix('hooks/')}" for path in files if path.startswith("hooks/")}
    return files - NOT_IN_SDIST, {path for path in files if path.startswith("baton_git/")} | hooks


def check_contents(sdist: Path, wheel: Path) -> None:
    """Compare the paths in the sdist and the wheel with the files that git tracks.

    Raises:
        Problem: a file is missing, or there is one too many.
    """
    in_sdist, in_wheel = find_expected(run("git", "ls-files", "-z").rstrip("\0").split("\0"))
    with tarfile.open(sdist) as archive:
        members = {member.name.partition("/")[2] for member in archive if member.isfile()} - {"PKG-INFO"}
    with zipfile.ZipFile(wheel) as archive_of_wheel:
        names = {name for name in archive_of_wheel.namelist() if ".dist-info/" not in name}
    for artifact, expected, actual in ((sdist, in_sdist, members - NOT_IN_SDIST), (wheel, in_wheel, names)):
        if expected != actual:
            raise Problem(
                f"{artifact.name}: missing {sorted(expected - actual)}, not expected {sorted(actual - expected)}"
            )


# --- the installations


def list_installations(sdist: Path, wheel: Path, pythons: list[str], quick: bool) -> list[Installation]:
    """Return the environments to test: all combinations, or with `quick` the two that differ most."""
    if quick:
        return [
            Installation(wheel, "[http,mcp]", pythons[0], "lowest-direct"),
            Installation(sdist, "", pythons[0], "highest"),
        ]
    combinations = itertools.product((wheel, sdist), ("", "[http,mcp]"), pythons, ("lowest-direct", "highest"))
    return [Installation(*combination) for combination in combinations]


def try_installation(installation: Installation, version: str, python: str) -> None:
    """Install into an empty environment, and use it there.

    Raises:
        Problem: something does not work.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = folder / "environment"
        uv = [sys.executable, "-m", "uv"]
        run(*uv, "venv", "-q", "-p", python, environment)
        run(*uv, "pip", "install", "-q", "-p", environment / "bin/python", "--resolution", installation.resolution,
            f"baton-git{installation.extras} @ {installation.artifact.as_uri()}")  # fmt: skip
        home = folder / "home"
        home.mkdir()
        use_installation(environment / "bin", home, version)
        check_extras(environment / "bin", home, bool(installation.extras))


def use_installation(programs: Path, home: Path, version: str) -> None:
    """Write and read a record, and run the first commands of a user."""
    baton, env = programs / "baton", {"HOME": str(home), "PATH": f"{programs}:{os.environ['PATH']}"}
    for program in ("baton", "baton-git"):
        expect(run(programs / program, "--version", cwd=home), f"baton, version {version}\n")
    run(baton, "demo", cwd=home, env=env)
    run("git", "init", "-q", "shop", cwd=home, env=env)
    shop = home / "shop"
    run(baton, "init", cwd=shop, env=env)
    run(baton, "loop", "add", "Deployed X", "--expect", "its health is 200", cwd=shop, env=env)
    listed = json.loads(run(baton, "list", "loops", "--json", cwd=shop, env=env))
    expect([record["title"] for record in listed["records"]], ["Deployed X"])
    schema = json.loads(run(baton, "schema", "open_loop", cwd=shop, env=env))
    expect(schema["type"], "object")


def check_extras(programs: Path, home: Path, installed: bool) -> None:
    """With the extras, import every module and call a tool over MCP; without, expect the package to install."""
    shop, python = home / "shop", programs / "python"
    if installed:
        run(python, "-c", IMPORT_ALL, cwd=shop)
        messages = [
            {"id": 1, "method": "initialize", "params": INITIALIZE},
            {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/call", "params": {"name": "status", "arguments": {}}},
        ]
        text = "".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in messages)
        answers = [json.loads(line) for line in run(programs / "baton", "mcp", cwd=shop, text=text).splitlines()]
        [result] = [answer["result"] for answer in answers if answer.get("id") == 2]
        expect(result.get("isError", False), False)
        return
    for command, package in (("serve", "starlette"), ("mcp", "mcp")):
        done = subprocess.run([programs / "baton", command], cwd=shop, capture_output=True, text=True, check=False)
        lines = done.stderr.splitlines()
        expect((done.returncode, len(lines), " install " in lines[-1], package in lines[-1]), (1, 2, True, True))


def expect(actual: object, expected: object) -> None:
    """Raise a Problem unless two values are equal."""
    if actual != expected:
        raise Problem(f"expected {expected!r}, got {actual!r}")


def try_pipx(wheel: Path, version: str) -> None:
    """Run the command from the wheel with pipx, in an environment that pipx creates.

    Raises:
        Problem: it does not start.
    """
    with tempfile.TemporaryDirectory() as home:
        command = (sys.executable, "-m", "pipx", "run", "--spec", wheel, "baton-git", "--version")
        expect(run(*command, env={"PIPX_HOME": home}), f"baton, version {version}\n")


def find_python(version: str) -> str | None:
    """Return an interpreter of a version, on the PATH or among those of pyenv."""
    name = f"python{version}"
    for python in (shutil.which(name), *map(str, Path.home().glob(f".pyenv/versions/*/bin/{name}"))):
        if python and subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0:
            return python  # a shim of pyenv may not work
    return None


def check_release(quick: bool) -> list[str]:
    """Print each step, and return what is missing for a release.

    Raises:
        Problem: a step failed; the later steps were not run.
    """
    project = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = read_version((TOP / "baton_git/__init__.py").read_text(encoding="utf-8"))
    changelog = (TOP / "CHANGELOG.md").read_text(encoding="utf-8")
    tags = run("git", "tag", "--points-at", "HEAD").split()
    problems = [] if quick else list(find_source_problems(version, changelog, project.get("urls", {}), tags))
    if changed := run("git", "status", "--porcelain"):
        problems.append(f"files differ from the commit that is built:\n{changed.rstrip()}")
    supported = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    this = ".".join(platform.python_version_tuple()[:2])
    interpreters = {name: sys.executable if name == this else find_python(name) for name in supported}
    pythons = {name: path for name, path in interpreters.items() if path and (not quick or name == this)}
    for name in interpreters.keys() - pythons.keys() if not quick else ():
        problems.append(f"Python {name} is not installed here, so nothing was tried with it")
    with tempfile.TemporaryDirectory() as scratch:
        print(f"baton-git {version}: building twice", flush=True)
        built = build_twice(Path(scratch))
        shutil.rmtree(TOP / "dist", ignore_errors=True)
        shutil.copytree(built, TOP / "dist")
    [wheel], [sdist] = TOP.glob("dist/*.whl"), TOP.glob("dist/*.tar.gz")
    check_contents(sdist, wheel)
    for installation in list_installations(sdist, wheel, list(pythons), quick):
        print(installation, flush=True)
        try_installation(installation, version, pythons[installation.python])
    print("pipx run", flush=True)
    try_pipx(wheel, version)
    return problems


def main() -> int:
    """Check the release, and return the exit code."""
    parser = argparse.ArgumentParser(description="Check everything that a release needs.")
    parser.add_argument("--quick", action="store_true", help="one Python, two environments, no date or tag")
    try:
        problems = check_release(parser.parse_args().quick)
    except Problem as failure:
        problems = [str(failure)]
    for problem in problems:
        print(f"not ready: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
