"""baton-git passes the conformance runner of `formats/`, like any other implementation. The runner detects faults."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from regenerate import FORMATS

RUNNER = FORMATS / "conformance" / "runner.py"
ADAPTER = Path(__file__).with_name("conformance_adapter.py")
QUICK = ("values", "names", "reading records", "writing records", "merging records", "merging trees", "golden repositories")


def run_runner(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(RUNNER), *arguments], capture_output=True, text=True, timeout=300)


def run_group(name: str, *command: str) -> subprocess.CompletedProcess[str]:
    return run_runner("--group", name, "--", *(command or (sys.executable, str(ADAPTER))))


def test_baton_passes_the_conformance_runner() -> None:
    groups = [word for name in QUICK for word in ("--group", name)]
    done = run_runner(*groups, "--", sys.executable, str(ADAPTER))
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert [line.partition(":")[0] for line in lines] == list(QUICK)
    assert all(line.endswith(", 0 differ") and ": 0 agree" not in line for line in lines)


@pytest.mark.slow
def test_baton_makes_the_commits_of_the_random_merges() -> None:
    done = run_group("random merges")
    assert (done.returncode, done.stdout) == (0, "random merges: 480 agree, 0 differ\n"), done.stdout + done.stderr


def test_the_runner_reports_differences_and_unsupported_groups(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    data = json.loads(line)\n"
        "    print(json.dumps({'number': data['number'], 'offers': ['encode_name'], 'component': 'x'}), flush=True)\n"
    )
    done = run_group("names", sys.executable, str(wrong))
    assert done.returncode == 1
    assert 'expected "' in done.stdout
    assert "skipped, the implementation does not offer read" in run_group("reading records", sys.executable, str(wrong)).stdout


def test_an_implementation_that_cannot_run_is_reported_in_one_line(tmp_path: Path) -> None:
    for command in ([str(tmp_path / "none")], [sys.executable, "-c", "print('hello')"]):
        done = run_group("names", *command)
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1, done.stderr
