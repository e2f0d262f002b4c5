"""The layers of the design, held by reading the source: imports point down, and only faces meet the world."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import baton_git

SOURCE = Path(baton_git.__file__).parent

LEVELS = (
    ("errors", "output", "environment", "times", "memory", "names", "records"),
    (
        "codecs", "redaction", "state", "scrubbing", "constancy", "kinds", "layout", "diff", "merge", "lifecycle",
        "handing", "document", "brief", "gravity", "paif", "handed", "schemas", "rendering", "injection",
    ),
    (
        "foreign", "agenthooks", "store", "githooks", "code", "local", "approvals", "agent_tokens", "signing", "probes",
        "agents", "agentsettings", "extraction", "adapters", "spawning", "remotes", "wire",
    ),
    (
        "versions", "diary", "turns", "files", "joining", "provenance", "ingest", "branch", "sync",
        "exchange", "batoncache", "workflow",
    ),
    ("operations",),
    ("faces", "__main__"),
)  # fmt: skip
"""From the ground up; within a level a room may import only from rooms that stand before it."""

RANK = {room: (height, place) for height, level in enumerate(LEVELS) for place, room in enumerate(level)}
FACES = LEVELS[-1]
NOT_THE_COMMAND = ("faces/where/", "faces/answers/", "faces/http/", "faces/web/", "faces/mcp/")

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
"""Names that mean the same whatever they are called on."""


@cache
def modules() -> dict[str, str]:
    """The source of every module, by its path below the package."""
    return {str(path.relative_to(SOURCE)): path.read_text() for path in sorted(SOURCE.rglob("*.py"))}


def room_of(path: str) -> str:
    return path.split("/")[0].removesuffix(".py")


def imports(source: str, module: str) -> Iterator[str]:
    """The full names of everything of baton_git that a module imports, anywhere in it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parent = module.split(".")[: -node.level] if node.level else []
            base = ".".join([*parent, *([node.module] if node.module else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("importlib.import_module", "__import__"):
            yield from (arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str))


def rooms_imported(source: str, module: str) -> set[str]:
    names = {name for name in imports(source, module) if name.split(".")[0] == "baton_git"}
    return {name.split(".")[1] for name in names if name.count(".")} - {"__version__"}


def upward(path: str, source: str) -> list[str]:
    """The rooms that a module imports though they do not stand below its own."""
    own = room_of(path)
    module = "baton_git." + path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    module += ".__init__" if path.endswith("__init__.py") else ""
    others = rooms_imported(source, module) - {own}
    return sorted(one for one in others if not is_below(one, own))


def is_below(one: str, other: str) -> bool:
    return one in RANK and other in RANK and RANK[one] < RANK[other]


def worldly(source: str, forbidden: set[str] = FORBIDDEN) -> set[str]:
    """What a module uses of the terminal, the environment, the home directory and the clock."""
    tree = ast.parse(source)
    known = _names(tree)
    used = {_full(node, known) for node in ast.walk(tree) if isinstance(node, ast.Name | ast.Attribute)}
    called = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return {name for name in used if name in forbidden} | (called & METHODS)


def _names(tree: ast.AST) -> dict[str, str]:
    """What the names that a module imports stand for."""
    known = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            known |= {alias.asname or alias.name.split(".")[0]: alias.asname and alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            known |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return {name: full or name for name, full in known.items()}


def _full(node: ast.expr, known: dict[str, str]) -> str:
    """The dotted name of an expression, with the first part as it was imported."""
    first, _, rest = ast.unparse(node).partition(".")
    return known.get(first, first) + (f".{rest}" if rest else "")


def detour(edges: dict[str, set[str]]) -> list[str]:
    """A way from a module back to itself, or nothing."""
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def module_graph() -> dict[str, set[str]]:
    """By module, the modules that it imports."""
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


def test_every_room_has_a_place_in_the_picture():
    rooms = {room_of(path) for path in modules()} - {"__init__"}
    assert rooms == set(RANK)


@pytest.mark.parametrize("path", [path for path in modules() if path != "__init__.py"])
def test_imports_point_down(path):
    assert upward(path, modules()[path]) == []


@pytest.mark.parametrize("path", [path for path in modules() if path.startswith(NOT_THE_COMMAND)])
def test_the_faces_beside_the_command_do_not_stand_on_it(path):
    module = "baton_git." + path.removesuffix(".py").replace("/", ".")
    assert [name for name in imports(modules()[path], module) if name.startswith("baton_git.interfaces.cli")] == []


def test_no_module_imports_itself_by_a_detour():
    edges = module_graph()
    assert sum(map(len, edges.values())) > 50
    assert detour(edges) == []


@pytest.mark.parametrize("path", [path for path in modules() if room_of(path) not in FACES])
def test_only_faces_print_and_ask_for_the_environment_the_home_and_the_time(path):
    assert worldly(modules()[path]) == set()


@pytest.mark.parametrize("path", [path for path in modules() if path.startswith("faces/cli/")])
def test_commands_print_only_what_was_made_safe_for_a_terminal(path):
    ways = PRINTS | {"click.style", "click.echo_via_pager", "sys.stdout.write", "sys.stderr.write"}
    assert path == "faces/cli/printing.py" or worldly(modules()[path], ways) <= METHODS


# --- the checker


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("state.py", "from baton_git.namespace.branch import Branch"),
        ("state.py", "import baton_git.interfaces.cli"),
        ("state.py", "from baton_git import layout"),
        ("state.py", "def hidden():\n    from baton_git.git.store import Store"),
        ("state.py", "if TYPE_CHECKING:\n    from baton_git.verbs.loops import add_loop"),
        ("state.py", "from . import branch"),
        ("records/base.py", "from ..store import Store"),
        ("records/__init__.py", "from ..state import State"),
        ("store/store.py", "import importlib\nimportlib.import_module('baton_git.namespace.branch')"),
        ("operations/loops.py", "from baton_git import faces"),
        ("state.py", "from baton_git.nowhere import x"),
    ],
)
def test_the_checker_sees_an_import_that_points_up(path, source):
    assert upward(path, source)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("branch.py", "from baton_git.git.store import Store\nfrom baton_git import diff, layout, __version__"),
        ("records/base.py", "from . import rules\nfrom .rules import Ladder\nfrom ..errors import Fault"),
        ("records/__init__.py", "from .base import Part"),
        ("__main__.py", "from baton_git.interfaces.cli import main"),
        ("state.py", "import datetime, dulwich.store"),
    ],
)
def test_the_checker_lets_imports_pass_that_point_down(path, source):
    assert upward(path, source) == []


@pytest.mark.parametrize(
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
def test_the_checker_sees_the_world(source):
    assert worldly(source)


@pytest.mark.parametrize(
    "source",
    ["import time\ntime.monotonic(); time.sleep(1)", "self.print(1)", "import os\nos.replace('a', 'b')", "now = 1",
     "from datetime import datetime\ndatetime.fromtimestamp(1)", "echo = 1"],
)  # fmt: skip
def test_the_checker_lets_the_rest_pass(source):
    assert worldly(source) == set()


def test_the_checker_finds_a_cycle():
    assert len(detour({"a": {"b"}, "b": {"c"}, "c": {"a"}})) == 4
    assert detour({"a": {"b"}, "b": set()}) == []
