"""The mutants of tests/mutation apply to the sources. Whether the tests detect them is checked by their runner."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def test_the_text_of_every_mutant_occurs_once_and_its_tests_exist() -> None:
    mutants = tomllib.loads((ROOT / "tests/mutation/mutants.toml").read_text())["mutant"]
    assert len(mutants) > 100
    sources = {path: (ROOT / path).read_text() for path in {mutant["file"] for mutant in mutants}}
    assert [mutant["name"] for mutant in mutants if sources[mutant["file"]].count(mutant["old"]) != 1] == []
    named = {test.partition("[")[0] for mutant in mutants for test in mutant["tests"]}
    gone = [test for test in named if not _exists(*test.partition("::")[::2])]
    assert sorted(gone) == []


def _exists(path: str, function: str) -> bool:
    file = ROOT / path
    if not function:
        return file.exists()
    return file.exists() and f"def {function.rpartition('::')[2]}(" in file.read_text()
