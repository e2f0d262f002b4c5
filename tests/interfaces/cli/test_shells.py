"""Completion in real shells: commands, options, and values with a colon, which bash breaks into words."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import pytest
from pseudo_terminal import at_terminal

SHELLS = {
    "bash": ["--norc", "--noprofile", "-i"],
    "zsh": ["-f", "-i"],
    "fish": [],
}


def needs(shell):
    return pytest.mark.skipif(shutil.which(shell) is None, reason=f"there is no {shell} here")


@pytest.fixture
def completes(baton, tmp_path, top, monkeypatch):
    """Return a function that completes a line in a shell with the tab key."""
    program = tmp_path / "bin" / "baton"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m baton_git "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")

    def complete(shell, line):
        script = tmp_path / f"complete.{shell}"
        script.write_text(baton("completion", shell).out)
        if shell == "fish":
            command = f"source {script}; cd {top}; complete -C '{line}'"
            done = subprocess.run(["fish", "-N", "-c", command], capture_output=True, text=True, check=True)
            return " ".join([*line.split()[:-1], done.stdout.split("\t")[0].strip()])
        start = "autoload -U compinit; compinit -u -D; " if shell == "zsh" else ""
        process, terminal = at_terminal(top, [str(shutil.which(shell)), *SHELLS[shell]])
        try:
            # the quotes keep the echoed command line from matching the pattern
            _type(terminal, f"{start}source {script}; echo re''ady\n", r"ready\r\n")
            # Ctrl-A and Ctrl-E go to the start and the end of the completed line, which is then printed
            return _type(terminal, f'{line}\t\x01echo "<\x05>"\n', r"\n<(baton [^>\r]*?) ?>\r\n")
        finally:
            process.kill()
            process.wait()
            os.close(terminal)

    return complete


def _type(terminal, text, awaited):
    """Type a text; return the match of a pattern on the screen, or its first group."""
    os.write(terminal, text.encode())
    screen = ""
    while not (match := re.search(awaited, screen)):
        screen += os.read(terminal, 4096).decode(errors="replace")
    return match[match.lastindex or 0]


@pytest.mark.parametrize(
    "shell", [pytest.param(name, marks=[needs(name), *([pytest.mark.slow] * (name != "bash"))]) for name in SHELLS]
)
def test_a_shell_completes_a_value_with_a_colon_after_an_option(baton, completes, shell):
    baton("init", "-n", "project:memory-hall")
    assert completes(shell, "baton status --namespace=project:m") == "baton status --namespace=project:memory-hall"


@pytest.mark.slow
@pytest.mark.parametrize("shell", [pytest.param(name, marks=needs(name)) for name in SHELLS])
def test_a_shell_completes_commands_options_and_values(completes, filled, shell):
    for line, completed in (
        ("baton follow", "baton followup"),
        ("baton loop add --verify-pr", "baton loop add --verify-process"),
        ("baton list decisions --status sup", "baton list decisions --status superseded"),
        ("baton edit OL-1 --status=ver", "baton edit OL-1 --status=verified"),
        ("baton wrap --file ../in/bato", "baton wrap --file ../in/baton.json"),
    ):
        assert completes(shell, line) == completed
