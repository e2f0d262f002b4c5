"""The layers of the design: imports go down the list of folders, and only interfaces print or read the environment."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from looped_cases import for_each

import baton_git

pytestmark = pytest.mark.lint

SOURCE = Path(baton_git.__file__).parent

FOLDERS = ("core", "git", "checks", "namespace", "agents", "recall", "systems", "verbs", "interfaces")
"""The folders of the package, from the ground up. A module imports from its own folder and those before it."""

OTHER_INTERFACES = tuple(f"interfaces/{name}/" for name in ("context", "http", "web", "mcp"))
"""Folders of interfaces that must not import the command line."""

PRINTS = {"print", "input", "breakpoint", "click.echo", "click.secho", "click.prompt", "click.confirm"}
STREAMS = {"sys.stdout", "sys.stderr", "sys.stdin", "sys.argv", "sys.__stdout__", "sys.__stderr__"}
SURROUNDINGS = {
    "os.environ", "os.environb", "os.getenv", "os.putenv", "os.path.expanduser", "os.path.expandvars", "os.getcwd",
    "pathlib.Path.home", "pathlib.Path.cwd", "getpass.getuser", "getpass.getpass",
}  # fmt: skip
CLOCKS = {
    "datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today", "datetime.date.today", "time.time",
    "time.time_ns", "time.localtime", "time.gmtime", "time.strftime", "time.ctime", "time.asctime",
}  # fmt: skip
FORBIDDEN = PRINTS | STREAMS | SURROUNDINGS | CLOCKS
METHODS = {"expanduser"}
"""Methods that are forbidden on every object."""


@cache
def modules() -> dict[str, str]:
    """Return the source of every module, by its path below the package."""
    return {str(path.relative_to(SOURCE)): path.read_text() for path in sorted(SOURCE.rglob("*.py"))}


@cache
def parse_nodes(source: str) -> tuple[ast.AST, ...]:
    """Return all nodes of a module."""
    return tuple(ast.walk(ast.parse(source)))


def folder_of(path: str) -> str:
    return path.split("/")[0].removesuffix(".py")


@cache
def imports(source: str, module: str) -> tuple[str, ...]:
    """Return the full names of everything of baton_git that a module imports, anywhere in it."""
    return tuple(find_imports(source, module))


def find_imports(source: str, module: str) -> Iterator[str]:
    for node in parse_nodes(source):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parent = module.split(".")[: -node.level] if node.level else []
            base = ".".join([*parent, *([node.module] if node.module else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and dotted_name(node.func) in ("importlib.import_module", "__import__"):
            yield from (arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str))


def dotted_name(node: ast.expr) -> str:
    """Return the text of a name or attribute, such as `os.path.join`; empty for any other expression."""
    if isinstance(node, ast.Name):
        return node.id
    base = dotted_name(node.value) if isinstance(node, ast.Attribute) else ""
    return f"{base}.{node.attr}" if base and isinstance(node, ast.Attribute) else ""


def folders_imported(source: str, module: str) -> set[str]:
    names = {name for name in imports(source, module) if name.split(".")[0] == "baton_git"}
    return {name.split(".")[1] for name in names if name.count(".")} - {"__version__"}


def find_upward_imports(path: str, source: str) -> list[str]:
    """Return the folders that a module imports from although they are not below its own."""
    own = folder_of(path)
    module = "baton_git." + path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    module += ".__init__" if path.endswith("__init__.py") else ""
    return sorted(folder for folder in folders_imported(source, module) - {own} if not is_below(folder, own))


def is_below(folder: str, other: str) -> bool:
    """Whether `folder` may import from `other`; loose modules are above all folders."""
    if other in ("__main__", "__init__"):
        return folder in FOLDERS
    return {folder, other} <= set(FOLDERS) and FOLDERS.index(folder) < FOLDERS.index(other)


def find_forbidden_names(source: str, forbidden: set[str] = FORBIDDEN) -> set[str]:
    """Return the names by which a module uses the terminal, the environment, the home directory or the clock."""
    nodes = parse_nodes(source)
    known = _names(nodes)
    used = {_full(node, known) for node in nodes if isinstance(node, ast.Name | ast.Attribute)}
    called = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    return {name for name in used if name in forbidden} | (called & METHODS)


def _names(nodes: tuple[ast.AST, ...]) -> dict[str, str]:
    """Return the full names that a module's imported names stand for."""
    known = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            known |= {alias.asname or alias.name.split(".")[0]: alias.asname and alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            known |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return {name: full or name for name, full in known.items()}


def _full(node: ast.expr, known: dict[str, str]) -> str:
    """Return the dotted name of an expression, with its first part replaced by the imported name."""
    first, _, rest = dotted_name(node).partition(".")
    return known.get(first, first) + (f".{rest}" if rest else "")


def find_cycle(edges: dict[str, set[str]]) -> list[str]:
    """Return the modules of an import cycle, or an empty list."""
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def module_graph() -> dict[str, set[str]]:
    """Return, by module, the modules that it imports."""
    sources = {
        "baton_git." + path.removesuffix(".py").replace("/", ".").removesuffix(".__init__"): (path, text)
        for path, text in modules().items()
    }
    return {
        name: {
            target
            for one in imports(text, name + (".__init__" if path.endswith("__init__.py") else ""))
            for target in (one, one.rpartition(".")[0])
            if target in sources and target != name and not name.startswith(f"{target}.")
        }
        for name, (path, text) in sources.items()
    }


# --- the package


def test_the_folders_of_the_package_are_those_of_the_list():
    assert {folder_of(path) for path in modules()} == {*FOLDERS, "__init__", "__main__"}
    assert len(FOLDERS) <= 10


@for_each("path", [path for path in modules() if path != "__init__.py"])
def test_imports_point_down(path):
    assert find_upward_imports(path, modules()[path]) == []


@for_each("path", [path for path in modules() if path.startswith(OTHER_INTERFACES)])
def test_the_other_interfaces_do_not_import_the_command_line(path):
    module = "baton_git." + path.removesuffix(".py").replace("/", ".")
    assert [name for name in imports(modules()[path], module) if name.startswith("baton_git.interfaces.cli")] == []


def find_bypasses(path: str, source: str) -> list[str]:
    """Return what a verb imports of a system without the registry, and what a system imports of another system."""
    own = path.split("/")[1].removesuffix(".py")
    module = "baton_git." + path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    below = (name.split(".")[2:] for name in imports(source, module) if name.startswith("baton_git.systems."))
    systems = {path.split("/")[1] for path in modules() if path.startswith("systems/") and path.count("/") > 1}
    if path.startswith("verbs/"):
        return [".".join(names) for names in below if names[0] in {*systems, "imported"}]
    return [".".join(names) for names in below if names[0] in systems - {own}]


@for_each("path", [path for path in modules() if folder_of(path) in ("verbs", "systems")])
def test_verbs_use_systems_only_through_the_registry_and_systems_do_not_import_each_other(path):
    assert find_bypasses(path, modules()[path]) == []


@for_each(
    ("path", "source"),
    [
        ("verbs/work_items/loops.py", "from baton_git.systems.paif import drift"),
        ("verbs/work_items/loops.py", "from baton_git.systems import paif"),
        ("verbs/work_items/loops.py", "def late():\n    from baton_git.systems.imported import parse_object"),
        ("systems/gobby/injections.py", "from baton_git.systems.ecc.snapshots import find_recorded"),
    ],
)
def test_the_checker_finds_imports_that_bypass_the_registry(path, source):
    assert find_bypasses(path, source)


def test_the_checker_accepts_imports_of_the_registry_and_of_the_own_system():
    assert find_bypasses("verbs/work_items/loops.py", "from baton_git.systems import SYSTEMS") == []
    assert find_bypasses("systems/ecc/record.py", "from baton_git.systems.ecc.snapshots import find_recorded") == []


def test_there_are_no_import_cycles():
    edges = module_graph()
    assert sum(map(len, edges.values())) > 50
    assert find_cycle(edges) == []


@for_each("path", [path for path in modules() if folder_of(path) not in ("interfaces", "__init__", "__main__")])
def test_only_interfaces_print_and_read_the_environment_the_home_directory_and_the_clock(path):
    assert find_forbidden_names(modules()[path]) == set()


@for_each("path", [path for path in modules() if path.startswith("interfaces/cli/")])
def test_commands_print_only_through_the_module_that_makes_text_safe_for_a_terminal(path):
    printing = PRINTS | {"click.style", "click.echo_via_pager", "sys.stdout.write", "sys.stderr.write"}
    assert path == "interfaces/cli/printing.py" or find_forbidden_names(modules()[path], printing) <= METHODS


# --- the checker


@for_each(
    ("path", "source"),
    [
        ("core/state.py", "from baton_git.namespace.branch import Branch"),
        ("core/state.py", "import baton_git.interfaces.cli"),
        ("core/state.py", "from baton_git import git"),
        ("core/state.py", "def hidden():\n    from baton_git.git.store import Store"),
        ("core/state.py", "if TYPE_CHECKING:\n    from baton_git.verbs.work_items.loops import add_loop"),
        ("core/state.py", "from ..namespace import branch"),
        ("core/records/base.py", "from ...git.store import Store"),
        ("core/records/__init__.py", "from ...checks.outcome import Passed"),
        ("git/store/store.py", "import importlib\nimportlib.import_module('baton_git.namespace.branch')"),
        ("verbs/work_items/loops.py", "from baton_git import interfaces"),
        ("systems/paif/identity.py", "from baton_git.verbs.work_items.loops import add_loop"),
        ("core/state.py", "from baton_git.nowhere import x"),
    ],
)
def test_the_checker_finds_an_import_that_points_up(path, source):
    assert find_upward_imports(path, source)


@for_each(
    ("path", "source"),
    [
        ("namespace/branch.py", "from baton_git.git.store import Store\nfrom baton_git import core, __version__"),
        ("core/records/base.py", "from . import rules\nfrom .rules import Ladder\nfrom ..errors import Fault"),
        ("core/records/__init__.py", "from .base import Part"),
        ("__main__.py", "from baton_git.interfaces.cli import main"),
        ("core/state.py", "import datetime, dulwich.store"),
    ],
)
def test_the_checker_accepts_imports_that_point_down(path, source):
    assert find_upward_imports(path, source) == []


@for_each(
    "source",
    [
        "print(1)", "input()", "import click\nclick.echo(1)", "from click import echo\necho(1)",
        "import sys\nsys.stdout", "import os.path\nos.path.expanduser('~')",
        "from sys import stderr\nstderr.write('')", "import os\nos.environ['x']", "from os import environ as e\ne['x']",
        "import os\nos.getenv('x')", "from pathlib import Path\nPath.home()",
        "from pathlib import Path\nPath('~').expanduser()",
        "from datetime import datetime\ndatetime.now()", "import time\ntime.time()",
        "import datetime as d\nd.datetime.utcnow()", "import datetime\ndatetime.date.today()",
        "from time import time\ntime()", "def f(now=print): ...", "import time as t\nt.localtime()",
    ],
)  # fmt: skip
def test_the_checker_finds_forbidden_names(source):
    assert find_forbidden_names(source)


@for_each(
    "source",
    ["import time\ntime.monotonic(); time.sleep(1)", "self.print(1)", "import os\nos.replace('a', 'b')", "now = 1",
     "from datetime import datetime\ndatetime.fromtimestamp(1)", "echo = 1"],
)  # fmt: skip
def test_the_checker_accepts_everything_else(source):
    assert find_forbidden_names(source) == set()


def test_the_checker_finds_a_cycle():
    assert len(find_cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}})) == 4
    assert find_cycle({"a": {"b"}, "b": set()}) == []
