"""How long the trip through the code is: functions, modules and stack of four calls; additions by hand; sizes.

The calls are whole processes with a profile function: `followup defer`, `sync`, `boot`, and the hook at the start of a
session, each in a repository with 30 records and a remote. Only functions of the package count.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import io
import json
import os
import pkgutil
import statistics
import subprocess
import sys
import tempfile
import threading
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

PACKAGE = str(Path(__file__).parents[1] / "baton_git") + os.sep
RECORDS = 30
CALLS = {
    "followup defer": ["followup", "defer", "FU-1", "--reason", "later"],
    "sync": ["sync"],
    "boot": ["boot"],
    "session start (hook)": ["hook", "--agent", "claude"],
}
NOT_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER,
    tokenize.ENCODING,
}  # fmt: skip
NOT_REASONS = ("# noqa", "# type:", "# fmt:")
"""The beginnings of comments for tools, which give no reason."""


# --- functions entered, in a process of its own


def profile(out: str, words: list[str]) -> None:
    """Run `baton` with these words in this process, and write what it entered to the file `out`."""
    entered: set[tuple[str, str]] = set()
    deepest = 0
    depth = threading.local()

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal deepest
        code = frame.f_code
        is_function = code.co_flags & inspect.CO_OPTIMIZED and not code.co_name.startswith("<")
        if event not in ("call", "return") or not is_function or not code.co_filename.startswith(PACKAGE):
            return
        depth.frames = getattr(depth, "frames", 0) + (1 if event == "call" else -1)
        deepest = max(deepest, depth.frames)
        entered.add((code.co_filename, code.co_qualname))

    sys.argv = ["baton", *words]
    threading.setprofile(count)
    sys.setprofile(count)
    try:
        importlib.import_module("baton_git.__main__").main()
    finally:
        sys.setprofile(None)
        modules = {file for file, _ in entered}
        Path(out).write_text(json.dumps({"functions": len(entered), "modules": len(modules), "depth": deepest}))


def measure_calls() -> Iterator[tuple[str, dict[str, int]]]:
    """Yield each call with its numbers of functions and modules and its deepest stack."""
    for name, words in CALLS.items():
        with tempfile.TemporaryDirectory() as folder:
            top, home = Path(folder, "project"), Path(folder, "home")
            home.mkdir()
            kept = {
                name: value for name, value in os.environ.items() if not name.startswith(("BATON_", "GIT_", "CLAUDE"))
            }
            author = {
                f"GIT_{who}_{what}": "a@b.example" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
            }
            environment = {**kept, **author, "HOME": str(home), "GIT_CONFIG_GLOBAL": os.devnull}
            fill(top, environment)
            event = {
                "hook_event_name": "SessionStart", "session_id": "11111111-2222-4333-8444-555555555555",
                "cwd": str(top), "transcript_path": str(home / "none.jsonl"), "source": "startup",
            }  # fmt: skip
            out = Path(folder, "out.json")
            run([sys.executable, __file__, "--profile", str(out), *words], top, environment, json.dumps(event))
            yield name, json.loads(out.read_text())


def fill(top: Path, environment: dict[str, str]) -> None:
    """Create a repository with a namespace of `RECORDS` follow-ups, and its remote."""
    baton = [sys.executable, "-m", "baton_git"]
    run(["git", "init", "-q", str(top)], top.parent, environment)
    run(["git", "init", "-q", "--bare", str(top.parent / "remote.git")], top.parent, environment)
    run(["git", "commit", "-q", "--allow-empty", "-m", "begin"], top, environment)
    run(["git", "remote", "add", "origin", str(top.parent / "remote.git")], top, environment)
    run([*baton, "init"], top, environment)
    items = [{"id": f"FU-{number}", "item": f"Item {number}", "priority": "normal"} for number in range(RECORDS)]
    document = json.dumps({"session_id": "s0", "follow_ups": items})
    run([*baton, "write", "--file", "-"], top, environment, document)
    run([*baton, "sync"], top, environment)


def run(words: list[str], folder: Path, environment: dict[str, str], text: str = "") -> None:
    subprocess.run(words, cwd=folder, env=environment, input=text, check=True, capture_output=True, text=True)


# --- what is written by hand for the command line


def find_additions() -> dict[str, Any]:
    """Return the additions of the command line, by verb."""
    # imported here and below because a profiled process must not have imported anything of the package
    from baton_git.interfaces import cli
    from baton_git.interfaces.cli.verb_command import Addition

    found: dict[str, Any] = {}
    for info in pkgutil.walk_packages(cli.__path__, f"{cli.__name__}."):
        for value in vars(importlib.import_module(info.name)).values():
            if isinstance(value, dict):
                found |= {name: item for name, item in value.items() if isinstance(item, Addition)}
    return found


def count_additions() -> Counter[str]:
    """Count the verbs whose command is not only derived from the declaration, by what is added."""
    from baton_git.interfaces.cli.verb_command import Addition
    from baton_git.verbs.table import all_verbs

    additions, count = find_additions(), Counter[str]()
    for name in all_verbs():
        addition = additions.get(name, Addition())
        fields = [field for field in Addition._fields if not field.endswith("_help") and getattr(addition, field)]
        if not is_derived(name):
            fields = ["command"]
        count.update(fields)
        count["verbs"] += bool(fields)
    return count


def is_derived(name: str) -> bool:
    """Return whether `verb_command` made the command of a verb."""
    import click

    from baton_git.interfaces.cli import baton

    command: Any = baton
    for word in name.split():
        command = command.get_command(click.Context(baton), word) if isinstance(command, click.Group) else None
    callback = inspect.unwrap(command.callback) if command is not None else None
    return getattr(callback, "__module__", "").endswith(".verb_command")


# --- sizes


def measure_sizes() -> str:
    """Return code lines, modules, share of imports and reasons of the package."""
    sizes, imports, reasons = [], 0, 0
    for path in Path(PACKAGE).rglob("*.py"):
        source = path.read_text()
        tree, tokens = ast.parse(source), list(tokenize.generate_tokens(io.StringIO(source).readline))
        sizes.append(len(list_code_lines(tree, tokens)))
        kinds = (ast.Import, ast.ImportFrom)
        imports += sum((node.end_lineno or 0) - node.lineno + 1 for node in ast.walk(tree) if isinstance(node, kinds))
        reasons += sum(token.type == tokenize.COMMENT and not token.string.startswith(NOT_REASONS) for token in tokens)
    code = sum(sizes)
    return (
        f"{code:,} code lines in {len(sizes)} modules, median {statistics.median(sizes):.0f} lines, "
        f"imports {100 * imports / code:.1f} %, {1000 * reasons / code:.0f} comments per 1,000 lines"
    )


def list_code_lines(tree: ast.Module, tokens: list[tokenize.TokenInfo]) -> set[int]:
    """Return the numbers of the lines with code: no comments, no docstrings, no blank lines."""
    lines = {
        number for token in tokens if token.type not in NOT_CODE for number in range(token.start[0], token.end[0] + 1)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return lines


def main() -> None:
    if sys.argv[1:2] == ["--profile"]:
        profile(sys.argv[2], sys.argv[3:])
        return
    print(f"{'call':<22}{'functions':>10}{'modules':>9}{'deepest stack':>15}")
    for name, figures in measure_calls():
        print(f"{name:<22}{figures['functions']:>10,}{figures['modules']:>9}{figures['depth']:>15}", flush=True)
    from baton_git.verbs.table import all_verbs

    count = count_additions()
    parts = ", ".join(f"{number} {name}" for name, number in count.most_common() if name != "verbs")
    print(f"\nby hand for the command line: {count['verbs']} of {len(all_verbs())} verbs ({parts})")
    from baton_git.core.verb import Result

    results = {verb.result_model for verb in all_verbs().values()}
    views = sum(model.show is not Result.show for model in results)
    print(f"declared beside the result, for every interface: the view of {views} of {len(results)} results")
    print(measure_sizes())


if __name__ == "__main__":
    main()
