"""Run the examples of a page of the documentation, in one shell and one repository, and compare what they print.

A block of the language `console` has commands after `$ ` and their output; one of `sh` has commands only. A command
must end with status 0, unless its comment names another status: `# exit 3`. In output, `…` matches any text. Ids,
digests and times may differ from the page, but equal values on the page must be equal in the output. In commands, an
id of the page is replaced by the id that was really printed.

HTML comments before a block, which readers do not see, control it:

    <!-- not run: REASON -->     the next block is not run
    <!-- first: COMMANDS -->     commands that run before it and are not shown; `records ID...` creates records, and
                                 `transcript` the transcript of a session of Claude Code,
                                 `transcript all` those of several
    <!-- may exit: 1 5 -->       statuses that the commands of the next block may also end with

To update changed output in a page: `python tests/project/page_examples.py docs/tutorial.md`.
"""

from __future__ import annotations

import itertools
import os
import platform
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

TOP = Path(__file__).parents[2]

AGENT_PROGRAMS = Path(".local", "bin")
"""The folder below the home that has the stand-ins for the agent CLIs."""

PART = re.compile(
    r"<!-- (?P<marker>not run|first|may exit): (?P<about>.*?)-->"
    r"|^(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
VARYING = re.compile(
    r"\b(?:OL|FU|PAT|DEC|C)-[0-9a-z]{6,8}\b|\bctx-[0-9a-z]{6}\b|\b(?=[0-9a-f]*\d)[0-9a-f]{7,40}\b"
    r"|\b\d{4}-\d\d-\d\d(?:-[0-9a-z]{6}|[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?)?\b|\b127\.0\.0\.1:\d+"
    r"|\bjust now\b|\b\d+ (?:d|s|seconds?|minutes?|days?) ago\b|\d+(?:\.\d+)? ?ms\b"
)
"""Values that differ from run to run: ids, digests, sessions, days and times, ports, ages."""

TIMES = re.compile(r"just now|.* ago|.*ms|\d{4}-\d\d-\d\d(?:[T ].*)?")
"""Values that may also differ between two occurrences on a page."""

LIMIT = 60
"""Seconds that one command may take."""

STATUS = re.compile(r"#.*\bexit (\d+)")


@dataclass(frozen=True)
class Example:
    """One command of a page.

    Attributes:
        command: its text, with the comments.
        output: its output as the page shows it; None if the page does not.
        statuses: the exit statuses that it may end with.
        start, end: where the output is in the text of the page.
    """

    command: str
    output: str | None = None
    statuses: tuple[int, ...] = (0,)
    start: int = 0
    end: int = 0


def find_examples(text: str) -> Iterator[Example]:
    """Return the commands of a page that are run, in order, the unseen ones too."""
    is_left_out, more = False, tuple[int, ...]()
    for part in PART.finditer(text):
        if part["marker"] == "first":
            yield Example(part["about"].strip(), statuses=(0,))
        elif part["marker"] == "may exit":
            more = tuple(map(int, part["about"].split()))
        elif part["marker"]:
            is_left_out = True
        else:
            if part["language"] in ("sh", "console") and not is_left_out:
                split = _split_console if part["language"] == "console" else _split_script
                for found in split(part["text"], part.start("text")):
                    yield replace(found, statuses=found.statuses + more)
            is_left_out, more = False, ()


def find_unmarked(text: str) -> list[str]:
    """Return the markers of a page that give no reason."""
    return [part[0] for part in PART.finditer(text) if part["marker"] == "not run" and len(part["about"].split()) < 3]


def _split_console(text: str, place: int) -> Iterator[Example]:
    for match in re.finditer(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE):
        start, end = place + match.start(2), place + match.end(2)
        yield Example(match[1], match[2], (_find_status(match[1]),), start, end)


def _split_script(text: str, _: int) -> Iterator[Example]:
    for line in re.findall(r"(?:.*\\\n)*.+", text):
        if not line.lstrip().startswith("#"):
            yield Example(line, None, (_find_status(line),))


def _find_status(command: str) -> int:
    match = STATUS.search(command)
    return int(match[1]) if match else 0


def find_words(command: str) -> list[str]:
    """Return the words of a command that needs no shell; none if it has operators, variables or patterns."""
    words = shlex.shlex(command, posix=True, punctuation_chars=True)
    words.whitespace_split = True
    plain = list(words)
    return [] if any(re.search(r"[|&;<>()$*~`\n]", word) for word in plain) else plain


Call = Callable[[list[str], str], tuple[str, int]]


@dataclass
class Shell:
    """A shell that runs the commands of a page one after the other.

    Attributes:
        folder: where the home is; a page calls it `/home`, and this machine `desk`.
        call: runs `baton` with these words in this folder, in place of a process; returns what `run` returns.
        names: the printed value for each value of the page that varies.
    """

    process: subprocess.Popen[str]
    folder: str
    call: Call | None = None
    place: str = ""
    names: dict[str, str] = field(default_factory=dict)
    marks: Iterator[int] = field(default_factory=itertools.count)

    def run(self, command: str) -> tuple[str, int]:
        """Run a command without standard input; return its output, including errors, and its exit status."""
        words = find_words(command)
        if self.call is not None and self.place and words[:1] == ["baton"]:
            return self._clean(*self.call(words[1:], self.place))
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        mark = f"end-of-example-{next(self.marks)}"
        self.process.stdin.write(f"{{ {command}\n}} </dev/null 2>&1; printf '\\n{mark} %d %s\\n' $? \"$PWD\"\n")
        self.process.stdin.flush()
        lines: list[str] = []
        watch = threading.Timer(LIMIT, os.killpg, (self.process.pid, signal.SIGKILL))
        watch.start()
        for line in self.process.stdout:
            if line.startswith(mark):
                watch.cancel()
                _, status, self.place = line.rstrip("\n").split(" ", 2)
                return self._clean("".join(lines), int(status))
            lines.append(line)
        raise AssertionError(f"the shell ended at: {command}\n{''.join(lines)}")

    def _clean(self, output: str, status: int) -> tuple[str, int]:
        machine = (
            rf"\b(?:{re.escape(platform.node())}|machine-[0-9a-z]{{6}})\b"  # its own name, and the one that is stored
        )
        output = re.sub(machine, "desk", output.replace(self.folder, "/home")).rstrip()
        return f"{output}\n" if output else "", status

    def try_example(self, example: Example) -> tuple[str, str]:
        """Run an example; return its output, with the page's names, and its fault."""
        command = VARYING.sub(lambda match: self.names.get(match[0], match[0]), example.command)
        output, status = self.run(command)
        fault = "" if status in example.statuses else f"ends with {status} in place of {example.statuses[0]}"
        if example.output is not None and not self._bind(example.output, output):
            fault = fault or "prints something else"
        names = {printed: name for name, printed in self.names.items()}
        return VARYING.sub(lambda match: names.get(match[0], match[0]), output), fault

    def _bind(self, expected: str, output: str) -> bool:
        """Return whether the output is as expected, and remember the values that stand for others."""
        match = re.fullmatch(_make_pattern(expected, self.names), output)
        if match:
            new = [name for name in _find_names(expected) if name not in self.names]
            self.names |= dict(zip(dict.fromkeys(new), match.groups(), strict=True))
        return match is not None


def _find_names(text: str) -> list[str]:
    return [match[0] for match in VARYING.finditer(text) if not TIMES.fullmatch(match[0])]


def _make_pattern(expected: str, names: Mapping[str, str]) -> str:
    """Return the regular expression of an output."""
    pattern, end, groups = "", 0, dict[str, int]()
    for match in VARYING.finditer(expected):
        pattern += _escape(expected[end : match.start()])
        end = match.end()
        if TIMES.fullmatch(match[0]):
            pattern += rf"(?:{VARYING.pattern})"
        elif match[0] in names:
            pattern += re.escape(names[match[0]])
        elif match[0] in groups:
            pattern += rf"(?:\{groups[match[0]]})"
        else:
            groups[match[0]] = len(groups) + 1
            pattern += rf"({VARYING.pattern})"
    return f"(?s){pattern}{_escape(expected[end:])}"


def _escape(text: str) -> str:
    """Return the pattern of text in which `…` stands for anything, and columns may be wider or narrower."""
    return ".*?".join(re.sub(r"(?:\\ ){2,}", " +", re.escape(part)) for part in text.split("…"))


def start_shell(folder: Path, call: Call | None = None) -> Shell:
    """Start a shell in the work tree of a new repository `shop`, below a home of its own."""
    home = folder / "ada"
    project = home / "shop"
    project.mkdir(parents=True)
    git = shutil.which("git") or ""
    folders = [write_agent_programs(home), Path(sys.executable).parent, Path(git).parent, "/usr/bin", "/bin"]
    environment = {
        "PATH": os.pathsep.join(map(str, folders)), "HOME": str(home), "LANG": "C.UTF-8", "TZ": "UTC",
        "GIT_CONFIG_NOSYSTEM": "1",
    }  # fmt: skip
    process = subprocess.Popen(
        ["bash", "--norc"], cwd=project, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    shell = Shell(process, str(folder), call)
    shell.run("git config --global user.name Ada; git config --global user.email ada@example.org")
    shell.run(f'records() {{ python {TOP}/tests/project/example_records.py "$@" | baton write --file - --create; }}')
    shell.run(f'jq() {{ python {TOP}/tests/project/example_field.py "$1"; }}')
    shell.run(f'transcript() {{ python {TOP}/tests/project/example_transcript.py "$@"; }}')
    shell.run("git init -q -b main; echo '# Shop' >README.md; git add .; git commit -q -m 'Begin the shop'")
    return shell


def write_agent_programs(home: Path) -> Path:
    """Write stand-ins for the agent CLIs, which baton looks for on the PATH and asks for trusted hooks. Return their
    folder."""
    folder = home / AGENT_PROGRAMS
    folder.mkdir(parents=True)
    standin = TOP / "tests" / "agents" / "settings" / "standin_codex.py"
    codex = f'CODEX_HOME="${{CODEX_HOME:-$HOME/.codex}}" exec {shlex.quote(sys.executable)} {shlex.quote(str(standin))}'
    for name, command in (("claude", ":"), ("codex", codex), ("gemini", ":")):
        program = folder / name
        program.write_text(f"#!/bin/sh\n{command}\n")
        program.chmod(0o755)
    return folder


def run_page(text: str, folder: Path, call: Call | None = None) -> Iterator[tuple[Example, str, str]]:
    """Run the examples of a page; yield each with its output and its fault."""
    shell = start_shell(folder, call)
    with shell.process:
        for example in find_examples(text):
            yield (example, *shell.try_example(example))
        assert shell.process.stdin is not None
        shell.process.stdin.close()


def rewrite_page(page: Path) -> None:
    """Update the changed outputs of a page."""
    text = page.read_text(encoding="utf-8")
    changes = []
    with tempfile.TemporaryDirectory() as folder:
        for example, output, fault in run_page(text, Path(folder)):
            print(*([f"{example.command}: {fault}\n{output}"] if fault else []))
            changes += [(example, output)] if fault and example.output is not None else []
    for example, output in reversed(changes):
        text = text[: example.start] + output + text[example.end :]
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        rewrite_page(Path(name))
